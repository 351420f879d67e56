//! Time limits as text: a whole number and its unit.

const FORM: &str = "a whole number with its unit, such as \"500ms\", \"30s\", \"5m\" or \"1h\"";

/// Milliseconds of a time limit, which is never zero.
pub(crate) fn parse(text: &str) -> Result<u64, String> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let factor = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "" if !number.is_empty() => {
            return Err(format!(
                "the timeout \"{text}\" has no unit: write \"{text}ms\" or \"{text}s\""
            ));
        }
        _ => {
            return Err(format!(
                "the timeout \"{text}\" cannot be read: write {FORM}"
            ));
        }
    };
    if number.is_empty() {
        return Err(format!(
            "the timeout \"{text}\" has no number: write {FORM}"
        ));
    }
    let number: Option<u64> = number.parse().ok();
    match number.and_then(|number| number.checked_mul(factor)) {
        Some(0) => Err(
            "a timeout of zero would end every call: give at least \"1ms\", or leave `timeout` out"
                .to_owned(),
        ),
        Some(limit) => Ok(limit),
        None => Err(format!(
            "the timeout \"{text}\" is too long: leave `timeout` out for a tool without a limit"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn limits_are_whole_numbers_with_a_unit() {
        for (text, limit) in [
            ("1ms", 1),
            ("30s", 30_000),
            ("5m", 300_000),
            ("2h", 7_200_000),
            ("007s", 7_000),
        ] {
            assert_eq!(parse(text), Ok(limit), "{text}");
        }
    }

    #[test]
    fn anything_else_says_what_to_write() {
        let cases = [
            ("0s", "a timeout of zero would end every call"),
            ("30", "has no unit: write \"30ms\" or \"30s\""),
            ("s", "has no number"),
            ("", "cannot be read"),
            ("1.5s", "cannot be read"),
            ("-1s", "cannot be read"),
            ("30 s", "cannot be read"),
            ("30d", "cannot be read"),
            ("5é", "cannot be read"),
            ("18446744073709551615h", "is too long"),
            ("99999999999999999999ms", "is too long"),
        ];
        for (text, part) in cases {
            let message = parse(text).unwrap_err();
            assert!(message.contains(part), "{text}: {message}");
        }
    }
}
