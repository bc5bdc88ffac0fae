//! Turns a request into a job. Everything that can be rejected is rejected here, before any computation.

use std::borrow::Cow;

use crate::chat::{Format, GenerateRequest, Generation, ModelError};

use super::grammar;
use super::load::Ready;
use super::reply::Reply;
use super::sampler::Sampler;
use super::sequence::Job;
use crate::answer_parser::AnswerParser;
use crate::hermes::{CallParser, Trigger, turns_with_tools};
use crate::stop::StopMatcher;
use crate::tool::{ToolChoice, Toolbox};

const MAX_STOPS: usize = 16;
const MAX_STOP_BYTES: usize = 1024;

/// Checks a request against the model, tokenizes it and prepares its sampler.
pub(super) fn admit(ready: &Ready, request: GenerateRequest) -> Result<(Job, Generation), ModelError> {
    check(&request)?;
    let context = ready.info.context;
    let turns = turns_with_tools(&request.turns, request.tools());
    let tokens = ready.prompter.at_least(&turns);
    if tokens >= context {
        return Err(ModelError::ContextTooLong { tokens, context });
    }
    let prompt = ready.prompter.tokens(&turns)?;
    let tokens = u32::try_from(prompt.len()).unwrap_or(u32::MAX);
    if tokens >= context {
        return Err(ModelError::ContextTooLong { tokens, context });
    }
    let max_tokens = request.max_tokens.min(ready.info.max_tokens).min(context - tokens);
    let sampler = Sampler::new(&ready.model, &request)?;
    let (reply, generation) = Reply::channel(max_tokens);
    let calls =
        request.tools.as_ref().map(|toolbox| CallParser::new(trigger(&request, toolbox), grammar::most(toolbox)));
    let parser = AnswerParser::new(StopMatcher::new(request.stop), calls);
    let job = Job { prompt, max_tokens, sampler, parser, reply, epoch: ready.epoch };
    Ok((job, generation))
}

/// Only a free-text answer may contain text first and calls after it.
fn trigger(request: &GenerateRequest, toolbox: &Toolbox) -> Trigger {
    match (&toolbox.choice, &request.format) {
        (ToolChoice::Required | ToolChoice::Named(_), _) => Trigger::Certain,
        (ToolChoice::Auto, Format::Text) => Trigger::Anywhere,
        (ToolChoice::Auto, Format::JsonObject | Format::JsonSchema(_)) => Trigger::AtStart,
    }
}

/// Rejects fields that no model can serve.
fn check(request: &GenerateRequest) -> Result<(), ModelError> {
    let refuse = |field: &'static str, why: &str| {
        Err(ModelError::Unsupported { field: Cow::Borrowed(field), why: why.to_owned() })
    };
    if request.max_tokens == 0 {
        return refuse("max_tokens", "must be at least 1");
    }
    if !(0.0..=2.0).contains(&request.temperature) {
        return refuse("temperature", "must be between 0 and 2");
    }
    if !(0.0..=1.0).contains(&request.top_p) {
        return refuse("top_p", "must be between 0 and 1");
    }
    if !(-2.0..=2.0).contains(&request.presence_penalty) {
        return refuse("presence_penalty", "must be between -2 and 2");
    }
    if !(-2.0..=2.0).contains(&request.frequency_penalty) {
        return refuse("frequency_penalty", "must be between -2 and 2");
    }
    if request.stop.len() > MAX_STOPS || request.stop.iter().any(|stop| stop.is_empty() || stop.len() > MAX_STOP_BYTES)
    {
        return refuse("stop", "must be at most 16 texts of 1 to 1024 bytes");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::{ChatTurn, Role};

    fn request() -> GenerateRequest {
        GenerateRequest {
            turns: vec![ChatTurn::text(Role::User, "hello")],
            max_tokens: 1,
            temperature: 1.0,
            top_p: 1.0,
            presence_penalty: 0.0,
            frequency_penalty: 0.0,
            seed: None,
            stop: Vec::new(),
            format: Format::Text,
            tools: None,
        }
    }

    #[test]
    fn errors_name_fields_out_of_range() {
        assert_eq!(check(&request()), Ok(()));
        type Change = fn(&mut GenerateRequest);
        let changes: [(&str, Change); 8] = [
            ("max_tokens", |r| r.max_tokens = 0),
            ("temperature", |r| r.temperature = f32::NAN),
            ("temperature", |r| r.temperature = -0.1),
            ("top_p", |r| r.top_p = 1.1),
            ("presence_penalty", |r| r.presence_penalty = 2.5),
            ("frequency_penalty", |r| r.frequency_penalty = f32::INFINITY),
            ("stop", |r| r.stop = vec![String::new()]),
            ("stop", |r| r.stop = vec!["x".to_owned(); 17]),
        ];
        for (expected, change) in changes {
            let mut changed = request();
            change(&mut changed);
            match check(&changed) {
                Err(ModelError::Unsupported { field, .. }) => assert_eq!(field, expected),
                other => panic!("{expected}: {other:?}"),
            }
        }
    }
}
