//! A limit of models that are loaded at once. When it is reached, the one that was used least recently is unloaded for
//! the next.

use std::collections::VecDeque;

use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot, watch};

/// The places of loaded models, shared by the models that it limits. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ModelSlots {
    // Not bounded by a number: each model has one request, one call and one release at a time.
    events: mpsc::UnboundedSender<SlotEvent>,
}

#[derive(Debug)]
enum SlotEvent {
    Acquire(oneshot::Sender<Slot>),
    Begin(u64),
    End(u64),
    Release(u64),
}

/// A place of a loaded model; dropped when the model was unloaded.
#[derive(Debug)]
pub(super) struct Slot {
    id: u64,
    /// Whether another model waits for this place.
    reclaim: watch::Receiver<bool>,
    events: mpsc::UnboundedSender<SlotEvent>,
}

impl ModelSlots {
    /// Starts the actor of the places, on the runtime of the caller.
    ///
    /// # Errors
    /// The caller is on no runtime.
    pub fn start(limit: usize) -> std::io::Result<Self> {
        let runtime = Handle::try_current().map_err(std::io::Error::other)?;
        let (events, incoming) = mpsc::unbounded_channel();
        let state = SlotState { limit: limit.max(1), ..SlotState::default() };
        runtime.spawn(state.serve(events.downgrade(), incoming));
        Ok(Self { events })
    }

    /// Takes a place; waits until a model was unloaded, if all are taken. `None` if the actor ended.
    pub(super) async fn acquire(&self) -> Option<Slot> {
        let (reply, slot) = oneshot::channel();
        self.events.send(SlotEvent::Acquire(reply)).ok()?;
        slot.await.ok()
    }
}

impl Slot {
    /// Marks the model as running a call.
    pub(super) fn begin(&self) {
        drop(self.events.send(SlotEvent::Begin(self.id)));
    }

    /// Marks the model as idle.
    pub(super) fn end(&self) {
        drop(self.events.send(SlotEvent::End(self.id)));
    }

    /// Returns whether another model waits for this place.
    pub(super) fn is_reclaimed(&self) -> bool {
        *self.reclaim.borrow()
    }

    /// Returns once another model waits for this place.
    pub(super) async fn reclaimed(&self) {
        // Without the actor of the places nobody waits.
        if self.reclaim.clone().wait_for(|is_reclaimed| *is_reclaimed).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        drop(self.events.send(SlotEvent::Release(self.id)));
    }
}

/// A model that has a place.
#[derive(Debug)]
struct Holder {
    id: u64,
    is_busy: bool,
    reclaim: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct SlotState {
    limit: usize,
    last_id: u64,
    /// The one used least recently first.
    holders: Vec<Holder>,
    waiting: VecDeque<oneshot::Sender<Slot>>,
}

impl SlotState {
    async fn serve(
        mut self,
        events: mpsc::WeakUnboundedSender<SlotEvent>,
        mut incoming: mpsc::UnboundedReceiver<SlotEvent>,
    ) {
        while let Some(event) = incoming.recv().await {
            match event {
                SlotEvent::Acquire(reply) => self.waiting.push_back(reply),
                SlotEvent::Begin(id) => self.begin(id),
                SlotEvent::End(id) => self.end(id),
                SlotEvent::Release(id) => self.holders.retain(|holder| holder.id != id),
            }
            let Some(events) = events.upgrade() else { return };
            self.grant(&events);
            self.reclaim();
        }
    }

    /// A model is used when its call begins: the ends of calls that follow each other may come in another order.
    fn begin(&mut self, id: u64) {
        if let Some(at) = self.holders.iter().position(|holder| holder.id == id) {
            let holder = self.holders.remove(at);
            self.holders.push(Holder { is_busy: true, ..holder });
        }
    }

    fn end(&mut self, id: u64) {
        if let Some(holder) = self.holders.iter_mut().find(|holder| holder.id == id) {
            holder.is_busy = false;
        }
    }

    /// Gives free places to those who wait.
    fn grant(&mut self, events: &mpsc::UnboundedSender<SlotEvent>) {
        self.waiting.retain(|reply| !reply.is_closed());
        while self.holders.len() < self.limit
            && let Some(reply) = self.waiting.pop_front()
        {
            self.last_id += 1;
            let (id, (reclaim, is_reclaimed)) = (self.last_id, watch::channel(false));
            // A new place counts as busy until its first call has ended: it is being loaded.
            self.holders.push(Holder { id, is_busy: true, reclaim });
            // A slot that nobody takes is dropped here, which releases it.
            drop(reply.send(Slot { id, reclaim: is_reclaimed, events: events.clone() }));
        }
    }

    /// Requests as many places back as are waited for: idle ones before busy ones, which follow after their call unless
    /// an idle one was found meanwhile.
    fn reclaim(&self) {
        let idle = self.holders.iter().filter(|holder| !holder.is_busy);
        let busy = self.holders.iter().filter(|holder| holder.is_busy);
        for (at, holder) in idle.chain(busy).enumerate() {
            let is_requested = at < self.waiting.len();
            // An idle model that saw the request is already being unloaded.
            if is_requested || holder.is_busy {
                holder.reclaim.send_replace(is_requested);
            }
        }
    }
}
