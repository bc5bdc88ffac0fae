//! Differences: published once each.

use actix::{ActorFutureExt, AsyncContext, Context, WrapFuture};
use muster_core::event::Event;
use muster_store::Batch;
use serde::Serialize;

use super::Follower;
use crate::view::{Alarm, MOST_ALARMS};

/// Channel of the events.
const CHANNEL: &str = "governance";

impl Follower {
    /// Reports a difference, unless it was reported before.
    pub(super) fn alarm(&mut self, seq: Option<u64>, what: String, context: &mut Context<Self>) {
        if self.view.alarms.iter().any(|alarm| alarm.what == what) {
            return;
        }
        tracing::error!(seq, what, "the audit log differs from what was made or signed of it");
        let alarm = Alarm { at: self.options.clock.now(), seq, what };
        self.publish_event("audit.alarm", Batch::default(), &alarm, context);
        if self.view.alarms.len() < MOST_ALARMS {
            self.view.alarms.push(alarm);
        }
        self.publish();
    }

    /// Stores an event together with what it is about, then publishes it.
    pub(super) fn publish_event(
        &self,
        name: &str,
        mut batch: Batch,
        data: &impl Serialize,
        context: &mut Context<Self>,
    ) {
        let event = Event::new(name, self.options.clock.now(), vec![CHANNEL.to_owned()], data);
        match event.op() {
            Ok(op) => batch.ops.push(op),
            Err(error) => return tracing::warn!(name, %error, "an event of the audit log cannot be published"),
        }
        let written = self.options.store.commit(batch);
        let name = name.to_owned();
        context.spawn(written.into_actor(self).map(move |written, follower, _| {
            match (written, &follower.options.publisher) {
                (Ok(()), Some(publisher)) => publisher.publish(vec![event]),
                (Ok(()), None) => {}
                (Err(error), _) => tracing::warn!(name, %error, "an event of the audit log was not published"),
            }
        }));
    }
}
