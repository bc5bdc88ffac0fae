//! Visibility of incidents on open dashboards while it changes, and incidents reported by devices.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::client::{Answer, Client, answer};
use crate::support::device::Unit;
use crate::support::server::Muster;
use crate::support::socket::{Socket, token, with_timeout};

const PATH: &str = "/api/v1/incidents";
const REPORTS: &str = "/api/v1/device/incidents";

async fn patch(client: &Client, path: &str, body: &Value) -> Answer {
    let request = client.request(Method::PATCH, path).header("content-type", "application/json");
    answer(request.header("if-match", "*").body(body.to_string())).await
}

/// The next frame that matches.
async fn frame(socket: &mut Socket, matches: impl Fn(&Value) -> bool) -> Value {
    with_timeout(async {
        loop {
            let frame = socket.frame().await;
            if matches(&frame) {
                return frame;
            }
        }
    })
    .await
}

async fn id_of(client: &Client) -> String {
    client.get("/api/v1/auth/me").await.json()["data"]["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn of_two_dashboards_the_one_that_may_not_see_an_incident_any_more_stops_following_it() {
    let muster = Muster::start("");
    let (operator, viewer) = (muster.person("otto", "operator").await, muster.person("vera", "viewer").await);
    let body = json!({ "title": "Flood", "kind": "flood" });
    // Reported by a third person: the reporter of an incident always sees it.
    let reported = muster.admin().await.post(PATH, &body).await;
    let incident = reported.json()["data"]["id"].as_str().unwrap().to_owned();
    let channel = format!("incidents:{incident}");
    let mut sockets = Vec::new();
    for email in ["otto@example.org", "vera@example.org"] {
        let mut socket = Socket::connect(&muster, &token(&muster, email).await).await;
        let subscribed = socket.subscribe(json!({ "ch": channel, "snapshot": true })).await;
        assert_eq!(subscribed["state"][0]["id"], json!(incident), "{subscribed}");
        sockets.push((socket, subscribed));
    }
    let path = format!("{PATH}/{incident}");
    let hidden =
        patch(&operator, &path, &json!({ "visibility": "restricted", "summary": "a levee was blown up" })).await;
    assert_eq!(hidden.status, 200, "{}", hidden.text);
    let note = operator.post(&format!("{path}/notes"), &json!({ "text": "suspects seen" })).await;
    assert_eq!(note.status, 201, "{}", note.text);

    let (viewers, subscribed) = &mut sockets[1];
    let ended = viewers.frame().await;
    assert_eq!(ended, json!({ "ch": channel, "unsubscribed": { "code": 2404, "reason": "withdrawn" } }), "at once");
    let since = json!({ "epoch": subscribed["epoch"], "offset": subscribed["offset"] });
    for wish in [json!({ "ch": channel }), json!({ "ch": channel, "since": since })] {
        let refused = viewers.request(json!({ "subscribe": wish })).await;
        assert_eq!(refused["error"]["code"], 2404, "{refused}: nor by resuming");
    }
    assert_eq!(viewer.get(&path).await.status, 404);

    let operators = &mut sockets[0].0;
    let edited = operators.frame().await;
    assert_eq!(edited["data"]["patch"]["summary"], "a levee was blown up", "{edited}");
    assert_eq!(operators.frame().await["ev"], "incident.noted");
    let own = format!("/api/v1/users/{}", id_of(&operator).await);
    assert_eq!(patch(&muster.admin().await, &own, &json!({ "role": "viewer" })).await.status, 200);
    let ended = frame(operators, |frame| frame["unsubscribed"].is_object()).await;
    assert_eq!(ended, json!({ "ch": channel, "unsubscribed": { "code": 2403, "reason": "permission_revoked" } }));
}

#[tokio::test]
async fn a_device_reports_an_incident_at_its_location_and_a_second_report_is_attached() {
    let muster = Muster::start("");
    let admin = muster.admin().await;
    let place = json!({ "type": "Point", "coordinates": [8.64, 49.87] });
    let gauge = Unit::register(&admin, json!({ "location": place })).await;
    let other = Unit::register(&admin, json!({})).await;
    let report = json!({ "title": "Water above 7 m", "kind": "flood", "dedup_key": "rhine-7", "severity": "Severe" });
    for (field, value) in [
        ("reported_via", json!("operator")),
        ("visibility", json!("private")),
        ("commander", json!(id_of(&admin).await)),
    ] {
        let mut beyond = report.clone();
        beyond[field] = value;
        let refused = gauge.client.post(REPORTS, &beyond).await;
        assert_eq!(refused.status, 400, "{}", refused.text);
        assert!(refused.text.contains(&format!("unknown field `{field}`")), "{}", refused.text);
    }
    let request = gauge.client.post_request(REPORTS, &report);
    let made = answer(request.try_clone().unwrap().header("idempotency-key", "k1")).await;
    let created = made.json()["data"].clone();
    assert_eq!(
        (made.status, &created["state"], &created["attached"]),
        (201, &json!("reported"), &json!(false)),
        "{}",
        made.text
    );
    let again = answer(request.header("idempotency-key", "k1")).await;
    assert_eq!(
        (again.status, again.header("idempotency-replayed"), &again.json()["data"]),
        (201, Some("true"), &created)
    );

    let path = format!("{PATH}/{}", created["id"].as_str().unwrap());
    let record = admin.get(&path).await.json()["data"].clone();
    for (field, value) in [
        ("reported_via", json!("device")),
        ("reported_by", json!(gauge.id)),
        ("device_ids", json!([gauge.id])),
        ("geometry", place),
        ("visibility", json!("public")),
        ("commander", Value::Null),
        ("severity", json!("Severe")),
    ] {
        assert_eq!(record[field], value, "{field}");
    }
    let second = other.client.post(REPORTS, &report).await;
    assert_eq!((second.status, &second.json()["data"]["id"]), (200, &created["id"]), "{}", second.text);
    assert_eq!(admin.get(&path).await.json()["data"]["reports"], 2);
    assert_eq!(second.json()["data"].get("title"), None, "nothing that people wrote");
    let own = other.client.post(REPORTS, &json!({ "title": "Smoke", "kind": "wildfire" })).await;
    let own = admin.get(&format!("{PATH}/{}", own.json()["data"]["id"].as_str().unwrap())).await;
    assert_eq!(own.json()["data"]["geometry"], Value::Null, "its location is unknown");

    assert_eq!(gauge.client.post(REPORTS, &json!({ "kind": "flood" })).await.status, 400);
    assert_eq!(admin.post(REPORTS, &report).await.status, 401, "people have a route of their own");
    assert_eq!(gauge.client.post(PATH, &report).await.status, 401);
}

#[tokio::test]
async fn an_incident_enters_a_geofence_and_leaves_it_as_it_ends() {
    let muster = Muster::start("");
    let admin = muster.admin().await;
    let area = json!({ "type": "Circle", "center": [8.64, 49.87], "radius_m": 5_000.0 });
    let fence = json!({ "name": "Darmstadt", "geometry": area, "applies_to": "incidents" });
    assert_eq!(admin.post("/api/v1/geofences", &fence).await.status, 201);
    let mut socket = Socket::connect(&muster, &crate::support::socket::admin_token(&muster).await).await;
    socket.subscribe(json!({ "ch": "incidents", "filter": { "types": ["geofence.entered", "geofence.left"] } })).await;
    let there = json!({ "type": "Polygon",
        "coordinates": [[[8.63, 49.86], [8.65, 49.86], [8.65, 49.88], [8.63, 49.88], [8.63, 49.86]]] });
    let body = json!({ "title": "Fire", "kind": "wildfire", "geometry": there });
    let id = admin.post(PATH, &body).await.json()["data"]["id"].clone();
    let entered = frame(&mut socket, |frame| frame["ev"].is_string()).await;
    assert_eq!((&entered["ev"], &entered["data"]["subject_id"]), (&json!("geofence.entered"), &id));
    let over = format!("{PATH}/{}/cancel", id.as_str().unwrap());
    let over = admin.request(Method::POST, &over).header("content-type", "application/json").header("if-match", "*");
    assert_eq!(answer(over.body(json!({ "reason": "a barbecue" }).to_string())).await.status, 200);
    let left = frame(&mut socket, |frame| frame["ev"].is_string()).await;
    assert_eq!((&left["ev"], &left["data"]["reason"]), (&json!("geofence.left"), &json!("gone")));
}
