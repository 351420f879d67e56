//! Why a value that fits its schema does not decode, in the words of schema violations.

use crate::DocumentError;

/// The violation that `error` stands for.
pub(super) fn violation(error: &DocumentError) -> String {
    let path = error.path().unwrap_or_default();
    let message = error.message();
    let subject = if path.is_empty() { "arguments" } else { path };
    let member = |name: &str| {
        if path.is_empty() {
            name.to_owned()
        } else {
            format!("{path}.{name}")
        }
    };
    if let Some(name) = quoted_after(message, "missing field `") {
        return format!("missing required property \"{}\"", member(name));
    }
    if let Some(name) = quoted_after(message, "unknown field `") {
        return format!(
            "\"{}\" is not a declared property (additionalProperties: false)",
            member(name)
        );
    }
    if message.starts_with("unknown variant `")
        && let Some((_, known)) = message.split_once("expected ")
    {
        let known: Vec<_> = known
            .split('`')
            .skip(1)
            .step_by(2)
            .map(|name| format!("\"{name}\""))
            .collect();
        if !known.is_empty() {
            return format!("\"{subject}\" must be one of [{}]", known.join(","));
        }
    }
    if message.starts_with("invalid value: ") || message.starts_with("invalid type: ") {
        let number = message.contains(": integer `") || message.contains(": floating point `");
        if let Some((_, expected)) = message.rsplit_once(", expected ").filter(|_| number) {
            let width = expected.strip_prefix("a nonzero ").unwrap_or(expected);
            if let Some((least, most)) = bounds(width) {
                return if width == expected {
                    format!("\"{subject}\" must be an integer between {least} and {most}")
                } else {
                    format!(
                        "\"{subject}\" must be an integer between {least} and {most} other than 0"
                    )
                };
            }
        }
    }
    format!("\"{subject}\" is not accepted: {message}")
}

fn quoted_after<'a>(message: &'a str, prefix: &str) -> Option<&'a str> {
    message
        .strip_prefix(prefix)?
        .split_once('`')
        .map(|(name, _)| name)
}

fn bounds(width: &str) -> Option<(i128, i128)> {
    Some(match width {
        "u8" => (0, i128::from(u8::MAX)),
        "u16" => (0, i128::from(u16::MAX)),
        "u32" => (0, i128::from(u32::MAX)),
        "u64" => (0, i128::from(u64::MAX)),
        "usize" => (0, usize::MAX as i128),
        "i8" => (i128::from(i8::MIN), i128::from(i8::MAX)),
        "i16" => (i128::from(i16::MIN), i128::from(i16::MAX)),
        "i32" => (i128::from(i32::MIN), i128::from(i32::MAX)),
        "i64" => (i128::from(i64::MIN), i128::from(i64::MAX)),
        "isize" => (isize::MIN as i128, isize::MAX as i128),
        _ => return None,
    })
}
