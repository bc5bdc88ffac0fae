//! The health of the log: its last entries, and that it continues what the last probe saw.

use std::sync::Arc;

use muster_core::health::ProbeResult;
use muster_core::{Clock, Error};
use muster_tlog::{Hash, TileTree, verify_consistency};
use tokio::sync::watch;

use crate::Audit;
use crate::tiles::LogReader;
use crate::view::LogView;

/// Entries that are verified.
const LAST: u64 = 256;
/// Age of an entry that is not signed at which the log is degraded, in seconds.
const UNSIGNED: u64 = 60;
/// Time without a cosignature at which the log is degraded, in seconds.
const UNWITNESSED: u64 = 3_600;

/// Probes the log, each time from the root that the last probe saw.
#[derive(Debug)]
pub struct LogProbe {
    audit: Audit,
    clock: Clock,
    seen: watch::Sender<Option<(u64, Hash)>>,
}

impl LogProbe {
    /// Creates a probe that has seen nothing.
    #[must_use]
    pub fn new(audit: Audit, clock: Clock) -> Self {
        Self { audit, clock, seen: watch::Sender::new(None) }
    }

    /// Verifies the last 256 entries and the consistency with the last probe.
    pub async fn check(&self) -> ProbeResult {
        let (view, log, seen) = (self.audit.view(), self.audit.log().clone(), *self.seen.borrow());
        let started = std::time::Instant::now();
        let shared = Arc::clone(&view);
        let verified = tokio::task::spawn_blocking(move || verify(&log, &shared, seen)).await;
        let took = started.elapsed();
        match verified {
            Err(_) => return ProbeResult::Unhealthy("the last entries could not be verified".to_owned()),
            Ok(Err(error)) => return ProbeResult::Unhealthy(error.to_string()),
            Ok(Ok(Some(why))) => return ProbeResult::Unhealthy(why),
            Ok(Ok(None)) => {}
        }
        self.seen.send_replace(Some((view.size(), view.edge.root())));
        if let Some(alarm) = view.alarms.first() {
            let more = view.alarms.len() - 1;
            return ProbeResult::Unhealthy(format!("{} (and {more} more): run `muster audit verify`", alarm.what));
        }
        self.degraded(&view, took.as_millis()).map_or(ProbeResult::Healthy, ProbeResult::Degraded)
    }

    fn degraded(&self, view: &LogView, took_ms: u128) -> Option<String> {
        let now = self.clock.now();
        if took_ms > 1_000 {
            return Some(format!("the last {LAST} entries took {took_ms} ms to verify"));
        }
        if let Some(since) = view.unsigned_since.map(|since| now.since(since).as_secs()).filter(|age| *age > UNSIGNED) {
            let why = view.problem.as_deref().unwrap_or("the follower is behind");
            return Some(format!("entries are not signed for {since} s: {why}"));
        }
        if view.marks_lost {
            return Some(
                "the file of checkpoints was lost before this start: compare with a copy of a checkpoint".to_owned(),
            );
        }
        let late = view.witnesses.iter().find(|witness| {
            witness.size < view.signed_size() && witness.at.is_none_or(|at| now.since(at).as_secs() > UNWITNESSED)
        });
        late.map(|witness| {
            let why = witness.problem.as_deref().unwrap_or("it has not answered");
            format!("the witness {} has not cosigned for an hour: {why}", witness.name)
        })
    }
}

/// Returns what is wrong.
fn verify(log: &LogReader, view: &LogView, seen: Option<(u64, Hash)>) -> Result<Option<String>, Error> {
    let size = view.size();
    let first = size.saturating_sub(LAST);
    let tree = TileTree::new(&view.edge, log);
    let root = view.edge.root();
    let unreadable = |error: muster_tlog::ProveError<muster_store::StoreError>| {
        Error::new(muster_core::Kind::Internal, format!("the tree of the audit log: {error}"))
    };
    let count = usize::try_from(size - first).unwrap_or_default();
    // The hash of each leaf is compared with its place in the tree: the root over them follows from those.
    let expected = leaf_hashes(&tree, first, size).map_err(unreadable)?;
    for ((seq, record), expected) in (first..).zip(log.exactly(first, count)?).zip(expected) {
        if Hash::of_leaf(record.leaf.as_bytes()) != expected {
            return Ok(Some(format!(
                "entry {seq} is not the one whose hash is in the tree: run `muster audit verify`"
            )));
        }
        if !record.is_consistent()? {
            return Ok(Some(format!("salt or details of entry {seq} are not those that it commits to")));
        }
    }
    if let Some((before, before_root)) = seen.filter(|(before, _)| *before > 0) {
        let proof = tree.consistency(before, size).map_err(unreadable)?;
        if verify_consistency(before, &before_root, size, &root, &proof).is_err() {
            return Ok(Some(format!("the log no longer continues the {before} entries that were there before")));
        }
    }
    Ok(None)
}

fn leaf_hashes(
    tree: &TileTree<'_, LogReader>,
    first: u64,
    end: u64,
) -> Result<Vec<Hash>, muster_tlog::ProveError<muster_store::StoreError>> {
    (first..end).map(|seq| Ok(tree.cover(seq, seq + 1)?.first().copied().unwrap_or_else(Hash::of_empty_tree))).collect()
}
