//! The span of a chat and of each provider call, by the semantic conventions for generative AI. It is built from the
//! figures of the chain's response, never from content.

use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime};

use muster_gateway::{
    Attempt, AttemptOutcome, Chain, ChainError, CompletedChat, CompletedEmbedding, GatewayChatRequest, Settlement,
    StreamEnd,
};
use muster_providers::{FinishReason, Usage};

use super::Otel;
use super::context::Context;
use super::span::{Attribute, Kind, Span};
use crate::chat::label;

/// What a model is requested for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Chat,
    Embeddings,
}

impl Operation {
    fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Embeddings => "embeddings",
        }
    }
}

/// A chat from its request to its end.
#[derive(Debug)]
pub struct ChatSpan {
    otel: Otel,
    /// `None` if the caller does not want this request to be recorded; its metrics count all the same.
    context: Option<Context>,
    operation: Operation,
    requested_model: Option<String>,
    /// Tells which names of models may be labels.
    chain: Chain,
    begun: Instant,
    /// Provider calls of a stream, known once it is open.
    attempts: OnceLock<Vec<Attempt>>,
}

/// How a chat ended.
struct End<'a> {
    provider: Option<&'a str>,
    model: Option<&'a str>,
    usage: Usage,
    finish: Vec<String>,
    error: Option<&'static str>,
    took: Duration,
    attempts: &'a [Attempt],
}

impl ChatSpan {
    /// Begins the span whose identifier the providers of the chain receive.
    pub fn begin(otel: &Otel, chain: &Chain, request: &GatewayChatRequest) -> Self {
        Self::of(otel, chain, Operation::Chat, request.models.first().cloned(), request.traceparent.as_deref())
    }

    /// Begins the span of any operation, by the `traceparent` that the providers receive.
    pub fn of(
        otel: &Otel,
        chain: &Chain,
        operation: Operation,
        requested_model: Option<String>,
        traceparent: Option<&str>,
    ) -> Self {
        let context = traceparent.and_then(Context::of_chat);
        let context = context.filter(|context| context.sampled && otel.0.settings.traces);
        let attempts = OnceLock::new();
        let chain = chain.clone();
        Self { otel: otel.clone(), context, operation, requested_model, chain, begun: Instant::now(), attempts }
    }

    pub fn answered(&self, answer: &CompletedChat) {
        let choices = std::iter::once(&answer.reply.first).chain(&answer.reply.more);
        self.end(&End {
            provider: Some(&answer.provider_id),
            model: Some(&answer.model_id),
            usage: answer.usage,
            finish: choices.map(|choice| finish_name(choice.finish).to_owned()).collect(),
            error: None,
            took: answer.latency,
            attempts: &answer.attempts,
        });
    }

    pub fn embedded(&self, answer: &CompletedEmbedding) {
        self.end(&End {
            provider: Some(&answer.provider_id),
            model: Some(&answer.model_id),
            usage: answer.usage,
            finish: Vec::new(),
            error: None,
            took: answer.latency,
            attempts: &answer.attempts,
        });
    }

    /// Records that every provider failed, or that the request was rejected, before there was an answer.
    pub fn refused(&self, refused: &ChainError) {
        let last = refused.attempts.last();
        let error = last.and_then(|attempt| error_type(attempt.outcome)).unwrap_or("refused");
        self.end(&End {
            provider: last.map(|attempt| attempt.provider.as_str()),
            model: None,
            usage: Usage::default(),
            finish: Vec::new(),
            error: Some(error),
            took: self.begun.elapsed(),
            attempts: &refused.attempts,
        });
    }

    /// Records that a stream has its first content, and which providers were tried for it.
    pub fn opened(&self, attempts: &[Attempt]) {
        // Recorded once per stream.
        let _ = self.attempts.set(attempts.to_vec());
    }

    /// Records the end of a stream. A stream without content is recorded by [`ChatSpan::refused`], unless its reader
    /// left.
    pub fn settled(&self, end: &Settlement) {
        let error = match end.end {
            StreamEnd::Done => None,
            StreamEnd::Failed if end.provider_id.is_none() => return,
            StreamEnd::Failed => Some("stream_broken"),
            StreamEnd::ClientGone => Some("client_gone"),
        };
        self.end(&End {
            provider: end.provider_id.as_deref(),
            model: end.model_id.as_deref(),
            usage: end.usage,
            finish: Vec::new(),
            error,
            took: end.latency,
            attempts: self.attempts.get().map(Vec::as_slice).unwrap_or_default(),
        });
    }

    fn end(&self, end: &End<'_>) {
        let requested = self.requested_model.as_deref().or(end.model).unwrap_or("default");
        self.otel.0.figures.chat(
            self.operation.name(),
            end.provider,
            label(&self.chain, requested),
            end.model.map(|model| label(&self.chain, model)),
            end.usage,
            end.error,
            end.took,
        );
        let Some(context) = self.context else { return };
        let ended = SystemTime::now();
        let mut attributes: Vec<(&'static str, Attribute)> =
            vec![("gen_ai.operation.name", self.operation.name().into()), ("gen_ai.request.model", requested.into())];
        attributes.extend(end.provider.map(|provider| ("gen_ai.provider.name", provider.into())));
        attributes.extend(end.model.map(|model| ("gen_ai.response.model", model.into())));
        if end.usage.total() > 0 {
            attributes.push(("gen_ai.usage.input_tokens", end.usage.prompt_tokens.into()));
            attributes.push(("gen_ai.usage.output_tokens", end.usage.completion_tokens.into()));
        }
        if !end.finish.is_empty() {
            attributes.push(("gen_ai.response.finish_reasons", Attribute::Texts(end.finish.clone())));
        }
        attributes.extend(end.error.map(|error| ("error.type", error.into())));
        let (name, failed) = (format!("{} {requested}", self.operation.name()), end.error.is_some());
        // A single provider call is the chat itself; several calls get a span each.
        if end.attempts.len() > 1 {
            self.tell_attempts(context, end, ended);
        }
        self.otel.send(Span { context, name, kind: Kind::Client, ended, took: end.took, attributes, failed });
    }

    /// Attempts are laid out one after the other from the beginning of the chat by their durations. Hedged calls
    /// overlapped, and none ended after the chat.
    fn tell_attempts(&self, context: Context, end: &End<'_>, ended: SystemTime) {
        let mut at = ended.checked_sub(end.took).unwrap_or(ended);
        for attempt in end.attempts {
            let took = Duration::from_millis(attempt.latency_ms);
            at = (at + took).min(ended);
            let mut attributes: Vec<(&'static str, Attribute)> = vec![
                ("gen_ai.operation.name", self.operation.name().into()),
                ("gen_ai.provider.name", attempt.provider.as_str().into()),
                ("gen_ai.request.model", attempt.model.as_str().into()),
            ];
            let error = error_type(attempt.outcome);
            attributes.extend(error.map(|error| ("error.type", error.into())));
            let name = format!("{} {}", self.operation.name(), attempt.model);
            let (context, failed) = (context.child(), error.is_some());
            self.otel.send(Span { context, name, kind: Kind::Client, ended: at, took, attributes, failed });
        }
    }
}

fn error_type(outcome: AttemptOutcome) -> Option<&'static str> {
    (outcome != AttemptOutcome::Ok).then(|| outcome.name())
}

fn finish_name(finish: FinishReason) -> &'static str {
    match finish {
        FinishReason::Stop => "stop",
        FinishReason::Length => "length",
        FinishReason::ToolCalls => "tool_calls",
        FinishReason::ContentFilter => "content_filter",
    }
}
