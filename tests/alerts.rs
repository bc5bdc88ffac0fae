//! Alerts over HTTP: published by one or two people, read as CAP and Atom, imported.

use crate::support;

use reqwest::Method;
use serde_json::{Value, json};
use support::client::{Answer, Client, answer};
use support::server::Muster;
use support::socket::Socket;

async fn triaged(client: &Client, severity: &str, status: &str) -> String {
    let body = json!({ "title": "Flood at the Rhine", "kind": "flood", "severity": severity, "urgency": "Immediate",
        "certainty": "Observed", "area_desc": "Mainz", "status": status,
        "geometry": { "type": "Polygon", "coordinates": [[[8.2, 49.9], [8.4, 49.9], [8.4, 50.1], [8.2, 49.9]]] } });
    let made = client.post("/api/v1/incidents", &body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let path = format!("/api/v1/incidents/{}", made.json()["data"]["id"].as_str().unwrap());
    let got = answer(client.post_request(&format!("{path}/triage"), &json!({})).header("if-match", "*")).await;
    assert_eq!(got.status, 200, "{}", got.text);
    path
}

async fn active(client: &Client) -> Vec<Value> {
    let got = client.get("/api/v1/alerts?active=true").await;
    assert_eq!(got.status, 200, "{}", got.text);
    got.json()["data"]["alerts"].as_array().unwrap().clone()
}

async fn import(client: &Client, xml: &str) -> Answer {
    let request = client.request(Method::POST, "/api/v1/cap").header("content-type", "application/cap+xml");
    answer(request.body(xml.to_owned())).await
}

/// A CAP message of a weather service.
fn message(n: u32, status: &str, kind: &str, references: &str) -> String {
    let references =
        if references.is_empty() { String::new() } else { format!("<references>{references}</references>") };
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\
         <alert xmlns=\"urn:oasis:names:tc:emergency:cap:1.2\"><identifier>MET-{n}</identifier>\
         <sender>met@example.org</sender><sent>2026-01-01T00:00:0{n}-00:00</sent><status>{status}</status>\
         <msgType>{kind}</msgType><scope>Public</scope>{references}<info><category>Met</category>\
         <event>Flood Warning</event><urgency>Immediate</urgency><severity>Severe</severity>\
         <certainty>Observed</certainty><headline>Flood at the Main</headline><area><areaDesc>Frankfurt</areaDesc>\
         <polygon>50.0,8.5 50.0,8.8 50.2,8.8 50.0,8.5</polygon></area></info></alert>"
    )
}

const FIRST: &str = "met@example.org,MET-1,2026-01-01T00:00:01-00:00";

#[tokio::test]
async fn a_severe_public_alert_takes_two_people_and_is_then_in_the_feed() {
    let muster = Muster::start("");
    let (one, other) =
        (muster.person("carla", "incident_commander").await, muster.person("carl", "incident_commander").await);
    let viewer = muster.person("vera", "viewer").await;
    let path = triaged(&one, "Extreme", "Actual").await;
    let proposed = one.post(&format!("{path}/alerts"), &json!({ "instruction": "Leave the quay." })).await;
    assert_eq!(
        (proposed.status, &proposed.json()["data"]["state"]),
        (202, &json!("pending_second")),
        "{}",
        proposed.text
    );
    let id = proposed.json()["data"]["id"].as_str().unwrap().to_owned();
    let alert = format!("/api/v1/alerts/{id}");
    assert_eq!((viewer.get(&alert).await.status, active(&viewer).await.len()), (404, 0), "a proposal is not public");
    let own = one.post(&format!("{alert}/confirm"), &json!({})).await;
    assert_eq!((own.status, &own.json()["error"]["code"]), (403, &json!("second_person_required")));
    let confirmed = other.post(&format!("{alert}/confirm"), &json!({})).await;
    assert_eq!(
        (confirmed.status, &confirmed.json()["data"]["state"]),
        (200, &json!("published")),
        "{}",
        confirmed.text
    );

    let cap = viewer.get(&format!("{alert}.cap")).await;
    assert_eq!(cap.header("content-type"), Some("application/cap+xml; charset=utf-8"));
    let read = muster_cap::parse(cap.text.as_bytes()).unwrap();
    assert_eq!((read.identifier.as_str(), read.msg_type), (id.as_str(), muster_cap::MsgType::Alert));
    let info = &read.infos[0];
    assert_eq!((info.severity, info.instruction.as_deref()), (muster_cap::Severity::Extreme, Some("Leave the quay.")));
    assert_eq!(info.areas[0].polygons[0].0[1], (49.9, 8.4), "latitude first");
    let feed = viewer.get("/api/v1/alerts/feed.atom").await;
    assert!(feed.text.contains(&format!("{alert}.cap")), "{}", feed.text);
    assert_eq!(viewer.without_key().get("/api/v1/alerts/feed.atom").await.status, 401);
    assert_eq!(viewer.get(&format!("{path}.cap")).await.text, cap.text);
}

#[tokio::test]
async fn a_cancel_follows_its_alert_and_takes_its_place_in_the_feed() {
    let muster = Muster::start("");
    let one = muster.person("carla", "incident_commander").await;
    let path = triaged(&one, "Minor", "Actual").await;
    let sent = one.post(&format!("{path}/alerts"), &json!({})).await;
    assert_eq!(sent.status, 201, "{}", sent.text);
    assert_eq!(active(&one).await.len(), 1);
    let called_off = one.post_request(&format!("{path}/cancel"), &json!({ "reason": "a gauge was broken" }));
    assert_eq!(answer(called_off.header("if-match", "*")).await.status, 200);
    assert_eq!(active(&one).await, [Value::Null; 0]);
    let cap = muster_cap::parse(one.get(&format!("{path}.cap")).await.text.as_bytes()).unwrap();
    assert_eq!(cap.msg_type, muster_cap::MsgType::Cancel);
    let referred: Vec<&str> = cap.references.iter().map(|reference| reference.identifier.as_str()).collect();
    assert_eq!(referred, [sent.json()["data"]["identifier"].as_str().unwrap()]);
    let feed = one.get("/api/v1/alerts/feed.atom").await;
    assert_eq!(feed.text.matches("<entry>").count(), 1, "{}", feed.text);
    assert!(feed.text.contains(&format!("alerts/{}.cap", cap.identifier)), "{}", feed.text);
}

#[tokio::test]
async fn a53_an_exercise_reaches_neither_the_alerts_nor_the_feed() {
    let muster = Muster::start("");
    let one = muster.person("carla", "incident_commander").await;
    for status in ["Exercise", "Test", "System", "Draft"] {
        let path = triaged(&one, "Extreme", status).await;
        let refused = one.post(&format!("{path}/alerts"), &json!({})).await;
        assert_eq!((refused.status, &refused.json()["error"]["code"]), (409, &json!("not_actual")), "{status}");
    }
    assert_eq!(active(&one).await, [Value::Null; 0]);
    assert!(!one.get("/api/v1/alerts/feed.atom").await.text.contains("<entry>"));
}

/// Number 53 on the real feed: a caller without restricted rights receives no event of an exercise, from report to
/// close.
#[tokio::test]
async fn a53_subscribers_of_public_channels_receive_no_event_of_an_exercise() {
    let muster = Muster::start("");
    let one = muster.person("carla", "incident_commander").await;
    muster.person("vera", "viewer").await;
    let token = support::socket::token(&muster, "vera@example.org").await;
    let mut viewer = Socket::connect(&muster, &token).await;
    for channel in ["alerts", "incidents"] {
        let subscribed = viewer.subscribe(json!({ "ch": channel, "snapshot": true })).await;
        assert_eq!(subscribed["state"], json!([]));
    }
    for status in ["Exercise", "Test", "System", "Draft"] {
        let path = triaged(&one, "Extreme", status).await;
        for (action, body) in [("acknowledge", json!({})), ("cancel", json!({ "reason": "the drill is over" }))] {
            let done = answer(one.post_request(&format!("{path}/{action}"), &body).header("if-match", "*")).await;
            assert_eq!(done.status, 200, "{action}: {}", done.text);
        }
        let id = path.rsplit('/').next().unwrap();
        let refused = viewer.request(json!({ "subscribe": { "ch": format!("incidents:{id}") } })).await;
        assert_eq!(refused["error"]["code"], 2404, "{status}: {refused}");
    }
    // The first event received is the first one of the real incident.
    let actual = triaged(&one, "Minor", "Actual").await;
    let heard = viewer.frame().await;
    assert_eq!((&heard["ch"], &heard["ev"]), (&json!("incidents"), &json!("incident.created")), "{heard}");
    assert!(actual.ends_with(heard["data"]["id"].as_str().unwrap()), "{heard}");
    let late = viewer.request(json!({ "history": { "ch": "alerts" } })).await;
    assert_eq!(late["ok"]["publications"], json!([]), "{late}");
}

#[tokio::test]
async fn an_imported_alert_opens_an_incident_once_and_its_cancel_ends_it() {
    let muster = Muster::start("");
    let operator = muster.person("otto", "operator").await;
    let taken = import(&operator, &message(1, "Actual", "Alert", "")).await;
    assert_eq!((taken.status, &taken.json()["data"]["fate"]), (201, &json!("taken")), "{}", taken.text);
    let again = import(&operator, &message(1, "Actual", "Alert", "")).await;
    assert_eq!((again.status, &again.json()["data"]["fate"]), (200, &json!("known")));
    let path = format!("/api/v1/incidents/{}", taken.json()["data"]["incident_id"].as_str().unwrap());
    let incident = operator.get(&path).await.json()["data"].clone();
    assert_eq!((&incident["state"], &incident["title"]), (&json!("triaged"), &json!("Flood at the Main")));
    assert_eq!(incident["geometry"]["coordinates"][0][1], json!([8.8, 50.0]), "longitude first");
    let received =
        operator.get(&format!("/api/v1/alerts/{}.cap", taken.json()["data"]["alert"]["id"].as_str().unwrap())).await;
    assert_eq!(received.text, message(1, "Actual", "Alert", ""), "as it was received");
    let canceled = import(&operator, &message(2, "Actual", "Cancel", FIRST)).await;
    assert_eq!(canceled.status, 201, "{}", canceled.text);
    assert_eq!(operator.get(&path).await.json()["data"]["state"], "canceled");
    let feed = operator.get("/api/v1/alerts/feed.atom").await;
    assert!(!feed.text.contains("<entry>"), "others' alerts are not published from here: {}", feed.text);
}

#[tokio::test]
async fn a49_a_test_is_only_kept_and_what_is_no_alert_is_refused() {
    let muster = Muster::start("");
    let operator = muster.person("otto", "operator").await;
    for (n, status) in [(1, "Test"), (2, "Exercise"), (3, "Draft")] {
        let kept = import(&operator, &message(n, status, "Alert", "")).await;
        let data = &kept.json()["data"];
        assert_eq!(
            (kept.status, &data["fate"], &data["incident_id"]),
            (201, &json!("stored"), &Value::Null),
            "{status}"
        );
    }
    assert_eq!(operator.get("/api/v1/incidents").await.json()["data"]["incidents"], json!([]));
    assert_eq!(active(&operator).await, [Value::Null; 0]);
    assert!(!operator.get("/api/v1/alerts/feed.atom").await.text.contains("<entry>"));
    let history = operator.get("/api/v1/realtime/channels/alerts/history").await.json();
    assert_eq!(history["data"]["publications"], json!([]), "{history}");

    let parked =
        import(&operator, &message(5, "Actual", "Update", "met@example.org,MET-4,2026-01-01T00:00:04-00:00")).await;
    assert_eq!((parked.status, &parked.json()["error"]["code"]), (409, &json!("cap_parked")), "{}", parked.text);
    let open = message(6, "Actual", "Alert", "").replace(" 50.0,8.5</polygon>", " 50.1,8.5</polygon>");
    let bare = message(7, "Actual", "Update", "");
    let entities = message(8, "Actual", "Alert", "").replace("<alert ", "<!DOCTYPE a [<!ENTITY x \"y\">]><alert ");
    for wrong in [open, bare, entities, "no XML".to_owned()] {
        assert_eq!(import(&operator, &wrong).await.status, 400, "{wrong}");
    }
    let billion: String = (1..9).map(|n| format!("<!ENTITY l{n} \"&l{};&l{};\">", n - 1, n - 1)).collect();
    let laughs = format!("<!DOCTYPE a [<!ENTITY l0 \"lol\">{billion}]><alert ");
    let laughs = message(8, "Actual", "Alert", "").replace("<alert ", &laughs).replace("Flood Warning", "&l8;");
    let three = message(8, "Actual", "Alert", "").replace(" 50.0,8.8 50.2,8.8", " 50.0,8.8");
    let swapped = message(8, "Actual", "Alert", "").replace("50.0,8.5", "108.5,50.0");
    for wrong in [laughs, three, swapped] {
        assert_eq!(import(&operator, &wrong).await.status, 400, "{wrong}");
    }
    for size in [1 << 20, 10 << 20] {
        let large = message(9, "Actual", "Alert", "").replace("</alert>", &format!("{}</alert>", " ".repeat(size)));
        let request = operator.request(Method::POST, "/api/v1/cap").header("content-type", "application/cap+xml");
        assert_eq!(answer(request.body(large)).await.status, 413, "{size}");
    }
    assert_eq!(operator.post("/api/v1/cap", &json!({})).await.status, 415);
    let viewer = muster.person("vera", "viewer").await;
    assert_eq!(import(&viewer, &message(1, "Actual", "Alert", "")).await.status, 403);
}

/// Anybody's `X-Forwarded-Host` or `Host` set the links of the feed that other services follow.
#[tokio::test]
async fn a_made_up_host_does_not_set_the_links_of_the_feed() {
    let feed = async |muster: &Muster, headers: &[(&str, &str)]| {
        let request = muster.admin().await.request(reqwest::Method::GET, "/api/v1/alerts/feed.atom");
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        support::client::answer(request).await.text
    };
    let muster = Muster::start("");
    let own = format!("http://{}/api/v1/alerts", muster.address);
    for headers in [
        &[("x-forwarded-host", "evil.example"), ("x-forwarded-proto", "https")][..],
        &[("forwarded", "host=evil.example;proto=https")],
        &[("host", "evil.example")],
    ] {
        let text = feed(&muster, headers).await;
        assert!(!text.contains("evil.example") && text.contains(&own), "{headers:?}: {text}");
    }
    let behind = Muster::start("[server]\ntrusted_proxies = [\"127.0.0.1\"]\n");
    let text = feed(&behind, &[("x-forwarded-host", "ops.example.org"), ("x-forwarded-proto", "https")]).await;
    assert!(text.contains("https://ops.example.org/api/v1/alerts"), "{text}");
    let public = Muster::start("[auth]\npublic_url = \"https://muster.example.org/\"\n");
    let text = feed(&public, &[("x-forwarded-host", "evil.example")]).await;
    assert!(text.contains("https://muster.example.org/api/v1/alerts") && !text.contains("evil"), "{text}");
}
