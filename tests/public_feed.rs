//! The feed of public alerts for everybody, by setting.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::client::{Answer, Client, answer};
use crate::support::server::Muster;

const FEED: &str = "/api/v1/alerts/feed.atom";

/// Publishes an alert of an incident, or proposes it if it is severe. Returns the identifiers of both.
async fn published(client: &Client, severity: &str) -> (String, String) {
    let area = json!({ "type": "Polygon", "coordinates": [[[8.4, 49.8], [8.8, 49.8], [8.8, 50.1], [8.4, 49.8]]] });
    let body = json!({ "title": "Flood", "kind": "flood", "severity": severity, "urgency": "Expected",
                       "certainty": "Likely", "geometry": area, "area_desc": "The quay" });
    let made = client.post("/api/v1/incidents", &body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let id = made.json()["data"]["id"].as_str().unwrap().to_owned();
    let path = format!("/api/v1/incidents/{id}");
    let triaged = answer(client.post_request(&format!("{path}/triage"), &json!({})).header("if-match", "*")).await;
    assert_eq!(triaged.status, 200, "{}", triaged.text);
    let sent = client.post(&format!("{path}/alerts"), &json!({})).await;
    assert!([201, 202].contains(&sent.status), "{}", sent.text);
    (id, sent.json()["data"]["id"].as_str().unwrap().to_owned())
}

async fn conditional(client: &Client, path: &str, tag: &str) -> Answer {
    answer(client.request(Method::GET, path).header("if-none-match", tag)).await
}

#[tokio::test]
async fn without_the_setting_the_feed_needs_a_token() {
    let muster = Muster::start("");
    let one = muster.person("carla", "incident_commander").await;
    let (_, alert) = published(&one, "Minor").await;
    for path in [FEED, &format!("/api/v1/alerts/{alert}.cap")] {
        assert_eq!(one.without_key().get(path).await.status, 401, "{path}");
    }
    let read = one.get(FEED).await;
    assert_eq!((read.status, read.header("cache-control")), (200, Some("private, no-cache")));
    let tag = read.header("etag").unwrap().to_owned();
    assert_eq!(conditional(&one, FEED, &tag).await.status, 304);
}

#[tokio::test]
async fn with_the_setting_everybody_reads_public_alerts_from_caches_and_nothing_else() {
    let muster = Muster::start("[incidents]\npublic_feed = true\n[limits]\nunauthenticated = 40");
    let one = muster.person("carla", "incident_commander").await;
    let anybody = one.without_key();
    let empty = anybody.get(FEED).await;
    assert_eq!((empty.status, empty.text.contains("<entry>")), (200, false), "{}", empty.text);
    let tag = empty.header("etag").unwrap().to_owned();
    let (incident, alert) = published(&one, "Minor").await;
    let fresh = conditional(&anybody, FEED, &tag).await;
    assert_eq!(fresh.status, 200, "the feed changed");
    assert!(fresh.text.contains(&format!("{alert}.cap")), "{}", fresh.text);
    assert_eq!(fresh.header("cache-control"), Some("public, max-age=60"));
    assert!(fresh.header("vary").unwrap().to_ascii_lowercase().contains("authorization"));
    let tag = fresh.header("etag").unwrap().to_owned();
    let known = conditional(&anybody, FEED, &format!("\"other\", W/{tag}")).await;
    assert_eq!((known.status, known.text.as_str(), known.header("etag")), (304, "", Some(tag.as_str())));
    let cap = anybody.get(&format!("/api/v1/alerts/{alert}.cap")).await;
    assert_eq!((cap.status, cap.text), (200, one.get(&format!("/api/v1/alerts/{alert}.cap")).await.text));

    // A proposal that waits for a second person is not public.
    let (_, pending) = published(&one, "Extreme").await;
    let proposed = one.get(&format!("/api/v1/alerts/{pending}")).await.json();
    assert_eq!(proposed["data"]["state"], "pending_second", "{proposed}");
    assert_eq!(anybody.get(&format!("/api/v1/alerts/{pending}.cap")).await.status, 404);
    assert!(!anybody.get(FEED).await.text.contains(&pending));
    for path in [
        "/api/v1/alerts",
        &format!("/api/v1/alerts/{alert}"),
        &format!("/api/v1/incidents/{incident}"),
        "/api/v1/incidents",
    ] {
        assert_eq!(anybody.get(path).await.status, 401, "{path}");
    }
    let wrong = answer(anybody.request(Method::GET, FEED).header("authorization", "Bearer none")).await;
    assert_eq!(wrong.status, 401, "a credential that is sent is checked");
    let statuses = futures::future::join_all((0..40).map(|_| anybody.get(FEED))).await;
    let limited = statuses.iter().find(|answer| answer.status == 429).expect("requests are counted by address");
    assert!(limited.header("retry-after").is_some());
    assert_eq!(one.get(FEED).await.status, 200, "users have limits of their own");
}

/// A reload opens and closes the feed.
#[tokio::test]
async fn a_reload_applies_the_setting() {
    let folder = tempfile::tempdir().unwrap();
    let (server, client) = crate::support::process::start(folder.path(), "");
    assert_eq!(client.without_key().get(FEED).await.status, 401);
    std::fs::write(folder.path().join("config.toml"), "[incidents]\npublic_feed = true\n").unwrap();
    let reloaded = client.post("/api/v1/admin/reload", &json!({})).await;
    let names: Value = reloaded.json()["reloaded"].clone();
    assert_eq!(names, json!(["incidents.public_feed"]), "{}", reloaded.text);
    assert_eq!(client.without_key().get(FEED).await.status, 200);
    server.kill();
}
