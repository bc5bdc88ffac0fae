//! A store in memory for tests: the same port and bounds, with switches to simulate failures.

use std::collections::{BTreeMap, VecDeque};
use std::io::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use tokio::sync::{oneshot, watch};

use crate::appended::{DurableLengths, Lengths, number_key};
use crate::bounds::{check_batch, check_key, check_scan};
use crate::range::{Paging, key_range};
use crate::snapshot::SnapshotWriter;
use crate::{Batch, Expect, Op, Order, Page, Rec, Scan, Store, StoreError, StoreStats, Tree, VerifyReport};

type Trees = BTreeMap<&'static str, BTreeMap<Vec<u8>, Rec>>;
type ReplySender = oneshot::Sender<Result<(), StoreError>>;

/// A store in memory. It acknowledges immediately unless configured otherwise; nothing is persisted.
#[derive(Debug)]
pub struct MemStore {
    inner: Mutex<Inner>,
    /// Number of commits that are held.
    held: watch::Sender<usize>,
    lengths: DurableLengths,
}

#[derive(Debug, Default)]
struct Inner {
    trees: Trees,
    lengths: Lengths,
    commits: u64,
    failing: Option<StoreError>,
    holding: Option<VecDeque<(Batch, ReplySender)>>,
}

impl Default for MemStore {
    fn default() -> Self {
        let lengths = DurableLengths::new(Lengths::default());
        Self { inner: Mutex::default(), held: watch::Sender::new(0), lengths }
    }
}

impl MemStore {
    /// Makes every further commit fail with this error and write nothing; `None` ends this.
    pub fn fail_commits(&self, with: Option<StoreError>) {
        self.lock().failing = with;
    }

    /// Accepts further commits but neither applies nor acknowledges them until `release`.
    pub fn hold_commits(&self) {
        self.lock().holding.get_or_insert_default();
    }

    /// Applies and acknowledges the held commits in order, and stops holding.
    pub fn release(&self) {
        let mut inner = self.lock();
        for (batch, answer) in inner.holding.take().unwrap_or_default() {
            let outcome = inner.apply(batch);
            // The caller may have dropped its future.
            let _ = answer.send(outcome);
        }
        self.lengths.publish(inner.lengths);
        drop(inner);
        self.held.send_replace(0);
    }

    /// Waits until at least this many commits are held.
    pub async fn held(&self, at_least: usize) {
        let mut held = self.held.subscribe();
        // Cannot fail: the sender lives as long as `self`.
        let _ = held.wait_for(|count| *count >= at_least).await;
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn apply(&mut self, batch: Batch) -> Result<(), StoreError> {
        if let Some(error) = &self.failing {
            return Err(error.clone());
        }
        for (tree, key, expect) in &batch.expect {
            let found = self.trees.get(tree.name()).and_then(|tree| tree.get(key));
            let holds = match expect {
                Expect::Absent => found.is_none(),
                Expect::Is(rec) => found == Some(rec),
            };
            if !holds {
                return Err(StoreError::Conflict);
            }
        }
        let mut lengths = self.lengths;
        let mut numbers = Vec::new();
        for op in &batch.ops {
            match op {
                Op::Put { tree, key, .. } => lengths.put(*tree, key)?,
                Op::Delete { .. } => {}
                Op::Append { tree, .. } => numbers.push(lengths.take(*tree)?),
            }
        }
        self.lengths = lengths;
        let mut numbers = numbers.into_iter();
        for op in batch.ops {
            match op {
                Op::Put { tree, key, rec } => self.trees.entry(tree.name()).or_default().insert(key, rec),
                Op::Delete { tree, key } => self.trees.entry(tree.name()).or_default().remove(&key),
                Op::Append { tree, rec } => numbers.next().and_then(|number| {
                    self.trees.entry(tree.name()).or_default().insert(number_key(number).to_vec(), rec)
                }),
            };
        }
        self.commits += 1;
        Ok(())
    }

    fn records(&self) -> impl Iterator<Item = (Tree, &Vec<u8>, &Rec)> {
        Tree::ALL
            .into_iter()
            .flat_map(|tree| self.trees.get(tree.name()).into_iter().flatten().map(move |(key, rec)| (tree, key, rec)))
    }
}

impl Store for MemStore {
    fn get(&self, tree: Tree, key: &[u8]) -> Result<Option<Rec>, StoreError> {
        check_key(key)?;
        Ok(self.lock().trees.get(tree.name()).and_then(|tree| tree.get(key)).cloned())
    }

    fn scan(&self, tree: Tree, scan: &Scan) -> Result<Page, StoreError> {
        let mut page = Paging::new(check_scan(scan)?);
        let inner = self.lock();
        let (Some(tree), Some(range)) = (inner.trees.get(tree.name()), key_range(scan)) else {
            return Ok(Page::default());
        };
        let mut keys = tree.range(range);
        while let Some((key, rec)) = match scan.order {
            Order::Ascending => keys.next(),
            Order::Descending => keys.next_back(),
        } {
            if !page.accepts(key) {
                break;
            }
            page.push(key.clone(), rec.clone());
        }
        Ok(page.done())
    }

    fn commit(&self, batch: Batch) -> BoxFuture<'static, Result<(), StoreError>> {
        if let Err(error) = check_batch(&batch) {
            return Box::pin(async { Err(error) });
        }
        let mut inner = self.lock();
        let Some(holding) = &mut inner.holding else {
            let outcome = inner.apply(batch);
            self.lengths.publish(inner.lengths);
            return Box::pin(async { outcome });
        };
        let (answer, answered) = oneshot::channel();
        holding.push_back((batch, answer));
        self.held.send_replace(holding.len());
        Box::pin(
            async move { answered.await.unwrap_or_else(|_| Err(StoreError::Poisoned("the store was dropped".into()))) },
        )
    }

    fn appended(&self, tree: Tree) -> watch::Receiver<u64> {
        self.lengths.of(tree)
    }

    fn snapshot(&self, to: &mut dyn Write) -> Result<u64, StoreError> {
        let inner = self.lock();
        let mut out = SnapshotWriter::start(to, inner.commits)?;
        let mut backed_up = inner.records().filter(|(tree, ..)| tree.is_backed_up());
        backed_up.try_for_each(|(tree, key, rec)| out.record(tree, key, rec))?;
        out.finish()
    }

    fn stats(&self) -> StoreStats {
        let inner = self.lock();
        let poisoned = match &inner.failing {
            Some(StoreError::Poisoned(why)) => Some(why.clone()),
            _ => None,
        };
        StoreStats {
            queue_depth: inner.holding.as_ref().map_or(0, VecDeque::len),
            commits: inner.commits,
            groups: inner.commits,
            poisoned,
            ..StoreStats::default()
        }
    }

    fn verify(&self) -> Result<VerifyReport, StoreError> {
        let inner = self.lock();
        Ok(inner.records().fold(VerifyReport::default(), |mut report, (_, _, rec)| {
            report.records += 1;
            report.bytes += rec.bytes.len() as u64;
            report
        }))
    }
}
