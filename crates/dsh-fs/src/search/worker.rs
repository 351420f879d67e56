//! A search on a thread of its own.

use std::sync::mpsc;
use std::time::Duration;

use dsh_tools::Signal;
use futures_lite::future;

use super::error::SearchError;

/// Runs `search` on a thread where it may block.
///
/// # Cancellation
///
/// `search` gets a question to ask often: has the signal fired? Once it has, `search` is waited for
/// no longer than `grace`. A regular expression that is busy with one enormous line asks nothing for
/// a while; it is left behind then, and since a search only reads, what it still finds is dropped.
pub(crate) async fn on_thread<T, F>(
    signal: Signal,
    grace: Duration,
    search: F,
) -> Result<T, SearchError>
where
    T: Send + 'static,
    F: FnOnce(&dyn Fn() -> bool) -> Result<T, SearchError> + Send + 'static,
{
    let (alive, ended) = mpsc::channel::<()>();
    let asked = signal.clone();
    let mut search = blocking::unblock(move || {
        let _alive = alive;
        search(&|| asked.is_cancelled())
    });
    let cancelled = async {
        signal.cancelled().await;
        None
    };
    if let Some(result) = future::or(async { Some((&mut search).await) }, cancelled).await {
        return result;
    }
    // The channel closes when the search ends, so nothing is waited for longer than necessary.
    let is_over = blocking::unblock(move || {
        !matches!(
            ended.recv_timeout(grace),
            Err(mpsc::RecvTimeoutError::Timeout)
        )
    });
    if is_over.await {
        search.await
    } else {
        search.detach();
        Err(SearchError::aborted())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use dsh_tools::Reason;
    use futures_lite::future::block_on;

    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn a_result_comes_back() {
        let result = block_on(on_thread(Signal::never(), HOUR, |_| Ok(7)));
        assert_eq!(result.unwrap(), 7);
    }

    #[test]
    fn a_search_that_asks_ends_as_soon_as_the_signal_fires() {
        let (canceller, signal) = Signal::pair();
        let (started, start) = mpsc::channel();
        let running = on_thread(signal, HOUR, move |interrupt| -> Result<(), _> {
            started.send(()).unwrap();
            while !interrupt() {
                std::thread::yield_now();
            }
            Err(SearchError::aborted())
        });
        let result = block_on(future::zip(running, async move {
            blocking::unblock(move || start.recv().unwrap()).await;
            canceller.cancel(Reason::Cancelled);
        }));
        assert!(result.0.unwrap_err().is_aborted());
    }

    #[test]
    fn d14_a_search_that_does_not_ask_is_left_behind() {
        let (canceller, signal) = Signal::pair();
        let (release, held) = mpsc::channel::<()>();
        canceller.cancel(Reason::Cancelled);
        let running = on_thread(signal, Duration::from_millis(1), move |_| {
            // Until the test is over.
            let _ = held.recv();
            Ok(())
        });
        assert!(block_on(running).unwrap_err().is_aborted());
        drop(release);
    }
}
