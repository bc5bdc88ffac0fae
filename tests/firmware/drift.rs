//! Desired against installed firmware after a job, and devices that leave it.

use super::*;
use crate::support::socket::{Socket, admin_token};

async fn firmware_of(admin: &Client, unit: &Unit) -> Value {
    admin.get(&format!("/api/v1/devices/{}", unit.id)).await.json()["data"]["firmware"].clone()
}

async fn drifted(admin: &Client, drift: bool) -> usize {
    let listed = admin.get(&format!("/api/v1/devices?drift={drift}")).await;
    assert_eq!(listed.status, 200, "{}", listed.text);
    listed.json()["data"]["devices"].as_array().unwrap().len()
}

/// Waits for an event of a device.
async fn event(socket: &mut Socket, name: &str) -> Value {
    loop {
        let frame = socket.frame().await;
        if frame["ev"] == name {
            return frame["data"].clone();
        }
    }
}

fn reports(version: &str, sequence: u64) -> Value {
    json!({ "version": version, "sequence": sequence })
}

#[tokio::test]
async fn a_device_that_leaves_its_firmware_drifts_is_listed_counted_and_published() {
    let muster = Muster::start("[firmware]\napprovals = 0\n[devices]\ndrift_grace_seconds = 0");
    let admin = muster.admin().await;
    let artifact = ready(&admin).await;
    let (unit, steady) = (Unit::register(&admin).await, Unit::register(&admin).await);
    for unit in [&unit, &steady] {
        assert_eq!(unit.beat(&reports("1.0.0", 1)).await.status, 200);
    }
    assert_eq!(job_for(&admin, &artifact, json!({})).await.status, 201);
    let mut socket = Socket::open(&muster, &admin_token(&muster).await).await;
    let channel = format!("devices:{}", unit.id);
    assert_eq!(socket.subscribe(json!({ "ch": channel })).await["ch"], json!(channel));
    unit.succeed().await;
    steady.succeed().await;
    loop {
        let data = event(&mut socket, "device.updated").await;
        if data["patch"]["firmware"]["sync"] == "in_sync" {
            break;
        }
    }
    // A report without a sequence number names the same version, and forgets nothing of it.
    assert_eq!(unit.beat(&json!({ "version": "2.0.0" })).await.status, 200);
    let after = firmware_of(&admin, &unit).await;
    assert_eq!((&after["desired"]["version"], &after["desired"]["artifact"]), (&json!("2.0.0"), &json!(artifact)));
    assert_eq!((&after["current"]["artifact"], &after["previous"]["version"]), (&json!(artifact), &json!("1.0.0")));
    assert_eq!((&after["sync"], &after["drift"], drifted(&admin, true).await), (&json!("in_sync"), &json!(false), 0));

    assert_eq!(unit.beat(&reports("1.0.0", 1)).await.status, 200);
    let detected = event(&mut socket, "device.drift_detected").await;
    assert_eq!(
        (&detected["severity"], &detected["installed"]["version"]),
        (&json!("major"), &json!("1.0.0")),
        "{detected}"
    );
    assert_eq!(detected["desired"]["version"], "2.0.0");
    let after = firmware_of(&admin, &unit).await;
    assert_eq!((&after["sync"], &after["drift"]), (&json!("error"), &json!(true)), "{after}");
    assert!(after["differs_since"].is_string());
    assert_eq!((drifted(&admin, true).await, drifted(&admin, false).await), (1, 1));
    let metrics = muster.client().get("/metrics").await.text;
    let gauge = metrics.lines().find(|line| line.contains("\"devices\"") && line.contains("\"drifted\"")).unwrap();
    assert!(gauge.ends_with(" 1"), "{gauge}");
    let history = admin.get(&format!("/api/v1/devices/{}/history", unit.id)).await;
    assert!(history.text.contains("runs 1.0.0, not 2.0.0"), "{}", history.text);

    assert_eq!(unit.beat(&reports("2.0.0", 2)).await.status, 200);
    event(&mut socket, "device.drift_resolved").await;
    assert_eq!((drifted(&admin, true).await, firmware_of(&admin, &unit).await["sync"].clone()), (0, json!("in_sync")));
    // Another version that is not older is a minor alarm.
    assert_eq!(unit.beat(&reports("3.0.0-rc.1", 3)).await.status, 200);
    assert_eq!(event(&mut socket, "device.drift_detected").await["severity"], "minor");
    let wrong = admin.get("/api/v1/devices?drift=maybe").await;
    assert_eq!((wrong.status, wrong.text.contains("drift")), (400, true), "{}", wrong.text);
}

/// What drifted is still marked after kill -9, and what a device has reported since its job is not overwritten.
#[tokio::test]
async fn drift_survives_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let launch = || {
        let launch = Launch::new(folder.path()).with("MUSTER__FIRMWARE__APPROVALS", "0");
        launch.with("MUSTER__DEVICES__DRIFT_GRACE_SECONDS", "0").start()
    };
    let mut server = launch();
    let (mut admin, _) = Client::new(&server.url).login(EMAIL, PASSWORD).await;
    let artifact = ready(&admin).await;
    let unit = Unit::register(&admin).await;
    assert_eq!(job_for(&admin, &artifact, json!({})).await.status, 201);
    unit.succeed().await;
    until(async || firmware_of(&admin, &unit).await["sync"] == "in_sync").await;
    assert_eq!(unit.beat(&reports("1.0.0", 1)).await.status, 200);
    until(async || drifted(&admin, true).await == 1).await;
    server.kill();
    server = launch();
    admin = admin.at(&server.url);
    assert_eq!(drifted(&admin, true).await, 1);
    let after = firmware_of(&admin, &unit).await;
    assert_eq!(
        (&after["current"]["version"], &after["desired"]["version"]),
        (&json!("1.0.0"), &json!("2.0.0")),
        "{after}"
    );
    server.kill();
}
