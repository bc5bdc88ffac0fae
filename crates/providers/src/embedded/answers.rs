//! Merges several generations into one streamed answer.

use std::collections::VecDeque;
use std::time::Duration;

use futures::stream::{BoxStream, SelectAll};
use futures::{Stream, StreamExt};
use muster_models::{Finish, GenerateEvent, Generation, TokenUsage};
use tokio::time::timeout;
use ulid::Ulid;

use super::QUEUE_TIMEOUT;
use super::fault::{died, fault};
use crate::{ChatEvent, Delta, Fault, FinishReason, Phase, Timeouts, ToolDelta, Usage};

/// The answers to one request while they are generated. Dropping it cancels all of them.
pub(super) struct Answers {
    running: SelectAll<BoxStream<'static, (u32, Result<GenerateEvent, Fault>)>>,
    /// Generated, but not yet returned.
    ready: VecDeque<ChatEvent>,
    /// Answers that have not ended.
    left: usize,
    /// Finish reason of the first answer.
    finish: FinishReason,
    usage: Usage,
    /// Whether the reader has received anything.
    begun: Phase,
}

impl Answers {
    /// The answers, in order.
    pub(super) fn new(generations: Vec<Generation>, timeouts: Timeouts) -> Self {
        let left = generations.len();
        let events = |(choice, generation)| events(generation, timeouts).map(move |event| (choice, event)).boxed();
        Self {
            running: (0..).zip(generations).map(events).collect(),
            ready: VecDeque::new(),
            left,
            finish: FinishReason::Stop,
            usage: Usage::default(),
            begun: Phase::FirstDelta,
        }
    }

    /// Returns the next event of any answer.
    pub(super) async fn next(&mut self) -> Result<ChatEvent, Fault> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                self.begun = Phase::BetweenDeltas;
                return Ok(event);
            }
            let phase = self.begun;
            let (choice, event) = self.running.next().await.ok_or_else(|| died(phase))?;
            self.take(choice, event.map_err(|fault| Fault { phase, ..fault })?)?;
        }
    }

    fn take(&mut self, choice: u32, event: GenerateEvent) -> Result<(), Fault> {
        let delta = match event {
            GenerateEvent::Delta(text) if text.is_empty() => return Ok(()),
            GenerateEvent::Delta(text) => Delta::Text { choice, text },
            GenerateEvent::Call { index, name } => {
                let id = Some(format!("call_{}", Ulid::generate()));
                Delta::Tool { choice, call: ToolDelta { index, id, name: Some(name), arguments: String::new() } }
            }
            GenerateEvent::Arguments { index, json } => {
                Delta::Tool { choice, call: ToolDelta { index, arguments: json, ..ToolDelta::default() } }
            }
            GenerateEvent::Done { finish, usage } => {
                self.ended(choice, finish_reason(finish), usage);
                return Ok(());
            }
            GenerateEvent::Failed(error) => return Err(Fault { phase: self.begun, ..fault(error) }),
        };
        self.ready.push_back(ChatEvent::Delta(delta));
        Ok(())
    }

    fn ended(&mut self, choice: u32, finish: FinishReason, usage: TokenUsage) {
        match choice {
            0 => self.finish = finish,
            _ => self.ready.push_back(ChatEvent::Delta(Delta::Finish { choice, finish })),
        }
        // They share one prompt.
        self.usage.prompt_tokens = self.usage.prompt_tokens.max(usage.prompt);
        self.usage.completion_tokens = self.usage.completion_tokens.saturating_add(usage.completion);
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            self.ready.push_back(ChatEvent::Done { finish: self.finish, usage: Some(self.usage) });
        }
    }
}

/// Events of one generation, each within its time limit, up to its end or first fault.
fn events(generation: Generation, timeouts: Timeouts) -> impl Stream<Item = Result<GenerateEvent, Fault>> + Send {
    let first = QUEUE_TIMEOUT + timeouts.first_delta;
    futures::stream::unfold(Some((generation, first)), move |state| async move {
        let (mut generation, wait) = state?;
        let event = next_of(&mut generation, wait).await;
        let goes_on = !matches!(event, Ok(GenerateEvent::Done { .. } | GenerateEvent::Failed(_)) | Err(_));
        Some((event, goes_on.then_some((generation, timeouts.between_deltas))))
    })
}

async fn next_of(generation: &mut Generation, wait: Duration) -> Result<GenerateEvent, Fault> {
    let event = timeout(wait, async {
        loop {
            match generation.events.recv().await {
                Some(GenerateEvent::Delta(text)) if text.is_empty() => {}
                event => break event,
            }
        }
    });
    match event.await {
        Ok(event) => event.ok_or_else(|| died(Phase::FirstDelta)),
        Err(_) => Err(Fault::transient(Phase::FirstDelta, format!("the embedded model sent no text within {wait:?}"))),
    }
}

fn finish_reason(finish: Finish) -> FinishReason {
    match finish {
        Finish::Stop => FinishReason::Stop,
        Finish::Length => FinishReason::Length,
        Finish::ToolCalls => FinishReason::ToolCalls,
    }
}
