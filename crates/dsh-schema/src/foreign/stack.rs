//! Enough stack for a recursive validator, wherever it is called.

use std::thread;

/// Validator nodes above each other that fit on any caller's stack.
const ON_CALLER: usize = 48;
/// What one node takes at most, in an unoptimised build.
const BYTES_PER_NODE: usize = 16 << 10;

/// Runs `work`, which goes `nodes` nodes deep; on a thread of its own when that is deep.
///
/// `None` when there is no such thread to be had.
pub(super) fn with_room<T: Send>(nodes: usize, work: impl FnOnce() -> T + Send) -> Option<T> {
    if nodes <= ON_CALLER {
        return Some(work());
    }
    // Address space only: pages are taken when they are touched.
    let size = (nodes * BYTES_PER_NODE).max(2 << 20);
    thread::scope(|scope| {
        let thread = thread::Builder::new()
            .name("dsh-schema".into())
            .stack_size(size);
        let handle = thread.spawn_scoped(scope, work).ok()?;
        match handle.join() {
            Ok(result) => Some(result),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}
