//! Continuous batching over one context.

use std::num::NonZeroU32;
use std::sync::Arc;

use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::context::params::LlamaContextParams;
use llama_cpp_2::llama_batch::LlamaBatch;
use llama_cpp_2::token::LlamaToken;

use super::load::{Ready, backend, is_current};
use super::sequence::{Sequence, TokenPiece};
use super::shared::{Next, Shared};
use crate::plan::{STEP_TOKENS, share_prompt_tokens};

/// How serving ended.
pub(super) enum Outcome {
    Stop,
    Reload,
    /// The context can no longer be trusted.
    Failed(String),
}

/// Serves requests until a command ends it.
pub(super) fn serve(shared: &Arc<Shared>, ready: &Arc<Ready>) -> Outcome {
    let mut server = match Server::new(shared, ready) {
        Ok(server) => server,
        Err(why) => return Outcome::Failed(why),
    };
    shared.set_ready(ready);
    loop {
        server.drop_cancelled();
        match shared.next(server.running.len(), ready.epoch) {
            Next::Stop => return Outcome::Stop,
            Next::Reload => return Outcome::Reload,
            Next::CheckFile => {
                if !is_current(shared, ready) {
                    shared.drain();
                }
                continue;
            }
            Next::Panic => die(),
            Next::Step(jobs) => {
                for job in jobs {
                    // `next` returns no more jobs than there are free slots.
                    let Some(slot) = server.free.pop() else { break };
                    server.running.push(Sequence::new(slot, job));
                }
            }
        }
        if let Err(why) = server.step() {
            return Outcome::Failed(why);
        }
    }
}

#[expect(clippy::panic, reason = "the fault that tests inject")]
fn die() -> ! {
    panic!("injected fault")
}

struct Server<'a> {
    shared: &'a Shared,
    ready: &'a Ready,
    context: LlamaContext<'a>,
    batch: LlamaBatch<'static>,
    /// Oldest first.
    running: Vec<Sequence>,
    free: Vec<u32>,
}

impl<'a> Server<'a> {
    fn new(shared: &'a Shared, ready: &'a Ready) -> Result<Self, String> {
        let options = &shared.options;
        let slots = u32::try_from(options.slots).unwrap_or(1);
        let threads = i32::try_from(options.threads).unwrap_or(1);
        let step = u32::try_from(STEP_TOKENS).unwrap_or(1);
        let parameters = LlamaContextParams::default()
            .with_n_ctx(NonZeroU32::new(ready.info.context.saturating_mul(slots)))
            .with_n_seq_max(slots)
            .with_kv_unified(true)
            .with_n_batch(step)
            .with_n_ubatch(step)
            .with_n_threads(threads)
            .with_n_threads_batch(threads);
        let context = ready.model.new_context(backend()?, parameters).map_err(|error| {
            format!("no context of {slots} times {} tokens could be made: {error}", ready.info.context)
        })?;
        let batch = LlamaBatch::new(STEP_TOKENS, 1);
        Ok(Self { shared, ready, context, batch, running: Vec::new(), free: (0..slots).rev().collect() })
    }

    fn drop_cancelled(&mut self) {
        for index in (0..self.running.len()).rev() {
            if self.running.get(index).is_some_and(|sequence| sequence.job.reply.is_cancelled()) {
                self.release(index);
            }
        }
    }

    /// Frees the slot and clears its part of the context.
    fn release(&mut self, index: usize) {
        let sequence = self.running.remove(index);
        if let Err(error) = self.context.clear_kv_cache_seq(Some(sequence.slot), None, None) {
            tracing::error!(%error, slot = sequence.slot, "the cache of a finished request was not cleared");
        }
        self.free.push(sequence.slot);
        self.shared.count_finished(sequence.age());
    }

    /// Runs one decode, and samples one token for each sequence whose prompt is complete.
    fn step(&mut self) -> Result<(), String> {
        let rows = self.fill_batch()?;
        if self.batch.n_tokens() == 0 {
            return Ok(());
        }
        self.context.decode(&mut self.batch).map_err(|error| format!("decoding failed: {error}"))?;
        // In reverse order, so that removals do not move entries still to be visited.
        for (index, row) in rows.into_iter().rev() {
            if self.sample(index, row) {
                self.release(index);
            }
        }
        Ok(())
    }

    /// Fills the batch and returns the sequences to sample with their logits rows.
    fn fill_batch(&mut self) -> Result<Vec<(usize, i32)>, String> {
        self.batch.clear();
        let unread: Vec<usize> = self.running.iter().map(Sequence::unread).collect();
        let (mut rows, mut prompt_tokens) = (Vec::with_capacity(unread.len()), 0);
        for (index, (sequence, share)) in self.running.iter_mut().zip(share_prompt_tokens(&unread)).enumerate() {
            if let Some(token) = sequence.last {
                add(&mut self.batch, token, sequence.position(), sequence.slot, Logits::Wanted)?;
                rows.push((index, self.batch.n_tokens() - 1));
                continue;
            }
            let end = sequence.job.prompt.len();
            for _ in 0..share {
                let Some(token) = sequence.job.prompt.get(sequence.read).copied() else { break };
                let logits = if sequence.read + 1 == end { Logits::Wanted } else { Logits::Skipped };
                add(&mut self.batch, token, sequence.read, sequence.slot, logits)?;
                sequence.read += 1;
                prompt_tokens += 1;
            }
            if sequence.read == end {
                rows.push((index, self.batch.n_tokens() - 1));
            }
        }
        self.shared.count_step(prompt_tokens, 0);
        Ok(rows)
    }

    /// Returns `true` once the sequence has ended.
    fn sample(&mut self, index: usize, row: i32) -> bool {
        let Some(sequence) = self.running.get_mut(index) else { return false };
        let token = match sequence.job.sampler.next(&self.context, row) {
            Ok(token) => token,
            Err(error) => return sequence.fail(error),
        };
        let vocab = self.ready.model.vocab();
        if vocab.is_eog(token) {
            return sequence.take(token, TokenPiece::EndOfText);
        }
        self.shared.count_step(0, 1);
        sequence.take(token, TokenPiece::Bytes(vocab.token_to_piece(token, false, None)))
    }
}

/// Whether a token's logits are computed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Logits {
    Wanted,
    Skipped,
}

fn add(
    batch: &mut LlamaBatch<'_>,
    token: LlamaToken,
    position: usize,
    slot: u32,
    logits: Logits,
) -> Result<(), String> {
    let position = i32::try_from(position).map_err(|error| error.to_string())?;
    let slot = i32::try_from(slot).map_err(|error| error.to_string())?;
    batch.add(token, position, &[slot], logits == Logits::Wanted).map_err(|error| format!("the batch is full: {error}"))
}
