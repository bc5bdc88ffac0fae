//! The firmware actor's dealings with devices: which of them may be notified, and what their heartbeats say.

use std::sync::Arc;

use actix::fut::ActorFutureExt;
use actix::{AsyncContext, Context, Handler, Message, WrapFuture};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use super::actor::{FirmwareActor, STEP};
use super::rollout::Gate;
use super::turn::Turn;
use crate::device::{DeviceSelection, ReceivedHeartbeat, RolloutTarget};
use muster_core::Error;
use muster_core::journal::Journalled;

/// Devices may be notified: asked about once for all requests that are handled meanwhile.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct AskDevices;

impl Handler<AskDevices> for FirmwareActor {
    type Result = ();

    fn handle(&mut self, _: AskDevices, context: &mut Context<Self>) {
        self.asking_soon = false;
        self.ask_devices(context);
    }
}

impl FirmwareActor {
    /// Asks for the devices that may be notified now, as they are now, and notifies them.
    fn ask_devices(&mut self, context: &mut Context<Self>) {
        if self.asking || self.admit().is_err() {
            return;
        }
        let asked = self.state.candidates(STEP, self.now());
        if asked.is_empty() {
            return;
        }
        self.asking = true;
        let ids = asked.iter().flat_map(|(_, devices)| devices.iter().cloned()).collect();
        let found = self.devices.select(DeviceSelection::Ids(ids));
        context.spawn(found.into_actor(self).map(move |found, actor, context: &mut Context<Self>| {
            actor.asking = false;
            match found {
                Ok(found) => actor.tell(&asked, &found, context),
                Err(error) => tracing::warn!(%error, "devices could not be asked about: trying again"),
            }
        }));
    }

    fn tell(&mut self, asked: &[(Arc<str>, Vec<Arc<str>>)], found: &[RolloutTarget], context: &mut Context<Self>) {
        if self.admit().is_err() {
            return;
        }
        let (now, mut turn) = (self.now(), Turn::default());
        for (job, devices) in asked {
            self.state.tell(job, devices, found, &mut turn, now);
        }
        self.record(turn, context);
    }

    fn hear(&mut self, heard: Result<ReceivedHeartbeat, RecvError>, context: &mut Context<Self>) {
        match heard {
            Ok(beat) if self.state.job_in_hand(&beat.device).is_some() => self.beat(&beat, context),
            Err(RecvError::Lagged(missed)) => {
                tracing::warn!(missed, "heartbeats were missed: reading what devices run");
                let found = self.devices.select(DeviceSelection::Ids(self.state.busy_devices()));
                context.spawn(found.into_actor(self).map(|found, actor, context: &mut Context<Self>| {
                    for device in found.unwrap_or_default() {
                        let (firmware, at) = (device.firmware.current, device.last_seen.unwrap_or_default());
                        let (device, status) = (device.id, device.status);
                        actor.beat(&ReceivedHeartbeat { device, at, boot_id: None, firmware, status }, context);
                    }
                }));
            }
            Ok(_) | Err(RecvError::Closed) => {}
        }
    }

    fn beat(&mut self, beat: &ReceivedHeartbeat, context: &mut Context<Self>) {
        let Some(firmware) = &beat.firmware else { return };
        // A beat that cannot be recorded is followed by the next.
        if self.admit().is_ok() {
            let gate = Gate { device: &beat.device, firmware, status: beat.status };
            let _: Result<(), Error> = self.change(
                |state, turn, now| {
                    state.beat(&gate, turn, now);
                    Ok(())
                },
                context,
            );
        }
    }
}

/// Heartbeats, one after another.
pub(super) fn beats(
    mut from: broadcast::Receiver<ReceivedHeartbeat>,
    context: &mut Context<FirmwareActor>,
    actor: &FirmwareActor,
) {
    let next = async move {
        let heard = from.recv().await;
        (heard, from)
    };
    context.spawn(next.into_actor(actor).map(|(heard, from), actor, context: &mut Context<FirmwareActor>| {
        let closed = matches!(heard, Err(RecvError::Closed));
        actor.hear(heard, context);
        if !closed {
            beats(from, context, actor);
        }
    }));
}
