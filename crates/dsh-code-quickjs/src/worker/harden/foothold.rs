//! What code that took over the worker could still do: nothing.
//!
//! Each test starts this test binary again as a probe. The probe applies the sandbox, one layer or all of them, tries what
//! an intruder would, and prints what became of it.

#![expect(unsafe_code, reason = "an intruder makes raw system calls")]

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Command, Stdio};

use super::system;
use crate::start::Terms;
use dsh_code::Limits;

const PROBE: &str = "DSH_CODE_PROBE";
const SECRET: &str = "DSH_CODE_SECRET";

/// Does nothing unless started by one of the tests below.
#[test]
fn probe() {
    let Ok(spec) = std::env::var(PROBE) else {
        return;
    };
    let mut spec = spec.split(' ');
    let mut next = || spec.next().unwrap_or_default().to_owned();
    let (layer, port, socket, inherited) = (next(), next(), next(), next());
    let parent = std::os::unix::process::parent_id();
    match &*layer {
        "none" => {}
        "landlock" => drop(system::landlock().unwrap()),
        "seccomp" => {
            rustix::thread::set_no_new_privs(true).unwrap();
            drop(system::seccomp().unwrap());
        }
        _ => {
            let layers = super::apply(&Terms::of(&Limits::default()));
            for layer in layers {
                report(
                    &layer.name,
                    if layer.active {
                        Ok(())
                    } else {
                        Err(layer.detail)
                    },
                );
            }
        }
    }
    report("open", File::open("/etc/passwd"));
    report("create", File::create("/tmp/dsh-code-foothold"));
    report("list", fs::read_dir("/"));
    report("own-file", fs::read("/proc/self/status"));
    report("other-process", fs::read(format!("/proc/{parent}/status")));
    report(
        "other-environment",
        fs::read(format!("/proc/{parent}/environ")),
    );
    report("connect", TcpStream::connect(format!("127.0.0.1:{port}")));
    report("listen", TcpListener::bind("127.0.0.1:0"));
    report("connect-local", UnixStream::connect(&socket));
    report(
        "execute",
        Command::new("/bin/true").stdin(Stdio::null()).status(),
    );
    if layer == "all" || layer == "seccomp" {
        report("thread", std::thread::Builder::new().spawn(|| {}).map(drop));
        report(
            "signal",
            rustix::process::test_kill_process(
                rustix::process::Pid::from_raw(parent.try_into().unwrap()).unwrap(),
            ),
        );
        report("executable-memory", executable_memory());
        report("other-calls", other_calls());
    }
    if let Ok(number) = inherited.parse::<i32>() {
        // SAFETY: writes nothing, to a number that may or may not be a descriptor.
        let written = unsafe { libc::write(number, c"".as_ptr().cast(), 0) };
        report(
            "inherited",
            if written < 0 {
                Err(io::Error::last_os_error())
            } else {
                Ok(())
            },
        );
    }
}

/// One line, past the test harness, which catches what is printed.
fn report<T, E: std::fmt::Display>(name: &str, outcome: Result<T, E>) {
    let line = match outcome {
        Ok(_) => format!("probe {name}: succeeded\n"),
        Err(error) => format!("probe {name}: {error}\n"),
    };
    let _ = io::stdout().write_all(line.as_bytes());
}

fn executable_memory() -> io::Result<()> {
    // SAFETY: an anonymous mapping that nothing refers to.
    let mapped = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            4096,
            libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if mapped == libc::MAP_FAILED {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// Makes every call that is not allowed, and fails unless each is refused.
fn other_calls() -> Result<(), String> {
    let mut let_through = Vec::new();
    for number in 0..600 {
        // The kernel's own trampolines for probes on x86-64 pass every filter, and end a process that calls them itself.
        let is_trampoline = cfg!(target_arch = "x86_64") && matches!(number, 335 | 336);
        if is_trampoline
            || system::ALLOWED.contains(&number)
            || system::ALLOWED_DATA.contains(&number)
        {
            continue;
        }
        // SAFETY: the filter refuses these calls before the kernel looks at their arguments; were one let through, zeros
        // make it fail or, for the few that end or split the process, this probe fails with it.
        let result = unsafe { libc::syscall(number, 0, 0, 0, 0, 0, 0) };
        if result != -1 || io::Error::last_os_error().raw_os_error() != Some(libc::EPERM) {
            let_through.push(number);
        }
    }
    if let_through.is_empty() {
        return Err("all refused".to_owned());
    }
    report("let-through", Err::<(), _>(format!("{let_through:?}")));
    Ok(())
}

/// What a probe under a layer printed, by name.
fn outcomes(layer: &str) -> Vec<(String, String)> {
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    let _local = UnixListener::bind(&socket).unwrap();
    // A descriptor that a careless host leaves open for its children.
    let inherited = rustix::io::dup(File::open("/dev/null").unwrap()).unwrap();
    let spec = format!(
        "{layer} {} {} {}",
        tcp.local_addr().unwrap().port(),
        socket.display(),
        inherited.as_raw_fd()
    );
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "worker::harden::foothold::probe", "--nocapture"])
        .env(PROBE, spec)
        .env(SECRET, "hidden")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {text}{errors}", output.status);
    text.lines()
        .filter_map(|line| line.split_once("probe ")?.1.split_once(": "))
        .map(|(name, outcome)| (name.to_owned(), outcome.to_owned()))
        .collect()
}

const ATTEMPTS: [&str; 10] = [
    "open",
    "create",
    "list",
    "own-file",
    "other-process",
    "other-environment",
    "connect",
    "listen",
    "connect-local",
    "execute",
];

#[track_caller]
fn refused(outcomes: &[(String, String)], names: &[&str]) {
    for name in names {
        let outcome = outcomes.iter().find(|(known, _)| known == name);
        let outcome = &outcome
            .unwrap_or_else(|| panic!("{name} was not tried: {outcomes:?}"))
            .1;
        assert_ne!(outcome, "succeeded", "{name}");
    }
}

/// The attempts are real: without a sandbox they succeed.
#[test]
fn without_a_sandbox_an_intruder_gets_everything() {
    let outcomes = outcomes("none");
    for name in ATTEMPTS
        .into_iter()
        .chain(["inherited"])
        .filter(|name| *name != "other-environment")
    {
        let outcome = outcomes.iter().find(|(known, _)| known == name);
        // Writing to what was opened for reading fails with another error than a closed descriptor's.
        let expected = if name == "inherited" {
            "Bad file descriptor (os error 9)"
        } else {
            "succeeded"
        };
        assert_eq!(
            outcome.map(|(_, outcome)| &**outcome),
            Some(expected),
            "{name}"
        );
    }
}

#[test]
fn landlock_alone_keeps_files_network_and_programs_out_of_reach() {
    let tried: Vec<&str> = ATTEMPTS
        .into_iter()
        .filter(|name| *name != "connect-local")
        .collect();
    refused(&outcomes("landlock"), &tried);
}

#[test]
fn seccomp_alone_does_so_too() {
    let outcomes = outcomes("seccomp");
    refused(&outcomes, &ATTEMPTS);
    refused(
        &outcomes,
        &["thread", "signal", "executable-memory", "other-calls"],
    );
}

#[test]
fn the_whole_sandbox_holds() {
    let outcomes = outcomes("all");
    refused(&outcomes, &ATTEMPTS);
    refused(
        &outcomes,
        &[
            "thread",
            "signal",
            "executable-memory",
            "other-calls",
            "inherited",
        ],
    );
    for layer in [
        "descriptors",
        "no-new-privs",
        "landlock",
        "rlimits",
        "seccomp",
    ] {
        let reported = outcomes.iter().find(|(name, _)| name == layer);
        assert_eq!(
            reported.map(|(_, outcome)| &**outcome),
            Some("succeeded"),
            "{layer}"
        );
    }
}
