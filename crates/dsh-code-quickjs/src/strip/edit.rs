//! Blanking: replacing stretches of the program by spaces without moving anything else.

use super::trivia::is_line_terminator;

/// A stretch of the program that becomes blank, except perhaps for its first or last character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Edit {
    pub(super) start: usize,
    pub(super) end: usize,
    /// What the first character becomes.
    pub(super) head: char,
    /// What the last character becomes.
    pub(super) tail: char,
}

impl Edit {
    pub(super) fn blank(start: usize, end: usize) -> Self {
        Self {
            start,
            end,
            head: ' ',
            tail: ' ',
        }
    }

    /// Blank, with an (always ASCII) character in place of the first one.
    pub(super) fn with_head(start: usize, end: usize, head: char) -> Self {
        Self {
            start,
            end,
            head,
            tail: ' ',
        }
    }

    /// Blank, with an (always ASCII) character in place of the last one.
    pub(super) fn with_tail(start: usize, end: usize, tail: char) -> Self {
        Self {
            start,
            end,
            head: ' ',
            tail,
        }
    }
}

/// The program with all edits applied. Each character becomes one character: a line terminator stays
/// what it is, anything else becomes a space.
pub(super) fn apply(program: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|edit| edit.start);
    let mut result = String::with_capacity(program.len());
    let mut done = 0;
    for edit in edits {
        debug_assert!(
            done <= edit.start && edit.start <= edit.end,
            "edits must not overlap"
        );
        // In a release build an overlap would blank too little instead of failing.
        let start = edit.start.max(done);
        if edit.end <= start {
            continue;
        }
        result.push_str(&program[done..start]);
        blank_into(&mut result, &program[start..edit.end], edit.head, edit.tail);
        done = edit.end;
    }
    result.push_str(&program[done..]);
    result
}

fn blank_into(result: &mut String, text: &str, head: char, tail: char) {
    let count = text.chars().count();
    for (index, character) in text.chars().enumerate() {
        result.push(if index == 0 && head != ' ' {
            head
        } else if index + 1 == count && tail != ' ' {
            tail
        } else if is_line_terminator(character) {
            character
        } else {
            ' '
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_becomes_one_character() {
        let edits = vec![Edit::with_tail(4, 12, ')'), Edit::with_head(0, 3, ';')];
        assert_eq!(apply("abcd\u{2028}é\n\tx", edits), ";  d\u{2028} \n )");
        let edits = vec![Edit::blank(1, 5)];
        assert_eq!(apply("a😀b", edits), "a b");
    }
}
