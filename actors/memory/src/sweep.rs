//! Deletes expired entries in slices, in the order of expiry. Reads never wait for it.

use actix::{Context, Handler, Message, ResponseFuture};
use futures::future::ready;
use muster_store::{Op, PageRequest, StoreError, Tree};
use tokio::sync::oneshot;

use super::actor::MemoryWriter;
use super::decision::{Decision, Effect};
use super::keys;
use super::state::{self, Expired, ExpiryRow};
use super::stored;
use super::write::restarting;
use muster_core::Error;
use muster_core::journal::Journalled;

/// Expiry rows examined per decision.
const SLICE: usize = 256;
/// Approximate number of writes per decision.
const MAX_OPS: usize = 1_024;

/// Deletes everything expired by now; returns the number of entries and versions once that is durable.
#[derive(Message)]
#[rtype(result = "Result<usize, Error>")]
pub(super) struct SweepNow;

/// Progress of the sweep.
#[derive(Debug, Default)]
pub(super) struct Sweep {
    /// A slice is decided but not durable: reading again would return the same rows.
    under_way: bool,
    /// Another slice follows immediately.
    more: bool,
    swept: usize,
    waiters: Vec<oneshot::Sender<usize>>,
}

impl MemoryWriter {
    /// Starts a sweep if none is running and something has expired.
    pub(super) fn begin_sweep(&mut self) {
        if self.sweep.under_way {
            return;
        }
        match self.sweep_slice() {
            Ok(Some(decision)) => {
                self.sweep.under_way = true;
                self.seal(decision);
            }
            Ok(None) => self.end_sweep(),
            Err(error) => {
                tracing::error!(%error, "expired entries cannot be swept: tried again");
                self.end_sweep();
            }
        }
    }

    fn end_sweep(&mut self) {
        let swept = std::mem::take(&mut self.sweep.swept);
        for waiter in std::mem::take(&mut self.sweep.waiters) {
            // The caller may have stopped waiting.
            let _ = waiter.send(swept);
        }
    }

    /// Continues after a slice has become durable.
    pub(super) fn sweep_slice_stored(&mut self) {
        self.sweep.under_way = false;
        if std::mem::take(&mut self.sweep.more) { self.begin_sweep() } else { self.end_sweep() }
    }

    /// Builds the next slice; `None` if nothing has expired. Owners being deleted are skipped.
    fn sweep_slice(&mut self) -> Result<Option<Decision>, StoreError> {
        let (store, now) = (self.options.store.clone(), self.now());
        let (mut decision, mut examined) = (Decision::default(), 0);
        for entry in store.entries(Tree::MemoryExpiry, [], PageRequest::of(SLICE)).take(SLICE) {
            let (key, rec) = match entry {
                Ok(entry) => entry,
                Err(error) if examined == 0 => return Err(error),
                // What has been applied so far remains.
                Err(error) => {
                    tracing::error!(%error, "expired entries cannot be read: tried again");
                    break;
                }
            };
            let Some((at, id, version)) = keys::read_expiry(&key).filter(|(at, ..)| *at <= now) else { break };
            examined += 1;
            match self.sweep_one(ExpiryRow { at, id, version }, &rec.bytes, &mut decision) {
                Ok(ended) => self.sweep.swept += usize::from(ended != Expired::Nothing),
                Err(StoreError::Corrupt(why)) => {
                    tracing::error!(%id, why, "an expired entry cannot be read: it is left as it is");
                    decision.ops.push(Op::Delete { tree: Tree::MemoryExpiry, key });
                }
                // What has been applied so far remains.
                Err(error) => {
                    tracing::error!(%error, "expired entries cannot be swept: tried again");
                    break;
                }
            }
            if decision.ops.len() > MAX_OPS {
                break;
            }
        }
        if decision.ops.is_empty() {
            return Ok(None);
        }
        self.sweep.more = examined == SLICE || decision.ops.len() > MAX_OPS;
        decision.effects.push(Effect::SweepSlice);
        Ok(Some(decision))
    }
}

impl MemoryWriter {
    fn sweep_one(&mut self, end: ExpiryRow, place: &[u8], into: &mut Decision) -> Result<Expired, StoreError> {
        let place = stored::read_place(place)?;
        if self.forgetting.contains_key(&place.space.owner) {
            return Ok(Expired::Nothing);
        }
        let present = self.present(&place)?;
        let mut transaction = self.transaction();
        let ended = state::expire(&mut transaction, present.as_deref(), end)?;
        self.take(transaction, into);
        Ok(ended)
    }
}

impl Handler<SweepNow> for MemoryWriter {
    type Result = ResponseFuture<Result<usize, Error>>;

    fn handle(&mut self, _: SweepNow, context: &mut Context<Self>) -> Self::Result {
        if let Err(refused) = self.admit() {
            return Box::pin(ready(Err(refused)));
        }
        let (to, from) = oneshot::channel();
        self.sweep.waiters.push(to);
        self.begin_sweep();
        self.flush(context);
        Box::pin(async move { from.await.map_err(|_| restarting()) })
    }
}
