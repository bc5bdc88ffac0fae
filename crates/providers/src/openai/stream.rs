//! Streamed answers.

use std::sync::Arc;

use futures::StreamExt;

use super::assemble::Assembler;
use super::complete::read_reply;
use super::send::{reporter, send};
use super::{Reading, Server};
use crate::http::{BodyKind, Mode, Peeked, Reporter, follow, peek};
use crate::{Call, ChatEvent, ChatStream, Choice, Delta, Fault, Phase, Timeouts, ToolCall, ToolDelta};

/// Opens the stream and reads up to its first delta, or to a proper end.
pub(super) async fn open(server: Arc<Server>, call: Call) -> Result<ChatStream, Fault> {
    let reporter = reporter(&server, &call);
    let (response, reading) = send(&server, &reporter, &call, Mode::Streamed).await?;
    let (kind, response) = peek(&reporter, response, call.timeouts.first_delta).await?;
    match kind {
        BodyKind::Events => follow(reporter, response, call.timeouts, Assembler::new(reading)).await,
        BodyKind::Json => whole(reporter, response, call.timeouts, reading).await,
        BodyKind::Page => {
            Err(reporter.transient(Phase::FirstDelta, "answered with a page, not with a chat: check base_url"))
        }
    }
}

/// Handles a server that answers at once although a stream was requested.
async fn whole(
    reporter: Reporter,
    response: Peeked,
    timeouts: Timeouts,
    reading: Reading,
) -> Result<ChatStream, Fault> {
    let phase = Phase::FirstDelta;
    let reply = read_reply(&reporter, response, timeouts.first_delta, phase, reading).await?;
    let done = ChatEvent::Done { finish: reply.first.finish, usage: reply.usage };
    let choices = std::iter::once(reply.first).chain(reply.more);
    let deltas: Vec<Delta> = (0..).zip(choices).flat_map(|(number, choice)| deltas(number, choice)).collect();
    let events = deltas.into_iter().map(ChatEvent::Delta).chain([done]);
    Ok(futures::stream::iter(events.map(Ok)).boxed())
}

/// Converts a complete answer to deltas.
fn deltas(number: u32, choice: Choice) -> impl Iterator<Item = Delta> {
    let text = Some(choice.content).filter(|text| !text.is_empty());
    let text = text.map(|text| Delta::Text { choice: number, text });
    let calls = (0..).zip(choice.tool_calls).map(move |(index, call)| {
        let ToolCall { id, name, arguments } = call;
        Delta::Tool { choice: number, call: ToolDelta { index, id: Some(id), name: Some(name), arguments } }
    });
    let finish = (number > 0).then_some(Delta::Finish { choice: number, finish: choice.finish });
    text.into_iter().chain(calls).chain(finish)
}
