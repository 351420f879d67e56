//! The parts of one request, before they are rendered.

use std::collections::HashSet;

use dsh_tools::ToolSchema;

use crate::render::is_variable_name;
use crate::{AssembledSection, PromptError, Variables};

/// What [`Prompt::assemble`](crate::Prompt::assemble) gives, and what listeners change on the way.
///
/// Every assembly is built from scratch; a change goes no further than the assembly it was made to (L74).
#[derive(Clone, Debug, PartialEq)]
pub struct Assembly {
    /// The sections in their order, texts not interpolated yet.
    pub sections: Vec<AssembledSection>,
    /// The dynamic contexts in their order.
    pub contexts: Vec<AssembledSection>,
    /// The tools in their order.
    pub tools: Vec<ToolSchema>,
    /// The variables.
    pub variables: Variables,
}

impl Assembly {
    /// The section of that name.
    #[must_use]
    pub fn section(&self, name: &str) -> Option<&AssembledSection> {
        self.sections.iter().find(|section| &*section.name == name)
    }

    /// Checks what a listener may have got wrong: names that are empty or not unique, illegal variable names (L76).
    ///
    /// # Errors
    ///
    /// The first such name.
    pub fn check(&self) -> Result<(), PromptError> {
        for (what, sections) in [("section", &self.sections), ("context", &self.contexts)] {
            let mut names = HashSet::new();
            for section in sections {
                if section.name.is_empty() {
                    return Err(PromptError::new(format!(
                        "an assembled prompt {what} has no name"
                    )));
                }
                if !names.insert(&section.name) {
                    return Err(PromptError::new(format!(
                        "prompt {what} \"{}\" was assembled twice",
                        section.name
                    )));
                }
            }
        }
        if self.tools.iter().any(|tool| tool.name().is_empty()) {
            return Err(PromptError::new("an assembled tool has no name"));
        }
        match self.variables.keys().find(|name| !is_variable_name(name)) {
            None => Ok(()),
            Some(name) => Err(PromptError::new(format!(
                "\"{name}\" cannot be the name of a prompt variable"
            ))),
        }
    }
}
