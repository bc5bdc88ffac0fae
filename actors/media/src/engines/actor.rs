//! Keeps the queue of a model, and loads and unloads it.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::sleep;

use super::call::Call;
use super::service::{ModelError, ModelOptions, ModelState};
use super::slots::Slot;
use super::thread::Job;

/// The state of a model's actor.
pub(super) struct ModelActor<M> {
    name: Arc<str>,
    options: ModelOptions,
    incoming: mpsc::Receiver<Box<dyn Call<M>>>,
    jobs: Sender<Job<M>>,
    state: watch::Sender<ModelState>,
    waiting: VecDeque<Box<dyn Call<M>>>,
    is_loaded: bool,
    slot: Option<Slot>,
    /// Whether handles remain.
    is_open: bool,
}

/// What an actor without waiting calls does next.
enum Next<M> {
    Call(Box<dyn Call<M>>),
    Unload,
    End,
}

impl<M: 'static> ModelActor<M> {
    pub(super) fn new(
        name: Arc<str>,
        options: ModelOptions,
        incoming: mpsc::Receiver<Box<dyn Call<M>>>,
        jobs: Sender<Job<M>>,
        state: watch::Sender<ModelState>,
    ) -> Self {
        let (waiting, is_loaded, slot, is_open) = (VecDeque::new(), false, None, true);
        Self { name, options, incoming, jobs, state, waiting, is_loaded, slot, is_open }
    }

    /// Serves calls until the last handle is dropped.
    pub(super) async fn run(mut self) {
        loop {
            match self.next().await {
                Next::Call(call) => self.serve(call).await,
                Next::Unload => self.unload().await,
                Next::End => return,
            }
        }
    }

    async fn next(&mut self) -> Next<M> {
        // A model that others wait for is unloaded before its own next call: everyone's turn comes.
        if self.slot.as_ref().is_some_and(Slot::is_reclaimed) {
            return Next::Unload;
        }
        if let Some(call) = self.waiting.pop_front() {
            return Next::Call(call);
        }
        let (slot, incoming) = (self.slot.as_ref(), &mut self.incoming);
        let reclaimed = async {
            match slot {
                Some(slot) => slot.reclaimed().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            call = incoming.recv() => call.map_or(Next::End, Next::Call),
            () = reclaimed => Next::Unload,
            () = sleep(self.options.idle), if self.is_loaded => Next::Unload,
        }
    }

    async fn serve(&mut self, mut call: Box<dyn Call<M>>) {
        if call.is_abandoned() {
            return call.abandon();
        }
        if !self.is_loaded {
            if !self.has_slot(&mut call).await {
                return call.abandon();
            }
            if let Err(error) = self.load().await {
                return call.refuse(error);
            }
            if call.is_abandoned() {
                return call.abandon();
            }
        }
        if let Some(slot) = &self.slot {
            slot.begin();
        }
        let (done, ended) = oneshot::channel();
        let sent = self.jobs.send(Job::Run(call, done));
        let is_loaded = sent.is_ok() && self.admitting(ended).await.unwrap_or(false);
        if let Some(slot) = &self.slot {
            slot.end();
        }
        if !is_loaded {
            (self.is_loaded, self.slot) = (false, None);
            self.state.send_replace(ModelState::Failed("it panicked".to_owned()));
        }
    }

    /// Takes a place among the loaded models, if they are limited. `false` if the client left meanwhile.
    async fn has_slot(&mut self, call: &mut Box<dyn Call<M>>) -> bool {
        let Some(slots) = self.options.slots.clone() else { return true };
        let acquired = self.admitting(async {
            tokio::select! {
                biased;
                () = poll_fn(|context| call.poll_abandoned(context)) => None,
                slot = slots.acquire() => slot,
            }
        });
        self.slot = acquired.await;
        self.slot.is_some()
    }

    async fn load(&mut self) -> Result<(), ModelError> {
        self.state.send_replace(ModelState::Loading);
        let (done, ended) = oneshot::channel();
        let sent = self.jobs.send(Job::Load(done));
        let gone = || Err("its thread ended".to_owned());
        let loaded = if sent.is_ok() { self.admitting(ended).await.unwrap_or_else(|_| gone()) } else { gone() };
        self.is_loaded = loaded.is_ok();
        match loaded {
            Ok(()) => {
                self.state.send_replace(ModelState::Ready);
                Ok(())
            }
            Err(why) => {
                tracing::warn!(model = %self.name, %why, "a model cannot be loaded");
                self.slot = None;
                self.state.send_replace(ModelState::Failed(why.clone()));
                Err(ModelError::Failed { name: self.name.to_string(), why })
            }
        }
    }

    async fn unload(&mut self) {
        let (done, ended) = oneshot::channel();
        if self.jobs.send(Job::Unload(done)).is_ok() {
            // The place is given up once the memory is.
            drop(self.admitting(ended).await);
        }
        (self.is_loaded, self.slot) = (false, None);
        self.state.send_replace(ModelState::Absent);
        tracing::debug!(model = %self.name, "a model was unloaded");
    }

    /// Waits for an event and takes further calls into the queue meanwhile.
    async fn admitting<T>(&mut self, event: impl Future<Output = T>) -> T {
        let mut event = pin!(event);
        loop {
            tokio::select! {
                biased;
                result = &mut event => return result,
                call = self.incoming.recv(), if self.is_open => match call {
                    Some(call) => self.admit(call),
                    None => self.is_open = false,
                },
            }
        }
    }

    /// Takes a call into the queue. Calls whose clients have left make room.
    fn admit(&mut self, call: Box<dyn Call<M>>) {
        if self.waiting.len() >= self.options.queue {
            let (gone, waiting): (VecDeque<_>, _) = self.waiting.drain(..).partition(|call| call.is_abandoned());
            self.waiting = waiting;
            gone.into_iter().for_each(|call| call.abandon());
        }
        if self.waiting.len() < self.options.queue {
            self.waiting.push_back(call);
        } else {
            call.refuse(ModelError::Busy { name: self.name.to_string(), queue: self.options.queue });
        }
    }
}
