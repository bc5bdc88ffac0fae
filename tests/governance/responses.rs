//! Responses to verdicts of the sentinels on what the server gathers itself: a task is paused at once, the rest is opened by
//! the server, decided by people and done by the server.

use serde_json::{Value, json};

use super::council::{APPROVALS, Council, SETTINGS};
use crate::support::client::Client;
use crate::support::device::Unit;
use crate::support::server::Muster;
use crate::support::socket::{Socket, admin_token};
use crate::tasks::world::reaches;

const TELEMETRY: &str = "[[governance.response]]
on = \"telemetry\"
reading = \"water_cm\"
limits = { min = 0, max = 900 }
verdict = \"warn\"
";

/// A socket of the first administrator, with these channels.
async fn listen(muster: &Muster, channels: &[&str]) -> Socket {
    let mut socket = Socket::connect(muster, &admin_token(muster).await).await;
    for channel in channels {
        socket.subscribe(json!({ "ch": channel })).await;
    }
    socket
}

/// Waits for an event; its data.
async fn event(socket: &mut Socket, name: &str) -> Value {
    loop {
        let event = socket.frame().await;
        if event["ev"] == name {
            return event["data"].clone();
        }
    }
}

async fn approvals(client: &Client, filter: &str) -> Vec<Value> {
    let listed = client.get(&format!("{APPROVALS}?{filter}")).await;
    assert_eq!(listed.status, 200, "{}", listed.text);
    listed.json()["approvals"].as_array().unwrap().clone()
}

async fn send_reading(unit: &Unit, value: f64) {
    let body = json!({ "values": { "water_cm": value } });
    let got = unit.client.post(&format!("/api/v1/devices/{}/telemetry", unit.id), &body).await;
    assert_eq!(got.status, 200, "{}", got.text);
}

#[tokio::test]
async fn a_device_with_implausible_readings_is_quarantined_once_people_approve_it() {
    let response = format!("{TELEMETRY}action = \"device.quarantine\"\n");
    let muster = Muster::start(&format!("{SETTINGS}{response}"));
    let council = Council::constitute(&muster.client()).await;
    let place = json!({ "type": "Point", "coordinates": [8.64, 49.87] });
    let (faulty, sound) = (
        Unit::register(&council.admin.client, json!({ "location": place })).await,
        Unit::register(&council.admin.client, json!({ "location": place })).await,
    );
    // What a caller sends for examination moves nothing, however bad it is.
    let sent = json!({ "subject": {
        "telemetry": [{ "time": "2026-01-01T00:00:00Z", "value": 5000 }], "limits": { "min": 0, "max": 900 },
    } });
    assert_eq!(muster.client().post("/api/q155/sentinel/orchestrate", &sent).await.status, 200);
    let mut socket = listen(&muster, &["governance", "devices"]).await;
    send_reading(&sound, 120.0).await;
    send_reading(&faulty, 5_000.0).await;
    let security = &council.security.client;
    event(&mut socket, "approval.pending").await;
    let opened = approvals(security, "state=pending").await.pop().unwrap();
    assert_eq!((&opened["action"], &opened["risk"]), (&json!("device.quarantine"), &json!("high")), "{opened}");
    assert_eq!((&opened["resource"], &opened["requester"]["id"]), (&json!(faulty.id), &json!("system")), "{opened}");
    assert!(opened["reason"].as_str().unwrap().contains("range"), "{opened}");
    let id = opened["id"].as_str().unwrap();
    let payload = council.security.approval(id).await["payload"].clone();
    assert_eq!(
        (&payload["resource"], &payload["verdict"]),
        (&json!(faulty.id), &opened_verdict(&payload)),
        "{payload}"
    );

    let status = |unit: &Unit| {
        let (client, path) = (council.admin.client.clone(), format!("/api/v1/devices/{}", unit.id));
        async move { client.get(&path).await.json()["data"]["status"].clone() }
    };
    assert_ne!(status(&faulty).await, "quarantined", "nobody has approved it");
    council.approve(id).await;
    event(&mut socket, "device.quarantined").await;
    assert_eq!(status(&faulty).await, "quarantined");
    assert_ne!(status(&sound).await, "quarantined");
    let executed = council.security.approval(id).await;
    assert_eq!(
        (&executed["state"], &executed["execution"]["by"]),
        (&json!("executed"), &json!("system")),
        "{executed}"
    );
    // One for the device, and none for the other device or for what the caller sent.
    assert_eq!(approvals(security, "action=device.quarantine").await.len(), 1);
}

fn opened_verdict(payload: &Value) -> Value {
    let verdict = payload["verdict"].clone();
    assert!(verdict == "warn" || verdict == "critical", "{payload}");
    verdict
}

#[tokio::test]
async fn an_incident_is_reported_where_the_device_is_and_a_rejected_response_is_not_given() {
    let actions = ["incident.report", "device.quarantine"];
    let responses: String = actions.map(|action| format!("{TELEMETRY}action = \"{action}\"\n")).concat();
    let muster = Muster::start(&format!("{SETTINGS}{responses}"));
    let council = Council::constitute(&muster.client()).await;
    let place = json!({ "type": "Point", "coordinates": [8.64, 49.87] });
    let unit = Unit::register(&council.admin.client, json!({ "location": place })).await;
    let mut socket = listen(&muster, &["governance", "incidents"]).await;
    send_reading(&unit, -40.0).await;
    for _ in actions {
        event(&mut socket, "approval.pending").await;
    }
    for approval in approvals(&council.security.client, "state=pending").await {
        let id = approval["id"].as_str().unwrap();
        if approval["action"] == "device.quarantine" {
            let rejected = council.security.decide(id, "reject", "security").await;
            assert_eq!(rejected.json()["state"], "rejected", "{}", rejected.text);
        } else {
            council.approve(id).await;
        }
    }
    event(&mut socket, "incident.created").await;
    let incident = council.admin.client.get("/api/v1/incidents").await.json()["data"]["incidents"][0].clone();
    assert_eq!((&incident["kind"], &incident["geometry"]), (&json!("infrastructure"), &place), "{incident}");
    assert_eq!(incident["device_ids"], json!([unit.id]));
    let device = council.admin.client.get(&format!("/api/v1/devices/{}", unit.id)).await.json();
    assert_ne!(device["data"]["status"], "quarantined");
}

/// Equal calls that take seconds each: it runs for several rounds of the server after the third one.
const LOOPING: &str = "
[[agent]]
id = \"looping\"
name = \"Looping\"
category = \"data\"
summary = \"Makes the same call again and again.\"
capabilities = [\"json\"]
parameters = [\"document:any:required\"]
engines = [\"json-transform\"]
system_prompt = \"You repeat yourself.\"
plan = [
  { as = \"a\", engine = \"json-transform\", bind = { document = \"$params.document\", program = \"def f: f; f\" } },
  { as = \"b\", engine = \"json-transform\", bind = { document = \"$params.document\", program = \"def f: f; f\" } },
  { as = \"c\", engine = \"json-transform\", bind = { document = \"$params.document\", program = \"def f: f; f\" } },
  { as = \"d\", engine = \"json-transform\", bind = { document = \"$params.document\", program = \"def f: f; f\" } },
  { as = \"e\", engine = \"json-transform\", bind = { document = \"$params.document\", program = \"def f: f; f\" } },
  { as = \"f\", engine = \"json-transform\", bind = { document = \"$params.document\", program = \"def f: f; f\" } },
  { as = \"g\", engine = \"json-transform\", bind = { document = \"$params.document\", program = \"def f: f; f\" } },
]
writeup = [
  { title = \"A\", from = \"$steps.a.results\" },
  { title = \"B\", from = \"$steps.b.results\" },
  { title = \"C\", from = \"$steps.c.results\" },
  { title = \"D\", from = \"$steps.d.results\" },
  { title = \"E\", from = \"$steps.e.results\" },
  { title = \"F\", from = \"$steps.f.results\" },
  { title = \"G\", from = \"$steps.g.results\" },
]
";

#[tokio::test]
async fn a_task_that_repeats_its_calls_is_paused_at_once_and_killed_once_people_approve_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("own.toml");
    std::fs::write(&file, LOOPING).unwrap();
    let response =
        |action: &str| format!("[[governance.response]]\non = \"tasks\"\nverdict = \"warn\"\naction = \"{action}\"\n");
    let settings = format!(
        "{SETTINGS}{}{}[agents]\nfiles = [{:?}]\n[engines]\ntime_seconds = 60\n",
        response("task.pause"),
        response("task.kill"),
        file.display().to_string(),
    );
    let muster = Muster::start(&settings);
    let council = Council::constitute(&muster.client()).await;
    let client = muster.client();
    let mut socket = listen(&muster, &["governance"]).await;
    let began =
        client.post("/api/v1/agents/looping/run", &json!({ "task": "repeat", "params": { "document": 1 } })).await;
    assert_eq!(began.status, 201, "{}", began.text);
    let task = began.json()["task_id"].as_str().unwrap().to_owned();
    let id = event(&mut socket, "approval.pending").await["id"].as_str().unwrap().to_owned();
    reaches(&client, &task, &["paused"]).await;
    let audit = council.admin.client.get(&format!("/api/v1/governance/audit?actor=system&resource={task}")).await;
    assert!(audit.text.contains("pause"), "{}", audit.text);
    let opened = council.security.approval(&id).await;
    assert_eq!((&opened["action"], &opened["resource"]), (&json!("task.kill"), &json!(task)), "{opened}");
    assert!(opened["reason"].as_str().unwrap().contains("identical-calls"), "{opened}");
    council.approve(&id).await;
    reaches(&client, &task, &["killed"]).await;
}
