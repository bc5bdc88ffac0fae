//! The streamed answer.

use std::sync::Arc;

use futures::StreamExt;
use reqwest::Response;
use reqwest::header::CONTENT_TYPE;

use super::Server;
use super::assemble::Assembler;
use super::complete::read_reply;
use super::send::{reporter, send};
use crate::http::{Mode, Reporter, follow};
use crate::{Call, ChatEvent, ChatStream, Delta, Fault, Phase, Timeouts};

/// Opens the stream and reads on to its first delta, or to a proper end.
pub(super) async fn open(server: Arc<Server>, call: Call) -> Result<ChatStream, Fault> {
    let reporter = reporter(&server, &call);
    let response = send(&server, &reporter, &call, Mode::Streamed).await?;
    match form(&response) {
        Form::Events => follow(reporter, response, call.timeouts, Assembler::default()).await,
        Form::Json => whole(reporter, response, call.timeouts).await,
        Form::Page => {
            Err(reporter.transient(Phase::FirstDelta, "answered with a page, not with a chat: check base_url"))
        }
    }
}

/// What the server sends for a stream, by its `Content-Type`.
enum Form {
    Events,
    /// It does not stream, or reports an error under a status of success.
    Json,
    Page,
}

fn form(response: &Response) -> Form {
    let kind =
        response.headers().get(CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default().to_ascii_lowercase();
    if kind.contains("json") && !kind.contains("ndjson") {
        Form::Json
    } else if kind.contains("html") {
        Form::Page
    } else {
        // Some proxies lose the type, or call it plain text.
        Form::Events
    }
}

/// A server that answers in one piece although a stream was asked for.
async fn whole(reporter: Reporter, response: Response, timeouts: Timeouts) -> Result<ChatStream, Fault> {
    let phase = Phase::FirstDelta;
    let reply = read_reply(&reporter, response, timeouts.first_delta, phase).await?;
    let text = Some(reply.first.content).filter(|t| !t.is_empty());
    let done = ChatEvent::Done { finish: reply.first.finish, usage: reply.usage };
    let events = text.map(|text| ChatEvent::Delta(Delta::Text { choice: 0, text })).into_iter().chain([done]);
    Ok(futures::stream::iter(events.map(Ok)).boxed())
}
