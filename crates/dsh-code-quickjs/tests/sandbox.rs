//! The worker as the system sees it, and what becomes of it when its host dies (D18, C251).
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a broken test environment")]

mod support;

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use dsh_code::CodeRuntime as _;
use support::*;

fn status(process: u32, field: &str) -> String {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix(field))
        .unwrap();
    line.trim_start_matches(':').trim().to_owned()
}

#[tokio::test]
async fn a_worker_has_nothing_of_its_host() {
    let _turn = TURN.lock().await;
    // A descriptor that a careless host leaves open for its children.
    let _inherited = rustix::io::dup(fs::File::open("/dev/null").unwrap()).unwrap();
    let runtime = runtime();
    // The one that answered is hardened; take the one that is idle now.
    let layers = runtime.layers().await.unwrap();
    assert!(layers.iter().all(|layer| layer.active), "{layers:?}");
    eventually("an idle worker", || children().len() == 1).await;
    let worker = *children().keys().next().unwrap();
    eventually("seccomp", || status(worker, "Seccomp") == "2").await;
    assert_eq!(status(worker, "NoNewPrivs"), "1");
    assert_eq!(status(worker, "Threads"), "1");
    let descriptors = fs::read_dir(format!("/proc/{worker}/fd")).unwrap();
    let mut descriptors: Vec<_> = descriptors
        .map(|entry| entry.unwrap().file_name())
        .collect();
    descriptors.sort();
    assert_eq!(descriptors, ["0", "1", "2"]);
    assert_eq!(fs::read(format!("/proc/{worker}/environ")).unwrap(), b"");
    assert_eq!(
        fs::read_link(format!("/proc/{worker}/cwd"))
            .unwrap()
            .to_str(),
        Some("/")
    );
    let limits = fs::read_to_string(format!("/proc/{worker}/limits")).unwrap();
    for limit in [
        "Max core file size        0",
        "Max file size             0",
        "Max open files            3",
    ] {
        assert!(limits.contains(limit), "{limits}");
    }
    runtime.dispose().await;
}

const HOST: &str = "DSH_CODE_TEST_HOST";

/// Does nothing unless started by the test below.
#[tokio::test]
async fn host() {
    let Ok(program) = std::env::var(HOST) else {
        return;
    };
    let runtime = runtime();
    let mut request = request(&program);
    request.log_sink = Some(std::sync::Arc::new(|_: &str| {
        for worker in children().keys() {
            println!("worker {worker}");
        }
        println!("workers listed");
    }));
    let _ = runtime.run(request).await;
}

/// D18, invariant 13: whatever the program does, and without any help of the host.
#[test]
fn workers_die_with_their_host() {
    let _turn = TURN.blocking_lock();
    for program in [
        "console.log('up'); for (;;) {}",
        "console.log('up'); await tools.never({})",
        "console.log('up'); await new Promise(r => setTimeout(r, 60_000))",
        "console.log('up'); const a = new Array(1_000_000).fill('xy'); for (;;) a.join('-')",
    ] {
        let mut host = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "host", "--nocapture"])
            .env(HOST, program)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(host.stdout.take().unwrap())
            .lines()
            .map_while(Result::ok);
        let workers: Vec<u32> = lines
            .take_while(|line| line != "workers listed")
            .filter_map(|line| line.rsplit_once("worker ")?.1.parse().ok())
            .collect();
        assert!(!workers.is_empty(), "{program}");
        host.kill().unwrap();
        host.wait().unwrap();
        let start = Instant::now();
        let is_running = |worker: &u32| {
            // A zombie is dead: whoever adopted it may be slow to notice.
            fs::read_to_string(format!("/proc/{worker}/stat"))
                .is_ok_and(|stat| !stat.rsplit_once(')').unwrap().1.starts_with(" Z"))
        };
        while workers.iter().any(is_running) {
            assert!(start.elapsed() < Duration::from_secs(2), "{program}");
            std::thread::yield_now();
        }
    }
}
