//! Progress of long work on standard error.

use std::time::{Duration, Instant};

/// Prints how much work is done, at most every two seconds.
pub(crate) struct Progress {
    command: &'static str,
    unit: &'static str,
    printed: Instant,
}

impl Progress {
    pub(crate) fn new(command: &'static str, unit: &'static str) -> Self {
        Self { command, unit, printed: Instant::now() }
    }

    pub(crate) fn update(&mut self, done: u64) {
        if self.printed.elapsed() >= Duration::from_secs(2) {
            self.printed = Instant::now();
            eprintln!("muster: {}: {done} {}", self.command, self.unit);
        }
    }
}
