//! Scopes through the runtime: chapter 3 (T124–T152). The mechanism itself is tested where it lives, in `dsh-context`.

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

mod rig;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dsh_context::{Fiber, Scope};
use dsh_testkit::{Driven, Gate, block_on};
use dsh_tools::{Denial, Execution, PreDecision, Progress, Receiver, Registration};
use rig::{Rig, call, code_of, named, text_of, tool};

fn tree() -> (Scope, Scope, Scope) {
    let root = Scope::new("root");
    let middle = Scope::new("middle").child_of(&root);
    let leaf = Scope::new("leaf").child_of(&middle);
    (root, middle, leaf)
}

/// T124, D42: identity counts, not the label.
#[test]
fn a_scope_is_its_identity() {
    let rig = Rig::new();
    let (one, two) = (Scope::new("agent"), Scope::new("agent"));
    rig.tools.scoped(&one).register(named("t")).unwrap();
    assert_eq!(text_of(&rig.execute(call("t").agent(&one))), "t");
    assert_eq!(
        code_of(&rig.execute(call("t").agent(&two))),
        Some("UNKNOWN_TOOL")
    );
}

/// T127: where a registration is made and whom a call is for are two things.
#[test]
fn the_calls_agent_decides_not_the_receivers_scope() {
    let rig = Rig::new();
    let (a, b) = (Scope::new("a"), Scope::new("b"));
    rig.tools.scoped(&a).register(named("t")).unwrap();
    // A body registered through `a` calls on behalf of `b`.
    let other = b;
    rig.register(tool("outer", move |_, cx| {
        let other = other.clone();
        async move {
            let nested = cx.execute(cx.call("n", "t", "{}").agent(&other)).await;
            Ok(dsh_schema::Document::string(nested.code().unwrap_or("ran")))
        }
    }));
    assert_eq!(
        text_of(&rig.execute(call("outer").agent(&a))),
        "UNKNOWN_TOOL"
    );
}

/// T83, T60: the nearest layer wins.
#[test]
fn the_nearest_entry_wins() {
    let rig = Rig::new();
    let (root, middle, leaf) = tree();
    let place = |receiver: &Receiver, text: &'static str| -> Registration {
        let tool = tool("t", move |_, _| async move {
            Ok(dsh_schema::Document::string(text))
        });
        receiver.register(tool).unwrap()
    };
    let run = |scope: &Scope| text_of(&rig.execute(call("t").agent(scope)));
    place(&rig.global(), "global");
    let of_root = place(&rig.tools.scoped(&root), "root");
    let of_leaf = place(&rig.tools.scoped(&leaf), "leaf");
    assert_eq!(
        [run(&leaf), run(&middle), run(&root), text_of(&rig.run("t"))],
        ["leaf", "root", "root", "global"]
    );
    of_leaf.dispose();
    assert_eq!(run(&leaf), "root");
    of_root.dispose();
    assert_eq!(run(&leaf), "global");
}

/// Who hears a call: one listener of each kind, registered through a scope, an ancestor, a stranger and nobody.
#[test]
fn scoped_events_reach_the_scope_and_its_ancestors() {
    let rig = Rig::new();
    let (root, middle, leaf) = tree();
    let stranger = Scope::new("stranger");
    rig.register(tool("t", |_, cx| async move {
        cx.progress(Progress::message("half"));
        Ok(dsh_schema::Document::null())
    }));
    let listen = |receiver: &Receiver, who: &'static str| {
        let note = |stage: &'static str| {
            let trace = rig.trace.clone();
            move || trace.note(format!("{stage} {who}"))
        };
        let (pre, around, post) = (note("pre"), note("around"), note("post"));
        let (guard, progress, result) = (note("guard"), note("progress"), note("result"));
        receiver
            .on_pre_execute(move |_, next| {
                pre();
                async move { next.run().await }
            })
            .unwrap();
        receiver
            .guard(move |_: &Execution| {
                guard();
                None::<Denial>
            })
            .unwrap();
        receiver
            .on_execute(move |_, next| {
                around();
                async move { Ok(next.run().await?.into()) }
            })
            .unwrap();
        receiver
            .on_post_execute(move |_, _, next| {
                post();
                async move { next.run().await }
            })
            .unwrap();
        receiver.on_progress(move |_, _| progress()).unwrap();
        receiver.on_result(move |_, _| result()).unwrap();
    };
    listen(&rig.global(), "global");
    for (scope, who) in [
        (&root, "root"),
        (&middle, "middle"),
        (&leaf, "leaf"),
        (&stranger, "stranger"),
    ] {
        listen(&rig.tools.scoped(scope), who);
    }
    let heard = |agent: Option<&Scope>| {
        let mut call = call("t");
        call.agent = agent.cloned();
        assert!(!rig.execute(call).is_error());
        let trace = rig.trace.take();
        let stages = ["pre", "guard", "around", "progress", "post", "result"];
        let by_stage = stages.map(|stage| {
            let of = |entry: &String| entry.strip_prefix(stage).map(|who| who.trim().to_owned());
            trace.iter().filter_map(of).collect::<Vec<_>>()
        });
        assert!(
            by_stage.iter().all(|stage| *stage == by_stage[0]),
            "T139: {by_stage:?}"
        );
        by_stage[0].clone()
    };
    assert_eq!(
        heard(Some(&middle)),
        ["global", "root", "middle"],
        "T134, T135"
    );
    assert_eq!(heard(Some(&leaf)), ["global", "root", "middle", "leaf"]);
    assert_eq!(heard(Some(&stranger)), ["global", "stranger"]);
    assert_eq!(heard(None), ["global"], "T136");
}

/// T137: an unfiltered listener hears everybody, and still goes with its scope.
#[test]
fn an_unfiltered_listener_hears_everybody() {
    let rig = Rig::new();
    let scope = Scope::new("a");
    rig.register(named("t"));
    let trace = rig.trace.clone();
    rig.tools
        .scoped(&scope)
        .unfiltered()
        .on_result(move |_, _| trace.note("heard"))
        .unwrap();
    rig.tools
        .scoped(&scope)
        .unfiltered()
        .on_pre_execute(|_, _| async { Ok(PreDecision::deny("everywhere")) })
        .unwrap();
    assert_eq!(text_of(&rig.run("t")), "Error: everywhere");
    assert_eq!(rig.trace.take(), ["heard"]);
    block_on(scope.dispose());
    assert_eq!(text_of(&rig.run("t")), "t");
    assert!(rig.trace.take().is_empty());
}

/// T141, T72: a scope that ends leaves nothing in any view.
#[test]
fn a_scope_that_ends_leaves_nothing() {
    let rig = Rig::new();
    let (_, middle, leaf) = tree();
    rig.register(named("t"));
    let scoped = rig.tools.scoped(&middle);
    scoped.register(named("own")).unwrap();
    scoped
        .restrict(dsh_tools::Restriction::deny(["t"]))
        .unwrap();
    scoped
        .guard(|_: &Execution| Some(Denial::new("no")))
        .unwrap();
    scoped.present_as(dsh_tools::Mode::Code).unwrap();
    scoped
        .on_pre_execute(|_, _| async { Ok(PreDecision::deny("pre")) })
        .unwrap();
    block_on(middle.dispose());
    for scope in [&middle, &leaf] {
        assert_eq!(text_of(&rig.execute(call("t").agent(scope))), "t");
        assert_eq!(
            code_of(&rig.execute(call("own").agent(scope))),
            Some("UNKNOWN_TOOL")
        );
        assert_eq!(
            rig.tools.view(Some(scope)).to_json(),
            rig.tools.view(None).to_json()
        );
    }
    assert!(middle.fiber().live_effects().is_empty());
}

/// T141: a tool that is gone lives on nowhere, not even in what was shown of it and is not looked at again.
#[test]
fn a_view_keeps_no_tool_alive() {
    let rig = Rig::new();
    let scope = Scope::new("a");
    let witness = Arc::new(());
    let holding = |name: &str| {
        let kept = witness.clone();
        tool(name, move |args, _| {
            let _kept = &kept;
            async { Ok(args) }
        })
    };
    rig.tools.scoped(&scope).register(holding("own")).unwrap();
    let registration = rig.register(holding("t"));
    let moved = rig.register(holding("moved"));
    for scope in [None, Some(&scope)] {
        assert!(!rig.tools.schemas(scope).is_empty());
    }
    assert_eq!(Arc::strong_count(&witness), 4);
    registration.dispose();
    assert_eq!(Arc::strong_count(&witness), 3);
    assert!(!rig.tools.schemas(Some(&scope)).is_empty());
    rig.tools.update(|update| update.remove(&moved)).unwrap();
    assert_eq!(Arc::strong_count(&witness), 2);
    assert!(!rig.tools.schemas(Some(&scope)).is_empty());
    block_on(scope.dispose());
    assert_eq!(Arc::strong_count(&witness), 1);
}

/// T142, T143: the end of a scope is shared, and waits for asynchronous cleanups.
#[test]
fn the_end_of_a_scope_is_shared() {
    let rig = Rig::new();
    let (scope, gate) = (Scope::new("a"), Gate::new());
    let door = gate.clone();
    scope
        .fiber()
        .effect_async("slow", move || async move { door.pass().await })
        .unwrap();
    rig.tools.scoped(&scope).register(named("t")).unwrap();
    let (mut first, mut second) = (Driven::new(scope.dispose()), Driven::new(scope.dispose()));
    assert!(first.until_stalled().is_none() && second.until_stalled().is_none());
    assert_eq!(
        code_of(&rig.execute(call("t").agent(&scope))),
        Some("UNKNOWN_TOOL")
    );
    gate.open();
    // Either of the two drives it.
    while first.until_stalled().is_none() {
        assert!(second.until_stalled().is_some());
    }
    assert!(scope.fiber().live_effects().is_empty());
}

/// T144: a scope that somebody owns ends in its place of the owner's teardown.
#[test]
fn an_owned_scope_ends_in_its_place() {
    let rig = Rig::new();
    let owner = Fiber::root("owner");
    let look = |tools: &dsh_tools::Tools,
                scope: &Scope,
                trace: &dsh_testkit::Trace,
                what: &'static str| {
        let (tools, scope, trace) = (tools.clone(), scope.clone(), trace.clone());
        move || trace.note(format!("{what} {}", tools.get("t", Some(&scope)).is_some()))
    };
    let probe = Scope::new("placeholder");
    owner
        .effect("first", look(&rig.tools, &probe, &rig.trace, "placeholder"))
        .unwrap();
    let scope = Scope::owned_by(&owner, "agent").unwrap();
    rig.tools.scoped(&scope).register(named("t")).unwrap();
    owner
        .effect("last", look(&rig.tools, &scope, &rig.trace, "before"))
        .unwrap();
    block_on(owner.dispose());
    assert_eq!(rig.trace.take(), ["before true", "placeholder false"]);
    assert!(rig.tools.get("t", Some(&scope)).is_none());
}

/// T148: reading makes no layer: views, modes, guards and calls of a scope nobody contributed to leave nothing behind.
#[test]
fn reading_contributes_nothing() {
    let rig = Rig::new();
    rig.register(named("t"));
    let scope = Scope::new("reader");
    let changes = Arc::new(AtomicUsize::new(0));
    let count = changes.clone();
    rig.global()
        .on_change(move || _ = count.fetch_add(1, Ordering::AcqRel))
        .unwrap();
    let _view = rig.tools.view(Some(&scope));
    let _mode = rig.tools.mode(Some(&scope));
    assert!(!rig.execute(call("t").agent(&scope)).is_error());
    assert_eq!(changes.load(Ordering::Acquire), 0);
    assert!(scope.fiber().live_effects().is_empty());
}
