//! Removes stored buckets that are unused and in which nothing counts any more.

use muster_store::{Batch, Expect, PageRequest, Record, Store, StoreError, Tree};

use super::record::{Head, prefix_of_head};
use super::rule::Window;

/// Maximum number of batches of one round, and of deletions in each.
const ROUND: usize = 64;
const BATCH: usize = 2_000;

/// Returns the batches that remove expired buckets. Blocking: reads every stored bucket.
///
/// A bucket is removed only if its head is unchanged, so one that is used again meanwhile stays. A lease left by an
/// earlier run of the server was used before `started`, if at all.
pub(super) fn rounds(store: &dyn Store, started: u64, now: u64) -> Result<Vec<Batch>, StoreError> {
    let mut batches = Vec::new();
    let mut over: Option<(Vec<u8>, Batch)> = None;
    for entry in store.entries(Tree::Limits, [], PageRequest::default()) {
        let (key, rec) = entry?;
        match (&mut over, prefix_of_head(&key)) {
            (_, Some(prefix)) => {
                batches.extend(over.take().map(|(_, batch)| batch));
                if batches.len() >= ROUND {
                    return Ok(batches);
                }
                let head = Head::decode(&rec)?;
                if is_over(&head, started, now) {
                    let batch = Batch::delete(Tree::Limits, key.clone());
                    over = Some((prefix.to_vec(), batch.when(Tree::Limits, key.clone(), Expect::Is(rec))));
                }
            }
            (Some((prefix, batch)), None) if key.starts_with(prefix) && batch.ops.len() < BATCH => {
                batch.ops.push(muster_store::Op::Delete { tree: Tree::Limits, key });
            }
            _ => {}
        }
    }
    batches.extend(over.map(|(_, batch)| batch));
    Ok(batches)
}

fn is_over(head: &Head, started: u64, now: u64) -> bool {
    let longest = head.windows().into_iter().map(Window::millis).max().unwrap_or(0);
    let lease_over = head.lease() == super::log::Spend::default()
        || (head.written_at < started && started.saturating_add(longest) <= now);
    head.over_at <= now && lease_over
}
