//! What the pool runs in a process: a call of an engine or of a job.

use std::sync::Arc;
use std::time::Duration;

use muster_engines::{Answered, Cost, Failure, Nature, Need};
use tokio::sync::watch;

use super::job::JobCall;
use super::runner::{EngineAnswer, EngineCall, EngineProgress, refusal};
use super::wire::{CallOptions, Head, MAX_FRAME};
use crate::task::Usage;
use muster_core::{Error, Kind};

/// What is run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Program {
    pub(super) number: u16,
    pub(super) id: &'static str,
    pub(super) nature: Nature,
    /// Its own time limit, instead of that of the pool.
    pub(super) time: Option<Duration>,
    /// Whether it takes one of the slots for long calls.
    pub(super) long: bool,
}

/// Time limit of a long call.
const LONG: Duration = Duration::from_secs(60);

/// A call that the pool can run.
pub(super) trait Work: Send + 'static {
    /// Result of a call.
    type Answer: Send + 'static;

    /// Returns what is run.
    fn program(&self) -> Program;

    /// Returns the principal.
    fn principal(&self) -> &str;

    /// Returns the options for the process; empty for none.
    fn options(&self) -> Result<Vec<u8>, Error> {
        Ok(Vec::new())
    }

    /// Returns what receives the progress.
    fn progress(&self) -> Option<Arc<watch::Sender<EngineProgress>>> {
        None
    }

    /// Returns the frame of the input.
    fn encode(self) -> Result<Vec<u8>, Error>;

    /// Returns the answer of a call that needs something first.
    fn needing(need: Need) -> Result<Self::Answer, Error> {
        Err(Error::new(Kind::Internal, format!("{} is needed, which is not provided here", need.name())))
    }

    /// Reads the frames of a result without a failure.
    fn decode(program: Program, head: Head, output: Vec<u8>) -> Result<Self::Answer, Error>;
}

/// One round of an engine's call, with the answers of the rounds before.
#[derive(Debug)]
pub(super) struct Round {
    pub(super) call: EngineCall,
    pub(super) answers: Vec<Answered>,
}

/// How a round ends.
#[derive(Debug)]
pub(super) enum RoundOutcome {
    Answered(EngineAnswer),
    Needs(Need),
}

impl Work for Round {
    type Answer = RoundOutcome;

    fn program(&self) -> Program {
        let engine = self.call.engine;
        let long = engine.cost == Cost::Long;
        // Processes differ by what they may open only.
        let nature = if engine.nature == Nature::Workspace { Nature::Workspace } else { Nature::Pure };
        Program { number: engine.number, id: engine.id, nature, time: long.then_some(LONG), long }
    }

    fn principal(&self) -> &str {
        &self.call.caller.actor
    }

    fn options(&self) -> Result<Vec<u8>, Error> {
        let options = CallOptions { explain: self.call.explain, answers: self.answers.clone() };
        if options == CallOptions::default() {
            return Ok(Vec::new());
        }
        serde_json::to_vec(&options).map_err(|error| Error::new(Kind::Internal, error.to_string()))
    }

    fn progress(&self) -> Option<Arc<watch::Sender<EngineProgress>>> {
        self.call.progress.clone()
    }

    fn needing(need: Need) -> Result<RoundOutcome, Error> {
        Ok(RoundOutcome::Needs(need))
    }

    fn encode(self) -> Result<Vec<u8>, Error> {
        let bytes =
            serde_json::to_vec(&self.call.input).map_err(|error| Error::new(Kind::Internal, error.to_string()))?;
        bounded(bytes)
    }

    fn decode(program: Program, head: Head, output: Vec<u8>) -> Result<RoundOutcome, Error> {
        let output = serde_json::from_slice(&output).map_err(|error| {
            let message =
                format!("the output of {} cannot be encoded, because it is nested too deeply: {error}", program.id);
            Error::new(Kind::TooLarge, message)
        })?;
        let Head { warnings, explained, took_us, .. } = head;
        let took = Duration::from_micros(took_us);
        Ok(RoundOutcome::Answered(EngineAnswer { output, warnings, took, explained, usage: Usage::default() }))
    }
}

impl Work for JobCall {
    type Answer = Vec<u8>;

    fn program(&self) -> Program {
        Program {
            number: self.job.number,
            id: self.job.id,
            nature: Nature::Pure,
            time: Some(self.job.time),
            long: false,
        }
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
    let failure = match head.failure.take() {
        None => return W::decode(program, head, output),
        Some(Failure::Needs { need }) => return W::needing(need),
        Some(failure) => failure,
    };
    let mut error = refusal(failure);
    if error.kind == Kind::Internal {
        tracing::error!(engine = program.id, error = %error.message, "an engine failed");
        error.message = format!("{} failed on this input: this is a fault of the server", program.id);
    }
    Err(error)
}
