//! What the events of one streamed answer add up to. Pure: no socket, no clock.

use serde_json::Value;

use super::wire::{Completion, Finish};
use crate::sse::SseEvent;
use crate::{ChatEvent, FinishReason, Usage};

/// The most text of one streamed answer, in bytes.
pub(super) const MAX_TEXT_BYTES: usize = 16 * 1024 * 1024;

/// What one event means for the reader.
#[derive(Debug, PartialEq)]
pub(super) enum Step {
    /// Nothing to tell: a role, an empty delta, a finish reason, usage.
    Nothing,
    Text(String),
    /// `[DONE]`: nothing more comes.
    End,
}

/// Why an answer is broken.
#[derive(Debug, PartialEq)]
pub(super) enum Broken {
    /// The provider says so.
    Reported(Value),
    Malformed(String),
    /// It ended without a reason, and before any text or in the middle of it.
    Cut,
}

/// Adds up a stream. After an error, or after `End`, it takes no more.
#[derive(Debug, Default)]
pub(super) struct Assembler {
    text_bytes: usize,
    finish: Option<FinishReason>,
    usage: Option<Usage>,
    done_marker: bool,
}

impl Assembler {
    /// Text has been delivered: from here on the stream cannot be taken over by another provider.
    pub(super) fn has_text(&self) -> bool {
        self.text_bytes > 0
    }

    /// The finish reason has come; only usage and the end marker may follow.
    pub(super) fn is_finished(&self) -> bool {
        self.finish.is_some()
    }

    /// Takes the next event. Once the answer is finished nothing can break it any more: a provider that stumbles
    /// over its usage has still answered.
    pub(super) fn accept(&mut self, event: &SseEvent) -> Result<Step, Broken> {
        if event.data.trim() == "[DONE]" {
            self.done_marker = true;
            return Ok(Step::End);
        }
        match self.chunk(event) {
            Err(_) if self.is_finished() => Ok(Step::End),
            result => result,
        }
    }

    fn chunk(&mut self, event: &SseEvent) -> Result<Step, Broken> {
        if event.data.trim().is_empty() {
            return Ok(Step::Nothing);
        }
        let malformed = |why: String| Broken::Malformed(why);
        if event.kind == "error" {
            return Err(Broken::Reported(
                serde_json::from_str(&event.data).unwrap_or_else(|_| event.data.clone().into()),
            ));
        }
        let mut chunk: Completion = serde_json::from_str(&event.data).map_err(|e| malformed(e.to_string()))?;
        if chunk.is_error() {
            let value = serde_json::from_str(&event.data).unwrap_or_default();
            return Err(Broken::Reported(value));
        }
        let usage = chunk.usage();
        // Some servers send running figures with every chunk: the last one counts.
        self.usage = usage.or(self.usage);
        let Some(mut choice) = chunk.take_choice() else {
            return Ok(Step::Nothing);
        };
        if self.is_finished() {
            return Ok(Step::Nothing);
        }
        let text = choice.take_delta();
        match choice.finish() {
            Some(Finish::Broken) => {
                return Err(Broken::Reported(serde_json::json!({"error": {"message": "the model failed"}})));
            }
            Some(Finish::Proper(reason)) => self.finish = Some(reason),
            None => {}
        }
        self.text_bytes = self.text_bytes.saturating_add(text.len());
        if self.text_bytes > MAX_TEXT_BYTES {
            return Err(malformed(format!("more than {MAX_TEXT_BYTES} bytes of text")));
        }
        Ok(if text.is_empty() { Step::Nothing } else { Step::Text(text) })
    }

    /// The stream is over: by the marker, by the end of the body, or because the wait for usage was long enough.
    ///
    /// Complete with a finish reason, marker or not; with a marker after some text it is taken as a stop, as several
    /// servers never send a reason. Anything else was cut off.
    pub(super) fn end(&self) -> Result<ChatEvent, Broken> {
        let finish = match self.finish {
            Some(reason) => reason,
            None if self.done_marker && self.has_text() => FinishReason::Stop,
            None => return Err(Broken::Cut),
        };
        Ok(ChatEvent::Done { finish, usage: self.usage })
    }
}
