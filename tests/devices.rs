//! Devices over HTTP: registered by people, authenticated by self-signed tokens, controlled by commands.

use muster_auth::PrivateKey;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::client::{Answer, Client, answer};
use crate::support::device::Unit;
use crate::support::process::Launch;
use crate::support::server::Muster;
use crate::support::{EMAIL, PASSWORD};

const PATH: &str = "/api/v1/devices";

async fn patched(people: &Client, id: &str, version: Option<&str>, body: &Value) -> Answer {
    let request = people.request(Method::PATCH, &format!("{PATH}/{id}"));
    let request = request.header("content-type", "application/json").body(body.to_string());
    answer(version.into_iter().fold(request, |request, version| request.header("if-match", version))).await
}

#[tokio::test]
async fn a_device_is_registered_sends_heartbeats_is_described_and_retired() {
    let muster = Muster::start("");
    let admin = muster.admin().await;
    let place = json!({ "type": "Point", "coordinates": [8.64, 49.87] });
    let unit = Unit::register(&admin, json!({ "location": place, "tags": ["river"], "hw_class": "sx1" })).await;
    let got = admin.get(&format!("{PATH}/{}", unit.id)).await;
    let record = got.json()["data"].clone();
    assert_eq!((got.header("etag"), &record["status"]), (Some("\"1\""), &json!("provisioned")));
    assert_eq!((&record["location"], record["geohash"].as_str().unwrap().len()), (&place, 9));
    assert_eq!(record["credentials"]["kid"], json!(unit.key.public().thumbprint()));
    let fields = [
        "id",
        "name",
        "kind",
        "serial",
        "vendor",
        "hw_class",
        "hw_revision",
        "tags",
        "groups",
        "status",
        "status_since",
        "location",
        "location_accuracy_m",
        "geohash",
        "h3",
        "firmware",
        "health",
        "last_seen",
        "heartbeat_s",
        "credentials",
        "owner_org",
        "capabilities",
        "metadata",
        "version",
        "created_at",
        "created_by",
        "updated_at",
    ];
    let mut wanted: Vec<_> = fields.to_vec();
    wanted.sort_unstable();
    let mut fields: Vec<_> = record.as_object().unwrap().keys().map(String::as_str).collect();
    fields.sort_unstable();
    assert_eq!(fields, wanted, "every field of the contract, and no other");

    let beat = unit.beat(json!({ "health": { "battery_pct": 80 }, "boot_id": "b1", "seq": 1 })).await;
    assert_eq!((beat.status, &beat.json()["data"]["status"]), (200, &json!("online")), "{}", beat.text);
    let ill = unit.beat(json!({ "health": { "battery_pct": 3 }, "boot_id": "b1", "seq": 2 })).await;
    assert_eq!(ill.json()["data"]["status"], "degraded");

    let name = json!({ "name": "Siren 8", "location": null });
    assert_eq!(patched(&admin, &unit.id, None, &name).await.status, 428);
    assert_eq!(patched(&admin, &unit.id, Some("\"1\""), &name).await.status, 412);
    let changed = patched(&admin, &unit.id, Some("*"), &name).await;
    assert_eq!(
        (&changed.json()["data"]["name"], &changed.json()["data"]["location"]),
        (&json!("Siren 8"), &Value::Null)
    );

    let history = admin.get(&format!("{PATH}/{}/history?limit=1", unit.id)).await.json();
    assert_eq!(history["data"]["history"][0]["to"], "degraded");
    assert!(history["data"]["next_cursor"].is_string());

    let gone = answer(admin.request(Method::DELETE, &format!("{PATH}/{}", unit.id)).header("if-match", "*")).await;
    assert_eq!((gone.status, &gone.json()["data"]["credentials"]), (200, &Value::Null), "{}", gone.text);
    assert_eq!(unit.beat(json!({})).await.status, 401);
    assert_eq!(admin.get(PATH).await.json()["data"]["devices"], json!([]));
    let retired = admin.get(&format!("{PATH}?status=retired")).await.json();
    assert_eq!(retired["data"]["devices"][0]["id"], json!(unit.id));
}

#[tokio::test]
async fn each_right_is_checked_and_a_device_speaks_only_for_itself() {
    let muster = Muster::start("");
    let admin = muster.admin().await;
    let (viewer, operator) = (muster.person("viewer", "viewer").await, muster.person("operator", "operator").await);
    let (unit, other) = (Unit::register(&admin, json!({})).await, Unit::register(&operator, json!({})).await);
    let path = |rest: &str| format!("{PATH}/{}{rest}", unit.id);
    assert_eq!(viewer.get(&path("")).await.status, 200);
    for (rest, body) in [
        ("/heartbeat", json!({})),
        ("/telemetry", json!({ "values": { "a": 1 } })),
        ("/commands", json!({ "name": "siren.on" })),
        ("/quarantine", json!({ "reason": "x" })),
        ("/release", json!({ "reason": "x" })),
        ("/maintenance", json!({})),
        ("/rotate-credentials", json!({})),
    ] {
        assert_eq!(viewer.post(&path(rest), &body).await.status, 403, "{rest}");
        assert_eq!(
            muster.client().post(&path(rest), &body).await.status,
            401,
            "{rest}: an API key belongs to no person"
        );
    }
    assert_eq!(operator.post(&path("/heartbeat"), &json!({})).await.status, 200, "a person for a device");
    assert_eq!(other.client.post(&path("/heartbeat"), &json!({})).await.status, 403, "a device for another");
    assert_eq!(other.client.get(&path("")).await.status, 401, "no device reads as a person");
    assert_eq!(operator.get("/api/v1/device/commands/next").await.status, 401, "no person calls as a device");
    let stolen = Unit::of(&admin, unit.id.clone(), other.key);
    assert_eq!(stolen.beat(json!({})).await.status, 401);
}

#[tokio::test]
async fn a_command_reaches_the_device_that_waits_for_it() {
    let muster = Muster::start("");
    let admin = muster.admin().await;
    let unit = Unit::register(&admin, json!({})).await;
    let waiting = tokio::spawn({
        let client = unit.client.clone();
        async move { client.get("/api/v1/device/commands/next?wait_s=30").await }
    });
    let ordering =
        admin.post_request(&format!("{PATH}/{}/commands", unit.id), &json!({ "name": "siren.on", "args": { "s": 5 } }));
    let ordered = answer(ordering.try_clone().unwrap().header("idempotency-key", "k1")).await;
    assert_eq!((ordered.status, &ordered.json()["data"]["state"]), (201, &json!("queued")), "{}", ordered.text);
    let again = answer(ordering.header("idempotency-key", "k1")).await;
    assert_eq!(
        (again.header("idempotency-replayed"), again.json()["data"]["id"].clone()),
        (Some("true"), ordered.json()["data"]["id"].clone())
    );
    let next = waiting.await.unwrap();
    let command = next.json()["data"].clone();
    assert_eq!((next.status, &command["state"], &command["args"]), (200, &json!("sent"), &json!({ "s": 5 })));
    assert_eq!(unit.client.get("/api/v1/device/commands/next?wait_s=0").await.status, 204);

    let ack = format!("/api/v1/device/commands/{}/ack", command["id"].as_str().unwrap());
    let done = json!({ "ok": true, "result": { "heard": "far" } });
    for _ in 0..2 {
        let acked = unit.client.post(&ack, &done).await;
        assert_eq!((acked.status, &acked.json()["data"]["state"]), (200, &json!("acked")), "{}", acked.text);
    }
    assert_eq!(unit.client.post(&ack, &json!({ "ok": false })).await.status, 409);
    let listed = admin.get(&format!("{PATH}/{}/commands", unit.id)).await.json();
    assert_eq!(listed["data"]["commands"][0]["result"], json!({ "heard": "far" }));
}

#[tokio::test]
async fn a_quarantined_device_is_kept_out_until_it_is_released() {
    let muster = Muster::start("");
    let admin = muster.admin().await;
    let unit = Unit::register(&admin, json!({})).await;
    let path = |rest: &str| format!("{PATH}/{}{rest}", unit.id);
    assert_eq!(unit.beat(json!({})).await.status, 200);
    assert_eq!(admin.post(&path("/quarantine"), &json!({})).await.status, 400, "a reason is needed");
    assert_eq!(admin.post(&path("/quarantine"), &json!({ "reason": "stolen" })).await.status, 200);
    let refused = unit.beat(json!({})).await;
    assert_eq!((refused.status, &refused.json()["error"]["code"]), (401, &json!("device_quarantined")));
    assert_eq!(admin.post(&path("/commands"), &json!({ "name": "ping" })).await.status, 409);
    let illegal = admin.post(&path("/maintenance"), &json!({})).await;
    assert_eq!(illegal.json()["error"]["details"]["allowed"], json!(["release", "retire"]), "{}", illegal.text);
    let rotated = admin.post(&path("/rotate-credentials"), &json!({ "grace_s": 0 })).await.json();
    let renewed = PrivateKey::from_jwk(&rotated["data"]["private_key"]).unwrap();
    assert_eq!(
        admin.post(&path("/release"), &json!({ "reason": "found" })).await.json()["data"]["status"],
        "provisioned"
    );
    assert_eq!(unit.beat(json!({})).await.status, 401, "the old key is gone");
    let unit = Unit::of(&admin, unit.id, renewed);
    assert_eq!(unit.beat(json!({})).await.json()["data"]["status"], "online");
}

#[tokio::test]
async fn devices_are_found_by_place_and_by_page() {
    let muster = Muster::start("");
    let admin = muster.admin().await;
    let mut ids = Vec::new();
    for lon in [8.64, 8.65, 179.9] {
        let place = json!({ "type": "Point", "coordinates": [lon, 49.87] });
        ids.push(Unit::register(&admin, json!({ "location": place })).await.id);
    }
    let near = admin.get(&format!("{PATH}/near?lon=8.64&lat=49.87&r_m=2000")).await.json();
    let found: Vec<_> =
        near["data"]["devices"].as_array().unwrap().iter().map(|one| one["device"]["id"].clone()).collect();
    assert_eq!(found, [json!(ids[0]), json!(ids[1])], "nearest first");
    let square = json!([[8.0, 49.0], [8.645, 49.0], [8.645, 50.0], [8.0, 50.0], [8.0, 49.0]]);
    let area = json!({ "geometry": { "type": "Polygon", "coordinates": [square] } });
    let within = admin.post(&format!("{PATH}/within"), &area).await.json();
    assert_eq!((&within["data"]["total"], &within["data"]["devices"][0]["id"]), (&json!(1), &json!(ids[0])));
    let pacific = admin.get(&format!("{PATH}?bbox=170,40,-170,60")).await.json();
    assert_eq!(pacific["data"]["devices"][0]["id"], json!(ids[2]));
    let first = admin.get(&format!("{PATH}?limit=2")).await.json();
    let cursor = first["data"]["next_cursor"].as_str().unwrap();
    let second = admin.get(&format!("{PATH}?limit=2&cursor={cursor}")).await.json();
    assert_eq!(
        (second["data"]["devices"].as_array().unwrap().len(), &second["data"]["next_cursor"]),
        (1, &Value::Null)
    );
    for bad in ["?status=broken", "?bbox=1,2", "?limit=0", "/near?lon=200&lat=0", "/near?lat=1"] {
        let refused = admin.get(&format!("{PATH}{bad}")).await;
        assert_eq!(refused.status, 400, "{bad}: {}", refused.text);
    }
}

#[tokio::test]
async fn an_invalid_device_is_rejected_with_all_failures() {
    let muster = Muster::start("");
    let admin = muster.admin().await;
    let jwk = PrivateKey::generate().unwrap().to_jwk();
    for (body, field) in [
        (json!({ "kind": "siren" }), "name"),
        (json!({ "name": "x", "kind": "toaster" }), "kind"),
        (json!({ "name": "x", "kind": "siren", "heartbeat_s": 0 }), "heartbeat_s"),
        (json!({ "name": "x", "kind": "siren", "location": { "type": "Point", "coordinates": [200, 1] } }), "location"),
        (json!({ "name": "x", "kind": "siren", "metadata": { "x": "y".repeat(9_000) } }), "metadata"),
        (json!({ "name": "x", "kind": "siren", "public_key": jwk.expose() }), "public_key"),
    ] {
        let refused = admin.post(PATH, &body).await;
        assert_eq!(refused.status, 400, "{}", refused.text);
        assert!(refused.json()["message"].as_str().unwrap().starts_with(field), "{}", refused.text);
    }
    assert_eq!(admin.get(&format!("{PATH}/dev_nobody")).await.status, 404);
}

#[tokio::test]
async fn what_was_acknowledged_survives_kill_9() {
    let folder = tempfile::tempdir().unwrap();
    let server = Launch::new(folder.path()).start();
    let admin = Client::new(&server.url).login(EMAIL, PASSWORD).await.0;
    let mut units = Vec::new();
    for _ in 0..10 {
        let unit = Unit::register(&admin, json!({})).await;
        assert_eq!(unit.beat(json!({})).await.status, 200);
        let created = admin.post(&format!("{PATH}/{}/commands", unit.id), &json!({ "name": "ping" })).await;
        units.push((unit, created.json()["data"]["id"].clone()));
    }
    server.kill();
    let server = Launch::new(folder.path()).start();
    for (unit, command) in units {
        let client = unit.client.at(&server.url);
        let next = client.get("/api/v1/device/commands/next?wait_s=0").await;
        assert_eq!((next.status, &next.json()["data"]["id"]), (200, &command), "{}", next.text);
        let beat = client.post(&format!("{PATH}/{}/heartbeat", unit.id), &json!({})).await;
        assert_eq!(beat.json()["data"]["status"], "online");
    }
}
