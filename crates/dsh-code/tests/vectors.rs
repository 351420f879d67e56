//! The recorded scope scenarios that need Code Mode.
//!
//! The folder comes from `DSH_VECTORS`; without it, the copy beside the registry's own tests is read. Rows without a need for
//! Code Mode are run there.

#![allow(clippy::print_stdout, reason = "a test that reports what it did")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod rig;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dsh_context::Scope;
use dsh_prompt::{Assembly, PromptError};
use dsh_schema::Document;
use dsh_schema::spec::{self, ParameterSpec};
use dsh_testkit::{FakeRuntime, block_on};
use dsh_tools::{Call, Mode, Outcome, RUN_CODE, Restriction, Signal, Tool};
use rig::World;
use serde_json::{Value, json};

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or("")
}

fn mode(name: &str) -> Mode {
    serde_json::from_value(json!(if name.is_empty() { "native" } else { name })).unwrap()
}

struct Scenario {
    world: World,
    scopes: HashMap<String, Scope>,
    choices: Vec<Option<dsh_code::Registration>>,
}

impl Scenario {
    fn scope(&mut self, label: &str) -> Scope {
        self.scopes
            .entry(label.to_owned())
            .or_insert_with(|| Scope::new(label))
            .clone()
    }

    fn step(&mut self, step: &Value) -> Result<Value, String> {
        let name = text(step, "name").to_owned();
        let scope = step["scope"].as_str().map(|label| self.scope(label));
        let mut choice = None;
        let tools = self.world.tools.clone();
        let result = match text(step, "op") {
            "register" => {
                let place = format!("{name}@{}", step["scope"].as_str().unwrap_or("global"));
                let tool = Tool::new(name, place.as_str())
                    .parameters(ParameterSpec::new())
                    .returns(spec::string())
                    .run(move |_, _| std::future::ready(Ok(Document::string(place.as_str()))))
                    .unwrap();
                let registered = match &scope {
                    None => tools.global(&self.world.fiber).register(tool),
                    Some(scope) => tools.scoped(scope).register(tool),
                };
                registered.map_err(|error| error.to_string())?;
                json!("ok")
            }
            "restrict" => {
                let deny = step["filter"]["deny"]
                    .as_array()
                    .ok_or("only deny is known here")?;
                let names: Vec<_> = deny
                    .iter()
                    .map(|name| name.as_str().unwrap().to_owned())
                    .collect();
                let scope = scope.ok_or("a restriction is of a scope")?;
                tools
                    .scoped(&scope)
                    .restrict(Restriction::deny(names))
                    .map_err(|error| error.to_string())?;
                json!("ok")
            }
            "presentAs" => {
                let scope = scope.ok_or("a presentation is of a scope")?;
                let chosen = self.world.code.present_as(&scope, mode(text(step, "mode")));
                choice = Some(chosen.map_err(|error| error.to_string())?);
                json!("ok")
            }
            "bindParent" => {
                let (child, parent) = (
                    text(step, "child").to_owned(),
                    self.scope(text(step, "parent")),
                );
                self.scopes
                    .insert(child.clone(), Scope::new(child).child_of(&parent));
                json!("ok")
            }
            "dispose" => {
                let index = usize::try_from(step["step"].as_u64().unwrap()).unwrap();
                self.choices[index]
                    .as_ref()
                    .ok_or("nothing to dispose")?
                    .dispose();
                json!("ok")
            }
            "schemas" => {
                let describe = |schema: &dsh_tools::ToolSchema| {
                    // The description of the transport is ours to word; the recording leaves it out.
                    if schema.name() == RUN_CODE {
                        return json!({ "name": RUN_CODE });
                    }
                    json!({ "name": schema.name(), "description": schema.description() })
                };
                tools.schemas(scope.as_ref()).iter().map(describe).collect()
            }
            "execute" => {
                let mut call = Call::new("c1", name, "{}", Signal::never());
                call.agent = scope;
                if step["nested"] == true {
                    let outer = Call::new("outer", "nobody", "{}", Signal::never());
                    call.parent = Some(block_on(tools.execute(outer)).execution().token());
                }
                match block_on(tools.execute(call)).outcome() {
                    Outcome::Success(success) => json!({ "value": success.value.to_value() }),
                    Outcome::Failure(failure) => {
                        json!({ "error": serde_json::to_value(&failure.error).unwrap() })
                    }
                }
            }
            "assemble" => assembled(self.world.assemble(scope.as_ref())),
            op => return Err(format!("this test does not know {op:?}")),
        };
        self.choices.push(choice);
        Ok(result)
    }
}

/// The recording lists the sections that have text.
fn assembled(assembly: Result<Assembly, PromptError>) -> Value {
    let assembly = match assembly {
        Ok(assembly) => assembly,
        Err(error) => return json!({ "threw": error.to_string() }),
    };
    let filled = |name: &str| {
        assembly
            .section(name)
            .is_some_and(|section| !section.text.is_empty())
    };
    let sections: Vec<_> = assembly
        .sections
        .iter()
        .map(|section| &*section.name)
        .filter(|name| filled(name))
        .collect();
    let tools: Vec<_> = assembly.tools.iter().map(|tool| tool.name()).collect();
    let run_code = assembly
        .tools
        .iter()
        .find(|tool| tool.name() == RUN_CODE)
        .map(|tool| {
            let parameters = tool.parameters().to_value();
            let properties: Vec<_> = parameters["properties"]
                .as_object()
                .unwrap()
                .keys()
                .cloned()
                .collect();
            json!({ "required": parameters["required"], "properties": properties })
        });
    json!({
        "tools": tools, "sections": sections, "run_code_schema": run_code,
        "sdk_present": filled("tools:sdk"), "code_only_present": filled("tools:code-only"),
    })
}

/// Recorded failures carry the name of the recorded system's package and its remedy; what the rules pin of them is this.
fn pinned(want: &Value) -> Option<&str> {
    let message = want["threw"]["message"]
        .as_str()?
        .strip_prefix("dsh-tools: ")?;
    Some(
        message
            .split_once(" \u{2014} ")
            .map_or(message, |(pinned, _)| pinned),
    )
}

fn check(row: &Value) -> Result<(), String> {
    let config = &row["config"];
    let world = World::bare(mode(text(config, "mode")));
    if let Some(language) = config["runtime"].as_str() {
        world.mount(FakeRuntime::new(|_| async { Ok(None) }).speaking(language));
    }
    let changes = Arc::new(AtomicUsize::new(0));
    let counter = changes.clone();
    let count = move || {
        counter.fetch_add(1, Ordering::AcqRel);
    };
    world.tools.global(&world.fiber).on_change(count).unwrap();
    let mut scenario = Scenario {
        world,
        scopes: HashMap::new(),
        choices: Vec::new(),
    };
    let steps = row["steps"].as_array().unwrap().iter();
    for (index, (step, want)) in steps.zip(row["results"].as_array().unwrap()).enumerate() {
        let before = changes.load(Ordering::Acquire);
        let got = scenario
            .step(step)
            .map_err(|why| format!("step {index}: {why}"))?;
        let caused = changes.load(Ordering::Acquire) - before;
        if want["change_events"] != caused {
            return Err(format!(
                "step {index}: {caused} changes, want {}",
                want["change_events"]
            ));
        }
        let want = &want["result"];
        let same = match pinned(want) {
            Some(message) => text(&got, "threw").contains(message),
            None => got == *want,
        };
        if !same {
            return Err(format!("step {index}: got {got}, want {want}"));
        }
    }
    Ok(())
}

#[test]
fn scopes() {
    let folder = std::env::var_os("DSH_VECTORS").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../dsh-tools/tests/vectors"),
        PathBuf::from,
    );
    let rows = std::fs::read_to_string(folder.join("scopes.jsonl")).unwrap();
    let (mut passed, mut skipped, mut failures) = (0, 0, String::new());
    for line in rows.lines().filter(|line| !line.trim().is_empty()) {
        let row: Value = serde_json::from_str(line).unwrap();
        let needs_programs = row["needs"]
            .as_array()
            .is_some_and(|needs| needs.iter().any(|need| need == "code-mode"));
        if !needs_programs || row.get("overruled_by").is_some() {
            skipped += 1;
            continue;
        }
        match check(&row) {
            Ok(()) => passed += 1,
            Err(why) => writeln!(failures, "{}: {why}", row["id"]).unwrap(),
        }
    }
    println!(
        "scopes.jsonl: passed {passed}, skipped {skipped}, failed {}",
        failures.lines().count()
    );
    assert!(failures.is_empty(), "{failures}");
    assert!(passed > 0, "no row needs Code Mode");
}
