//! Assembly and rendering as a user of the crate sees them (chapter 2 of the loop specification).

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::panic::panic_any;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dsh_context::{Fiber, Scope};
use dsh_prompt::{
    AssembleContext, Assembly, Prompt, PromptConfig, PromptError, Section, ToolContribution,
    ToolOrder, announced, codes,
};
use dsh_schema::Document;
use dsh_schema::spec::ParameterSpec;
use dsh_testkit::{Bomb, block_on};
use dsh_tools::{Restriction, Tool, ToolSchema, Tools, ToolsConfig};

fn tool(name: &str) -> Tool {
    Tool::new(name, format!("The tool {name}."))
        .parameters(ParameterSpec::new())
        .returns(dsh_schema::spec::null())
        .run(|_, _| async { Ok(Document::null()) })
        .unwrap()
}

fn bare() -> (Fiber, Prompt) {
    let config = PromptConfig {
        identity: false,
        ..PromptConfig::default()
    };
    (Fiber::root("test"), Prompt::new(config))
}

fn assemble(prompt: &Prompt, scope: Option<&Scope>) -> Result<Assembly, PromptError> {
    let cx = scope.map_or_else(AssembleContext::global, AssembleContext::of);
    block_on(prompt.assemble(cx))
}

fn render(prompt: &Prompt, scope: Option<&Scope>) -> String {
    assemble(prompt, scope).unwrap().render().unwrap()
}

fn names(tools: &[ToolSchema]) -> Vec<&str> {
    tools.iter().map(ToolSchema::name).collect()
}

fn refused(result: Result<impl std::fmt::Debug, PromptError>, code: &str, part: &str) {
    let error = result.unwrap_err();
    assert_eq!(error.code(), code);
    assert!(error.to_string().contains(part), "{error}");
}

/// L61, L78.
#[test]
fn the_built_in_sections() {
    let prompt = Prompt::new(PromptConfig {
        persona: "You are terse.".into(),
        ..PromptConfig::default()
    });
    let assembly = assemble(&prompt, None).unwrap();
    let sections: Vec<_> = assembly
        .sections
        .iter()
        .map(|section| (&*section.name, section.order))
        .collect();
    assert_eq!(
        sections,
        [("harness:identity", -100), ("deployment:persona", 0)]
    );
    assert!(assembly.render().unwrap().ends_with("\n\nYou are terse."));
    let agent = Scope::new("agent");
    prompt
        .scoped(&agent)
        .section(Section::new("deployment:persona", 0, "You are kind."))
        .unwrap();
    assert!(render(&prompt, Some(&agent)).ends_with("\n\nYou are kind."));
    assert!(render(&prompt, None).ends_with("\n\nYou are terse."));
    let (_fiber, bare) = bare();
    assert_eq!(render(&bare, None), "");
}

/// L60, L67, L68.
#[test]
fn sections_stand_by_order_and_then_by_registration() {
    let (fiber, prompt) = bare();
    let global = prompt.global(&fiber);
    for (name, order) in [("c", 7), ("a", 7), ("z", -3), ("empty", 0)] {
        global
            .section(Section::new(
                name,
                order,
                if name == "empty" { "" } else { name },
            ))
            .unwrap();
    }
    assert_eq!(render(&prompt, None), "z\n\nc\n\na");
    let again = global.section(Section::new("a", 1, "x"));
    refused(
        again,
        codes::PROMPT_CONTRIBUTION_REFUSED,
        "prompt section \"a\" exists already (for one agent",
    );
    refused(
        global.section(Section::new("", 1, "x")),
        codes::PROMPT_CONTRIBUTION_REFUSED,
        "needs a name",
    );
}

/// L62, L42 of Code Mode: computed per assembly, and not at all when shadowed.
#[test]
fn a_text_provider_runs_once_per_assembly() {
    let (fiber, prompt) = bare();
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = calls.clone();
    let counted = move |cx: &AssembleContext| {
        let call = counter.fetch_add(1, Ordering::AcqRel);
        Ok(format!(
            "{call} for {}",
            cx.scope().map_or("all", Scope::label)
        ))
    };
    prompt
        .global(&fiber)
        .section(Section::lazy("s", 0, counted))
        .unwrap();
    let (agent, other) = (Scope::new("agent"), Scope::new("other"));
    prompt
        .scoped(&agent)
        .section(Section::new("s", 0, "own"))
        .unwrap();
    assert_eq!(render(&prompt, Some(&agent)), "own");
    assert_eq!(calls.load(Ordering::Acquire), 0);
    assert_eq!(render(&prompt, None), "0 for all");
    assert_eq!(render(&prompt, Some(&other)), "1 for other");
}

/// L75: what fails or panics is the failure of the assembly.
#[test]
fn a_provider_that_fails_fails_the_assembly() {
    let (fiber, prompt) = bare();
    let failing = prompt.global(&fiber).section(Section::lazy("s", 0, |_| {
        Err(PromptError::new("no text today"))
    }));
    refused(
        assemble(&prompt, None),
        codes::PROMPT_ASSEMBLY_FAILED,
        "no text today",
    );
    failing.unwrap().dispose();
    prompt
        .global(&fiber)
        .section(Section::lazy("p", 0, |_| panic!("boom")))
        .unwrap();
    refused(
        assemble(&prompt, None),
        codes::PROMPT_ASSEMBLY_FAILED,
        "section \"p\" panicked",
    );
}

/// What a contribution throws may panic in turn when it is dropped.
#[test]
fn a_panic_that_cannot_be_dropped_is_contained() {
    let (fiber, prompt) = bare();
    let global = prompt.global(&fiber);
    let section = global.section(Section::lazy("p", 0, |_| panic_any(Bomb)));
    refused(
        assemble(&prompt, None),
        codes::PROMPT_ASSEMBLY_FAILED,
        "section \"p\" panicked",
    );
    section.unwrap().dispose();
    let panicking = |_, _, _| async { panic_any(Bomb) };
    let listener = global.on_assemble(panicking).unwrap();
    refused(
        assemble(&prompt, None),
        codes::PROMPT_ASSEMBLY_FAILED,
        "a prompt listener panicked",
    );
    listener.dispose();
    global.on_change(|| panic_any(Bomb)).unwrap();
    global.section(Section::new("q", 0, "text")).unwrap();
    assert!(assemble(&prompt, None).is_ok());
}

/// L65, L79.
#[test]
fn variables() {
    let (fiber, prompt) = bare();
    let global = prompt.global(&fiber);
    global
        .variable("cwd", |_| Ok(Some("/work".into())))
        .unwrap();
    global.variable("model", |_| Ok(None)).unwrap();
    global.section(Section::new("s", 0, "in {{cwd}}")).unwrap();
    let agent = Scope::new("agent");
    prompt
        .scoped(&agent)
        .variable("cwd", |_| Ok(Some("/home".into())))
        .unwrap();
    assert_eq!(render(&prompt, None), "in /work");
    assert_eq!(render(&prompt, Some(&agent)), "in /home");
    for name in ["", "Cwd", "1a", "a-b", "_a"] {
        refused(
            global.variable(name, |_| Ok(None)),
            codes::PROMPT_CONTRIBUTION_REFUSED,
            "prompt variable",
        );
    }
    global.section(Section::new("t", 1, "{{model}}")).unwrap();
    refused(
        assemble(&prompt, None).unwrap().render(),
        codes::PROMPT_RENDER_FAILED,
        "prompt section \"t\"",
    );
}

/// C52: what others wrote is not interpolated.
#[test]
fn a_verbatim_section_cannot_break_the_rendering() {
    let (fiber, prompt) = bare();
    let text = "describes {{x}} and {{ y }}";
    prompt
        .global(&fiber)
        .section(Section::new("sdk", 150, text).verbatim())
        .unwrap();
    assert_eq!(render(&prompt, None), text);
}

/// L63, L82: dynamic contexts, and who switches them off.
#[test]
fn dynamic_contexts() {
    let (fiber, prompt) = bare();
    let global = prompt.global(&fiber);
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = calls.clone();
    let lazy = move |_: &AssembleContext| {
        counter.fetch_add(1, Ordering::AcqRel);
        Ok("branch main".to_owned())
    };
    global.context(Section::lazy("git", 1, lazy)).unwrap();
    global.context(Section::new("none", 0, "")).unwrap();
    let added = |_, mut assembly: Assembly, next: dsh_prompt::AssembleNext| async move {
        let mut extra = assembly.contexts[0].clone();
        extra.name = "extra".into();
        extra.text = "extra".into();
        assembly.contexts.push(extra);
        next.run(assembly).await
    };
    let listener = global.on_assemble(added).unwrap();
    let snapshot = assemble(&prompt, None)
        .unwrap()
        .snapshot()
        .unwrap()
        .unwrap();
    assert!(
        snapshot.text().ends_with("\n\nbranch main\n\nextra"),
        "{}",
        snapshot.text()
    );
    listener.dispose();
    let (one, two) = (
        global.suppress_contexts().unwrap(),
        global.suppress_contexts().unwrap(),
    );
    calls.store(0, Ordering::Release);
    one.dispose();
    assert_eq!(assemble(&prompt, None).unwrap().snapshot().unwrap(), None);
    assert_eq!(calls.load(Ordering::Acquire), 0, "providers are not asked");
    two.dispose();
    assert!(
        assemble(&prompt, None)
            .unwrap()
            .snapshot()
            .unwrap()
            .is_some()
    );
}

/// L64, L69: by name, whatever the registration order.
#[test]
fn tools_stand_by_name() {
    let orders = [["b", "a", "c"], ["c", "b", "a"]].map(|order| {
        let (fiber, prompt) = bare();
        let tools = Tools::new(ToolsConfig::default());
        prompt.global(&fiber).tools(announced(&tools)).unwrap();
        for name in order {
            tools.global(&fiber).register(tool(name)).unwrap();
        }
        let assembly = assemble(&prompt, None).unwrap();
        assert_eq!(names(&assembly.tools), ["a", "b", "c"]);
        assembly
    });
    assert_eq!(orders[0], orders[1], "L85");
}

/// L70, L71.
#[test]
fn a_configured_order_of_tools() {
    let tools = Tools::new(ToolsConfig::default());
    let fiber = Fiber::root("test");
    for name in ["a", "b", "c", "d"] {
        tools.global(&fiber).register(tool(name)).unwrap();
    }
    let assembled = |order: &[&str], scope: Option<&Scope>| {
        let tool_order = Some(ToolOrder::new(order.iter().copied()).unwrap());
        let prompt = Prompt::new(PromptConfig {
            tool_order,
            ..PromptConfig::default()
        });
        prompt.global(&fiber).tools(announced(&tools)).unwrap();
        assemble(&prompt, scope)
    };
    assert_eq!(
        names(
            &assembled(&["d", "<unlisted-tools>", "a"], None)
                .unwrap()
                .tools
        ),
        ["d", "b", "c", "a"]
    );
    let agent = Scope::new("agent");
    tools
        .scoped(&agent)
        .restrict(Restriction::deny(["d"]))
        .unwrap();
    assert_eq!(
        names(
            &assembled(&["d", "<unlisted-tools>"], Some(&agent))
                .unwrap()
                .tools
        ),
        ["a", "b", "c"]
    );
    refused(
        assembled(&["x", "<unlisted-tools>"], None),
        codes::PROMPT_TOOL_ORDER,
        "toolOrder lists unregistered tool \"x\" (registered: a, b, c, d)",
    );
    refused(
        ToolOrder::new(["a"]),
        codes::PROMPT_TOOL_ORDER,
        "must contain \"<unlisted-tools>\"",
    );
    refused(
        ToolOrder::new(["a", "<unlisted-tools>", "a"]),
        codes::PROMPT_TOOL_ORDER,
        "lists \"a\" twice",
    );
    refused(
        ToolOrder::new(["<unlisted-tools>", "<unlisted-tools>"]),
        codes::PROMPT_TOOL_ORDER,
        "twice",
    );
}

/// L71: the marker is no name.
#[test]
fn a_tool_named_like_the_marker_fails_the_assembly() {
    let (fiber, prompt) = bare();
    let schema = tool("<unlisted-tools>").schema().clone();
    let provider = move |_: &AssembleContext| {
        Ok(ToolContribution {
            schemas: vec![schema.clone()],
            known: None,
        })
    };
    prompt.global(&fiber).tools(provider).unwrap();
    refused(assemble(&prompt, None), codes::PROMPT_TOOL_ORDER, "marker");
}

/// L64: a scope's provider is asked for that scope only.
#[test]
fn scoped_providers_and_listeners_are_for_their_scope() {
    let (_fiber, prompt) = bare();
    let (preset, agent) = (Scope::new("preset"), Scope::new("agent"));
    let agent = agent.child_of(&preset);
    let schema = tool("x").schema().clone();
    let provider = move |_: &AssembleContext| {
        Ok(ToolContribution {
            schemas: vec![schema.clone()],
            known: None,
        })
    };
    prompt.scoped(&preset).tools(provider).unwrap();
    let noted = |_, mut assembly: Assembly, next: dsh_prompt::AssembleNext| async move {
        assembly.variables.insert("heard".into(), None);
        next.run(assembly).await
    };
    prompt.scoped(&preset).on_assemble(noted).unwrap();
    for (scope, expected) in [
        (None, 0),
        (Some(&agent), 1),
        (Some(&preset), 1),
        (Some(&Scope::new("other")), 0),
    ] {
        let assembly = assemble(&prompt, scope).unwrap();
        assert_eq!(
            (assembly.tools.len(), assembly.variables.len()),
            (expected, expected),
            "{scope:?}"
        );
    }
}

/// L73, L40: outermost first; what it returns is used as it is.
#[test]
fn the_outermost_listener_has_the_last_word() {
    let (fiber, prompt) = bare();
    let global = prompt.global(&fiber);
    global.section(Section::new("s", -1, "base")).unwrap();
    let mark = |mark: &'static str| {
        move |_, mut assembly: Assembly, next: dsh_prompt::AssembleNext| async move {
            assembly.sections[0].text.push_str(mark);
            let mut assembly = next.run(assembly).await?;
            assembly.sections[0].text.push_str(mark);
            Ok(assembly)
        }
    };
    global.on_assemble(mark("1")).unwrap();
    let second = global.on_assemble(mark("2")).unwrap();
    assert_eq!(render(&prompt, None), "base1221");
    assert_eq!(
        render(&prompt, None),
        "base1221",
        "nothing leaks into the next assembly (L74)"
    );
    second.dispose();
    let failing = global
        .on_assemble(|_, _, _| async { Err(PromptError::new("not now")) })
        .unwrap();
    refused(
        assemble(&prompt, None),
        codes::PROMPT_ASSEMBLY_FAILED,
        "not now",
    );
    failing.dispose();
    let panicking = |_, _, _| async { panic!("boom") };
    global.on_assemble(panicking).unwrap();
    refused(
        assemble(&prompt, None),
        codes::PROMPT_ASSEMBLY_FAILED,
        "a prompt listener panicked",
    );
}

/// L72.
#[test]
fn a_complete_section_is_the_whole_prompt() {
    let (fiber, prompt) = bare();
    let global = prompt.global(&fiber);
    global.section(Section::new("rest", -5, "rest")).unwrap();
    global
        .section(Section::new("all", 9, "all").complete())
        .unwrap();
    let emptied = |_, mut assembly: Assembly, next: dsh_prompt::AssembleNext| async move {
        assembly.sections.clear();
        next.run(assembly).await
    };
    global.on_assemble(emptied).unwrap();
    assert_eq!(render(&prompt, None), "all");
    global
        .section(Section::new("more", 1, "more").complete())
        .unwrap();
    refused(
        assemble(&prompt, None),
        codes::PROMPT_ASSEMBLY_FAILED,
        "\"more\" and \"all\" both claim",
    );
}

/// L68, L85 at a size where anything but a sort would be felt: same contributions, same bytes, in any order of registration.
#[test]
fn ten_thousand_sections_and_tools() {
    let rendered = |backwards: bool| {
        let (fiber, prompt) = bare();
        let schema = tool("t").schema().clone();
        let global = prompt.global(&fiber);
        for index in 0..10_000 {
            let place = if backwards { 9_999 - index } else { index };
            let name = format!("s{place}");
            let section = Section::new(name.as_str(), place, format!("{name} {{{{v}}}}"));
            global.section(section).unwrap();
        }
        global.variable("v", |_| Ok(Some("x".into()))).unwrap();
        let schemas = vec![schema; 10_000];
        let provider = move |_: &AssembleContext| {
            Ok(ToolContribution {
                schemas: schemas.clone(),
                known: None,
            })
        };
        global.tools(provider).unwrap();
        let assembly = assemble(&prompt, None).unwrap();
        block_on(fiber.dispose());
        assert_eq!(render(&prompt, None), "");
        (assembly.tools.len(), assembly.render().unwrap())
    };
    let (tools, text) = rendered(false);
    assert_eq!(tools, 10_000);
    assert!(text.starts_with("s0 x\n\ns1 x\n\n") && text.ends_with("\n\ns9999 x"));
    assert!(rendered(true).1 == text);
}

/// L66, L22, L24: changes are told, and everything ends with its lifetime.
#[test]
fn contributions_end_with_their_lifetime() {
    let (fiber, prompt) = bare();
    let plugin = fiber.child("plugin").unwrap();
    let changes = Arc::new(AtomicUsize::new(0));
    let counter = changes.clone();
    prompt
        .global(&fiber)
        .on_change(move || {
            counter.fetch_add(1, Ordering::AcqRel);
        })
        .unwrap();
    let receiver = prompt.global(&plugin);
    receiver.section(Section::new("s", 0, "text")).unwrap();
    receiver.variable("v", |_| Ok(None)).unwrap();
    receiver.tools(|_| Ok(ToolContribution::default())).unwrap();
    receiver
        .on_assemble(|_, _, _| async { Err(PromptError::new("still there")) })
        .unwrap();
    let before = changes.load(Ordering::Acquire);
    assert_eq!(before, 3);
    block_on(plugin.dispose());
    assert_eq!(changes.load(Ordering::Acquire), before + 3);
    let assembly = assemble(&prompt, None).unwrap();
    assert_eq!(
        (
            assembly.render().unwrap().as_str(),
            assembly.variables.len()
        ),
        ("", 0)
    );
    refused(
        receiver.section(Section::new("s", 0, "x")),
        codes::PROMPT_CONTRIBUTION_REFUSED,
        "inactive",
    );
    assert_eq!(
        render(&prompt, None),
        "",
        "a refused contribution leaves nothing behind"
    );
}

/// L76.
#[test]
fn an_assembly_can_be_checked() {
    let (fiber, prompt) = bare();
    prompt
        .global(&fiber)
        .section(Section::new("s", 0, "text"))
        .unwrap();
    let assembly = assemble(&prompt, None).unwrap();
    assembly.check().unwrap();
    let mut twice = assembly.clone();
    twice.sections.push(twice.sections[0].clone());
    refused(
        twice.check(),
        codes::PROMPT_ASSEMBLY_FAILED,
        "assembled twice",
    );
    let mut variable = assembly;
    variable.variables.insert("Bad".into(), None);
    refused(
        variable.check(),
        codes::PROMPT_ASSEMBLY_FAILED,
        "cannot be the name",
    );
}
