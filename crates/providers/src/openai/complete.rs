//! The whole answer at once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Response;
use serde_json::Value;

use super::send::{reporter, send};
use super::tools::Calls;
use super::wire::{Completion, Finish, Said, WireCall, WireChoice, reason};
use super::{Reading, Server};
use crate::http::{Mode, Reporter, read_body};
use crate::{Call, ChatReply, Choice, Fault, FinishReason, Phase, ToolCall};

pub(super) async fn complete(server: Arc<Server>, call: Call) -> Result<ChatReply, Fault> {
    let reporter = reporter(&server, &call);
    let (response, reading) = send(&server, &reporter, &call, Mode::Whole).await?;
    let mut reply = read_reply(&reporter, response, call.timeouts.first_delta, Phase::Body, reading).await?;
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
    reading: Reading,
) -> Result<ChatReply, Fault> {
    let body = read_body(reporter, response, limit, phase).await?;
    let completion: Result<Completion, _> = serde_json::from_slice(&body);
    let completion = match completion {
        Ok(completion) if !completion.is_error() => completion,
        Ok(_) => return Err(reporter.reported(phase, &json(&body))),
        Err(error) => return Err(reporter.transient(phase, malformed(&error))),
    };
    // An answer that its client would misread goes the long way.
    let passes = reading.verbatim && completion.is_by_the_book();
    let mut reply = reply(completion, reading).map_err(|why| reporter.transient(phase, why))?;
    reply.verbatim = passes.then(|| body.into());
    Ok(reply)
}

fn malformed(why: impl std::fmt::Display) -> String {
    format!("sent a malformed answer: {why}")
}

/// The further answers are those that came; the first one must be there.
fn reply(mut completion: Completion, reading: Reading) -> Result<ChatReply, String> {
    let usage = completion.usage();
    let mut choices: BTreeMap<u32, WireChoice> = completion.take_choices(reading.choices).collect();
    let first = choices.remove(&0).ok_or_else(|| malformed("no choices"))?;
    let first = choice(0, first, reading)?;
    let more = choices.into_iter().map(|(number, wire)| choice(number, wire, reading)).collect::<Result<_, _>>()?;
    Ok(ChatReply { first, more, usage, model: completion.model.unwrap_or_default(), verbatim: None })
}

/// An answer without `finish_reason` but with content ended properly: some servers leave it out.
fn choice(number: u32, mut wire: WireChoice, reading: Reading) -> Result<Choice, String> {
    let finish = match wire.finish() {
        Some(Finish::Broken) => return Err("says that its model failed".to_owned()),
        Some(Finish::Proper(finish)) => Some(finish),
        None => None,
    };
    let message = wire.message.take();
    if finish.is_none() && message.is_none() {
        return Err(malformed("no message"));
    }
    let mut said = message.unwrap_or_default();
    let content = said.take_text();
    let tool_calls = tool_calls(number, said, reading)?;
    if finish.is_none() && content.is_empty() && tool_calls.is_empty() {
        return Err(malformed("an unfinished message"));
    }
    let finish = reason(finish.unwrap_or(FinishReason::Stop), !tool_calls.is_empty());
    Ok(Choice { content, tool_calls, finish })
}

/// Each call is whole and one of its own, so that its number says nothing.
fn tool_calls(number: u32, mut said: Said, reading: Reading) -> Result<Vec<ToolCall>, String> {
    let mut calls = Calls::default();
    let mut whole = Vec::new();
    for (place, call) in (0..).zip(said.take_calls()) {
        let delta = calls
            .accept(WireCall { index: Some(place), ..call }, |call| reading.ids.make(number, call))
            .map_err(|_| malformed("more tool calls than anyone can mean"))?;
        if let Some(call) = delta
            && let Some(name) = call.name
        {
            whole.push(ToolCall { id: call.id.unwrap_or_default(), name, arguments: call.arguments });
        }
    }
    Ok(whole)
}

fn json(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap_or_default()
}
