//! The walk over a foreign schema that refuses what could not be enforced or could not be checked safely.

use hashbrown::HashMap;
use serde_json::Value;

use super::cost::{Cost, Edges};
use super::vocabulary::{self, Draft, Shape};
use crate::typescript::refs::{percent_decode, unescape};

/// Schema nodes that one schema may have.
const MAX_NODES: usize = 100_000;
/// Patterns that one schema may have; each may take a while to compile.
const MAX_PATTERNS: usize = 1_000;
/// Violations that are listed before the rest is only counted.
const MAX_LISTED: usize = 32;

/// What the walk found out about a schema that can be enforced.
pub(super) struct Survey {
    pub(super) cost: Cost,
}

/// Surveys `schema`; the error lists every reason against it, in walk order.
pub(super) fn survey(schema: &Value, draft: Draft) -> Result<Survey, Vec<String>> {
    let mut walk = Walk {
        root: schema,
        draft,
        violations: Vec::new(),
        unlisted: 0,
        nodes: Vec::new(),
        ids: HashMap::new(),
        references: Vec::new(),
        anchors: HashMap::new(),
        path: Vec::new(),
        patterns: 0,
    };
    walk.node(schema);
    walk.resolve();
    let edges = std::mem::take(&mut walk.nodes);
    if walk.violations.is_empty() {
        match Cost::of(&edges) {
            Ok(cost) => return Ok(Survey { cost }),
            Err(problem) => walk.violations.push(problem),
        }
    }
    if walk.unlisted > 0 {
        walk.violations
            .push(format!("{} more violations", walk.unlisted));
    }
    Err(walk.violations)
}

/// One step of a path into the schema.
#[derive(Clone)]
enum Step<'a> {
    Keyword(&'a str),
    Index(usize),
}

struct Reference<'a> {
    from: usize,
    text: &'a str,
    place: String,
}

struct Walk<'a> {
    root: &'a Value,
    draft: Draft,
    violations: Vec<String>,
    unlisted: usize,
    nodes: Vec<Edges>,
    /// The node of a schema, by the address of its value.
    ids: HashMap<usize, usize>,
    references: Vec<Reference<'a>>,
    anchors: HashMap<&'a str, usize>,
    path: Vec<Step<'a>>,
    patterns: usize,
}

fn address(value: &Value) -> usize {
    std::ptr::from_ref(value) as usize
}

impl<'a> Walk<'a> {
    fn place(&self) -> String {
        let mut place = String::from("schema");
        for step in &self.path {
            match step {
                Step::Keyword(keyword) => {
                    place.push('.');
                    place.push_str(keyword);
                }
                Step::Index(index) => place.push_str(&format!("[{index}]")),
            }
        }
        place
    }

    fn refuse(&mut self, problem: &str) {
        if self.violations.len() == MAX_LISTED {
            self.unlisted += 1;
            return;
        }
        let place = self.place();
        self.violations.push(format!("{place} {problem}"));
    }

    fn below<T>(&mut self, step: Step<'a>, walk: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(step);
        let result = walk(self);
        self.path.pop();
        result
    }

    /// Walks the schema `value` and everything in it. The document is at most 512 levels deep, so recursion is too.
    fn node(&mut self, value: &'a Value) -> usize {
        let id = self.nodes.len();
        if id >= MAX_NODES {
            if id == MAX_NODES {
                self.nodes.push(Edges::default());
                self.refuse(&format!(
                    "has more than {MAX_NODES} subschemas in front of it"
                ));
            }
            return 0;
        }
        self.nodes.push(Edges::default());
        self.ids.insert(address(value), id);
        match value {
            Value::Bool(_) => {}
            Value::Object(members) => {
                for (keyword, value) in members {
                    self.below(Step::Keyword(keyword), |walk| {
                        walk.keyword(id, keyword, value)
                    });
                }
                let ignores_siblings = self.draft <= Draft::V7 && members.contains_key("$ref");
                for keyword in members.keys().filter(|_| ignores_siblings) {
                    if keyword != "$ref" && !vocabulary::is_annotation(keyword) {
                        let draft = self.draft.name();
                        self.below(Step::Keyword(keyword), |walk| {
                            walk.refuse(&format!(
                                "is ignored beside $ref in {draft}; move it into an allOf"
                            ));
                        });
                    }
                }
            }
            _ => self.refuse("must be a schema: an object, true or false"),
        }
        id
    }

    fn keyword(&mut self, id: usize, keyword: &'a str, value: &'a Value) {
        let Some(shape) = vocabulary::shape(self.draft, keyword) else {
            let draft = self.draft.name();
            return self.refuse(&format!("is not a keyword of JSON Schema {draft}"));
        };
        match shape {
            Shape::Any => {}
            Shape::Text => self.expect(value.is_string(), "must be a string"),
            Shape::Flag => self.expect(value.is_boolean(), "must be true or false"),
            Shape::Count => {
                let whole = value
                    .as_f64()
                    .is_some_and(|count| count >= 0.0 && count.fract() == 0.0);
                self.expect(whole, "must be a non-negative integer");
            }
            Shape::Number => self.expect(value.is_number(), "must be a number"),
            Shape::Positive => {
                self.expect(
                    value.as_f64().is_some_and(|number| number > 0.0),
                    "must be a number above 0",
                );
            }
            Shape::Types => self.types(value),
            Shape::Choices => {
                self.expect(
                    value.as_array().is_some_and(|list| !list.is_empty()),
                    "must be a non-empty array",
                );
            }
            Shape::Names => self.names(value),
            Shape::NamesByName => match value.as_object() {
                Some(lists) => {
                    for (name, list) in lists {
                        self.below(Step::Keyword(name), |walk| walk.names(list));
                    }
                }
                None => self.refuse("must be an object of arrays of strings"),
            },
            Shape::Pattern => match value.as_str() {
                Some(pattern) => self.pattern(pattern),
                None => self.refuse("must be a string"),
            },
            Shape::Same => {
                let child = self.node(value);
                self.nodes[id].same.push(child);
            }
            Shape::Child | Shape::ChildOrList if !value.is_array() => {
                let child = self.node(value);
                self.nodes[id].children.push(child);
            }
            Shape::Child => self.refuse("must be a schema: an object, true or false"),
            Shape::AlsoChild => {
                let child = self.node(value);
                self.nodes[id].also.push(child);
            }
            Shape::SameList | Shape::ChildList | Shape::ChildOrList => self.list(id, shape, value),
            Shape::SameByName
            | Shape::Dependencies
            | Shape::ChildByName
            | Shape::ChildByPattern
            | Shape::Definitions => {
                self.map(id, shape, value);
            }
            Shape::Reference => match value.as_str() {
                Some(text) => self.reference(id, keyword, text),
                None => self.refuse("must be a string"),
            },
            Shape::Anchor => match value.as_str() {
                Some(name) => {
                    self.anchors.insert(name, id);
                }
                None => self.refuse("must be a string"),
            },
            Shape::RootText if self.path.len() > 1 => {
                self.refuse("may stand at the root only: embedded resources are not supported");
            }
            Shape::RootText => self.expect(value.is_string(), "must be a string"),
        }
    }

    fn expect(&mut self, holds: bool, problem: &str) {
        if !holds {
            self.refuse(problem);
        }
    }

    fn types(&mut self, value: &'a Value) {
        match value {
            Value::String(word) => self.word(word),
            Value::Array(words) if !words.is_empty() => {
                for (index, word) in words.iter().enumerate() {
                    self.below(Step::Index(index), |walk| match word {
                        Value::String(word) => walk.word(word),
                        _ => walk.refuse("must be a type word"),
                    });
                }
            }
            _ => self.refuse("must be a type word or a non-empty array of them"),
        }
    }

    fn word(&mut self, word: &str) {
        if !matches!(
            word,
            "object" | "array" | "string" | "number" | "integer" | "boolean" | "null"
        ) {
            let hint = match word {
                "dict" | "map" | "struct" | "record" => ", use \"object\"",
                "list" | "tuple" | "set" => ", use \"array\"",
                "float" | "double" | "decimal" => ", use \"number\"",
                "int" | "long" => ", use \"integer\"",
                "str" | "text" => ", use \"string\"",
                "bool" => ", use \"boolean\"",
                "none" | "None" | "nil" => ", use \"null\"",
                "any" => ", leave type out",
                _ => "",
            };
            self.refuse(&format!(
                "\"{}\" is not a JSON Schema type{hint}",
                brief(word)
            ));
        }
    }

    fn names(&mut self, value: &'a Value) {
        let names = value
            .as_array()
            .is_some_and(|names| names.iter().all(Value::is_string));
        self.expect(names, "must be an array of strings");
    }

    fn pattern(&mut self, pattern: &str) {
        self.patterns += 1;
        if self.patterns == MAX_PATTERNS + 1 {
            self.refuse(&format!("is one of more than {MAX_PATTERNS} patterns"));
        } else if self.patterns <= MAX_PATTERNS && !super::patterns::compiles(pattern) {
            self.refuse(&format!(
                "\"{}\" is not a regular expression that can be checked",
                brief(pattern)
            ));
        }
    }

    fn list(&mut self, id: usize, shape: Shape, value: &'a Value) {
        let Some(schemas) = value
            .as_array()
            .filter(|schemas| !schemas.is_empty() || shape == Shape::ChildOrList)
        else {
            return self.refuse("must be a non-empty array of schemas");
        };
        for (index, schema) in schemas.iter().enumerate() {
            let child = self.below(Step::Index(index), |walk| walk.node(schema));
            match shape {
                Shape::SameList => self.nodes[id].same.push(child),
                _ => self.nodes[id].children.push(child),
            }
        }
    }

    fn map(&mut self, id: usize, shape: Shape, value: &'a Value) {
        let Some(schemas) = value.as_object() else {
            return self.refuse("must be an object of schemas");
        };
        for (name, schema) in schemas {
            self.below(Step::Keyword(name), |walk| {
                if shape == Shape::Dependencies && schema.is_array() {
                    return walk.names(schema);
                }
                if shape == Shape::ChildByPattern {
                    walk.pattern(name);
                }
                let child = walk.node(schema);
                match shape {
                    Shape::SameByName | Shape::Dependencies => walk.nodes[id].same.push(child),
                    Shape::ChildByName => walk.nodes[id].children.push(child),
                    Shape::ChildByPattern => walk.nodes[id].also.push(child),
                    _ => {}
                }
            });
        }
    }

    fn reference(&mut self, from: usize, keyword: &str, text: &'a str) {
        if !text.starts_with('#') {
            return self.refuse(&format!(
                "\"{}\" points outside of the schema; only local references (#…) are followed",
                brief(text)
            ));
        }
        if keyword == "$recursiveRef" && text != "#" {
            return self.refuse("must be \"#\"");
        }
        let place = self.place();
        self.references.push(Reference { from, text, place });
    }

    /// Connects the references, walking targets that stand where no schema is expected.
    fn resolve(&mut self) {
        let mut next = 0;
        while next < self.references.len() {
            let Reference {
                from,
                text,
                ref place,
            } = self.references[next];
            let place = place.clone();
            next += 1;
            match self.target(text) {
                Some(Found::Node(target)) => self.nodes[from].same.push(target),
                Some(Found::Value(value, path)) => {
                    self.path = path;
                    let target = self.node(value);
                    self.path.clear();
                    self.nodes[from].same.push(target);
                }
                None if self.violations.len() == MAX_LISTED => self.unlisted += 1,
                None => self
                    .violations
                    .push(format!("{place} \"{}\" points at nothing", brief(text))),
            }
        }
    }

    fn target(&self, text: &'a str) -> Option<Found<'a>> {
        let fragment = percent_decode(text.strip_prefix('#')?)?;
        if fragment.is_empty() {
            return Some(Found::Node(0));
        }
        if !fragment.starts_with('/') {
            return self.anchors.get(&*fragment).map(|id| Found::Node(*id));
        }
        let mut value = self.root;
        let mut path = Vec::new();
        for token in fragment.split('/').skip(1) {
            let token = unescape(token);
            match value {
                Value::Object(members) => {
                    let (key, member) = members.get_key_value(&*token)?;
                    path.push(Step::Keyword(key));
                    value = member;
                }
                Value::Array(items) => {
                    let index = token.parse().ok()?;
                    path.push(Step::Index(index));
                    value = items.get(index)?;
                }
                _ => return None,
            }
        }
        Some(match self.ids.get(&address(value)) {
            Some(id) => Found::Node(*id),
            None => Found::Value(value, path),
        })
    }
}

enum Found<'a> {
    Node(usize),
    Value(&'a Value, Vec<Step<'a>>),
}

/// Foreign text in a message: not longer than a line.
fn brief(text: &str) -> std::borrow::Cow<'_, str> {
    const LONGEST: usize = 120;
    if text.len() <= LONGEST {
        return text.into();
    }
    format!("{}…", &text[..text.floor_char_boundary(LONGEST)]).into()
}
