//! Local references inside one schema document.

use std::borrow::Cow;

use hashbrown::{HashMap, HashSet};

use crate::ValueRef;

/// Steps that all in-place cycle checks of one schema may take together. A schema that needs more
/// is built to be expensive; its references show as `unknown`.
const CYCLE_FUEL: usize = 1_000_000;

/// Finds what the references of one document point at.
pub(super) struct LocalRefs<'a> {
    root: ValueRef<'a>,
    anchors: Option<HashMap<&'a str, ValueRef<'a>>>,
    cyclic: HashMap<String, bool>,
    fuel: usize,
}

/// A resolved reference: what it points at and the key that tells targets apart.
#[derive(Clone)]
pub(super) struct Target<'a> {
    pub(super) key: String,
    pub(super) schema: ValueRef<'a>,
}

impl<'a> LocalRefs<'a> {
    pub(super) fn new(root: ValueRef<'a>) -> Self {
        Self {
            root,
            anchors: None,
            cyclic: HashMap::new(),
            fuel: CYCLE_FUEL,
        }
    }

    /// The target of `reference`; `None` when it leaves the document or points at nothing.
    pub(super) fn resolve(&mut self, reference: &str) -> Option<Target<'a>> {
        let fragment = reference.strip_prefix('#')?;
        let fragment = percent_decode(fragment)?;
        if fragment.is_empty() {
            return Some(Target {
                key: String::new(),
                schema: self.root,
            });
        }
        if !fragment.starts_with('/') {
            let schema = *self.anchors().get(&*fragment)?;
            return Some(Target {
                key: format!("#{fragment}"),
                schema,
            });
        }
        let mut schema = self.root;
        for token in fragment.split('/').skip(1) {
            let token = unescape(token);
            schema = match schema.as_array() {
                Some(_) => schema.index(token.parse().ok()?)?,
                None => schema.get(&token)?,
            };
        }
        Some(Target {
            key: fragment.into_owned(),
            schema,
        })
    }

    /// Whether the target reaches itself without going through a property or an item. Such a
    /// type has no meaning, and an alias for it would not compile.
    pub(super) fn reaches_itself(&mut self, target: &Target<'a>) -> bool {
        if let Some(&known) = self.cyclic.get(&target.key) {
            return known;
        }
        let found = self.search(target);
        self.cyclic.insert(target.key.clone(), found);
        found
    }

    fn search(&mut self, target: &Target<'a>) -> bool {
        let mut seen = HashSet::new();
        let mut open = vec![target.schema];
        while let Some(schema) = open.pop() {
            if self.fuel == 0 {
                return true;
            }
            self.fuel -= 1;
            let Some(object) = schema.as_object() else {
                continue;
            };
            for (keyword, value) in object.iter() {
                match keyword {
                    "$ref" | "$dynamicRef" | "$recursiveRef" => {
                        let Some(next) = value.as_str().and_then(|text| self.resolve(text)) else {
                            continue;
                        };
                        if next.key == target.key {
                            return true;
                        }
                        if seen.insert(next.key) {
                            open.push(next.schema);
                        }
                    }
                    "oneOf" | "anyOf" | "allOf" => {
                        open.extend(value.as_array().into_iter().flat_map(|list| list.iter()));
                    }
                    _ => {}
                }
            }
        }
        false
    }

    fn anchors(&mut self) -> &HashMap<&'a str, ValueRef<'a>> {
        let root = self.root;
        self.anchors.get_or_insert_with(|| {
            let mut found = HashMap::new();
            let mut open = vec![root];
            while let Some(value) = open.pop() {
                for keyword in ["$anchor", "$dynamicAnchor"] {
                    if let Some(name) = value.get(keyword).and_then(ValueRef::as_str) {
                        found.entry(name).or_insert(value);
                    }
                }
                if let Some(object) = value.as_object() {
                    open.extend(object.iter().map(|(_, member)| member));
                } else if let Some(array) = value.as_array() {
                    open.extend(array.iter());
                }
            }
            found
        })
    }
}

/// Decodes `%xx`; `None` when that does not give UTF-8.
pub(crate) fn percent_decode(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('%') {
        return Some(Cow::Borrowed(text));
    }
    let hex = |byte: u8| {
        char::from(byte)
            .to_digit(16)
            .and_then(|digit| u8::try_from(digit).ok())
    };
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b'%' {
            let high = hex(*bytes.get(at + 1)?)?;
            let low = hex(*bytes.get(at + 2)?)?;
            out.push(high << 4 | low);
            at += 3;
        } else {
            out.push(bytes[at]);
            at += 1;
        }
    }
    String::from_utf8(out).ok().map(Cow::Owned)
}

/// Undoes the escapes of one JSON pointer token.
pub(crate) fn unescape(token: &str) -> Cow<'_, str> {
    if token.contains('~') {
        Cow::Owned(token.replace("~1", "/").replace("~0", "~"))
    } else {
        Cow::Borrowed(token)
    }
}
