//! One request on its way through the engine.

use std::time::Instant;

use llama_cpp_2::token::LlamaToken;

use super::reply::Reply;
use super::sampler::Sampler;
use crate::chat::{Finish, ModelError, TokenUsage};
use crate::speech::Speech;
use crate::utf8::Utf8Buffer;

/// A request that was admitted and waits for a slot.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) prompt: Vec<LlamaToken>,
    /// At least 1, and with the prompt within the context.
    pub(super) max_tokens: u32,
    pub(super) sampler: Sampler,
    pub(super) speech: Speech,
    pub(super) reply: Reply,
    /// The loading of the model that tokenized the prompt.
    pub(super) epoch: u64,
}

/// A request that has a slot of the context.
#[derive(Debug)]
pub(super) struct Sequence {
    /// Sequence id in the context.
    pub(super) slot: u32,
    pub(super) job: Job,
    /// Prompt tokens that are in the context.
    pub(super) read: usize,
    /// The token that the next step puts into the context.
    pub(super) last: Option<LlamaToken>,
    generated: u32,
    text: Utf8Buffer,
    begun: Instant,
}

/// What the next token means, as the vocabulary says.
pub(super) enum Piece {
    EndOfText,
    Bytes(Vec<u8>),
}

impl Sequence {
    pub(super) fn new(slot: u32, job: Job) -> Self {
        Self { slot, job, read: 0, last: None, generated: 0, text: Utf8Buffer::default(), begun: Instant::now() }
    }

    /// Prompt tokens to read, 0 once it generates.
    pub(super) fn unread(&self) -> usize {
        self.job.prompt.len() - self.read
    }

    /// Where the next token goes.
    pub(super) fn position(&self) -> usize {
        self.read + usize::try_from(self.generated).unwrap_or(usize::MAX).saturating_sub(1)
    }

    pub(super) fn age(&self) -> std::time::Duration {
        self.begun.elapsed()
    }

    /// Takes a sampled token; tells the reader; `true` once the request has ended.
    pub(super) fn take(&mut self, token: LlamaToken, piece: Piece) -> bool {
        let bytes = match piece {
            Piece::EndOfText => return self.finish(Finish::Stop),
            Piece::Bytes(bytes) => bytes,
        };
        self.generated += 1;
        if let Err(error) = self.job.sampler.accept(token) {
            return self.fail(error);
        }
        let (said, end) = self.job.speech.push(&self.text.push(&bytes));
        self.job.reply.say(said);
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
        let (said, finish) = self.job.speech.finish(finish);
        self.job.reply.say(said);
        self.done(finish)
    }

    fn done(&mut self, finish: Finish) -> bool {
        let prompt = u32::try_from(self.job.prompt.len()).unwrap_or(u32::MAX);
        self.job.reply.done(finish, TokenUsage { prompt, completion: self.generated });
        true
    }
}
