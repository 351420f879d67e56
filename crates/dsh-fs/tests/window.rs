//! The windower against a naive reading of its rules (F65–F67).
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

use dsh_fs::read::{Line, Window, WindowLimits, Windower};
use proptest::prelude::*;

const ALL: WindowLimits = WindowLimits {
    offset: 1,
    limit: u64::MAX,
    max_line_length: 2000,
    max_bytes: 51200,
};

fn window(text: &[u8], limits: WindowLimits, chunk: usize) -> Window {
    let mut windower = Windower::new(limits);
    for chunk in text.chunks(chunk) {
        windower.push(chunk);
        windower.push(&[]);
    }
    windower.finish()
}

fn check(text: &str, limits: WindowLimits, lines: &[&str], total: u64) {
    for chunk in 1..=text.len().clamp(1, 64) {
        let window = window(text.as_bytes(), limits, chunk);
        let texts: Vec<_> = window.lines.iter().map(|line| line.text.as_str()).collect();
        assert_eq!(texts, lines, "{text:?} in chunks of {chunk}");
        assert_eq!(window.total_lines, total, "{text:?} in chunks of {chunk}");
        for (line, number) in window.lines.iter().zip(limits.offset..) {
            assert_eq!(line.number, number);
        }
    }
}

#[test]
fn f65_lines_end_at_line_feeds() {
    check("", ALL, &[], 0);
    check("\n", ALL, &[""], 1);
    check("a", ALL, &["a"], 1);
    check("a\n", ALL, &["a"], 1);
    check("a\n\nb", ALL, &["a", "", "b"], 3);
    check("a\r\nb\rc\r\n", ALL, &["a", "b\rc"], 2);
    check("a\r\r\n\r\n\r", ALL, &["a\r", "", ""], 3);
    check(
        "a\u{2028}b\u{85}c\x0bd\n",
        ALL,
        &["a\u{2028}b\u{85}c\x0bd"],
        1,
    );
}

#[test]
fn f66_long_lines_are_cut() {
    let four = WindowLimits {
        max_line_length: 4,
        ..ALL
    };
    let cut = "... (line truncated to 4 chars)";
    check("abcd\n", four, &["abcd"], 1);
    check("abcd\r\n", four, &["abcd"], 1);
    check("abcd\r", four, &["abcd"], 1);
    check("abcde\nx", four, &[&format!("abcd{cut}"), "x"], 2);
    check("abcd\r\r\n", four, &[&format!("abcd{cut}")], 1);
    check("abcd\rx\n", four, &[&format!("abcd{cut}")], 1);
    check("abc\r\n", four, &["abc"], 1);
    check("abc\r\r\n", four, &["abc\r"], 1);
    check("abc\rx\n", four, &[&format!("abc\r{cut}")], 1);
    // Scalar values count, neither bytes nor UTF-16 units.
    check("ü€😀x\n", four, &["ü€😀x"], 1);
    check("ü€😀😀😀\n", four, &[&format!("ü€😀😀{cut}")], 1);
    check(
        "e\u{301}e\u{301}e\n",
        four,
        &[&format!("e\u{301}e\u{301}{cut}")],
        1,
    );
}

#[test]
fn f66_a_gigantic_line_needs_no_more_memory_than_its_start() {
    let mut windower = Windower::new(ALL);
    let chunk = vec![b'x'; 64 * 1024];
    for _ in 0..4096 {
        windower.push(&chunk);
    }
    let window = windower.finish();
    assert_eq!(window.total_lines, 1);
    let text = &window.lines[0].text;
    assert_eq!(
        text.len(),
        2000 + "... (line truncated to 2000 chars)".len()
    );
    assert!(text.capacity() < 16 * 1024);
}

#[test]
fn f67_the_byte_budget() {
    let budget = |max_bytes| WindowLimits { max_bytes, ..ALL };
    check("abc\nde\nf\n", budget(8), &["abc", "de", "f"], 3);
    check("abc\nde\nf\n", budget(7), &["abc", "de"], 3);
    check("abc\nde\nf\n", budget(5), &["abc"], 3);
    // The first line that does not fit ends the window even if a later one would.
    check("a\nlonger\nb\n", budget(5), &["a"], 3);
    check("abc\n", budget(2), &[], 1);
    check("\n\n\n", budget(1), &["", ""], 3);
    // The note about a cut line costs what it is long.
    let cut = "abcd... (line truncated to 4 chars)";
    let four = |max_bytes| WindowLimits {
        max_line_length: 4,
        max_bytes,
        ..ALL
    };
    check("abcdefgh\n", four(cut.len() as u64), &[cut], 1);
    check("abcdefgh\n", four(cut.len() as u64 - 1), &[], 1);
    check("ü\nü", budget(5), &["ü", "ü"], 2);
    check("ü\nü", budget(4), &["ü"], 2);
}

#[test]
fn the_window_is_where_it_was_asked_for() {
    let at = |offset, limit| WindowLimits {
        offset,
        limit,
        ..ALL
    };
    check("1\n2\n3\n4\n", at(2, 2), &["2", "3"], 4);
    check("1\n2\n3\n4", at(4, 2), &["4"], 4);
    check("1\n2\n3\n4", at(5, 2), &[], 4);
    check("1\n2\n3\n4\n", at(5, 2), &[], 4);
    check("1\n2", at(u64::MAX, u64::MAX), &[], 2);
}

/// The rules, written down without any regard for memory.
fn naive(text: &[u8], limits: WindowLimits) -> Window {
    let text = String::from_utf8_lossy(text);
    let mut all: Vec<&str> = text.split('\n').collect();
    if all.last() == Some(&"") {
        all.pop();
    }
    let mut lines = Vec::new();
    let mut bytes = 0;
    let cap = usize::try_from(limits.max_line_length).unwrap();
    for (line, number) in all.iter().zip(1..) {
        if number < limits.offset || lines.len() as u64 >= limits.limit {
            continue;
        }
        let line = line.strip_suffix('\r').unwrap_or(line);
        let text = if line.chars().count() > cap {
            let start: String = line.chars().take(cap).collect();
            format!("{start}... (line truncated to {cap} chars)")
        } else {
            line.to_owned()
        };
        bytes += text.len() as u64 + u64::from(!lines.is_empty());
        if bytes > limits.max_bytes {
            break;
        }
        lines.push(Line { number, text });
    }
    Window {
        lines,
        total_lines: all.len() as u64,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 800, failure_persistence: None, ..Default::default() })]
    #[test]
    fn the_windower_is_the_naive_reading(
        parts in prop::collection::vec(
            prop_oneof![
                4 => prop::sample::select(vec!["\n", "\r\n", "\r", "a", "bc", "ü", "€", "😀"])
                    .prop_map(str::to_owned),
                1 => "\\PC{0,12}",
            ],
            0..40,
        ),
        offset in 1..12_u64,
        limit in 1..12_u64,
        max_line_length in 1..8_u64,
        max_bytes in 1..120_u64,
        chunk in 1..30_usize,
    ) {
        let text = parts.concat();
        let limits = WindowLimits { offset, limit, max_line_length, max_bytes };
        prop_assert_eq!(window(text.as_bytes(), limits, chunk), naive(text.as_bytes(), limits));
    }

    #[test]
    fn any_bytes_are_survived_and_counted(
        bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(b'\n'), Just(b'\r')], 0..200),
        offset in 1..12_u64,
        max_line_length in 1..8_u64,
        chunk in 1..30_usize,
    ) {
        let limits = WindowLimits { offset, limit: 5, max_line_length, max_bytes: 100 };
        let window = window(&bytes, limits, chunk);
        prop_assert_eq!(window.total_lines, naive(&bytes, limits).total_lines);
        prop_assert!(window.lines.len() <= 5);
    }
}
