//! Rules of alerts over HTTP: who ends one, with which texts, over which area.

use crate::support;

use reqwest::Method;
use serde_json::{Value, json};
use support::client::{Answer, Client, answer};
use support::process::Launch;
use support::server::Muster;
use support::socket::Socket;
use support::{EMAIL, PASSWORD};

const POINT: &str = r#"{ "type": "Point", "coordinates": [8.27, 50.0] }"#;

/// Sends a change of any version.
async fn send(client: &Client, method: Method, path: &str, body: &Value) -> Answer {
    let request = client.request(method, path).header("content-type", "application/json").header("if-match", "*");
    answer(request.body(body.to_string())).await
}

async fn verb(client: &Client, incident: &str, verb: &str, body: &Value) -> Answer {
    send(client, Method::POST, &format!("{incident}/{verb}"), body).await
}

/// Reports a flood, assigns it to a user and makes it active; returns its path.
async fn active(client: &Client, severity: &str, responder: Option<&str>) -> String {
    let body = json!({ "title": "Leave the lower town", "kind": "flood", "severity": severity, "urgency": "Immediate",
        "certainty": "Observed", "area_desc": "Rossdorf", "instruction": "Go to the school on the hill.",
        "geometry": serde_json::from_str::<Value>(POINT).unwrap() });
    let made = client.post("/api/v1/incidents", &body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let path = format!("/api/v1/incidents/{}", made.json()["data"]["id"].as_str().unwrap());
    if let Some(responder) = responder {
        let assigned = verb(client, &path, "assign", &json!({ "assignees": [responder] })).await;
        assert_eq!(assigned.status, 200, "{}", assigned.text);
    }
    let me = client.get("/api/v1/auth/me").await.json()["data"]["id"].clone();
    for (name, body) in [("triage", json!({})), ("activate", json!({ "commander": me }))] {
        let moved = verb(client, &path, name, &body).await;
        assert_eq!(moved.status, 200, "{name}: {}", moved.text);
    }
    path
}

/// Publishes an alert of an incident by as many people as it takes; returns its path.
async fn publish(one: &Client, other: &Client, incident: &str, draft: &Value) -> String {
    let sent = one.post(&format!("{incident}/alerts"), draft).await;
    let path =
        format!("/api/v1/alerts/{}", sent.json()["data"]["id"].as_str().unwrap_or_else(|| panic!("{}", sent.text)));
    if sent.status == 202 {
        let confirmed = other.post(&format!("{path}/confirm"), &json!({})).await;
        assert_eq!(confirmed.status, 200, "{}", confirmed.text);
    }
    path
}

async fn cap(client: &Client, alert: &str) -> muster_cap::Alert {
    let document = client.get(&format!("{alert}.cap")).await;
    muster_cap::parse(document.text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {}", document.text))
}

/// A commander, another one, an operator, and a responder with its identifier.
async fn people(muster: &Muster) -> (Client, Client, Client, Client, String) {
    let one = muster.person("carla", "incident_commander").await;
    let other = muster.person("carl", "incident_commander").await;
    let operator = muster.person("otto", "operator").await;
    let responder = muster.person("rita", "responder").await;
    let id = responder.get("/api/v1/auth/me").await.json()["data"]["id"].as_str().unwrap().to_owned();
    (one, other, operator, responder, id)
}

/// The fault of the trial: the assigned responder ended an alert alone that two people had published.
#[tokio::test]
async fn whoever_ends_an_incident_the_alert_of_two_people_stands_until_two_people_end_it() {
    let muster = Muster::start("");
    let (one, other, operator, responder, id) = people(&muster).await;
    let viewer = muster.person("vera", "viewer").await;
    for (who, name, state) in [
        (&responder, "false-alarm", "false_alarm"),
        (&operator, "resolve", "resolved"),
        (&operator, "cancel", "canceled"),
        (&one, "cancel", "canceled"),
    ] {
        let incident = active(&one, "Extreme", Some(&id)).await;
        let danger = publish(&one, &other, &incident, &json!({})).await;
        let ended = verb(who, &incident, name, &json!({ "note": "a broken gauge" })).await;
        let data = ended.json()["data"].clone();
        assert_eq!((ended.status, &data["state"]), (200, &json!(state)), "{}", ended.text);
        let waits = &data["pending_alert"];
        assert_eq!(
            (&waits["state"], &waits["waits_for"], &data["published_alert"]),
            (&json!("pending_second"), &json!("second_person"), &Value::Null),
            "{}",
            ended.text
        );
        assert_eq!(viewer.get(&danger).await.json()["data"]["state"], "published", "the alert stands");
        let feed = viewer.get("/api/v1/alerts/feed.atom").await.text;
        assert!(feed.contains(&format!("{danger}.cap")), "{feed}");
        let shown = one.get(&incident).await.json()["data"]["pending_alert"].clone();
        assert_eq!(&shown, waits);
        assert_eq!(viewer.get(&incident).await.json()["data"]["pending_alert"], Value::Null);
        let listed = one.get("/api/v1/alerts?state=pending_second").await.json()["data"]["alerts"].clone();
        assert_eq!(listed, json!([waits]));

        let end = format!("/api/v1/alerts/{}", waits["id"].as_str().unwrap());
        assert_eq!(who.post(&format!("{end}/confirm"), &json!({})).await.status, 403);
        assert_eq!(
            cap(&one, &end).await.status,
            muster_cap::Status::Draft,
            "no document to act on before it is released"
        );
        let confirmed = other.post(&format!("{end}/confirm"), &json!({})).await;
        assert_eq!(confirmed.json()["data"]["state"], "published", "{}", confirmed.text);
        assert_eq!(cap(&viewer, &end).await.status, muster_cap::Status::Actual);
        assert_eq!(viewer.get(&danger).await.json()["data"]["state"], "superseded");
        assert_eq!(one.get(&incident).await.json()["data"]["pending_alert"], Value::Null);
    }
}

#[tokio::test]
async fn an_end_that_waits_is_announced_denied_and_proposed_again() {
    let muster = Muster::start("");
    let (one, other, operator, ..) = people(&muster).await;
    let token = support::socket::token(&muster, "carla@example.org").await;
    let mut socket = Socket::connect(&muster, &token).await;
    socket.subscribe(json!({ "ch": "incidents.restricted" })).await;
    let incident = active(&one, "Severe", None).await;
    let danger = publish(&one, &other, &incident, &json!({})).await;
    assert_eq!(verb(&operator, &incident, "resolve", &json!({ "note": "dry" })).await.status, 200);
    let mut events = Vec::new();
    while events.len() < 2 {
        let frame = socket.frame().await;
        if frame["ev"] == "alert.pending" {
            events.push(frame);
        }
    }
    let waits = one.get(&incident).await.json()["data"]["pending_alert"].clone();
    assert!(events[1].to_string().contains(waits["id"].as_str().unwrap()), "{}", events[1]);
    let end = format!("/api/v1/alerts/{}", waits["id"].as_str().unwrap());
    let bare = other.post(&format!("{end}/reject"), &json!({})).await;
    assert_eq!(bare.status, 400, "a rejection says why: {}", bare.text);
    let denied = other.post(&format!("{end}/reject"), &json!({ "note": "the water comes back" })).await;
    assert_eq!(denied.json()["data"]["state"], "rejected", "{}", denied.text);
    assert_eq!(one.get(&danger).await.json()["data"]["state"], "published");
    let again = other.post(&format!("{end}/confirm"), &json!({})).await;
    assert_eq!((again.status, &again.json()["error"]["details"]["allowed"]), (409, &json!([])), "{}", again.text);

    // The incident is resolved and takes no further end; the alert itself does.
    assert_eq!(operator.post(&format!("{danger}/all-clear"), &json!({})).await.status, 403);
    let proposed = one.post(&format!("{danger}/all-clear"), &json!({})).await;
    assert_eq!(proposed.status, 202, "{}", proposed.text);
    let end = format!("/api/v1/alerts/{}", proposed.json()["data"]["id"].as_str().unwrap());
    assert_eq!(one.post(&format!("{end}/confirm"), &json!({})).await.status, 403);
    assert_eq!(other.post(&format!("{end}/confirm"), &json!({})).await.status, 200);
    let gone = one.post(&format!("{danger}/cancel"), &json!({ "note": "too late" })).await;
    assert_eq!((gone.status, &gone.json()["error"]["code"]), (409, &json!("illegal_transition")), "{}", gone.text);
}

#[tokio::test]
async fn a_reopening_withdraws_the_all_clear_that_waits() {
    let muster = Muster::start("");
    let (one, other, operator, ..) = people(&muster).await;
    let incident = active(&one, "Severe", None).await;
    let danger = publish(&one, &other, &incident, &json!({})).await;
    let ended = verb(&operator, &incident, "resolve", &json!({})).await.json();
    let end = format!("/api/v1/alerts/{}", ended["data"]["pending_alert"]["id"].as_str().unwrap());
    let reopened = verb(&operator, &incident, "reopen", &json!({ "note": "it rises again" })).await;
    assert_eq!(reopened.json()["data"]["pending_alert"], Value::Null, "{}", reopened.text);
    assert_eq!(one.get(&end).await.json()["data"]["state"], "withdrawn");
    assert_eq!(other.post(&format!("{end}/confirm"), &json!({})).await.status, 409);
    assert_eq!(one.get(&danger).await.json()["data"]["state"], "published");
}

/// The decision waits in the store: a killed server has it again, and the alert stands.
#[tokio::test]
async fn an_end_that_waits_survives_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let launch = || Launch::new(folder.path()).with("MUSTER__LIMITS__LOGIN", "\"unlimited\"").start();
    let process = launch();
    let admin = Client::new(&process.url).login(EMAIL, PASSWORD).await.0;
    let body =
        json!({ "email": "carl@example.org", "password": PASSWORD, "name": "Carl", "role": "incident_commander" });
    assert_eq!(admin.post("/api/v1/users", &body).await.status, 201);
    let other = Client::new(&process.url).login("carl@example.org", PASSWORD).await.0;
    let incident = active(&admin, "Extreme", None).await;
    let danger = publish(&admin, &other, &incident, &json!({})).await;
    let ended = verb(&admin, &incident, "false-alarm", &json!({ "note": "a drill" })).await;
    let waits = ended.json()["data"]["pending_alert"].clone();
    process.kill();

    let process = launch();
    let admin = Client::new(&process.url).login(EMAIL, PASSWORD).await.0;
    let other = Client::new(&process.url).login("carl@example.org", PASSWORD).await.0;
    let kept = admin.get(&incident).await.json()["data"].clone();
    assert_eq!((&kept["state"], &kept["pending_alert"]), (&json!("false_alarm"), &waits));
    assert_eq!(admin.get(&danger).await.json()["data"]["state"], "published");
    let end = format!("/api/v1/alerts/{}", waits["id"].as_str().unwrap());
    assert_eq!(admin.post(&format!("{end}/confirm"), &json!({})).await.status, 403);
    let confirmed = other.post(&format!("{end}/confirm"), &json!({})).await;
    assert_eq!(confirmed.json()["data"]["msg_type"], "Cancel", "{}", confirmed.text);
    process.kill();
}

#[tokio::test]
async fn an_all_clear_has_its_own_words_and_they_may_be_changed_before_it_is_published() {
    let muster = Muster::start("");
    let (one, other, ..) = people(&muster).await;
    let incident = active(&one, "Severe", None).await;
    publish(&one, &other, &incident, &json!({})).await;
    let tried = verb(&one, &incident, "resolve", &json!({ "dry_run": true })).await.json()["data"].clone();
    assert_eq!(tried["pending_alert"]["info"]["headline"], "All clear: Flood, Rossdorf", "{tried}");
    let before = one.get(&incident).await.json()["data"].clone();
    assert_eq!((&before["state"], &before["pending_alert"]), (&json!("active"), &Value::Null), "nothing changed");

    let alert = json!({ "instruction": "Return to your homes.", "contact": "115" });
    let ended = verb(&one, &incident, "resolve", &json!({ "alert": alert })).await.json()["data"].clone();
    let waits = &ended["pending_alert"];
    let info = &waits["info"];
    assert_eq!(
        (&info["headline"], &info["instruction"], &info["contact"]),
        (&json!("All clear: Flood, Rossdorf"), &json!("Return to your homes."), &json!("115"))
    );
    let text = info["description"].as_str().unwrap();
    assert!(text.ends_with("for Rossdorf has ended. The danger is over."), "{text}");
    let end = format!("/api/v1/alerts/{}", waits["id"].as_str().unwrap());
    let unversioned = other.request(Method::PATCH, &end).header("content-type", "application/json");
    assert_eq!(answer(unversioned.body("{\"headline\":\"x\"}")).await.status, 428);
    let changed = send(&other, Method::PATCH, &end, &json!({ "headline": "Over in Rossdorf", "contact": null })).await;
    assert_eq!(changed.status, 200, "{}", changed.text);
    let changed = changed.json()["data"].clone();
    assert_eq!((&changed["info"]["headline"], &changed["info"]["contact"]), (&json!("Over in Rossdorf"), &Value::Null));
    assert_eq!(other.post(&format!("{end}/confirm"), &json!({})).await.status, 403, "its text is this person's");
    let stale = one.post_request(&format!("{end}/confirm"), &json!({})).header("if-match", "\"1\"");
    assert_eq!(answer(stale).await.status, 412);
    let current =
        one.post_request(&format!("{end}/confirm"), &json!({})).header("if-match", changed["version"].to_string());
    assert_eq!(answer(current).await.status, 200);
    let sent = cap(&one, &end).await;
    let info = &sent.infos[0];
    assert_eq!((sent.msg_type, info.urgency), (muster_cap::MsgType::Update, muster_cap::Urgency::Past));
    assert_eq!(info.response_types, [muster_cap::ResponseType::AllClear]);
    assert_eq!(info.headline.as_deref(), Some("Over in Rossdorf"));
    let unused = json!({ "note": "x", "alert": { "headline": "Over" } });
    let bare = active(&one, "Minor", None).await;
    let refused = verb(&one, &bare, "cancel", &unused).await;
    assert_eq!((refused.status, refused.text.contains("this change causes none")), (400, true), "{}", refused.text);
    let late = send(&one, Method::PATCH, &end, &json!({ "headline": "x" })).await;
    assert_eq!(late.status, 409, "a published text is not changed: {}", late.text);
}

/// Returns the text of each element of that name.
fn elements<'a>(xml: &'a str, name: &str) -> Vec<&'a str> {
    let open = format!("<{name}>");
    xml.split(open.as_str()).skip(1).filter_map(|rest| rest.split('<').next()).collect()
}

#[tokio::test]
async fn the_feed_names_what_a_message_is_lists_a_cancel_and_its_time_never_goes_back() {
    let folder = tempfile::tempdir().unwrap();
    let muster = Muster::start_in(folder, "");
    let (one, other, ..) = people(&muster).await;
    let feed = async |client: &Client| client.get("/api/v1/alerts/feed.atom").await.text;
    let updated = |xml: &str| elements(xml, "updated")[0].to_owned();
    let incident = active(&one, "Minor", None).await;
    publish(&one, &other, &incident, &json!({ "language": "de-DE", "headline": "Unterstadt räumen" })).await;
    let first = feed(&one).await;
    assert_eq!(elements(&first, "title")[1..], ["Unterstadt räumen"]);
    let edited = send(&one, Method::PATCH, &incident, &json!({ "instruction": "Auf den Berg." })).await;
    assert_eq!(edited.json()["data"]["published_alert"]["msg_type"], "Update", "{}", edited.text);
    let second = feed(&one).await;
    assert_eq!(elements(&second, "title")[1..], ["Aktualisierung: Unterstadt räumen"]);
    let canceled = verb(&one, &incident, "cancel", &json!({ "reason": "the gauge was broken" })).await;
    assert_eq!(canceled.status, 200, "`reason` is another name of `note`: {}", canceled.text);
    let third = feed(&one).await;
    assert_eq!(elements(&third, "title")[1..], ["Aufgehoben: Hochwasser, Rossdorf"], "{third}");
    assert!(!third.contains("Unterstadt räumen") && !third.contains("Auf den Berg"), "{third}");
    let own = publish(&one, &other, &active(&one, "Minor", None).await, &json!({})).await;
    let over = one.post(&format!("{own}/all-clear"), &json!({ "headline": "The water is gone" })).await;
    assert_eq!(over.status, 201, "{}", over.text);
    let fourth = feed(&one).await;
    assert_eq!(elements(&fourth, "title")[1], "All clear: The water is gone", "a text of one's own is labelled");
    let times = [updated(&first), updated(&second), updated(&third), updated(&fourth)];
    assert!(times.is_sorted(), "{times:?}");

    let muster = Muster::start_in(muster.stop(), "");
    let again = feed(&muster.login("carla@example.org", PASSWORD).await).await;
    assert_eq!((updated(&again), elements(&again, "id").len()), (updated(&fourth), elements(&fourth, "id").len()));
}

#[tokio::test]
async fn a_point_is_never_a_circle_of_radius_zero() {
    let muster = Muster::start("[incidents.point_radius_m]\nflood = 4000\n");
    let (one, other, ..) = people(&muster).await;
    let incident = active(&one, "Minor", None).await;
    let radius = async |path: &str| cap(&one, path).await.infos[0].areas[0].circles[0].radius_km;
    assert!((radius(&incident).await - 4.0).abs() < 1e-9, "the draft shows the radius of the kind");
    let path = format!("{incident}/alerts");
    let shown = one.post(&path, &json!({ "dry_run": true })).await;
    assert_eq!((shown.status, &shown.json()["data"]["info"]["geometry"]["radius_m"]), (200, &json!(4000.0)));
    assert_eq!(one.get("/api/v1/alerts").await.json()["data"]["alerts"], json!([]), "nothing is stored");
    for wrong in [json!(0), json!(-5), json!(1_000_001), json!("wide")] {
        let refused = one.post(&path, &json!({ "radius_m": wrong })).await;
        assert_eq!((refused.status, refused.text.contains("radius_m")), (400, true), "{wrong}: {}", refused.text);
    }
    let alert = publish(&one, &other, &incident, &json!({ "radius_m": 750 })).await;
    assert!((radius(&alert).await - 0.75).abs() < 1e-9);
    assert_eq!(one.get(&alert).await.json()["data"]["info"]["geometry"]["type"], "Circle");

    let point = "<?xml version=\"1.0\" encoding=\"UTF-8\"?><alert xmlns=\"urn:oasis:names:tc:emergency:cap:1.2\">\
        <identifier>P-1</identifier><sender>met@example.org</sender><sent>2026-01-01T00:00:01-00:00</sent>\
        <status>Actual</status><msgType>Alert</msgType><scope>Public</scope><info><category>Met</category>\
        <event>Flood</event><urgency>Immediate</urgency><severity>Minor</severity><certainty>Observed</certainty>\
        <area><areaDesc>Mainz</areaDesc><circle>50.0,8.27 0</circle></area></info></alert>";
    let request = one.request(Method::POST, "/api/v1/cap").header("content-type", "application/cap+xml");
    let imported = answer(request.body(point)).await;
    let data = imported.json()["data"].clone();
    assert_eq!((imported.status, data["warnings"].as_array().unwrap().len()), (201, 1), "{}", imported.text);
    assert!(data["warnings"][0].as_str().unwrap().starts_with("alert/info[1]/area[1]/circle[1]: the radius is 0"));
    let imported = format!("/api/v1/incidents/{}", data["incident_id"].as_str().unwrap());
    let own = publish(&one, &other, &imported, &json!({})).await;
    assert!((radius(&own).await - 4.0).abs() < 1e-9, "published from here it has a radius");
}

#[tokio::test]
async fn each_allowed_verb_is_a_route_and_takes_a_note() {
    let muster = Muster::start("");
    let (one, ..) = people(&muster).await;
    let incident = active(&one, "Minor", None).await;
    let allowed = one.get(&incident).await.json()["data"]["allowed"].clone();
    let verbs: Vec<&str> = allowed.as_array().unwrap().iter().map(|verb| verb.as_str().unwrap()).collect();
    for expected in ["de-escalate", "alerts", "notes", "resources", "false-alarm"] {
        assert!(verbs.contains(&expected), "{verbs:?}");
    }
    for verb in &verbs {
        // An empty object lacks something or is accepted; a path that is no route is 404 or 405.
        let got = send(&one, Method::POST, &format!("{incident}/{verb}x"), &json!({})).await;
        assert_eq!(got.status, 404, "{verb}x");
        let wrong = send(&one, Method::POST, &format!("{incident}/{verb}"), &json!([])).await;
        assert_eq!(wrong.status, 400, "{verb} is a route: {}", wrong.text);
    }
    let raised = verb(&one, &incident, "escalate", &json!({ "note": "a second town" })).await;
    assert_eq!(raised.json()["data"]["ics_type"], 4, "{}", raised.text);
    let lowered = verb(&one, &incident, "de-escalate", &json!({ "reason": "one town again" })).await;
    assert_eq!(lowered.json()["data"]["ics_type"], 5, "{}", lowered.text);
    let both = verb(&one, &incident, "contain", &json!({ "note": "one", "reason": "two" })).await;
    assert_eq!((both.status, both.text.contains("another name of `note`")), (400, true), "{}", both.text);
    let timeline = one.get(&format!("{incident}/timeline")).await.json()["data"]["entries"].clone();
    let last = timeline.as_array().unwrap().last().unwrap().clone();
    assert_eq!((&last["kind"], &last["note"]), (&json!("de-escalate"), &json!("one town again")));
}
