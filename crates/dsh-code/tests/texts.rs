//! What a model reads of Code Mode, byte for byte. A change of these texts is a change of every prompt, so it is to be seen in
//! review (C40, C43, C47, C53, C73, C94, C98, C99).

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod rig;

use dsh_schema::Document;
use dsh_schema::spec::{self, ParameterSpec};
use dsh_testkit::FakeRuntime;
use dsh_tools::{Mode, RUN_CODE, Tool};
use rig::World;

fn world(language: &str) -> World {
    let world = World::bare(Mode::Code);
    world.mount(FakeRuntime::new(|_| async { Ok(None) }).speaking(language));
    let count = Tool::new("count-lines", "Count lines\n  in a file.")
        .parameters(
            ParameterSpec::new()
                .required("file", spec::string().description("File to read"))
                .optional("unit", spec::string()),
        )
        .returns(spec::object().closed().required("lines", spec::integer()))
        .run(|_, _| async { Ok(Document::null()) })
        .unwrap();
    world.register(count);
    let beep = Tool::new("beep", "Make a sound, {{loudly}}.")
        .parameters(ParameterSpec::new())
        .returns(spec::null())
        .run(|_, _| async { Ok(Document::null()) })
        .unwrap();
    world.register(beep);
    world
}

/// The system prompt as a whole.
#[test]
fn the_prompt() {
    for language in ["typescript", "python"] {
        let prompt = world(language).assemble(None).unwrap().render().unwrap();
        insta::assert_snapshot!(format!("prompt-{language}"), prompt);
    }
}

/// The one tool that is announced.
#[test]
fn the_tool() {
    for language in ["typescript", "python"] {
        let world = world(language);
        let assembly = world.assemble(None).unwrap();
        let [tool] = &assembly.tools[..] else {
            panic!("one tool")
        };
        assert_eq!(tool.name(), RUN_CODE);
        let text = format!(
            "{}\n\n{}",
            tool.description(),
            serde_json::to_string_pretty(&tool.parameters().to_value()).unwrap()
        );
        insta::assert_snapshot!(format!("tool-{language}"), text);
    }
}

/// What is said when there is no runtime, or one in a language that nobody knows (C33–C35).
#[test]
fn what_is_missing() {
    let bare = World::bare(Mode::Code);
    let message = "mode \"code\" requires a code runtime: mount one, or choose mode \"native\"";
    assert_eq!(bare.assemble(None).unwrap_err().to_string(), message);
    assert_eq!(rig::text(&bare.run()), format!("Error: {message}"));
}
