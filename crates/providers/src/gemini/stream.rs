//! Streamed answers.

use std::sync::Arc;

use futures::StreamExt;

use super::assemble::Assembler;
use super::complete::read_reply;
use super::send::{Method, reporter, send};
use crate::http::{BodyKind, Origin, Peeked, Reporter, follow, peek};
use crate::{Call, ChatEvent, ChatReply, ChatStream, Choice, Delta, Fault, Phase, ToolDelta};

/// Opens the stream and reads up to its first delta, or to a proper end.
pub(super) async fn open(origin: Arc<Origin>, call: Call) -> Result<ChatStream, Fault> {
    let reporter = reporter(&origin, &call);
    let response = send(&origin, &reporter, &call, Method::Stream).await?;
    let (kind, response) = peek(&reporter, response, call.timeouts.first_delta).await?;
    match kind {
        BodyKind::Json => whole(reporter, response, &call).await,
        BodyKind::Page => {
            Err(reporter.transient(Phase::FirstDelta, "answered with a page, not with a chat: check base_url"))
        }
        BodyKind::Events => follow(reporter, response, call.timeouts, Assembler::new(&call.request)).await,
    }
}

/// Handles a complete answer although a stream was requested, or an error with a status of success.
async fn whole(reporter: Reporter, response: Peeked, call: &Call) -> Result<ChatStream, Fault> {
    let reply = read_reply(&reporter, response, call, Phase::FirstDelta).await?;
    Ok(futures::stream::iter(events(reply).into_iter().map(Ok)).boxed())
}

fn events(reply: ChatReply) -> Vec<ChatEvent> {
    let (finish, usage) = (reply.first.finish, reply.usage);
    let mut events = Vec::new();
    for (choice, answer) in (0..).zip(std::iter::once(reply.first).chain(reply.more)) {
        deltas(choice, answer, &mut events);
    }
    events.push(ChatEvent::Done { finish, usage });
    events
}

fn deltas(choice: u32, answer: Choice, events: &mut Vec<ChatEvent>) {
    if !answer.content.is_empty() {
        events.push(ChatEvent::Delta(Delta::Text { choice, text: answer.content }));
    }
    for (index, call) in (0..).zip(answer.tool_calls) {
        let call = ToolDelta { index, id: Some(call.id), name: Some(call.name), arguments: call.arguments };
        events.push(ChatEvent::Delta(Delta::Tool { choice, call }));
    }
    if choice > 0 {
        events.push(ChatEvent::Delta(Delta::Finish { choice, finish: answer.finish }));
    }
}
