//! The languages that programs can be written in.

use std::fmt;

use dsh_tools::View;

use crate::instructions;

/// A language with declarations, instructions and a flavour of `run_code`.
///
/// One enum decides all of them, so that a language cannot have one and lack another (C102).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Language {
    /// TypeScript without type checks.
    TypeScript,
    /// Python.
    Python,
}

impl Language {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::TypeScript, Self::Python];

    /// The language of that exact name (C35).
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|language| language.as_str() == name)
    }

    /// The name, as runtimes give it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TypeScript => "typescript",
            Self::Python => "python",
        }
    }

    /// The names of all, as a message lists them.
    pub(crate) fn known() -> String {
        Self::ALL
            .map(|language| format!("\"{language}\""))
            .join(", ")
    }

    const fn fence(self) -> &'static str {
        match self {
            Self::TypeScript => "ts",
            Self::Python => "python",
        }
    }

    /// The section `tools:sdk`: instructions, a blank line, and the declarations in one fence (C47).
    pub(crate) fn sdk(self, view: &View) -> String {
        let (instructions, declarations) = match self {
            Self::TypeScript => (instructions::TYPESCRIPT, view.to_typescript()),
            Self::Python => (instructions::PYTHON, view.to_python()),
        };
        let fence = fence_around(&declarations);
        format!(
            "{instructions}\n\n{fence}{}\n{declarations}\n{fence}",
            self.fence()
        )
    }

    pub(crate) const fn tool_description(self) -> &'static str {
        match self {
            Self::TypeScript => instructions::TYPESCRIPT_TOOL,
            Self::Python => instructions::PYTHON_TOOL,
        }
    }

    pub(crate) const fn code_description(self) -> &'static str {
        match self {
            Self::TypeScript => "The program: the body of an async TypeScript function.",
            Self::Python => "The program: the body of an async Python function.",
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A fence that nothing inside can close: a description of a tool may hold a fence of its own.
fn fence_around(text: &str) -> String {
    let (mut longest, mut run) = (0, 0);
    for byte in text.bytes() {
        run = if byte == b'`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    "`".repeat(3.max(longest + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// C35.
    #[test]
    fn a_language_is_found_by_its_exact_name() {
        assert_eq!(Language::of("typescript"), Some(Language::TypeScript));
        assert_eq!(Language::of("python"), Some(Language::Python));
        for name in [
            "",
            "TypeScript",
            "ruby",
            "constructor",
            "toString",
            "__proto__",
        ] {
            assert_eq!(Language::of(name), None, "{name}");
        }
    }

    #[test]
    fn a_fence_is_longer_than_any_inside() {
        assert_eq!(fence_around("no `code` here"), "```");
        assert_eq!(fence_around("a ``` b"), "````");
    }
}
