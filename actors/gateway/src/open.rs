//! The opening of a stream: everything until its first delta is in hand, so that a failure is still unseen.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use muster_providers::{Adapter, Call, ChatEvent, ChatStream, Fault, Phase};
use tokio::time::{Instant, timeout_at};

/// Events that are held back at most.
const HELD: usize = 256;

/// A stream with its first events in hand, at least one.
pub(super) struct Opened {
    pub(super) head: VecDeque<ChatEvent>,
    pub(super) rest: ChatStream,
}

/// Opens a stream, and holds back what comes within `hold_back` of its first delta.
pub(super) async fn open(adapter: Arc<dyn Adapter>, call: Call, hold_back: Option<Duration>) -> Result<Opened, Fault> {
    let mut rest = adapter.stream(call).await?;
    let mut head = VecDeque::with_capacity(1);
    head.push_back(next(&mut rest).await?);
    if let Some(hold_back) = hold_back {
        let until = Instant::now() + hold_back;
        while head.len() < HELD && !matches!(head.back(), Some(ChatEvent::Done { .. })) {
            match timeout_at(until, next(&mut rest)).await {
                Ok(event) => head.push_back(event?),
                Err(_) => break,
            }
        }
    }
    Ok(Opened { head, rest })
}

async fn next(stream: &mut ChatStream) -> Result<ChatEvent, Fault> {
    stream.next().await.unwrap_or_else(|| Err(cut_short(Phase::FirstDelta)))
}

/// The stream ended without its end.
pub(super) fn cut_short(phase: Phase) -> Fault {
    Fault::transient(phase, "the provider's stream ended without its proper end")
}
