//! API keys that are edited: what changes counts from the next request on.

use crate::support;

use futures::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use support::KEY;
use support::client::{Answer, Client, answer};
use support::process::{Launch, program};
use support::server::Muster;
use support::upstream::{Upstream, UpstreamAction};

const KEYS: &str = "/api/v1/keys";
const MODEL: &str = "gpt-5.6-luna";

async fn create(client: &Client, body: &Value) -> Value {
    let made = client.post(KEYS, body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    made.json()
}

async fn edit_at(client: &Client, key: &Value, if_match: Option<&str>, patch: &Value) -> Answer {
    let path = format!("{KEYS}/{}", key["id"].as_str().unwrap());
    let mut request = client.request(Method::PATCH, &path).header("content-type", "application/json");
    if let Some(version) = if_match {
        request = request.header("if-match", version);
    }
    answer(request.body(patch.to_string())).await
}

async fn edit(client: &Client, key: &Value, patch: &Value) -> Value {
    let edited = edit_at(client, key, Some("*"), patch).await;
    assert_eq!(edited.status, 200, "{patch}: {}", edited.text);
    edited.json()
}

/// Entries of the audit log about a resource: actor, action, details.
fn audited(muster: &Muster, resource: &Value) -> Vec<(String, String, Value)> {
    let entries = crate::support::audit_entries(muster);
    let entries = entries.into_iter().filter(|entry| entry["resource"] == *resource);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    entries.map(|entry| (text(&entry["actor"]), text(&entry["action"]), entry["details"].clone())).collect()
}

#[tokio::test]
async fn an_edit_changes_what_it_names_counts_at_once_and_outlives_a_restart() {
    let muster = Muster::start("");
    let admin = muster.client();
    let made = create(&admin, &json!({ "name": "n", "scopes": ["chat"], "plan_b": "pro", "budget_usd": 5.0 })).await;
    let own = admin.with(made["key"].as_str().unwrap());
    let path = format!("{KEYS}/{}", made["id"].as_str().unwrap());
    let read = admin.get(&path).await;
    assert_eq!((read.header("etag"), &read.json()["version"]), (Some("\"1\""), &json!(1)));

    assert_eq!(edit_at(&admin, &made, None, &json!({ "name": "m" })).await.status, 428);
    let stale = edit_at(&admin, &made, Some("\"7\""), &json!({ "name": "m" })).await;
    assert_eq!((stale.status, &stale.json()["error_code"]), (412, &json!("PRECONDITION_FAILED")));
    let patch = json!({ "name": "m", "budget_usd": null, "expires_at": "2100-01-01T00:00:00Z", "models": ["fast", "fast"],
        "limits": { "requests_per_minute": 7 } });
    let edited = edit_at(&admin, &made, Some("\"1\""), &patch).await;
    assert_eq!((edited.status, edited.header("etag")), (200, Some("\"2\"")), "{}", edited.text);
    let edited = edited.json();
    assert_eq!((&edited["name"], &edited["budget_usd"], &edited["plan_b"]), (&json!("m"), &Value::Null, &json!("pro")));
    assert_eq!((&edited["models"], &edited["limits"]["requests_per_minute"]), (&json!(["fast"]), &json!(7)));
    assert_eq!(edited["expires_at"], "2100-01-01T00:00:00.000Z");
    assert_eq!(own.get("/v1/models").await.number("x-ratelimit-limit"), Some(7), "the next request has the limit");
    assert_eq!(edit(&admin, &made, &json!({})).await["version"], 2, "nothing changes");

    // The audit log says who changed what.
    let first = admin.get(KEYS).await.json()["keys"][1]["id"].as_str().unwrap().to_owned();
    let entries = audited(&muster, &made["id"]);
    assert_eq!(entries.len(), 2, "{entries:?}");
    assert_eq!((&*entries[1].0, &*entries[1].1), (&*first, "key_edited"));
    assert_eq!((&entries[1].2["name"], &entries[1].2["plan_b"]), (&json!("m"), &Value::Null), "{entries:?}");
    assert!(!entries[1].2.to_string().contains("sha256"), "{entries:?}");

    for (patch, field) in [
        (json!({ "name": " " }), "name"),
        (json!({ "scopes": [] }), "scopes"),
        (json!({ "budget_usd": -1 }), "budget_usd"),
        (json!({ "expires_at": "2001-01-01T00:00:00Z" }), "expires_at"),
        (json!({ "expires_at": "soon" }), "expires_at"),
        (json!({ "models": ["gpt-*"] }), "models"),
        (json!({ "team": "team_none" }), "team"),
        (json!({ "cache_seconds": 2_592_001 }), "cache_seconds"),
        (json!({ "scopes": ["everything"] }), "scopes"),
    ] {
        let got = edit_at(&admin, &made, Some("*"), &patch).await;
        assert_eq!((got.status, &got.json()["detail"][0]["loc"][1]), (422, &json!(field)), "{patch}: {}", got.text);
    }
    let unknown = json!({ "id": "key_none" });
    assert_eq!(edit_at(&admin, &unknown, Some("*"), &json!({ "name": "m" })).await.status, 404);

    let secret = made["key"].as_str().unwrap().to_owned();
    let muster = Muster::start_in(muster.stop(), "");
    let admin = muster.client();
    assert_eq!(admin.get(&path).await.json(), {
        let mut kept = edited.clone();
        kept["last_used_at"] = admin.get(&path).await.json()["last_used_at"].clone();
        kept
    });
    edit(&admin, &made, &json!({ "scopes": ["memory"] })).await;
    assert_eq!(admin.with(secret).get("/v1/models").await.status, 403, "the scope is gone");
    assert_eq!(admin.delete(&path).await.status, 200);
    assert_eq!(edit_at(&admin, &made, Some("*"), &json!({ "name": "x" })).await.status, 409, "a revoked key stays so");
}

/// What was granted in advance under the old limits and budgets is void.
#[tokio::test]
async fn a_tighter_limit_or_budget_counts_while_calls_are_in_full_flow() {
    let upstream = Upstream::start(UpstreamAction::Answer(&["two ", "words"]));
    let settings = upstream.provider("openai", MODEL).replace("[[provider]]\n", "[[provider]]\napi_key_env = \"\"\n");
    let muster = Muster::start(&settings);
    let admin = muster.client();
    let limits = json!({ "requests_per_minute": 100_000 });
    for patch in [json!({ "limits": { "requests_per_minute": 10 } }), json!({ "budget_usd": 0.0 })] {
        let made =
            json!({ "name": "n", "scopes": ["chat"], "plan_b": "enterprise", "limits": limits, "budget_usd": 100.0 });
        let made = create(&admin, &made).await;
        let client = admin.with(made["key"].as_str().unwrap());
        let body = json!({ "model": MODEL, "max_tokens": 5, "messages": [{ "role": "user", "content": "hi" }] });
        for _ in 0..4 {
            for got in join_all((0..32).map(|_| client.post("/v1/chat/completions", &body))).await {
                assert_eq!(got.status, 200, "{}", got.text);
            }
        }
        let (edited, _) = futures::join!(
            edit(&admin, &made, &patch),
            join_all((0..32).map(|_| client.post("/v1/chat/completions", &body))),
        );
        assert_eq!(edited["version"], 2);
        for got in join_all((0..8).map(|_| client.post("/v1/chat/completions", &body))).await {
            assert_eq!(got.status, 429, "{patch}: {}", got.text);
        }
    }
}

#[tokio::test]
async fn no_edit_grants_what_the_caller_lacks() {
    let muster = Muster::start("[budget]\nowners = { \"ops\" = 100.0 }\n");
    let operator = muster.client();
    let admin = json!({ "name": "a", "owner": "ops", "scopes": ["admin", "chat"], "plan_b": "pro", "budget_usd": 5.0,
        "models": ["fast", "openai/*"] });
    let admin = operator.with(create(&operator, &admin).await["key"].as_str().unwrap());
    let within = json!({ "name": "w", "owner": "ops", "scopes": ["chat"], "budget_usd": 1.0, "models": ["fast"] });
    let within = create(&operator, &within).await;
    for patch in [
        json!({ "scopes": ["chat", "memory"] }),
        json!({ "roles": ["auditor"] }),
        json!({ "plan_b": "enterprise" }),
        json!({ "budget_usd": 6.0 }),
        json!({ "budget_usd": null }),
        json!({ "models": [] }),
        json!({ "models": ["code"] }),
        json!({ "owner": "others" }),
    ] {
        let got = edit_at(&admin, &within, Some("*"), &patch).await;
        assert_eq!((got.status, &got.json()["error_code"]), (403, &json!("FORBIDDEN")), "{patch}: {}", got.text);
    }
    edit(&admin, &within, &json!({ "budget_usd": 5.0, "models": ["fast", "openai/gpt-5.6-luna"], "plan_b": "pro" }))
        .await;
    let strong = create(&operator, &json!({ "name": "s", "owner": "ops", "scopes": ["medical"] })).await;
    let got = edit_at(&admin, &strong, Some("*"), &json!({ "scopes": ["chat"] })).await;
    assert_eq!(got.status, 403, "{}", got.text);

    // A super_admin edits any key, and adds no scope that it lacks.
    let chief = create(&operator, &json!({ "name": "c", "scopes": ["admin"], "roles": ["super_admin"] })).await;
    let chief = operator.with(chief["key"].as_str().unwrap());
    edit(&chief, &strong, &json!({ "budget_usd": 50.0, "owner": "others" })).await;
    assert_eq!(edit_at(&chief, &within, Some("*"), &json!({ "scopes": ["chat", "memory"] })).await.status, 403);
    assert_eq!(
        operator.with(within["key"].as_str().unwrap()).request(Method::PATCH, KEYS).send().await.unwrap().status(),
        405
    );
}

#[tokio::test]
async fn the_command_line_edits_keys_and_teams_of_a_running_and_of_a_stopped_server() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let run = |args: &[&str]| {
        let output = program(folder).env("MUSTER_API_KEY", KEY).args(args).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{args:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_str::<Value>(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    };
    let process = Launch::new(folder).start();
    let store = folder.join("store").display().to_string();
    let running = ["--server", process.url.as_str(), "--json"];
    let stopped = ["--data", store.as_str(), "--json"];
    let with = |command: &str, place: &[&str], args: &[&str]| run(&[&[command], place, args].concat());
    let made =
        with("keys", &running, &["create", "--name", "n", "--scope", "chat", "--limit", "requests_per_minute=9"]);
    assert_eq!(made["limits"]["requests_per_minute"], 9);
    let id = made["id"].as_str().unwrap();
    let team = with("teams", &running, &["create", "--name", "research", "--budget", "7", "--model", "fast"]);
    let team_id = team["id"].as_str().unwrap();
    let edits = ["edit", id, "--team", team_id, "--budget", "2.5", "--model", "fast", "--cache", "60", "--name", "m"];
    let edited = with("keys", &running, &edits);
    assert_eq!((&edited["team"], &edited["budget_usd"], &edited["name"]), (&team["id"], &json!(2.5), &json!("m")));
    assert_eq!((&edited["models"], &edited["cache_seconds"]), (&json!(["fast"]), &json!(60)));
    assert_eq!(
        with("teams", &running, &["edit", team_id, "--budget", "none", "--cache", "5"])["budget_usd"],
        Value::Null
    );
    process.kill();

    let edits = ["edit", id, "--team", "none", "--budget", "none", "--all-models", "--no-limits", "--expires", "never"];
    let edited = with("keys", &stopped, &edits);
    assert_eq!((&edited["team"], &edited["models"], &edited["limits"]), (&Value::Null, &json!([]), &Value::Null));
    assert_eq!((&edited["version"], &edited["cache_seconds"]), (&json!(3), &json!(60)));
    let teams = with("teams", &stopped, &["list"]);
    assert_eq!((&teams["teams"][0]["cache_seconds"], &teams["teams"][0]["name"]), (&json!(5), &json!("research")));
    assert_eq!(with("teams", &stopped, &["delete", team_id])["id"], team["id"]);
    assert_eq!(with("teams", &stopped, &["list"])["teams"], json!([]));
    let refused = program(folder).args(["keys", "edit", id, "--limit", "requests=1"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
}
