//! Heartbeats and readings.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::api::Call;
use super::device::Device;
use super::faults::Fault;
use super::random::Random;

/// A fleet's first heartbeats are spread over as long as so many a second take.
const STARTS_PER_SECOND: f64 = 200.0;

/// Sends heartbeats while the device is on.
pub(super) async fn heartbeats(device: &Device) {
    let mut random = device.random(1);
    let (started, mut seq) = (Instant::now(), 0_u64);
    let of = device.board.count() as f64;
    let first = Duration::from_secs_f64((of / STARTS_PER_SECOND).min(60.0) * random.share());
    tokio::time::sleep(first).await;
    loop {
        device.on().await;
        if device.machine().faults.has(Fault::Flaky) && random.share() < 0.4 {
            device.api.counts.heartbeats_left_out.up();
        } else {
            seq += 1;
            let beat = beat(device, seq, started.elapsed(), &mut random);
            let call = Call::heartbeat(&device.id, beat);
            // A heartbeat that waits for a server to come back would tell of a past: the next one is fresh.
            match device.api.once(&call, &device.who).await {
                Ok(answer) if answer.ok() => {
                    device.api.counts.heartbeats.up();
                    device.board.changed();
                }
                Ok(answer) if !super::retry::passes(answer.status) => device.board.refused("heartbeat", &answer),
                Ok(_) | Err(_) => {
                    device.api.counts.retries.up();
                    let soon = random.about(Duration::from_secs(1).min(device.profile.heartbeat()));
                    tokio::time::sleep(soon).await;
                    continue;
                }
            }
        }
        let pause = random.about(device.profile.heartbeat());
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = device.beat.notified() => {}
        }
    }
}

fn beat(device: &Device, seq: u64, up: Duration, random: &mut Random) -> Value {
    let (boot, machine) = (device.boot(), device.machine());
    json!({
        "boot_id": &*boot,
        "seq": seq,
        "firmware": machine.tells(),
        "slot": machine.slot,
        "health": {
            "battery_pct": random.between(60.0, 100.0).round(),
            "signal_dbm": random.between(-90.0, -60.0).round(),
            "temp_c": random.between(18.0, 30.0).round(),
            "uptime_s": up.as_secs(),
        },
    })
}

/// Sends readings while the device is on.
pub(super) async fn readings(device: &Device) {
    if device.profile.telemetry_s == 0 {
        return;
    }
    let mut random = device.random(2);
    let every = Duration::from_secs(device.profile.telemetry_s.into());
    loop {
        tokio::time::sleep(random.about(every)).await;
        device.on().await;
        let values = json!({ "values": { "pga_g": random.between(0.0, 0.002), "temp_c": random.between(15.0, 25.0) } });
        match device.api.once(&Call::telemetry(&device.id, values), &device.who).await {
            Ok(answer) if answer.ok() => device.api.counts.telemetry.up(),
            Ok(answer) if !super::retry::passes(answer.status) => device.board.refused("telemetry", &answer),
            Ok(_) | Err(_) => device.api.counts.retries.up(),
        }
    }
}
