//! A directory tree that is reached only through an open handle.
//!
//! [`Workspace::open`] opens the root directory once. From then on every path, whoever wrote it, is
//! resolved from that handle, one name at a time and never by handing a whole path to the kernel's
//! ordinary lookup. The crate owns paths, links, metadata and the opening of files; it knows nothing
//! of tools, text or models.
//!
//! # Invariants
//!
//! - **Nothing outside is reachable.** A path that ends outside every root is refused, whether it
//!   got there by `..`, by an absolute path or by a link. A link whose target lies inside is
//!   followed, relative or absolute.
//! - **What was judged is what is opened.** [`Workspace::resolve`] yields a [`Target`] whose key has
//!   no link left in it. Opening a target refuses every link on the way, so a directory exchanged
//!   for a link in between makes the target vanish; it never makes it point elsewhere.
//! - **Opening never hangs and never disturbs.** Only regular files are opened; pipes, sockets and
//!   devices are recognised before they are touched.
//! - **No panics and no unbounded work.** Link expansions, path length and reads are bounded, and
//!   every function that may take long asks an [`Interrupt`].
//!
//! # Where to start reading
//!
//! `workspace.rs` is the public surface, `walk.rs` the resolution that follows links, `root.rs` the
//! opening that refuses them.
//!
//! # Platforms
//!
//! Unix only. On Linux resolution takes a short cut through `openat2` when the kernel offers it; the
//! portable walk gives the same answers. On other systems this crate is empty: Windows is not
//! supported yet.
#![cfg(unix)]

mod error;
mod file;
mod interrupt;
mod listing;
mod metadata;
mod path;
mod root;
mod target;
mod walk;
mod workspace;

pub use error::{FsError, FsErrorCode};
pub use file::OpenedFile;
pub use interrupt::{Interrupt, never};
pub use listing::DirectoryEntry;
pub use metadata::{FileType, Metadata, Version};
pub use target::Target;
pub use workspace::{Parent, Workspace};
