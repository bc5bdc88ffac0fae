//! The single writer thread. It drains the queue, applies the batches, syncs once and only then replies to all of them
//! (group commit).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use tokio::sync::oneshot;

use super::apply::Prepared;
use super::tables::Engine;
use crate::high_water::HighWaterMark;
use crate::{Batch, StoreError, StoreStats, crash};

/// Maximum number of queued requests; more are rejected with `Busy`.
const QUEUE: usize = 1_024;
/// Maximum number of bytes that are queued or being written.
const QUEUE_BYTES: usize = 64 << 20;
/// Maximum number of requests that share one sync.
const GROUP: usize = 512;

/// Once a transaction exceeds this many bytes, no further batch is added to it.
const TRANSACTION_BYTES: usize = 1 << 20;

type ReplySender = oneshot::Sender<Result<(), StoreError>>;

struct Request {
    batch: Batch,
    bytes: usize,
    answer: ReplySender,
}

/// State shared by the writer thread and the store.
#[derive(Debug, Default)]
struct Shared {
    waiting: AtomicUsize,
    bytes: AtomicUsize,
    commits: AtomicU64,
    groups: AtomicU64,
    last_sync_us: AtomicU64,
    /// Why nothing more is acknowledged. Set once and never cleared.
    poisoned: OnceLock<String>,
    /// Held while a group is written, and by operations that need a quiescent engine.
    gate: Mutex<()>,
}

impl Shared {
    fn poison(&self, why: &str) -> StoreError {
        if self.poisoned.set(why.to_owned()).is_ok() {
            tracing::error!(why, "the store is read-only from now on: restart once the disk works again");
        }
        self.poison_error().unwrap_or_else(|| StoreError::Poisoned(why.to_owned()))
    }

    fn poison_error(&self) -> Option<StoreError> {
        self.poisoned.get().map(|why| StoreError::Poisoned(why.clone()))
    }

    fn gate(&self) -> MutexGuard<'_, ()> {
        self.gate.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Handle of the writer thread.
#[derive(Debug)]
pub(super) struct Writer {
    shared: Arc<Shared>,
    queue: RwLock<Option<SyncSender<Request>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl std::fmt::Debug for Request {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Request").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

impl Writer {
    pub(super) fn start(engine: Arc<Engine>, high_water: HighWaterMark) -> Result<Self, StoreError> {
        let group = engine.group()?;
        let shared = Arc::new(Shared::default());
        let (queue, requests) = sync_channel(QUEUE);
        let writer = WriterThread { engine, high_water, group, shared: Arc::clone(&shared) };
        let thread = thread::Builder::new()
            .name("store-writer".into())
            .spawn(move || writer.run(&requests))
            .map_err(|e| StoreError::Io(format!("could not start a thread for the store: {e}")))?;
        Ok(Self { shared, queue: RwLock::new(Some(queue)), thread: Mutex::new(Some(thread)) })
    }

    /// Queues a batch immediately; the future resolves when it is durable.
    pub(super) fn submit(
        &self,
        batch: Batch,
        bytes: usize,
    ) -> Result<impl Future<Output = Result<(), StoreError>> + Send + use<>, StoreError> {
        if let Some(poisoned) = self.shared.poison_error() {
            return Err(poisoned);
        }
        let (answer, answered) = oneshot::channel();
        self.enqueue(Request { batch, bytes, answer })?;
        let shared = Arc::clone(&self.shared);
        Ok(async move {
            // A dropped sender means that the thread has ended.
            answered.await.unwrap_or_else(|_| Err(shared.poison("the writer thread has ended")))
        })
    }

    fn enqueue(&self, request: Request) -> Result<(), StoreError> {
        let bytes = request.bytes;
        if self.shared.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes > QUEUE_BYTES {
            self.shared.bytes.fetch_sub(bytes, Ordering::Relaxed);
            return Err(StoreError::Busy);
        }
        self.shared.waiting.fetch_add(1, Ordering::Relaxed);
        let queue = self.queue.read().unwrap_or_else(PoisonError::into_inner);
        let sent = match queue.as_ref().map(|queue| queue.try_send(request)) {
            Some(Ok(())) => return Ok(()),
            Some(Err(TrySendError::Full(_))) => StoreError::Busy,
            Some(Err(TrySendError::Disconnected(_))) => self.shared.poison("the writer thread has ended"),
            None => StoreError::Io("the store is closed".into()),
        };
        self.shared.waiting.fetch_sub(1, Ordering::Relaxed);
        self.shared.bytes.fetch_sub(bytes, Ordering::Relaxed);
        Err(sent)
    }

    /// Blocks commits until the guard is dropped.
    pub(super) fn pause(&self) -> MutexGuard<'_, ()> {
        self.shared.gate()
    }

    /// Writes what was accepted, then ends the thread.
    pub(super) fn close(&self) {
        drop(self.queue.write().unwrap_or_else(PoisonError::into_inner).take());
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Err(panic)) = thread.map(JoinHandle::join) {
            tracing::error!(why = crash::text(&*panic), "the writer thread panicked");
        }
    }

    pub(super) fn writable(&self) -> Result<(), StoreError> {
        self.shared.poison_error().map_or(Ok(()), Err)
    }

    pub(super) fn stats(&self) -> StoreStats {
        StoreStats {
            queue_depth: self.shared.waiting.load(Ordering::Relaxed),
            commits: self.shared.commits.load(Ordering::Relaxed),
            groups: self.shared.groups.load(Ordering::Relaxed),
            last_sync_us: self.shared.last_sync_us.load(Ordering::Relaxed),
            poisoned: self.shared.poisoned.get().cloned(),
            ..StoreStats::default()
        }
    }
}

/// State of the writer thread.
struct WriterThread {
    engine: Arc<Engine>,
    high_water: HighWaterMark,
    group: u64,
    shared: Arc<Shared>,
}

impl WriterThread {
    fn run(mut self, requests: &Receiver<Request>) {
        while let Ok(first) = requests.recv() {
            let group: Vec<Request> = std::iter::once(first).chain(requests.try_iter().take(GROUP - 1)).collect();
            self.shared.waiting.fetch_sub(group.len(), Ordering::Relaxed);
            let bytes = group.iter().map(|request| request.bytes).sum();
            // A panic drops the group's reply channels, which callers receive as an error.
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.write(group))) {
                self.shared.poison(&format!("the writer thread panicked: {}", crash::text(&*panic)));
            }
            self.shared.bytes.fetch_sub(bytes, Ordering::Relaxed);
        }
    }

    fn write(&mut self, group: Vec<Request>) {
        let shared = Arc::clone(&self.shared);
        let _gate = shared.gate();
        let started = Instant::now();
        let prepared = self.prepare(group);
        let written = self.apply(prepared);
        if written.is_empty() {
            return;
        }
        let outcome = self.finish();
        let us = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
        shared.last_sync_us.store(us, Ordering::Relaxed);
        if outcome.is_ok() {
            shared.commits.fetch_add(written.len() as u64, Ordering::Relaxed);
            shared.groups.fetch_add(1, Ordering::Relaxed);
        }
        for answer in written {
            // The caller may have dropped its future.
            let _ = answer.send(outcome.clone());
        }
    }

    /// Encodes the batches. Large values are durable, including their directory entries, before any record refers to
    /// them.
    fn prepare(&self, group: Vec<Request>) -> Vec<(Prepared, ReplySender)> {
        let mut prepared = Vec::with_capacity(group.len());
        for Request { batch, answer, .. } in group {
            match self.shared.poison_error().map_or_else(|| self.engine.prepare(batch), Err) {
                Ok(batch) => prepared.push((batch, answer)),
                Err(error) => drop(answer.send(Err(error))),
            }
        }
        if prepared.iter().any(|(batch, _)| batch.wrote_blobs)
            && let Err(error) = self.engine.blobs.sync()
        {
            self.shared.poison(&error.to_string());
        }
        prepared
    }

    /// Applies the batches and replies to those that are rejected; returns the reply channels that wait for the sync.
    fn apply(&self, prepared: Vec<(Prepared, ReplySender)>) -> Vec<ReplySender> {
        let (batches, answers): (Vec<_>, Vec<_>) = prepared.into_iter().unzip();
        let mut answers = answers.into_iter();
        let mut written = Vec::with_capacity(batches.len());
        for chunk in chunks(&batches) {
            let applied = self.shared.poison_error().map_or_else(|| self.engine.apply(chunk), Err);
            let outcomes = applied.unwrap_or_else(|error| {
                let poisoned = self.shared.poison(&error.to_string());
                vec![Err(poisoned); chunk.len()]
            });
            for (outcome, answer) in outcomes.into_iter().zip(answers.by_ref()) {
                match outcome {
                    Ok(()) => written.push(answer),
                    Err(refused) => drop(answer.send(Err(refused))),
                }
            }
        }
        written
    }

    /// Makes the group durable. A failed sync is never retried: the kernel reports the error once and may have dropped
    /// the pages, so a later success would prove nothing.
    fn finish(&mut self) -> Result<(), StoreError> {
        if let Some(poisoned) = self.shared.poison_error() {
            return Err(poisoned);
        }
        let group = self.group + 1;
        let synced = self.engine.mark(group).and_then(|()| self.engine.flush()).and_then(|()| self.engine.sync_data());
        synced.map_err(|error| self.shared.poison(&error.to_string()))?;
        self.group = group;
        self.engine.publish_lengths();
        if let Err(error) = self.high_water.note(group) {
            // The mark only falls behind, which cannot cause a false alarm.
            tracing::warn!(%error, "could not update the high-water mark");
        }
        Ok(())
    }
}

/// Splits a group into transactions of bounded size.
fn chunks(batches: &[Prepared]) -> impl Iterator<Item = &[Prepared]> {
    let mut rest = batches;
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let fits = |batch: &&Prepared| {
            let first = bytes == 0;
            bytes += batch.bytes;
            first || bytes <= TRANSACTION_BYTES
        };
        let (chunk, tail) = rest.split_at_checked(rest.iter().take_while(fits).count())?;
        rest = tail;
        (!chunk.is_empty()).then_some(chunk)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Rec, Tree};

    fn put(key: &str) -> Batch {
        Batch::put(Tree::Keys, key, Rec { schema: 1, bytes: b"v".to_vec() })
    }

    #[tokio::test]
    async fn after_a_failed_sync_nothing_is_acknowledged_and_reads_succeed() {
        let home = tempfile::tempdir().unwrap();
        let mut engine = Engine::open(home.path(), 8 << 20, crate::Durability::PowerCut).unwrap();
        let before = engine.prepare(put("before")).unwrap();
        engine.apply(&[before]).unwrap();
        engine.break_sync();
        let engine = Arc::new(engine);
        let high_water = HighWaterMark::open(home.path().join("witness")).unwrap();
        let writer = Writer::start(Arc::clone(&engine), high_water).unwrap();

        // The second one either waits for the same group or finds the store poisoned: neither is acknowledged.
        let (first, second) = (writer.submit(put("a"), 2).unwrap(), writer.submit(put("b"), 2));
        let Err(StoreError::Poisoned(why)) = first.await else { panic!("acknowledged") };
        assert!(why.contains("db: "), "{why}");
        let second = match second {
            Ok(answer) => answer.await,
            Err(refused) => Err(refused),
        };
        assert_eq!(second, Err(StoreError::Poisoned(why.clone())));
        assert_eq!(writer.submit(put("c"), 2).err(), Some(StoreError::Poisoned(why.clone())));
        let stats = writer.stats();
        assert_eq!(writer.writable(), Err(StoreError::Poisoned(why.clone())));
        assert_eq!((stats.poisoned, stats.commits, stats.groups), (Some(why), 0, 0));
        assert!(engine.get(Tree::Keys, b"before").unwrap().is_some());
        assert_eq!(crate::high_water::read(&home.path().join("witness")), None);
        writer.close();
    }

    #[tokio::test]
    async fn when_the_thread_has_ended_callers_get_an_error() {
        let (queue, requests) = sync_channel(QUEUE);
        let writer = Writer { shared: Arc::default(), queue: RwLock::new(Some(queue)), thread: Mutex::new(None) };
        let accepted = writer.submit(put("a"), 2).unwrap();
        drop(requests);
        let ended = Err(StoreError::Poisoned("the writer thread has ended".into()));
        assert_eq!(accepted.await, ended);
        assert_eq!(writer.submit(put("b"), 2).err(), ended.err());
    }

    #[test]
    fn the_queue_is_bounded_in_requests_and_bytes() {
        let (queue, requests) = sync_channel(QUEUE);
        let writer = Writer { shared: Arc::default(), queue: RwLock::new(Some(queue)), thread: Mutex::new(None) };
        let waiting: Vec<_> = (0..QUEUE).map(|_| writer.submit(put("a"), 2).unwrap()).collect();
        assert_eq!(writer.submit(put("a"), 2).err(), Some(StoreError::Busy));
        assert_eq!(writer.stats().queue_depth, QUEUE);
        drop((waiting, requests.recv().unwrap()));
        assert_eq!(writer.submit(put("a"), QUEUE_BYTES).err(), Some(StoreError::Busy));
        assert!(writer.submit(put("a"), 2).is_ok());
    }
}
