//! The public face of incidents and alerts.

use std::sync::Arc;

use actix_rt::ArbiterHandle;
use muster_store::StoreHandle;
use serde_json::Value;

use super::act::Move;
use super::actor::{IncidentActor, Options, load};
use super::change::ResourceAct;
use super::edit::Edit;
use super::messages::{AlertFilter, Answer, Get, GetAlert, List, ListAlerts, Newest, Snapshot, What, Write};
use super::record::Incident;
use super::report::Report;
use super::state::Filter;
use super::timeline::{self, Entry};
use super::warn::Draft;
use crate::alert::{AlertRecord, Document, Origin};
use crate::journal::Incarnations;
use muster_core::idempotency::Idempotency;
use muster_core::page::{Page, PageAsk};
use muster_core::precondition::IfMatch;
use muster_core::supervise::{ChildSpec, Group, Handle};
use muster_core::{Clock, Error};
use muster_feed::{SnapshotRequest, SnapshotSource};
use muster_identity::By;

/// Incidents and alerts. Cheap to clone.
#[derive(Clone)]
pub struct Incidents {
    handle: Handle<IncidentActor>,
    store: StoreHandle,
    pub(super) clock: Clock,
    pub(super) sender_name: Arc<str>,
}

impl std::fmt::Debug for Incidents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Incidents").field(&self.handle).finish()
    }
}

impl Incidents {
    /// Starts the actor: await [`Incidents::up`] before serving.
    pub fn start(group: &Group, arbiter: ArbiterHandle, options: Options) -> Self {
        let (store, clock) = (Arc::clone(&options.store), options.clock.clone());
        let sender_name = options.settings.sender_name.as_str().into();
        let incarnations = Incarnations::default();
        let spec = ChildSpec::new("incidents", arbiter, move |_| load(options.clone(), incarnations.clone()));
        let handle = group.start(spec);
        Self { handle, store, clock, sender_name }
    }

    /// Waits until the records were read and the actor answers.
    pub async fn up(&self) {
        self.handle.up().await;
    }

    pub(super) async fn write(&self, by: By, idempotency: Option<Idempotency>, what: What) -> Result<Answer, Error> {
        self.handle.ask(Write { by, idempotency, what }).await?
    }

    /// Reports an incident; one more report of what is open already attaches to it.
    ///
    /// # Errors
    /// `Forbidden`, `Invalid`, `IdempotencyConflict`.
    pub async fn report(&self, by: By, idempotency: Option<Idempotency>, report: Report) -> Result<Answer, Error> {
        self.write(by, idempotency, What::Report(Box::new(report))).await
    }

    /// Makes a transition.
    ///
    /// # Errors
    /// `Forbidden`, `NotFound`, `PreconditionFailed`, `Invalid`; `Conflict` with what would be allowed.
    pub async fn act(&self, by: By, id: String, if_match: IfMatch, mv: Move) -> Result<Answer, Error> {
        self.write(by, None, What::Act { id, if_match, mv: Box::new(mv) }).await
    }

    /// Changes what is known of it.
    ///
    /// # Errors
    /// As [`Incidents::act`].
    pub async fn edit(
        &self,
        by: By,
        id: String,
        if_match: IfMatch,
        edit: Edit,
        note: Option<String>,
    ) -> Result<Answer, Error> {
        self.write(by, None, What::Edit { id, if_match, edit: Box::new(edit), note }).await
    }

    /// Adds or changes a resource.
    ///
    /// # Errors
    /// As [`Incidents::act`].
    pub async fn resources(
        &self,
        by: By,
        idempotency: Option<Idempotency>,
        id: String,
        if_match: IfMatch,
        what: ResourceAct,
    ) -> Result<Answer, Error> {
        self.write(by, idempotency, What::Resources { id, if_match, what }).await
    }

    /// Appends a note to the timeline.
    ///
    /// # Errors
    /// `Forbidden`, `NotFound`, `Invalid`.
    pub async fn note(
        &self,
        by: By,
        idempotency: Option<Idempotency>,
        id: String,
        text: String,
        data: Value,
    ) -> Result<Answer, Error> {
        self.write(by, idempotency, What::Note { id, text, data }).await
    }

    /// # Errors
    /// `NotFound`: it is not there, or not for the asker to see.
    pub async fn get(&self, by: By, id: String) -> Result<Arc<Incident>, Error> {
        self.handle.ask(Get { id, by }).await?
    }

    /// A page of what somebody may see, newest first.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn list(&self, by: By, filter: Filter, page: PageAsk) -> Result<Page<Arc<Incident>>, Error> {
        self.handle.ask(List { filter, page, by }).await?
    }

    /// A page of an incident's timeline, oldest first.
    ///
    /// # Errors
    /// `NotFound`; `Invalid` names a cursor that is none.
    pub async fn timeline(&self, by: By, id: String, page: PageAsk) -> Result<Page<Entry>, Error> {
        let incident = self.get(by, id).await?;
        timeline::read(&self.store, &incident.id, &page)
    }

    /// Publishes an alert of an incident, or proposes it to a second person.
    ///
    /// # Errors
    /// `Forbidden`, `NotFound`, `Invalid`, `Conflict`.
    pub async fn publish(
        &self,
        by: By,
        idempotency: Option<Idempotency>,
        id: String,
        draft: Draft,
    ) -> Result<Answer, Error> {
        self.write(by, idempotency, What::Publish { id, draft: Box::new(draft) }).await
    }

    /// The second person says yes.
    ///
    /// # Errors
    /// `Forbidden` to who proposed it; `NotFound`, `Conflict`.
    pub async fn confirm(&self, by: By, alert: String) -> Result<Answer, Error> {
        self.write(by, None, What::Confirm { alert }).await
    }

    /// A person says no.
    ///
    /// # Errors
    /// `Forbidden`, `NotFound`, `Conflict`, `Invalid` without a reason.
    pub async fn reject(&self, by: By, alert: String, reason: Option<String>) -> Result<Answer, Error> {
        let reason = super::checks::required("reason", reason, "say what is wrong with it")?;
        self.write(by, None, What::Reject { alert, reason }).await
    }

    /// # Errors
    /// `NotFound`: it is not there, or not for the asker to see.
    pub async fn alert(&self, by: By, id: String) -> Result<Arc<AlertRecord>, Error> {
        self.handle.ask(GetAlert { id, by }).await?
    }

    /// A page of the alerts that somebody may see, newest first.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn alerts(&self, by: By, filter: AlertFilter, page: PageAsk) -> Result<Page<Arc<AlertRecord>>, Error> {
        self.handle.ask(ListAlerts { filter, page, by }).await?
    }

    /// The newest message of an incident; where none was sent, a Draft of one.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn newest(&self, by: By, id: String) -> Result<Arc<AlertRecord>, Error> {
        self.handle.ask(Newest { id, by }).await?
    }

    /// An imported message as it was received; `None` of one that was made here.
    pub(super) fn received(&self, alert: &AlertRecord) -> Result<Option<String>, Error> {
        if alert.origin == Origin::Published {
            return Ok(None);
        }
        Ok(self.store.record::<Document>(&Document::key(&alert.id))?.map(|document| document.xml))
    }
}

impl SnapshotSource for Incidents {
    fn request(&self, ask: SnapshotRequest) {
        // A message that cannot be sent is dropped, and says so to the asker as it goes.
        let _ = self.handle.try_send(Snapshot(Some(ask)));
    }
}
