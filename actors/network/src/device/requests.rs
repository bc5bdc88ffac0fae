//! Handlers of the devices' actor. Changes are answered once durable; reads look at what is durable, and answer at once.

use std::sync::Arc;

use actix::{Context, Handler, Message, MessageResult, ResponseFuture};
use tokio::sync::oneshot;

use super::actor::DeviceActor;
use super::beat::{heard_of, quietly};
use super::messages::{Act, Do, Handed, Heartbeat, Measured, Next, Readings, See, Snapshot};
use super::orders::HandOut;
use super::read;
use super::record::Status;
use super::snapshot;
use super::state::Fleet;
use super::telemetry::Telemetry;
use super::turn::no_device;
use crate::journal::answer;
use muster_core::Error;

impl<A: Act> Handler<Do<A>> for DeviceActor {
    type Result = ResponseFuture<Result<A::Answer, Error>>;

    fn handle(&mut self, act: Do<A>, context: &mut Context<Self>) -> Self::Result {
        let decided = self.decide(act.0);
        answer(self, decided, context)
    }
}

impl<R: 'static, F: FnOnce(&Fleet) -> R + 'static> Handler<See<R, F>> for DeviceActor {
    type Result = MessageResult<See<R, F>>;

    fn handle(&mut self, see: See<R, F>, _: &mut Context<Self>) -> Self::Result {
        MessageResult(see.0(&self.fleet))
    }
}

impl Handler<Heartbeat> for DeviceActor {
    type Result = ResponseFuture<<Heartbeat as Message>::Result>;

    fn handle(&mut self, Heartbeat(hear): Heartbeat, context: &mut Context<Self>) -> Self::Result {
        let now = self.now();
        if !self.pending.concerns(&hear.id)
            && let Some(quiet) = quietly(&mut self.fleet, &hear, now, &self.parts.rules)
        {
            self.latest(&hear.id, "health", now, &quiet.vitals);
            self.tell_beat(quiet.beat);
            if quiet.moved.is_some() {
                self.observed(&hear.id, quiet.moved);
            }
            return Box::pin(std::future::ready(Ok(quiet.answer)));
        }
        let decided = self.decide(hear);
        answer(self, decided, context)
    }
}

impl Handler<Measured> for DeviceActor {
    type Result = MessageResult<Measured>;

    fn handle(&mut self, measured: Measured, _: &mut Context<Self>) -> Self::Result {
        MessageResult(self.measured(measured))
    }
}

impl DeviceActor {
    fn measured(&mut self, measured: Measured) -> Result<Telemetry, Error> {
        let Measured { device, values, by } = measured;
        let present = self.fleet.entry(&device).ok_or_else(|| no_device(&device))?;
        heard_of(present.device.status)?;
        let (now, device) = (self.now(), Arc::clone(&present.device.id));
        let readings = self.readings(&device)?;
        readings.merge(&values, now)?;
        let readings = readings.clone();
        self.unsaved(&device, self.parts.rules.save_every);
        let data = serde_json::json!({ "id": device, "by": by.id(), "readings": readings.readings });
        self.latest(&device, "readings", now, &data);
        Ok(readings)
    }
}

impl Handler<Readings> for DeviceActor {
    type Result = MessageResult<Readings>;

    fn handle(&mut self, asked: Readings, _: &mut Context<Self>) -> Self::Result {
        let present = self.fleet.entry(&asked.device).map(|entry| (Arc::clone(&entry.device.id), entry.device.status));
        MessageResult(match present {
            None => Err(no_device(&asked.device)),
            // Those of a retired device are not kept in memory.
            Some((id, Status::Retired)) => read::telemetry(&self.parts.store, &id).map_err(Error::from),
            Some((id, _)) => self.readings(&id).map(|readings| readings.clone()),
        })
    }
}

impl Handler<Next> for DeviceActor {
    type Result = ResponseFuture<Result<Handed, Error>>;

    fn handle(&mut self, next: Next, context: &mut Context<Self>) -> Self::Result {
        let device = Arc::clone(&next.device);
        let handed = self.decide(HandOut { device: next.device }).map(|command| match command {
            Some(command) => Handed::Command(Box::new(command)),
            // Looked for and waited for in one turn: a command that is decided from now on wakes it.
            None => {
                let (wake, woken) = oneshot::channel();
                self.waiting.insert(device, wake);
                Handed::Wait(woken)
            }
        });
        answer(self, handed, context)
    }
}

impl Handler<Snapshot> for DeviceActor {
    type Result = ();

    fn handle(&mut self, asked: Snapshot, _: &mut Context<Self>) {
        if let Some(ask) = asked.take() {
            let state = snapshot::state(self, &ask);
            ask.reply.send(state);
        }
    }
}
