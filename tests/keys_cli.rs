//! `muster keys`: on a stopped server's data folder, and through a running server.

use crate::support;

use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};
use support::client::Client;
use support::process::{Launch, program};
use support::{KEY, UNKNOWN_KEY};

/// Runs `muster keys …` on the data folder.
fn local(folder: &Path, args: &[&str]) -> Output {
    let mut command = program(folder);
    command.args(["keys", "--data"]).arg(folder.join("store")).args(args).output().unwrap()
}

/// Runs `muster keys --server …` with a key.
fn remote(folder: &Path, url: &str, key: Option<&str>, args: &[&str]) -> Output {
    let mut command: Command = program(folder);
    if let Some(key) = key {
        command.env("MUSTER_API_KEY", key);
    }
    command.args(["keys", "--server", url]).args(args).output().unwrap()
}

fn json_output(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text} {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn refused(output: &Output, code: i32) -> String {
    assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stdout.is_empty(), "nothing is answered: {}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stderr.clone()).unwrap()
}

async fn status_with_key(url: &str, key: &Value) -> u16 {
    Client::new(url).with(key.as_str().unwrap()).get("/v1/models").await.status
}

#[tokio::test]
async fn on_a_stopped_servers_folder() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let create = ["create", "--name", "dashboard", "--scope", "chat", "--scope", "memory", "--plan-b", "pro", "--json"];
    let made = json_output(&local(folder, &create));
    assert_eq!((&made["scopes"], &made["plan_b"]), (&json!(["chat", "memory"]), &json!("pro")));
    let ended = json_output(&local(folder, &["create", "--name", "ended", "--scope", "chat", "--json"]));
    let rotated = json_output(&local(folder, &["rotate", made["id"].as_str().unwrap(), "--json"]));
    assert_eq!(rotated["id"], made["id"]);
    let revoked = json_output(&local(folder, &["revoke", ended["id"].as_str().unwrap(), "--json"]));
    assert!(revoked["revoked_at"].is_string());
    let listed = json_output(&local(folder, &["list", "--json"]));
    let names: Vec<_> = listed["keys"].as_array().unwrap().iter().map(|key| key["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["ended", "dashboard"], "newest first");
    assert!(!listed.to_string().contains(&made["key"].as_str().unwrap()[17..]), "no list shows a secret");

    let plain = local(folder, &["list"]);
    let plain = String::from_utf8(plain.stdout).unwrap();
    assert!(plain.lines().count() == 2 && plain.contains("revoked") && plain.contains("active"), "{plain}");

    // Changes made while the server was stopped apply once it runs.
    let process = Launch::bare(folder).start();
    assert_eq!(status_with_key(&process.url, &made["key"]).await, 200, "within the grace");
    assert_eq!(status_with_key(&process.url, &rotated["key"]).await, 200);
    assert_eq!(status_with_key(&process.url, &ended["key"]).await, 401);

    let busy = refused(&local(folder, &["list"]), 1);
    assert!(busy.contains("--server"), "it explains how to reach a running server: {busy}");
}

#[tokio::test]
async fn through_a_running_server() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let process = Launch::new(folder).start();
    let url = process.url.as_str();
    let made = json_output(&remote(folder, url, Some(KEY), &["create", "--name", "n", "--scope", "chat", "--json"]));
    assert_eq!(status_with_key(url, &made["key"]).await, 200);
    let listed = json_output(&remote(folder, url, Some(KEY), &["list", "--json"]));
    assert_eq!(listed["keys"].as_array().unwrap().len(), 2);
    let id = made["id"].as_str().unwrap();
    let rotated = json_output(&remote(folder, url, Some(KEY), &["rotate", id, "--grace", "0", "--json"]));
    assert_eq!((status_with_key(url, &made["key"]).await, status_with_key(url, &rotated["key"]).await), (401, 200));
    let made = rotated;
    json_output(&remote(folder, url, Some(KEY), &["revoke", id, "--json"]));
    assert_eq!(status_with_key(url, &made["key"]).await, 401);

    assert!(refused(&remote(folder, url, None, &["list"]), 1).contains("MUSTER_API_KEY"));
    assert!(refused(&remote(folder, url, Some(UNKNOWN_KEY), &["list"]), 1).contains("unknown, expired or revoked"));
    assert!(
        refused(&remote(folder, url, Some(KEY), &["revoke", "key_none"]), 1).contains("no key has the id key_none")
    );
    let unreachable = refused(&remote(folder, "http://127.0.0.1:1", Some(KEY), &["list"]), 1);
    assert!(unreachable.contains("http://127.0.0.1:1 does not answer"), "{unreachable}");
}

#[test]
fn wrong_use_is_exit_code_two() {
    let folder = tempfile::tempdir().unwrap();
    for (args, named) in [
        (&["create", "--scope", "chat"][..], "--name"),
        (&["create", "--name", "n"], "--scope"),
        (&["create", "--name", "n", "--scope", "everything"], "everything"),
        (&["create", "--name", "n", "--scope", "chat", "--expires", "soon"], "RFC 3339"),
        (&["revoke"], "<ID>"),
        (&["frobnicate"], "frobnicate"),
    ] {
        let message = refused(&local(folder.path(), args), 2);
        assert!(message.contains(named), "{args:?}: {message}");
    }
    let expired =
        local(folder.path(), &["create", "--name", "n", "--scope", "chat", "--expires", "2001-01-01T00:00:00Z"]);
    assert!(refused(&expired, 1).contains("expires_at"));
    for args in [&["--help"][..], &["keys", "create", "--help"], &["keys", "revoke", "--help"], &["doctor", "--help"]] {
        let help = program(folder.path()).args(args).output().unwrap();
        assert!(help.status.success() && String::from_utf8_lossy(&help.stdout).contains("Example"), "{args:?}");
    }
}
