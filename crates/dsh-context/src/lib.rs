//! Lifetimes: who owns a registration, who sees it, and how it is taken back.
//!
//! Everything that a program of the workspace registers while it runs, such as tools, guards, listeners
//! and whole plugins, is an *effect* of a [`Fiber`]: it comes with its undo, and it ends, at the latest,
//! with that fiber. This crate owns the mechanism and nothing else: it knows no tools, does no I/O and
//! needs no executor.
//!
//! | concept | type |
//! |---|---|
//! | a lifetime that owns effects and child lifetimes | [`Fiber`], its end [`Disposal`] |
//! | one registration and its undo | [`Effect`], [`AsyncEffect`], [`CompositeEffect`] |
//! | whom a registration is visible to | [`Scope`]: identity, label, parent, fiber |
//! | where registrations are kept | [`NamedTable`], [`EntryTable`], per scope in [`Layers`] |
//! | code that can be exchanged at run time | [`Plugin`], [`PluginHost`] |
//!
//! # Example
//!
//! A registry keeps its tables behind its own lock and hands every insertion to a fiber:
//!
//! ```
//! use std::sync::{Arc, Mutex};
//! use dsh_context::{EntryTable, Fiber, InactiveEffect};
//!
//! #[derive(Clone, Default)]
//! struct Greetings(Arc<Mutex<EntryTable<&'static str>>>);
//!
//! impl Greetings {
//!     fn add(&self, fiber: &Fiber, text: &'static str) -> Result<(), InactiveEffect> {
//!         let id = self.0.lock().unwrap().push(text);
//!         let table = Arc::clone(&self.0);
//!         let undo = move || {
//!             table.lock().unwrap().remove(id);
//!         };
//!         // A refused undo is not run: the change is taken back here.
//!         fiber.effect("greeting", undo).map(drop).inspect_err(|_| {
//!             self.0.lock().unwrap().remove(id);
//!         })
//!     }
//! }
//!
//! let greetings = Greetings::default();
//! let plugin = Fiber::root("plugin");
//! greetings.add(&plugin, "hello")?;
//! assert_eq!(*greetings.0.lock().unwrap().snapshot(), ["hello"]);
//!
//! pollster::block_on(plugin.dispose());
//! assert!(greetings.0.lock().unwrap().is_empty());
//! assert!(greetings.add(&plugin, "too late").is_err());
//! # Ok::<(), InactiveEffect>(())
//! ```
//!
//! # Invariants
//!
//! - An undo runs at most once, and exactly once if its fiber is disposed and that is awaited.
//! - An effect is either registered, and then undone by the disposal, or refused with
//!   [`InactiveEffect`]; no thread can slip one in between (L13, T71).
//! - Synchronous undos run in exact reverse order of registration; asynchronous ones of different effects
//!   overlap; those of one composite effect run one after the other (L18).
//! - A panicking undo is logged and stops nothing (L19).
//! - All disposals of a fiber share one completion, which any of them can drive (L12, T142).
//! - Undo code may dispose of anything, its own fiber included, without blocking itself (L21).
//! - No lock is held while foreign code runs: undos, futures, setups, plugins, wakers, destructors.
//! - Dropping a handle undoes nothing (D10).
//! - Reading a [`Layers`] creates no layer; a layer without contributions does not exist (T148, T151).
//!
//! # What is deliberately absent
//!
//! There is no event bus and no service locator. Services are typed values that are handed over, so the
//! rules about waiting for services (L2, L3, L4, L6) have nothing to apply to, a fiber is never `PENDING`
//! (L1, L7), and configuration is validated by [`Plugin::check`] (L5). State changes are not published
//! as events (L1, L11); a changed configuration is a [`PluginHost::reload`] or a
//! [`PluginHost::replace`], without a chain of listeners that could veto it (L15). A failed plugin is
//! retried by one of the same two (L9). A scope's parent is given at creation and never moves, so T129 to
//! T131 hold by construction (D42). Tables are read as snapshots (D8), which replaces the live iterators
//! of T147.
//!
//! # Where to start reading
//!
//! `fiber` has the state of a lifetime and the one lock around it, `teardown` the order of undoing,
//! `flight` how work is shared without an executor, and `reentry` how a wait for oneself is recognised.
//! `host` builds plugin replacement on top of them. `ordered` is the storage under fibers and tables.

mod composite;
mod containment;
mod effect;
mod entries;
mod fiber;
mod flight;
mod host;
mod host_error;
mod inactive;
mod layers;
mod named;
mod ordered;
mod overlap;
mod plugin;
mod reentry;
mod scope;
mod startup;
mod teardown;

pub use composite::{Composite, CompositeError, Owned};
pub use containment::{BoxFuture, Contained, Panicked, contain, discard};
pub use effect::{AsyncEffect, CompositeEffect, Effect, EffectInfo, EffectKind, Undoing};
pub use entries::{EntryIter, EntryTable};
pub use fiber::{Disposal, Fiber, FiberState};
pub use host::{PluginHost, PluginId};
pub use host_error::HostError;
pub use inactive::InactiveEffect;
pub use layers::{Layer, Layers};
pub use named::{Duplicate, NamedIter, NamedTable};
pub use ordered::EntryId;
pub use plugin::{Plugin, PluginError};
pub use scope::{Scope, ScopeId};
