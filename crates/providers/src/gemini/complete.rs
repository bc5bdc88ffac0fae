//! Complete answers.

use std::sync::Arc;

use super::send::{Method, reporter, send};
use super::wire::{self, AnswerContent, AnswerPart, Candidate, ending};
use crate::http::{Broken, Origin, Peeked, Reporter, read_body};
use crate::{Call, ChatReply, Choice, Fault, FinishReason, Phase};

pub(super) async fn complete(origin: Arc<Origin>, call: Call) -> Result<ChatReply, Fault> {
    let reporter = reporter(&origin, &call);
    let response = send(&origin, &reporter, &call, Method::Generate).await?;
    let mut reply = read_reply(&reporter, response, &call, Phase::Body).await?;
    if reply.model.is_empty() {
        reply.model = call.upstream_model;
    }
    Ok(reply)
}

/// Reads the body and parses it; faults carry `phase`. `model` is empty if the provider reports none.
pub(super) async fn read_reply(
    reporter: &Reporter,
    response: impl Into<Peeked>,
    call: &Call,
    phase: Phase,
) -> Result<ChatReply, Fault> {
    let body = read_body(reporter, response, call.timeouts.first_delta, phase).await?;
    parse(&body, call.request.max_calls()).map_err(|broken| fault(reporter, phase, broken))
}

/// Maps a broken complete answer to a fault.
pub(super) fn fault(reporter: &Reporter, phase: Phase, broken: Broken) -> Fault {
    let malformed = |why: &str| reporter.transient(phase, format_args!("sent a malformed answer: {why}"));
    match broken {
        Broken::Reported(body) => reporter.reported(phase, &body),
        Broken::Malformed(why) => malformed(&why),
        Broken::Cut => malformed("an unfinished answer"),
    }
}

fn parse(body: &[u8], max_calls: usize) -> Result<ChatReply, Broken> {
    let generated = wire::read(body)?;
    let usage = generated.usage();
    let blocked = generated.is_blocked();
    let model = generated.model_version.unwrap_or_default();
    let mut candidates = generated.candidates.unwrap_or_default();
    candidates.sort_by_key(Candidate::index);
    let mut choices = candidates
        .into_iter()
        .map(|candidate| choice(candidate, max_calls))
        .collect::<Result<Vec<_>, _>>()?
        .into_iter();
    match choices.next() {
        Some(first) => Ok(ChatReply { first, more: choices.collect(), usage, model, verbatim: None }),
        // A blocked prompt is a proper answer: empty, with a content-filter finish.
        None if blocked => Ok(ChatReply::text("", FinishReason::ContentFilter, usage, model)),
        None => Err(Broken::Malformed("no candidates".to_owned())),
    }
}

/// Calls beyond `max_calls` are left out: this API has no setting that keeps a model from several.
fn choice(mut candidate: Candidate, max_calls: usize) -> Result<Choice, Broken> {
    let mut content_so_far = AnswerContent::default();
    let mut choice = Choice::text("", FinishReason::Stop);
    for part_or_error in candidate.take_parts() {
        content_so_far = content_so_far.and(&part_or_error);
        match part_or_error {
            AnswerPart::Text(text) => choice.content.push_str(&text),
            AnswerPart::Call(call) if choice.tool_calls.len() < max_calls => choice.tool_calls.push(call),
            AnswerPart::Call(_) => {}
        }
    }
    choice.finish = match candidate.finish_reason() {
        Some(reason) => ending(reason, content_so_far)?,
        None if content_so_far == AnswerContent::Nothing => return Err(Broken::Cut),
        None => content_so_far.plain_end(),
    };
    Ok(choice)
}
