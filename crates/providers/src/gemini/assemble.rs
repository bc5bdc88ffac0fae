//! Assembles the events of one streamed answer. Pure: no socket, no clock.

use std::collections::VecDeque;

use super::wire::{self, AnswerContent, AnswerPart, Candidate, ending};
use crate::http::{Broken, Events, Flow, MAX_TEXT_BYTES};
use crate::sse::SseEvent;
use crate::{ChatEvent, ChatRequest, Delta, FinishReason, ToolDelta, Usage};

/// Assembles a stream. There is no end marker: a finish reason completes an answer, and the end of the body ends it.
#[derive(Debug)]
pub(super) struct Assembler {
    answers: Vec<Answer>,
    /// Calls of one answer beyond this number are left out: this API has no setting that keeps a model from several.
    max_calls: usize,
    /// Text and arguments of all answers.
    bytes: usize,
    usage: Option<Usage>,
    /// Whether a delta was emitted.
    delivered: bool,
}

#[derive(Debug, Clone, Default)]
struct Answer {
    content_so_far: AnswerContent,
    calls: u32,
    finish: Option<FinishReason>,
}

impl Assembler {
    pub(super) fn new(request: &ChatRequest) -> Self {
        let answers = (0..request.choices()).map(|_| Answer::default()).collect();
        Self { answers, max_calls: request.max_calls(), bytes: 0, usage: None, delivered: false }
    }

    /// Returns all deltas of one event, or none of them: content beside an error is not emitted.
    fn chunk(&mut self, json: &str) -> Result<Vec<Delta>, Broken> {
        let generated = wire::read(json.as_bytes())?;
        // Usage is cumulative: the last value counts.
        self.usage = generated.usage().or(self.usage);
        let blocked = generated.is_blocked();
        let candidates = generated.candidates.unwrap_or_default();
        let mut fresh = Vec::new();
        if candidates.is_empty() && blocked {
            self.block(&mut fresh);
        }
        for candidate in candidates {
            self.candidate(candidate, &mut fresh)?;
        }
        Ok(fresh)
    }

    fn candidate(&mut self, mut candidate: Candidate, fresh: &mut Vec<Delta>) -> Result<(), Broken> {
        let choice = candidate.index();
        let Some(answer) = usize::try_from(choice).ok().and_then(|at| self.answers.get_mut(at)) else {
            return Ok(());
        };
        // The end of a further answer was already emitted. The first answer's is emitted last, and some models send a
        // reason with every event.
        if choice > 0 && answer.finish.is_some() {
            return Ok(());
        }
        for part_or_error in candidate.take_parts() {
            answer.content_so_far = answer.content_so_far.and(&part_or_error);
            if matches!(part_or_error, AnswerPart::Call(_)) && answer.calls as usize >= self.max_calls {
                continue;
            }
            let delta = answer.delta(choice, part_or_error);
            self.bytes = self.bytes.saturating_add(weight(&delta));
            fresh.push(delta);
        }
        if self.bytes > MAX_TEXT_BYTES {
            return Err(Broken::Malformed(format!("more than {MAX_TEXT_BYTES} bytes of text")));
        }
        if let Some(reason) = candidate.finish_reason() {
            let finish = ending(reason, answer.content_so_far)?;
            answer.finish(choice, finish, fresh);
        }
        Ok(())
    }

    /// A blocked prompt is a proper answer: empty, with a content-filter finish.
    fn block(&mut self, fresh: &mut Vec<Delta>) {
        for (choice, answer) in (0..).zip(&mut self.answers) {
            if answer.finish.is_none() {
                answer.finish(choice, FinishReason::ContentFilter, fresh);
            }
        }
    }
}

impl Answer {
    fn delta(&mut self, choice: u32, part_or_error: AnswerPart) -> Delta {
        match part_or_error {
            AnswerPart::Text(text) => Delta::Text { choice, text },
            AnswerPart::Call(call) => {
                let index = self.calls;
                self.calls += 1;
                let (id, name) = (Some(call.id), Some(call.name));
                Delta::Tool { choice, call: ToolDelta { index, id, name, arguments: call.arguments } }
            }
        }
    }

    fn finish(&mut self, choice: u32, finish: FinishReason, fresh: &mut Vec<Delta>) {
        self.finish = Some(finish);
        if choice > 0 {
            fresh.push(Delta::Finish { choice, finish });
        }
    }
}

fn weight(delta: &Delta) -> usize {
    match delta {
        Delta::Text { text, .. } => text.len(),
        Delta::Tool { call, .. } => call.arguments.len(),
        Delta::Finish { .. } | Delta::Verbatim(_) => 0,
    }
}

impl Events for Assembler {
    fn accept(&mut self, event: &SseEvent, out: &mut VecDeque<Delta>) -> Result<Flow, Broken> {
        if event.data.trim().is_empty() {
            return Ok(Flow::GoOn);
        }
        let finished = self.is_finished();
        match self.chunk(&event.data) {
            Ok(fresh) => {
                self.delivered |= !fresh.is_empty();
                out.extend(fresh);
                Ok(Flow::GoOn)
            }
            Err(_) if finished => Ok(Flow::End),
            Err(broken) => Err(broken),
        }
    }

    fn has_content(&self) -> bool {
        self.delivered
    }

    fn is_finished(&self) -> bool {
        self.answers.iter().all(|answer| answer.finish.is_some())
    }

    /// A further answer without any content is absent: some models return only one.
    fn end(&mut self) -> Result<ChatEvent, Broken> {
        let cut = |answer: &Answer| answer.finish.is_none() && answer.content_so_far != AnswerContent::Nothing;
        match self.answers.first().and_then(|first| first.finish) {
            Some(finish) if !self.answers.iter().any(cut) => Ok(ChatEvent::Done { finish, usage: self.usage }),
            _ => Err(Broken::Cut),
        }
    }
}
