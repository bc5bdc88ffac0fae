//! What the events of one streamed answer add up to. Pure: no socket, no clock.

use std::collections::VecDeque;

use super::wire::{Completion, Finish};
use crate::http::{Broken, Events, Flow, MAX_TEXT_BYTES};
use crate::sse::SseEvent;
use crate::{ChatEvent, Delta, FinishReason, Usage};

/// Adds up a stream. After an error, or after `End`, it takes no more.
#[derive(Debug, Default)]
pub(super) struct Assembler {
    text_bytes: usize,
    finish: Option<FinishReason>,
    usage: Option<Usage>,
    done_marker: bool,
}

impl Events for Assembler {
    fn has_content(&self) -> bool {
        self.text_bytes > 0
    }

    fn is_finished(&self) -> bool {
        self.finish.is_some()
    }

    fn accept(&mut self, event: &SseEvent, out: &mut VecDeque<Delta>) -> Result<Flow, Broken> {
        if event.data.trim() == "[DONE]" {
            self.done_marker = true;
            return Ok(Flow::End);
        }
        match self.chunk(event, out) {
            Err(_) if self.is_finished() => Ok(Flow::End),
            result => result.map(|()| Flow::GoOn),
        }
    }

    /// Complete with a finish reason, marker or not; with a marker after some text it is taken as a stop, as several
    /// servers never send a reason. Anything else was cut off.
    fn end(&mut self) -> Result<ChatEvent, Broken> {
        let finish = match self.finish {
            Some(reason) => reason,
            None if self.done_marker && self.has_content() => FinishReason::Stop,
            None => return Err(Broken::Cut),
        };
        Ok(ChatEvent::Done { finish, usage: self.usage })
    }
}

impl Assembler {
    fn chunk(&mut self, event: &SseEvent, out: &mut VecDeque<Delta>) -> Result<(), Broken> {
        if event.data.trim().is_empty() {
            return Ok(());
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
            return Ok(());
        };
        if self.is_finished() {
            return Ok(());
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
        if !text.is_empty() {
            out.push_back(Delta::Text { choice: 0, text });
        }
        Ok(())
    }
}
