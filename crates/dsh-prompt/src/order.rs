//! The order of tools in a request.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use dsh_tools::ToolSchema;

use crate::{PromptError, codes};

/// Where the tools stand that an order does not list.
pub const UNLISTED_TOOLS: &str = "<unlisted-tools>";

/// A configured order of tools: names, and [`UNLISTED_TOOLS`] exactly once for all others (L70).
///
/// Without one, tools stand by name, compared as Rust compares strings (L69).
///
/// # Examples
///
/// ```
/// use dsh_prompt::ToolOrder;
///
/// assert!(ToolOrder::new(["run_code", "<unlisted-tools>"]).is_ok());
/// assert!(ToolOrder::new(["run_code"]).is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolOrder(Vec<String>);

impl ToolOrder {
    /// Checks an order.
    ///
    /// # Errors
    ///
    /// The marker is missing, or something is listed twice (L71).
    pub fn new<I, S>(names: I) -> Result<Self, PromptError>
    where
        I: IntoIterator<Item = S>,
        S: Into<String>,
    {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        let mut seen = BTreeSet::new();
        if let Some(twice) = names.iter().find(|name| !seen.insert(name.as_str())) {
            return Err(refused(format!("toolOrder lists \"{twice}\" twice")));
        }
        if !seen.contains(UNLISTED_TOOLS) {
            return Err(refused(format!(
                "toolOrder must contain \"{UNLISTED_TOOLS}\" exactly once"
            )));
        }
        Ok(Self(names))
    }

    /// Checks the order against the names that exist, whether this scope sees them or not.
    pub(crate) fn check(&self, known: &BTreeSet<Arc<str>>) -> Result<(), PromptError> {
        let unknown = self
            .0
            .iter()
            .find(|name| *name != UNLISTED_TOOLS && !known.contains(name.as_str()));
        match unknown {
            None => Ok(()),
            Some(name) => Err(refused(format!(
                "toolOrder lists unregistered tool \"{name}\" (registered: {})",
                crate::render::listed(known.iter().map(|name| &**name))
            ))),
        }
    }

    fn places(&self) -> HashMap<&str, usize> {
        self.0
            .iter()
            .enumerate()
            .map(|(place, name)| (name.as_str(), place))
            .collect()
    }
}

/// Puts tools in order; those of one name stay as they were collected.
pub(crate) fn sort(tools: &mut [ToolSchema], order: Option<&ToolOrder>) -> Result<(), PromptError> {
    if tools.iter().any(|tool| tool.name() == UNLISTED_TOOLS) {
        return Err(refused(format!(
            "\"{UNLISTED_TOOLS}\" is a marker of toolOrder and cannot be the name of a tool"
        )));
    }
    let places = order.map(ToolOrder::places).unwrap_or_default();
    let unlisted = places.get(UNLISTED_TOOLS).copied().unwrap_or(0);
    let place = |tool: &ToolSchema| places.get(tool.name()).copied().unwrap_or(unlisted);
    tools.sort_by(|a, b| place(a).cmp(&place(b)).then_with(|| a.name().cmp(b.name())));
    Ok(())
}

fn refused(message: String) -> PromptError {
    PromptError::of(codes::PROMPT_TOOL_ORDER, message)
}
