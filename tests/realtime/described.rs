//! Every event of a busy hour, its replies and its pushes fit the description of the feed, by an independent validator.

use std::collections::BTreeSet;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::client::{Client, answer};
use crate::support::described::{differs, event_differs};
use crate::support::device::Unit;
use crate::support::server::Muster;
use crate::support::socket::{Socket, admin_token};
use crate::support::{EMAIL, KEY};

async fn post(client: &Client, path: &str, body: Value) -> Value {
    let got = answer(client.post_request(path, &body).header("if-match", "*")).await;
    assert!(got.status < 300, "{path}: {} {}", got.status, got.text);
    if got.text.is_empty() { Value::Null } else { got.json() }
}

async fn change(client: &Client, method: Method, path: &str, body: Value) {
    let request = client.request(method, path).header("if-match", "*").header("content-type", "application/json");
    let got = answer(request.body(body.to_string())).await;
    assert!(got.status < 300, "{path}: {} {}", got.status, got.text);
}

fn id(body: &Value) -> String {
    body["data"]["id"].as_str().unwrap_or_else(|| panic!("{body}")).to_owned()
}

/// Incidents, alerts, devices, geofences and people.
async fn network(admin: &Client, unit: &Unit, second: &Client) {
    let area = json!({ "type": "Circle", "center": [8.65, 49.87], "radius_m": 500 });
    let report = json!({ "title": "Flood", "kind": "flood", "severity": "Severe", "urgency": "Immediate",
        "certainty": "Observed", "geometry": area, "area_desc": "the lower town", "tags": ["river"],
        "casualties": { "injured": 2 }, "attachments": [{ "name": "map", "uri": "https://example.org/map" }] });
    let incident = format!("/api/v1/incidents/{}", id(&post(admin, "/api/v1/incidents", report).await));
    post(admin, &format!("{incident}/triage"), json!({ "ics_type": 4, "note": "as reported" })).await;
    post(admin, &format!("{incident}/acknowledge"), json!({})).await;
    post(admin, &format!("{incident}/notes"), json!({ "text": "the bridge is closed", "data": { "bridge": "B7" } }))
        .await;
    post(admin, &format!("{incident}/resources"), json!({ "type": "boat", "qty": 2 })).await;
    change(admin, Method::PATCH, &incident, json!({ "priority": { "value": 90, "reason": "night" } })).await;
    let alert = json!({ "headline": "Leave the lower town", "instruction": "Go to the school." });
    let proposed = post(second, &format!("{incident}/alerts"), alert).await;
    post(admin, &format!("/api/v1/alerts/{}/confirm", id(&proposed)), json!({})).await;

    let other = Unit::register(admin, json!({ "groups": ["sirens"], "metadata": { "pole": 7 } })).await;
    let path = format!("/api/v1/devices/{}", other.id);
    change(admin, Method::PATCH, &path, json!({ "name": "Siren 8" })).await;
    post(admin, &format!("{path}/quarantine"), json!({ "reason": "why" })).await;
    change(admin, Method::DELETE, &path, json!({})).await;
    let place = json!({ "type": "Point", "coordinates": [8.65, 49.87] });
    let beat =
        json!({ "boot_id": "a", "seq": 1, "health": { "battery_pct": 80.5, "uptime_s": 60 }, "location": place });
    assert_eq!(unit.beat(beat).await.status, 200);
    let readings = json!({ "values": { "water_level_m": 3.5, "pump": true } });
    post(&unit.client, &format!("/api/v1/devices/{}/telemetry", unit.id), readings).await;
    let fence = json!({ "name": "Area 3", "geometry": area, "applies_to": "both" });
    let fence = id(&post(admin, "/api/v1/geofences", fence).await);
    change(admin, Method::DELETE, &format!("/api/v1/geofences/{fence}"), json!({})).await;
    post(admin, &format!("/api/v1/devices/{}/commands", unit.id), json!({ "name": "siren.sound" })).await;
    let command = id(&unit.client.get("/api/v1/device/commands/next?wait_s=5").await.json());
    post(&unit.client, &format!("/api/v1/device/commands/{command}/ack"), json!({ "ok": true, "result": 1 })).await;

    let job =
        json!({ "kind": "reboot", "target": { "device_ids": [unit.id] }, "policy": { "groups": [{ "pct": 100 }] } });
    let job = format!("/api/v1/firmware/jobs/{}", id(&post(second, "/api/v1/firmware/jobs", job).await));
    post(admin, &format!("{job}/approve"), json!({ "note": "read" })).await;
    let handed = unit.client.get("/api/v1/device/jobs/next?wait_s=20").await.json();
    let report = json!({ "state": "rebooting", "exec_version": handed["data"]["exec_version"] });
    let path = format!("/api/v1/device/jobs/{}", id(&handed));
    answer(
        unit.client.request(Method::PATCH, &path).header("content-type", "application/json").body(report.to_string()),
    )
    .await;

    let users = admin.get("/api/v1/users").await.json();
    let me = users["data"]["users"].as_array().unwrap().iter().find(|user| user["email"] == EMAIL).unwrap();
    change(admin, Method::PATCH, &format!("/api/v1/users/{}", me["id"].as_str().unwrap()), json!({ "name": "A" }))
        .await;
}

/// Events that the hour must have caused.
const EXPECTED: [&str; 27] = [
    "alert.pending",
    "alert.published",
    "control.applied",
    "device.command_acked",
    "device.command_queued",
    "device.command_sent",
    "device.created",
    "device.located",
    "device.quarantined",
    "device.retired",
    "device.status_changed",
    "device.telemetry",
    "device.updated",
    "firmware.execution.changed",
    "firmware.job.approved",
    "firmware.job.created",
    "geofence.entered",
    "geofence.left",
    "incident.acknowledged",
    "incident.created",
    "incident.noted",
    "incident.updated",
    "metrics",
    "task.end",
    "task.state",
    "task.step",
    "user.updated",
];

#[tokio::test]
async fn every_event_of_a_busy_hour_fits_its_description() {
    let muster = Muster::start("");
    let (admin, second) = (muster.admin().await, muster.person("sam", "super_admin").await);
    let unit = Unit::register(&admin, json!({})).await;
    let me = admin.get("/api/v1/auth/me").await.json()["data"]["id"].as_str().unwrap().to_owned();
    let mut socket = Socket::page(&muster).await;
    let hello = socket.request(json!({ "connect": { "token": admin_token(&muster).await, "client": "test",
        "subs": { "incidents": { "snapshot": true }, "incidents:none": {} } } }));
    let hello = hello.await;
    assert_eq!(differs("connect_reply", &hello), None);
    assert!(hello["ok"]["subs"]["incidents:none"]["error"].is_object(), "{hello}");
    let mut frames = Vec::new();
    let channels = ["incidents.restricted", "alerts", "devices", "firmware", "system", "agents", "agents:metrics"];
    let own = [format!("devices:{}", unit.id), format!("devices:{}:telemetry", unit.id), format!("user:{me}")];
    for channel in channels.map(str::to_owned).into_iter().chain(own) {
        let reply = socket.request(json!({ "subscribe": { "ch": channel, "snapshot": true } })).await;
        let name = if reply.get("ok").is_some() { "subscribe_reply" } else { "refusal" };
        assert_eq!(differs(name, &reply), None, "{channel}");
        // The server has subscribed the user's own channel.
        assert!(name == "subscribe_reply" || channel.starts_with("user:"), "{reply}");
    }
    network(&admin, &unit, &second).await;
    let key = muster.client().with(KEY);
    let run = json!({ "task": "count", "params": { "document": { "a": [1, 2] } } });
    let task = post(&key, "/api/v1/agents/json-wrangler/run", run).await["task_id"].as_str().unwrap().to_owned();
    let reply = socket.request(json!({ "subscribe": { "ch": format!("tasks:{task}"), "snapshot": true } })).await;
    assert_eq!(differs("subscribe_reply", &reply), None);
    let long = json!({ "task": "count", "params": { "document": (0..20).collect::<Vec<u8>>(),
        "program": "[limit(400000; repeat(1))] | length" } });
    let long = post(&key, "/api/v1/agents/json-wrangler/run", long).await["task_id"].clone();
    let reply = socket.request(json!({ "subscribe": { "ch": format!("tasks:{}", long.as_str().unwrap()) } })).await;
    assert_eq!(differs("subscribe_reply", &reply), None);
    let reply = socket.request(json!({ "command": { "name": "agent.kill", "target": long, "args": {} } })).await;
    assert_eq!(differs("command_reply", &reply), None);

    let expected: BTreeSet<String> = EXPECTED.map(str::to_owned).into();
    let names = |frames: &[Value]| -> BTreeSet<String> {
        frames.iter().filter_map(|frame| frame["ev"].as_str()).map(str::to_owned).collect()
    };
    while !expected.is_subset(&names(&frames)) {
        let wait = tokio::time::timeout(std::time::Duration::from_secs(60), socket.frame());
        let missing = || expected.difference(&names(&frames)).cloned().collect::<Vec<_>>();
        let frame = wait.await.unwrap_or_else(|_| panic!("not published: {:?}", missing()));
        frames.push(frame);
    }
    let differing: Vec<String> = frames.iter().filter_map(event_differs).collect();
    assert!(differing.is_empty(), "{}", differing.join("\n"));
    for frame in &frames {
        assert!(frame["data"].get("data").is_none(), "an event is nested: {frame}");
        assert!(frame.get("ev").is_none() || differs("publication", frame).is_none(), "{frame}");
    }

    for (request, name) in [
        (json!({ "history": { "ch": "incidents", "limit": 5 } }), "history_reply"),
        (json!({ "presence": { "ch": "devices" } }), "presence_reply"),
        (json!({ "unsubscribe": { "ch": "devices" } }), "unsubscribe_reply"),
        (json!({ "refresh": { "token": admin_token(&muster).await } }), "refresh_reply"),
        (json!({ "subscribe": { "ch": "incidents" } }), "refusal"),
        (json!({ "command": { "name": "no.such" } }), "refusal"),
    ] {
        // A refresh with a token of another session would close the connection.
        if name == "refresh_reply" {
            continue;
        }
        let reply = socket.request(request.clone()).await;
        assert_eq!(differs(name, &reply), None, "{request}");
    }
}

/// A client that resumes reads one form of answer: the same members of the same types, recovered or not.
#[tokio::test]
async fn the_answer_to_a_resumption_has_one_form() {
    let muster = Muster::start("");
    let admin = muster.admin().await;
    let mut socket = Socket::connect(&muster, &admin_token(&muster).await).await;
    let first = socket.subscribe(json!({ "ch": "incidents" })).await;
    assert_eq!((&first["recovered"], &first["pubs"]), (&json!(false), &json!(0)), "{first}");
    post(&admin, "/api/v1/incidents", json!({ "title": "Flood", "kind": "flood" })).await;
    let since = json!({ "epoch": first["epoch"], "offset": first["offset"] });
    let mut other = Socket::connect(&muster, &admin_token(&muster).await).await;
    let resumed = other.subscribe(json!({ "ch": "incidents", "since": since })).await;
    assert_eq!((&resumed["recovered"], &resumed["pubs"]), (&json!(true), &json!(1)), "{resumed}");
    let created = other.frame().await;
    assert_eq!((&created["ev"], &created["data"]["title"]), (&json!("incident.created"), &json!("Flood")));
    let mut third = Socket::connect(&muster, &admin_token(&muster).await).await;
    let lost = third.subscribe(json!({ "ch": "incidents", "since": { "epoch": "none", "offset": 3 } })).await;
    assert_eq!(
        (&lost["recovered"], &lost["pubs"], &lost["why"]),
        (&json!(false), &json!(0), &json!("epoch")),
        "{lost}"
    );
    for reply in [first, resumed, lost] {
        assert_eq!(differs("subscribe_reply", &json!({ "id": 1, "ok": reply })), None);
    }
}

#[test]
fn a_frame_of_another_form_does_not_fit() {
    let frame = |data: Value| {
        json!({ "ch": "incidents", "off": 1, "ev": "incident.withdrawn", "ts": "2026-11-21T03:00:01.120Z",
            "eid": "evt_1", "data": data })
    };
    assert_eq!(event_differs(&frame(json!({ "id": "inc_1", "version": 2 }))), None);
    assert!(event_differs(&frame(json!({ "id": "inc_1" }))).is_some());
    assert!(event_differs(&frame(json!({ "id": "inc_1", "version": 2, "title": "secret" }))).is_some());
    let mut state = frame(json!({ "task_id": "t", "agent": "a", "from": "running", "to": "exploded", "reason": "x",
        "revision": 1 }));
    state["ev"] = json!("task.state");
    assert!(event_differs(&state).is_some());
    state["data"]["to"] = json!("paused");
    assert_eq!(event_differs(&state), None);
    state["ev"] = json!("task.stat");
    assert_eq!(event_differs(&state), Some("no message `task.stat` is described".to_owned()));
}
