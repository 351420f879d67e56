//! File tools. So far there is one: `read`.
//!
//! The crate owns what a model sees of files: windows of lines, their rendering and their cards. It
//! reaches files only through `dsh-workspace` and knows nothing of processes or other tools.
//!
//! # Invariants
//!
//! - Memory is bounded by the configuration, never by the file: not by its size and not by the
//!   length of a line.
//! - A file is read to its end, so the number of lines is exact and text that is not UTF-8 is
//!   refused wherever it stands.
//! - Rendering and cards are functions of arguments and value alone.
//!
//! # Where to start reading
//!
//! `read/mod.rs` tells the story of one call; `read/window.rs` is the part with the numbers.
//!
//! Unix only, as `dsh-workspace` is.
#![cfg(unix)]

pub mod read;

pub use read::{ReadConfig, read};
