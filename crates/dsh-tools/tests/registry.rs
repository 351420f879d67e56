//! Registering, disposing, being told of changes, seeing and restricting: chapter 2 (T53–T113).

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

mod rig;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use dsh_context::{Fiber, Scope};
use dsh_schema::Document;
use dsh_schema::spec::{self, ParameterSpec};
use dsh_testkit::{Driven, MockTool, block_on};
use dsh_tools::{
    Checking, Denial, Execution, Mode, Registration, RegistryErrorKind, Restriction, Tool,
    ToolError, Tools, ToolsConfig,
};
use rig::{Rig, call, code_of, json, named, text_of, tool, without_deadlock};

fn names(tools: &Tools, scope: Option<&Scope>) -> Vec<String> {
    tools
        .schemas(scope)
        .iter()
        .map(|schema| schema.name().to_owned())
        .collect()
}

/// How many change notifications an action causes.
struct Changes(Arc<AtomicUsize>);

impl Changes {
    fn of(rig: &Rig) -> Self {
        let (count, counter) = (Arc::<AtomicUsize>::default(), Arc::clone);
        let changes = counter(&count);
        rig.global()
            .on_change(move || _ = changes.fetch_add(1, Ordering::AcqRel))
            .unwrap();
        Self(count)
    }

    fn take(&self) -> usize {
        self.0.swap(0, Ordering::AcqRel)
    }
}

/// T53, T81: a registration goes to the layer of its receiver, and only that layer's scope sees it.
#[test]
fn a_registration_is_in_its_receivers_layer() {
    let rig = Rig::new();
    let (a, b) = (Scope::new("a"), Scope::new("b"));
    rig.register(named("everywhere"));
    rig.tools.scoped(&a).register(named("mine")).unwrap();
    assert_eq!(names(&rig.tools, None), ["everywhere"]);
    assert_eq!(names(&rig.tools, Some(&a)), ["everywhere", "mine"]);
    assert_eq!(names(&rig.tools, Some(&b)), ["everywhere"]);
}

/// T54–T57, T341: a malformed definition is refused with what is wrong with it, timeout first.
#[test]
fn definitions_are_checked_in_order() {
    let bad_output = json(r#"{"type":"string","format":"x"}"#);
    let bad_parameters = json(r#"{"type":"object","$ref":"http://elsewhere/x"}"#);
    let define = |timeout: Option<u64>, parameters: &Document, output: &Document| {
        let mut builder = Tool::new("a", "A.")
            .parameters_schema(parameters.clone(), Checking::Checked)
            .output_schema(output);
        if let Some(timeout) = timeout {
            builder = builder.timeout(Duration::from_millis(timeout));
        }
        builder.run(|args, _| async { Ok(args) })
    };
    let good = json(r#"{"type":"object"}"#);
    let error = define(Some(0), &bad_parameters, &bad_output).unwrap_err();
    assert_eq!(
        error.to_string(),
        "tool \"a\" timeoutMs must be a positive finite number"
    );
    assert_eq!(
        (error.kind(), error.code()),
        (RegistryErrorKind::Definition, "INVALID_DEFINITION")
    );
    let error = define(None, &good, &bad_output).unwrap_err();
    assert_eq!(
        (error.kind(), error.code()),
        (RegistryErrorKind::Schema, "UNSUPPORTED_SCHEMA")
    );
    assert!(
        error
            .to_string()
            .contains("unsupported JSON schema: schema.format is not a supported keyword"),
        "{error}"
    );
    assert_eq!(error.violations().len(), 1, "T56");
    assert!(define(None, &bad_parameters, &good).is_err());
    assert!(define(Some(1), &good, &good).is_ok());
    // T55: an output is a required step of the builder; leaving one out is the only way left, and it is named.
    let missing = Tool::new("a", "A.")
        .run(|_, _| async { Err(ToolError::new("never")) })
        .unwrap_err();
    assert!(
        missing.to_string().contains("tool \"a\" declares no"),
        "{missing}"
    );
}

/// T58: the transport's name is reserved in every layer and every mode.
#[test]
fn the_transports_name_is_reserved() {
    for mode in [Mode::Native, Mode::Code, Mode::Both] {
        let rig = Rig::configured(ToolsConfig {
            mode,
            ..ToolsConfig::default()
        });
        let changes = Changes::of(&rig);
        for receiver in [
            rig.global(),
            dsh_tools::Receiver::clone(&rig.tools.scoped(&Scope::new("a"))),
        ] {
            let error = receiver.register(named("run_code")).unwrap_err();
            assert_eq!(
                (error.kind(), error.code()),
                (RegistryErrorKind::Reserved, "RESERVED_NAME")
            );
            assert!(
                error.to_string().contains("run_code") && error.to_string().contains("reserved")
            );
            let error = rig
                .tools
                .update(|update| update.register(&receiver, named("run_code")))
                .unwrap_err();
            assert_eq!(error.kind(), RegistryErrorKind::Reserved);
        }
        assert_eq!(changes.take(), 0, "T54: no trace");
    }
}

/// T59, T60: a name is unique in its layer, and only there.
#[test]
fn a_name_is_unique_in_its_layer() {
    for scoped_first in [false, true] {
        let rig = Rig::new();
        let scope = Scope::new("a");
        let (global, scoped) = (rig.global(), rig.tools.scoped(&scope));
        if scoped_first {
            scoped.register(named("t")).unwrap();
            global.register(named("t")).unwrap();
        } else {
            global.register(named("t")).unwrap();
            scoped.register(named("t")).unwrap();
        }
        let error = global.register(named("t")).unwrap_err();
        assert_eq!(
            (error.kind(), error.code()),
            (RegistryErrorKind::Duplicate, "TOOL_EXISTS")
        );
        assert!(
            error.to_string().contains("already registered")
                && error.to_string().contains("agent.ctx")
        );
        let error = scoped.register(named("t")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "tool \"t\" is already registered in this scope"
        );
    }
}

/// T61, T87: `get` hands back the very definition, as the scope resolves it.
#[test]
fn get_hands_back_the_definition() {
    let rig = Rig::new();
    let scope = Scope::new("a");
    let (global, scoped) = (named("t"), named("t"));
    rig.register(global.clone());
    rig.tools.scoped(&scope).register(scoped.clone()).unwrap();
    rig.register(named("hidden"));
    rig.tools
        .scoped(&scope)
        .restrict(Restriction::deny(["hidden"]))
        .unwrap();
    assert!(Tool::same(&rig.tools.get("t", None).unwrap(), &global));
    assert!(Tool::same(
        &rig.tools.get("t", Some(&scope)).unwrap(),
        &scoped
    ));
    assert!(rig.tools.get("hidden", Some(&scope)).is_none());
    assert!(rig.tools.get("unknown", None).is_none());
}

/// T62, D12: the parameters of an unchecked tool only describe; they have to be an object all the same.
#[test]
fn unchecked_parameters_only_describe() {
    let rig = Rig::new();
    let schema = json(r#"{"type":"object","required":["a"],"x-vendor":{"anything":[1]}}"#);
    let build = |schema: Document, checking| {
        Tool::new("t", "Raw.")
            .parameters_schema(schema, checking)
            .returns(spec::json())
            .run(|args, _| async { Ok(args) })
    };
    rig.register(build(schema.clone(), Checking::Unchecked).unwrap());
    assert_eq!(rig.tools.schemas(None)[0].parameters(), &schema);
    assert!(!rig.run("t").is_error());
    assert!(build(json("[]"), Checking::Unchecked).is_err());
}

/// T64, T66, T68, T75, T76: a disposer removes its registration, once; listeners see what is so afterwards.
#[test]
fn a_registration_is_disposed_of_once() {
    let rig = Rig::new();
    let (trace, tools) = (rig.trace.clone(), rig.tools.clone());
    rig.global()
        .on_change(move || trace.note(format!("{:?}", names(&tools, None))))
        .unwrap();
    let registration = rig.register(named("t"));
    assert!(registration.is_live());
    assert_eq!(rig.trace.take(), ["[\"t\"]"]);
    registration.dispose();
    assert!(!registration.is_live());
    assert!(rig.tools.get("t", None).is_none());
    registration.dispose();
    assert_eq!(rig.trace.take(), ["[]"]);
    assert_eq!(code_of(&rig.run("t")), Some("UNKNOWN_TOOL"));
}

/// T65: what a fiber or a scope owns goes with it.
#[test]
fn a_lifetime_takes_its_registrations_along() {
    let rig = Rig::new();
    let (plugin, scope) = (Fiber::root("plugin"), Scope::new("a"));
    rig.register(named("stays"));
    let receiver = rig.tools.global(&plugin);
    receiver.register(named("goes")).unwrap();
    receiver
        .guard(|_: &Execution| Some(Denial::new("no")))
        .unwrap();
    rig.tools
        .scoped(&scope)
        .restrict(Restriction::allow(["goes"]))
        .unwrap();
    assert_eq!(names(&rig.tools, Some(&scope)), ["goes"]);
    block_on(scope.dispose());
    assert_eq!(names(&rig.tools, Some(&scope)), ["stays", "goes"], "T82");
    assert_eq!(text_of(&rig.run("stays")), "Error: no");
    block_on(plugin.dispose());
    assert_eq!(names(&rig.tools, None), ["stays"]);
    assert_eq!(text_of(&rig.run("stays")), "stays");
}

/// T67: a stale disposer leaves the newcomer alone.
#[test]
fn a_stale_disposer_removes_nothing() {
    let rig = Rig::new();
    let old = rig.register(named("t"));
    old.dispose();
    let changes = Changes::of(&rig);
    rig.register(named("t"));
    old.dispose();
    assert!(rig.tools.get("t", None).is_some());
    assert_eq!(changes.take(), 1);
}

/// D10: dropping the handle leaves the registration to its fiber.
#[test]
fn dropping_a_handle_detaches() {
    let rig = Rig::new();
    drop(rig.register(named("t")));
    assert!(rig.tools.get("t", None).is_some());
}

/// T70: a removal takes its place in a larger teardown, also behind an asynchronous step.
#[test]
fn a_removal_takes_its_place_in_a_teardown() {
    let rig = Rig::new();
    let plugin = Fiber::root("plugin");
    let look = |what: &'static str| {
        let (trace, tools) = (rig.trace.clone(), rig.tools.clone());
        move || trace.note(format!("{what}: {}", tools.get("t", None).is_some()))
    };
    plugin.effect("before", look("after its removal")).unwrap();
    rig.tools.global(&plugin).register(named("t")).unwrap();
    plugin.effect("behind", look("before its removal")).unwrap();
    block_on(plugin.dispose());
    assert_eq!(
        rig.trace.take(),
        ["before its removal: true", "after its removal: false"]
    );
}

/// T71: an owner that has ended owns nothing new, of any kind, and nothing changes.
#[test]
fn an_ended_owner_is_refused() {
    let rig = Rig::new();
    rig.register(named("t"));
    let (plugin, scope) = (Fiber::root("plugin"), Scope::new("a"));
    let (global, scoped) = (rig.tools.global(&plugin), rig.tools.scoped(&scope));
    block_on(plugin.dispose());
    block_on(scope.dispose());
    let mut refused = Vec::new();
    for receiver in [global, dsh_tools::Receiver::clone(&scoped)] {
        refused.push(receiver.register(named("new")).map(drop));
        refused.push(
            receiver
                .guard(|_: &Execution| Some(Denial::new("guard")))
                .map(drop),
        );
        refused.push(
            receiver
                .on_pre_execute(|_, _| async { Err(ToolError::new("pre")) })
                .map(drop),
        );
        refused.push(
            receiver
                .on_execute(|_, _| async { Err(ToolError::new("around")) })
                .map(drop),
        );
        refused.push(
            receiver
                .on_post_execute(|_, _, _| async { Err(ToolError::new("post")) })
                .map(drop),
        );
        refused.push(receiver.on_result(|_, _| ()).map(drop));
        refused.push(receiver.on_progress(|_, _| ()).map(drop));
        refused.push(receiver.on_change(|| ()).map(drop));
        refused.push(
            rig.tools
                .update(|update| update.register(&receiver, named("new")))
                .map(drop),
        );
    }
    refused.push(scoped.restrict(Restriction::deny(["t"])).map(drop));
    refused.push(scoped.present_as(Mode::Code).map(drop));
    for (index, result) in refused.into_iter().enumerate() {
        let error = result.unwrap_err();
        assert_eq!(
            (error.kind(), error.code()),
            (RegistryErrorKind::Inactive, "INACTIVE_EFFECT"),
            "{index}"
        );
    }
    assert_eq!(names(&rig.tools, Some(&scope)), ["t"]);
    assert_eq!(text_of(&rig.execute(call("t").agent(&scope))), "t");
    assert_eq!(rig.tools.mode(Some(&scope)), Mode::Native);
}

/// T73, T74: who tells of a change, and who does not; every listener hears of every layer.
#[test]
fn changes_are_told_to_everybody() {
    let rig = Rig::new();
    let (scope, other) = (Scope::new("a"), Scope::new("other"));
    let changes = Changes::of(&rig);
    let elsewhere = Arc::new(AtomicUsize::new(0));
    let count = elsewhere.clone();
    rig.tools
        .scoped(&other)
        .on_change(move || _ = count.fetch_add(1, Ordering::AcqRel))
        .unwrap();
    let scoped = rig.tools.scoped(&scope);
    let mut told = Vec::new();
    let mut each = |registration: Registration| {
        told.push(changes.take());
        registration.dispose();
        told.push(changes.take());
    };
    each(rig.register(named("t")));
    let _kept = rig.register(named("kept"));
    changes.take();
    each(scoped.register(named("t")).unwrap());
    each(scoped.restrict(Restriction::deny(["kept"])).unwrap());
    each(scoped.present_as(Mode::Both).unwrap());
    assert_eq!(told, [1; 8]);
    let silent = |registration: Registration| {
        registration.dispose();
        assert_eq!(changes.take(), 0);
    };
    silent(scoped.guard(|_: &Execution| None::<Denial>).unwrap());
    silent(rig.global().on_result(|_, _| ()).unwrap());
    assert_eq!(elsewhere.load(Ordering::Acquire), 9);
}

/// T80, T84: what is announced is what runs; a hidden name is an unknown one.
#[test]
fn what_is_hidden_is_unknown() {
    let rig = Rig::new();
    let (a, b) = (Scope::new("a"), Scope::new("b"));
    rig.tools.scoped(&a).register(named("mine")).unwrap();
    rig.register(named("masked"));
    rig.tools
        .scoped(&b)
        .restrict(Restriction::deny(["masked"]))
        .unwrap();
    for name in ["mine", "masked", "nowhere"] {
        let settled = rig.execute(call(name).agent(&b));
        let error = settled.error().unwrap();
        let info = error.info.as_ref().unwrap();
        assert_eq!(error.message, format!("unknown tool \"{name}\""));
        assert_eq!(
            (&*info.name, &*info.code),
            ("ToolNotFoundError", "UNKNOWN_TOOL")
        );
    }
}

/// D46: a near name is suggested in a second block, never in place of the exact text, and only if it is visible.
#[test]
fn a_near_name_is_suggested() {
    let rig = Rig::new();
    let scope = Scope::new("a");
    rig.register(named("read_file"));
    let settled = rig.run("raed_file");
    let texts: Vec<_> = settled
        .content()
        .iter()
        .map(|block| block.as_text().unwrap())
        .collect();
    assert_eq!(
        texts,
        [
            "Error: unknown tool \"raed_file\"",
            "did you mean \"read_file\"?"
        ]
    );
    rig.tools
        .scoped(&scope)
        .restrict(Restriction::deny(["read_file"]))
        .unwrap();
    assert_eq!(
        rig.execute(call("raed_file").agent(&scope)).content().len(),
        1
    );
    assert_eq!(rig.run("zzz").content().len(), 1);
}

/// T85: global tools, then ancestors farthest first, then the scope's own; a shadow takes the place of what it shadows,
/// unless that is masked; the transport is last.
#[test]
fn schemas_come_in_a_fixed_order() {
    let rig = Rig::new();
    let parent = Scope::new("parent");
    let child = Scope::new("child").child_of(&parent);
    for name in ["z", "a", "m"] {
        rig.register(named(name));
    }
    rig.tools.scoped(&child).register(named("own")).unwrap();
    rig.tools.scoped(&parent).register(named("p")).unwrap();
    rig.tools.scoped(&parent).register(named("a")).unwrap();
    rig.tools.scoped(&child).register(named("m")).unwrap();
    rig.global().mount_transport(named("run_code")).unwrap();
    assert_eq!(names(&rig.tools, Some(&child)), ["z", "a", "m", "p", "own"]);
    let mode = rig.tools.scoped(&child).present_as(Mode::Both).unwrap();
    assert_eq!(
        names(&rig.tools, Some(&child)),
        ["z", "a", "m", "p", "own", "run_code"]
    );
    mode.dispose();
    rig.tools
        .scoped(&child)
        .restrict(Restriction::deny(["m"]))
        .unwrap();
    assert_eq!(
        names(&rig.tools, Some(&child)),
        ["z", "a", "p", "own", "m"],
        "a masked place is nobody's"
    );
    assert_eq!(names(&rig.tools, None), ["z", "a", "m"]);
}

/// T3, T88, T89: three fields and no more, and the same handles while nothing changes.
#[test]
fn a_schema_has_three_fields() {
    let rig = Rig::new();
    let tool = Tool::new("t", "Does it all.")
        .parameters(ParameterSpec::new().required("path", spec::string()))
        .returns(spec::string())
        .timeout(Duration::from_secs(1))
        .concurrency_safe()
        .read_only()
        .open_world()
        .finalize_content(|_, _| Ok(None))
        .run(|_, _| async { Ok(Document::string("")) })
        .unwrap();
    assert_eq!(tool.timeout(), Some(Duration::from_secs(1)), "T6");
    rig.register(tool);
    let schemas = rig.tools.schemas(None);
    let expected = r#"{"name":"t","description":"Does it all.","parameters":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}}"#;
    assert_eq!(schemas[0].to_json(), expected);
    assert_eq!(serde_json::to_string(&schemas[0]).unwrap(), expected);
    assert!(Arc::ptr_eq(&schemas, &rig.tools.schemas(None)));
    assert!(Arc::ptr_eq(&rig.tools.view(None), &rig.tools.view(None)));
    rig.register(named("more"));
    assert!(!Arc::ptr_eq(&schemas, &rig.tools.schemas(None)));
}

/// T92, T116: what is visible, and what is known.
#[test]
fn known_names_ignore_restrictions() {
    let rig = Rig::new();
    let scope = Scope::new("a");
    rig.register(named("b"));
    rig.register(named("a"));
    rig.tools.scoped(&scope).register(named("own")).unwrap();
    rig.tools
        .scoped(&scope)
        .restrict(Restriction::allow(["a"]))
        .unwrap();
    let visible = |scope: Option<&Scope>| {
        rig.tools
            .visible(scope)
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    let known = |scope: Option<&Scope>| {
        rig.tools
            .known_names(scope)
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    assert_eq!(visible(Some(&scope)), ["a", "own"]);
    assert_eq!(known(Some(&scope)), ["a", "b", "own"]);
    assert_eq!(known(None), ["a", "b"]);
    let mode = rig.tools.scoped(&scope).present_as(Mode::Code).unwrap();
    assert_eq!(known(Some(&scope)), ["run_code"]);
    mode.dispose();
    rig.tools.scoped(&scope).present_as(Mode::Both).unwrap();
    assert_eq!(known(Some(&scope)), ["a", "b", "own", "run_code"]);
}

/// T94–T97: a restriction that cannot be meant is refused, in this order, and leaves no trace.
#[test]
fn restrictions_are_checked_in_order() {
    let rig = Rig::new();
    let scope = Scope::new("a");
    let scoped = rig.tools.scoped(&scope);
    rig.register(named("b"));
    rig.register(named("a"));
    scoped.register(named("own")).unwrap();
    let changes = Changes::of(&rig);
    let refuse = |restriction: Restriction| {
        let error = scoped.restrict(restriction).unwrap_err();
        assert_eq!(
            (error.kind(), error.code()),
            (RegistryErrorKind::Restriction, "INVALID_RESTRICTION")
        );
        error.to_string()
    };
    assert!(refuse(Restriction::default()).contains("no-op"));
    assert!(
        refuse(Restriction::deny(["nope", "run_code"])).contains("cannot name reserved"),
        "T95 before T96"
    );
    assert!(refuse(Restriction::allow(["run_code"])).contains("cannot name reserved"));
    assert_eq!(
        refuse(Restriction::allow(["x", "a"]).and_deny(["own"])),
        "tools.restrict() names unknown global tools \"x\", \"own\"; known global tools: a, b",
    );
    assert_eq!(
        refuse(Restriction::deny(["x"])),
        "tools.restrict() names unknown global tool \"x\"; known global tools: a, b",
    );
    assert_eq!(changes.take(), 0);
    assert_eq!(names(&rig.tools, Some(&scope)), ["b", "a", "own"]);
}

/// T94: empty lists are filters: nothing is allowed, or nothing is denied.
#[test]
fn empty_lists_are_filters() {
    let rig = Rig::new();
    let scope = Scope::new("a");
    rig.register(named("a"));
    let nothing = rig
        .tools
        .scoped(&scope)
        .restrict(Restriction::allow::<_, &str>([]))
        .unwrap();
    assert!(names(&rig.tools, Some(&scope)).is_empty());
    nothing.dispose();
    rig.tools
        .scoped(&scope)
        .restrict(Restriction::deny::<_, &str>([]))
        .unwrap();
    assert_eq!(names(&rig.tools, Some(&scope)), ["a"]);
}

/// T99–T102: own tools pass, several filters intersect, each lifts alone, and all act on live names.
#[test]
fn filters_act_on_live_names() {
    let rig = Rig::new();
    let scope = Scope::new("a");
    let scoped = rig.tools.scoped(&scope);
    let a = rig.register(named("a"));
    rig.register(named("b"));
    scoped.register(named("own")).unwrap();
    let allow = scoped.restrict(Restriction::allow(["a", "b"])).unwrap();
    let deny = scoped.restrict(Restriction::deny(["b"])).unwrap();
    assert_eq!(names(&rig.tools, Some(&scope)), ["a", "own"]);
    a.dispose();
    rig.register(named("c"));
    assert_eq!(names(&rig.tools, Some(&scope)), ["own"]);
    rig.register(named("a"));
    assert_eq!(
        names(&rig.tools, Some(&scope)),
        ["a", "own"],
        "a name, not a definition"
    );
    allow.dispose();
    assert_eq!(names(&rig.tools, Some(&scope)), ["c", "a", "own"]);
    deny.dispose();
    assert_eq!(names(&rig.tools, Some(&scope)), ["b", "c", "a", "own"]);
}

/// T103–T106: a filter reaches down and nowhere else; it masks what the scope inherits, for descendants also what the
/// filtering scope registered itself.
#[test]
fn a_filter_reaches_down() {
    let rig = Rig::new();
    let parent = Scope::new("parent");
    let child = Scope::new("child").child_of(&parent);
    let stranger = Scope::new("stranger");
    rig.register(named("a"));
    rig.tools.scoped(&parent).register(named("p")).unwrap();
    rig.tools
        .scoped(&child)
        .restrict(Restriction::deny(["p"]))
        .unwrap()
        .dispose();
    let masked = rig
        .tools
        .scoped(&child)
        .restrict(Restriction::deny(["p"]))
        .unwrap();
    assert_eq!(names(&rig.tools, Some(&child)), ["a"], "T104");
    assert_eq!(names(&rig.tools, Some(&parent)), ["a", "p"], "T103");
    masked.dispose();
    rig.tools
        .scoped(&parent)
        .restrict(Restriction::allow::<_, &str>([]))
        .unwrap();
    assert_eq!(names(&rig.tools, Some(&parent)), ["p"], "T99");
    assert!(names(&rig.tools, Some(&child)).is_empty(), "T105, T106");
    assert_eq!(names(&rig.tools, Some(&stranger)), ["a"], "T103");
    assert_eq!(names(&rig.tools, None), ["a"], "T103");
}

/// T108–T110: guards of the layers, in their order; the first reason wins; equal guards are two.
#[test]
fn guards_come_in_the_order_of_their_layers() {
    let rig = Rig::new();
    let parent = Scope::new("parent");
    let child = Scope::new("child").child_of(&parent);
    rig.register(named("t"));
    let guard = |reason: &'static str| {
        let trace = rig.trace.clone();
        move |_: &Execution| {
            trace.note(reason);
            None::<Denial>
        }
    };
    rig.tools.scoped(&child).guard(guard("child")).unwrap();
    rig.tools.scoped(&parent).guard(guard("parent")).unwrap();
    rig.global().guard(guard("global")).unwrap();
    rig.execute(call("t").agent(&child));
    assert_eq!(rig.trace.take(), ["global", "parent", "child"]);
    rig.execute(call("t").agent(&parent));
    assert_eq!(rig.trace.take(), ["global", "parent"]);
    rig.run("t");
    assert_eq!(rig.trace.take(), ["global"], "T185");

    let deny = |_: &Execution| Some(Denial::new("no"));
    let first = rig.tools.scoped(&parent).guard(deny).unwrap();
    let second = rig.tools.scoped(&parent).guard(deny).unwrap();
    first.dispose();
    assert_eq!(
        text_of(&rig.execute(call("t").agent(&child))),
        "Error: no",
        "T109"
    );
    assert_eq!(
        rig.trace.take(),
        ["global", "parent"],
        "T110: a reason stops the evaluation"
    );
    second.dispose();
    assert_eq!(text_of(&rig.execute(call("t").agent(&child))), "t");
}

/// D8 (in place of T111, T112): guards are evaluated over a snapshot; what a guard registers sees the next call.
#[test]
fn guards_are_a_snapshot() {
    let rig = Rig::new();
    rig.register(named("t"));
    let (receiver, once) = (rig.global(), Arc::new(AtomicUsize::new(0)));
    rig.global()
        .guard(move |_: &Execution| {
            if once.fetch_add(1, Ordering::AcqRel) == 0 {
                receiver
                    .guard(|_: &Execution| Some(Denial::new("second")))
                    .unwrap();
            }
            None::<Denial>
        })
        .unwrap();
    assert_eq!(text_of(&rig.run("t")), "t");
    assert_eq!(text_of(&rig.run("t")), "Error: second");
}

/// D9: an update is all or nothing, with one notification, and names that it frees are free for it.
#[test]
fn an_update_is_one_change() {
    let rig = Rig::new();
    let scope = Scope::new("a");
    let (global, scoped) = (rig.global(), rig.tools.scoped(&scope));
    let old = rig.register(named("t"));
    let changes = Changes::of(&rig);
    let newcomer = named("t");
    let registrations = rig
        .tools
        .update(|update| {
            update.remove(&old)?;
            update.register(&global, newcomer.clone())?;
            update.register(&scoped, named("s"))
        })
        .unwrap();
    assert_eq!((registrations.len(), changes.take()), (2, 1));
    assert!(!old.is_live() && registrations.iter().all(Registration::is_live));
    assert!(Tool::same(&rig.tools.get("t", None).unwrap(), &newcomer));
    registrations[1].dispose();
    assert_eq!(
        (names(&rig.tools, Some(&scope)), changes.take()),
        (vec!["t".to_owned()], 1)
    );

    let conflicts: [fn(&mut dsh_tools::Update, &dsh_tools::Receiver, &Registration) -> _; 4] = [
        |update, global, _| update.register(global, named("t")),
        |update, global, _| {
            update.register(global, named("x"))?;
            update.register(global, named("x"))
        },
        |update, global, old| {
            update.register(global, named("x"))?;
            update.remove(old)
        },
        |update, global, _| {
            update.register(global, named("x"))?;
            update.register(global, named("run_code"))
        },
    ];
    for (index, conflict) in conflicts.into_iter().enumerate() {
        assert!(
            rig.tools
                .update(|update| conflict(update, &global, &old))
                .is_err(),
            "{index}"
        );
        assert_eq!(
            (names(&rig.tools, None), changes.take()),
            (vec!["t".to_owned()], 0),
            "{index}: nothing changed"
        );
        assert!(Tool::same(&rig.tools.get("t", None).unwrap(), &newcomer));
    }
    assert!(rig.tools.update(|_| Ok(())).unwrap().is_empty());
    assert_eq!(changes.take(), 0);
}

/// The tools of an update belong to their fibers like all others (T65, T71).
#[test]
fn the_tools_of_an_update_have_owners() {
    let rig = Rig::new();
    let (plugin, gone) = (Fiber::root("plugin"), Fiber::root("gone"));
    let (receiver, dead) = (rig.tools.global(&plugin), rig.tools.global(&gone));
    block_on(gone.dispose());
    let result = rig.tools.update(|update| {
        update.register(&receiver, named("a"))?;
        update.register(&dead, named("b"))
    });
    assert_eq!(result.unwrap_err().kind(), RegistryErrorKind::Inactive);
    assert!(names(&rig.tools, None).is_empty() && plugin.live_effects().is_empty());
    rig.tools
        .update(|update| update.register(&receiver, named("a")))
        .unwrap();
    block_on(plugin.dispose());
    assert!(names(&rig.tools, None).is_empty());
}

/// T446: disposing after the runtime is gone does nothing, and the runtime goes although registrations are kept.
#[test]
fn handles_do_not_keep_the_runtime() {
    let witness = Arc::new(());
    let fiber = Fiber::root("test");
    let tools = Tools::new(ToolsConfig::default());
    let kept = witness.clone();
    let registration = tools
        .global(&fiber)
        .register(tool("t", move |_, _| {
            let _kept = &kept;
            async { Ok(Document::null()) }
        }))
        .unwrap();
    let guard = tools
        .global(&fiber)
        .guard(|_: &Execution| None::<Denial>)
        .unwrap();
    assert_eq!(Arc::strong_count(&witness), 2);
    drop(tools);
    assert_eq!(Arc::strong_count(&witness), 1);
    registration.dispose();
    guard.dispose();
    block_on(fiber.dispose());
}

/// T114–T118: modes, the nearest declaration on the chain, and what a second one in a scope is told.
#[test]
fn a_scope_chooses_its_presentation() {
    let rig = Rig::new();
    let parent = Scope::new("parent");
    let child = Scope::new("child").child_of(&parent);
    rig.register(named("t"));
    let transport = named("run_code");
    rig.global().mount_transport(transport.clone()).unwrap();
    assert!(rig.tools.get("run_code", None).is_none(), "T115");
    let announced = |scope: &Scope| -> Vec<String> {
        rig.tools
            .view(Some(scope))
            .announced()
            .iter()
            .map(|schema| schema.name().to_owned())
            .collect()
    };
    assert_eq!(announced(&child), ["t"]);
    let by_parent = rig.tools.scoped(&parent).present_as(Mode::Code).unwrap();
    assert_eq!(
        (rig.tools.mode(Some(&child)), announced(&child)),
        (Mode::Code, vec!["run_code".to_owned()]),
        "T116"
    );
    let by_child = rig.tools.scoped(&child).present_as(Mode::Both).unwrap();
    assert_eq!(announced(&child), ["run_code", "t"]);
    assert!(
        Tool::same(
            &rig.tools.get("run_code", Some(&child)).unwrap(),
            &transport
        ),
        "T117"
    );
    let error = rig
        .tools
        .scoped(&child)
        .present_as(Mode::Native)
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.code()),
        (RegistryErrorKind::Mode, "MODE_CONFLICT")
    );
    assert!(
        error
            .to_string()
            .contains("conflicts with \"both\" already declared"),
        "{error}"
    );
    rig.tools
        .scoped(&child)
        .restrict(Restriction::allow::<_, &str>([]))
        .unwrap();
    assert_eq!(
        announced(&child),
        ["run_code"],
        "T117: no filter reaches it"
    );
    by_child.dispose();
    by_parent.dispose();
    assert_eq!(rig.tools.mode(Some(&child)), Mode::Native);
}

/// T119–T123: a visible tool that is called directly under Code Mode is refused before policy.
#[test]
fn a_collapsed_call_is_refused_before_policy() {
    let rig = Rig::configured(ToolsConfig {
        mode: Mode::Code,
        ..ToolsConfig::default()
    });
    let finals = Arc::new(AtomicUsize::new(0));
    let count = finals.clone();
    let (tool, probe) = MockTool::new("t")
        .concurrency_safe()
        .build_with(|builder| {
            builder.finalize_content(move |_, _| {
                count.fetch_add(1, Ordering::AcqRel);
                Ok(None)
            })
        })
        .unwrap();
    rig.register(tool);
    let trace = rig.trace.clone();
    rig.global()
        .on_pre_execute(move |_, next| {
            trace.note("policy");
            async move { next.run().await }
        })
        .unwrap();
    let settled = rig.run("t");
    assert_eq!(
        text_of(&settled),
        "Error: unknown tool \"t\": only `run_code` is callable directly — call `t` from inside a `run_code` program instead"
    );
    assert_eq!(
        (code_of(&settled), finals.load(Ordering::Acquire)),
        (Some("UNKNOWN_TOOL"), 0),
        "T122"
    );
    assert_eq!(
        (
            rig.trace.take().len(),
            probe.calls(),
            rig.invariants.executions()
        ),
        (0, 0, 1)
    );
    assert_eq!(
        rig.tools.execution_mode(&call("t")),
        dsh_tools::ExecutionMode::Exclusive,
        "T123"
    );
    assert_eq!(
        rig.tools
            .execution_mode(&call("t").parent(settled.execution().token())),
        dsh_tools::ExecutionMode::Parallel
    );

    let (canceller, cancelled) = rig.cancellable("t");
    canceller.cancel(dsh_tools::Reason::Cancelled);
    assert_eq!(
        code_of(&rig.execute(cancelled)),
        Some("ABORTED_BEFORE_DISPATCH"),
        "T120"
    );
    assert_eq!(finals.load(Ordering::Acquire), 1, "T122");
    let mut lossy = call("t");
    lossy.arguments = "{\"a\":1,\"a\":2}".into();
    assert!(text_of(&rig.execute(lossy)).contains("losslessly"), "T121");
    assert_eq!(finals.load(Ordering::Acquire), 1, "T122");

    assert!(
        !rig.execute(call("t").parent(settled.execution().token()))
            .is_error()
    );
    assert_eq!(
        (probe.calls(), rig.trace.take()),
        (1, vec!["policy".to_owned()])
    );
    assert_eq!(code_of(&rig.run("nope")), Some("UNKNOWN_TOOL"));
    assert_eq!(
        text_of(&rig.run("nope")),
        "Error: unknown tool \"nope\"",
        "an unknown name is just unknown"
    );
    assert!(rig.tools.get("t", None).is_some() && names(&rig.tools, None) == ["t"]);
}

/// T444, T445: a reader sees one state or the next, never half of a change.
#[test]
fn readers_see_whole_changes() {
    without_deadlock(|| {
        let rig = Rig::new();
        let global = rig.global();
        let mut pair: Vec<Registration> = Vec::new();
        let stop = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|threads| {
            let (tools, stop) = (&rig.tools, &stop);
            for _ in 0..2 {
                threads.spawn(move || {
                    while !stop.load(Ordering::Acquire) {
                        assert!(matches!(names(tools, None).len(), 0 | 2));
                    }
                });
            }
            for _ in 0..500 {
                pair = rig
                    .tools
                    .update(|update| {
                        pair.iter().try_for_each(|old| update.remove(old))?;
                        if pair.is_empty() {
                            update.register(&global, named("a"))?;
                            update.register(&global, named("b"))?;
                        }
                        Ok(())
                    })
                    .unwrap();
            }
            stop.store(true, Ordering::Release);
        });
    });
}

/// The tokens of a call and of a nested one differ, and so does a call's from itself run again (T13).
#[test]
fn tokens_are_fresh() {
    let rig = Rig::new();
    rig.register(named("t"));
    let tokens: std::collections::HashSet<_> = (0..100)
        .map(|_| rig.run("t").execution().token())
        .chain([rig.run("nope").execution().token()])
        .collect();
    assert_eq!(tokens.len(), 101);
}

/// A future of a call that is never polled has not begun (T154 counts executions, not futures).
#[test]
fn an_unpolled_call_is_none() {
    let rig = Rig::new();
    drop(Driven::new(rig.tools.execute(call("t"))));
    assert_eq!((rig.invariants.executions(), rig.spawner.spawned()), (0, 0));
}
