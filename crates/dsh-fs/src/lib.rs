//! File tools: `read`, `glob` and `grep`.
//!
//! The crate owns what a model sees of files: windows of lines, paths and matches, their rendering
//! and their cards. It reaches files only through `dsh-workspace` and knows nothing of processes or
//! other tools.
//!
//! # Invariants
//!
//! - Memory is bounded by the configuration, never by the file: not by its size and not by the
//!   length of a line.
//! - `read` goes to the end of a file, so the number of lines is exact and text that is not UTF-8 is
//!   refused wherever it stands.
//! - A search follows no link and is ordered by the tree alone; what it could not look at is part of
//!   its result.
//! - Rendering and cards are functions of arguments and value alone.
//!
//! # Where to start reading
//!
//! `read/mod.rs` tells the story of one call; `read/window.rs` is the part with the numbers.
//! `search/mod.rs` introduces what `glob` and `grep` share, `search/walk.rs` is the core of it.
//!
//! Unix only, as `dsh-workspace` is.
#![cfg(unix)]

pub mod glob;
pub mod grep;
pub mod read;
pub mod search;

pub use glob::glob;
pub use grep::grep;
pub use read::{ReadConfig, read};
pub use search::SearchConfig;
