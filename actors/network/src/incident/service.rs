//! The service of incidents and alerts.

use std::sync::Arc;

use actix_rt::ArbiterHandle;
use muster_store::StoreHandle;
use serde_json::Value;

use super::actor::{IncidentActor, IncidentOptions, load};
use super::alert_builder::Draft;
use super::change::ResourceRequest;
use super::edit::IncidentEdit;
use super::messages::{
    AlertFilter, GetAlert, GetIncident, GetNewestAlert, IncidentRequest, IncidentResponse, ListAlerts, ListIncidents,
    TakeSnapshot, WriteIncident,
};
use super::record::Incident;
use super::report::NewReport;
use super::state::IncidentFilter;
use super::timeline::{self, TimelineEntry};
use super::transition::IncidentTransition;
use crate::alert::{AlertRecord, Document, Origin};
use crate::journal::Incarnations;
use crate::shapes;
use muster_core::idempotency::Idempotency;
use muster_core::page::{Page, PageParams};
use muster_core::precondition::IfMatch;
use muster_core::supervise::{ChildSpec, Group, Handle};
use muster_core::{Clock, Error};
use muster_feed::{SnapshotRequest, SnapshotSource};
use muster_identity::By;

/// Service of incidents and alerts. Cheap to clone.
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
    /// Starts the actor; await [`Incidents::up`] before serving.
    pub fn start(group: &Group, arbiter: ArbiterHandle, options: IncidentOptions) -> Self {
        let (store, clock) = (Arc::clone(&options.store), options.clock.clone());
        let sender_name = options.settings.sender_name.as_str().into();
        let incarnations = Incarnations::default();
        let spec = ChildSpec::new("incidents", arbiter, move |_| load(options.clone(), incarnations.clone()));
        let handle = group.start(spec);
        Self { handle, store, clock, sender_name }
    }

    /// Waits until the actor has read its records and answers.
    pub async fn up(&self) {
        self.handle.up().await;
    }

    pub(super) async fn write(
        &self,
        by: By,
        idempotency: Option<Idempotency>,
        what: IncidentRequest,
    ) -> Result<IncidentResponse, Error> {
        self.handle.ask(WriteIncident { by, idempotency, what }).await?
    }

    /// Reports an incident. A report whose `dedup_key` names an open incident is attached to that incident.
    ///
    /// # Errors
    /// `Forbidden`, `Invalid`, `IdempotencyConflict`.
    pub async fn report(
        &self,
        by: By,
        idempotency: Option<Idempotency>,
        report: NewReport,
    ) -> Result<IncidentResponse, Error> {
        shapes::check(report.fields.geometry.as_ref().and_then(Option::as_ref)).await?;
        self.write(by, idempotency, IncidentRequest::Report(Box::new(report))).await
    }

    /// Applies a transition.
    ///
    /// # Errors
    /// `Forbidden`; `NotFound`; `PreconditionFailed`; `Invalid`; `Conflict` with the allowed actions.
    pub async fn transition(
        &self,
        by: By,
        id: String,
        if_match: IfMatch,
        transition: IncidentTransition,
    ) -> Result<IncidentResponse, Error> {
        self.write(by, None, IncidentRequest::Transition { id, if_match, transition: Box::new(transition) }).await
    }

    /// Changes fields of an incident.
    ///
    /// # Errors
    /// As [`Incidents::transition`].
    pub async fn edit(
        &self,
        by: By,
        id: String,
        if_match: IfMatch,
        edit: IncidentEdit,
        note: Option<String>,
    ) -> Result<IncidentResponse, Error> {
        shapes::check(edit.geometry.as_ref().and_then(Option::as_ref)).await?;
        self.write(by, None, IncidentRequest::Edit { id, if_match, edit: Box::new(edit), note }).await
    }

    /// Adds or changes a resource.
    ///
    /// # Errors
    /// As [`Incidents::transition`].
    pub async fn resources(
        &self,
        by: By,
        idempotency: Option<Idempotency>,
        id: String,
        if_match: IfMatch,
        what: ResourceRequest,
    ) -> Result<IncidentResponse, Error> {
        self.write(by, idempotency, IncidentRequest::Resources { id, if_match, what }).await
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
    ) -> Result<IncidentResponse, Error> {
        self.write(by, idempotency, IncidentRequest::Note { id, text, data }).await
    }

    /// # Errors
    /// `NotFound` if it does not exist or the caller may not see it.
    pub async fn get(&self, by: By, id: String) -> Result<Arc<Incident>, Error> {
        self.handle.ask(GetIncident { id, by }).await?
    }

    /// Returns a page of the incidents that the caller may see, newest first.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn list(&self, by: By, filter: IncidentFilter, page: PageParams) -> Result<Page<Arc<Incident>>, Error> {
        self.handle.ask(ListIncidents { filter, page, by }).await?
    }

    /// Returns a page of an incident's timeline, oldest first.
    ///
    /// # Errors
    /// `NotFound`; `Invalid` for a malformed cursor.
    pub async fn timeline(&self, by: By, id: String, page: PageParams) -> Result<Page<TimelineEntry>, Error> {
        let incident = self.get(by, id).await?;
        timeline::read(&self.store, &incident.id, &page)
    }

    /// Publishes an alert of an incident, or proposes it if a second person has to confirm it.
    ///
    /// # Errors
    /// `Forbidden`, `NotFound`, `Invalid`, `Conflict`.
    pub async fn publish(
        &self,
        by: By,
        idempotency: Option<Idempotency>,
        id: String,
        draft: Draft,
    ) -> Result<IncidentResponse, Error> {
        self.write(by, idempotency, IncidentRequest::Publish { id, draft: Box::new(draft) }).await
    }

    /// Confirms a proposed alert as the second person.
    ///
    /// # Errors
    /// `Forbidden` to the person who proposed it; `NotFound`; `Conflict`.
    pub async fn confirm(&self, by: By, alert: String) -> Result<IncidentResponse, Error> {
        self.write(by, None, IncidentRequest::Confirm { alert }).await
    }

    /// Rejects a proposed alert.
    ///
    /// # Errors
    /// `Forbidden`; `NotFound`; `Conflict`; `Invalid` without a reason.
    pub async fn reject(&self, by: By, alert: String, reason: Option<String>) -> Result<IncidentResponse, Error> {
        let reason = super::checks::required("reason", reason, "say what is wrong with it")?;
        self.write(by, None, IncidentRequest::Reject { alert, reason }).await
    }

    /// # Errors
    /// `NotFound` if it does not exist or the caller may not see it.
    pub async fn alert(&self, by: By, id: String) -> Result<Arc<AlertRecord>, Error> {
        self.handle.ask(GetAlert { id, by }).await?
    }

    /// Returns a page of the alerts that the caller may see, newest first.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn alerts(&self, by: By, filter: AlertFilter, page: PageParams) -> Result<Page<Arc<AlertRecord>>, Error> {
        self.handle.ask(ListAlerts { filter, page, by }).await?
    }

    /// Returns the newest message of an incident; if none was sent, a message with the status Draft.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn newest(&self, by: By, id: String) -> Result<Arc<AlertRecord>, Error> {
        self.handle.ask(GetNewestAlert { id, by }).await?
    }

    /// Returns an imported message as it was received; `None` for a message published here.
    pub(super) fn received(&self, alert: &AlertRecord) -> Result<Option<String>, Error> {
        if alert.origin == Origin::Published {
            return Ok(None);
        }
        Ok(self.store.record::<Document>(&Document::key(&alert.id))?.map(|document| document.xml))
    }
}

impl SnapshotSource for Incidents {
    fn request(&self, params: SnapshotRequest) {
        // A message that cannot be sent is dropped and answers as it is dropped.
        let _ = self.handle.try_send(TakeSnapshot(Some(params)));
    }
}
