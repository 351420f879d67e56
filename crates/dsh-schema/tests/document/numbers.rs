//! D2: which numbers are exact, which are rounded, which are refused.

use dsh_schema::{Document, DocumentErrorKind as Error, Kind, Number};

use crate::{check_refused, parsed, refused};

#[track_caller]
fn number(text: &str) -> Number {
    parsed(text).root().as_number().unwrap()
}

#[track_caller]
fn check_integer(text: &str, value: i128) {
    let document = parsed(text);
    assert_eq!(document.kind(), Kind::Integer, "{text}");
    let exact: i128 = match document.root().as_number().unwrap() {
        Number::Int(value) => value.into(),
        Number::UInt(value) => {
            assert!(value > i64::MAX as u64);
            value.into()
        }
        Number::Float(_) => unreachable!("an integer is not stored as a double"),
    };
    assert_eq!(exact, value, "{text}");
    assert_eq!(document.root().as_i64(), i64::try_from(value).ok());
    assert_eq!(document.root().as_u64(), u64::try_from(value).ok());
    assert_eq!(document.to_json(), value.to_string());
}

#[track_caller]
fn check_float(text: &str, value: f64) {
    let document = parsed(text);
    assert_eq!(document.kind(), Kind::Float, "{text}");
    assert_eq!(
        document.root().as_f64().map(f64::to_bits),
        Some(value.to_bits()),
        "{text}"
    );
}

#[test]
fn integers_are_exact() {
    for value in [
        0,
        1,
        -1,
        9,
        10,
        42,
        1_000_000,
        9_007_199_254_740_993,
        i64::MAX.into(),
        i64::MIN.into(),
        u64::MAX.into(),
    ] {
        check_integer(&value.to_string(), value);
        check_integer(&format!(" {value}\n"), value);
        check_integer(&format!("{value}e0"), value);
        if value != 0 {
            check_integer(&format!("{value}.0"), value);
            check_integer(&format!("{value}.000E-0"), value);
            check_integer(&format!("{value}0e-1"), value);
            check_integer(&format!("{value}000.00e-0003"), value);
        }
    }
    check_integer("9223372036854775808", 9_223_372_036_854_775_808);
    check_integer("9999999999999999999", 9_999_999_999_999_999_999);
    check_integer("10000000000000000000", 10_000_000_000_000_000_000);
}

#[test]
fn integral_decimals_are_integers() {
    check_integer("2.0", 2);
    check_integer("1e2", 100);
    check_integer("1E+2", 100);
    check_integer("1.5e1", 15);
    check_integer("-1.5e1", -15);
    check_integer("0.00012e5", 12);
    check_integer("12000e-3", 12);
    check_integer("0.0", 0);
    check_integer("0e5", 0);
    check_integer("0.000e-400", 0);
    check_integer("9007199254740993.0", 9_007_199_254_740_993);
    check_integer("9.007199254740993e15", 9_007_199_254_740_993);
    check_integer("18446744073709551615.0", u64::MAX.into());
    check_integer("1.8446744073709551615e19", u64::MAX.into());
    check_integer("-9223372036854775808.0", i64::MIN.into());
    check_integer("1e19", 10_000_000_000_000_000_000);
    check_integer("1.000000000000000000000000000000", 1);
    check_integer(&format!("1{}e-1000", "0".repeat(1000)), 1);
    check_integer(&format!("0.{}1e1001", "0".repeat(1000)), 1);
    // Their doubles are, once rounded.
    check_integer("-9223372036854775809.0", i64::MIN.into());
    check_integer("1.00000000000000000001", 1);
    check_integer("1e-400", 0);
}

#[test]
fn other_numbers_are_doubles() {
    check_float("0.1", 0.1);
    check_float("-0.5", -0.5);
    check_float("1e20", 1e20);
    check_float("1e21", 1e21);
    check_float("-1e19", -1e19);
    check_float("18446744073709551616.0", 18_446_744_073_709_551_616.0);
    check_float("33.333333333333336", 33.333333333333336);
    check_float("5e-324", 5e-324);
    check_float("-5e-324", -5e-324);
    check_float("2.2250738585072011e-308", 2.225_073_858_507_201_1e-308);
    check_float("1.7976931348623157e308", f64::MAX);
    check_float("1.7976931348623158e308", f64::MAX);
    check_float(
        "123456789012345678901234567890.5",
        1.234_567_890_123_456_8e29,
    );
    check_float(&format!("0.{}", "3".repeat(2000)), 1.0 / 3.0);
    check_float(&format!("0.{}1", "0".repeat(300)), 1e-301);
    assert!(number("1e21").is_integer() && number("2").is_integer() && !number("0.5").is_integer());
}

#[test]
fn integers_beyond_64_bits_are_refused_by_name() {
    for text in [
        "18446744073709551616",
        "-9223372036854775809",
        "99999999999999999999",
        "-10000000000000000000",
        "123456789012345680000",
    ] {
        check_refused(
            text,
            Error::IntegerRange,
            &format!(
                "integer `{text}` does not fit in 64 bits; send it as a string at line 1 column 1"
            ),
        );
    }
    assert_eq!(refused(&"9".repeat(100_000)).kind(), Error::IntegerRange);
    let error = refused(r#"{"a":[0,{"id":99999999999999999999}]}"#);
    assert_eq!(error.path(), Some("a[1].id"));
    assert_eq!(error.column(), Some(15));
}

#[test]
fn overflow_is_refused() {
    check_refused(
        "[1e400]",
        Error::NumberOverflow,
        "number `1e400` is beyond the range of a double at `[0]` at line 1 column 2",
    );
    for text in [
        "-1e309",
        "1.8e308",
        "1e99999999999999999999",
        "-1e+400",
        "1.7976931348623159e308",
    ] {
        assert_eq!(refused(text).kind(), Error::NumberOverflow, "{text}");
    }
    assert_eq!(
        refused(&format!("{}.5", "9".repeat(400))).kind(),
        Error::NumberOverflow
    );
}

/// T44, in any spelling.
#[test]
fn negative_zero_is_refused() {
    for text in [
        "-0",
        "-0.0",
        "-0e5",
        "-0E-5",
        "-0.000e+7",
        "-1e-400",
        "-0.0000e-99999999999999999999",
        "-2e-324",
    ] {
        check_refused(
            text,
            Error::NegativeZero,
            &format!("`{text}` is negative zero; write `0` at line 1 column 1"),
        );
    }
    assert_eq!(
        refused(r#"{"a":{"b":-0}}"#).to_string(),
        "`-0` is negative zero; write `0` at `a.b` at line 1 column 11"
    );
}

#[test]
fn numbers_compare_exactly() {
    let ascending = [
        Number::Float(-1e300),
        Number::Int(i64::MIN),
        Number::Int(-2),
        Number::Float(-1.5),
        Number::Int(-1),
        Number::Float(-0.5),
        Number::Int(0),
        Number::Float(0.5),
        Number::Int(1),
        Number::Float(9_007_199_254_740_992.0),
        Number::Int(9_007_199_254_740_993),
        Number::Int(i64::MAX),
        Number::UInt(1 << 63),
        Number::UInt(u64::MAX),
        Number::Float(18_446_744_073_709_551_616.0),
        Number::Float(f64::MAX),
    ];
    for (i, a) in ascending.iter().enumerate() {
        for (j, b) in ascending.iter().enumerate() {
            assert_eq!(a.partial_cmp(b), Some(i.cmp(&j)), "{a} and {b}");
        }
    }
    assert_eq!(Number::Int(1), Number::Float(1.0));
    assert_eq!(
        Number::UInt(1 << 63),
        Number::Float(9_223_372_036_854_775_808.0)
    );
    assert_ne!(
        Number::Int(i64::MAX),
        Number::Float(9_223_372_036_854_775_808.0)
    );
    assert_eq!(Number::Float(2.0).as_i64(), Some(2));
    assert_eq!(Number::Float(2.5).as_i64(), None);
    assert_eq!(Number::Float(1e300).as_u64(), None);
}

/// The table that ECMAScript's `Number::toString` gives.
#[test]
fn doubles_print_as_in_ecmascript() {
    for (value, text) in [
        (1e21, "1e+21"),
        (1e-7, "1e-7"),
        (1.5e-7, "1.5e-7"),
        (5e-324, "5e-324"),
        (f64::MAX, "1.7976931348623157e+308"),
        (0.000_001, "0.000001"),
        (0.000_001_5, "0.0000015"),
        (1.234_567_890_123_456_8e20, "123456789012345680000"),
        (-1e20, "-100000000000000000000"),
        (33.333333333333336, "33.333333333333336"),
        (0.1, "0.1"),
        (-0.5, "-0.5"),
        (1e300, "1e+300"),
        (-1.25e-10, "-1.25e-10"),
        (123.456, "123.456"),
        (4.35, "4.35"),
        (1e22, "1e+22"),
        (2.0, "2"),
    ] {
        assert_eq!(Document::from_serialize(&value).unwrap().to_json(), text);
        assert_eq!(Number::Float(value).to_string(), text);
    }
    assert_eq!(
        format!(
            "{:>4}|{:<4}|{:3}",
            Number::Int(1),
            Number::UInt(u64::MAX),
            Number::Float(0.5)
        ),
        format!("   1|{}|0.5", u64::MAX)
    );
}

/// ECMAScript prints some doubles like integers that would be refused; the kept text of a built document is not one of them.
#[test]
fn the_text_of_a_built_document_always_parses() {
    for value in [
        1.234_567_890_123_456_8e20,
        -1e19,
        18_446_744_073_709_551_616.0,
        1e21,
        9.5e18,
        0.1,
        1e-9,
    ] {
        let document = Document::from_serialize(&[value]).unwrap();
        let again = parsed(document.text());
        assert_eq!(again, document);
        assert_eq!(again.to_json(), document.to_json());
    }
}
