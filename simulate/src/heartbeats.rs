//! The loops that send heartbeats and telemetry.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::api::Call;
use super::device::Device;
use super::faults::Fault;
use super::random::Random;

/// Rate at which the devices of a fleet start, in devices per second.
const STARTS_PER_SECOND: f64 = 200.0;

/// Sends heartbeats while the device is on.
pub(super) async fn heartbeats(device: &Device) {
    let mut random = device.random(1);
    let (started, mut seq) = (Instant::now(), 0_u64);
    let devices = device.progress.count() as f64;
    let first = Duration::from_secs_f64((devices / STARTS_PER_SECOND).min(60.0) * random.uniform());
    tokio::time::sleep(first).await;
    loop {
        device.wait_until_on().await;
        if device.machine().faults.has(Fault::Flaky) && random.uniform() < 0.4 {
            device.api.counts.heartbeats_left_out.increment();
        } else {
            seq += 1;
            let body = heartbeat_body(device, seq, started.elapsed(), &mut random);
            let call = Call::heartbeat(&device.id, body);
            // A failed heartbeat is not repeated, because its content would be outdated: the next one is sent instead.
            match device.api.send(&call, &device.caller).await {
                Ok(answer) if answer.ok() => {
                    device.api.counts.heartbeats.increment();
                    device.progress.notify();
                }
                Ok(answer) if !super::retry::is_transient(answer.status) => {
                    device.progress.record_rejection("heartbeat", &answer)
                }
                Ok(_) | Err(_) => {
                    device.api.counts.retries.increment();
                    let soon = random.jitter(Duration::from_secs(1).min(device.profile.heartbeat()));
                    tokio::time::sleep(soon).await;
                    continue;
                }
            }
        }
        let pause = random.jitter(device.profile.heartbeat());
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = device.heartbeat_now.notified() => {}
        }
    }
}

fn heartbeat_body(device: &Device, seq: u64, up: Duration, random: &mut Random) -> Value {
    let (boot, machine) = (device.boot(), device.machine());
    json!({
        "boot_id": &*boot,
        "seq": seq,
        "firmware": machine.reported_version(),
        "slot": machine.slot,
        "health": {
            "battery_pct": random.between(60.0, 100.0).round(),
            "signal_dbm": random.between(-90.0, -60.0).round(),
            "temp_c": random.between(18.0, 30.0).round(),
            "uptime_s": up.as_secs(),
        },
    })
}

/// Sends telemetry while the device is on.
pub(super) async fn telemetry(device: &Device) {
    if device.profile.telemetry_s == 0 {
        return;
    }
    let mut random = device.random(2);
    let every = Duration::from_secs(device.profile.telemetry_s.into());
    loop {
        tokio::time::sleep(random.jitter(every)).await;
        device.wait_until_on().await;
        let values = json!({ "values": { "pga_g": random.between(0.0, 0.002), "temp_c": random.between(15.0, 25.0) } });
        match device.api.send(&Call::telemetry(&device.id, values), &device.caller).await {
            Ok(answer) if answer.ok() => device.api.counts.telemetry.increment(),
            Ok(answer) if !super::retry::is_transient(answer.status) => {
                device.progress.record_rejection("telemetry", &answer)
            }
            Ok(_) | Err(_) => device.api.counts.retries.increment(),
        }
    }
}
