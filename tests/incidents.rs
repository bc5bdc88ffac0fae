//! Incidents over HTTP: the complete lifecycle, rejected requests, visibility.

use crate::support;

use reqwest::Method;
use serde_json::{Value, json};
use support::client::{Answer, Client, answer};
use support::server::Muster;

/// An assessed flood in Mainz.
fn flood() -> Value {
    json!({ "title": "Flood at the Rhine", "kind": "flood", "severity": "Moderate", "urgency": "Immediate",
        "certainty": "Observed", "area_desc": "Mainz",
        "geometry": { "type": "Polygon", "coordinates": [[[8.2, 49.9], [8.4, 49.9], [8.4, 50.1], [8.2, 49.9]]] } })
}

async fn report(client: &Client, body: &Value) -> Value {
    let got = client.post("/api/v1/incidents", body).await;
    assert_eq!(got.status, 201, "{}", got.text);
    got.json()["data"].clone()
}

async fn send(client: &Client, method: Method, path: &str, version: &Value, body: &Value) -> Answer {
    let request = client.request(method, path).header("content-type", "application/json");
    answer(request.header("if-match", format!("\"{version}\"")).body(body.to_string())).await
}

/// Makes a transition with the current version.
async fn transition(client: &Client, incident: &Value, action: &str, body: &Value) -> Value {
    let path = format!("/api/v1/incidents/{}/{action}", incident["id"].as_str().unwrap());
    let got = send(client, Method::POST, &path, &incident["version"], body).await;
    assert_eq!(got.status, 200, "{action}: {}", got.text);
    got.json()["data"].clone()
}

#[tokio::test]
async fn an_incident_passes_from_report_to_close() {
    let muster = Muster::start("");
    let (operator, commander) =
        (muster.person("otto", "operator").await, muster.person("carla", "incident_commander").await);
    let me = commander.get("/api/v1/auth/me").await.json()["data"]["id"].clone();
    let incident = report(&operator, &flood()).await;
    assert_eq!(
        (&incident["state"], &incident["version"], &incident["attached"]),
        (&json!("reported"), &json!(1), &json!(false))
    );
    // 50 × 100 × 100 / 10,000.
    assert_eq!(incident["priority"], 50);
    let incident = transition(&operator, &incident, "triage", &json!({})).await;
    let incident = transition(&operator, &incident, "acknowledge", &json!({})).await;
    let incident = transition(&operator, &incident, "activate", &json!({ "commander": me })).await;
    let incident = transition(&operator, &incident, "escalate", &json!({ "note": "more boats" })).await;
    assert_eq!(incident["ics_type"], 4);

    let id = incident["id"].as_str().unwrap();
    let path = format!("/api/v1/incidents/{id}/resources");
    let boat = json!({ "type": "boat", "qty": 2 });
    let got = send(&operator, Method::POST, &path, &incident["version"], &boat).await;
    assert_eq!(got.status, 201, "{}", got.text);
    let incident = got.json()["data"].clone();
    let far =
        send(&operator, Method::PATCH, &path, &incident["version"], &json!({ "id": 1, "status": "on_scene" })).await;
    assert_eq!((far.status, &far.json()["error"]["details"]["allowed"]), (409, &json!(["committed", "released"])));
    let out =
        send(&operator, Method::POST, &format!("/api/v1/incidents/{id}/resolve"), &incident["version"], &json!({}))
            .await;
    assert_eq!((out.status, &out.json()["error"]["code"]), (409, &json!("resources_not_released")));
    let got =
        send(&operator, Method::PATCH, &path, &incident["version"], &json!({ "id": 1, "status": "released" })).await;
    let incident = transition(&operator, &got.json()["data"], "contain", &json!({ "note": "the dike holds" })).await;
    let incident = transition(&operator, &incident, "resolve", &json!({})).await;
    let early =
        send(&operator, Method::POST, &format!("/api/v1/incidents/{id}/close"), &incident["version"], &json!({})).await;
    assert_eq!((early.status, &early.json()["error"]["details"]["permission"]), (403, &json!("incidents:close")));
    let incident = transition(&commander, &incident, "close", &json!({})).await;
    assert_eq!(incident["allowed"], json!(["reopen", "notes"]));

    let note = operator.post(&format!("/api/v1/incidents/{id}/notes"), &json!({ "text": "bill sent" })).await;
    assert_eq!(note.status, 201, "{}", note.text);
    let timeline = operator.get(&format!("/api/v1/incidents/{id}/timeline")).await.json();
    let kinds: Vec<_> = timeline["data"]["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| e["kind"].as_str().unwrap().to_owned())
        .collect();
    let life = [
        "report",
        "triage",
        "acknowledge",
        "activate",
        "escalate",
        "resource_added",
        "resource_changed",
        "contain",
        "resolve",
        "close",
        "note",
    ];
    assert_eq!(kinds, life);
}

#[tokio::test]
async fn a52_an_illegal_move_is_409_with_the_allowed_ones_and_a_stale_version_412() {
    let muster = Muster::start("");
    let operator = muster.person("otto", "operator").await;
    let incident = report(&operator, &flood()).await;
    let path = format!("/api/v1/incidents/{}", incident["id"].as_str().unwrap());
    let illegal = send(&operator, Method::POST, &format!("{path}/close"), &json!(1), &json!({})).await;
    assert_eq!(illegal.status, 409, "{}", illegal.text);
    let allowed = illegal.json()["error"]["details"]["allowed"].as_array().unwrap().clone();
    assert!(allowed.contains(&json!("triage")) && !allowed.contains(&json!("close")), "{allowed:?}");
    let stale = send(&operator, Method::POST, &format!("{path}/triage"), &json!(7), &json!({})).await;
    assert_eq!((stale.status, &stale.json()["error"]["details"]["version"]), (412, &json!(1)));
    let without = operator.post(&format!("{path}/triage"), &json!({})).await;
    assert_eq!(without.status, 428, "{}", without.text);
    let got = operator.get(&path).await;
    assert_eq!((got.header("etag"), &got.json()["data"]["state"]), (Some("\"1\""), &json!("reported")));
}

#[tokio::test]
async fn a_patch_changes_what_is_sent_and_null_clears() {
    let muster = Muster::start("");
    let operator = muster.person("otto", "operator").await;
    let incident = report(&operator, &flood()).await;
    let path = format!("/api/v1/incidents/{}", incident["id"].as_str().unwrap());
    let body = json!({ "severity": "Extreme", "area_desc": null, "geometry": null });
    let got = send(&operator, Method::PATCH, &path, &json!(1), &body).await;
    assert_eq!(got.status, 200, "{}", got.text);
    let data = &got.json()["data"];
    assert_eq!((&data["severity"], &data["priority"], &data["version"]), (&json!("Extreme"), &json!(100), &json!(2)));
    for cleared in ["area_desc", "geometry", "bbox"] {
        assert_eq!(data[cleared], Value::Null, "{cleared}");
    }
    let open =
        json!({ "geometry": { "type": "Polygon", "coordinates": [[[8, 49], [9, 49], [9, 50]]] }, "ics_type": 6 });
    let refused = send(&operator, Method::PATCH, &path, &json!(2), &open).await;
    let fields: Vec<_> =
        refused.json()["error"]["details"].as_array().unwrap().iter().map(|f| f["loc"][1].clone()).collect();
    assert_eq!((refused.status, fields), (400, vec![json!("ics_type"), json!("geometry")]));
}

#[tokio::test]
async fn the_map_and_the_list_match_the_query() {
    let muster = Muster::start("");
    let operator = muster.person("otto", "operator").await;
    let circle = json!({ "type": "Circle", "center": [13.4, 52.5], "radius_m": 500 });
    let berlin = json!({ "title": "Fire", "kind": "wildfire", "severity": "Severe", "geometry": circle });
    let (mainz, berlin) = (report(&operator, &flood()).await, report(&operator, &berlin).await);
    let ids = async |query: &str| -> Vec<Value> {
        let got = operator.get(&format!("/api/v1/incidents{query}")).await;
        assert_eq!(got.status, 200, "{}", got.text);
        got.json()["data"]["incidents"].as_array().unwrap().iter().map(|incident| incident["id"].clone()).collect()
    };
    assert_eq!(ids("").await, [berlin["id"].clone(), mainz["id"].clone()]);
    assert_eq!(ids("?min_severity=Severe").await, [berlin["id"].clone()]);
    assert_eq!(ids("?bbox=8,49,9,51").await, [mainz["id"].clone()]);
    assert_eq!(ids("?state=triaged,active").await, [Value::Null; 0]);
    assert_eq!(ids("?kind=flood&since=2020-01-01T00:00:00Z").await, [mainz["id"].clone()]);
    for wrong in ["state=lost", "bbox=1,2,3", "since=now", "min_severity=bad", "limit=0"] {
        assert_eq!(operator.get(&format!("/api/v1/incidents?{wrong}")).await.status, 400, "{wrong}");
    }
    let first = operator.get("/api/v1/incidents?limit=1").await.json();
    let cursor = first["data"]["next_cursor"].as_str().unwrap();
    assert_eq!(ids(&format!("?limit=1&cursor={cursor}")).await, [mainz["id"].clone()]);

    let map = operator.get("/api/v1/incidents.geojson?min_severity=Severe").await;
    assert_eq!(map.header("content-type"), Some("application/geo+json"));
    let feature = &map.json()["features"][0];
    assert_eq!(feature["geometry"], json!({ "type": "Point", "coordinates": [13.4, 52.5] }));
    assert_eq!((&feature["id"], &feature["properties"]["radius_m"]), (&berlin["id"], &json!(500.0)));
    let none = operator.without_key().get("/api/v1/incidents.geojson").await;
    assert_eq!((none.status, &none.json()["success"]), (401, &json!(false)), "{}", none.text);
}

#[tokio::test]
async fn reports_are_made_once_for_a_key_and_attached_by_their_dedup_key() {
    let muster = Muster::start("");
    let operator = muster.person("otto", "operator").await;
    let mut body = flood();
    body["dedup_key"] = json!("gauge-7");
    let named = || operator.post_request("/api/v1/incidents", &body).header("idempotency-key", "k1");
    let (first, again) = (answer(named()).await, answer(named()).await);
    assert_eq!((first.status, again.status, again.header("idempotency-replayed")), (201, 201, Some("true")));
    assert_eq!(first.json()["data"]["id"], again.json()["data"]["id"]);
    let attached = operator.post("/api/v1/incidents", &body).await;
    let data = &attached.json()["data"];
    assert_eq!((attached.status, &data["attached"], &data["reports"]), (200, &json!(true), &json!(2)));
    assert_eq!(data["id"], first.json()["data"]["id"]);
}

#[tokio::test]
async fn a_responder_works_on_what_is_assigned_and_a_viewer_only_reads() {
    let muster = Muster::start("");
    let (operator, responder) = (muster.person("otto", "operator").await, muster.person("rita", "responder").await);
    let viewer = muster.person("vera", "viewer").await;
    let incident = report(&operator, &flood()).await;
    let path = format!("/api/v1/incidents/{}", incident["id"].as_str().unwrap());
    let refused = send(&responder, Method::POST, &format!("{path}/triage"), &json!(1), &json!({})).await;
    assert_eq!((refused.status, &refused.json()["error"]["code"]), (403, &json!("not_assigned")));
    let me = responder.get("/api/v1/auth/me").await.json()["data"]["id"].clone();
    let incident = transition(&operator, &incident, "assign", &json!({ "assignees": [me] })).await;
    transition(&responder, &incident, "triage", &json!({})).await;
    assert_eq!(viewer.get(&path).await.status, 200);
    assert_eq!(viewer.post("/api/v1/incidents", &flood()).await.status, 403);
    let mut drill = flood();
    drill["status"] = json!("Exercise");
    let drill = report(&operator, &drill).await;
    let drill = format!("/api/v1/incidents/{}", drill["id"].as_str().unwrap());
    assert_eq!((viewer.get(&drill).await.status, operator.get(&drill).await.status), (404, 200));
}

#[tokio::test]
async fn incidents_outlive_the_server() {
    let muster = Muster::start("");
    let operator = muster.person("otto", "operator").await;
    let incident = report(&operator, &flood()).await;
    let path = format!("/api/v1/incidents/{}", incident["id"].as_str().unwrap());
    let before = operator.get(&path).await.json();
    let muster = Muster::start_in(muster.stop(), "");
    let after = muster.admin().await.get(&path).await;
    assert_eq!(after.json(), before, "{}", after.text);
}
