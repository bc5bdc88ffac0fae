//! Guessing passwords, and overloading the server by logins.

use std::time::{Duration, Instant};

use futures::future::join_all;
use serde_json::json;

use super::support::client::{Answer, Client};
use super::support::server::Muster;
use super::support::{EMAIL, PASSWORD};

async fn attempt(client: &Client, email: &str, password: &str) -> Answer {
    client.post("/api/v1/auth/login", &json!({ "email": email, "password": password })).await
}

/// Number 21: identical bytes and indistinguishable mean times. The bound on time is wide, since the machine is shared;
/// the number of hash operations is checked by the test of the actors of this number.
#[tokio::test]
async fn a21_responses_do_not_reveal_which_accounts_exist() {
    let muster = Muster::start("");
    let client = muster.client().without_key();
    let admin = muster.admin().await;
    for name in ["off", "locked"] {
        muster.person(name, "viewer").await;
    }
    let users = admin.get("/api/v1/users").await.json();
    let off = users["data"]["users"].as_array().unwrap().iter().find(|user| user["email"] == "off@example.org");
    let path = format!("/api/v1/users/{}", off.unwrap()["id"].as_str().unwrap());
    let request = admin.request(reqwest::Method::PATCH, &path).header("if-match", "*");
    let request = request.header("content-type", "application/json").body(json!({ "disabled": true }).to_string());
    assert_eq!(super::support::client::answer(request).await.status, 200);

    let cases = [
        ("nobody@example.org", PASSWORD),
        (EMAIL, "wrong"),
        ("locked@example.org", "wrong"),
        ("off@example.org", PASSWORD),
    ];
    let mut seen = std::collections::BTreeSet::new();
    let mut means = Vec::new();
    for (email, password) in cases {
        let begun = Instant::now();
        for _ in 0..50 {
            let got = attempt(&client, email, password).await;
            assert_eq!(got.status, 401, "{email}: {}", got.text);
            let mut body = got.json();
            body["timestamp"] = json!("");
            let mut names: Vec<_> = got.headers.keys().map(|name| name.as_str().to_owned()).collect();
            names.sort();
            seen.insert((body.to_string(), names));
        }
        means.push(begun.elapsed() / 50);
    }
    assert_eq!(seen.len(), 1, "{seen:?}");
    let (least, most) = (means.iter().min().unwrap(), means.iter().max().unwrap());
    assert!(*most < *least * 3 + Duration::from_millis(20), "{means:?}");
}

#[tokio::test]
async fn a22_a_locked_account_keeps_its_sessions() {
    let muster = Muster::start("");
    let admin = muster.admin().await;
    let client = admin.without_key();
    for _ in 0..30 {
        assert_eq!(attempt(&client, EMAIL, "guess").await.status, 401);
    }
    assert_eq!(attempt(&client, EMAIL, PASSWORD).await.status, 401, "locked, which is not revealed");
    assert_eq!(admin.get("/api/v1/auth/me").await.status, 200);
}

/// Number 23: concurrent passwords are hashed a few at a time; the rest waits in a bounded queue.
#[tokio::test]
async fn a23_a_storm_of_logins_is_bounded_and_health_answers() {
    let settings = "[auth]\nargon2_memory_kib = 19456\nlogins_per_address = 10000\nlogins_per_minute = 10000";
    let muster = Muster::start(settings);
    let client = muster.client().without_key();
    let storm = join_all((0..160).map(|n| {
        let client = client.clone();
        async move { attempt(&client, &format!("nobody-{n}@example.org"), "guess").await }
    }));
    let health = async {
        let mut slowest = Duration::ZERO;
        for _ in 0..20 {
            let begun = Instant::now();
            assert_eq!(client.get("/api/health/live").await.status, 200);
            slowest = slowest.max(begun.elapsed());
        }
        slowest
    };
    let (answers, slowest) = tokio::join!(storm, health);
    let refused: Vec<_> = answers.iter().filter(|answer| answer.status == 503).collect();
    assert!(!refused.is_empty(), "160 are more than the line takes");
    assert!(refused.iter().all(|answer| answer.number("retry-after") >= Some(1)));
    assert!(answers.iter().all(|answer| matches!(answer.status, 401 | 503)));
    assert!(slowest < Duration::from_secs(2), "health took {slowest:?}");
}

#[tokio::test]
async fn a24_impossible_passwords_are_rejected() {
    let muster = Muster::start("");
    let client = muster.client().without_key();
    for (password, status) in [("a".repeat(1 << 20), 413), ("a".repeat(1025), 400), ("nul\0".to_owned(), 400)] {
        let got = attempt(&client, EMAIL, &password).await;
        assert_eq!(got.status, status, "{:.200}", got.text);
    }
    let admin = muster.admin().await;
    // Unicode's example in UAX #15: the same letters, composed and not.
    let body = json!({ "email": "a@example.org", "password": "\u{212B}ngström", "role": "viewer" });
    assert_eq!(admin.post("/api/v1/users", &body).await.status, 201);
    assert_eq!(attempt(&client, "a@example.org", "A\u{030A}ngstro\u{0308}m").await.status, 200);
}

#[tokio::test]
async fn attempts_are_limited_by_address_and_e_mail() {
    let muster = Muster::start("[limits]\nlogin = 10\n[auth]\nlogins_per_address = 16");
    let client = muster.client().without_key();
    for _ in 0..10 {
        let got = attempt(&client, EMAIL, "guess").await;
        assert_eq!(got.status, 401);
        assert!(got.number("x-ratelimit-remaining").is_some(), "{:?}", got.headers);
    }
    let got = attempt(&client, EMAIL, "guess").await;
    assert_eq!((got.status, got.number("retry-after").is_some()), (429, true), "{}", got.text);
    let statuses = join_all((0..6).map(|n| {
        let client = client.clone();
        async move { attempt(&client, &format!("n{n}@example.org"), "guess").await.status }
    }));
    let statuses = statuses.await;
    assert_eq!(statuses.iter().filter(|&&status| status == 429).count(), 1, "17 of one address: {statuses:?}");
}
