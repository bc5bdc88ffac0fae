//! The actor that owns the marks.

use std::sync::Arc;

use actix::{Actor, Context, Handler, Message, ResponseFuture};
use muster_core::journal::{Committed, Journal, Journalled, Reply, decide, respond};
use muster_core::supervise::BuildError;
use muster_core::{Clock, Error};
use muster_store::{Op, PageRequest, Record, StoreError, StoreHandle};

use super::state::{Availability, DayRecord, UptimeState};

/// Options of the actor.
#[derive(Clone)]
pub struct UptimeOptions {
    /// Store of the marks.
    pub store: StoreHandle,
    /// Clock of the marks.
    pub clock: Clock,
}

impl std::fmt::Debug for UptimeOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("UptimeOptions")
    }
}

/// Marks the present minute.
#[derive(Debug, Message)]
#[rtype(result = "Result<(), Error>")]
pub(super) struct Mark;

/// Asks how long the interface was available.
#[derive(Debug, Message)]
#[rtype(result = "Result<Availability, Error>")]
pub(super) struct Ask;

/// Owns the marks.
pub(super) struct UptimeActor {
    options: UptimeOptions,
    journal: Journal<Reply<()>>,
    state: UptimeState,
}

impl std::fmt::Debug for UptimeActor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UptimeActor").field("state", &self.state).finish_non_exhaustive()
    }
}

/// Reads the marks from the store.
pub(super) async fn load(options: UptimeOptions) -> Result<UptimeActor, BuildError> {
    let journal = Journal::open(&options.store).await?;
    let store = Arc::clone(&options.store);
    let read = move || {
        let records = store.records::<DayRecord>("day_", PageRequest::of(100)).values();
        records.collect::<Result<Vec<_>, StoreError>>().map(UptimeState::from_records)
    };
    let state = tokio::task::spawn_blocking(read).await??;
    Ok(UptimeActor { options, journal, state })
}

impl Actor for UptimeActor {
    type Context = Context<Self>;
}

impl Journalled for UptimeActor {
    type Effects = Reply<()>;

    fn journal(&mut self) -> &mut Journal<Reply<()>> {
        &mut self.journal
    }

    fn store(&self) -> &StoreHandle {
        &self.options.store
    }

    fn on_committed(&mut self, committed: Committed<Reply<()>>, _: &mut Context<Self>) {
        committed.effects.into_iter().for_each(Reply::send);
    }

    fn on_failed(&mut self, effects: Vec<Reply<()>>, error: &Error) {
        effects.into_iter().for_each(|reply| reply.fail(error));
    }
}

impl UptimeActor {
    fn mark(&mut self) -> Result<Vec<Op>, Error> {
        self.admit()?;
        let (changed, old) = self.state.mark(self.options.clock.now());
        let mut ops = Vec::new();
        if let Some(record) = changed {
            ops.push(Op::Put { tree: DayRecord::TREE, key: record.key(), rec: record.encode()? });
        }
        ops.extend(old.into_iter().map(|record| Op::Delete { tree: DayRecord::TREE, key: record.key() }));
        Ok(ops)
    }
}

impl Handler<Mark> for UptimeActor {
    type Result = ResponseFuture<Result<(), Error>>;

    fn handle(&mut self, _: Mark, context: &mut Context<Self>) -> Self::Result {
        match self.mark() {
            Ok(ops) => decide(self, ops, (), context),
            Err(error) => respond(self, Err(error), context),
        }
    }
}

impl Handler<Ask> for UptimeActor {
    type Result = ResponseFuture<Result<Availability, Error>>;

    fn handle(&mut self, _: Ask, context: &mut Context<Self>) -> Self::Result {
        let availability = self.state.availability(self.options.clock.now());
        respond(self, Ok(availability), context)
    }
}
