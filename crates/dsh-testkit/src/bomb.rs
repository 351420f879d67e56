//! A value that cannot even be dropped.

/// Panics when it is dropped: as a payload (`panic_any(Bomb)`), in a future, or in a callback.
///
/// # Examples
///
/// ```
/// use dsh_testkit::Bomb;
///
/// assert!(std::panic::catch_unwind(|| drop(Bomb)).is_err());
/// ```
#[derive(Debug)]
pub struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        // A second panic while unwinding would abort the test, and says nothing more.
        if !std::thread::panicking() {
            panic!("bomb");
        }
    }
}
