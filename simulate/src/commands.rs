//! Commands: heard of by long poll or on a socket, done or refused, acknowledged.

use serde_json::{Value, json};

use super::api::{Answer, Call, Waits};
use super::device::Device;
use super::faults::Fault;
use super::feed::{Ended, Line};
use super::profile::Hears;
use super::random::Random;
use super::retry::{Backoff, passes};

/// Sockets that the server refuses before a device asks by long poll instead.
const REFUSALS: u32 = 3;

/// Takes commands while the device is on.
pub(super) async fn commands(device: &Device) {
    let mut random = device.random(5);
    if device.hears == Hears::Feed {
        by_feed(device, &mut random).await;
    }
    by_long_poll(device, &mut random).await;
}

async fn by_long_poll(device: &Device, random: &mut Random) {
    let mut backoff = Backoff::default();
    loop {
        device.on().await;
        match device.while_on(take(device, Waits::Long, random)).await {
            None => {}
            Some(Ok(_)) => backoff = Backoff::default(),
            Some(Err(told)) => {
                device.api.counts.retries.up();
                tokio::time::sleep(backoff.next(told, random)).await;
            }
        }
    }
}

/// The socket is the bell; what is to be done is asked for as ever, so nothing is missed and nothing done twice.
async fn by_feed(device: &Device, random: &mut Random) {
    let mut line = Line::new(&device.id);
    let (mut backoff, mut refusals) = (Backoff::default(), 0);
    loop {
        device.on().await;
        let ended = device
            .while_on(async {
                if let Err(ended) = line.open(&device.api, &device.who.token()).await {
                    return ended;
                }
                (backoff, refusals) = (Backoff::default(), 0);
                loop {
                    while let Ok(true) = take(device, Waits::Short, random).await {
                        device.api.counts.commands_by_feed.up();
                    }
                    if let Err(ended) = line.rung().await {
                        return ended;
                    }
                }
            })
            .await;
        line.close();
        match ended {
            None => {}
            Some(Ended::Refused) if refusals + 1 >= REFUSALS => return,
            Some(Ended::Refused) => refusals += 1,
            Some(Ended::Broken) => device.api.counts.retries.up(),
        }
        if ended.is_some() {
            tokio::time::sleep(backoff.next(None, random)).await;
        }
    }
}

/// Takes one command and does it; whether there was one. An error says when to try again.
async fn take(device: &Device, waits: Waits, random: &mut Random) -> Result<bool, Option<std::time::Duration>> {
    let answer = device.api.once(&Call::next_command(waits), &device.who).await.map_err(|_| None)?;
    if !answer.ok() {
        if !passes(answer.status) {
            device.board.refused("commands/next", &answer);
        }
        return Err(answer.retry_after);
    }
    let Some((id, name)) = command_in(&answer) else { return Ok(false) };
    let refuses = device.machine().faults.has(Fault::RefusesCommands);
    let told = if refuses {
        json!({ "ok": false, "refused": true, "result": { "reason": "the device refuses" } })
    } else {
        json!({ "ok": true, "result": { "name": name } })
    };
    let acked = device.api.insist(&Call::acknowledge(&id, told), &device.who, random).await;
    match (acked.ok(), refuses) {
        (true, true) => device.api.counts.commands_refused.up(),
        (true, false) => device.api.counts.commands_done.up(),
        (false, _) => device.board.refused("command", &acked),
    }
    device.board.changed();
    if name == "reboot" && !refuses {
        device.restart(None).await;
    }
    Ok(true)
}

fn command_in(answer: &Answer) -> Option<(String, String)> {
    let command = answer.data.get("command").unwrap_or(&answer.data);
    let text = |name: &str| command.get(name).and_then(Value::as_str).map(str::to_owned);
    Some((text("id")?, text("name").unwrap_or_default()))
}
