//! The guide for programs: each listing is run, and each expectation behind it is compared.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Stdio;

use crate::fixture::Place;

struct Fence {
    line: usize,
    language: String,
    text: String,
}

fn fences(text: &str) -> Vec<Fence> {
    let mut found: Vec<Fence> = Vec::new();
    let mut is_open = false;
    for (number, line) in text.lines().enumerate() {
        match line.strip_prefix("```") {
            Some(language) if !is_open => {
                is_open = true;
                found.push(Fence {
                    line: number + 1,
                    language: language.to_owned(),
                    text: String::new(),
                });
            }
            Some(_) => is_open = false,
            None if is_open => writeln!(found.last_mut().unwrap().text, "{line}").unwrap(),
            None => {}
        }
    }
    assert!(!is_open, "a fence is not closed");
    found
}

/// The files that the guide speaks of.
fn place() -> Place {
    let place = Place::new();
    std::fs::create_dir(place.path("src")).unwrap();
    place
        .file(
            "src/main.rs",
            "fn main() {\n    // TODO: say more\n    println!(\"hello\");\n}\n",
        )
        .file(
            "src/lib.rs",
            "pub fn one() {}\n\npub fn two() {} // TODO: three\n",
        )
        .file("notes.md", "# Notes\n");
    place
}

/// A `ts` fence is a program, and the `text` fence behind it is what comes of it: stdout, then stderr. A `console` fence
/// shows command lines with what they print.
#[test]
fn the_listings_do_what_the_guide_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guides/write-a-program.md");
    let text = std::fs::read_to_string(path).unwrap();
    let place = place();
    let fences = fences(&text);
    let mut listings = 0;
    let mut wrong = String::new();
    let mut rest = fences.iter().peekable();
    while let Some(fence) = rest.next() {
        let (expected, printed) = match fence.language.as_str() {
            "ts" => {
                let expected = rest.next_if(|next| next.language == "text");
                let expected =
                    expected.unwrap_or_else(|| panic!("line {}: what comes of it?", fence.line));
                let run = place.run_with(&["code", "-"], fence.text.as_bytes());
                (expected.text.clone(), run.stdout + &run.stderr)
            }
            "console" => (fence.text.clone(), console(&place, &fence.text)),
            other => panic!("line {}: nobody checks a `{other}` fence", fence.line),
        };
        listings += 1;
        if timeless(&expected) != timeless(&printed) {
            write!(wrong, "line {}: it prints\n{printed}\n", fence.line).unwrap();
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
    assert!(listings >= 10, "{listings}");
}

/// How far beyond its budget a program was noticed depends on the machine.
fn timeless(text: &str) -> String {
    let mut written = String::new();
    for part in text.split_inclusive("ms busy)") {
        match part.strip_suffix("ms busy)") {
            Some(before) => {
                let before = before.trim_end_matches(|c: char| c.is_ascii_digit());
                write!(written, "{before}[time]").unwrap();
            }
            None => written += part,
        }
    }
    written
}

/// Runs the command lines of a transcript, and writes it anew.
fn console(place: &Place, transcript: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_dsh"));
    let mut written = String::new();
    for line in transcript.lines() {
        let Some(command) = line.strip_prefix("$ ") else {
            continue;
        };
        let output = std::process::Command::new("/bin/sh")
            .args(["-c", &format!("{command} 2>&1")])
            .current_dir(place.path(""))
            .env(
                "PATH",
                format!("{}:/usr/bin:/bin", program.parent().unwrap().display()),
            )
            .env_remove("RUST_LOG")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        writeln!(written, "{line}").unwrap();
        written += &String::from_utf8(output.stdout).unwrap();
    }
    written
}
