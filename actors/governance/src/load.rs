//! How the governance actor is restored from the store.

use std::collections::HashMap;
use std::sync::Arc;

use muster_core::Millis;
use muster_core::idempotency::PendingResponses;
use muster_core::journal::Journal;
use muster_core::supervise::BuildError;
use muster_store::{PageRequest, StoreError, StoreHandle};
use tokio::sync::watch;

use crate::actor::{GovernanceActor, GovernanceCounts, GovernanceOptions, RECENT, Refusal};
use crate::approval::{ApprovalRecord, ApprovalState};
use crate::decider::{Constitution, DeciderRecord, DelegationRecord, NewestTime};

struct Stored {
    open: Vec<ApprovalRecord>,
    refused: Vec<Refusal>,
    deciders: Vec<DeciderRecord>,
    delegations: Vec<DelegationRecord>,
    constituted: bool,
    newest: Millis,
}

/// Reads every record once. Blocking.
fn read(store: &StoreHandle, now: Millis) -> Result<Stored, StoreError> {
    let newest = store.record::<NewestTime>(NewestTime::KEY)?.map_or(Millis(0), |time| time.0);
    let constituted = store.record::<Constitution>(Constitution::KEY)?.is_some();
    let deciders = store.records("decider/", PageRequest::of(500)).values().collect::<Result<_, _>>()?;
    let delegations = store.records("delegation/", PageRequest::of(500)).values().collect::<Result<_, _>>()?;
    let mut stored = Stored { open: Vec::new(), refused: Vec::new(), deciders, delegations, constituted, newest };
    for record in store.records::<ApprovalRecord>("apr_", PageRequest::of(500)).values() {
        let record = record?;
        stored.newest = stored.newest.max(record.updated_at);
        if now.since(record.updated_at) < RECENT {
            stored.refused.extend(refusal(&record));
        }
        if !record.state.is_final() || record.awaits_review() {
            stored.open.push(record);
        }
    }
    Ok(stored)
}

/// Returns the refusal that a record is.
pub(crate) fn refusal(record: &ApprovalRecord) -> Option<Refusal> {
    let vetoed = record.state == ApprovalState::Vetoed;
    (vetoed || record.state == ApprovalState::Rejected).then(|| Refusal {
        at: record.updated_at,
        vetoed,
        requester: record.requester.id.clone(),
        action: record.action.clone(),
        resource: record.resource.clone(),
    })
}

/// Reads all records from the store and publishes the standing.
pub(crate) async fn load(
    options: GovernanceOptions,
    counts: watch::Sender<GovernanceCounts>,
) -> Result<GovernanceActor, BuildError> {
    let journal = Journal::open(&options.store).await?;
    let (store, now) = (Arc::clone(&options.store), options.clock.now());
    let stored = tokio::task::spawn_blocking(move || read(&store, now)).await??;
    let actor = GovernanceActor {
        options,
        journal,
        open: stored.open.into_iter().map(|record| (record.id.clone(), Arc::new(record))).collect(),
        deciders: stored.deciders.into_iter().map(|record| (record.user.clone(), Arc::new(record))).collect(),
        delegations: stored.delegations.into_iter().map(|record| (record.id.clone(), Arc::new(record))).collect(),
        constituted: stored.constituted,
        newest: stored.newest,
        recent: stored.refused.into(),
        leases: HashMap::new(),
        writes: HashMap::new(),
        responses: PendingResponses::default(),
        counts,
    };
    actor.options.standing.publish(actor.standing());
    actor.publish_counts();
    Ok(actor)
}
