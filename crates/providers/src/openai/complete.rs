//! Complete answers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::send::{reporter, send};
use super::tools::Calls;
use super::wire::{Completion, Finish, MessageContent, WireCall, WireChoice, reason};
use super::{Reading, Server};
use crate::http::{Mode, Peeked, Reporter, read_body};
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

/// Reads the body within `limit` and parses it; faults carry `phase`. `model` is empty if the provider reports none.
pub(super) async fn read_reply(
    reporter: &Reporter,
    response: impl Into<Peeked>,
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
    // An answer that a strict client would misread is parsed and encoded again.
    let passes = reading.verbatim && completion.is_standard();
    let mut reply = reply(completion, reading).map_err(|why| reporter.transient(phase, why))?;
    reply.verbatim = passes.then(|| body.into());
    Ok(reply)
}

fn malformed(why: impl std::fmt::Display) -> String {
    format!("sent a malformed answer: {why}")
}

/// Further answers are optional; the first one is required.
fn reply(mut completion: Completion, reading: Reading) -> Result<ChatReply, String> {
    let usage = completion.usage();
    let mut choices: BTreeMap<u32, WireChoice> = completion.take_choices(reading.choices).collect();
    let first = choices.remove(&0).ok_or_else(|| malformed("no choices"))?;
    let first = choice(0, first, reading)?;
    let more = choices.into_iter().map(|(number, wire)| choice(number, wire, reading)).collect::<Result<_, _>>()?;
    Ok(ChatReply { first, more, usage, model: completion.model.unwrap_or_default(), verbatim: None })
}

/// An answer with content but without `finish_reason` ended properly: some servers omit it.
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
    let mut message_content = message.unwrap_or_default();
    let content = message_content.take_text();
    let tool_calls = tool_calls(number, message_content, reading)?;
    if finish.is_none() && content.is_empty() && tool_calls.is_empty() {
        return Err(malformed("an unfinished message"));
    }
    let finish = reason(finish.unwrap_or(FinishReason::Stop), !tool_calls.is_empty());
    Ok(Choice { content, tool_calls, finish })
}

/// Each call is complete and separate, so its index is irrelevant.
fn tool_calls(number: u32, mut message_content: MessageContent, reading: Reading) -> Result<Vec<ToolCall>, String> {
    let mut calls = Calls::default();
    let mut whole = Vec::new();
    for (place, call) in (0..).zip(message_content.take_calls()) {
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
