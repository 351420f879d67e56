//! Schema nodes to annotations, and the classes that objects become.

use hashbrown::{HashMap, HashSet};

use super::{name, text};
use crate::ValueRef;

/// Nested `list[` in one annotation; Python's parser gives up at 200 brackets (C88).
const MAX_LISTS: usize = 180;

/// The names that the import line may have to list, in its order.
pub(super) const TYPING: [&str; 5] = ["Any", "Literal", "NotRequired", "Protocol", "TypedDict"];

/// The classes declared so far.
pub(super) struct Classes {
    /// The text of every class, each after the classes it uses (C89).
    pub(super) declared: Vec<String>,
    /// Whether the name at the same place of [`TYPING`] is used.
    pub(super) used: [bool; TYPING.len()],
    taken: HashSet<String>,
    suffixes: HashMap<String, usize>,
}

impl Classes {
    pub(super) fn none() -> Self {
        Self {
            declared: Vec::new(),
            used: [false; TYPING.len()],
            taken: HashSet::new(),
            suffixes: HashMap::new(),
        }
    }

    /// Notes that the import line needs `name`.
    pub(super) fn typing(&mut self, name: &'static str) -> &'static str {
        if let Some(place) = TYPING.iter().position(|one| *one == name) {
            self.used[place] = true;
        }
        name
    }

    /// The annotation of a node of the enforced subset. `base` is the class name to use for an
    /// object; without one there are no classes. `lists` counts the brackets around the node.
    pub(super) fn annotation(
        &mut self,
        schema: ValueRef<'_>,
        base: Option<&str>,
        lists: usize,
    ) -> String {
        if let Some(branches) = schema.get("oneOf").and_then(ValueRef::as_array) {
            let mut union = String::new();
            for (index, branch) in branches.iter().enumerate() {
                if index > 0 {
                    union.push_str(" | ");
                }
                let base = base.map(|base| name::join(base, &(index + 1).to_string()));
                union.push_str(&self.annotation(branch, base.as_deref(), lists));
            }
            return union;
        }
        match schema.get("type").and_then(ValueRef::as_str) {
            Some("string") => self.scalar(schema, "str"),
            Some("number") => self.scalar(schema, "float"),
            Some("integer") => self.scalar(schema, "int"),
            Some("boolean") => self.scalar(schema, "bool"),
            Some("null") => "None".to_owned(),
            Some("array") if lists >= MAX_LISTS => self.typing("Any").to_owned(),
            Some("array") => {
                let item = match schema.get("items") {
                    Some(items) => self.annotation(items, base, lists + 1),
                    None => self.typing("Any").to_owned(),
                };
                format!("list[{item}]")
            }
            Some("object") => self.object(schema, base),
            _ => self.typing("Any").to_owned(),
        }
    }

    fn scalar(&mut self, schema: ValueRef<'_>, plain: &str) -> String {
        let constant = schema.get("const");
        let choices = schema.get("enum").and_then(ValueRef::as_array);
        if constant.is_none() && choices.is_none() {
            return plain.to_owned();
        }
        let mut literal = format!("{}[", self.typing("Literal"));
        let choices = choices.filter(|_| constant.is_none());
        let members = constant
            .into_iter()
            .chain(choices.into_iter().flat_map(|list| list.iter()));
        for (index, member) in members.enumerate() {
            if index > 0 {
                literal.push_str(", ");
            }
            text::push_scalar(&mut literal, member);
        }
        literal.push(']');
        literal
    }

    fn object(&mut self, schema: ValueRef<'_>, base: Option<&str>) -> String {
        let closed = schema
            .get("additionalProperties")
            .and_then(ValueRef::as_bool)
            == Some(false);
        let fields = schema
            .get("properties")
            .and_then(ValueRef::as_object)
            .filter(|fields| !fields.is_empty());
        let named =
            fields.is_none_or(|fields| fields.iter().all(|(field, _)| name::is_expressible(field)));
        let Some(base) = base.filter(|_| named && (fields.is_some() || closed)) else {
            return format!("dict[str, {}]", self.typing("Any"));
        };
        // Taken before the fields are walked, so that a nested class never gets this name.
        let class = self.claim(base);
        let required: HashSet<&str> = schema
            .get("required")
            .and_then(ValueRef::as_array)
            .into_iter()
            .flat_map(|list| list.iter())
            .filter_map(ValueRef::as_str)
            .collect();
        let mut body = format!("class {class}({}):\n", self.typing("TypedDict"));
        for (field, node) in fields.into_iter().flat_map(|fields| fields.iter()) {
            let description = node.get("description").and_then(ValueRef::as_str);
            if let Some(line) = description.and_then(text::one_line) {
                body.push_str(&format!("    # {line}\n"));
            }
            let nested = name::join(&class, &name::camel(field));
            let annotation = self.annotation(node, Some(&nested), 1);
            if required.contains(field) {
                body.push_str(&format!("    {field}: {annotation}\n"));
            } else {
                let optional = self.typing("NotRequired");
                body.push_str(&format!("    {field}: {optional}[{annotation}]\n"));
            }
        }
        if fields.is_none() {
            body.push_str("    pass\n");
        } else if !closed {
            body.push_str("    # Additional keys beyond those declared are allowed.\n");
        }
        self.declared.push(body);
        class
    }

    /// The first free name of `base`, `base2`, `base3` and so on (C85).
    fn claim(&mut self, base: &str) -> String {
        let mut class = base.to_owned();
        // Where the search ended last time, so that many equal names stay cheap.
        let mut suffix = self.suffixes.get(base).copied().unwrap_or(2);
        while !self.taken.insert(class.clone()) {
            class = format!("{base}{suffix}");
            suffix += 1;
        }
        self.suffixes.insert(base.to_owned(), suffix);
        class
    }
}
