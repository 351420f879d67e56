//! Doubles, a paused clock and checkers for tests of tools, policies and the pipeline.
//!
//! What this crate owns:
//!
//! | for | there is |
//! |---|---|
//! | saying what happened, in order | [`Trace`] |
//! | deciding who goes on when, without sleeping | [`Gate`], [`yield_once`] |
//! | running futures by hand | [`block_on`], [`Driven`], [`ManualSpawner`] |
//! | a tool that does what it is told | [`MockTool`], its [`Probe`] |
//! | a code runtime whose programs are Rust (feature `code`) | `FakeRuntime` |
//! | the seams of a runtime | [`ScriptedApprover`], [`RecordingSink`], [`FakeHost`], [`MemoryJournal`] |
//! | user code that cannot even be dropped | [`Bomb`] |
//! | what has to hold for every call | [`Invariants`] |
//!
//! What holds: nothing here reads a clock, sleeps, or draws a random number that a test did not seed; every double can be
//! shared and counts what was done to it. A test that cannot go on fails with the reason instead of hanging: see
//! [`block_on`].
//!
//! A dev-dependency only.

mod approver;
mod bomb;
mod executor;
#[cfg(feature = "code")]
mod fake_runtime;
mod gate;
mod host;
mod invariants;
mod journal;
mod mock_tool;
mod trace;

pub use approver::{Answer, RecordingSink, ScriptedApprover};
pub use bomb::Bomb;
pub use executor::{Driven, ManualSpawner, block_on, yield_once};
#[cfg(feature = "code")]
pub use fake_runtime::{FakeEnd, FakeProgram, FakeRuntime};
pub use gate::Gate;
pub use host::FakeHost;
pub use invariants::Invariants;
pub use journal::MemoryJournal;
pub use mock_tool::{MockTool, Probe};
pub use trace::Trace;
