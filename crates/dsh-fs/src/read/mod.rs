//! The `read` tool: a window of numbered lines of a text file.
//!
//! One call goes through these stages, each a module of its own:
//!
//! 1. `request`: the arguments become a [`ReadRequest`] or an error, before any I/O (F61);
//! 2. `scan`: the file is opened through the workspace and read once, in chunks;
//! 3. `gate`: every chunk has to be text (F11, F12);
//! 4. `window`: the lines asked for are kept, all others only counted (F64–F67);
//! 5. `render` and `view`: text for the model, cards for people (F70–F73).
//!
//! Files of every size take this one road. The specification lets small files be read whole (F64)
//! and asks for identical results; with one road they are identical by construction, and a small
//! file is one chunk anyway.

mod config;
mod gate;
mod language;
mod render;
mod request;
mod scan;
mod tool;
mod view;
mod window;

pub use config::{ConfigError, ReadConfig, ReadSettings};
pub use language::language;
pub use render::render;
pub use request::{ArgumentError, ReadRequest};
pub use scan::read_window;
pub use tool::{PROMPT, PROMPT_ORDER, PROMPT_SECTION, read};
pub use view::{ReadMeta, content_of, title};
pub use window::{Line, Window, WindowLimits, Windower};
