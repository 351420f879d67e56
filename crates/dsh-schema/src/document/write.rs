//! From nodes to JSON text, as `JSON.stringify` writes it.

use smallvec::SmallVec;

use super::node::Tag;
use super::number::Number;
use super::scan::plain_end;
use super::value::ValueRef;

/// Appends compact JSON.
pub(super) fn compact(value: ValueRef<'_>, out: &mut String) {
    write::<false>(value, out);
}

/// Appends JSON indented by two spaces.
pub(super) fn pretty(value: ValueRef<'_>, out: &mut String) {
    write::<true>(value, out);
}

/// A container that is being written.
struct Open {
    end: u32,
    is_object: bool,
    /// Whether a key was written whose value comes next.
    has_key: bool,
}

fn write<const PRETTY: bool>(value: ValueRef<'_>, out: &mut String) {
    let document = value.document();
    let end = value.end();
    let mut index = value.index_in_document();
    let mut open: SmallVec<[Open; 8]> = SmallVec::new();
    let mut is_first = true;
    while index < end {
        let node = document.node(index);
        let depth = open.len();
        let mut is_key = false;
        if let Some(container) = open.last_mut() {
            if container.has_key {
                container.has_key = false;
                out.push_str(if PRETTY { ": " } else { ":" });
            } else {
                if !is_first {
                    out.push(',');
                }
                if PRETTY {
                    new_line(out, depth);
                }
                is_key = container.is_object;
                container.has_key = is_key;
            }
        }
        is_first = false;
        match node.tag {
            Tag::Null => out.push_str("null"),
            Tag::False => out.push_str("false"),
            Tag::True => out.push_str("true"),
            Tag::Int | Tag::UInt | Tag::Float => {
                if let Some(number) = Number::of_node(node) {
                    number.write(out);
                }
            }
            Tag::Plain => {
                // Nothing in it needs an escape, or it would not be plain.
                out.push('"');
                out.push_str(document.string_of(node));
                out.push('"');
            }
            Tag::Escaped => {
                string(document.string_of(node), out);
            }
            Tag::Array | Tag::Object if node.count() == 0 => {
                out.push_str(if node.tag == Tag::Array { "[]" } else { "{}" });
            }
            Tag::Array | Tag::Object => {
                out.push(if node.tag == Tag::Array { '[' } else { '{' });
                open.push(Open {
                    end: node.end(),
                    is_object: node.tag == Tag::Object,
                    has_key: false,
                });
                is_first = true;
            }
        }
        index += 1;
        if is_key {
            continue;
        }
        while let Some(container) = open.last()
            && container.end == index
        {
            let close = if container.is_object { '}' } else { ']' };
            open.pop();
            if PRETTY {
                new_line(out, open.len());
            }
            out.push(close);
        }
    }
}

fn new_line(out: &mut String, depth: usize) {
    out.push('\n');
    for _ in 0..depth {
        out.push_str("  ");
    }
}

/// Appends a string in quotes; whether it needed no escape.
///
/// Only what JSON requires is escaped: quote, backslash and control characters below U+0020.
pub(super) fn string(text: &str, out: &mut String) -> bool {
    out.reserve(text.len() + 2);
    out.push('"');
    let bytes = text.as_bytes();
    let mut run = 0;
    loop {
        let end = plain_end(bytes, run);
        out.push_str(text.get(run..end).unwrap_or(""));
        let Some(special) = bytes.get(end) else { break };
        match special {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            8 => out.push_str("\\b"),
            9 => out.push_str("\\t"),
            10 => out.push_str("\\n"),
            12 => out.push_str("\\f"),
            13 => out.push_str("\\r"),
            control => {
                const DIGITS: [char; 16] = [
                    '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f',
                ];
                out.push_str("\\u00");
                out.extend([control >> 4, control & 15].map(|digit| DIGITS[usize::from(digit)]));
            }
        }
        run = end + 1;
    }
    out.push('"');
    run == 0
}
