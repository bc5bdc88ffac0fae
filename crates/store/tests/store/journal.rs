//! `kill -9` in the middle of appends that nobody syncs, on the same folder again and again.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use muster_store::{Journal, JournalOptions};

use crate::support::Random;

#[test]
fn thirty_kills_lose_no_frame_whose_append_returned() {
    let home = tempfile::tempdir().unwrap();
    let mut random = Random::new(30);
    let mut told = Vec::new();
    for round in 0..30 {
        let after = 1 + random.below(400);
        let burst = env!("CARGO_BIN_EXE_journal-burst");
        let mut child = Command::new(burst).arg(home.path()).stdout(Stdio::piped()).spawn().unwrap();
        let mut printed = BufReader::new(child.stdout.take().unwrap());
        let (mut line, mut count) = (String::new(), 0);
        while printed.read_line(&mut line).unwrap() > 0 {
            count += 1;
            if count == after {
                child.kill().unwrap();
            }
            // The second half of the last line may be missing.
            told.extend(line.trim_end().strip_suffix('.').map(str::to_owned));
            line.clear();
        }
        assert!(!child.wait().unwrap().success() && count >= after, "it was to be killed");
        let journal = Journal::open(home.path(), 0, JournalOptions::default()).unwrap();
        let mut found = BTreeSet::new();
        let mut each = |_, payload: &[u8]| assert!(found.insert(String::from_utf8(payload.to_vec()).unwrap()));
        journal.replay(0, u64::MAX, &mut each).unwrap();
        let lost: Vec<&String> = told.iter().filter(|told| !found.contains(*told)).collect();
        assert!(lost.is_empty(), "round {round}: {lost:?} of {}", told.len());
    }
}
