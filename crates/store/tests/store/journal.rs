//! `kill -9` during appends that are never synced, repeatedly on the same folder.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use muster_store::{Journal, JournalOptions};

use crate::support::Random;

#[test]
fn thirty_kills_lose_no_frame_whose_append_returned() {
    let home = tempfile::tempdir().unwrap();
    let mut random = Random::new(30);
    let mut printed = Vec::new();
    for round in 0..30 {
        let after = 1 + random.below(400);
        let burst = env!("CARGO_BIN_EXE_journal-burst");
        let mut child = Command::new(burst).arg(home.path()).stdout(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let (mut line, mut count) = (String::new(), 0);
        while output.read_line(&mut line).unwrap() > 0 {
            count += 1;
            if count == after {
                child.kill().unwrap();
            }
            // The last line may be incomplete.
            printed.extend(line.trim_end().strip_suffix('.').map(str::to_owned));
            line.clear();
        }
        assert!(!child.wait().unwrap().success() && count >= after, "the process must have been killed");
        let journal = Journal::open(home.path(), 0, JournalOptions::default()).unwrap();
        let mut found = BTreeSet::new();
        let mut each = |_, payload: &[u8]| assert!(found.insert(String::from_utf8(payload.to_vec()).unwrap()));
        journal.replay(0, u64::MAX, &mut each).unwrap();
        let lost: Vec<&String> = printed.iter().filter(|printed| !found.contains(*printed)).collect();
        assert!(lost.is_empty(), "round {round}: {lost:?} of {}", printed.len());
    }
}
