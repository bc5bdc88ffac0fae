//! Messages of the feed and of the monitor, signed manifests, settings and options.

use std::process::Command;

use muster_auth::{PrivateKey, manifest};
use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::support::client::answer;
use crate::support::device::Unit;
use crate::support::server::Muster;
use crate::support::socket::{Socket, admin_token};
use crate::support::{KEY, PASSWORD};

fn refusal(reply: &Value) -> &str {
    assert_eq!((&reply["error"]["code"], &reply["error"]["reason"]), (&json!(2400), &json!("bad_request")), "{reply}");
    reply["error"]["message"].as_str().unwrap()
}

#[tokio::test]
async fn frames_with_unknown_members_are_refused_before_any_effect() {
    let muster = Muster::start("");
    let person = muster.admin().await;
    let unit = Unit::register(&person, json!({})).await;
    let reported = person.post("/api/v1/incidents", &json!({ "title": "Flood", "kind": "flood" })).await.json();
    let incident = reported["data"]["id"].as_str().unwrap().to_owned();
    let mut socket = Socket::connect(&muster, &admin_token(&muster).await).await;
    for (frame, meant) in [
        (json!({ "subscirbe": { "ch": "incidents" } }), "unknown field `subscirbe`: did you mean `subscribe`?"),
        (
            json!({ "subscribe": { "ch": "incidents", "filtr": { "types": ["x"] } } }),
            "subscribe: unknown field `filtr`: did you mean `filter`?",
        ),
        (
            json!({ "subscribe": { "ch": "incidents", "filter": { "severity": "Severe" } } }),
            "subscribe: filter: unknown field `severity`: did you mean `min_severity`?",
        ),
        (
            json!({ "subscribe": { "ch": "incidents", "since": { "epoch": "a", "ofset": 1, "offset": 1 } } }),
            "subscribe: since: unknown field `ofset`: did you mean `offset`?",
        ),
        (
            json!({ "history": { "ch": "incidents", "limt": 5 } }),
            "history: unknown field `limt`: did you mean `limit`?",
        ),
        (json!({ "presence": { "ch": "incidents", "x": 5 } }), "presence: unknown field `x`: only `ch` is known"),
        (json!({ "unsubscribe": { "ch": "incidents", "x": 5 } }), "unsubscribe: unknown field `x`: only `ch` is known"),
        (
            json!({ "command": { "name": "incident.acknowledge", "taget": incident, "args": {} } }),
            "command: unknown field `taget`: did you mean `target`?",
        ),
        (
            json!({ "command": { "name": "incident.acknowledge", "target": incident, "args": { "versoin": 1 } } }),
            "unknown field `versoin`: did you mean `version`?",
        ),
        (
            json!({ "command": { "name": "device.command", "target": unit.id,
                "args": { "name": "siren.sound", "timeout": 5 } } }),
            "unknown field `timeout`: did you mean `timeout_s`?",
        ),
    ] {
        let reply = socket.request(frame.clone()).await;
        assert_eq!(refusal(&reply), meant, "{frame}");
    }
    let record = person.get(&format!("/api/v1/incidents/{incident}")).await.json();
    assert_eq!((&record["data"]["state"], &record["data"]["version"]), (&json!("reported"), &json!(1)));
    let commands = person.get(&format!("/api/v1/devices/{}/commands", unit.id)).await.json();
    assert_eq!(commands["data"]["commands"], json!([]), "{commands}");
    let presence = socket.request(json!({ "presence": { "ch": "incidents" } })).await;
    assert_eq!(presence["ok"]["present"], json!([]), "no refused subscription took effect");
}

#[tokio::test]
async fn a_connect_with_unknown_members_is_answered_before_the_connection_closes() {
    let muster = Muster::start("");
    let mut page = Socket::page(&muster).await;
    let token = admin_token(&muster).await;
    let reply = page.request(json!({ "connect": { "token": token, "sbus": { "incidents": {} } } })).await;
    assert_eq!(refusal(&reply), "connect: unknown field `sbus`: did you mean `subs`?");
    assert_eq!(page.closed().await, 4004);
    let mut page = Socket::page(&muster).await;
    let subs = json!({ "incidents": { "snapshto": true } });
    let reply = page.request(json!({ "connect": { "token": token, "client": "web/1.4", "subs": subs } })).await;
    assert_eq!(refusal(&reply), "connect: subs.incidents: unknown field `snapshto`: did you mean `snapshot`?");
    let mut page = Socket::page(&muster).await;
    let reply = page.request(json!({ "connect": { "token": token, "client": "web/1.4" } })).await;
    assert!(reply["ok"]["conn"].is_string(), "{reply}");
}

#[tokio::test]
async fn commands_of_the_monitor_refuse_unknown_arguments() {
    let muster = Muster::start("");
    let client = muster.client();
    let run = json!({ "task": "x", "params": { "document": { "a": 1 } } });
    let task = client.post("/api/v1/agents/json-wrangler/run", &run).await.json()["task_id"].clone();
    let mut socket = Socket::connect(&muster, KEY).await;
    for (name, args, meant) in [
        ("agent.pause", json!({ "nwo": true }), "unknown field `nwo`: did you mean `now`?"),
        ("agent.kill", json!({ "reson": "x" }), "unknown field `reson`: did you mean `reason`?"),
        (
            "agent.redirect",
            json!({ "instruction": "x", "mod": "interrupt" }),
            "unknown field `mod`: did you mean `mode`?",
        ),
    ] {
        let reply = socket.request(json!({ "command": { "name": name, "target": task, "args": args } })).await;
        assert_eq!(refusal(&reply), meant, "{name}");
        assert_eq!(reply["error"]["details"]["fields"][0]["type"], "extra_forbidden", "{reply}");
    }
}

#[tokio::test]
async fn a_parameter_of_a_handshake_is_refused_not_ignored() {
    let muster = Muster::start("");
    let token = admin_token(&muster).await;
    for path in ["/api/v1/realtime", "/api/q62/dashboard/agents"] {
        let refused = Socket::handshake(&muster, &format!("{path}?token={token}"), &[]).await.err().unwrap();
        assert!(matches!(refused.status, 400 | 422), "{}", refused.body);
        assert!(refused.body.contains("unknown query parameter `token`"), "{}", refused.body);
    }
}

#[tokio::test]
async fn a_signed_manifest_with_an_unknown_field_is_refused() {
    let muster = Muster::start("");
    let people = muster.admin().await;
    let key = PrivateKey::generate().unwrap();
    let anchor = json!({ "name": "release", "public_key": key.public().to_jwk() });
    assert_eq!(people.post("/api/v1/firmware/keys", &anchor).await.status, 201);
    let content = b"firmware".to_vec();
    let sha256: String = Sha256::digest(&content).iter().map(|byte| format!("{byte:02x}")).collect();
    let announced = json!({ "name": "siren", "version": "2.0.0", "sequence": 2, "vendor": "acme", "hw_class": "siren-2",
        "size": content.len(), "sha256": sha256, "format": "raw" });
    let made = people.post("/api/v1/firmware/artifacts", &announced).await.json();
    let path = format!("/api/v1/firmware/artifacts/{}", made["data"]["id"].as_str().unwrap());
    let sent = answer(people.request(Method::PUT, &format!("{path}/content")).body(content)).await;
    assert_eq!(sent.status, 200, "{}", sent.text);
    let mut payload = announced.clone();
    payload["min_curent_sequence"] = json!(1);
    let jws = manifest::sign(&key, "fw-manifest+jws", payload.to_string().as_bytes()).unwrap();
    let got = people.post(&format!("{path}/verify"), &json!({ "manifest_jws": jws })).await;
    assert!(got.text.contains("did you mean `min_current_sequence`?"), "{} {}", got.status, got.text);
    assert_ne!(people.get(&path).await.json()["data"]["state"], "ready");
}

#[test]
fn settings_variables_and_options_are_refused_with_what_was_meant() {
    let data = tempfile::tempdir().unwrap();
    let file = data.path().join("config.toml");
    std::fs::write(&file, "[server]\nlisten_adress = \"127.0.0.1:0\"\n").unwrap();
    let run = |arguments: &[&str], variable: Option<(&str, &str)>| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_muster"));
        command.args(arguments).current_dir(data.path()).env("MUSTER_ADMIN_PASSWORD", PASSWORD).envs(variable);
        let done = command.output().unwrap();
        (done.status.code(), String::from_utf8_lossy(&done.stderr).into_owned())
    };
    let (code, text) = run(&["serve"], None);
    assert!(code != Some(0) && text.contains("listen_adress") && text.contains("line 2"), "{code:?} {text}");
    std::fs::write(&file, "").unwrap();
    let (code, text) = run(&["serve"], Some(("MUSTER__SERVER__LISTEN_ADRESS", "127.0.0.1:0")));
    assert!(code != Some(0) && text.contains("MUSTER__SERVER__LISTEN_ADRESS"), "{code:?} {text}");
    let (code, text) = run(&["serve", "--lisen", "127.0.0.1:0"], None);
    assert!(code == Some(2) && text.contains("--lisen") && text.contains("--listen"), "{code:?} {text}");
}
