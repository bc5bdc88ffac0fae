//! `kill -9` in the middle of a burst of writes, fifty times on the same folder.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::Random;

const BURST: &str = env!("CARGO_BIN_EXE_store-burst");

/// Kills a burst after so many acknowledgements and adds every one that it printed to `acks`.
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
    assert!(!child.wait().unwrap().success(), "it was to be killed");
    assert!(count >= after, "it ended by itself after {count}");
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
        let judged = Command::new(BURST).arg(&dir).arg("--check").arg(&file).output().unwrap();
        let told = String::from_utf8_lossy(&judged.stdout);
        assert_eq!(told.trim(), format!("checked {total} lost 0"), "round {round}: {judged:?}");
        assert!(judged.stderr.is_empty(), "round {round}: {judged:?}");
    }
    println!("50 kills, {total} acknowledged writes, 0 lost");
}

/// The judge must be able to find a loss.
#[test]
fn the_judge_sees_a_write_that_is_not_there() {
    let home = tempfile::tempdir().unwrap();
    let (dir, file) = (home.path().join("data"), home.path().join("acks"));
    burst(&dir, &mut File::create(&file).unwrap(), 5);
    let mut acks = File::options().append(true).open(&file).unwrap();
    writeln!(acks, "{}.", 1_u64 << 39).unwrap();
    let judged = Command::new(BURST).arg(&dir).arg("--check").arg(&file).output().unwrap();
    assert_eq!(judged.status.code(), Some(2), "{judged:?}");
}
