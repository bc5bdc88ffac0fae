//! Executes the effects of sessions.

use std::collections::VecDeque;
use std::sync::Arc;

use muster_core::Millis;
use muster_core::principal::Viewer;
use muster_feed::{ConnId, HistoryError, Position, SubscribeRequest};
use muster_identity::{Person, Scheme};
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};
use tokio::sync::watch;

use super::channel::Channel;
use super::conn::{Closing, SubscriptionRef};
use super::{Framing, Shard, Table};
use crate::ws::command::{Command, fault_of};
use crate::ws::protocol::{CommandRequest, Effect, Fault, FaultKind, Filter, Refusal, outbound, refused};
use crate::ws::{Admitted, Close, Watch};

impl Shard {
    pub(super) fn drive(&self, table: &mut Table, id: ConnId, effects: Vec<Effect>, now: Millis) {
        let mut effects = VecDeque::from(effects);
        while let Some(effect) = effects.pop_front() {
            let Some(conn) = table.conn(id) else { return };
            match effect {
                Effect::Send(text) => {
                    let frame = conn.framing.text(text.as_bytes());
                    conn.outbox.push_back(frame);
                }
                Effect::Ping => {
                    let frame = conn.framing.heartbeat();
                    conn.outbox.push_back(frame);
                }
                Effect::Missed(publications) => {
                    for publication in publications {
                        let frame = conn.framing.publication(&publication);
                        conn.outbox.push_back(frame);
                    }
                }
                Effect::Listen { channel, filter, latest, position } => {
                    table.listen(id, channel, filter, latest, &position);
                }
                Effect::Leave { channel } => {
                    if let Some(place) = conn.places.remove(&channel) {
                        conn.took_all(place);
                        table.leave(place);
                    }
                    self.sockets.feed.unsubscribe(self.shard_id(), id, &channel);
                }
                Effect::Positions(channels) => table.send_positions(id, &channels),
                Effect::Close(close) => self.begin_close(table, id, close, now),
                Effect::Subscribe { tag, channel, since, snapshot } => {
                    let Some(viewer) = conn.session.viewer() else { continue };
                    let channel = channel.as_ref().to_owned();
                    let request =
                        SubscribeRequest { shard: self.shard_id(), conn: id, tag, channel, since, snapshot, viewer };
                    if let Err(refused) = self.sockets.feed.subscribe(request) {
                        effects.extend(conn.session.on_subscribed(tag, Err(refused), now));
                    }
                }
                Effect::Authenticate { tag, token, dpop } => {
                    let url = std::rc::Rc::clone(&conn.url);
                    self.authenticate(id, tag, token, dpop, &url);
                }
                Effect::History { tag, channel, since, limit } => {
                    self.history(table, id, tag, channel, since.map(Position::from), limit);
                }
                Effect::Presence { tag, channel } => self.presence(table, id, tag, channel),
                Effect::Command { tag, request } => self.command(table, id, tag, request, now),
            }
        }
        table.schedule(id);
        table.wake(id, now);
    }

    /// Nothing follows a close: what waits is dropped, except the replies before it.
    fn begin_close(&self, table: &mut Table, id: ConnId, close: Close, now: Millis) {
        let Some(conn) = table.conn(id) else { return };
        conn.forget_ready();
        if matches!(close, Close::SessionRevoked | Close::SlowConsumer) {
            conn.outbox.clear();
        }
        let frame = conn.framing.close(close);
        conn.outbox.push_back(frame);
        let over = conn.closing.is_some_and(|closing| closing.over) || matches!(conn.framing, Framing::Events(_));
        conn.closing = Some(Closing { since: now, over });
        conn.place = None;
        if close != Close::Normal {
            tracing::debug!(conn = conn.session.conn(), code = close.code(), reason = close.name(), "socket closed");
        }
        for place in std::mem::take(&mut conn.places).into_values() {
            table.leave(place);
        }
        self.sockets.feed.connection_closed(self.shard_id(), id);
    }

    /// Watches the user's session or the device.
    pub(super) fn watch(&self, id: ConnId, watch: Watch) -> tokio::task::JoinHandle<()> {
        let shard = self.me.clone();
        actix_rt::spawn(async move {
            let Watch { mut revoked, mut grant } = watch;
            loop {
                let changed = tokio::select! {
                    () = &mut revoked => None,
                    person = changed(&mut grant) => Some(person),
                };
                let Some(shard) = shard.upgrade() else { return };
                let Some(person) = changed else {
                    return shard.notify_session(id, |session, _| session.on_revoked());
                };
                let feed = &shard.sockets.feed;
                let viewer = Viewer { id: Arc::clone(&person.user_id), permissions: person.permissions };
                let allowed = |channel: &str, owner: Option<&Arc<str>>, viewer: &Viewer| {
                    let rule = feed.rules().admit(channel, viewer);
                    rule.is_ok_and(|rule| rule.only(viewer).is_none_or(|only| owner == Some(&only)))
                };
                shard.notify_session(id, |session, _| session.on_grant(person, allowed));
                feed.update_viewer(shard.shard_id(), id, viewer);
            }
        })
    }

    /// Passes an event from elsewhere to a session.
    pub(super) fn notify_session(
        &self,
        id: ConnId,
        notify: impl FnOnce(&mut crate::ws::protocol::Session, Millis) -> Vec<Effect>,
    ) {
        let now = self.now();
        let mut table = self.table.borrow_mut();
        let Some(conn) = table.conn(id) else { return };
        let effects = notify(&mut conn.session, now);
        self.drive(&mut table, id, effects, now);
    }

    fn authenticate(&self, id: ConnId, tag: u64, token: String, dpop: Option<String>, url: &str) {
        // A frame does not name the scheme; a token with a proof is treated as DPoP.
        let scheme = if dpop.is_some() { Scheme::Dpop } else { Scheme::Bearer };
        let (shard, checking) = (self.me.clone(), self.sockets.admission.authenticate(scheme, token, dpop, url));
        actix_rt::spawn(async move {
            let answer = checking.await;
            let Some(shard) = shard.upgrade() else { return };
            shard.authenticated(id, tag, answer);
        });
    }

    fn authenticated(&self, id: ConnId, tag: u64, answer: Result<Admitted, Refusal>) {
        let answer = answer.and_then(|admitted| {
            let mut table = self.table.borrow_mut();
            let Some(conn) = table.conn(id).filter(|conn| !conn.session.is_closed()) else {
                return Err(Refusal::Unavailable);
            };
            // A refreshed session is already counted.
            if conn.session.client().is_none() {
                conn.place = Some(self.sockets.counts.known(&admitted.client.subject).ok_or(Refusal::TooMany)?);
            }
            // A device may refresh with another of its keys. A token of another client ends the session.
            if let Some(before) = conn.watcher.replace(self.watch(id, admitted.watch)) {
                before.abort();
            }
            Ok(admitted.client)
        });
        self.notify_session(id, |session, now| session.on_authenticated(tag, answer, now));
    }

    fn history(&self, table: &mut Table, id: ConnId, tag: u64, channel: String, since: Option<Position>, limit: usize) {
        let Some(viewer) = table.conn(id).and_then(|conn| conn.session.viewer()) else { return };
        let (shard, feed) = (self.me.clone(), self.sockets.feed.clone());
        actix_rt::spawn(async move {
            let page = feed.history(&channel, since, limit, viewer).await.map_err(history_fault);
            answer(&shard, id, tag, page.and_then(|page| raw(&outbound::history(&page))));
        });
    }

    fn presence(&self, table: &mut Table, id: ConnId, tag: u64, channel: String) {
        let Some(viewer) = table.conn(id).and_then(|conn| conn.session.viewer()) else { return };
        let (shard, feed) = (self.me.clone(), self.sockets.feed.clone());
        actix_rt::spawn(async move {
            // A client that may read a channel may see its subscribers.
            let answered = match feed.history(&channel, None, 1, viewer).await {
                Err(error) => Err(history_fault(error)),
                Ok(_) => feed.presence(&channel).await.map_err(|error| fault_of(&error)),
            };
            answer(&shard, id, tag, answered.and_then(|present| raw(&outbound::presence(&channel, &present))));
        });
    }

    fn command(&self, table: &mut Table, id: ConnId, tag: u64, request: CommandRequest, now: Millis) {
        let Some(client) = table.conn(id).and_then(|conn| conn.session.client().cloned()) else { return };
        let outcome = self.sockets.commands.run(Command { by: client.subject.by(), request }, now);
        let shard = self.me.clone();
        actix_rt::spawn(async move {
            let outcome = outcome.await;
            answer(&shard, id, tag, outcome);
        });
    }
}

/// Returns the user with its present permissions; never resolves if they cannot change any more.
async fn changed(grant: &mut Option<watch::Receiver<Arc<Person>>>) -> Arc<Person> {
    if let Some(grant) = grant
        && grant.changed().await.is_ok()
    {
        return Arc::clone(&grant.borrow_and_update());
    }
    std::future::pending().await
}

fn answer(shard: &std::rc::Weak<Shard>, id: ConnId, tag: u64, answer: Result<Box<RawValue>, Fault>) {
    if let Some(shard) = shard.upgrade() {
        shard.notify_session(id, |session, now| session.on_answer(tag, answer, now));
    }
}

fn raw(body: &serde_json::Value) -> Result<Box<RawValue>, Fault> {
    to_raw_value(body).map_err(|error| Fault::new(FaultKind::Internal, error.to_string()))
}

fn history_fault(error: HistoryError) -> Fault {
    match error {
        HistoryError::Refused(reason) => refused(&reason),
        HistoryError::Down(error) => fault_of(&error),
    }
}

impl Table {
    fn listen(&mut self, id: ConnId, name: Arc<str>, filter: Option<Box<Filter>>, latest: bool, position: &Position) {
        let Some(conn) = self.conn(id).filter(|conn| conn.closing.is_none()) else { return };
        conn.framing.listens(&name, position);
        if let Some(before) = conn.places.remove(&name) {
            conn.took_all(before);
            self.leave(before);
        }
        let existing = self.names.get(&name).copied();
        let index = existing.unwrap_or_else(|| {
            let index = self.channels.insert(Channel::new(Arc::clone(&name), position, latest));
            self.names.insert(Arc::clone(&name), index);
            index
        });
        let Some(channel) = self.channels.get_mut(index) else { return };
        // The hub's state is newer than that of this thread.
        if channel.epoch != position.epoch || channel.head < position.offset {
            channel.epoch = Arc::clone(&position.epoch);
            channel.head = position.offset;
        }
        let Some(slot) = usize::try_from(id.0 & 0xff_ffff).ok() else { return };
        let member = channel.join(slot, filter);
        if let Some(conn) = self.conn(id) {
            conn.places.insert(name, SubscriptionRef { channel: index, member });
        }
    }

    /// Sends the positions of filtered subscriptions that have changed.
    fn send_positions(&mut self, id: ConnId, names: &[Arc<str>]) {
        for name in names {
            let Some(place) = self.conn(id).and_then(|conn| conn.places.get(name).copied()) else { continue };
            let Some(channel) = self.channels.get_mut(place.channel) else { continue };
            let offset = channel.position(place.member).offset;
            let previous =
                channel.members.get_mut(place.member).and_then(|member| member.sent_position.replace(offset));
            if previous != Some(offset)
                && let Some(conn) = self.conn(id)
            {
                let text = json!({ "ch": &**name, "pos": offset }).to_string();
                let frame = conn.framing.text(text.as_bytes());
                conn.outbox.push_back(frame);
            }
        }
    }

    /// Schedules the connection for the next time it has something to do.
    pub(super) fn schedule(&mut self, id: ConnId) {
        let Some(conn) = self.conn(id) else { return };
        let Some(next) = conn.session.next() else { return };
        if conn.due.is_some_and(|due| due <= next) {
            return;
        }
        let due = self.wheel.put(id, next);
        if let Some(conn) = self.conn(id) {
            conn.due = Some(due);
        }
    }
}
