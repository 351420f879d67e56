//! One schema node to the text of its type.

use std::collections::VecDeque;

use hashbrown::{HashMap, HashSet};

use super::refs::{LocalRefs, Target};
use super::{TypeText, literal, text};
use crate::ValueRef;

/// Nodes above each other before the rest is `unknown`. A document cannot nest its schemas this
/// deep; expanded references could.
const MAX_NODES_DEEP: usize = 600;
/// References that [`inline`] expands before the rest is `unknown`.
const MAX_EXPANSIONS: usize = 500;
/// Members that the union of one intersection may multiply to. TypeScript gives up at 100,000.
const MAX_UNION: usize = 1_000;

/// Nodes that may be visited to find out how wide unions get. A schema that needs more is built to be expensive.
const WIDTH_FUEL: usize = 200_000;

pub(super) fn inline(root: ValueRef<'_>, level: usize) -> String {
    let mut renderer = Renderer::new(
        root,
        Mode::Inline {
            active: Vec::new(),
            expansions: 0,
        },
    );
    renderer.node(root, level);
    renderer.out
}

pub(super) fn named(root: ValueRef<'_>, hint: &str, level: usize) -> TypeText {
    named_with(root, level, || hint.to_owned())
}

/// As [`named`], with a hint that is made only when a reference needs it.
pub(super) fn named_with(root: ValueRef<'_>, level: usize, hint: impl Fn() -> String) -> TypeText {
    let names = Names {
        hint: &hint,
        of: HashMap::new(),
        taken: HashSet::new(),
        queue: VecDeque::new(),
    };
    let mut renderer = Renderer::new(root, Mode::Named(names));
    renderer.node(root, level);
    let text = std::mem::take(&mut renderer.out);
    let mut declarations = Vec::new();
    while let Some((name, schema)) = renderer.next_declaration() {
        renderer.node(schema, 0);
        declarations.push((name, std::mem::take(&mut renderer.out)));
    }
    TypeText { text, declarations }
}

/// What a reference becomes.
enum Mode<'a, 'h> {
    /// Its target, where it stands.
    Inline {
        active: Vec<String>,
        expansions: usize,
    },
    /// The name of a type beside it.
    Named(Names<'a, 'h>),
}

struct Names<'a, 'h> {
    hint: &'h dyn Fn() -> String,
    of: HashMap<String, String>,
    taken: HashSet<String>,
    queue: VecDeque<(String, ValueRef<'a>)>,
}

pub(super) struct Renderer<'a, 'h> {
    pub(super) out: String,
    refs: LocalRefs<'a>,
    mode: Mode<'a, 'h>,
    depth: usize,
    /// Nodes that [`Self::width`] may still visit.
    fuel: usize,
}

/// The keywords of one node that decide its type, found in one pass.
#[derive(Default)]
pub(super) struct Keywords<'a> {
    kind: Option<ValueRef<'a>>,
    constant: Option<ValueRef<'a>>,
    choices: Option<ValueRef<'a>>,
    one_of: Option<ValueRef<'a>>,
    any_of: Option<ValueRef<'a>>,
    all_of: Option<ValueRef<'a>>,
    reference: Option<ValueRef<'a>>,
    pub(super) properties: Option<ValueRef<'a>>,
    pub(super) pattern_properties: Option<ValueRef<'a>>,
    pub(super) additional: Option<ValueRef<'a>>,
    pub(super) required: Option<ValueRef<'a>>,
    pub(super) items: Option<ValueRef<'a>>,
    pub(super) prefix_items: Option<ValueRef<'a>>,
    pub(super) additional_items: Option<ValueRef<'a>>,
    pub(super) min_items: Option<ValueRef<'a>>,
    pub(super) max_items: Option<ValueRef<'a>>,
    /// Whether a keyword stands here that only a comment can tell.
    commented: bool,
}

impl<'a> Keywords<'a> {
    fn of(schema: crate::ObjectRef<'a>) -> Self {
        let mut found = Self::default();
        for (keyword, value) in schema.iter() {
            let slot = match keyword {
                "type" => &mut found.kind,
                "const" => &mut found.constant,
                "enum" => &mut found.choices,
                "oneOf" => &mut found.one_of,
                "anyOf" => &mut found.any_of,
                "allOf" => &mut found.all_of,
                "$ref" | "$dynamicRef" | "$recursiveRef" => &mut found.reference,
                "properties" => &mut found.properties,
                "patternProperties" => {
                    found.commented = true;
                    &mut found.pattern_properties
                }
                "additionalProperties" => &mut found.additional,
                "required" => &mut found.required,
                "items" => &mut found.items,
                "prefixItems" => &mut found.prefix_items,
                "additionalItems" => &mut found.additional_items,
                "minItems" => {
                    found.commented = true;
                    &mut found.min_items
                }
                "maxItems" => {
                    found.commented = true;
                    &mut found.max_items
                }
                _ => {
                    found.commented |= is_commented(keyword);
                    continue;
                }
            };
            *slot = Some(value);
        }
        found
    }

    fn looks_like_object(&self) -> bool {
        self.properties.is_some()
            || self.pattern_properties.is_some()
            || self.additional.is_some()
            || self.required.is_some()
    }

    fn looks_like_array(&self) -> bool {
        self.items.is_some() || self.prefix_items.is_some()
    }

    fn has_base(&self) -> bool {
        self.kind.is_some()
            || self.constant.is_some()
            || self.choices.is_some()
            || self.looks_like_object()
            || self.looks_like_array()
    }
}

/// Constraints that a type cannot express and a comment repeats.
fn is_commented(keyword: &str) -> bool {
    matches!(
        keyword,
        "minLength"
            | "maxLength"
            | "pattern"
            | "format"
            | "contentEncoding"
            | "contentMediaType"
            | "minimum"
            | "maximum"
            | "exclusiveMinimum"
            | "exclusiveMaximum"
            | "multipleOf"
            | "minItems"
            | "maxItems"
            | "uniqueItems"
            | "contains"
            | "minContains"
            | "maxContains"
            | "minProperties"
            | "maxProperties"
            | "propertyNames"
            | "patternProperties"
            | "dependentRequired"
            | "dependentSchemas"
            | "dependencies"
            | "not"
            | "if"
            | "then"
            | "else"
            | "unevaluatedProperties"
            | "unevaluatedItems"
    )
}

impl<'a, 'h> Renderer<'a, 'h> {
    fn new(root: ValueRef<'a>, mode: Mode<'a, 'h>) -> Self {
        Self {
            out: String::new(),
            refs: LocalRefs::new(root),
            mode,
            depth: 0,
            fuel: WIDTH_FUEL,
        }
    }

    fn next_declaration(&mut self) -> Option<(String, ValueRef<'a>)> {
        match &mut self.mode {
            Mode::Inline { .. } => None,
            Mode::Named(names) => names.queue.pop_front(),
        }
    }

    /// Appends the type of `schema`, whose braces stand at `level`.
    pub(super) fn node(&mut self, schema: ValueRef<'a>, level: usize) {
        let Some(object) = schema.as_object() else {
            self.out.push_str(match schema.as_bool() {
                Some(true) => "JsonValue",
                Some(false) => "never",
                None => "unknown",
            });
            return;
        };
        if self.depth >= MAX_NODES_DEEP {
            self.out.push_str("unknown");
            return;
        }
        self.depth += 1;
        let keywords = Keywords::of(object);
        self.parts(&keywords, level);
        if keywords.commented {
            self.comment(object);
        }
        self.depth -= 1;
    }

    /// Appends the parts of a node: one alone as it is, several as an intersection.
    fn parts(&mut self, keywords: &Keywords<'a>, level: usize) {
        let list = |value: Option<ValueRef<'a>>| {
            value
                .and_then(ValueRef::as_array)
                .filter(|list| !list.is_empty())
        };
        let (one_of, any_of, all_of) = (
            list(keywords.one_of),
            list(keywords.any_of),
            list(keywords.all_of),
        );
        let count = usize::from(keywords.has_base())
            + usize::from(keywords.reference.is_some())
            + usize::from(one_of.is_some())
            + usize::from(any_of.is_some())
            + all_of.map_or(0, crate::ArrayRef::len);
        if count == 0 {
            let malformed = [keywords.one_of, keywords.any_of, keywords.all_of]
                .iter()
                .any(Option::is_some);
            self.out
                .push_str(if malformed { "unknown" } else { "JsonValue" });
            return;
        }
        let mut parts = Parts {
            alone: count == 1,
            start: self.out.len(),
            product: 1,
            dropped: false,
        };
        if keywords.has_base() {
            let width = if parts.alone {
                1
            } else {
                width_of_base(keywords)
            };
            self.part(&mut parts, width, |this| this.base(keywords, level));
        }
        if let Some(reference) = keywords.reference {
            let width = if parts.alone {
                1
            } else {
                self.width_of_reference(reference, 0)
            };
            self.part(&mut parts, width, |this| this.reference(reference, level));
        }
        for branches in [one_of, any_of].into_iter().flatten() {
            let width = if parts.alone {
                1
            } else {
                self.width_of_union(branches, 0)
            };
            self.part(&mut parts, width, |this| this.union(branches, level));
        }
        for member in all_of.into_iter().flat_map(|list| list.iter()) {
            let width = if parts.alone {
                1
            } else {
                self.width(member, 0)
            };
            self.part(&mut parts, width, |this| this.node(member, level));
        }
        if self.out.len() == parts.start {
            self.out.push_str("JsonValue");
        }
        if parts.dropped {
            self.out.push_str(" /* and further alternatives */");
        }
    }

    fn part(&mut self, parts: &mut Parts, width: usize, write: impl FnOnce(&mut Self)) {
        if parts.alone {
            return write(self);
        }
        let product = parts.product.saturating_mul(width);
        if width > 1 && product > MAX_UNION {
            parts.dropped = true;
            return;
        }
        let joined = self.out.len();
        if joined > parts.start {
            self.out.push_str(" & ");
        }
        let start = self.out.len();
        write(self);
        // Anything intersected with any JSON value is itself.
        if &self.out[start..] == "JsonValue" {
            self.out.truncate(joined);
            return;
        }
        parts.product = product;
        if self.out[start..].contains('|') {
            self.out.insert(start, '(');
            self.out.push(')');
        }
    }

    fn union(&mut self, branches: crate::ArrayRef<'a>, level: usize) {
        for (index, branch) in branches.iter().enumerate() {
            if index > 0 {
                self.out.push_str(" | ");
            }
            self.node(branch, level);
        }
    }

    /// Appends what the node says itself, without references and combinations.
    fn base(&mut self, keywords: &Keywords<'a>, level: usize) {
        let words = keywords.kind;
        if let Some(constant) = keywords.constant {
            return self.literals(std::iter::once(constant), words);
        }
        if let Some(choices) = keywords.choices.and_then(ValueRef::as_array) {
            return self.literals(choices.iter(), words);
        }
        match words {
            Some(kind) => match (kind.as_str(), kind.as_array()) {
                (Some(word), _) => self.word(word, keywords, level),
                (None, Some(words)) if !words.is_empty() => {
                    for (index, word) in words.iter().enumerate() {
                        if index > 0 {
                            self.out.push_str(" | ");
                        }
                        self.word(word.as_str().unwrap_or_default(), keywords, level);
                    }
                }
                _ => self.out.push_str("unknown"),
            },
            None if keywords.looks_like_object() => self.object(keywords, level),
            None if keywords.looks_like_array() => self.array(keywords, level),
            // What is left is a malformed `enum`.
            None => self.out.push_str("unknown"),
        }
    }

    fn word(&mut self, word: &str, keywords: &Keywords<'a>, level: usize) {
        match word {
            "string" | "number" | "boolean" | "null" => self.out.push_str(word),
            "integer" => self.out.push_str("number"),
            "array" => self.array(keywords, level),
            "object" => self.object(keywords, level),
            _ => self.out.push_str("unknown"),
        }
    }

    fn literals(
        &mut self,
        values: impl Iterator<Item = ValueRef<'a>>,
        words: Option<ValueRef<'a>>,
    ) {
        let fits = |value: ValueRef<'a>| match words {
            None => true,
            Some(kind) => match (kind.as_str(), kind.as_array()) {
                (Some(word), _) => literal::is_of_type(value, word),
                (None, Some(words)) => words
                    .iter()
                    .filter_map(ValueRef::as_str)
                    .any(|word| literal::is_of_type(value, word)),
                (None, None) => true,
            },
        };
        let start = self.out.len();
        for value in values.filter(|value| fits(*value)) {
            if self.out.len() > start {
                self.out.push_str(" | ");
            }
            literal::push_literal(&mut self.out, value);
        }
        if self.out.len() == start {
            self.out.push_str("never");
        }
    }

    fn reference(&mut self, reference: ValueRef<'a>, level: usize) {
        let target = reference.as_str().and_then(|text| self.refs.resolve(text));
        let Some(target) = target.filter(|target| !self.refs.reaches_itself(target)) else {
            self.out.push_str("unknown");
            return;
        };
        match &mut self.mode {
            Mode::Named(names) => {
                let name = names.name_of(target);
                self.out.push_str(&name);
            }
            Mode::Inline { active, expansions } => {
                if *expansions >= MAX_EXPANSIONS || active.contains(&target.key) {
                    self.out.push_str("unknown");
                    return;
                }
                *expansions += 1;
                active.push(target.key);
                self.node(target.schema, level);
                if let Mode::Inline { active, .. } = &mut self.mode {
                    active.pop();
                }
            }
        }
    }

    /// Repeats in a comment what the type cannot say.
    fn comment(&mut self, schema: crate::ObjectRef<'a>) {
        const LONGEST: usize = 160;
        let mut comment = String::new();
        for (keyword, value) in schema.iter().filter(|(keyword, _)| is_commented(keyword)) {
            if is_noise(schema, keyword, value) {
                continue;
            }
            comment.push_str(if comment.is_empty() { " /* " } else { ", " });
            comment.push_str(keyword);
            comment.push_str(": ");
            let start = comment.len();
            value.write_json(&mut comment);
            if comment.len() - start > LONGEST {
                let cut = comment.floor_char_boundary(start + LONGEST);
                comment.truncate(cut);
                comment.push('…');
            }
        }
        if !comment.is_empty() {
            let (open, body) = comment.split_at(4);
            self.out.push_str(open);
            text::push_comment_text(&mut self.out, body);
            self.out.push_str(" */");
        }
    }

    /// Upper bound of the members that the type of `schema` has when it is a union.
    fn width(&mut self, schema: ValueRef<'a>, depth: usize) -> usize {
        let Some(object) = schema.as_object() else {
            return 1;
        };
        if depth > MAX_NODES_DEEP || self.fuel == 0 {
            return MAX_UNION + 1;
        }
        self.fuel -= 1;
        let mut width = width_of_base(&Keywords::of(object));
        for (keyword, value) in object.iter() {
            let factor = match (keyword, value.as_array()) {
                ("$ref" | "$dynamicRef" | "$recursiveRef", _) => {
                    self.width_of_reference(value, depth + 1)
                }
                ("oneOf" | "anyOf", Some(branches)) => self.width_of_union(branches, depth + 1),
                ("allOf", Some(members)) => {
                    let mut product = 1_usize;
                    for member in members.iter() {
                        product = product.saturating_mul(self.width(member, depth + 1));
                        if product > MAX_UNION {
                            break;
                        }
                    }
                    product
                }
                _ => 1,
            };
            width = width.saturating_mul(factor.max(1));
            if width > MAX_UNION {
                break;
            }
        }
        width
    }

    fn width_of_union(&mut self, branches: crate::ArrayRef<'a>, depth: usize) -> usize {
        let mut sum = 0_usize;
        for branch in branches.iter() {
            sum = sum.saturating_add(self.width(branch, depth));
            if sum > MAX_UNION {
                break;
            }
        }
        sum
    }

    fn width_of_reference(&mut self, reference: ValueRef<'a>, depth: usize) -> usize {
        match reference.as_str().and_then(|text| self.refs.resolve(text)) {
            Some(target) => self.width(target.schema, depth),
            None => 1,
        }
    }
}

/// Whether a constraint says nothing that the type does not say or that goes without saying.
fn is_noise(schema: crate::ObjectRef<'_>, keyword: &str, value: ValueRef<'_>) -> bool {
    const SAFE: i64 = 9_007_199_254_740_991;
    match keyword {
        // Generators say this of every map; all names are strings.
        "propertyNames" => value
            .as_object()
            .is_some_and(|names| names.len() == 1 && names.get("type").is_some()),
        // And this of every integer.
        "minimum" => value.as_i64() == Some(-SAFE),
        "maximum" => value.as_i64() == Some(SAFE),
        // The tuple has these.
        "minItems" | "maxItems" => schema.get("prefixItems").is_some(),
        _ => false,
    }
}

/// How far an intersection has come.
struct Parts {
    /// There is one part only, which is written without any joining.
    alone: bool,
    start: usize,
    product: usize,
    dropped: bool,
}

fn width_of_base(keywords: &Keywords<'_>) -> usize {
    if keywords.constant.is_some() {
        return 1;
    }
    if let Some(choices) = keywords.choices.and_then(ValueRef::as_array) {
        return choices.len().max(1);
    }
    // `boolean` is a union of two.
    let of_word = |word: ValueRef<'_>| {
        if word.as_str() == Some("boolean") {
            2
        } else {
            1
        }
    };
    match keywords.kind.map(|kind| (kind, kind.as_array())) {
        Some((_, Some(words))) => words.iter().map(of_word).sum::<usize>().max(1),
        Some((word, None)) => of_word(word),
        None => 1,
    }
}

impl<'a> Names<'a, '_> {
    fn name_of(&mut self, target: Target<'a>) -> String {
        if let Some(name) = self.of.get(&target.key) {
            return name.clone();
        }
        let last = target.key.rsplit(['/', '#']).next().unwrap_or_default();
        let mut base = (self.hint)();
        let mut upper = true;
        for c in last.chars().take(64) {
            if c.is_ascii_alphanumeric() {
                base.push(if upper { c.to_ascii_uppercase() } else { c });
                upper = false;
            } else {
                upper = true;
            }
        }
        let mut name = base.clone();
        let mut suffix = 2;
        while !self.taken.insert(name.clone()) {
            name = format!("{base}{suffix}");
            suffix += 1;
        }
        self.queue.push_back((name.clone(), target.schema));
        self.of.insert(target.key, name.clone());
        name
    }
}
