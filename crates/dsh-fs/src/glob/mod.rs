//! The `glob` tool: paths of files by pattern.
//!
//! 1. `request`: the arguments become a request or an error, before any I/O (F110);
//! 2. `find`: the tree is walked and the paths are sorted by time (F111, F112);
//! 3. `page`: what is shown of them (F113, F114);
//! 4. `tool`: the definition, its cards included (F135).

mod find;
mod page;
mod request;
mod tool;

pub use find::{GlobOutput, find_paths};
pub use request::{GlobArgumentError, GlobRequest};
pub use tool::{PROMPT, PROMPT_ORDER, PROMPT_SECTION, glob};

pub(crate) use tool::{NAME, complete_text, rendered};
