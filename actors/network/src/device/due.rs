//! Periodic work of the device actor: processes deadlines and stores what heartbeats and readings deferred.

use std::sync::Arc;
use std::time::Duration;

use actix::{AsyncContext, Context, Handler, Message};
use muster_store::{Op, Record};

use super::actions::CountBad;
use super::actor::{DeviceActor, DeviceEffect};
use super::deadline::Due;
use super::heartbeat::ProcessDue;
use super::telemetry::Telemetry;
use muster_core::Millis;
use muster_core::journal::Journalled;

/// Largest number of deadlines processed in one tick; the rest waits for the next.
const MAX_DUE_PER_TICK: usize = 20_000;
/// Largest number of deadlines in one decision. Requests are handled between two decisions.
const MAX_DUE_PER_DECISION: usize = 200;
/// Time after which a failed check is repeated.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// Continues with at most this many deadlines.
#[derive(Message)]
#[rtype(result = "()")]
struct ContinueProcessing(usize);

impl Handler<ContinueProcessing> for DeviceActor {
    type Result = ();

    fn handle(&mut self, ContinueProcessing(most): ContinueProcessing, context: &mut Context<Self>) {
        self.look(most, context);
    }
}

impl DeviceActor {
    pub(super) fn tick(&mut self, context: &mut Context<Self>) {
        if self.admit().is_err() {
            // Deadlines stay due.
            return;
        }
        for (device, more) in self.resources.bad_signatures.take() {
            if let Err(error) = self.decide(CountBad { device, more }) {
                tracing::warn!(%error, "bad signatures of a device were not counted");
            }
        }
        self.look(MAX_DUE_PER_TICK, context);
    }

    fn look(&mut self, most: usize, context: &mut Context<Self>) {
        if self.admit().is_err() {
            return;
        }
        let (now, mut due) = (self.now(), Vec::new());
        let bound = most.min(MAX_DUE_PER_DECISION);
        let mut scanned = 0;
        while scanned < bound
            && let Some(next) = self.fleet.deadlines.pop(now)
        {
            scanned += 1;
            match &next {
                Due::Readings(id) => self.save_readings(&Arc::clone(id), now),
                Due::Silent(id) if !self.pending.concerns(id) && self.postpone_silence_check(&Arc::clone(id), now) => {}
                _ => due.push(next),
            }
        }
        if !due.is_empty()
            && let Err(error) = self.decide(ProcessDue(due.clone()))
        {
            tracing::warn!(%error, "what was due was not done: trying again");
            due.into_iter().for_each(|due| self.fleet.deadlines.push(now.plus(RETRY_AFTER), due));
        }
        self.flush(context);
        if scanned == bound && most > bound {
            context.notify(ContinueProcessing(most - bound));
        }
    }

    /// Postpones the silence check of a device whose heartbeat arrived meanwhile; returns whether it did.
    fn postpone_silence_check(&mut self, device: &Arc<str>, now: Millis) -> bool {
        let (up, rules) = (self.fleet.up, &self.resources.rules);
        let Some(entry) = self.fleet.entry_mut(device) else { return true };
        match entry.silent_at(up, rules) {
            Some(at) if at <= now => return false,
            Some(at) => self.fleet.deadlines.push(at, Due::Silent(Arc::clone(device))),
            None => entry.runtime.watched = false,
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

    /// Schedules the storage of a device's readings after `after`, together with all readings until then.
    pub(super) fn unsaved(&mut self, device: &Arc<str>, after: Duration) {
        let at = self.now().plus(after);
        if let Some(readings) = self.fleet.readings.get_mut(device).filter(|readings| readings.save_at.is_none()) {
            readings.save_at = Some(at);
            self.fleet.deadlines.push(at, Due::Readings(Arc::clone(device)));
        }
    }
}
