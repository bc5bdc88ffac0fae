//! The service of incidents and alerts.

use std::sync::Arc;

use actix_rt::ArbiterHandle;
use muster_store::StoreHandle;
use serde_json::Value;

use super::actor::{IncidentActor, IncidentOptions, load};
use super::alert_builder::Draft;
use super::alert_texts::AlertTexts;
use super::change::ResourceRequest;
use super::edit::EditRequest;
use super::messages::{
    AlertFilter, GetAlert, GetAlertFeed, GetAwaitedApproval, GetIncident, GetNewestAlert, IncidentDetails,
    IncidentRequest, IncidentResponse, ListAlerts, ListAwaitedApprovals, ListIncidents, TakeSnapshot, WriteIncident,
    WriteMode,
};
use super::record::Incident;
use super::report::NewReport;
use super::state::IncidentFilter;
use super::timeline::{self, TimelineEntry};
use super::transition::IncidentTransition;
use crate::alert::{AlertAction, AlertRecord, Document, Origin};
use crate::journal::Incarnations;
use crate::shapes;
use muster_core::guard::ApprovalStep;
use muster_core::idempotency::Idempotency;
use muster_core::page::{Page, PageParams};
use muster_core::precondition::IfMatch;
use muster_core::supervise::{ChildSpec, Group, Handle};
use muster_core::{Clock, Error, Millis};
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
        self.request(by, idempotency, WriteMode::Apply, what, None).await
    }

    async fn request(
        &self,
        by: By,
        idempotency: Option<Idempotency>,
        mode: WriteMode,
        what: IncidentRequest,
        step: Option<ApprovalStep>,
    ) -> Result<IncidentResponse, Error> {
        self.handle.ask(WriteIncident { by, idempotency, mode, what, step }).await?
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

    /// Returns the response that a transition would have; nothing changes.
    ///
    /// # Errors
    /// As [`Incidents::transition`].
    pub async fn try_transition(
        &self,
        by: By,
        id: String,
        if_match: IfMatch,
        transition: IncidentTransition,
    ) -> Result<IncidentResponse, Error> {
        let what = IncidentRequest::Transition { id, if_match, transition: Box::new(transition) };
        self.request(by, None, WriteMode::DryRun, what, None).await
    }

    /// Changes fields of an incident. `step` opens the approval of the Update that the change proposes, if it needs one.
    ///
    /// # Errors
    /// As [`Incidents::transition`]; `Forbidden` (`approval_required`) without that step: its resource is the identifier
    /// of the alert.
    pub async fn edit(
        &self,
        by: By,
        id: String,
        if_match: IfMatch,
        request: EditRequest,
        step: Option<ApprovalStep>,
    ) -> Result<IncidentResponse, Error> {
        let EditRequest { edit, note, alert } = request;
        shapes::check(edit.geometry.as_ref().and_then(Option::as_ref)).await?;
        let what = IncidentRequest::Edit { id, if_match, edit: Box::new(edit), note, alert: Box::new(alert) };
        self.request(by, None, WriteMode::Apply, what, step).await
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
        Ok(self.details(by, id).await?.incident)
    }

    /// Returns an incident with its message that waits to be confirmed.
    ///
    /// # Errors
    /// As [`Incidents::get`].
    pub async fn details(&self, by: By, id: String) -> Result<IncidentDetails, Error> {
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

    /// Publishes an alert of an incident, or proposes it if a second person has to confirm it. `step` opens the approval
    /// of a proposal that needs one.
    ///
    /// # Errors
    /// `Forbidden`, `NotFound`, `Invalid`, `Conflict`; `Forbidden` (`approval_required`) without that step: its resource is
    /// the identifier of the alert.
    pub async fn publish(
        &self,
        by: By,
        idempotency: Option<Idempotency>,
        id: String,
        draft: Draft,
        step: Option<ApprovalStep>,
    ) -> Result<IncidentResponse, Error> {
        let what = IncidentRequest::Publish { id, draft: Box::new(draft) };
        self.request(by, idempotency, WriteMode::Apply, what, step).await
    }

    /// Returns the alert that [`Incidents::publish`] would publish or propose; nothing changes.
    ///
    /// # Errors
    /// As [`Incidents::publish`].
    pub async fn try_publish(&self, by: By, id: String, draft: Draft) -> Result<IncidentResponse, Error> {
        let what = IncidentRequest::Publish { id, draft: Box::new(draft) };
        self.request(by, None, WriteMode::DryRun, what, None).await
    }

    /// Ends an alert by a Cancel or an all-clear, or proposes that.
    ///
    /// # Errors
    /// `Forbidden`; `NotFound`; `Invalid`; `Conflict` if the alert is not in force.
    pub async fn end_alert(
        &self,
        by: By,
        idempotency: Option<Idempotency>,
        alert: String,
        action: AlertAction,
        note: Option<String>,
        texts: AlertTexts,
    ) -> Result<IncidentResponse, Error> {
        let texts = Box::new(texts);
        self.write(by, idempotency, IncidentRequest::EndAlert { alert, action, note, texts }).await
    }

    /// Changes the text of a proposed alert. `step` opens the approval of the new text, if it needs one: decisions on the
    /// earlier text no longer count.
    ///
    /// # Errors
    /// `Forbidden`; `NotFound`; `PreconditionFailed`; `Invalid`; `Conflict`; `Forbidden` (`approval_required`) without that
    /// step.
    pub async fn edit_alert(
        &self,
        by: By,
        alert: String,
        if_match: IfMatch,
        texts: AlertTexts,
        step: Option<ApprovalStep>,
    ) -> Result<IncidentResponse, Error> {
        let what = IncidentRequest::EditAlert { alert, if_match, texts: Box::new(texts) };
        self.request(by, None, WriteMode::Apply, what, step).await
    }

    /// Confirms a proposed alert. Of one that waits for an approval, `step` is the decision.
    ///
    /// # Errors
    /// `Forbidden` to its author if it takes two people; `NotFound`; `PreconditionFailed`; `Conflict`; `Forbidden`
    /// (`approval_required`) without that step.
    pub async fn confirm(
        &self,
        by: By,
        alert: String,
        if_match: IfMatch,
        step: Option<ApprovalStep>,
    ) -> Result<IncidentResponse, Error> {
        self.request(by, None, WriteMode::Apply, IncidentRequest::Confirm { alert, if_match }, step).await
    }

    /// Rejects a proposed alert. Of one that waits for an approval, `step` is the decision.
    ///
    /// # Errors
    /// `Forbidden`; `NotFound`; `Conflict`; `Invalid` without a note; `Forbidden` (`approval_required`) without that step.
    pub async fn reject(
        &self,
        by: By,
        alert: String,
        note: Option<String>,
        step: Option<ApprovalStep>,
    ) -> Result<IncidentResponse, Error> {
        let note = super::checks::required("note", note, "say what is wrong with it")?;
        self.request(by, None, WriteMode::Apply, IncidentRequest::Reject { alert, note }, step).await
    }

    /// Withdraws a proposed alert whose approval has ended without an execution. One that waits for another approval, or no
    /// longer waits, is left as it is.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn end_waiting(&self, alert: String, approval: String, why: String) -> Result<(), Error> {
        self.write(By::System, None, IncidentRequest::EndWaiting { alert, approval, why }).await.map(drop)
    }

    /// Returns the approval that a proposed alert waits for.
    ///
    /// # Errors
    /// `NotFound`; `Unavailable`.
    pub async fn awaited_approval(&self, alert: &str) -> Result<Option<String>, Error> {
        self.handle.ask(GetAwaitedApproval { alert: alert.to_owned() }).await?
    }

    /// Returns the alerts that wait for an approval, with that approval.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn awaiting_approvals(&self) -> Result<Vec<(String, String)>, Error> {
        self.handle.ask(ListAwaitedApprovals).await?
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

    /// Returns the entries of the public feed, newest first, and the time of its last change.
    pub(super) async fn feed(&self, by: By, limit: usize) -> Result<(Vec<Arc<AlertRecord>>, Millis), Error> {
        self.handle.ask(GetAlertFeed { limit, by }).await?
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
