//! A server that is stopped while sockets are open.

use std::time::{Duration, Instant};

use futures::future::join_all;
use serde_json::json;

use crate::support::client::Client;
use crate::support::process::Launch;
use crate::support::socket::Socket;
use crate::support::{EMAIL, PASSWORD};

const GRACE: Duration = Duration::from_secs(20);

#[tokio::test]
async fn sigterm_notifies_every_socket_ends_in_time_and_all_resume_in_the_same_epoch() {
    let folder = tempfile::tempdir().unwrap();
    let grace = GRACE.as_secs().to_string();
    let launch = || {
        let launch = Launch::new(folder.path()).with("MUSTER__FEED__MAX_PER_PERSON", "100");
        launch.with("MUSTER__SERVER__SHUTDOWN_GRACE_SECONDS", &grace).start()
    };
    let mut process = launch();
    let (admin, login) = Client::new(&process.url).login(EMAIL, PASSWORD).await;
    let token = login.json()["data"]["token"].as_str().unwrap().to_owned();
    let mut sockets = join_all((0..30).map(|_| Socket::at(&process.url, &token))).await;
    for socket in &mut sockets {
        socket.subscribe(json!({ "ch": "incidents" })).await;
    }
    let body = json!({ "title": "Flood", "kind": "flood", "severity": "Severe" });
    assert_eq!(admin.post("/api/v1/incidents", &body).await.status, 201);
    let mut offsets = Vec::new();
    for socket in &mut sockets {
        offsets.push(socket.frame().await["off"].as_u64().unwrap());
    }
    let subscribed = admin.get("/api/v1/realtime/channels/incidents/history").await.json()["data"].clone();
    assert!(offsets.iter().all(|offset| subscribed["offset"] == *offset), "{offsets:?} {subscribed}");

    let began = Instant::now();
    process.signal("TERM");
    for code in join_all(sockets.iter_mut().map(Socket::closed)).await {
        assert_eq!(code, 1012);
    }
    drop(sockets);
    let (status, took) = tokio::task::spawn_blocking(move || (process.ended(), began.elapsed())).await.unwrap();
    assert_eq!(status.code(), Some(0));
    assert!(took < GRACE, "{took:?}");

    let process = launch();
    let since = json!({ "epoch": subscribed["epoch"], "offset": subscribed["offset"] });
    for mut socket in join_all((0..30).map(|_| Socket::at(&process.url, &token))).await {
        let resumed = socket.subscribe(json!({ "ch": "incidents", "since": since })).await;
        assert_eq!((&resumed["recovered"], &resumed["epoch"]), (&json!(true), &subscribed["epoch"]), "{resumed}");
        assert_eq!(resumed["offset"], subscribed["offset"], "nothing was published meanwhile");
    }
    let missed = since["offset"].as_u64().unwrap() - 1;
    let mut behind = Socket::at(&process.url, &token).await;
    let since = json!({ "epoch": subscribed["epoch"], "offset": missed });
    let resumed = behind.subscribe(json!({ "ch": "incidents", "since": since })).await;
    assert_eq!((&resumed["recovered"], &resumed["pubs"]), (&json!(true), &json!(1)), "{resumed}");
    assert_eq!(behind.frame().await["ev"], "incident.created");
}
