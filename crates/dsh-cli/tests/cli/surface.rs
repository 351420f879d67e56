//! Commands, help, and what is a wrong command line.

use crate::fixture::{Place, check};

#[test]
fn help() {
    let place = Place::new();
    for command in [
        &[][..],
        &["call"],
        &["code"],
        &["tools"],
        &["schema"],
        &["schema", "check"],
        &["schema", "validate"],
        &["schema", "ts"],
        &["completions"],
        &["man"],
        &["doctor"],
    ] {
        let name = ["help"]
            .iter()
            .chain(command)
            .copied()
            .collect::<Vec<_>>()
            .join("-");
        let long: Vec<&str> = command.iter().copied().chain(["--help"]).collect();
        check(&place, &name, &[&long]);
        // Short and long help are one text, and so is the one that `help` prints.
        let run = place.run(&long);
        let short: Vec<&str> = command.iter().copied().chain(["-h"]).collect();
        assert_eq!(place.run(&short).stdout, run.stdout, "{name}");
        let word: Vec<&str> = ["help"].iter().chain(command).copied().collect();
        assert_eq!(place.run(&word).stdout, run.stdout, "{name}");
        // How this program starts its workers is nobody's business.
        assert!(!run.stdout.contains("worker"), "{name}");
    }
}

#[test]
fn usage_errors() {
    check(
        &Place::new(),
        "usage-errors",
        &[
            &[],
            &["cal"],
            &["--frob"],
            &["call"],
            &["call", "read", "--json", "--card"],
            &["tools", "--json", "--ts"],
            &["tools", "--py", "--markdown"],
            &["tools", "stray"],
            &["schema"],
            &["schema", "lint"],
            &["completions"],
            &["completions", "csh"],
            &["--color", "sometimes", "tools"],
            &["--log-format", "xml", "tools"],
            &["-C"],
        ],
    );
}

#[test]
fn a_workspace_that_is_none() {
    let place = Place::new();
    place.file("file.txt", "");
    check(
        &place,
        "workspace-that-is-none",
        &[
            &["-C", "missing", "call", "read", "file_path=x"],
            &["-C", "missing", "call", "read", "file_path=x", "--json"],
            &["-C", "file.txt", "tools"],
            &["-C", "missing", "doctor", "--json"],
            &["-C", "", "doctor"],
        ],
    );
}

#[test]
fn a_workspace_that_was_removed() {
    let place = Place::new();
    std::fs::create_dir(place.path("gone")).unwrap();
    // The shell is in the directory while it goes.
    let command = format!("rmdir ../gone; exec {} doctor", env!("CARGO_BIN_EXE_dsh"));
    let output = std::process::Command::new("/bin/sh")
        .args(["-c", &command])
        .current_dir(place.path("gone"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "error: cannot open workspace \".\": not found; name a directory that exists with -C\n"
    );
}

#[test]
fn tools() {
    check(
        &Place::new(),
        "tools",
        &[
            &["tools"],
            &["tools", "--json"],
            &["tools", "--ts"],
            &["tools", "--py"],
            &["--version"],
        ],
    );
}

/// What a model sees is a function of the tools alone: not of the place, the process or the log.
#[test]
fn what_a_model_sees_is_the_same_every_time() {
    for form in ["--json", "--ts", "--py", "--markdown"] {
        let first = Place::new().run(&["tools", form]);
        let place = Place::new();
        place.file("dsh.toml", "").file("other", "x");
        let second = place.run(&["-vvv", "tools", form]);
        assert_eq!(first.stdout, second.stdout, "{form}");
        assert_eq!(first.stderr, "", "{form}");
    }
}

/// Spec 3, T8: an empty PATH, or any other environment, changes nothing.
#[test]
fn the_catalogue_does_not_depend_on_the_environment() {
    let place = Place::new();
    let usual = place.run(&["tools", "--markdown"]);
    let bare = place
        .dsh(["tools", "--markdown"])
        .env_clear()
        .output()
        .unwrap();
    assert_eq!(usual.stdout, String::from_utf8(bare.stdout).unwrap());
    assert!(bare.status.success());
}

#[test]
fn doctor() {
    let place = Place::new();
    place
        .file("a", "")
        .file("dsh.toml", "")
        .file(".mcp.json", "");
    let mut plain = place.run(&["doctor"]);
    let mut json = place.run(&["doctor", "--json"]);
    let checks: Vec<serde_json::Value> = serde_json::from_str(&json.stdout).unwrap();
    let sandbox = checks.iter().find(|one| one["name"] == "sandbox").unwrap();
    let layers = sandbox["layers"].as_array().unwrap();
    // One by one in the document, in a sentence for people.
    let names: Vec<_> = layers.iter().map(|one| &one["name"]).collect();
    assert_eq!(
        names,
        [
            "descriptors",
            "no-new-privs",
            "landlock",
            "rlimits",
            "seccomp"
        ]
    );
    let found = sandbox["found"].as_str().unwrap();
    for layer in layers {
        assert_eq!(layer["active"], true, "{layer}");
        assert!(found.contains(layer["name"].as_str().unwrap()), "{found}");
    }
    // These differ from machine to machine.
    let version = env!("CARGO_PKG_VERSION");
    let platform = format!("{} on {}", std::env::consts::OS, std::env::consts::ARCH);
    let listed = json.stdout.split_once("\"layers\":").unwrap().1;
    let listed = listed.split_once(']').unwrap().0.to_owned() + "]";
    for run in [&mut plain, &mut json] {
        run.stdout = run
            .stdout
            .replace(&listed, "[layers]")
            .replace(found, "[sandbox]")
            .replace(version, "[version]")
            .replace(&platform, "[platform]")
            .replace("component by component, without openat2", "[resolution]")
            .replace(
                "openat2: the kernel keeps every path below the root",
                "[resolution]",
            );
    }
    let mut transcript = crate::fixture::Transcript::default();
    transcript.add(&plain);
    transcript.add(&json);
    transcript.check("doctor");
}
