//! What a terminal shows: colour, and foreign text that cannot steer it.

use std::fmt::Write as _;
use std::io::IsTerminal;

use crate::args::When;

/// Whether a stream is to be coloured.
pub(crate) fn colour(when: When, stream: &impl IsTerminal) -> bool {
    match when {
        When::Always => true,
        When::Never => false,
        When::Auto => {
            let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
            let able = std::env::var_os("TERM").is_some_and(|term| term != "dumb");
            stream.is_terminal() && able && !refused
        }
    }
}

/// Puts colour on text, or leaves it as it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint {
    on: bool,
}

impl Paint {
    /// The paint for a stream.
    pub(crate) fn of(when: When, stream: &impl IsTerminal) -> Self {
        Self {
            on: colour(when, stream),
        }
    }

    /// No colour at all.
    #[cfg(test)]
    pub(crate) const PLAIN: Self = Self { on: false };

    /// What went well: green.
    pub(crate) fn good(self, text: &str) -> String {
        self.wrap("32", text)
    }

    /// What went wrong: bold red.
    pub(crate) fn bad(self, text: &str) -> String {
        self.wrap("1;31", text)
    }

    /// What stands aside: dim.
    pub(crate) fn aside(self, text: &str) -> String {
        self.wrap("2", text)
    }

    fn wrap(self, code: &str, text: &str) -> String {
        if self.on {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}

/// One line of foreign text with nothing in it that a terminal would act on.
pub(crate) fn visible_line(text: &str) -> String {
    shown(text, |c| c == '\t')
}

/// Lines of foreign text with nothing in them that a terminal would act on but line breaks and tabs.
pub(crate) fn visible_text(text: &str) -> String {
    shown(text, |c| matches!(c, '\t' | '\n'))
}

fn shown(text: &str, obeyed: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if acts(c) && !obeyed(c) {
            // Writing to a string does not fail.
            let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

/// Control characters, the ones that turn the direction of text around, and the mark that nobody sees.
fn acts(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{061c}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{202a}'..='\u{202e}'
                | '\u{2066}'..='\u{2069}'
                | '\u{2028}'
                | '\u{2029}'
                | '\u{feff}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_act_on_is_shown() {
        assert_eq!(
            visible_line("a\x1b[31mb\u{202e}c\td\r\n"),
            "a\\u{1b}[31mb\\u{202e}c\td\\u{d}\\u{a}"
        );
        assert_eq!(visible_text("a\x1b\n\tb\u{2028}"), "a\\u{1b}\n\tb\\u{2028}");
    }

    #[test]
    fn paint_is_only_put_on_when_wanted() {
        assert_eq!(Paint::PLAIN.bad("x"), "x");
        assert_eq!(Paint { on: true }.bad("x"), "\x1b[1;31mx\x1b[0m");
    }
}
