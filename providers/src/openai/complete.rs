//! The whole answer at once.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Response;
use serde_json::Value;

use super::Server;
use super::send::{reporter, send};
use super::wire::{Completion, Finish};
use crate::http::{Mode, Reporter, read_body};
use crate::{Call, ChatReply, Fault, FinishReason, Phase};

pub(super) async fn complete(server: Arc<Server>, call: Call) -> Result<ChatReply, Fault> {
    let reporter = reporter(&server, &call);
    let response = send(&server, &reporter, &call, Mode::Whole).await?;
    let mut reply = read_reply(&reporter, response, call.timeouts.first_delta, Phase::Body).await?;
    if reply.model.is_empty() {
        reply.model = call.upstream_model;
    }
    Ok(reply)
}

/// Reads the body within `limit` and parses it; faults carry `phase`. `model` is empty where the provider names none.
pub(super) async fn read_reply(
    reporter: &Reporter,
    response: Response,
    limit: Duration,
    phase: Phase,
) -> Result<ChatReply, Fault> {
    let body = read_body(reporter, response, limit, phase).await?;
    parse(reporter, &body, phase)
}

/// An answer without `finish_reason` but with text ended properly: some servers leave it out.
fn parse(reporter: &Reporter, body: &[u8], phase: Phase) -> Result<ChatReply, Fault> {
    let malformed = |why: String| reporter.transient(phase, format_args!("sent a malformed answer: {why}"));
    let completion: Result<Completion, _> = serde_json::from_slice(body);
    let mut completion = match completion {
        Ok(completion) if !completion.is_error() => completion,
        Ok(_) => return Err(reporter.reported(phase, &json(body))),
        Err(error) => return Err(malformed(error.to_string())),
    };
    let usage = completion.usage();
    let Some(mut choice) = completion.take_choice() else {
        return Err(malformed("no choices".to_owned()));
    };
    let finish = choice.finish();
    let text = choice.take_message();
    match (finish, text) {
        (Some(Finish::Broken), _) => Err(reporter.transient(phase, "says that its model failed")),
        (None, None) => Err(malformed("no message".to_owned())),
        (None, Some(text)) if text.is_empty() => Err(malformed("an unfinished message".to_owned())),
        (finish, text) => {
            let finish = match finish {
                Some(Finish::Proper(reason)) => reason,
                _ => FinishReason::Stop,
            };
            Ok(ChatReply::text(text.unwrap_or_default(), finish, usage, completion.model.unwrap_or_default()))
        }
    }
}

fn json(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap_or_default()
}
