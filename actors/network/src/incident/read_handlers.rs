//! Handlers of reads: they see all decisions so far and are answered once those are durable.

use std::sync::Arc;

use actix::{Context, Handler, ResponseFuture};

use super::actor::{IncidentActor, IncidentEffect};
use super::archive;
use super::messages::{
    GetAlert, GetAlertFeed, GetAwaitedApproval, GetIncident, GetNewestAlert, IncidentDetails, ListAlerts,
    ListAwaitedApprovals, ListIncidents, TakeSnapshot,
};
use super::publish::unknown_alert;
use super::record::Incident;
use super::snapshot;
use super::state::RequestContext;
use crate::alert::{AlertRecord, AlertState};
use muster_core::ids::new_id;
use muster_core::journal::Journalled;
use muster_core::journal::respond;
use muster_core::page::Page;
use muster_core::{Error, Millis};

impl Handler<GetIncident> for IncidentActor {
    type Result = ResponseFuture<Result<IncidentDetails, Error>>;

    fn handle(&mut self, get: GetIncident, context: &mut Context<Self>) -> Self::Result {
        let recalled = self.load_archived(&get.id);
        let found = recalled.and_then(|()| self.registry.details(&get.id, &get.by));
        respond(self, found, context)
    }
}

impl Handler<ListIncidents> for IncidentActor {
    type Result = ResponseFuture<Result<Page<Arc<Incident>>, Error>>;

    fn handle(&mut self, list: ListIncidents, context: &mut Context<Self>) -> Self::Result {
        let ListIncidents { filter, page, by } = &list;
        let found = if self.registry.archived && filter.includes_finished() {
            archive::list(&self.options.store, &self.registry, filter, page, by).map_err(Error::from)
        } else {
            Ok(self.registry.list(filter, page, by))
        };
        respond(self, found, context)
    }
}

impl Handler<GetAlert> for IncidentActor {
    type Result = ResponseFuture<Result<Arc<AlertRecord>, Error>>;

    fn handle(&mut self, get: GetAlert, context: &mut Context<Self>) -> Self::Result {
        let found = self.registry.find_alert(&get.id, &get.by).cloned();
        respond(self, found, context)
    }
}

impl Handler<GetAwaitedApproval> for IncidentActor {
    type Result = ResponseFuture<Result<Option<String>, Error>>;

    fn handle(&mut self, get: GetAwaitedApproval, context: &mut Context<Self>) -> Self::Result {
        let alert = self.registry.alerts.get(&get.alert).ok_or_else(|| unknown_alert(&get.alert));
        let awaited = alert.map(|alert| awaited(alert).map(str::to_owned));
        respond(self, awaited, context)
    }
}

impl Handler<ListAwaitedApprovals> for IncidentActor {
    type Result = ResponseFuture<Result<Vec<(String, String)>, Error>>;

    fn handle(&mut self, _: ListAwaitedApprovals, context: &mut Context<Self>) -> Self::Result {
        let waiting = self.registry.alerts.all_pending();
        let awaited = waiting.filter_map(|alert| Some((alert.id.clone(), awaited(alert)?.to_owned())));
        let awaited = Ok(awaited.collect());
        respond(self, awaited, context)
    }
}

impl Handler<ListAlerts> for IncidentActor {
    type Result = ResponseFuture<Result<Page<Arc<AlertRecord>>, Error>>;

    fn handle(&mut self, list: ListAlerts, context: &mut Context<Self>) -> Self::Result {
        let now = self.now();
        let newest_first = self.registry.alerts.before(list.page.after.as_deref());
        let matches = newest_first
            .filter(|alert| self.registry.can_see_alert(alert, &list.by) && list.filter.matches(alert, now))
            .cloned();
        let page = Page::of(matches, list.page.limit, |alert| alert.id.clone());
        respond(self, Ok(page), context)
    }
}

impl Handler<GetAlertFeed> for IncidentActor {
    type Result = ResponseFuture<Result<(Vec<Arc<AlertRecord>>, Millis), Error>>;

    fn handle(&mut self, get: GetAlertFeed, context: &mut Context<Self>) -> Self::Result {
        let alerts = &self.registry.alerts;
        let visible = alerts.feed(self.now()).filter(|alert| self.registry.can_see_alert(alert, &get.by));
        let entries = visible.take(get.limit).cloned().collect();
        let feed = (entries, alerts.feed_updated());
        respond(self, Ok(feed), context)
    }
}

impl Handler<GetNewestAlert> for IncidentActor {
    type Result = ResponseFuture<Result<Arc<AlertRecord>, Error>>;

    fn handle(&mut self, newest: GetNewestAlert, context: &mut Context<Self>) -> Self::Result {
        let now = self.now();
        let recalled = self.load_archived(&newest.id);
        let found = recalled
            .and_then(|()| self.registry.newest(&newest.id, RequestContext { by: &newest.by, now, new_id: &new_id }));
        respond(self, found, context)
    }
}

impl Handler<TakeSnapshot> for IncidentActor {
    type Result = ();

    fn handle(&mut self, snapshot: TakeSnapshot, context: &mut Context<Self>) {
        let Some(request) = &snapshot.0 else { return };
        if let Some(Err(error)) = request.channel.strip_prefix("incidents:").map(|id| self.load_archived(id)) {
            tracing::warn!(%error, "an incident could not be read");
        }
        let state = snapshot::of(&self.registry, &request.channel, &request.viewer, self.now());
        if self.journal.undurable() == 0 {
            return snapshot.answer(state);
        }
        // Sent after the events of what it contains; unavailable if too much waits already.
        if self.journal.admit().is_ok() {
            self.journal.push(Vec::new(), IncidentEffect::TakeSnapshot(snapshot, state));
            self.flush(context);
        }
    }
}

/// Returns the approval that a proposal waits for.
fn awaited(alert: &AlertRecord) -> Option<&str> {
    alert.approval_id.as_deref().filter(|_| alert.state == AlertState::PendingSecond)
}
