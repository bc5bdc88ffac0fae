//! Determines why a process ended during a call.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use muster_core::{Error, Kind};

/// How a process ended, and the end of its standard error.
#[derive(Debug)]
pub(super) struct ProcessExit {
    pub(super) status: Option<ExitStatus>,
    pub(super) stderr_tail: String,
}

/// SIGHUP, SIGINT, SIGKILL, SIGTERM: signals sent by others.
const FROM_OUTSIDE: [i32; 4] = [1, 2, 9, 15];

impl ProcessExit {
    /// Returns whether the process was ended by a signal that the kernel does not send for what a program does.
    pub(super) fn ended_from_outside(&self) -> bool {
        self.stderr_tail.is_empty()
            && self.status.and_then(|status| status.signal()).is_some_and(|signal| FROM_OUTSIDE.contains(&signal))
    }

    /// Returns the error for the caller. Rust's allocator, tree-sitter's allocator and the stack overflow handler all
    /// print why they abort.
    pub(super) fn refusal(&self, engine: &str, memory_mib: u64) -> Error {
        let mentions = |any: &[&str]| any.iter().any(|words| self.stderr_tail.contains(words));
        if mentions(&["memory allocation", "failed to allocate", "out of memory", "annot allocate memory"]) {
            let message = format!(
                "{engine} needs more than {memory_mib} MiB of memory for this input, the limit of one call: \
                 send less"
            );
            return Error::new(Kind::TooLarge, message).coded("memory_exceeded");
        }
        if mentions(&["overflowed its stack", "stack overflow"]) {
            let message = "the input is nested too deeply for this engine: send a flatter one";
            return Error::field(Kind::Invalid, &["body"], message, serde_json::Value::Null);
        }
        if self.ended_from_outside() {
            tracing::warn!(engine, status = ?self.status, "a process of an engine was ended by a signal");
            let message = "the process that ran this engine was ended by a signal: try again";
            return Error::new(Kind::Unavailable, message).retry_in(Duration::from_secs(1));
        }
        tracing::error!(engine, status = ?self.status, stderr = %self.stderr_tail, "an engine's process died");
        Error::new(Kind::Internal, format!("{engine} failed on this input: this is a fault of the server"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(raw: i32, stderr_tail: &str) -> Kind {
        let status = Some(ExitStatus::from_raw(raw));
        ProcessExit { status, stderr_tail: stderr_tail.to_owned() }.refusal("e", 64).kind
    }

    /// Messages as printed by the standard library and tree-sitter; 6 is SIGABRT, 9 SIGKILL, 11 SIGSEGV.
    #[test]
    fn the_exit_of_a_process_determines_the_error() {
        assert_eq!(kind(6, "memory allocation of 4096 bytes failed\n"), Kind::TooLarge);
        assert_eq!(kind(6, "tree-sitter failed to allocate 64 bytes"), Kind::TooLarge);
        let overflow = "thread 'engine' (7) has overflowed its stack\nfatal runtime error: stack overflow, aborting";
        assert_eq!(kind(6, overflow), Kind::Invalid);
        assert_eq!(kind(9, ""), Kind::Unavailable);
        assert_eq!(kind(11, ""), Kind::Internal);
        assert_eq!(kind(0, ""), Kind::Internal);
    }
}
