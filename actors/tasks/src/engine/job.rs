//! Computations on bytes that run in the processes beside the engines: same sandbox, queue and memory limit.

use std::time::Duration;

use muster_engines::Failure;

use super::runner::EngineCaller;

/// A computation on bytes, such as decoding a picture. Clients cannot call it as an engine.
#[derive(Debug)]
pub struct Job {
    /// Number on the wire, at least [`Job::FIRST`].
    pub number: u16,
    /// Name in logs and errors.
    pub id: &'static str,
    /// Time limit of a call.
    pub time: Duration,
    /// The function, which runs in the process. A failure is the caller's to explain.
    pub run: fn(&[u8]) -> Result<Vec<u8>, Failure>,
}

impl Job {
    /// Lowest number of a job; engines have lower ones.
    pub const FIRST: u16 = 60_000;
}

/// A call of a job.
#[derive(Debug)]
pub struct JobCall {
    /// Job to run.
    pub job: &'static Job,
    /// Input, at most 20 MiB.
    pub input: Vec<u8>,
    /// Principal on whose behalf the call is made.
    pub caller: EngineCaller,
}
