//! State of one request in the engine.

use std::time::Instant;

use llama_cpp_2::token::LlamaToken;

use super::reply::Reply;
use super::sampler::Sampler;
use crate::answer_parser::AnswerParser;
use crate::chat::{Finish, ModelError, TokenUsage};
use crate::utf8::Utf8Buffer;

/// An admitted request that waits for a slot.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) prompt: Vec<LlamaToken>,
    /// At least 1; together with the prompt within the context.
    pub(super) max_tokens: u32,
    pub(super) sampler: Sampler,
    pub(super) parser: AnswerParser,
    pub(super) reply: Reply,
    /// Epoch of the model that tokenized the prompt.
    pub(super) epoch: u64,
}

/// A request that occupies a slot of the context.
#[derive(Debug)]
pub(super) struct Sequence {
    /// Sequence id in the context.
    pub(super) slot: u32,
    pub(super) job: Job,
    /// Number of prompt tokens already in the context.
    pub(super) read: usize,
    /// Token that the next step adds to the context.
    pub(super) last: Option<LlamaToken>,
    generated: u32,
    text: Utf8Buffer,
    begun: Instant,
}

/// Meaning of a sampled token.
pub(super) enum TokenPiece {
    EndOfText,
    Bytes(Vec<u8>),
}

impl Sequence {
    pub(super) fn new(slot: u32, job: Job) -> Self {
        Self { slot, job, read: 0, last: None, generated: 0, text: Utf8Buffer::default(), begun: Instant::now() }
    }

    /// Prompt tokens still to be processed; 0 once it generates.
    pub(super) fn unread(&self) -> usize {
        self.job.prompt.len() - self.read
    }

    /// Position of the next token.
    pub(super) fn position(&self) -> usize {
        self.read + usize::try_from(self.generated).unwrap_or(usize::MAX).saturating_sub(1)
    }

    pub(super) fn age(&self) -> std::time::Duration {
        self.begun.elapsed()
    }

    /// Processes a sampled token and sends events; returns `true` once the request has ended.
    pub(super) fn take(&mut self, token: LlamaToken, piece: TokenPiece) -> bool {
        let bytes = match piece {
            TokenPiece::EndOfText => return self.finish(Finish::Stop),
            TokenPiece::Bytes(bytes) => bytes,
        };
        self.generated += 1;
        if let Err(error) = self.job.sampler.accept(token) {
            return self.fail(error);
        }
        let (events, end) = self.job.parser.push(&self.text.push(&bytes));
        self.job.reply.send_events(events);
        if let Some(finish) = end {
            return self.done(finish);
        }
        if self.generated >= self.job.max_tokens {
            return self.finish(Finish::Length);
        }
        self.last = Some(token);
        false
    }

    pub(super) fn fail(&mut self, error: ModelError) -> bool {
        self.job.reply.fail(error);
        true
    }

    fn finish(&mut self, finish: Finish) -> bool {
        let (events, finish) = self.job.parser.finish(finish);
        self.job.reply.send_events(events);
        self.done(finish)
    }

    fn done(&mut self, finish: Finish) -> bool {
        let prompt = u32::try_from(self.job.prompt.len()).unwrap_or(u32::MAX);
        self.job.reply.done(finish, TokenUsage { prompt, completion: self.generated });
        true
    }
}
