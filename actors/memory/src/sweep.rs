//! What has expired is deleted, some at a time, in the order of its end. No read ever waits for that.

use actix::{Context, Handler, Message, ResponseFuture};
use futures::future::ready;
use muster_store::{Op, PageRequest, StoreError, Tree};
use tokio::sync::oneshot;

use super::actor::MemoryWriter;
use super::decision::{Decision, Then};
use super::place;
use super::state::{self, End, Ended};
use super::stored;
use super::write::restarting;
use muster_core::Error;
use muster_core::journal::Journalled;

/// Ends that one decision looks at.
const SLICE: usize = 256;
/// Writes of one decision, about.
const MAX_OPS: usize = 1_024;

/// Deletes what has expired by now; answers how many entries and versions, once that is durable.
#[derive(Message)]
#[rtype(result = "Result<usize, Error>")]
pub(super) struct SweepNow;

/// How far the sweep is.
#[derive(Debug, Default)]
pub(super) struct Sweep {
    /// A slice is decided and not durable: what it deletes would be found again.
    under_way: bool,
    /// Another slice follows at once.
    more: bool,
    swept: usize,
    waiters: Vec<oneshot::Sender<usize>>,
}

impl MemoryWriter {
    /// Begins a sweep where none is under way and something has expired.
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
                tracing::error!(%error, "what has expired cannot be swept: tried again");
                self.end_sweep();
            }
        }
    }

    fn end_sweep(&mut self) {
        let swept = std::mem::take(&mut self.sweep.swept);
        for waiter in std::mem::take(&mut self.sweep.waiters) {
            // Whoever asked may wait no more.
            let _ = waiter.send(swept);
        }
    }

    /// A slice is durable.
    pub(super) fn swept(&mut self) {
        self.sweep.under_way = false;
        if std::mem::take(&mut self.sweep.more) { self.begin_sweep() } else { self.end_sweep() }
    }

    /// The next slice; `None` where nothing has expired. An owner's who is being forgotten are left to that.
    fn sweep_slice(&mut self) -> Result<Option<Decision>, StoreError> {
        let (store, now) = (self.options.store.clone(), self.now());
        let (mut decision, mut looked) = (Decision::default(), 0);
        for entry in store.entries(Tree::MemoryExpiry, [], PageRequest::of(SLICE)).take(SLICE) {
            let (key, rec) = match entry {
                Ok(entry) => entry,
                Err(error) if looked == 0 => return Err(error),
                // What was taken over so far stands.
                Err(error) => {
                    tracing::error!(%error, "what has expired cannot be read: tried again");
                    break;
                }
            };
            let Some((at, id, version)) = place::read_end(&key).filter(|(at, ..)| *at <= now) else { break };
            looked += 1;
            match self.sweep_one(End { at, id, version }, &rec.bytes, &mut decision) {
                Ok(ended) => self.sweep.swept += usize::from(ended != Ended::Nothing),
                Err(StoreError::Corrupt(why)) => {
                    tracing::error!(%id, why, "what has expired cannot be read: left as it is");
                    decision.ops.push(Op::Delete { tree: Tree::MemoryExpiry, key });
                }
                // What was taken over so far stands.
                Err(error) => {
                    tracing::error!(%error, "what has expired cannot be swept: tried again");
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
        self.sweep.more = looked == SLICE || decision.ops.len() > MAX_OPS;
        decision.then.push(Then::Swept);
        Ok(Some(decision))
    }
}

impl MemoryWriter {
    fn sweep_one(&mut self, end: End, place: &[u8], into: &mut Decision) -> Result<Ended, StoreError> {
        let place = stored::read_place(place)?;
        if self.forgetting.contains_key(&place.space.owner) {
            return Ok(Ended::Nothing);
        }
        let present = self.present(&place)?;
        let mut turn = self.turn();
        let ended = state::expire(&mut turn, present.as_deref(), end)?;
        self.take(turn, into);
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
