//! What the pool runs in a process: a call of an engine or of a job.

use std::time::Duration;

use muster_engines::Nature;

use super::job::JobCall;
use super::runner::{EngineAnswer, EngineCall, refusal};
use super::wire::{Head, MAX_FRAME};
use muster_core::{Error, Kind};

/// What is run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Program {
    pub(super) number: u16,
    pub(super) id: &'static str,
    pub(super) nature: Nature,
    /// Its own time limit, instead of that of the pool.
    pub(super) time: Option<Duration>,
}

/// A call that the pool can run.
pub(super) trait Work: Send + 'static {
    /// Result of a call.
    type Answer: Send + 'static;

    /// Returns what is run.
    fn program(&self) -> Program;

    /// Returns the principal.
    fn principal(&self) -> &str;

    /// Returns the frame of the input.
    fn encode(self) -> Result<Vec<u8>, Error>;

    /// Reads the frames of a result without a failure.
    fn decode(program: Program, head: Head, output: Vec<u8>) -> Result<Self::Answer, Error>;
}

impl Work for EngineCall {
    type Answer = EngineAnswer;

    fn program(&self) -> Program {
        Program { number: self.engine.number, id: self.engine.id, nature: self.engine.nature, time: None }
    }

    fn principal(&self) -> &str {
        &self.caller.actor
    }

    fn encode(self) -> Result<Vec<u8>, Error> {
        let bytes = serde_json::to_vec(&self.input).map_err(|error| Error::new(Kind::Internal, error.to_string()))?;
        bounded(bytes)
    }

    fn decode(program: Program, head: Head, output: Vec<u8>) -> Result<EngineAnswer, Error> {
        let output = serde_json::from_slice(&output).map_err(|error| {
            let message =
                format!("the output of {} cannot be encoded, because it is nested too deeply: {error}", program.id);
            Error::new(Kind::TooLarge, message)
        })?;
        Ok(EngineAnswer { output, warnings: head.warnings, took: Duration::from_micros(head.took_us) })
    }
}

impl Work for JobCall {
    type Answer = Vec<u8>;

    fn program(&self) -> Program {
        Program { number: self.job.number, id: self.job.id, nature: Nature::Pure, time: Some(self.job.time) }
    }

    fn principal(&self) -> &str {
        &self.caller.actor
    }

    fn encode(self) -> Result<Vec<u8>, Error> {
        bounded(self.input)
    }

    fn decode(_: Program, _: Head, output: Vec<u8>) -> Result<Vec<u8>, Error> {
        Ok(output)
    }
}

fn bounded(input: Vec<u8>) -> Result<Vec<u8>, Error> {
    if input.len() > MAX_FRAME {
        let message = format!("the input is larger than {} MiB, the maximum input of an engine", MAX_FRAME >> 20);
        return Err(Error::new(Kind::TooLarge, message));
    }
    Ok(input)
}

/// Returns the answer, or the error of a failure.
pub(super) fn outcome<W: Work>(program: Program, mut head: Head, output: Vec<u8>) -> Result<W::Answer, Error> {
    let Some(failure) = head.failure.take() else { return W::decode(program, head, output) };
    let mut error = refusal(failure);
    if error.kind == Kind::Internal {
        tracing::error!(engine = program.id, error = %error.message, "an engine failed");
        error.message = format!("{} failed on this input: this is a fault of the server", program.id);
    }
    Err(error)
}
