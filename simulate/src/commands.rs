//! The loop that receives commands, by long poll or on a WebSocket, executes or refuses them, and acknowledges them.

use serde_json::{Value, json};

use super::api::{Answer, Call, Polling};
use super::device::Device;
use super::faults::Fault;
use super::feed::{Disconnect, FeedConnection};
use super::profile::CommandChannel;
use super::random::Random;
use super::retry::{Backoff, is_transient};

/// Number of rejected WebSockets after which a device uses long polls.
const MAX_REJECTIONS: u32 = 3;

/// Processes commands while the device is on.
pub(super) async fn commands(device: &Device) {
    let mut random = device.random(5);
    if device.command_channel == CommandChannel::Feed {
        receive_over_feed(device, &mut random).await;
    }
    receive_by_long_poll(device, &mut random).await;
}

async fn receive_by_long_poll(device: &Device, random: &mut Random) {
    let mut backoff = Backoff::default();
    loop {
        device.wait_until_on().await;
        match device.while_on(take_command(device, Polling::Long, random)).await {
            None => {}
            Some(Ok(Taken::Reboot)) => device.restart(None).await,
            Some(Ok(Taken::Nothing | Taken::Done)) => backoff = Backoff::default(),
            Some(Err(retry_after)) => {
                device.api.counts.retries.increment();
                tokio::time::sleep(backoff.next(retry_after, random)).await;
            }
        }
    }
}

/// The WebSocket only announces commands. They are fetched as with long polls, so none is missed or executed twice.
async fn receive_over_feed(device: &Device, random: &mut Random) {
    let mut connection = FeedConnection::new(&device.id);
    let (mut backoff, mut rejections) = (Backoff::default(), 0);
    loop {
        device.wait_until_on().await;
        let ended = device
            .while_on(async {
                if let Err(ended) = connection.open(&device.api, &device.caller.token()).await {
                    return Interruption::Disconnect(ended);
                }
                (backoff, rejections) = (Backoff::default(), 0);
                loop {
                    loop {
                        match take_command(device, Polling::Short, random).await {
                            Ok(Taken::Done) => device.api.counts.commands_by_feed.increment(),
                            Ok(Taken::Reboot) => {
                                device.api.counts.commands_by_feed.increment();
                                return Interruption::Reboot;
                            }
                            Ok(Taken::Nothing) | Err(_) => break,
                        }
                    }
                    if let Err(ended) = connection.wait_for_command().await {
                        return Interruption::Disconnect(ended);
                    }
                }
            })
            .await;
        connection.close();
        match ended {
            None => {}
            Some(Interruption::Reboot) => {
                device.restart(None).await;
                continue;
            }
            Some(Interruption::Disconnect(Disconnect::Rejected)) if rejections + 1 >= MAX_REJECTIONS => return,
            Some(Interruption::Disconnect(Disconnect::Rejected)) => rejections += 1,
            Some(Interruption::Disconnect(Disconnect::Lost)) => device.api.counts.retries.increment(),
        }
        if ended.is_some() {
            tokio::time::sleep(backoff.next(None, random)).await;
        }
    }
}

/// What ended the use of a WebSocket.
enum Interruption {
    Disconnect(Disconnect),
    /// A command to restart. The caller executes it, because the restart ends whatever runs while the device is on.
    Reboot,
}

/// What was taken from the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Taken {
    Nothing,
    /// A command, which was executed or refused.
    Done,
    /// A command to restart, which was acknowledged and is to be executed.
    Reboot,
}

/// Fetches one command and executes it, except for a restart. An error holds the `Retry-After` of the server.
async fn take_command(
    device: &Device,
    polling: Polling,
    random: &mut Random,
) -> Result<Taken, Option<std::time::Duration>> {
    let answer = device.api.send(&Call::next_command(polling), &device.caller).await.map_err(|_| None)?;
    if !answer.ok() {
        if !is_transient(answer.status) {
            device.progress.record_rejection("commands/next", &answer);
        }
        return Err(answer.retry_after);
    }
    let Some((id, name)) = command_in(&answer) else { return Ok(Taken::Nothing) };
    let refuses = device.machine().faults.has(Fault::RefusesCommands);
    let result = if refuses {
        json!({ "ok": false, "refused": true, "result": { "reason": "the device refuses" } })
    } else {
        json!({ "ok": true, "result": { "name": name } })
    };
    let acknowledged = device.api.send_until_final(&Call::acknowledge(&id, result), &device.caller, random).await;
    match (acknowledged.ok(), refuses) {
        (true, true) => device.api.counts.commands_refused.increment(),
        (true, false) => device.api.counts.commands_done.increment(),
        (false, _) => device.progress.record_rejection("command", &acknowledged),
    }
    device.progress.notify();
    Ok(if name == "reboot" && !refuses { Taken::Reboot } else { Taken::Done })
}

fn command_in(answer: &Answer) -> Option<(String, String)> {
    let command = answer.data.get("command").unwrap_or(&answer.data);
    let text = |name: &str| command.get(name).and_then(Value::as_str).map(str::to_owned);
    Some((text("id")?, text("name").unwrap_or_default()))
}
