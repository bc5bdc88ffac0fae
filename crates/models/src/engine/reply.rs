//! The engine's side of a generation.

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::chat::{Finish, GenerateEvent, Generation, ModelError, TokenUsage};
use crate::tool::MAX_CALLS;

/// Events around each call: the text before it, its beginning, a held-back end of its arguments.
const EVENTS_BESIDE_TOKENS: usize = 4 * MAX_CALLS as usize + 4;

/// Sends the events of one request. Sends `Failed` if dropped without an end (by a panic or a change of models).
#[derive(Debug)]
pub(super) struct Reply {
    events: mpsc::Sender<GenerateEvent>,
    cancel: CancellationToken,
    ended: bool,
}

impl Reply {
    /// Creates a channel that holds every event that `max_tokens` can produce (one per token, a few more around each
    /// call, held-back text, the end), so that sending never blocks: a slow reader neither stalls the engine nor needs
    /// a deadline here, and unread events are bounded by the context.
    pub(super) fn channel(max_tokens: u32) -> (Self, Generation) {
        let capacity = usize::try_from(max_tokens).unwrap_or(usize::MAX / 4).saturating_add(EVENTS_BESIDE_TOKENS);
        let (sender, receiver) = mpsc::channel(capacity);
        let cancel = CancellationToken::new();
        let reply = Self { events: sender, cancel: cancel.clone(), ended: false };
        (reply, Generation::new(receiver, cancel))
    }

    /// Returns whether the reader has gone.
    pub(super) fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled() || self.events.is_closed()
    }

    /// Sends events other than the end.
    pub(super) fn send_events(&self, events: Vec<GenerateEvent>) {
        events.into_iter().for_each(|event| self.send(event));
    }

    pub(super) fn done(&mut self, finish: Finish, usage: TokenUsage) {
        self.end(GenerateEvent::Done { finish, usage });
    }

    pub(super) fn fail(&mut self, error: ModelError) {
        self.end(GenerateEvent::Failed(error));
    }

    fn end(&mut self, event: GenerateEvent) {
        if !std::mem::replace(&mut self.ended, true) {
            self.send(event);
        }
    }

    /// A closed channel means that the reader has gone; the next step notices it.
    fn send(&self, event: GenerateEvent) {
        if let Err(mpsc::error::TrySendError::Full(_)) = self.events.try_send(event) {
            tracing::error!("more events than tokens: the reader of the embedded model lost one");
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        self.fail(ModelError::Failed { why: "the engine was interrupted; try again".to_owned() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_reply_reports_failure() {
        let (reply, mut generation) = Reply::channel(1);
        reply.send_events(vec![GenerateEvent::Delta("a".to_owned())]);
        drop(reply);
        assert_eq!(generation.events.try_recv(), Ok(GenerateEvent::Delta("a".to_owned())));
        assert!(matches!(generation.events.try_recv(), Ok(GenerateEvent::Failed(ModelError::Failed { .. }))));
        assert!(generation.events.try_recv().is_err());
    }

    #[test]
    fn an_ended_reply_sends_nothing_more() {
        let (mut reply, mut generation) = Reply::channel(1);
        reply.done(Finish::Stop, TokenUsage::default());
        drop(reply);
        assert!(matches!(generation.events.try_recv(), Ok(GenerateEvent::Done { .. })));
        assert!(generation.events.try_recv().is_err());
    }

    #[test]
    fn a_dropped_reader_is_detected() {
        let (reply, generation) = Reply::channel(1);
        assert!(!reply.is_cancelled());
        drop(generation);
        assert!(reply.is_cancelled());
    }
}
