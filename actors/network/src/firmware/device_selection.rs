//! Selection of devices to be notified, and handling of their heartbeats.

use std::sync::Arc;

use actix::fut::ActorFutureExt;
use actix::{AsyncContext, Context, Handler, Message, WrapFuture};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use super::actor::{FirmwareActor, STEP};
use super::rollout::GateHeartbeat;
use super::transaction::FirmwareTransaction;
use crate::device::{DeviceSelection, ReceivedHeartbeat, RolloutTarget};
use muster_core::Error;
use muster_core::journal::Journalled;

/// Selects the devices that may be notified, once for all requests handled meanwhile.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct SelectDevices;

impl Handler<SelectDevices> for FirmwareActor {
    type Result = ();

    fn handle(&mut self, _: SelectDevices, context: &mut Context<Self>) {
        self.selection_scheduled = false;
        self.select_devices(context);
    }
}

impl FirmwareActor {
    /// Selects the devices that may be notified, with their current records, and notifies them.
    fn select_devices(&mut self, context: &mut Context<Self>) {
        if self.selecting || self.admit().is_err() {
            return;
        }
        let selected = self.state.candidates(STEP, self.now());
        if selected.is_empty() {
            return;
        }
        self.selecting = true;
        let ids = selected.iter().flat_map(|(_, devices)| devices.iter().cloned()).collect();
        let found = self.devices.select(DeviceSelection::Ids(ids));
        context.spawn(found.into_actor(self).map(move |found, actor, context: &mut Context<Self>| {
            actor.selecting = false;
            match found {
                Ok(found) => actor.notify_devices(&selected, &found, context),
                Err(error) => tracing::warn!(%error, "devices could not be read: trying again"),
            }
        }));
    }

    fn notify_devices(
        &mut self,
        selected: &[(Arc<str>, Vec<Arc<str>>)],
        found: &[RolloutTarget],
        context: &mut Context<Self>,
    ) {
        if self.admit().is_err() {
            return;
        }
        let (now, mut transaction) = (self.now(), FirmwareTransaction::default());
        for (job, devices) in selected {
            self.state.notify_devices(job, devices, found, &mut transaction, now);
        }
        self.record(transaction, context);
    }

    fn on_heartbeat(&mut self, received: Result<ReceivedHeartbeat, RecvError>, context: &mut Context<Self>) {
        match received {
            Ok(heartbeat) if self.state.job_in_hand(&heartbeat.device).is_some() => self.heartbeat(&heartbeat, context),
            Err(RecvError::Lagged(missed)) => {
                tracing::warn!(missed, "heartbeats were missed: reading what devices run");
                let found = self.devices.select(DeviceSelection::Ids(self.state.busy_devices()));
                context.spawn(found.into_actor(self).map(|found, actor, context: &mut Context<Self>| {
                    for device in found.unwrap_or_default() {
                        let (firmware, at) = (device.firmware.current, device.last_seen.unwrap_or_default());
                        let (device, status) = (device.id, device.status);
                        actor.heartbeat(&ReceivedHeartbeat { device, at, boot_id: None, firmware, status }, context);
                    }
                }));
            }
            Ok(_) | Err(RecvError::Closed) => {}
        }
    }

    fn heartbeat(&mut self, heartbeat: &ReceivedHeartbeat, context: &mut Context<Self>) {
        let Some(firmware) = &heartbeat.firmware else { return };
        // A heartbeat that cannot be recorded is followed by another one.
        if self.admit().is_ok() {
            let gate = GateHeartbeat { device: &heartbeat.device, firmware, status: heartbeat.status };
            let _: Result<(), Error> = self.change(
                |state, transaction, now| {
                    state.heartbeat(&gate, transaction, now);
                    Ok(())
                },
                context,
            );
        }
    }
}

/// Handles heartbeats one after another.
pub(super) fn heartbeats(
    mut from: broadcast::Receiver<ReceivedHeartbeat>,
    context: &mut Context<FirmwareActor>,
    actor: &FirmwareActor,
) {
    let next = async move {
        let received = from.recv().await;
        (received, from)
    };
    context.spawn(next.into_actor(actor).map(|(received, from), actor, context: &mut Context<FirmwareActor>| {
        let closed = matches!(received, Err(RecvError::Closed));
        actor.on_heartbeat(received, context);
        if !closed {
            heartbeats(from, context, actor);
        }
    }));
}
