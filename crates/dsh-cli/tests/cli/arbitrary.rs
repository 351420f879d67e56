//! Whatever the words and the input are, the process ends in one of three ways and never by a panic.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::process::Stdio;

use crate::fixture::Place;

const RUNS: u64 = 250;

const WORDS: &[&[u8]] = &[
    b"call",
    b"tools",
    b"schema",
    b"check",
    b"validate",
    b"ts",
    b"doctor",
    b"man",
    b"completions",
    b"bash",
    b"help",
    b"read",
    b"reed",
    b"-",
    b"--",
    b"--json",
    b"--card",
    b"--ts",
    b"--markdown",
    b"-v",
    b"-vvvv",
    b"-C",
    b".",
    b"nowhere",
    b"--color",
    b"always",
    b"--color=never",
    b"--log-format",
    b"json",
    b"-h",
    b"-V",
    b"",
    b" ",
    b"=",
    b"a=",
    b"=b",
    b"file_path=a.txt",
    b"file_path=",
    b"file_path=/",
    b"file_path=..",
    b"file_path=pipe",
    b"offset=1",
    b"offset=-1",
    b"offset=1e308",
    b"limit=0",
    b"limit=99999999999999999999",
    b"{}",
    b"{\"file_path\":\"a.txt\"}",
    b"{\"file_path\":{}}",
    b"[",
    b"]",
    b"\"",
    b"null",
    b"-0",
    b"-1",
    b"1e999",
    b"{\"a\":1,\"a\":2}",
    b"\xff",
    b"file_path=\xff",
    b"\x1b[31m",
    b"\n",
    "é=\u{202e}".as_bytes(),
    "file_path=\u{0}".as_bytes(),
];

const INPUTS: &[&[u8]] = &[
    b"",
    b"{}",
    b"{\"file_path\":\"a.txt\"}",
    b"\xff\xfe",
    b"\0\0\0",
    b"[[[[[[",
    b"{\"id\":1,\"schema\":{}}\n",
    b"{\"id\":1,\"schema\":{\"type\":\"string\"},\"value\":1}\r\n",
    b"{\"id\":1,\"schema\":{\"$ref\":\"#\"},\"value\":1}\n",
    b"{\"id\":1,\"schema\":{\"pattern\":\"(a+)+$\"},\"value\":\"aaaaaaaaaaaaaaaaaaaa!\"}\n",
    b"\n\n\n",
    b"\"",
    b"-0\n",
    b"1e400\n",
];

/// Small and the same on every machine.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound as u64).unwrap()
    }

    fn word(&mut self) -> OsString {
        if self.below(8) == 0 {
            // No word of a command line has a NUL.
            let noise: Vec<u8> = (0..self.below(12))
                .map(|_| u8::try_from(1 + self.below(255)).unwrap())
                .collect();
            return OsStr::from_bytes(&noise).to_owned();
        }
        let word: Vec<u8> = WORDS[self.below(WORDS.len())]
            .iter()
            .copied()
            .filter(|&byte| byte != 0)
            .collect();
        OsStr::from_bytes(&word).to_owned()
    }

    fn input(&mut self) -> Vec<u8> {
        let mut input = Vec::new();
        for _ in 0..self.below(4) {
            input.extend_from_slice(INPUTS[self.below(INPUTS.len())]);
        }
        if !input.is_empty() && self.below(2) == 0 {
            let at = self.below(input.len());
            input[at] = u8::try_from(self.below(256)).unwrap();
        }
        input
    }
}

#[test]
fn any_command_line_ends_well() {
    let place = Place::new();
    place.file("a.txt", "one\n");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        place.path("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    let mut dice = Dice(0x005e_ed0f_d5e1);
    for _ in 0..RUNS {
        // Half of the runs get as far as a command.
        let command: &[&str] = [
            &["call", "read"][..],
            &["call"],
            &["schema", "validate"],
            &[],
            &[],
            &[],
        ][dice.below(6)];
        let mut words: Vec<OsString> = command.iter().map(OsString::from).collect();
        for _ in 0..dice.below(6) {
            words.push(dice.word());
        }
        let input = dice.input();
        let mut child = place.dsh(&words).stdin(Stdio::piped()).spawn().unwrap();
        // It may well end without having read anything.
        drop(child.stdin.take().unwrap().write_all(&input));
        let shown: Vec<String> = words
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        let shown: Vec<&str> = shown.iter().map(String::as_str).collect();
        let run = place.finish(&shown, child);
        assert!(
            ["0", "1", "2"].contains(&run.status.as_str()),
            "{input:?}: {run}"
        );
    }
}
