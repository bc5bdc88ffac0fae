//! Streamed answers.

use std::sync::Arc;

use futures::StreamExt;

use super::assemble::Assembler;
use super::complete::parse;
use super::send::{reporter, send};
use crate::http::{BodyKind, Mode, Origin, Peeked, Reporter, follow, peek, read_body};
use crate::{Call, ChatEvent, ChatStream, Delta, Fault, Phase, ToolDelta};

/// Opens the stream and reads up to its first delta, or to a proper end.
pub(super) async fn open(origin: Arc<Origin>, call: Call) -> Result<ChatStream, Fault> {
    let reporter = reporter(&origin, &call);
    let response = send(&origin, &reporter, &call, Mode::Streamed).await?;
    let timeouts = call.timeouts;
    let (kind, response) = peek(&reporter, response, timeouts.first_delta).await?;
    match kind {
        BodyKind::Json => whole(&reporter, response, &call).await,
        BodyKind::Page => {
            Err(reporter.transient(Phase::FirstDelta, "answered with a page, not with a message: check base_url"))
        }
        BodyKind::Events => follow(reporter, response, timeouts, Assembler::new(&call.request.format)).await,
    }
}

/// Handles a proxy that answers at once although a stream was requested, or reports an error as a success.
async fn whole(reporter: &Reporter, response: Peeked, call: &Call) -> Result<ChatStream, Fault> {
    let phase = Phase::FirstDelta;
    let body = read_body(reporter, response, call.timeouts.first_delta, phase).await?;
    let reply = parse(reporter, &body, call, phase)?;
    let text = Some(reply.first.content).filter(|text| !text.is_empty()).map(|text| Delta::Text { choice: 0, text });
    let tools = (0..).zip(reply.first.tool_calls).map(|(index, call)| Delta::Tool {
        choice: 0,
        call: ToolDelta { index, id: Some(call.id), name: Some(call.name), arguments: call.arguments },
    });
    let done = ChatEvent::Done { finish: reply.first.finish, usage: reply.usage };
    let events: Vec<_> = text.into_iter().chain(tools).map(ChatEvent::Delta).chain([done]).map(Ok).collect();
    Ok(futures::stream::iter(events).boxed())
}
