//! Stable machine codes of this crate. One page each under `docs/errors/`.

/// A part of the prompt could not be assembled: a provider or a listener failed, or parts contradict each other.
pub const PROMPT_ASSEMBLY_FAILED: &str = "PROMPT_ASSEMBLY_FAILED";
/// A contribution is malformed or its name is taken.
pub const PROMPT_CONTRIBUTION_REFUSED: &str = "PROMPT_CONTRIBUTION_REFUSED";
/// A section uses a variable that does not exist or has no value.
pub const PROMPT_RENDER_FAILED: &str = "PROMPT_RENDER_FAILED";
/// The configured order of tools is malformed or names a tool that does not exist.
pub const PROMPT_TOOL_ORDER: &str = "PROMPT_TOOL_ORDER";
