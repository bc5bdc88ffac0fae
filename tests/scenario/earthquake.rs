//! The incident of the scenario.

use muster_simulate::Fleet;
use serde_json::{Value, json};

use super::support::client::{Answer, Client, answer};
use super::world::ScenarioWorld;

const KEY: &str = "quake-2026-11-21-rhine";

fn cap() -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\
         <alert xmlns=\"urn:oasis:names:tc:emergency:cap:1.2\">\
         <identifier>SEIS-2026-77</identifier><sender>quakes@seismo.example.org</sender>\
         <sent>2026-11-21T03:00:05+00:00</sent><status>Actual</status><msgType>Alert</msgType><scope>Public</scope>\
         <incidents>{KEY}</incidents>\
         <info><language>en-US</language><category>Geo</category><event>Earthquake</event>\
         <urgency>Immediate</urgency><severity>Severe</severity><certainty>Observed</certainty>\
         <headline>Earthquake of magnitude 6.1 near Worms</headline>\
         <area><areaDesc>Upper Rhine</areaDesc><circle>49.63,8.36 40</circle></area></info></alert>"
    )
}

async fn incident(client: &Client, id: &str) -> Value {
    let got = client.get(&format!("/api/v1/incidents/{id}")).await;
    assert_eq!(got.status, 200, "{}", got.text);
    got.json()["data"].clone()
}

/// Makes a transition from the current version.
async fn moved(client: &Client, id: &str, action: &str, body: Value) -> Answer {
    let version = incident(client, id).await["version"].clone();
    let path = format!("/api/v1/incidents/{id}/{action}");
    let made = answer(client.post_request(&path, &body).header("if-match", format!("\"{version}\""))).await;
    assert_eq!(made.status, 200, "{action}: {}", made.text);
    made
}

/// Three devices and a seismological service report the same one.
pub(super) async fn reported(world: &ScenarioWorld, fleet: &Fleet) -> String {
    let ids = fleet.ids();
    let report = |device: &str| {
        json!({
            "title": "Strong shaking", "kind": "earthquake", "dedup_key": KEY, "source_ref": device,
            "geometry": { "type": "Point", "coordinates": [8.36, 49.63] }, "area_desc": "Worms",
        })
    };
    let mut found = Vec::new();
    for (device, expected) in ids.iter().zip([201, 200, 200]) {
        let (status, body) = fleet.post_as(device, "/api/v1/device/incidents", report(device)).await.unwrap();
        assert_eq!(status, expected, "{body}");
        found.push(body["id"].as_str().unwrap().to_owned());
    }
    let omar = world.person("omar");
    let request = omar.request(reqwest::Method::POST, "/api/v1/cap").header("content-type", "application/cap+xml");
    let imported = answer(request.body(cap())).await;
    assert_eq!(imported.status, 201, "{}", imported.text);
    found.push(imported.json()["data"]["incident_id"].as_str().unwrap().to_owned());
    found.dedup();
    assert_eq!(found.len(), 1, "they are one incident: {found:?}");
    let listed = omar.get("/api/v1/incidents").await.json();
    assert_eq!(listed["data"]["incidents"].as_array().unwrap().len(), 1, "{listed}");
    let quake = found.remove(0);
    let reported = incident(&omar, &quake).await;
    assert_eq!((&reported["reports"], &reported["reported_via"]), (&json!(4), &json!("device")), "{reported}");
    quake
}

/// Triaged and activated, with a severe public alert proposed, which its proposer cannot confirm.
pub(super) async fn proposed(world: &ScenarioWorld, quake: &str) -> String {
    let (omar, clara) = (world.person("omar"), world.person("clara"));
    let assessed = json!({ "severity": "Severe", "urgency": "Immediate", "certainty": "Observed" });
    moved(&omar, quake, "triage", assessed).await;
    moved(&omar, quake, "activate", json!({ "commander": world.user("clara") })).await;
    let draft = json!({ "scope": "Public", "headline": "Earthquake", "instruction": "Stay outside." });
    let published = clara.post(&format!("/api/v1/incidents/{quake}/alerts"), &draft).await;
    assert_eq!(published.status, 202, "{}", published.text);
    let alert = published.json()["data"]["id"].as_str().unwrap().to_owned();
    let own = clara.post(&format!("/api/v1/alerts/{alert}/confirm"), &json!({})).await;
    assert_eq!(own.status, 403, "{}", own.text);
    alert
}

/// The second person confirms, once.
pub(super) async fn confirmed(world: &ScenarioWorld, quake: &str, alert: &str) {
    let dora = world.person("dora");
    assert_eq!(incident(&dora, quake).await["state"], "active");
    let yes = dora.post(&format!("/api/v1/alerts/{alert}/confirm"), &json!({})).await;
    assert_eq!(yes.status, 200, "{}", yes.text);
    let again = dora.post(&format!("/api/v1/alerts/{alert}/confirm"), &json!({})).await;
    assert_eq!(again.status, 409, "{}", again.text);
    let feed = dora.without_key().get("/api/v1/alerts/feed.atom").await;
    let feed = if feed.status == 401 { dora.get("/api/v1/alerts/feed.atom").await } else { feed };
    assert!(feed.text.contains("Earthquake"), "{}", feed.text);
}

pub(super) async fn ended(world: &ScenarioWorld, quake: &str) {
    let clara = world.person("clara");
    moved(&clara, quake, "contain", json!({ "note": "aftershocks are weak" })).await;
    moved(&clara, quake, "resolve", json!({ "note": "all areas were searched" })).await;
    assert_eq!(incident(&clara, quake).await["state"], "resolved");
}

/// Each transition is in the timeline once, in order, and none is missing.
pub(super) async fn is_published_once(world: &ScenarioWorld, quake: &str) {
    let timeline = world.person("clara").get(&format!("/api/v1/incidents/{quake}/timeline?limit=200")).await.json();
    let entries = timeline["data"].as_object().unwrap().values().find_map(Value::as_array).unwrap().clone();
    let seqs: Vec<_> = entries.iter().map(|entry| entry["seq"].as_u64().unwrap()).collect();
    assert_eq!(seqs, (1..=entries.len() as u64).collect::<Vec<_>>());
    let moves: Vec<_> = entries
        .iter()
        .filter(|entry| !entry["to"].is_null())
        .map(|entry| (entry["kind"].as_str().unwrap(), entry["to"].as_str().unwrap()))
        .collect();
    let expected = [
        ("report", "reported"),
        ("triage", "triaged"),
        ("activate", "active"),
        ("contain", "contained"),
        ("resolve", "resolved"),
    ];
    assert_eq!(moves, expected);
    let count = |kind: &str| entries.iter().filter(|entry| entry["kind"] == kind).count();
    assert_eq!((count("attach"), count("import"), count("alert_published")), (2, 1, 1), "{entries:?}");
}
