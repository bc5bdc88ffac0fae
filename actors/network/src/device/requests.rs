//! Message handlers of the device actor, a file of their own because of their number. Changes are answered once they
//! are durable; reads return durable state and are answered at once.

use std::sync::Arc;

use actix::{Context, Handler, Message, MessageResult, ResponseFuture};
use tokio::sync::oneshot;

use super::actor::DeviceActor;
use super::command_changes::DeliverCommand;
use super::heartbeat::{record_quietly, require_reporting};
use super::messages::{
    ApplyChange, DeviceChange, GetReadings, HandleHeartbeat, NextCommand, NextCommandReply, ReadFleet, RecordReadings,
    TakeSnapshot,
};
use super::queries;
use super::record::Status;
use super::snapshot;
use super::state::Fleet;
use super::telemetry::Telemetry;
use super::transaction::no_device;
use muster_core::Error;
use muster_core::journal::respond;

impl<A: DeviceChange> Handler<ApplyChange<A>> for DeviceActor {
    type Result = ResponseFuture<Result<A::Output, Error>>;

    fn handle(&mut self, act: ApplyChange<A>, context: &mut Context<Self>) -> Self::Result {
        let decided = self.decide(act.0);
        respond(self, decided, context)
    }
}

impl<R: 'static, F: FnOnce(&Fleet) -> R + 'static> Handler<ReadFleet<R, F>> for DeviceActor {
    type Result = MessageResult<ReadFleet<R, F>>;

    fn handle(&mut self, see: ReadFleet<R, F>, _: &mut Context<Self>) -> Self::Result {
        MessageResult(see.0(&self.fleet))
    }
}

impl Handler<HandleHeartbeat> for DeviceActor {
    type Result = ResponseFuture<<HandleHeartbeat as Message>::Result>;

    fn handle(&mut self, HandleHeartbeat(request): HandleHeartbeat, context: &mut Context<Self>) -> Self::Result {
        let now = self.now();
        if !self.pending.concerns(&request.id)
            && let Some(quiet) = record_quietly(&mut self.fleet, &request, now, &self.resources.rules)
        {
            self.latest(&request.id, "health", now, &quiet.health_summary);
            self.broadcast_heartbeat(quiet.received_heartbeat);
            if quiet.moved.is_some() {
                self.observed(&request.id, quiet.moved);
            }
            return Box::pin(std::future::ready(Ok(quiet.response)));
        }
        let decided = self.decide(request);
        respond(self, decided, context)
    }
}

impl Handler<RecordReadings> for DeviceActor {
    type Result = MessageResult<RecordReadings>;

    fn handle(&mut self, measured: RecordReadings, _: &mut Context<Self>) -> Self::Result {
        MessageResult(self.measured(measured))
    }
}

impl DeviceActor {
    fn measured(&mut self, measured: RecordReadings) -> Result<Telemetry, Error> {
        let RecordReadings { device, values, by } = measured;
        let present = self.fleet.entry(&device).ok_or_else(|| no_device(&device))?;
        require_reporting(present.device.status)?;
        let (now, device) = (self.now(), Arc::clone(&present.device.id));
        let readings = self.readings(&device)?;
        readings.merge(&values, now)?;
        let readings = readings.clone();
        self.unsaved(&device, self.resources.rules.save_every);
        let data = serde_json::json!({ "id": device, "by": by.id(), "readings": readings.readings });
        self.latest(&device, "readings", now, &data);
        Ok(readings)
    }
}

impl Handler<GetReadings> for DeviceActor {
    type Result = MessageResult<GetReadings>;

    fn handle(&mut self, request: GetReadings, _: &mut Context<Self>) -> Self::Result {
        let present =
            self.fleet.entry(&request.device).map(|entry| (Arc::clone(&entry.device.id), entry.device.status));
        MessageResult(match present {
            None => Err(no_device(&request.device)),
            // Readings of a retired device are not kept in memory.
            Some((id, Status::Retired)) => queries::telemetry(&self.resources.store, &id).map_err(Error::from),
            Some((id, _)) => self.readings(&id).map(|readings| readings.clone()),
        })
    }
}

impl Handler<NextCommand> for DeviceActor {
    type Result = ResponseFuture<Result<NextCommandReply, Error>>;

    fn handle(&mut self, next: NextCommand, context: &mut Context<Self>) -> Self::Result {
        let device = Arc::clone(&next.device);
        let handed = self.decide(DeliverCommand { device: next.device }).map(|command| match command {
            Some(command) => NextCommandReply::Command(Box::new(command)),
            // The check and the registration happen in one message: a command decided from now on wakes the waiter.
            None => {
                let (wake, woken) = oneshot::channel();
                self.waiting.insert(device, wake);
                NextCommandReply::Wait(woken)
            }
        });
        respond(self, handed, context)
    }
}

impl Handler<TakeSnapshot> for DeviceActor {
    type Result = ();

    fn handle(&mut self, request: TakeSnapshot, _: &mut Context<Self>) {
        if let Some(request) = request.take() {
            let state = snapshot::state(self, &request);
            request.reply.send(state);
        }
    }
}
