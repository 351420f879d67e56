//! The system prompt: sections, dynamic contexts, variables and tool schemas, and their assembly.
//!
//! What this crate owns:
//!
//! - [`Prompt`]: who contributes what, in a global layer and one layer per scope. A contribution ends with its lifetime.
//! - [`Assembly`]: the parts of one request, and its rendering with strict interpolation.
//! - [`ToolOrder`]: where tools stand.
//!
//! What holds:
//!
//! 1. The same contributions give the same bytes: nothing here reads a clock, draws a random number or iterates over a
//!    hash table.
//! 2. A section that quotes what others wrote cannot break the rendering: see [`Section::verbatim`].
//! 3. A provider runs once per assembly, and one that is shadowed does not run at all.
//! 4. Configuration problems are the failure of the assembly, never a panic.
//!
//! It knows no providers of models and no tools' bodies. Start reading at [`Prompt::assemble`].

mod assembly;
mod chain;
pub mod codes;
mod contain;
mod contribution;
mod error;
mod order;
mod registry;
mod render;
mod section;

pub use assembly::Assembly;
pub use chain::AssembleNext;
pub use contribution::{ToolContribution, ToolProvider, announced};
pub use error::PromptError;
pub use order::{ToolOrder, UNLISTED_TOOLS};
pub use registry::{Prompt, PromptConfig, Receiver, Registration};
pub use render::{Snapshot, Variables};
pub use section::{AssembleContext, AssembledSection, Section};
