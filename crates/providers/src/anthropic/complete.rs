//! Complete answers.

use std::sync::Arc;

use serde_json::Value;

use super::fence::Unfence;
use super::send::{reporter, send};
use super::wire::{Block, Message, finish};
use crate::http::{Mode, Origin, Reporter, read_body};
use crate::{Call, ChatReply, Choice, Fault, FinishReason, Phase, ResponseFormat, ToolCall};

pub(super) async fn complete(origin: Arc<Origin>, call: Call) -> Result<ChatReply, Fault> {
    let reporter = reporter(&origin, &call);
    let response = send(&origin, &reporter, &call, Mode::Whole).await?;
    let body = read_body(&reporter, response, call.timeouts.first_delta, Phase::Body).await?;
    parse(&reporter, &body, &call, Phase::Body)
}

/// Parses a complete message; faults carry `phase`. A message with content but without a stop reason ended properly.
pub(super) fn parse(reporter: &Reporter, body: &[u8], call: &Call, phase: Phase) -> Result<ChatReply, Fault> {
    let malformed =
        |why: &dyn std::fmt::Display| reporter.transient(phase, format_args!("sent a malformed answer: {why}"));
    let value: Value = serde_json::from_slice(body).map_err(|error| malformed(&error))?;
    if value.get("error").is_some_and(|error| !error.is_null()) {
        return Err(reporter.reported(phase, &value));
    }
    let message: Message = serde_json::from_value(value).map_err(|error| malformed(&error))?;
    let (content, tool_calls) = read(message.content);
    let content = match call.request.format {
        ResponseFormat::JsonObject => bare(&content),
        ResponseFormat::Text | ResponseFormat::JsonSchema { .. } => content,
    };
    let finish = match message.stop_reason.as_deref() {
        Some(reason) => finish(reason),
        None if !content.is_empty() || !tool_calls.is_empty() => FinishReason::Stop,
        None => return Err(malformed(&"neither content nor a stop reason")),
    };
    Ok(ChatReply {
        first: Choice { content, tool_calls, finish },
        more: Vec::new(),
        usage: message.usage.and_then(super::wire::TokenCounts::usage),
        model: message.model.filter(|name| !name.is_empty()).unwrap_or_else(|| call.upstream_model.clone()),
        verbatim: None,
    })
}

fn read(blocks: Vec<Block>) -> (String, Vec<ToolCall>) {
    let (mut text, mut calls) = (String::new(), Vec::new());
    for block in blocks {
        match block {
            Block::Text { text: more } => text.push_str(&more),
            Block::ToolUse { id, name, input } => {
                calls.push(ToolCall { id, name, arguments: Value::Object(input).to_string() });
            }
            Block::Other => {}
        }
    }
    (text, calls)
}

fn bare(text: &str) -> String {
    let mut filter = Unfence::default();
    let mut bare = filter.push(text);
    bare.push_str(&filter.finish());
    bare
}
