//! The process that the journal's crash test kills: `journal-burst DIR` appends numbered frames from several threads
//! until it is killed, and prints each `thread count` once its append has returned. Nothing is synced.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use muster_store::{Journal, JournalOptions, StoreError};

const THREADS: u64 = 3;

fn main() -> ExitCode {
    let Some(dir) = std::env::args().nth(1) else {
        let _ = writeln!(io::stderr(), "usage: journal-burst DIR");
        return ExitCode::FAILURE;
    };
    match burst(PathBuf::from(dir)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "journal-burst: {error}");
            ExitCode::FAILURE
        }
    }
}

fn burst(dir: PathBuf) -> Result<(), StoreError> {
    let options = JournalOptions { segment_bytes: 4 << 10, ..JournalOptions::default() };
    let journal = Journal::open(&dir, 0, options)?;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                scope.spawn({
                    let journal = &journal;
                    move || write(journal, thread)
                })
            })
            .collect();
        threads.into_iter().find_map(|thread| thread.join().ok().and_then(Result::err)).map_or(Ok(()), Err)
    })
}

fn write(journal: &Journal, thread: u64) -> Result<(), StoreError> {
    for count in 0_u64.. {
        let printed = format!("{:x}/{thread}/{count}", journal.started());
        journal.append(printed.as_bytes())?;
        let mut out = io::stdout().lock();
        // A closed standard output ends the burst.
        writeln!(out, "{printed}.").and_then(|()| out.flush()).map_err(|e| StoreError::Io(e.to_string()))?;
    }
    Ok(())
}
