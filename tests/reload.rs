//! Settings are reloaded by SIGHUP and over HTTP: running requests are not interrupted, invalid settings are not
//! applied.

use crate::support;

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use support::KEY;
use support::client::{Client, TEST_TIMEOUT};
use support::dialect::Chat;
use support::process::{Launch, Process};
use support::tls::SelfSigned;
use support::upstream::{Upstream, UpstreamAction};

fn settings(folder: &Path, text: &str) {
    std::fs::write(folder.join("config.toml"), text).unwrap();
}

fn client(process: &Process) -> Client {
    Client::new(&process.url).with(KEY)
}

/// Waits, bounded, until the condition holds.
async fn wait_until(description: &str, condition: impl AsyncFn() -> bool) {
    let mut interval = tokio::time::interval(Duration::from_millis(20));
    let waiting = async {
        while !condition().await {
            interval.tick().await;
        }
    };
    tokio::time::timeout(TEST_TIMEOUT, waiting).await.unwrap_or_else(|_| panic!("{description} did not come"));
}

#[tokio::test]
async fn providers_come_and_go_while_a_stream_runs() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (Upstream::start(UpstreamAction::HeldAfter(1)), Upstream::start(UpstreamAction::Answer(&["new"])));
    settings(folder.path(), &old.provider("old", "alpha"));
    let process = Launch::new(folder.path()).start();
    let client = client(&process);
    let mut running = Chat::B.stream(&client, "alpha").await;
    running.wait_for("w0").await;

    settings(folder.path(), &new.provider("new", "beta"));
    let reloaded = client.post("/api/v1/admin/reload", &json!({})).await;
    assert_eq!((reloaded.status, reloaded.json()), (200, json!({ "reloaded": ["provider"], "needs_restart": [] })));
    let chat = Chat::B.post(&client, "beta").await;
    assert_eq!((chat.status, chat.json()["choices"][0]["message"]["content"].as_str()), (200, Some("new")));
    assert_eq!(Chat::B.post(&client, "alpha").await.status, 404, "what is gone is gone");
    let status = client.get("/api/v1/status").await.text;
    assert!(status.contains("breaker-new") && !status.contains("\"id\":\"old\""), "{status}");
    wait_until("the old breaker's end", async || !client.get("/api/v1/status").await.text.contains("breaker-old"))
        .await;

    old.release_held();
    let rest = running.rest().await;
    assert_eq!(rest.last().unwrap().data, "[DONE]", "the stream ended as it began, along the old provider");
}

#[tokio::test]
async fn a_hangup_takes_up_new_limits_and_keeps_what_was_counted() {
    let folder = tempfile::tempdir().unwrap();
    let upstream = Upstream::start(UpstreamAction::Answer(&["hello"]));
    let limits =
        |rpm: u32| upstream.provider("one", "alpha") + &format!("[limits.plan_b.free]\nrequests_per_minute = {rpm}\n");
    settings(folder.path(), &limits(2));
    let process = Launch::new(folder.path()).start();
    let admin = client(&process);
    let free = admin.with(admin.make_key(&json!({ "name": "n", "scopes": ["chat"] })).await);
    let status = async || Chat::B.post(&free, "alpha").await.status;
    assert_eq!((status().await, status().await, status().await), (200, 200, 429));
    settings(folder.path(), &limits(4));
    process.signal("HUP");
    wait_until("the new limit", async || status().await == 200).await;
    // Two before and one now are three of four.
    assert_eq!((status().await, status().await), (200, 429), "what was counted before still counts");
}

#[tokio::test]
async fn bad_settings_are_refused_and_nothing_changes() {
    let folder = tempfile::tempdir().unwrap();
    let upstream = Upstream::start(UpstreamAction::Answer(&["hello"]));
    settings(folder.path(), &upstream.provider("one", "alpha"));
    let process = Launch::new(folder.path()).start();
    let client = client(&process);
    for (text, named) in [
        ("[chain]\nretreis = 2\n", "retreis"),
        ("[log]\nlevel = \"loud\"\n", "loud"),
        ("[[provider]]\nid = \"x\"\nkind = \"openai\"\nbase_url = \"ftp://x\"\nmodels = [\"m\"]\n", "base_url"),
        ("[chain]\norder = [\"nobody\"]\n", "nobody"),
    ] {
        settings(folder.path(), text);
        let refused = client.post("/api/v1/admin/reload", &json!({})).await;
        assert_eq!(refused.status, 422, "{}", refused.text);
        assert!(refused.text.contains(named), "{named}: {}", refused.text);
        assert_eq!(Chat::B.post(&client, "alpha").await.status, 200, "the old settings still count");
    }
    // Settings that need a restart are reported, and the others are applied.
    let text = upstream.provider("one", "alpha") + "[server]\nworkers = 1\nmax_body_bytes = 2048\n[llm]\nslots = 1\n";
    settings(folder.path(), &text);
    let reloaded = client.post("/api/v1/admin/reload", &json!({})).await.json();
    assert_eq!(
        reloaded,
        json!({ "reloaded": ["server.max_body_bytes"], "needs_restart": ["llm.slots", "server.workers"] })
    );
    let long = json!({ "message": "x".repeat(4096) });
    assert_eq!(client.post("/api/chat", &long).await.status, 413);

    let chat = client.make_key(&json!({ "name": "n", "scopes": ["chat"] })).await;
    assert_eq!(client.with(chat).post("/api/v1/admin/reload", &json!({})).await.status, 403);
}

/// A file that the settings name can change while its name does not.
#[tokio::test]
async fn a_changed_file_is_named_as_taken_up_or_as_needing_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("own.toml");
    let agents = include_str!("../benches/tasks/agents.toml");
    std::fs::write(&own, agents).unwrap();
    let (_, tls) = SelfSigned::write(folder.path());
    settings(folder.path(), &format!("[agents]\nfiles = [\"own.toml\"]\n{tls}"));
    let process = Launch::new(folder.path()).start();
    let trusting = || {
        let pem = std::fs::read_to_string(folder.path().join("cert.pem")).unwrap();
        Client::trusting(&process.url, &pem).with(KEY)
    };
    let client = trusting();
    let reload = async || client.post("/api/v1/admin/reload", &json!({})).await.json();
    assert_eq!(reload().await, json!({ "reloaded": [], "needs_restart": [] }), "nothing changed");
    std::fs::write(&own, agents.replace("no-op", "idle")).unwrap();
    assert_eq!(reload().await, json!({ "reloaded": [], "needs_restart": ["agents.files (own.toml)"] }));
    SelfSigned::write(folder.path());
    let reloaded = reload().await;
    let cert = reloaded["reloaded"][0].as_str().unwrap();
    assert!(cert.starts_with("server.tls.cert (") && cert.contains("cert.pem"), "{reloaded}");
    assert_eq!(trusting().get("/api/v1/status").await.status, 200, "the new certificate is presented");
    std::fs::write(&own, agents).unwrap();
    assert_eq!(reload().await, json!({ "reloaded": [], "needs_restart": [] }), "it is as at the start again");
}
