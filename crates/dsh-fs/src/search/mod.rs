//! What `glob` and `grep` have in common.
//!
//! Both look at a directory tree through the workspace and report paths as they are seen from the
//! workspace's root. Neither starts a program and neither reads any configuration but the ignore
//! files of the tree itself (F130): no environment variable, no file of the user's home, nothing
//! outside the workspace changes what is found.
//!
//! - `config`: the limits (F132);
//! - `error`: the failures and their codes (F133);
//! - `place`: from the `path` argument to where a search starts (F131);
//! - `walk`: the files of a tree, one after the other, in byte order; `level` lists one directory,
//!   `pattern` and `rules` say which entries count;
//! - `skipped`: what could not be looked at, so that a result never looks complete when it is not;
//! - `worker`: the search on a thread of its own, and its end when nobody waits any more;
//! - `view`: cards (F135);
//! - `complete`: keeping a result that is too long for a model (F134).

mod complete;
mod config;
mod error;
mod level;
mod pattern;
mod place;
mod rules;
mod skipped;
mod view;
mod walk;
mod worker;

pub use complete::{Listening, ResultStore, Saved, StoreError, keep_complete_results};
pub use config::{SearchConfig, SearchConfigError, SearchSettings};
pub use error::{SearchError, SearchErrorCode};
pub use skipped::Skipped;

pub(crate) use complete::{Rest, footer_end};
pub(crate) use pattern::{check_text, only};
pub(crate) use place::{Place, access};
pub(crate) use skipped::{skipped_of, skipped_spec};
pub(crate) use view::{Fit, card_of};
pub(crate) use walk::{Found, Selection, Walk};
pub(crate) use worker::on_thread;
