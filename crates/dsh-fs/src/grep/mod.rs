//! The `grep` tool: lines of files by regular expression.
//!
//! 1. `request`: the arguments become a request or an error, before any I/O (F120);
//! 2. `find`: a file, or the files of a tree, are searched (F120, F121); `lines` is the part that
//!    looks into one file;
//! 3. `render`: the text for the model (F122);
//! 4. `tool`: the definition, its cards included (F135).

mod find;
mod lines;
mod render;
mod request;
mod tool;

pub use find::{GrepOutput, LineMatch, find_lines};
pub use request::{GrepArgumentError, GrepRequest};
pub use tool::{PROMPT, PROMPT_ORDER, PROMPT_SECTION, grep};

pub(crate) use tool::{NAME, complete_text, rendered};
