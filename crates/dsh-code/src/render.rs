//! What a model reads of a finished program (chapter 5.3 of the Code Mode specification).

use dsh_schema::ValueRef;

/// What stands for a program that printed and returned nothing (C110).
pub(crate) const NO_OUTPUT: &str = "(run_code completed with no output)";

/// How many levels are written one element a line: the indentation never exceeds ten characters (C114).
const EXPANDED: usize = 5;

/// The text of `{logs, result?}`.
pub(crate) fn output(value: ValueRef<'_>) -> String {
    let mut out = String::new();
    let logs = value.get("logs").and_then(ValueRef::as_array);
    for (index, line) in logs.into_iter().flat_map(|logs| logs.iter()).enumerate() {
        if index > 0 {
            out.push('\n');
        }
        out.push_str(line.as_str().unwrap_or_default());
    }
    if let Some(result) = value.get("result") {
        let printed = !out.is_empty();
        if printed {
            out.push('\n');
        }
        let before = out.len();
        match result.as_str() {
            // A string is shown as it is (C112).
            Some(text) => out.push_str(text),
            None => expanded(result, 0, &mut out),
        }
        if printed && out.len() == before {
            out.pop();
        }
    }
    if out.is_empty() {
        out.push_str(NO_OUTPUT);
    }
    out
}

/// Two spaces a level down to the fifth, compact below it (C113, C114). It recurses five levels.
fn expanded(value: ValueRef<'_>, depth: usize, out: &mut String) {
    let line = |out: &mut String, depth: usize| {
        out.push('\n');
        (0..depth).for_each(|_| out.push_str("  "));
    };
    if depth < EXPANDED {
        if let Some(array) = value.as_array().filter(|array| !array.is_empty()) {
            out.push('[');
            for (index, item) in array.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                line(out, depth + 1);
                expanded(item, depth + 1, out);
            }
            line(out, depth);
            return out.push(']');
        }
        if let Some(object) = value.as_object().filter(|object| !object.is_empty()) {
            out.push('{');
            for (index, (key, member)) in object.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                line(out, depth + 1);
                push_string(key, out);
                out.push_str(": ");
                expanded(member, depth + 1, out);
            }
            line(out, depth);
            return out.push('}');
        }
    }
    value.write_json(out);
}

fn push_string(text: &str, out: &mut String) {
    dsh_schema::Document::string(text).root().write_json(out);
}

#[cfg(test)]
mod tests {
    use dsh_schema::Document;

    use super::*;

    #[track_caller]
    fn check(value: &str, expected: &str) {
        assert_eq!(
            output(Document::parse(value).unwrap().root()),
            expected,
            "{value}"
        );
    }

    /// C110–C112, the whole table.
    #[test]
    fn logs_and_result_are_joined_by_lines() {
        check(r#"{"logs":["printed"]}"#, "printed");
        check(r#"{"logs":[],"result":"returned"}"#, "returned");
        check(
            r#"{"logs":["printed"],"result":"returned"}"#,
            "printed\nreturned",
        );
        check(r#"{"logs":[]}"#, NO_OUTPUT);
        check(r#"{"logs":[],"result":""}"#, NO_OUTPUT);
        check(r#"{"logs":[""]}"#, NO_OUTPUT);
        check(r#"{"logs":["",""]}"#, "\n");
        check(r#"{"logs":[],"result":null}"#, "null");
        check(r#"{"logs":["a"],"result":""}"#, "a");
        check(r#"{"logs":[""],"result":"a"}"#, "a");
        check(
            r#"{"logs":["a","b"],"result":"say \"hi\"\n"}"#,
            "a\nb\nsay \"hi\"\n",
        );
    }

    /// C113.
    #[test]
    fn other_values_are_indented_json() {
        check(
            r#"{"logs":[],"result":{"b":[],"a":{},"n":[1,1e21,0.1,18446744073709551615]}}"#,
            "{\n  \"b\": [],\n  \"a\": {},\n  \"n\": [\n    1,\n    1e+21,\n    0.1,\n    18446744073709551615\n  ]\n}",
        );
        check(r#"{"logs":[],"result":["a\"b"]}"#, "[\n  \"a\\\"b\"\n]");
        check(r#"{"logs":[],"result":false}"#, "false");
    }

    /// C114.
    #[test]
    fn the_indentation_stops_at_ten() {
        check(
            r#"{"logs":[],"result":[[[[[[[1]]]]]]]}"#,
            "[\n  [\n    [\n      [\n        [\n          [[1]]\n        ]\n      ]\n    ]\n  ]\n]",
        );
        check(
            r#"{"logs":[],"result":{"a":{"b":{"c":{"d":{"e":{"f": [1, 2]}}}}}}}"#,
            "{\n  \"a\": {\n    \"b\": {\n      \"c\": {\n        \"d\": {\n          \"e\": {\"f\":[1,2]}\n        }\n      }\n    }\n  }\n}",
        );
    }

    /// C115, at the depth that documents have (D4).
    #[test]
    fn deep_values_are_linear() {
        let deep = format!(
            r#"{{"logs":[],"result":{}{{"a":1}}{}}}"#,
            "[".repeat(500),
            "]".repeat(500)
        );
        let text = output(Document::parse(deep).unwrap().root());
        assert!(text.len() < 1_200, "{}", text.len());
    }
}
