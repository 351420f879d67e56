//! A derived schema made smaller: what decoding enforces anyway is left out, and what the subset can say is said in
//! its words (D40).

use serde_json::{Map, Value, json};

/// What a schema is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Arguments,
    Output,
}

/// Folds `schema` in place. The error names every part that no document could carry.
pub(super) fn fold(schema: &mut Value, side: Side) -> Result<(), Vec<String>> {
    let mut fold = Fold {
        side,
        path: String::from("schema"),
        violations: Vec::new(),
    };
    fold.node(schema);
    if fold.violations.is_empty() {
        Ok(())
    } else {
        Err(fold.violations)
    }
}

struct Fold {
    side: Side,
    path: String,
    violations: Vec<String>,
}

impl Fold {
    /// Folds one schema. The recursion is as deep as the nesting of Rust types.
    fn node(&mut self, schema: &mut Value) {
        if *schema == Value::Bool(true) {
            *schema = Value::Object(Map::new());
        }
        let Some(node) = schema.as_object_mut() else {
            return;
        };
        self.number(node);
        self.optional_properties(node);
        fold_unit_enum(node);
        null_as_branch(node);
        unwrap_single_branch(node);
        self.children(node);
        sort_keywords(node);
    }

    /// Integer widths and number formats are enforced on decoding.
    fn number(&mut self, node: &mut Map<String, Value>) {
        let Some(format) = node.get("format").and_then(Value::as_str) else {
            return;
        };
        let (least, most) = match format {
            "float" | "double" => (None, None),
            "uint128" | "int128" => {
                self.violations.push(format!(
                    "{} is a 128-bit integer, which a document cannot hold; use a 64-bit integer or a string",
                    self.path
                ));
                // Named once, even when a `null` beside it makes a branch of it.
                node.shift_remove("format");
                return;
            }
            _ => match bounds(format) {
                Some((least, most)) => (Some(least), Some(most)),
                None => return,
            },
        };
        node.shift_remove("format");
        for (keyword, bound) in [("minimum", least), ("maximum", most)] {
            let declared = node.get(keyword).and_then(as_i128);
            if declared.is_some() && declared == bound {
                node.shift_remove(keyword);
            }
        }
    }

    /// An optional argument may be left out, so that `null` has nothing to say.
    fn optional_properties(&mut self, node: &mut Map<String, Value>) {
        if self.side != Side::Arguments {
            return;
        }
        let required: Vec<String> = node
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|name| name.as_str().map(str::to_owned))
            .collect();
        let properties = node.get_mut("properties").and_then(Value::as_object_mut);
        for (name, property) in properties.into_iter().flatten() {
            if let Some(property) = property
                .as_object_mut()
                .filter(|_| !required.contains(name))
            {
                without_null(property);
            }
        }
    }

    fn children(&mut self, node: &mut Map<String, Value>) {
        for (keyword, value) in node.iter_mut() {
            let length = self.path.len();
            self.path.push('.');
            self.path.push_str(keyword);
            match keyword.as_str() {
                "properties" | "patternProperties" | "$defs" => {
                    for (name, schema) in value.as_object_mut().into_iter().flatten() {
                        let length = self.path.len();
                        self.path.push('.');
                        self.path.push_str(name);
                        self.node(schema);
                        self.path.truncate(length);
                    }
                }
                "oneOf" | "anyOf" | "allOf" | "prefixItems" => {
                    for (index, schema) in value.as_array_mut().into_iter().flatten().enumerate() {
                        let length = self.path.len();
                        self.path.push_str(&format!("[{index}]"));
                        self.node(schema);
                        self.path.truncate(length);
                    }
                }
                // A boolean is an openness there, not a schema to write out.
                "additionalProperties" if value.is_boolean() => {}
                "items"
                | "additionalProperties"
                | "contains"
                | "propertyNames"
                | "not"
                | "if"
                | "then"
                | "else" => self.node(value),
                _ => {}
            }
            self.path.truncate(length);
        }
    }
}

/// Smallest and largest value of an integer format; the 64-bit ones as schemars writes them for `usize` too.
fn bounds(format: &str) -> Option<(i128, i128)> {
    Some(match format {
        "uint8" => (0, i128::from(u8::MAX)),
        "uint16" => (0, i128::from(u16::MAX)),
        "uint32" => (0, i128::from(u32::MAX)),
        "uint64" | "uint" => (0, i128::from(u64::MAX)),
        "int8" => (i128::from(i8::MIN), i128::from(i8::MAX)),
        "int16" => (i128::from(i16::MIN), i128::from(i16::MAX)),
        "int32" => (i128::from(i32::MIN), i128::from(i32::MAX)),
        "int64" | "int" => (i128::from(i64::MIN), i128::from(i64::MAX)),
        _ => return None,
    })
}

fn as_i128(value: &Value) -> Option<i128> {
    value
        .as_i64()
        .map(i128::from)
        .or_else(|| value.as_u64().map(i128::from))
}

/// Takes `null` out of what an optional property accepts.
fn without_null(property: &mut Map<String, Value>) {
    let mut changed = false;
    if let Some(Value::Array(types)) = property.get_mut("type") {
        types.retain(|word| word != "null");
        if let [one] = types.as_mut_slice() {
            let word = one.take();
            property.insert("type".to_owned(), word);
        }
        changed = true;
    }
    if let Some(Value::Array(choices)) = property.get_mut("enum").filter(|_| changed) {
        choices.retain(|choice| !choice.is_null());
    }
    for keyword in ["anyOf", "oneOf"] {
        let Some(Value::Array(branches)) = property.get_mut(keyword) else {
            continue;
        };
        let before = branches.len();
        branches.retain(|branch| !is_null_schema(branch));
        changed |= branches.len() < before;
        if branches.len() < before && branches.len() == 1 {
            let only = branches.remove(0);
            property.shift_remove(keyword);
            merge(property, only);
        }
    }
    if changed && property.get("default").is_some_and(Value::is_null) {
        property.shift_remove("default");
    }
}

fn is_null_schema(schema: &Value) -> bool {
    schema.get("type").is_some_and(|word| word == "null")
}

/// Moves the keywords of `inner` into `node`, whose own annotations win.
fn merge(node: &mut Map<String, Value>, inner: Value) {
    if let Value::Object(inner) = inner {
        for (keyword, value) in inner {
            node.entry(keyword).or_insert(value);
        }
    }
}

/// A one-of of string literals becomes one `enum`; what is said about the variants goes into the description.
fn fold_unit_enum(node: &mut Map<String, Value>) {
    let Some(branches) = node.get("oneOf").and_then(Value::as_array) else {
        return;
    };
    let mut choices = Vec::new();
    let mut notes = String::new();
    for branch in branches {
        let Some(branch) = branch.as_object() else {
            return;
        };
        let known = |keyword: &String| {
            matches!(keyword.as_str(), "type" | "enum" | "const" | "description")
        };
        if branch.get("type").is_none_or(|word| word != "string") || !branch.keys().all(known) {
            return;
        }
        match (
            branch.get("const"),
            branch.get("enum").and_then(Value::as_array),
        ) {
            (Some(literal), None) => {
                if let (Some(name), Some(note)) = (
                    literal.as_str(),
                    branch.get("description").and_then(Value::as_str),
                ) {
                    notes.push_str(&format!("\n- `{name}`: {note}"));
                }
                choices.push(literal.clone());
            }
            (None, Some(literals)) => choices.extend(literals.iter().cloned()),
            _ => return,
        }
    }
    node.shift_remove("oneOf");
    node.insert("type".to_owned(), json!("string"));
    node.insert("enum".to_owned(), Value::Array(choices));
    if !notes.is_empty() {
        let description = node
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let description = format!("{description}{notes}").trim_start().to_owned();
        node.insert("description".to_owned(), Value::String(description));
    }
}

/// `null` beside one other type is a branch of its own in the subset's words.
fn null_as_branch(node: &mut Map<String, Value>) {
    if let Some(Value::Array(branches)) = node.get("anyOf") {
        let exclusive = branches.len() == 2
            && branches
                .iter()
                .filter(|branch| is_null_schema(branch))
                .count()
                == 1
            && branches
                .iter()
                .all(|branch| is_null_schema(branch) || excludes_null(branch));
        if exclusive && !node.contains_key("oneOf") {
            let branches = node.shift_remove("anyOf").unwrap_or_default();
            node.insert("oneOf".to_owned(), branches);
        }
        return;
    }
    let Some(Value::Array(types)) = node.get("type") else {
        return;
    };
    let others: Vec<_> = types
        .iter()
        .filter(|word| *word != "null")
        .cloned()
        .collect();
    if others.len() + 1 != types.len() || others.len() != 1 {
        return;
    }
    let mut inner = Map::new();
    inner.insert(
        "type".to_owned(),
        others.into_iter().next().unwrap_or_default(),
    );
    let annotations = ["title", "description", "default", "examples", "deprecated"];
    let moved: Vec<String> = node
        .keys()
        .filter(|keyword| *keyword != "type" && !annotations.contains(&keyword.as_str()))
        .cloned()
        .collect();
    for keyword in moved {
        if let Some(mut value) = node.shift_remove(&keyword) {
            if let (true, Value::Array(choices)) = (keyword == "enum", &mut value) {
                choices.retain(|choice| !choice.is_null());
            }
            inner.insert(keyword, value);
        }
    }
    node.shift_remove("type");
    node.insert("oneOf".to_owned(), json!([inner, { "type": "null" }]));
}

fn excludes_null(schema: &Value) -> bool {
    match schema.get("type") {
        Some(Value::String(word)) => word != "null",
        Some(Value::Array(words)) => !words.contains(&json!("null")),
        _ => schema
            .get("oneOf")
            .and_then(Value::as_array)
            .is_some_and(|branches| branches.iter().all(excludes_null)),
    }
}

/// An enum with one variant is that variant.
fn unwrap_single_branch(node: &mut Map<String, Value>) {
    let single = node
        .get("oneOf")
        .and_then(Value::as_array)
        .is_some_and(|branches| branches.len() == 1);
    let beside = |keyword: &String| {
        matches!(
            keyword.as_str(),
            "oneOf" | "title" | "description" | "default"
        )
    };
    if !single || !node.keys().all(beside) {
        return;
    }
    if let Some(Value::Array(mut branches)) = node.shift_remove("oneOf") {
        merge(node, branches.remove(0));
    }
}

/// The subset's order of keywords (T333), the others behind in their own order.
fn sort_keywords(node: &mut Map<String, Value>) {
    const ORDER: [&str; 13] = [
        "type",
        "oneOf",
        "description",
        "title",
        "default",
        "examples",
        "additionalProperties",
        "properties",
        "required",
        "items",
        "enum",
        "const",
        "$ref",
    ];
    let rank = |keyword: &str| {
        ORDER
            .iter()
            .position(|one| *one == keyword)
            .unwrap_or(ORDER.len())
    };
    let mut members: Vec<_> = std::mem::take(node).into_iter().collect();
    members.sort_by_key(|(keyword, _)| rank(keyword));
    node.extend(members);
}
