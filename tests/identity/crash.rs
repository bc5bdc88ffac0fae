//! Sessions after a kill -9.

use serde_json::{Value, json};

use super::support::client::{Client, try_answer};
use super::support::process::Launch;
use super::support::{EMAIL, PASSWORD};

/// Number 18. The server is killed at a random moment of a rotation: whether or not the client got a response, its
/// token can be refreshed, and there is one line of successors.
#[tokio::test]
async fn a18_a_session_survives_a_kill_between_rotation_and_answer() {
    let folder = tempfile::tempdir().unwrap();
    let launch = || Launch::new(folder.path()).with("MUSTER__LIMITS__LOGIN", "\"unlimited\"").start();
    let mut process = launch();
    let login = Client::new(&process.url).login(EMAIL, PASSWORD).await.1.json();
    let mut token = login["data"]["refresh_token"].as_str().unwrap().to_owned();
    let mut generations = vec![0];
    for round in 0..6 {
        let client = Client::new(&process.url);
        let request = client.post_request("/api/v1/auth/refresh", &json!({ "refresh_token": token }));
        let pending = tokio::spawn(try_answer(request));
        for _ in 0..round * 40 {
            tokio::task::yield_now().await;
        }
        process.kill();
        let lost = pending.await.unwrap();
        process = launch();
        let client = Client::new(&process.url);
        if let Ok(answer) = lost
            && answer.status == 200
        {
            token = answer.json()["data"]["refresh_token"].as_str().unwrap().to_owned();
        }
        let got = client.post("/api/v1/auth/refresh", &json!({ "refresh_token": token })).await;
        assert_eq!(got.status, 200, "round {round}: {}", got.text);
        let data: Value = got.json()["data"].clone();
        token = data["refresh_token"].as_str().unwrap().to_owned();
        generations.push(super::claims(&token)["gen"].as_u64().unwrap());
        let me = client.with(data["token"].as_str().unwrap()).get("/api/v1/auth/me").await;
        assert_eq!(me.status, 200, "{}", me.text);
    }
    assert!(generations.is_sorted_by(|one, next| one < next), "one line: {generations:?}");
    let listed = Client::new(&process.url).login(EMAIL, PASSWORD).await.0.get("/api/v1/auth/sessions").await.json();
    assert_eq!(listed["data"]["sessions"].as_array().unwrap().len(), 2, "the one of this test, and this login's");
}

#[tokio::test]
async fn the_first_administrator_is_printed_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut first = Launch::bare(folder.path()).start();
    let key = first.line();
    assert!(key.starts_with("first API key"), "{key}");
    let line = first.line();
    let rest = line.strip_prefix("first administrator, shown this once: admin@muster.local with the password ");
    let password = rest.unwrap_or_else(|| panic!("{line}")).trim().to_owned();
    Client::new(&first.url).login(EMAIL, &password).await;
    let log = first.log();
    assert!(!log.contains(&password), "it is written nowhere");
    first.kill();
    let mut again = Launch::bare(folder.path()).start();
    Client::new(&again.url).login(EMAIL, &password).await;
    again.signal("TERM");
    assert!(!again.rest().contains("administrator"), "it is printed once");
    assert!(again.ended().success());
}
