//! Limits over real sockets and real restarts: headers report them, plans are enforced, no restart circumvents them.

use crate::support;

use serde_json::json;
use support::KEY;
use support::client::{Answer, Client};
use support::process::Launch;

/// A client of the server with a new key under these limits.
async fn limited(url: &str, limits: serde_json::Value) -> Client {
    let admin = Client::new(url).with(KEY);
    let plans = json!({"name": "limited", "scopes": ["chat"], "plan_a": "enterprise", "limits": limits});
    let key = admin.make_key(&plans).await;
    admin.with(key)
}

async fn models(client: &Client) -> Answer {
    client.get("/api/models").await
}

fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs()
}

/// Sends requests until one is rejected; returns how many were admitted.
async fn use_up(client: &Client) -> u64 {
    let mut passed = 0;
    while models(client).await.status == 200 {
        passed += 1;
        assert!(passed < 1000, "never refused");
    }
    passed
}

#[tokio::test]
async fn a_key_gets_exactly_its_limit_and_headers_report_the_remainder() {
    let data = tempfile::tempdir().unwrap();
    let server = Launch::new(data.path()).start();
    let client = limited(&server.url, json!({"requests_per_minute": 3})).await;
    for left in [2, 1, 0] {
        let passed = models(&client).await;
        assert_eq!(passed.status, 200);
        assert_eq!((passed.number("x-ratelimit-limit"), passed.number("x-ratelimit-remaining")), (Some(3), Some(left)));
        let reset = passed.number("x-ratelimit-reset").unwrap();
        assert!((now()..=now() + 61).contains(&reset), "{reset} against {}", now());
        assert_eq!(passed.header("ratelimit-policy").unwrap(), "\"plan_a-minute\";q=3;w=60");
    }
    let refused = models(&client).await;
    assert_eq!(refused.status, 429);
    assert!((1..=60).contains(&refused.number("retry-after").unwrap()));
    assert_eq!(refused.number("x-ratelimit-remaining"), Some(0));
    assert_eq!(refused.json()["error"]["code"], "rate_limit_exceeded");
}

#[tokio::test]
async fn racing_requests_get_exactly_the_limit() {
    let data = tempfile::tempdir().unwrap();
    let server = Launch::new(data.path()).start();
    let client = limited(&server.url, json!({"requests_per_minute": 40})).await;
    let all = futures::future::join_all((0..120).map(|_| models(&client))).await;
    let passed = all.iter().filter(|response| response.status == 200).count();
    let refused = all.iter().filter(|response| response.status == 429).count();
    assert_eq!((passed, refused), (40, 80));
}

#[tokio::test]
async fn a_clean_restart_keeps_a_daily_quota_to_the_request() {
    let data = tempfile::tempdir().unwrap();
    let mut server = Launch::new(data.path()).start();
    let client = limited(&server.url, json!({"requests_per_day": 60})).await;
    for _ in 0..25 {
        assert_eq!(models(&client).await.status, 200);
    }
    server.signal("TERM");
    assert!(server.ended().success());
    let server = Launch::new(data.path()).start();
    let client = client.at(&server.url);
    assert_eq!(use_up(&client).await, 35);
}

#[tokio::test]
async fn kill_9_does_not_circumvent_a_daily_quota_and_costs_a_small_lease() {
    let data = tempfile::tempdir().unwrap();
    let mut server = Launch::new(data.path()).start();
    let mut client = limited(&server.url, json!({"requests_per_day": 60})).await;
    let (mut passed, kills) = (0, 4);
    for _ in 0..kills {
        for _ in 0..5 {
            assert_eq!(models(&client).await.status, 200);
            passed += 1;
        }
        server.kill();
        server = Launch::new(data.path()).start();
        client = client.at(&server.url);
    }
    passed += use_up(&client).await;
    // A lease is a twentieth of the limit: 3. Two may be in use at the kill, the spent one and the next.
    assert!(passed <= 60, "{passed} of 60 after {kills} kills");
    assert!(passed >= 60 - kills * 6, "{passed} of 60 after {kills} kills: more than the leases were lost");
}
