//! Requests for what is there: read from what is decided so far, and answered once that is durable.

use std::sync::Arc;

use actix::{Context, Handler, ResponseFuture};

use super::actor::{IncidentActor, IncidentEffect};
use super::archive;
use super::messages::{Get, GetAlert, List, ListAlerts, Newest, Snapshot};
use super::record::Incident;
use super::snapshot;
use super::state::Asked;
use crate::alert::AlertRecord;
use crate::journal::answer;
use muster_core::Error;
use muster_core::ids::new_id;
use muster_core::journal::Journalled;
use muster_core::page::Page;

impl Handler<Get> for IncidentActor {
    type Result = ResponseFuture<Result<Arc<Incident>, Error>>;

    fn handle(&mut self, get: Get, context: &mut Context<Self>) -> Self::Result {
        let recalled = self.recall(&get.id);
        let found = recalled.and_then(|()| self.network.find(&get.id, &get.by).cloned());
        answer(self, found, context)
    }
}

impl Handler<List> for IncidentActor {
    type Result = ResponseFuture<Result<Page<Arc<Incident>>, Error>>;

    fn handle(&mut self, list: List, context: &mut Context<Self>) -> Self::Result {
        let List { filter, page, by } = &list;
        let found = if self.network.archived && filter.looks_back() {
            archive::list(&self.options.store, &self.network, filter, page, by).map_err(Error::from)
        } else {
            Ok(self.network.list(filter, page, by))
        };
        answer(self, found, context)
    }
}

impl Handler<GetAlert> for IncidentActor {
    type Result = ResponseFuture<Result<Arc<AlertRecord>, Error>>;

    fn handle(&mut self, get: GetAlert, context: &mut Context<Self>) -> Self::Result {
        let found = self.network.find_alert(&get.id, &get.by).cloned();
        answer(self, found, context)
    }
}

impl Handler<ListAlerts> for IncidentActor {
    type Result = ResponseFuture<Result<Page<Arc<AlertRecord>>, Error>>;

    fn handle(&mut self, list: ListAlerts, context: &mut Context<Self>) -> Self::Result {
        let now = self.now();
        let newest_first = self.network.alerts.before(list.page.after.as_deref());
        let matches =
            newest_first.filter(|alert| self.network.shows(alert, &list.by) && list.filter.lets(alert, now)).cloned();
        let page = Page::of(matches, list.page.limit, |alert| alert.id.clone());
        answer(self, Ok(page), context)
    }
}

impl Handler<Newest> for IncidentActor {
    type Result = ResponseFuture<Result<Arc<AlertRecord>, Error>>;

    fn handle(&mut self, newest: Newest, context: &mut Context<Self>) -> Self::Result {
        let now = self.now();
        let recalled = self.recall(&newest.id);
        let found =
            recalled.and_then(|()| self.network.newest(&newest.id, Asked { by: &newest.by, now, new_id: &new_id }));
        answer(self, found, context)
    }
}

impl Handler<Snapshot> for IncidentActor {
    type Result = ();

    fn handle(&mut self, snapshot: Snapshot, context: &mut Context<Self>) {
        let Some(ask) = &snapshot.0 else { return };
        if let Some(Err(error)) = ask.channel.strip_prefix("incidents:").map(|id| self.recall(id)) {
            tracing::warn!(%error, "an incident could not be read");
        }
        let state = snapshot::of(&self.network, &ask.channel, &ask.viewer, self.now());
        if self.journal.undurable() == 0 {
            return snapshot.answer(state);
        }
        // Behind the events of what it shows; unavailable where too much waits already.
        if self.journal.admit().is_ok() {
            self.journal.push(Vec::new(), IncidentEffect::State(snapshot, state));
            self.flush(context);
        }
    }
}
