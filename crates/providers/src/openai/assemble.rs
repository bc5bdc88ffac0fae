//! Assembles the events of one streamed answer. Pure: no socket, no clock.

use std::borrow::Cow;
use std::collections::VecDeque;

use serde_json::Value;

use super::Reading;
use super::ids::Ids;
use super::scan::{TextChunk, text_chunk, unescape};
use super::tools::Calls;
use super::wire::{Completion, Finish, MessageContent, WireChoice, reason};
use crate::http::{Broken, Events, Flow, MAX_TEXT_BYTES};
use crate::sse::SseEvent;
use crate::{ChatEvent, Delta, FinishReason, Usage, Verbatim};

/// Assembles a stream. Accepts nothing after an error or after `End`.
#[derive(Debug)]
pub(super) struct Assembler {
    reading: Reading,
    /// One entry per requested answer.
    answers: Vec<Answer>,
    bytes: usize,
    usage: Option<Usage>,
    done_marker: bool,
}

/// One of the answers.
#[derive(Debug, Default)]
struct Answer {
    begun: bool,
    calls: Calls,
    finish: Option<FinishReason>,
}

impl Events for Assembler {
    fn has_content(&self) -> bool {
        self.bytes > 0
    }

    fn is_finished(&self) -> bool {
        self.answers.iter().all(|answer| answer.finish.is_some())
    }

    fn accept(&mut self, event: &SseEvent, out: &mut VecDeque<Delta>) -> Result<Flow, Broken> {
        if event.kind != "error"
            && let Some(chunk) = text_chunk(&event.data)
            && let Some(delta) = self.text(event, chunk)?
        {
            out.push_back(delta);
            return Ok(Flow::GoOn);
        }
        if event.data.trim() == "[DONE]" {
            self.done_marker = true;
            self.finish_the_rest(out);
            return Ok(Flow::End);
        }
        match self.chunk(event, out) {
            Err(_) if self.is_finished() => Ok(Flow::End),
            result => result.map(|()| Flow::GoOn),
        }
    }

    /// Complete with a finish reason, with or without end marker; a marker after some text counts as a stop, as several
    /// servers never send a reason. Anything else was cut off.
    fn end(&mut self) -> Result<ChatEvent, Broken> {
        let mut answers = self.answers.iter();
        let first = answers.next().ok_or(Broken::Cut)?;
        let finish = match first.finish {
            Some(finish) => finish,
            None if self.done_marker && first.begun => first.stop(),
            None => return Err(Broken::Cut),
        };
        if answers.any(|answer| answer.begun && answer.finish.is_none()) {
            return Err(Broken::Cut);
        }
        Ok(ChatEvent::Done { finish, usage: self.usage })
    }
}

impl Answer {
    fn stop(&self) -> FinishReason {
        reason(FinishReason::Stop, !self.calls.is_empty())
    }
}

impl Assembler {
    pub(super) fn new(reading: Reading) -> Self {
        let answers = (0..reading.choices).map(|_| Answer::default()).collect();
        Self { reading, answers, bytes: 0, usage: None, done_marker: false }
    }

    /// Returns the delta of a text-only chunk; `None` if its answers must be parsed one by one.
    fn text(&mut self, event: &SseEvent, chunk: TextChunk<'_>) -> Result<Option<Delta>, Broken> {
        let mut unknown = chunk.numbers;
        let one = chunk.numbers.is_power_of_two();
        if !one && !self.reading.verbatim {
            return Ok(None);
        }
        for (number, answer) in self.answers.iter().enumerate() {
            if answer.finish.is_none() {
                unknown &= !(1 << number);
            }
        }
        if unknown != 0 {
            return Ok(None);
        }
        let bytes = chunk.escaped.len();
        let delta = if self.reading.verbatim {
            let data = event.data.as_bytes();
            let escaped = match chunk.escaped {
                Cow::Borrowed(text) => data.slice_ref(text.as_bytes()),
                Cow::Owned(text) => text.into(),
            };
            Delta::Verbatim(Verbatim { choices: data.slice_ref(chunk.choices.as_bytes()), escaped })
        } else {
            let Some(text) = unescape(&chunk.escaped) else { return Ok(None) };
            Delta::Text { choice: chunk.numbers.trailing_zeros(), text }
        };
        for (number, answer) in self.answers.iter_mut().enumerate() {
            answer.begun |= chunk.numbers & (1 << number) != 0;
        }
        self.grow(bytes)?;
        Ok(Some(delta))
    }

    fn grow(&mut self, bytes: usize) -> Result<(), Broken> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > MAX_TEXT_BYTES {
            return Err(Broken::Malformed(format!("more than {MAX_TEXT_BYTES} bytes of text")));
        }
        Ok(())
    }

    fn chunk(&mut self, event: &SseEvent, out: &mut VecDeque<Delta>) -> Result<(), Broken> {
        if event.data.trim().is_empty() {
            return Ok(());
        }
        if event.kind == "error" {
            let message_content = serde_json::from_str(&event.data);
            return Err(Broken::Reported(message_content.unwrap_or_else(|_| Value::from(&*event.data))));
        }
        let mut chunk: Completion = serde_json::from_str(&event.data).map_err(|e| Broken::Malformed(e.to_string()))?;
        if chunk.is_error() {
            return Err(Broken::Reported(serde_json::from_str(&event.data).unwrap_or_default()));
        }
        // Some servers send cumulative usage with every chunk: the last one counts.
        self.usage = chunk.usage().or(self.usage);
        for (number, choice) in chunk.take_choices(self.reading.choices) {
            self.choice(number, choice, out)?;
        }
        Ok(())
    }

    fn choice(&mut self, number: u32, mut choice: WireChoice, out: &mut VecDeque<Delta>) -> Result<(), Broken> {
        let place = usize::try_from(number).unwrap_or(usize::MAX);
        if self.answers.get(place).is_none_or(|answer| answer.finish.is_some()) {
            return Ok(());
        }
        if choice.finish() == Some(Finish::Broken) {
            return Err(Broken::Reported(serde_json::json!({"error": {"message": "the model failed"}})));
        }
        let message_content = choice.delta.take().unwrap_or_default();
        let before = out.len();
        let bytes = self.message_content(number, place, message_content, out)?;
        let Some(answer) = self.answers.get_mut(place) else { return Ok(()) };
        answer.begun |= out.len() > before;
        if let Some(Finish::Proper(finish)) = choice.finish() {
            let finish = reason(finish, !answer.calls.is_empty());
            answer.finish = Some(finish);
            if number > 0 {
                out.push_back(Delta::Finish { choice: number, finish });
            }
        }
        self.grow(bytes)
    }

    /// Queues the text and the tool call fragments; returns their size.
    fn message_content(
        &mut self,
        number: u32,
        place: usize,
        mut message_content: MessageContent,
        out: &mut VecDeque<Delta>,
    ) -> Result<usize, Broken> {
        let text = message_content.take_text();
        let mut bytes = text.len();
        if !text.is_empty() {
            out.push_back(Delta::Text { choice: number, text });
        }
        let Some(answer) = self.answers.get_mut(place) else { return Ok(bytes) };
        let ids: Ids = self.reading.ids;
        for piece in message_content.take_calls() {
            let delta = answer
                .calls
                .accept(piece, |call| ids.make(number, call))
                .map_err(|_| Broken::Malformed("more tool calls than anyone can mean".to_owned()))?;
            if let Some(call) = delta {
                bytes += call.arguments.len() + call.name.as_ref().map_or(0, String::len) + 1;
                out.push_back(Delta::Tool { choice: number, call });
            }
        }
        Ok(bytes)
    }

    /// The end marker ends further answers that had no finish reason.
    fn finish_the_rest(&mut self, out: &mut VecDeque<Delta>) {
        for (number, answer) in (0..).zip(&mut self.answers).skip(1) {
            if answer.begun && answer.finish.is_none() {
                let finish = answer.stop();
                answer.finish = Some(finish);
                out.push_back(Delta::Finish { choice: number, finish });
            }
        }
    }
}
