//! Opening of a stream, up to its first delta. Until then a failure is invisible to the client.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use muster_providers::{Adapter, Call, ChatEvent, ChatStream, Fault, Phase};
use tokio::time::{Instant, timeout_at};

/// Maximum number of events held back.
const HELD: usize = 256;

/// A stream whose first events, at least one, have arrived.
pub(super) struct Opened {
    pub(super) head: VecDeque<ChatEvent>,
    pub(super) rest: ChatStream,
}

/// Opens a stream and buffers the events that arrive within `hold_back` after its first delta.
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

/// Fault of a stream that ended without its end marker.
pub(super) fn cut_short(phase: Phase) -> Fault {
    Fault::transient(phase, "the provider's stream ended without its proper end")
}
