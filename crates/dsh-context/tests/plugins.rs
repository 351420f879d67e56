//! Mounting, replacing, reloading and unmounting of plugins.
#![allow(clippy::unwrap_used, reason = "a test")]

mod rig;

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    task::Poll,
};

use dsh_context::{
    BoxFuture, Fiber, FiberState, HostError, InactiveEffect, Plugin, PluginError, PluginHost,
    PluginId,
};
use pollster::block_on;
use rig::{Driven, Gate, Journal};

/// A plugin that notes what happens to it.
#[derive(Default)]
struct Probe {
    name: &'static str,
    journal: Journal,
    /// How many of the first checks and starts fail.
    bad_checks: usize,
    bad_starts: std::ops::Range<usize>,
    panics: bool,
    starts: AtomicUsize,
    start_gate: Option<Gate>,
    undo_gate: Option<Gate>,
    fiber: Mutex<Option<Fiber>>,
}

impl Probe {
    fn new(name: &'static str, journal: &Journal) -> Self {
        Self {
            name,
            journal: journal.clone(),
            ..Self::default()
        }
    }

    fn fiber(&self) -> Fiber {
        self.fiber
            .lock()
            .unwrap()
            .clone()
            .expect("the probe was started")
    }
}

impl Plugin for Probe {
    fn name(&self) -> &str {
        self.name
    }

    fn check(&self) -> Result<(), PluginError> {
        if self.bad_checks > 0 {
            Err(format!("{} is misconfigured", self.name).into())
        } else {
            Ok(())
        }
    }

    fn start<'a>(&'a self, fiber: &'a Fiber) -> BoxFuture<'a, Result<(), PluginError>> {
        Box::pin(async move {
            let nth = self.starts.fetch_add(1, Ordering::SeqCst);
            *self.fiber.lock().unwrap() = Some(fiber.clone());
            self.journal.note(format!("{} starts", self.name));
            assert_eq!(fiber.state(), FiberState::Loading);
            fiber.effect("probe", self.journal.noting(&format!("{} ends", self.name)))?;
            if let Some(gate) = &self.undo_gate {
                let gate = gate.clone();
                fiber.effect_async("slow", move || async move { gate.pass().await })?;
            }
            if let Some(gate) = &self.start_gate {
                gate.pass().await;
            }
            if self.bad_starts.contains(&nth) {
                assert!(!self.panics, "{} panics", self.name);
                return Err(format!("{} fails", self.name).into());
            }
            Ok(())
        })
    }
}

fn host() -> (Fiber, PluginHost, Journal) {
    let fiber = Fiber::root("host");
    let host = PluginHost::new(&fiber);
    (fiber, host, Journal::default())
}

fn mount(host: &PluginHost, plugin: Probe) -> PluginId {
    block_on(host.mount(Arc::new(plugin))).unwrap()
}

fn replace(host: &PluginHost, id: PluginId, plugin: Probe) -> Result<(), HostError> {
    block_on(host.replace(
        id,
        || async move { Ok(Arc::new(plugin) as Arc<dyn Plugin>) },
    ))
}

fn driven<Fut>(host: &PluginHost, run: impl FnOnce(PluginHost) -> Fut) -> Driven<Fut::Output>
where
    Fut: Future + Send + 'static,
{
    Driven::new(run(host.clone()))
}

fn reload(host: &PluginHost, id: PluginId) -> Driven<Result<(), HostError>> {
    driven(host, move |host| async move { host.reload(id).await })
}

#[test]
fn a_plugin_lives_from_mount_to_unmount() {
    let (fiber, host, journal) = host();
    let id = mount(&host, Probe::new("a", &journal));
    assert_eq!(host.state(id), Some(FiberState::Active));
    assert_eq!(host.mounted_ids(), [id]);
    assert_eq!(host.instance(id).unwrap().label(), "a");
    block_on(host.unmount(id)).unwrap();
    assert_eq!(journal.take(), ["a starts", "a ends"]);
    assert_eq!(host.state(id), None);
    assert_eq!(fiber.live_effects(), []);
    let unknown = block_on(host.unmount(id)).unwrap_err();
    assert_eq!(unknown.code(), "PLUGIN_UNKNOWN");
    assert_eq!(
        block_on(host.reload(id)).unwrap_err().code(),
        "PLUGIN_UNKNOWN"
    );
}

/// L22, L24: plugins are effects of the host's fiber; with it they end, latest first.
#[test]
fn l24_plugins_end_with_the_host() {
    let (fiber, host, journal) = host();
    let ids = ["a", "b"].map(|name| mount(&host, Probe::new(name, &journal)));
    assert_eq!(fiber.live_effects().len(), 2);
    block_on(fiber.dispose());
    assert_eq!(journal.take(), ["a starts", "b starts", "b ends", "a ends"]);
    assert_eq!(
        ids.map(|id| host.state(id)),
        [Some(FiberState::Disposed); 2]
    );
    let late = block_on(host.mount(Arc::new(Probe::new("c", &journal)))).unwrap_err();
    assert_eq!(late.code(), "INACTIVE_EFFECT");
    assert_eq!(late.to_string(), InactiveEffect.to_string());
    assert_eq!(
        block_on(host.reload(ids[0])).unwrap_err().code(),
        "INACTIVE_EFFECT",
        "L14"
    );
    assert_eq!(journal.take(), Vec::<String>::new());
}

/// L5: a failing check starts nothing.
#[test]
fn l5_a_rejected_plugin_is_not_started() {
    let (fiber, host, journal) = host();
    let plugin = Probe {
        bad_checks: 1,
        ..Probe::new("a", &journal)
    };
    let rejected = block_on(host.mount(Arc::new(plugin))).unwrap_err();
    assert_eq!(rejected.code(), "PLUGIN_REJECTED");
    assert_eq!(
        rejected.to_string(),
        "plugin `a` was rejected, nothing was changed: a is misconfigured"
    );
    assert_eq!(journal.take(), Vec::<String>::new());
    assert_eq!(fiber.live_effects(), []);
}

/// L8: a failing or panicking start is undone, ends as `FAILED`, and touches nobody else.
#[test]
fn l8_a_failing_start_is_undone() {
    for panics in [false, true] {
        let (fiber, host, journal) = host();
        let sibling = mount(&host, Probe::new("sibling", &journal));
        let plugin = Arc::new(Probe {
            bad_starts: 0..1,
            panics,
            ..Probe::new("a", &journal)
        });
        let failed = block_on(host.mount(Arc::clone(&plugin) as Arc<dyn Plugin>)).unwrap_err();
        assert_eq!(failed.code(), "PLUGIN_START_FAILED");
        let reason = if panics {
            "panicked: a panics"
        } else {
            "a fails"
        };
        assert_eq!(
            failed.to_string(),
            format!("plugin `a` failed to start: {reason}")
        );
        assert_eq!(journal.take(), ["sibling starts", "a starts", "a ends"]);
        assert_eq!(plugin.fiber().state(), FiberState::Failed);
        assert!(plugin.fiber().effect("late", || ()).is_err());
        assert_eq!(host.state(sibling), Some(FiberState::Active));
        assert!(fiber.is_active());
        assert_eq!(fiber.live_effects().len(), 1);
    }
}

/// L8: asynchronous undos of a failed start are waited for.
#[test]
fn l8_the_undo_of_a_failed_start_is_waited_for() {
    let (_fiber, host, journal) = host();
    let gate = Gate::default();
    let plugin = Arc::new(Probe {
        bad_starts: 0..1,
        undo_gate: Some(gate.clone()),
        ..Probe::new("a", &journal)
    });
    let mut mounting = driven(&host, |host| async move { host.mount(plugin).await });
    assert!(mounting.poll().is_pending());
    gate.open();
    assert!(matches!(mounting.poll(), Poll::Ready(Err(_))));
}

/// L10: a fiber that is disposed before the first instruction of the start never runs it.
#[test]
fn l10_a_start_that_was_overtaken_never_runs() {
    let (fiber, host, journal) = host();
    // The check is the last foreign code before the start.
    struct Overtaken(Probe, Fiber);

    impl Plugin for Overtaken {
        fn name(&self) -> &str {
            "overtaken"
        }

        fn check(&self) -> Result<(), PluginError> {
            drop(self.1.dispose());
            Ok(())
        }

        fn start<'a>(&'a self, fiber: &'a Fiber) -> BoxFuture<'a, Result<(), PluginError>> {
            self.0.start(fiber)
        }
    }

    let plugin = Overtaken(Probe::new("a", &journal), fiber.clone());
    let failed = block_on(host.mount(Arc::new(plugin))).unwrap_err();
    assert_eq!(failed.code(), "INACTIVE_EFFECT");
    assert_eq!(journal.take(), Vec::<String>::new());
    block_on(fiber.dispose());
}

/// A start that is still running when its fiber ends is dropped and undone; the disposal does not wait for
/// what it was waiting for.
#[test]
fn a_running_start_is_cancelled_by_the_end_of_its_fiber() {
    let (fiber, host, journal) = host();
    let plugin = Probe {
        start_gate: Some(Gate::default()),
        ..Probe::new("a", &journal)
    };
    let mut mounting = driven(
        &host,
        |host| async move { host.mount(Arc::new(plugin)).await },
    );
    assert!(mounting.poll().is_pending());
    block_on(fiber.dispose());
    assert_eq!(journal.take(), ["a starts", "a ends"]);
    let Poll::Ready(Err(error)) = mounting.poll() else {
        panic!("still mounting");
    };
    assert_eq!(error.code(), "INACTIVE_EFFECT");
    assert_eq!(host.mounted_ids(), []);
}

/// A mounting that was dropped leaves nothing that works, and nothing behind once the host ends.
#[test]
fn a_dropped_mounting_leaves_nothing_mounted() {
    let (fiber, host, journal) = host();
    let plugin = Arc::new(Probe {
        start_gate: Some(Gate::default()),
        ..Probe::new("a", &journal)
    });
    let probe = Arc::clone(&plugin);
    let mut mounting = driven(&host, |host| async move { host.mount(plugin).await });
    assert!(mounting.poll().is_pending());
    drop(mounting);
    assert!(!probe.fiber().is_active());
    assert_eq!(host.mounted_ids(), []);
    block_on(fiber.dispose());
    assert_eq!(journal.take(), ["a starts", "a ends"]);
}

/// A start may end its own fiber, or the host's, and wait for it.
#[test]
fn a_start_may_end_its_own_fiber() {
    struct Suicidal(Option<Fiber>);

    impl Plugin for Suicidal {
        fn name(&self) -> &str {
            "suicidal"
        }

        fn start<'a>(&'a self, fiber: &'a Fiber) -> BoxFuture<'a, Result<(), PluginError>> {
            Box::pin(async move {
                self.0.as_ref().unwrap_or(fiber).dispose().await;
                Ok(())
            })
        }
    }

    for host_too in [false, true] {
        let (fiber, host, _) = host();
        let plugin = Suicidal(host_too.then(|| fiber.clone()));
        let error = block_on(host.mount(Arc::new(plugin))).unwrap_err();
        assert_eq!(error.code(), "INACTIVE_EFFECT");
        assert_eq!(fiber.is_active(), !host_too);
        assert_eq!(fiber.live_effects(), []);
    }
}

/// L55: obtain and check, undo the old one and wait, start the new one.
#[test]
fn l55_a_replacement_starts_after_the_old_one_is_undone() {
    let (_fiber, host, journal) = host();
    let gate = Gate::default();
    let old = Probe {
        undo_gate: Some(gate.clone()),
        ..Probe::new("old", &journal)
    };
    let id = mount(&host, old);
    let new = Probe::new("new", &journal);
    let mut replacing = driven(&host, move |host| async move {
        host.replace(id, || async move { Ok(Arc::new(new) as Arc<dyn Plugin>) })
            .await
    });
    assert!(replacing.poll().is_pending());
    assert_eq!(journal.take(), ["old starts", "old ends"]);
    gate.open();
    assert!(matches!(replacing.poll(), Poll::Ready(Ok(()))));
    assert_eq!(journal.take(), ["new starts"]);
    assert_eq!(host.instance(id).unwrap().label(), "new");
    assert_eq!(host.state(id), Some(FiberState::Active));
}

/// L55: a replacement that cannot be obtained or fails its check leaves the old one untouched.
#[test]
fn l55_a_rejected_replacement_leaves_the_old_one_untouched() {
    let (_fiber, host, journal) = host();
    let id = mount(&host, Probe::new("old", &journal));
    let before = host.instance(id).unwrap();
    let unobtainable = block_on(host.replace(id, || async { Err("no such file".into()) }));
    let panicking = block_on(host.replace(id, || async { panic!("made badly") }));
    let misconfigured = replace(
        &host,
        id,
        Probe {
            bad_checks: 1,
            ..Probe::new("new", &journal)
        },
    );
    for (outcome, reason) in [
        (
            unobtainable,
            "plugin `old` was rejected, nothing was changed: no such file",
        ),
        (
            panicking,
            "plugin `old` was rejected, nothing was changed: panicked: made badly",
        ),
        (
            misconfigured,
            "plugin `new` was rejected, nothing was changed: new is misconfigured",
        ),
    ] {
        let error = outcome.unwrap_err();
        assert_eq!(error.code(), "PLUGIN_REJECTED");
        assert_eq!(error.to_string(), reason);
    }
    assert_eq!(journal.take(), ["old starts"]);
    assert_eq!(host.instance(id), Some(before));
}

/// L55: a replacement that fails to start is undone, the old one is started again, and the original
/// failure is reported.
#[test]
fn l55_a_failed_replacement_is_rolled_back() {
    let (_fiber, host, journal) = host();
    let id = mount(&host, Probe::new("old", &journal));
    let error = replace(
        &host,
        id,
        Probe {
            bad_starts: 0..1,
            ..Probe::new("new", &journal)
        },
    )
    .unwrap_err();
    assert_eq!(error.code(), "PLUGIN_START_FAILED");
    assert_eq!(error.failure().unwrap().to_string(), "new fails");
    assert!(error.rollback_failure().is_none());
    assert_eq!(
        journal.take(),
        [
            "old starts",
            "old ends",
            "new starts",
            "new ends",
            "old starts"
        ]
    );
    assert_eq!(host.state(id), Some(FiberState::Active));
    assert_eq!(host.instance(id).unwrap().label(), "old");
}

/// L55: both failures are reported when the rollback fails, too. L9: the place can be filled again.
#[test]
fn l55_a_failed_rollback_reports_both_failures() {
    let (fiber, host, journal) = host();
    let id = mount(
        &host,
        Probe {
            bad_starts: 1..2,
            ..Probe::new("old", &journal)
        },
    );
    let error = replace(
        &host,
        id,
        Probe {
            bad_starts: 0..1,
            ..Probe::new("new", &journal)
        },
    )
    .unwrap_err();
    assert_eq!(error.code(), "PLUGIN_ROLLBACK_FAILED");
    assert_eq!(error.failure().unwrap().to_string(), "new fails");
    assert_eq!(error.rollback_failure().unwrap().to_string(), "old fails");
    assert!(error.to_string().contains("new fails") && error.to_string().contains("old fails"));
    assert_eq!(host.state(id), Some(FiberState::Failed));
    assert_eq!(fiber.live_effects(), []);

    journal.take();
    block_on(host.reload(id)).unwrap();
    assert_eq!(host.state(id), Some(FiberState::Active));
    replace(&host, id, Probe::new("newer", &journal)).unwrap();
    assert_eq!(journal.take(), ["old starts", "old ends", "newer starts"]);
}

/// L14, L56: a reload undoes everything and starts the same plugin again.
#[test]
fn l56_a_reload_restarts_the_same_plugin() {
    let (_fiber, host, journal) = host();
    let id = mount(
        &host,
        Probe {
            bad_starts: 1..2,
            ..Probe::new("a", &journal)
        },
    );
    let failed = block_on(host.reload(id)).unwrap_err();
    assert_eq!(failed.code(), "PLUGIN_START_FAILED");
    assert_eq!(host.state(id), Some(FiberState::Failed));
    block_on(host.reload(id)).unwrap();
    assert_eq!(
        journal.take(),
        ["a starts", "a ends", "a starts", "a ends", "a starts"]
    );
}

/// L57: while one reload runs, any number of requests cause exactly one more.
#[test]
fn l57_reloads_are_coalesced() {
    let (_fiber, host, journal) = host();
    let gate = Gate::default();
    let id = mount(
        &host,
        Probe {
            undo_gate: Some(gate.clone()),
            ..Probe::new("a", &journal)
        },
    );
    let mut running = reload(&host, id);
    assert!(running.poll().is_pending());
    let mut waiting: Vec<_> = (0..5).map(|_| reload(&host, id)).collect();
    for request in &mut waiting {
        assert!(request.poll().is_pending());
    }
    gate.open();
    for request in &mut waiting {
        assert!(matches!(request.poll(), Poll::Ready(Ok(()))));
    }
    assert!(matches!(running.poll(), Poll::Ready(Ok(()))));
    let starts = journal
        .take()
        .iter()
        .filter(|line| *line == "a starts")
        .count();
    assert_eq!(starts, 3, "mounted, reloaded, and once more for all others");
    block_on(host.reload(id)).unwrap();
    assert_eq!(
        journal.take(),
        ["a ends", "a starts"],
        "afterwards a request counts again"
    );
}

/// Operations on one plugin run in order of request; what comes after an unmounting finds nothing.
#[test]
fn operations_on_one_plugin_run_in_order() {
    let (fiber, host, journal) = host();
    let gate = Gate::default();
    let id = mount(
        &host,
        Probe {
            undo_gate: Some(gate.clone()),
            ..Probe::new("a", &journal)
        },
    );
    let mut first = reload(&host, id);
    assert!(first.poll().is_pending());
    let mut unmounting = driven(&host, move |host| async move { host.unmount(id).await });
    assert!(unmounting.poll().is_pending());
    let mut late = reload(&host, id);
    assert!(late.poll().is_pending());
    gate.open();
    let Poll::Ready(Err(error)) = late.poll() else {
        panic!("not done");
    };
    assert_eq!(error.code(), "PLUGIN_UNKNOWN");
    assert!(matches!(first.poll(), Poll::Ready(Ok(()))));
    assert!(matches!(unmounting.poll(), Poll::Ready(Ok(()))));
    assert_eq!(journal.take(), ["a starts", "a ends", "a starts", "a ends"]);
    assert_eq!(fiber.live_effects(), []);
}

/// An operation whose caller went away is completed by the next one.
#[test]
fn an_abandoned_operation_is_completed_by_the_next() {
    let (_fiber, host, journal) = host();
    let gate = Gate::default();
    let id = mount(
        &host,
        Probe {
            undo_gate: Some(gate.clone()),
            ..Probe::new("a", &journal)
        },
    );
    let mut abandoned = reload(&host, id);
    assert!(abandoned.poll().is_pending());
    drop(abandoned);
    gate.open();
    replace(&host, id, Probe::new("b", &journal)).unwrap();
    assert_eq!(
        journal.take(),
        ["a starts", "a ends", "a starts", "a ends", "b starts"]
    );
}

/// A plugin that asks, from its own start, for an operation on itself is refused instead of blocked.
#[test]
fn an_operation_from_inside_itself_is_refused() {
    struct Impatient(PluginHost, Mutex<Option<PluginId>>, Journal);

    impl Plugin for Impatient {
        fn name(&self) -> &str {
            "impatient"
        }

        fn start<'a>(&'a self, _: &'a Fiber) -> BoxFuture<'a, Result<(), PluginError>> {
            Box::pin(async move {
                let id = *self.1.lock().unwrap();
                if let Some(id) = id {
                    let error = self.0.reload(id).await.unwrap_err();
                    self.2.note(error.to_string());
                    assert_eq!(error.code(), "PLUGIN_BUSY");
                }
                Ok(())
            })
        }
    }

    let (_fiber, host, journal) = host();
    let plugin = Arc::new(Impatient(host.clone(), Mutex::default(), journal.clone()));
    let id = block_on(host.mount(Arc::clone(&plugin) as Arc<dyn Plugin>)).unwrap();
    *plugin.1.lock().unwrap() = Some(id);
    block_on(host.reload(id)).unwrap();
    assert_eq!(
        journal.take(),
        [
            "plugin `impatient` cannot be changed from inside its own change; request it from a task of \
          its own"
        ]
    );
}
