//! What a person at a terminal would want to know next.

use std::fmt::Write as _;

use dsh_schema::ValueRef;
use dsh_tools::{Outcome, Tool, codes};

/// So many parameters are named; a longer list helps nobody.
const NAMED: usize = 12;

/// What may help after a call has failed: the parameters of a tool, or where the names of the tools are.
pub(crate) fn after(outcome: &Outcome, name: &str, tool: Option<&Tool>) -> Option<String> {
    match (outcome.code()?, tool) {
        // A near match is in the content already, as a block of its own (D46).
        (codes::UNKNOWN_TOOL, _) if outcome.content().blocks().len() > 1 => None,
        (codes::UNKNOWN_TOOL, _) => Some("`dsh tools` lists the tools".to_owned()),
        (codes::INVALID_ARGS, Some(tool)) => {
            let takes = parameters(tool.schema().parameters().root());
            Some(format!(
                "`{name}` takes {takes}; `dsh tools --json` prints the whole schema"
            ))
        }
        _ => None,
    }
}

/// The parameters that an object schema names, with their types.
fn parameters(schema: ValueRef<'_>) -> String {
    let is_required = |name: &str| {
        let names = schema.get("required").and_then(ValueRef::as_array);
        names.is_some_and(|names| names.iter().any(|one| one.as_str() == Some(name)))
    };
    let Some(properties) = schema
        .get("properties")
        .and_then(ValueRef::as_object)
        .filter(|all| !all.is_empty())
    else {
        return "no named parameters".to_owned();
    };
    let mut out = String::new();
    for (position, (name, node)) in properties.iter().enumerate() {
        if position == NAMED {
            let _ = write!(out, " and {} more", properties.len() - NAMED);
            break;
        }
        let separator = if position == 0 { "" } else { ", " };
        let optional = if is_required(name) { "" } else { ", optional" };
        let _ = write!(out, "{separator}{name} ({}{optional})", kind(node));
    }
    out
}

/// The type of a parameter in a word or two.
fn kind(node: ValueRef<'_>) -> String {
    let Some(types) = node.get("type") else {
        return if node.get("enum").is_some() {
            "one of a set"
        } else {
            "value"
        }
        .to_owned();
    };
    match (types.as_str(), types.as_array()) {
        (Some(one), _) => one.to_owned(),
        (None, Some(several)) => several
            .iter()
            .filter_map(ValueRef::as_str)
            .collect::<Vec<_>>()
            .join(" or "),
        (None, None) => "value".to_owned(),
    }
}

/// What to say of a key that an open object schema takes but does not name: nobody reads it, so it is most likely
/// misspelled. Nothing, if the schema says something about further keys.
pub(crate) fn stray_key(schema: ValueRef<'_>, key: &str) -> Option<String> {
    let speaks_of_others = [
        "additionalProperties",
        "patternProperties",
        "unevaluatedProperties",
        "$ref",
        "allOf",
    ];
    if speaks_of_others
        .iter()
        .any(|keyword| schema.get(keyword).is_some())
    {
        return None;
    }
    let properties = schema.get("properties").and_then(ValueRef::as_object)?;
    let near = properties
        .iter()
        .map(|(name, _)| (strsim::jaro_winkler(name, key), name))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|one, other| one.0.total_cmp(&other.0));
    Some(match near {
        Some((_, name)) => format!("the schema names no parameter `{key}`; did you mean `{name}`?"),
        None => format!("the schema names no parameter `{key}`"),
    })
}

#[cfg(test)]
mod tests {
    use dsh_schema::Document;

    use super::*;

    fn check(schema: &str, expected: &str) {
        assert_eq!(
            parameters(Document::parse(schema).unwrap().root()),
            expected
        );
    }

    #[test]
    fn parameters_are_named_with_their_types() {
        check(
            r#"{"properties":{"a":{"type":"string"},"b":{"type":["integer","null"]},"c":{},"d":{"enum":[1]}},"required":["a"]}"#,
            "a (string), b (integer or null, optional), c (value, optional), d (one of a set, optional)",
        );
        check("{}", "no named parameters");
        check(r#"{"properties":{}}"#, "no named parameters");
        check("true", "no named parameters");
    }

    #[test]
    fn a_long_list_is_cut() {
        let properties: Vec<String> = (10..24)
            .map(|number| format!(r#""p{number}":{{}}"#))
            .collect();
        let schema =
            Document::parse(format!(r#"{{"properties":{{{}}}}}"#, properties.join(","))).unwrap();
        assert!(parameters(schema.root()).ends_with("p21 (value, optional) and 2 more"));
    }

    #[test]
    fn a_stray_key_is_told_with_its_neighbour() {
        let stray =
            |schema: &str, key: &str| stray_key(Document::parse(schema).unwrap().root(), key);
        let open = r#"{"properties":{"limit":{},"offset":{}}}"#;
        assert_eq!(
            stray(open, "limt").unwrap(),
            "the schema names no parameter `limt`; did you mean `limit`?"
        );
        assert_eq!(
            stray(open, "xyz").unwrap(),
            "the schema names no parameter `xyz`"
        );
        assert_eq!(
            stray(r#"{"properties":{},"additionalProperties":false}"#, "x"),
            None
        );
        assert_eq!(stray("{}", "x"), None);
    }
}
