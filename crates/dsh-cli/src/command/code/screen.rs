//! What a person sees while a program runs: its lines as they come and, on a terminal, a line for each call under way.
//!
//! One thread writes all of it. A reader that takes its time then holds up nobody: budgets and Ctrl-C mean what they say
//! while lines wait. How much can wait is bounded by the output cap of the run.

use std::collections::VecDeque;
use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use dsh_tools::{CallId, Execution, RegistryError};

use crate::compose::Runtime;
use crate::exit::Failure;
use crate::output::{self, Reader};
use crate::terminal::visible_line;

/// Calls that are over sooner are not worth a flicker.
const SETTLE: Duration = Duration::from_millis(100);

/// So many calls are shown; of the rest, how many there are.
const SHOWN: usize = 8;

/// Where lines and calls are announced.
#[derive(Clone)]
pub(super) struct Feed(Sender<Event>);

enum Event {
    Line(String),
    Begins(CallId, String),
    Ends(CallId),
    Close,
}

impl Feed {
    /// The program printed a line.
    pub(super) fn line(&self, text: &str) {
        self.send(Event::Line(text.to_owned()));
    }

    /// The thread ends after the last announcement, so there is always a taker.
    fn send(&self, event: Event) {
        let _ = self.0.send(event);
    }
}

/// The thread that writes.
pub(super) struct Screen {
    feed: Feed,
    writer: JoinHandle<Result<(), Failure>>,
    has_board: bool,
}

impl Screen {
    /// Starts the thread.
    pub(super) fn open() -> Result<Self, Failure> {
        let (sender, events) = channel();
        let writer = thread::Builder::new()
            .name("screen".to_owned())
            .spawn(move || Writer::default().write(&events))
            .map_err(|error| Failure::failed(format!("cannot start: {error}")))?;
        let obeys = std::env::var_os("TERM").is_some_and(|term| term != "dumb");
        Ok(Self {
            feed: Feed(sender),
            writer,
            has_board: obeys && io::stderr().is_terminal(),
        })
    }

    pub(super) fn feed(&self) -> Feed {
        self.feed.clone()
    }

    /// Announces the calls of the program, if they can be shown.
    pub(super) fn watch(&self, runtime: &Runtime) -> Result<(), RegistryError> {
        if !self.has_board {
            return Ok(());
        }
        let feed = self.feed();
        let scoped = runtime.tools.scoped(&runtime.agent);
        scoped.on_execute(move |execution, next| {
            let running = execution
                .parent()
                .map(|_| Running::begin(feed.clone(), &execution));
            async move {
                let attempt = next.run().await;
                drop(running);
                Ok(attempt?.into())
            }
        })?;
        Ok(())
    }

    /// Waits until everything is written.
    pub(super) fn close(self) -> Result<(), Failure> {
        self.feed.send(Event::Close);
        self.writer
            .join()
            .unwrap_or_else(|_| Err(Failure::failed("cannot write the result")))
    }
}

/// A call under way. It ends with its body: what comes after may wait for calls that were made before.
struct Running {
    feed: Feed,
    id: CallId,
}

impl Running {
    fn begin(feed: Feed, execution: &Execution) -> Self {
        let id = execution.id().clone();
        feed.send(Event::Begins(id.clone(), label(execution)));
        Self { feed, id }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.feed.send(Event::Ends(self.id.clone()));
    }
}

/// What a person would call it: the title of its card.
fn label(execution: &Execution) -> String {
    let card = execution
        .tool()
        .zip(execution.arguments())
        .and_then(|(tool, arguments)| tool.present_call(arguments));
    let title = card.as_ref().map(crate::card::title);
    visible_line(title.unwrap_or(execution.name()))
}

/// The state of the thread.
#[derive(Default)]
struct Writer {
    running: VecDeque<(CallId, String)>,
    /// When the board has to be drawn again, if it does.
    due: Option<Instant>,
    is_drawn: bool,
    /// Nobody takes lines any more. The program goes on, for what it does.
    is_deaf: bool,
    failure: Option<Failure>,
}

impl Writer {
    fn write(mut self, events: &Receiver<Event>) -> Result<(), Failure> {
        loop {
            let event = match self.due {
                None => events.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(due) => events.recv_timeout(due.saturating_duration_since(Instant::now())),
            };
            match event {
                Ok(Event::Line(text)) => {
                    self.erase();
                    self.line(&text);
                }
                Ok(Event::Begins(id, label)) => {
                    self.running.push_back((id, label));
                    self.change();
                }
                Ok(Event::Ends(id)) => {
                    self.running.retain(|(running, _)| *running != id);
                    self.change();
                }
                Err(RecvTimeoutError::Timeout) => self.draw(),
                Ok(Event::Close) | Err(RecvTimeoutError::Disconnected) => {
                    self.erase();
                    return self.failure.map_or(Ok(()), Err);
                }
            }
        }
    }

    fn line(&mut self, text: &str) {
        if self.is_deaf {
            return;
        }
        match output::foreign(text) {
            Ok(Reader::Listens) => {}
            Ok(Reader::Gone) => self.is_deaf = true,
            Err(failure) => {
                self.is_deaf = true;
                self.failure = Some(failure);
            }
        }
    }

    fn change(&mut self) {
        self.due.get_or_insert_with(|| Instant::now() + SETTLE);
    }

    /// Draws the calls and goes back up, so that whatever else is written begins where they do and is not lost.
    fn draw(&mut self) {
        self.erase();
        self.due = None;
        let text = board(self.running.iter().map(|(_, label)| label.as_str()));
        if !text.is_empty() {
            self.is_drawn = true;
            // A board that nobody can see is no failure.
            let _ = io::stderr().write_all(text.as_bytes());
        }
    }

    fn erase(&mut self) {
        if self.is_drawn {
            self.is_drawn = false;
            let _ = io::stderr().write_all(b"\r\x1b[J");
            self.change();
        }
    }
}

/// A line for each call, cut by the terminal where it ends, and the way back to the first.
fn board<'a>(labels: impl ExactSizeIterator<Item = &'a str>) -> String {
    let count = labels.len();
    if count == 0 {
        return String::new();
    }
    let mut lines: Vec<String> = labels
        .take(SHOWN)
        .map(|label| format!("→ {label}\n"))
        .collect();
    if count > SHOWN {
        lines.push(format!("→ and {} more\n", count - SHOWN));
    }
    format!("\x1b[?7l{}\x1b[?7h\x1b[{}A", lines.concat(), lines.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_board_has_a_line_for_each_call_and_leads_back() {
        assert_eq!(board([].into_iter()), "");
        assert_eq!(
            board(["Read a", "Grep b"].into_iter()),
            "\x1b[?7l→ Read a\n→ Grep b\n\x1b[?7h\x1b[2A"
        );
        let many = board(["x"; 20].into_iter());
        assert!(
            many.ends_with("→ x\n→ and 12 more\n\x1b[?7h\x1b[9A"),
            "{many:?}"
        );
    }
}
