//! Several processes at once, and processes that are killed: this test binary starts itself.

use super::*;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::Instant;
use toolhub::model::Source;
use toolhub::stats::{BreakerPolicy, CandidateStats, StatsKey};

const CALLS: u64 = 500;

fn key() -> StatsKey {
    StatsKey { tool: Arc::from("shared"), source: Source::Tools, server: None, variant: 1 }
}

fn calls(path: &Path) -> u64 {
    let store = open(path);
    let stats = Arc::new(CandidateStats::default());
    store.stats.track(key(), &stats);
    close(&store);
    stats.view(Instant::now()).calls
}

/// Runs in the other process; as a test of its own it does nothing.
#[test]
fn other_process() {
    let Ok(path) = std::env::var("TEST_STORE") else { return };
    let (store, notices) = Store::open(Path::new(&path), ROOM);
    let store = store.filter(|_| notices.is_empty()).unwrap_or_else(|| unreachable!("{notices:?}"));
    let stats = Arc::new(CandidateStats::default());
    store.stats.track(key(), &stats);
    let once = || stats.record(Ok(()), Duration::from_millis(1), Instant::now(), &BreakerPolicy::default());
    let say = |text: &str| {
        println!("\n{text}");
        let _ = std::io::stdout().flush();
    };
    let how = std::env::var("TEST_HOW").unwrap_or_default();
    if how == "dropped" {
        (0..CALLS).for_each(|_| once());
        drop(store);
        toolhub::store::close_all(PATIENCE);
        return;
    }
    if how == "closed" {
        for number in 0..CALLS {
            once();
            if number % 50 == 0 {
                assert!(store.flush(PATIENCE));
            }
        }
        close(&store);
        return;
    }
    // Writes until it is killed, and reports what is certainly in the file.
    for number in 1u64.. {
        once();
        store.keep(&format!("r_{number}"), "x".repeat(5_000));
        assert!(store.flush(PATIENCE));
        say(&format!("written {number}"));
    }
}

fn start(path: &Path, how: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "store::processes::other_process", "--nocapture", "--test-threads=1"])
        .env("TEST_STORE", path)
        .env("TEST_HOW", how)
        .stdout(Stdio::piped());
    command.spawn().unwrap()
}

#[test]
fn several_processes_lose_no_call() {
    let folder = Folder::new();
    // None of them finds a file, and all create it at once.
    let processes: Vec<Child> = (0..4).map(|_| start(&folder.file(), "closed")).collect();
    for process in processes {
        let done = process.wait_with_output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
    }
    assert_eq!(calls(&folder.file()), 4 * CALLS);
    assert_eq!(folder.names(), ["hub.db"]);
}

#[test]
fn a_dropped_store_writes_what_is_pending() {
    let folder = Folder::new();
    assert!(start(&folder.file(), "dropped").wait_with_output().unwrap().status.success());
    assert_eq!(calls(&folder.file()), CALLS);
}

#[test]
fn a_killed_process_loses_nothing_that_was_flushed() {
    let folder = Folder::new();
    let mut reported = 0;
    for round in 1..=5 {
        let mut process = start(&folder.file(), "killed");
        let lines = BufReader::new(process.stdout.take().unwrap()).lines().map_while(Result::ok);
        let last = lines
            .filter_map(|line| line.strip_prefix("written ")?.parse::<u64>().ok())
            .find(|written| *written >= 10 * round)
            .unwrap();
        // In the middle of writing, most of the time.
        process.kill().unwrap();
        process.wait().unwrap();
        reported += last;
        let kept = calls(&folder.file());
        assert!(kept >= reported, "round {round}: {kept} of at least {reported} calls");
        reported = kept;
        assert!(open(&folder.file()).result(&format!("r_{last}")).is_some());
    }
}
