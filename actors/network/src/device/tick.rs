//! What the devices' actor does by time: looks at what is due, writes what heartbeats and readings left unwritten.

use std::sync::Arc;
use std::time::Duration;

use actix::{AsyncContext, Context, Handler, Message};
use muster_store::{Op, Record};

use super::actor::{DeviceActor, DeviceEffect};
use super::beat::Look;
use super::deadline::Due;
use super::shift::CountBad;
use super::telemetry::Telemetry;
use muster_core::Millis;
use muster_core::journal::Journalled;

/// Looked at in one tick at most; the rest waits for the next.
const DUE_IN_A_TICK: usize = 20_000;
/// Looked at in one decision. Requests are handled between two.
const DUE_AT_ONCE: usize = 200;
/// What could not be done is tried again after so long.
const AGAIN: Duration = Duration::from_secs(5);

/// Looks at the next of what is due, at most so many.
#[derive(Message)]
#[rtype(result = "()")]
struct LookOn(usize);

impl Handler<LookOn> for DeviceActor {
    type Result = ();

    fn handle(&mut self, LookOn(most): LookOn, context: &mut Context<Self>) {
        self.look(most, context);
    }
}

impl DeviceActor {
    pub(super) fn tick(&mut self, context: &mut Context<Self>) {
        if self.admit().is_err() {
            // What is due stays due.
            return;
        }
        for (device, more) in self.parts.noted.take() {
            if let Err(error) = self.decide(CountBad { device, more }) {
                tracing::warn!(%error, "bad signatures of a device were not counted");
            }
        }
        self.look(DUE_IN_A_TICK, context);
    }

    fn look(&mut self, most: usize, context: &mut Context<Self>) {
        if self.admit().is_err() {
            return;
        }
        let (now, mut due) = (self.now(), Vec::new());
        let bound = most.min(DUE_AT_ONCE);
        let mut looked_at = 0;
        while looked_at < bound
            && let Some(next) = self.fleet.deadlines.pop(now)
        {
            looked_at += 1;
            match &next {
                Due::Readings(id) => self.save_readings(&Arc::clone(id), now),
                Due::Silent(id) if !self.pending.concerns(id) && self.heard_since(&Arc::clone(id), now) => {}
                _ => due.push(next),
            }
        }
        if !due.is_empty()
            && let Err(error) = self.decide(Look(due.clone()))
        {
            tracing::warn!(%error, "what was due was not done: trying again");
            due.into_iter().for_each(|due| self.fleet.deadlines.push(now.plus(AGAIN), due));
        }
        self.flush(context);
        if looked_at == bound && most > bound {
            context.notify(LookOn(most - bound));
        }
    }

    /// Whether a device was heard of since its silence was to be looked at: then that is put off.
    fn heard_since(&mut self, device: &Arc<str>, now: Millis) -> bool {
        let (up, rules) = (self.fleet.up, &self.parts.rules);
        let Some(entry) = self.fleet.entry_mut(device) else { return true };
        match entry.silent_at(up, rules) {
            Some(at) if at <= now => return false,
            Some(at) => self.fleet.deadlines.push(at, Due::Silent(Arc::clone(device))),
            None => entry.live.watched = false,
        }
        true
    }

    fn save_readings(&mut self, device: &Arc<str>, now: Millis) {
        let Some(readings) = self.fleet.readings.get_mut(device) else { return };
        if readings.save_at.is_none_or(|at| at > now) {
            return;
        }
        readings.save_at = None;
        match readings.telemetry.encode() {
            Ok(rec) => {
                let op = Op::Put { tree: Telemetry::TREE, key: Telemetry::key(device), rec };
                self.journal.push(vec![op], DeviceEffect::Saved(Arc::clone(device)));
            }
            Err(error) => tracing::error!(%device, %error, "readings cannot be stored"),
        }
    }

    /// Has a device's readings written after a while, with whatever comes until then.
    pub(super) fn unsaved(&mut self, device: &Arc<str>, after: Duration) {
        let at = self.now().plus(after);
        if let Some(readings) = self.fleet.readings.get_mut(device).filter(|readings| readings.save_at.is_none()) {
            readings.save_at = Some(at);
            self.fleet.deadlines.push(at, Due::Readings(Arc::clone(device)));
        }
    }
}
