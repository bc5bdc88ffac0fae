//! `kill -9` during a burst of writes, fifty times on the same folder.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::Random;

const BURST: &str = env!("CARGO_BIN_EXE_store-burst");

/// Kills a burst after a number of acknowledgements and adds every one that it printed to `acks`.
fn burst(dir: &Path, acks: &mut File, after: usize) -> usize {
    let mut child = Command::new(BURST).arg(dir).stdout(Stdio::piped()).spawn().unwrap();
    let mut printed = BufReader::new(child.stdout.take().unwrap());
    let (mut line, mut count) = (String::new(), 0);
    while printed.read_line(&mut line).unwrap() > 0 {
        count += 1;
        if count == after {
            child.kill().unwrap();
        }
        acks.write_all(line.as_bytes()).unwrap();
        line.clear();
    }
    assert!(!child.wait().unwrap().success(), "the process must have been killed");
    assert!(count >= after, "the process ended by itself after {count}");
    count
}

#[test]
fn fifty_kills_lose_no_acknowledged_write() {
    let home = tempfile::tempdir().unwrap();
    let (dir, file) = (home.path().join("data"), home.path().join("acks"));
    let mut acks = File::create(&file).unwrap();
    let mut random = Random::new(50);
    let mut total = 0;
    for round in 0..50 {
        total += burst(&dir, &mut acks, 1 + random.below(120));
        let outcomes_so_far = Command::new(BURST).arg(&dir).arg("--check").arg(&file).output().unwrap();
        let printed = String::from_utf8_lossy(&outcomes_so_far.stdout);
        assert_eq!(printed.trim(), format!("checked {total} lost 0"), "round {round}: {outcomes_so_far:?}");
        assert!(outcomes_so_far.stderr.is_empty(), "round {round}: {outcomes_so_far:?}");
    }
    println!("50 kills, {total} acknowledged writes, 0 lost");
}

/// The checker must be able to find a loss.
#[test]
fn the_checker_detects_a_missing_write() {
    let home = tempfile::tempdir().unwrap();
    let (dir, file) = (home.path().join("data"), home.path().join("acks"));
    burst(&dir, &mut File::create(&file).unwrap(), 5);
    let mut acks = File::options().append(true).open(&file).unwrap();
    writeln!(acks, "{}.", 1_u64 << 39).unwrap();
    let outcomes_so_far = Command::new(BURST).arg(&dir).arg("--check").arg(&file).output().unwrap();
    assert_eq!(outcomes_so_far.status.code(), Some(2), "{outcomes_so_far:?}");
}
