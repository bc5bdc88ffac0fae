//! The waiting line: which texts are computed together, and what of each request is done. Pure.
//!
//! Requests take turns text by text, so that a small one is not held up by a large one. A request is in the line from
//! its admission to its answer.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use super::super::{EmbedError, Embeddings};

/// Tokens computed in one step, unless one text alone has more. Enough that reading the weights costs little beside it.
const STEP_TOKENS: usize = 256;
/// Below this, a step is not made smaller for the sake of the other threads.
const SMALL_STEP_TOKENS: usize = 64;
/// What a text is taken to cost before any was computed.
const FIRST_GUESS: Duration = Duration::from_millis(20);
const LONGEST_RETRY: Duration = Duration::from_secs(60);

/// Where an answer goes.
pub(super) trait Reply {
    /// Nobody waits for it any more.
    fn is_gone(&self) -> bool;
    fn send(self, answer: Result<Embeddings, EmbedError>);
}

/// Something to do.
#[derive(Debug, PartialEq)]
pub(super) enum Work {
    /// Read these texts into tokens, for [`Line::tokenized`].
    Tokenize(u64, Arc<[String]>),
    /// Compute these, for [`Line::computed`] or [`Line::died`].
    Compute(Step),
}

/// Texts that are computed together.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Step {
    pub(super) tokens: Vec<Vec<u32>>,
    /// The request of each, and its place there.
    tickets: Vec<(u64, usize)>,
}

#[derive(Debug)]
struct Request<R> {
    texts: Arc<[String]>,
    /// Of each text, once they are read; taken when it is computed.
    tokens: Vec<Vec<u32>>,
    counts: Vec<u32>,
    /// Texts handed out to be computed.
    handed: usize,
    vectors: Vec<Vec<f32>>,
    missing: usize,
    reply: R,
}

#[derive(Debug)]
pub(super) struct Line<R> {
    requests: BTreeMap<u64, Request<R>>,
    /// Not yet read into tokens, oldest first.
    fresh: VecDeque<u64>,
    /// With texts not yet handed out, whose turn it is first.
    turns: VecDeque<u64>,
    next: u64,
    /// Texts of all requests.
    texts: usize,
    /// Read and not yet handed out.
    tokens: usize,
    most: usize,
    threads: usize,
    mean_text: Duration,
}

impl<R: Reply> Line<R> {
    /// `most`: texts at the same time; `threads`: steps at the same time.
    pub(super) fn new(most: usize, threads: usize) -> Self {
        Self {
            requests: BTreeMap::new(),
            fresh: VecDeque::new(),
            turns: VecDeque::new(),
            next: 0,
            texts: 0,
            tokens: 0,
            most,
            threads: threads.max(1),
            mean_text: FIRST_GUESS,
        }
    }

    /// Texts admitted and not yet answered.
    pub(super) fn len(&self) -> usize {
        self.texts
    }

    /// Lets a request in, or answers it at once.
    pub(super) fn admit(&mut self, texts: Vec<String>, reply: R) {
        if texts.is_empty() {
            return reply.send(Ok(Embeddings::default()));
        }
        if texts.len() > self.most {
            return reply.send(Err(EmbedError::TooMany { texts: texts.len(), most: self.most }));
        }
        if self.texts + texts.len() > self.most {
            self.sweep();
        }
        if self.texts + texts.len() > self.most {
            let ahead = u32::try_from(self.texts / self.threads).unwrap_or(u32::MAX);
            let wait = self.mean_text.saturating_mul(ahead).clamp(Duration::from_secs(1), LONGEST_RETRY);
            return reply.send(Err(EmbedError::Busy { retry_after: wait }));
        }
        let (id, missing) = (self.next, texts.len());
        self.next += 1;
        self.texts += missing;
        self.fresh.push_back(id);
        let (texts, vectors) = (Arc::from(texts), vec![Vec::new(); missing]);
        let request = Request { texts, tokens: Vec::new(), counts: Vec::new(), handed: 0, vectors, missing, reply };
        self.requests.insert(id, request);
    }

    /// Forgets those for whom nobody waits.
    fn sweep(&mut self) {
        let gone = self.requests.iter().filter(|(_, request)| request.reply.is_gone()).map(|(id, _)| *id);
        for id in gone.collect::<Vec<_>>() {
            self.remove(id);
        }
    }

    /// What is to be done next, if anything. Reading goes first: it is short, and a text too long is told soon.
    pub(super) fn work(&mut self) -> Option<Work> {
        self.sweep();
        while let Some(id) = self.fresh.pop_front() {
            if let Some(request) = self.requests.get(&id) {
                return Some(Work::Tokenize(id, Arc::clone(&request.texts)));
            }
        }
        // All threads get their share of what waits, in ever smaller steps, and so end together.
        let bound = self.tokens.div_ceil(self.threads).clamp(SMALL_STEP_TOKENS, STEP_TOKENS);
        let mut step = Step::default();
        let mut tokens = 0;
        while let Some(id) = self.turns.pop_front() {
            let Some(request) = self.requests.get_mut(&id) else { continue };
            let Some(text) = request.tokens.get_mut(request.handed) else { continue };
            if tokens > 0 && tokens + text.len() > bound {
                self.turns.push_front(id);
                break;
            }
            tokens += text.len();
            self.tokens = self.tokens.saturating_sub(text.len());
            step.tokens.push(std::mem::take(text));
            step.tickets.push((id, request.handed));
            request.handed += 1;
            if request.handed < request.texts.len() {
                self.turns.push_back(id);
            }
        }
        (!step.tokens.is_empty()).then_some(Work::Compute(step))
    }

    /// The tokens of a request's texts, one list for each, or why it is refused.
    pub(super) fn tokenized(&mut self, id: u64, read: Result<Vec<Vec<u32>>, EmbedError>) {
        let tokens = match read {
            Ok(tokens) => tokens,
            Err(error) => return self.answer(id, Err(error)),
        };
        let Some(request) = self.requests.get_mut(&id) else { return };
        request.counts = tokens.iter().map(|text| u32::try_from(text.len()).unwrap_or(u32::MAX)).collect();
        self.tokens += tokens.iter().map(Vec::len).sum::<usize>();
        request.tokens = tokens;
        self.turns.push_back(id);
    }

    /// The vectors of a step, in its order. `took`: for all of them, on one thread.
    pub(super) fn computed(&mut self, step: &Step, vectors: Vec<Vec<f32>>, took: Duration) {
        let each = took / u32::try_from(step.tickets.len().max(1)).unwrap_or(u32::MAX);
        self.mean_text = (self.mean_text * 7 + each) / 8;
        for ((id, place), vector) in step.tickets.iter().zip(vectors) {
            let Some(request) = self.requests.get_mut(id) else { continue };
            if let Some(at) = request.vectors.get_mut(*place) {
                *at = vector;
            }
            request.missing = request.missing.saturating_sub(1);
            if request.missing == 0 {
                let vectors = std::mem::take(&mut request.vectors);
                let tokens = std::mem::take(&mut request.counts);
                self.answer(*id, Ok(Embeddings { vectors, tokens }));
            }
        }
    }

    /// The engine died over a step: its requests fail, the others wait for the next life.
    pub(super) fn died(&mut self, step: &Step, why: &str) {
        for (id, _) in &step.tickets {
            self.answer(*id, Err(EmbedError::Failed { why: why.to_owned() }));
        }
    }

    /// Nothing can be computed any more: everyone is told.
    pub(super) fn fail_all(&mut self, error: &EmbedError) {
        while let Some((id, _)) = self.requests.first_key_value() {
            self.answer(*id, Err(error.clone()));
        }
    }

    fn answer(&mut self, id: u64, answer: Result<Embeddings, EmbedError>) {
        if let Some(request) = self.remove(id) {
            request.reply.send(answer);
        }
    }

    /// Its places in the queues are passed over when their turn comes.
    fn remove(&mut self, id: u64) -> Option<Request<R>> {
        let request = self.requests.remove(&id)?;
        self.texts -= request.texts.len();
        self.tokens = self.tokens.saturating_sub(request.tokens.iter().map(Vec::len).sum());
        Some(request)
    }
}

#[cfg(test)]
#[path = "line_tests.rs"]
mod tests;
