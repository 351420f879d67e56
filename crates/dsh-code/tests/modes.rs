//! Presentation modes and the prompt (chapters 1 and 2 of the Code Mode specification).

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod rig;

use dsh_code::CodeConfig;
use dsh_context::Scope;
use dsh_prompt::{Assembly, PromptConfig, Section, ToolOrder};
use dsh_testkit::{FakeRuntime, MockTool, Trace, block_on};
use dsh_tools::{Call, Mode, RUN_CODE, Restriction, Signal};
use rig::World;

fn idle() -> FakeRuntime {
    FakeRuntime::new(|_| async { Ok(None) })
}

/// A deployment with tools `a`, `b`, `c`.
fn world(mode: Mode) -> World {
    ordered(mode, None)
}

fn ordered(mode: Mode, tool_order: Option<&[&str]>) -> World {
    let tool_order = tool_order.map(|order| ToolOrder::new(order.iter().copied()).unwrap());
    let world = World::with(
        mode,
        CodeConfig::default(),
        PromptConfig {
            tool_order,
            ..PromptConfig::default()
        },
    );
    world.mount(idle());
    for name in ["a", "b", "c"] {
        world.tool(MockTool::new(name));
    }
    world
}

fn tools(assembly: &Assembly) -> Vec<&str> {
    assembly.tools.iter().map(|tool| tool.name()).collect()
}

fn sections(assembly: &Assembly) -> Vec<&str> {
    assembly
        .sections
        .iter()
        .map(|section| &*section.name)
        .filter(|name| name.starts_with("tools:"))
        .collect()
}

fn text<'a>(assembly: &'a Assembly, name: &str) -> &'a str {
    &assembly.section(name).unwrap().text
}

/// C2, C5, C41.
#[test]
fn native_has_no_trace_of_programs() {
    let world = world(Mode::Native);
    let assembly = world.assemble(None).unwrap();
    assert_eq!(tools(&assembly), ["a", "b", "c"]);
    assert!(sections(&assembly).is_empty());
    assert!(world.tools.get(RUN_CODE, None).is_none());
}

/// C6, C10, C40, C43, C44.
#[test]
fn code_announces_one_tool_and_two_sections() {
    let world = world(Mode::Code);
    world
        .prompt
        .global(&world.fiber)
        .section(Section::new("guide:a", 120, "About a."))
        .unwrap();
    let assembly = world.assemble(None).unwrap();
    assert_eq!(tools(&assembly), ["run_code"]);
    let schemas: Vec<_> = world
        .tools
        .schemas(None)
        .iter()
        .map(|schema| schema.name().to_owned())
        .collect();
    assert_eq!(
        schemas,
        ["a", "b", "c", "run_code"],
        "the catalogue is not collapsed"
    );
    let order: Vec<_> = assembly
        .sections
        .iter()
        .map(|section| (&*section.name, section.order))
        .collect();
    assert_eq!(
        order[2..],
        [
            ("tools:code-only", 99),
            ("guide:a", 120),
            ("tools:sdk", 150)
        ],
        "guidance stays (C51)"
    );
    assert!(
        text(&assembly, "tools:code-only")
            .contains("`run_code` is the only tool you can call directly")
    );
    let prompt = assembly.render().unwrap();
    assert!(prompt.find("only tool you can call").unwrap() < prompt.find("About a.").unwrap());
    assert!(prompt.find("About a.").unwrap() < prompt.find("```ts\n").unwrap());
}

/// C7, C43.
#[test]
fn both_announces_everything() {
    let world = world(Mode::Both);
    let assembly = world.assemble(None).unwrap();
    assert_eq!(tools(&assembly), ["a", "b", "c", "run_code"]);
    assert_eq!(text(&assembly, "tools:code-only"), "", "it would be false");
    assert!(text(&assembly, "tools:sdk").contains("interface ToolArgsMap"));
}

/// C8, C9.
#[test]
fn an_order_names_what_the_mode_announces() {
    let of = |mode, order: &[&str]| {
        let world = ordered(mode, Some(order));
        world
            .assemble(None)
            .map(|assembly| tools(&assembly).join(" "))
            .map_err(|error| error.to_string())
    };
    assert_eq!(
        of(Mode::Both, &["run_code", "<unlisted-tools>", "a"]),
        Ok("run_code b c a".into())
    );
    assert_eq!(
        of(Mode::Code, &["run_code", "<unlisted-tools>"]),
        Ok("run_code".into())
    );
    let refused = of(Mode::Code, &["a", "<unlisted-tools>"]).unwrap_err();
    assert!(
        refused.contains("toolOrder lists unregistered tool \"a\""),
        "{refused}"
    );
    let refused = of(Mode::Native, &["run_code", "<unlisted-tools>"]).unwrap_err();
    assert!(
        refused.contains("toolOrder lists unregistered tool \"run_code\""),
        "{refused}"
    );
}

/// C11, C14, C15, C16, C18.
#[test]
fn a_scope_chooses_for_itself_and_those_nested_in_it() {
    let world = world(Mode::Native);
    let preset = Scope::new("preset");
    let (child, other) = (Scope::new("child").child_of(&preset), Scope::new("other"));
    let changes = Trace::new();
    let noted = changes.clone();
    world
        .tools
        .global(&world.fiber)
        .on_change(move || noted.note("change"))
        .unwrap();
    let choice = world.code.present_as(&preset, Mode::Code).unwrap();
    for scope in [&preset, &child] {
        let assembly = world.assemble(Some(scope)).unwrap();
        assert_eq!(
            (tools(&assembly), sections(&assembly)),
            (vec!["run_code"], vec!["tools:code-only", "tools:sdk"])
        );
        let direct = Call::new("c1", "a", "{}", Signal::never()).agent(scope);
        assert_eq!(
            block_on(world.tools.execute(direct)).code(),
            Some("UNKNOWN_TOOL"),
            "C24"
        );
    }
    for scope in [None, Some(&other)] {
        let assembly = world.assemble(scope).unwrap();
        assert_eq!(
            (tools(&assembly), sections(&assembly)),
            (vec!["a", "b", "c"], vec![])
        );
        assert!(world.tools.get(RUN_CODE, scope).is_none(), "C18");
    }
    choice.dispose();
    assert_eq!(changes.take(), ["change", "change"]);
    let assembly = world.assemble(Some(&child)).unwrap();
    assert_eq!(
        (tools(&assembly), sections(&assembly)),
        (vec!["a", "b", "c"], vec![])
    );
}

/// C13, C14.
#[test]
fn a_scope_chooses_once() {
    let world = world(Mode::Native);
    let choice = world.code.present_as(&world.agent, Mode::Both).unwrap();
    for mode in [Mode::Both, Mode::Code, Mode::Native] {
        let refused = world.code.present_as(&world.agent, mode).unwrap_err();
        assert_eq!(refused.code(), "MODE_CONFLICT");
        assert!(
            refused
                .to_string()
                .contains("conflicts with \"both\" already declared"),
            "{refused}"
        );
    }
    choice.dispose();
    world.code.present_as(&world.agent, Mode::Code).unwrap();
    block_on(world.agent.dispose());
    assert!(world.code.present_as(&world.agent, Mode::Code).is_err());
}

/// C17, C45.
#[test]
fn a_native_agent_of_a_code_deployment() {
    let world = world(Mode::Code);
    world.code.present_as(&world.agent, Mode::Native).unwrap();
    let assembly = world.assemble(Some(&world.agent)).unwrap();
    assert_eq!(tools(&assembly), ["a", "b", "c"]);
    assert_eq!(
        sections(&assembly),
        ["tools:code-only", "tools:sdk"],
        "there, and empty"
    );
    assert_eq!(
        (
            text(&assembly, "tools:sdk"),
            text(&assembly, "tools:code-only")
        ),
        ("", "")
    );
    let direct = Call::new("c1", "a", "{}", Signal::never()).agent(&world.agent);
    assert!(!block_on(world.tools.execute(direct)).is_error());
}

/// C19.
#[test]
fn a_configured_presentation_waits_for_the_runtime() {
    let world = World::bare(Mode::Native);
    world.tool(MockTool::new("a"));
    let choice = world
        .code
        .present_when_ready(&world.agent, Mode::Code)
        .unwrap();
    let mode = || world.tools.mode(Some(&world.agent));
    assert_eq!(mode(), Mode::Native);
    let runtime = world.mount(idle());
    assert_eq!(mode(), Mode::Code);
    assert_eq!(
        sections(&world.assemble(Some(&world.agent)).unwrap()),
        ["tools:code-only", "tools:sdk"]
    );
    runtime.dispose();
    assert_eq!(mode(), Mode::Native);
    world.mount(idle());
    assert_eq!(mode(), Mode::Code);
    choice.dispose();
    assert_eq!(mode(), Mode::Native);
    let other = Scope::new("other");
    world.code.present_when_ready(&other, Mode::Native).unwrap();
    assert!(
        world.code.present_as(&other, Mode::Code).is_err(),
        "native is declared at once"
    );
}

/// C19: what listens to the change may change it again; nothing is held meanwhile.
#[test]
fn a_runtime_may_go_while_its_coming_is_told() {
    let world = World::bare(Mode::Native);
    let choice = world
        .code
        .present_when_ready(&world.agent, Mode::Code)
        .unwrap();
    let plugin = world.fiber.child("runtime").unwrap();
    let (tools, agent, doomed) = (world.tools.clone(), world.agent.clone(), plugin.clone());
    let hasty = world
        .tools
        .global(&world.fiber)
        .on_change(move || {
            if tools.mode(Some(&agent)) == Mode::Code && doomed.is_active() {
                block_on(doomed.dispose());
            }
        })
        .unwrap();
    let mode = || world.tools.mode(Some(&world.agent));
    let _went = world
        .code
        .mount_runtime(&plugin, std::sync::Arc::new(idle()));
    assert_eq!(
        (mode(), world.code.runtime().is_none()),
        (Mode::Native, true)
    );
    hasty.dispose();
    world.mount(idle());
    assert_eq!(mode(), Mode::Code, "it goes on following");
    block_on(world.agent.dispose());
    assert!(!choice.is_live());
    assert_eq!(mode(), Mode::Native);
}

/// C36: what runs is what is mounted then, not what the prompt was made for.
#[test]
fn a_program_runs_on_what_is_mounted_then() {
    let world = World::bare(Mode::Code);
    let (first, second) = (idle(), idle());
    let mounted = world.mount(first.clone());
    world.assemble(None).unwrap();
    mounted.dispose();
    world.mount(second.clone());
    world.run();
    assert_eq!((first.requests().len(), second.requests().len()), (0, 1));
}

/// C22, C46.
#[test]
fn a_restriction_shrinks_declarations_and_never_hides_the_transport() {
    let world = world(Mode::Code);
    let restriction = world
        .tools
        .scoped(&world.agent)
        .restrict(Restriction::allow(["b"]))
        .unwrap();
    let assembly = world.assemble(Some(&world.agent)).unwrap();
    assert_eq!(tools(&assembly), ["run_code"]);
    let sdk = text(&assembly, "tools:sdk");
    assert!(
        sdk.contains("  b: ") && !sdk.contains("  a: ") && !sdk.contains("run_code:"),
        "{sdk}"
    );
    restriction.dispose();
    assert!(text(&world.assemble(Some(&world.agent)).unwrap(), "tools:sdk").contains("  a: "));
}

/// C33.
#[test]
fn a_mode_with_programs_needs_a_runtime() {
    for mode in [Mode::Code, Mode::Both] {
        let world = World::bare(mode);
        let refused = world.assemble(None).unwrap_err().to_string();
        assert!(
            refused.contains(&format!("mode \"{mode}\" requires a code runtime")),
            "{refused}"
        );
        assert!(refused.contains("native"), "and says what to do");
    }
    let world = World::bare(Mode::Native);
    world.assemble(None).unwrap();
    world.code.present_as(&world.agent, Mode::Both).unwrap();
    let refused = world.assemble(Some(&world.agent)).unwrap_err().to_string();
    assert!(
        refused.contains("mode \"both\" requires a code runtime"),
        "{refused}"
    );
    world.assemble(None).unwrap();
}

/// C35.
#[test]
fn an_unknown_language_fails_the_assembly() {
    for language in ["ruby", "constructor", "toString"] {
        let world = World::bare(Mode::Code);
        world.mount(idle().speaking(language));
        assert_eq!(
            world.assemble(None).unwrap_err().to_string(),
            format!(
                "no SDK renderer registered for runtime language \"{language}\" (known: \"typescript\", \"python\")"
            )
        );
    }
}

/// C37.
#[test]
fn a_listener_may_take_the_pair_away() {
    let world = world(Mode::Code);
    let strip = |_, mut assembly: Assembly, next: dsh_prompt::AssembleNext| async move {
        assembly.tools.clear();
        assembly
            .sections
            .retain(|section| &*section.name != "tools:sdk");
        next.run(assembly).await
    };
    world
        .prompt
        .global(&world.fiber)
        .on_assemble(strip)
        .unwrap();
    let assembly = world.assemble(None).unwrap();
    assert!(tools(&assembly).is_empty() && assembly.section("tools:sdk").is_none());
}

/// C38.
#[test]
fn a_scope_may_bring_a_section_of_its_own() {
    let world = world(Mode::Code);
    world
        .prompt
        .scoped(&world.agent)
        .section(Section::new("tools:sdk", 150, "mine"))
        .unwrap();
    assert_eq!(
        text(&world.assemble(Some(&world.agent)).unwrap(), "tools:sdk"),
        "mine"
    );
    assert!(text(&world.assemble(None).unwrap(), "tools:sdk").contains("```ts"));
}

/// C39.
#[test]
fn everything_goes_with_its_lifetime() {
    let world = world(Mode::Code);
    block_on(world.fiber.dispose());
    let assembly = world.assemble(None).unwrap();
    assert!(tools(&assembly).is_empty() && sections(&assembly).is_empty());
    assert!(world.tools.get(RUN_CODE, None).is_none());
}

/// C42, C47–C49.
#[test]
fn the_declarations_are_a_function_of_the_visible_set() {
    let of = |names: &[&str]| {
        let world = World::bare(Mode::Code);
        world.mount(idle());
        for name in names {
            world.tool(MockTool::new(*name));
        }
        let assembly = world.assemble(None).unwrap();
        assert_eq!(assembly, world.assemble(None).unwrap());
        text(&assembly, "tools:sdk").to_owned()
    };
    let text = of(&["b", "a", "c-d"]);
    assert_eq!(text, of(&["c-d", "b", "a"]));
    assert_ne!(text, of(&["a", "b"]), "nothing is kept over a change");
    let (instructions, fenced) = text.split_once("\n\n```ts\n").unwrap();
    assert!(instructions.starts_with("# "));
    assert!(fenced.starts_with("type JsonValue = null | boolean | number | string"));
    assert!(fenced.ends_with("\n```") && fenced.contains("  \"c-d\": "));
}

/// C52: a description cannot break the rendering, nor leave the fence.
#[test]
fn a_description_breaks_nothing() {
    let world = World::bare(Mode::Code);
    world.mount(idle());
    let tool = dsh_tools::Tool::new("x", "Replaces {{x}} and {{ y }} in ``` fences ```.")
        .parameters(dsh_schema::spec::ParameterSpec::new())
        .returns(dsh_schema::spec::null())
        .run(|_, _| async { Ok(dsh_schema::Document::null()) })
        .unwrap();
    world.register(tool);
    let prompt = world.assemble(None).unwrap().render().unwrap();
    assert!(prompt.contains("{{x}} and {{ y }}"));
    assert!(prompt.contains("\n````ts\n") && prompt.ends_with("\n````"));
}

/// A set-up that fails half-way leaves nothing behind.
#[test]
fn a_refused_set_up_is_taken_back() {
    let world = world(Mode::Native);
    let own = world
        .prompt
        .scoped(&world.agent)
        .section(Section::new("tools:sdk", 150, "mine"))
        .unwrap();
    let refused = world.code.present_as(&world.agent, Mode::Code).unwrap_err();
    assert_eq!(refused.code(), "PROMPT_CONTRIBUTION_REFUSED");
    assert_eq!(world.tools.mode(Some(&world.agent)), Mode::Native);
    own.dispose();
    world.code.present_as(&world.agent, Mode::Code).unwrap();
    assert_eq!(
        sections(&world.assemble(Some(&world.agent)).unwrap()),
        ["tools:code-only", "tools:sdk"]
    );

    let (tools, prompt) = (
        dsh_tools::Tools::new(dsh_tools::ToolsConfig {
            mode: Mode::Code,
            ..Default::default()
        }),
        dsh_prompt::Prompt::new(PromptConfig::default()),
    );
    prompt
        .global(&world.fiber)
        .section(Section::new("tools:sdk", 150, "mine"))
        .unwrap();
    assert!(
        dsh_code::CodeMode::mount(&world.fiber, &tools, &prompt, CodeConfig::default()).is_err()
    );
    assert!(tools.get(RUN_CODE, None).is_none());
}
