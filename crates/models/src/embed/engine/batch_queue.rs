//! Batch queue: which texts are computed together, and the progress of each request. Pure.
//!
//! Requests are served round-robin, text by text, so that a small one is not delayed by a large one. A request stays in
//! the queue from its admission to its response.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use super::super::{EmbedError, Embeddings};

/// Maximum number of tokens in one batch, unless a single text has more. Large enough that reading the weights costs
/// little by comparison.
const BATCH_TOKENS: usize = 256;
/// Batches are not split below this number of tokens for the sake of parallelism.
const SMALL_BATCH_TOKENS: usize = 64;
/// Assumed cost of a text before any was computed.
const FIRST_GUESS: Duration = Duration::from_millis(20);
const LONGEST_RETRY: Duration = Duration::from_secs(60);

/// Destination of a response.
pub(super) trait Reply {
    /// Returns whether the caller has stopped waiting.
    fn is_gone(&self) -> bool;
    fn send(self, answer: Result<Embeddings, EmbedError>);
}

/// The next piece of work for an engine thread.
#[derive(Debug, PartialEq)]
pub(super) enum QueueWork {
    /// Tokenize these texts, then call [`BatchQueue::tokenized`].
    Tokenize(u64, Arc<[String]>),
    /// Compute this batch, then call [`BatchQueue::computed`] or [`BatchQueue::died`].
    Compute(Batch),
}

/// Texts that are computed together.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Batch {
    pub(super) tokens: Vec<Vec<u32>>,
    /// Request id and index within the request, for each text.
    tickets: Vec<(u64, usize)>,
}

#[derive(Debug)]
struct Request<R> {
    texts: Arc<[String]>,
    /// Tokens of each text once tokenized; taken when the text is computed.
    tokens: Vec<Vec<u32>>,
    counts: Vec<u32>,
    /// Number of texts handed out for computation.
    dispatched: usize,
    vectors: Vec<Vec<f32>>,
    missing: usize,
    reply: R,
}

#[derive(Debug)]
pub(super) struct BatchQueue<R> {
    requests: BTreeMap<u64, Request<R>>,
    /// Requests not yet tokenized, oldest first.
    untokenized: VecDeque<u64>,
    /// Requests with texts not yet handed out, in round-robin order.
    round_robin: VecDeque<u64>,
    next: u64,
    /// Number of texts of all requests.
    texts: usize,
    /// Number of tokens read and not yet handed out.
    tokens: usize,
    most: usize,
    threads: usize,
    mean_text: Duration,
}

impl<R: Reply> BatchQueue<R> {
    /// `most`: maximum number of texts in the queue; `threads`: maximum number of concurrent batches.
    pub(super) fn new(most: usize, threads: usize) -> Self {
        Self {
            requests: BTreeMap::new(),
            untokenized: VecDeque::new(),
            round_robin: VecDeque::new(),
            next: 0,
            texts: 0,
            tokens: 0,
            most,
            threads: threads.max(1),
            mean_text: FIRST_GUESS,
        }
    }

    /// Returns the number of texts admitted and not yet answered.
    pub(super) fn len(&self) -> usize {
        self.texts
    }

    /// Admits a request, or answers it at once if it is rejected.
    pub(super) fn admit(&mut self, texts: Vec<String>, reply: R) {
        if texts.is_empty() {
            return reply.send(Ok(Embeddings::default()));
        }
        if texts.len() > self.most {
            return reply.send(Err(EmbedError::TooMany { texts: texts.len(), most: self.most }));
        }
        if self.texts + texts.len() > self.most {
            self.remove_cancelled();
        }
        if self.texts + texts.len() > self.most {
            let ahead = u32::try_from(self.texts / self.threads).unwrap_or(u32::MAX);
            let wait = self.mean_text.saturating_mul(ahead).clamp(Duration::from_secs(1), LONGEST_RETRY);
            return reply.send(Err(EmbedError::Busy { retry_after: wait }));
        }
        let (id, missing) = (self.next, texts.len());
        self.next += 1;
        self.texts += missing;
        self.untokenized.push_back(id);
        let (texts, vectors) = (Arc::from(texts), vec![Vec::new(); missing]);
        let request = Request { texts, tokens: Vec::new(), counts: Vec::new(), dispatched: 0, vectors, missing, reply };
        self.requests.insert(id, request);
    }

    /// Removes requests whose callers have stopped waiting.
    fn remove_cancelled(&mut self) {
        let gone = self.requests.iter().filter(|(_, request)| request.reply.is_gone()).map(|(id, _)| *id);
        for id in gone.collect::<Vec<_>>() {
            self.remove(id);
        }
    }

    /// Returns the next piece of work, if any. Tokenization goes first: it is short, and a text that is too long is
    /// reported early.
    pub(super) fn next_work(&mut self) -> Option<QueueWork> {
        self.remove_cancelled();
        while let Some(id) = self.untokenized.pop_front() {
            if let Some(request) = self.requests.get(&id) {
                return Some(QueueWork::Tokenize(id, Arc::clone(&request.texts)));
            }
        }
        // All threads share the waiting tokens in decreasing batches, so that they finish at about the same time.
        let bound = self.tokens.div_ceil(self.threads).clamp(SMALL_BATCH_TOKENS, BATCH_TOKENS);
        let mut batch = Batch::default();
        let mut tokens = 0;
        while let Some(id) = self.round_robin.pop_front() {
            let Some(request) = self.requests.get_mut(&id) else { continue };
            let Some(text) = request.tokens.get_mut(request.dispatched) else { continue };
            if tokens > 0 && tokens + text.len() > bound {
                self.round_robin.push_front(id);
                break;
            }
            tokens += text.len();
            self.tokens = self.tokens.saturating_sub(text.len());
            batch.tokens.push(std::mem::take(text));
            batch.tickets.push((id, request.dispatched));
            request.dispatched += 1;
            if request.dispatched < request.texts.len() {
                self.round_robin.push_back(id);
            }
        }
        (!batch.tokens.is_empty()).then_some(QueueWork::Compute(batch))
    }

    /// Stores the tokens of a request's texts, or rejects the request.
    pub(super) fn tokenized(&mut self, id: u64, read: Result<Vec<Vec<u32>>, EmbedError>) {
        let tokens = match read {
            Ok(tokens) => tokens,
            Err(error) => return self.answer(id, Err(error)),
        };
        let Some(request) = self.requests.get_mut(&id) else { return };
        request.counts = tokens.iter().map(|text| u32::try_from(text.len()).unwrap_or(u32::MAX)).collect();
        self.tokens += tokens.iter().map(Vec::len).sum::<usize>();
        request.tokens = tokens;
        self.round_robin.push_back(id);
    }

    /// Stores the vectors of a batch, in its order. `took` is the time for the whole batch on one thread.
    pub(super) fn computed(&mut self, batch: &Batch, vectors: Vec<Vec<f32>>, took: Duration) {
        let each = took / u32::try_from(batch.tickets.len().max(1)).unwrap_or(u32::MAX);
        self.mean_text = (self.mean_text * 7 + each) / 8;
        for ((id, place), vector) in batch.tickets.iter().zip(vectors) {
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

    /// Fails the requests of a batch over which the engine died. Other requests wait for the restart.
    pub(super) fn died(&mut self, batch: &Batch, why: &str) {
        for (id, _) in &batch.tickets {
            self.answer(*id, Err(EmbedError::Failed { why: why.to_owned() }));
        }
    }

    /// Fails all requests: nothing can be computed any more.
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

    /// Removes a request. Its entries in the queues are skipped when they come up.
    fn remove(&mut self, id: u64) -> Option<Request<R>> {
        let request = self.requests.remove(&id)?;
        self.texts -= request.texts.len();
        self.tokens = self.tokens.saturating_sub(request.tokens.iter().map(Vec::len).sum());
        Some(request)
    }
}

#[cfg(test)]
#[path = "batch_queue_tests.rs"]
mod tests;
