//! What the operator's log gets to know.
//!
//! In a test program of its own: whether an event is of interest is cached for the whole process.

#![allow(clippy::unwrap_used, reason = "a test")]

mod rig;

use dsh_context::Fiber;
use pollster::block_on;
use rig::Journal;

/// L19: the failure is logged with the labels of the fiber and of the effect.
#[test]
fn l19_a_panicking_undo_is_logged() {
    let log = Journal::default();
    tracing::subscriber::with_default(Recorder(log.clone()), || {
        let fiber = Fiber::root("the fiber");
        fiber.effect("the effect", || panic!("the reason")).unwrap();
        block_on(fiber.dispose());
        let fiber = Fiber::root("left behind");
        fiber.effect("x", || ()).unwrap();
    });
    let log = log.take();
    assert_eq!(log.len(), 2, "{log:?}");
    for part in ["the fiber", "the effect", "the reason"] {
        assert!(log[0].contains(part), "{}", log[0]);
    }
    assert!(log[1].contains("left behind"), "{}", log[1]);
}

/// Keeps the text of every event.
struct Recorder(Journal);

impl tracing::Subscriber for Recorder {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        struct Text(String);

        impl tracing::field::Visit for Text {
            fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
                use std::fmt::Write;
                let _ = write!(self.0, "{field}={value:?} ");
            }
        }

        let mut text = Text(String::new());
        event.record(&mut text);
        self.0.note(text.0);
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}
