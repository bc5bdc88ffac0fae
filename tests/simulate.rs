//! `muster simulate devices` as an operator uses it.

mod interrupted;

use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};

use crate::support::client::Client;
use crate::support::process::{Launch, Process, program};
use crate::support::{EMAIL, PASSWORD};

fn server(folder: &Path) -> Process {
    std::fs::write(folder.join("config.toml"), "[auth]\nargon2_memory_kib = 64\nargon2_passes = 1\n").unwrap();
    Launch::new(folder).start()
}

/// Runs the command in a task that does not block the test's own.
async fn simulate(folder: &Path, token: Option<&str>, args: &[&str]) -> Output {
    let mut command = program(folder);
    command.args(["simulate", "devices"]).args(args).env("XDG_CONFIG_HOME", folder.join("settings"));
    if let Some(token) = token {
        command.env("MUSTER_TOKEN", token);
    }
    tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
}

fn summary(output: &Output) -> Value {
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{message}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {message}"))
}

async fn admin(url: &str) -> (Client, String) {
    let (client, answer) = Client::new(url).login(EMAIL, PASSWORD).await;
    (client, answer.json()["data"]["token"].as_str().unwrap().to_owned())
}

async fn online(admin: &Client) -> usize {
    let devices = admin.get("/api/v1/devices?limit=200&status=online").await;
    assert_eq!(devices.status, 200, "{}", devices.text);
    devices.json()["data"]["devices"].as_array().unwrap().len()
}

#[tokio::test(flavor = "multi_thread")]
async fn healthy_devices_register_send_heartbeats_and_return_with_the_same_identity() {
    let folder = tempfile::tempdir().unwrap();
    let muster = server(folder.path());
    let (admin, token) = admin(&muster.url).await;
    let state = folder.path().join("fleet.json");
    let common = ["--server", &muster.url, "--count", "20", "--state", state.to_str().unwrap(), "--json"];
    let first = [&common[..], &["--register", "--duration", "4"]].concat();
    let output = summary(&simulate(folder.path(), Some(&token), &first).await);
    assert_eq!((&output["devices"], &output["power"]), (&json!(20), &json!({ "on": 20 })), "{output}");
    assert_eq!(output["totals"]["registered"], 20, "{output}");
    assert!(output["totals"]["heartbeats"].as_u64().unwrap() >= 20, "{output}");
    assert_eq!(output["totals"]["refused"], 0, "{output}");
    assert_eq!(online(&admin).await, 20);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(&state).unwrap().permissions().mode() & 0o777, 0o600, "it holds keys");
    }
    // Without a token: the devices authenticate themselves.
    let again = [&common[..], &["--duration", "3"]].concat();
    let output = summary(&simulate(folder.path(), None, &again).await);
    assert_eq!((&output["devices"], &output["totals"]["registered"]), (&json!(20), &json!(0)), "{output}");
    assert!(output["totals"]["heartbeats"].as_u64().unwrap() >= 20, "{output}");
    let all = admin.get("/api/v1/devices?limit=200").await.json();
    assert_eq!(all["data"]["devices"].as_array().unwrap().len(), 20);
    let quarantined = admin.get("/api/v1/devices?status=quarantined").await.json();
    assert_eq!(quarantined["data"]["devices"], json!([]), "a restart is no clone");
}

#[tokio::test(flavor = "multi_thread")]
async fn mixed_devices_execute_commands_omit_heartbeats_and_some_refuse() {
    let folder = tempfile::tempdir().unwrap();
    let muster = server(folder.path());
    let (admin, token) = admin(&muster.url).await;
    let profile = folder.path().join("faults.toml");
    let text = "heartbeat_s = 1\ntelemetry_s = 1\n[faults]\nflaky = 0.5\nrefuses_commands = 0.3\n";
    std::fs::write(&profile, text).unwrap();
    let state = folder.path().join("fleet.json");
    let (profile, kept) = (profile.to_str().unwrap(), state.to_str().unwrap());
    let args =
        ["--server", &muster.url, "--count", "20", "--profile", profile, "--state", kept, "--json", "--seed", "7"];
    let first = [&args[..], &["--register", "--duration", "1"]].concat();
    let drawn = summary(&simulate(folder.path(), Some(&token), &first).await)["faults"].clone();
    let refusing = drawn["refuses_commands"].as_u64().unwrap();
    assert!((1..20).contains(&refusing), "{drawn}");
    let devices = admin.get("/api/v1/devices?limit=200").await.json();
    let ids: Vec<_> =
        devices["data"]["devices"].as_array().unwrap().iter().map(|device| device["id"].clone()).collect();
    for id in &ids {
        let path = format!("/api/v1/devices/{}/commands", id.as_str().unwrap());
        let command = admin.post(&path, &json!({ "name": "siren.test" })).await;
        assert_eq!(command.status, 201, "{}", command.text);
    }
    let second = [&args[..], &["--duration", "6"]].concat();
    let output = summary(&simulate(folder.path(), None, &second).await);
    assert_eq!(output["faults"], drawn, "the seed draws the same ones");
    assert_eq!(output["totals"]["commands_refused"].as_u64().unwrap(), refusing, "{output}");
    assert_eq!(output["totals"]["commands_done"].as_u64().unwrap(), 20 - refusing, "{output}");
    assert!(output["totals"]["heartbeats_left_out"].as_u64().unwrap() > 0, "{output}");
    assert!(output["totals"]["telemetry"].as_u64().unwrap() > 0, "{output}");
}

#[tokio::test(flavor = "multi_thread")]
async fn devices_receive_their_commands_on_sockets() {
    let folder = tempfile::tempdir().unwrap();
    let muster = server(folder.path());
    let (admin, token) = admin(&muster.url).await;
    let (profile, state) = (folder.path().join("feed.toml"), folder.path().join("fleet.json"));
    std::fs::write(&profile, "heartbeat_s = 1\ncommands_by_feed = 1.0\n").unwrap();
    let (profile, kept) = (profile.to_str().unwrap(), state.to_str().unwrap());
    let args = ["--server", &muster.url, "--count", "10", "--profile", profile, "--state", kept, "--json"];
    let first = [&args[..], &["--register", "--duration", "1"]].concat();
    summary(&simulate(folder.path(), Some(&token), &first).await);
    let devices = admin.get("/api/v1/devices?limit=200").await.json();
    let ids: Vec<_> =
        devices["data"]["devices"].as_array().unwrap().iter().map(|device| device["id"].clone()).collect();
    assert_eq!(ids.len(), 10, "{devices}");
    let second = [&args[..], &["--duration", "10"]].concat();
    let running = simulate(folder.path(), None, &second);
    // Each command is created once its device's socket is open: only the notification on that socket delivers it in
    // time.
    let giving = async {
        for id in &ids {
            let id = id.as_str().unwrap();
            listens(&admin, id).await;
            let command = admin.post(&format!("/api/v1/devices/{id}/commands"), &json!({ "name": "siren.test" })).await;
            assert_eq!(command.status, 201, "{}", command.text);
        }
    };
    let (output, ()) = tokio::join!(running, giving);
    let output = summary(&output);
    let totals = &output["totals"];
    assert_eq!((&totals["commands_by_feed"], &totals["commands_done"]), (&json!(10), &json!(10)), "{output}");
    assert_eq!((&totals["sockets"], &totals["refused"]), (&json!(10), &json!(0)), "{output}");
}

/// Waits until the device's socket is in the presence list of its channel.
async fn listens(admin: &Client, id: &str) {
    let mut interval = tokio::time::interval(std::time::Duration::from_millis(20));
    let listening = async {
        loop {
            interval.tick().await;
            let present = admin.get(&format!("/api/v1/realtime/channels/devices:{id}/presence")).await;
            if present.status == 200 && present.text.contains(&format!("\"user\":\"{id}\"")) {
                return;
            }
        }
    };
    assert!(
        tokio::time::timeout(crate::support::client::TEST_TIMEOUT, listening).await.is_ok(),
        "{id} does not listen"
    );
}

#[tokio::test]
async fn wrong_usage_is_exit_code_two_with_a_message() {
    let folder = tempfile::tempdir().unwrap();
    for (args, named) in [
        (&["--count", "5"][..], "--register"),
        (&["--register"], "--count"),
        (&["--count", "0", "--register"], "0"),
        (&["--count", "5", "--register", "--profile", "nowhere"], "healthy"),
        (&["--count", "5", "--register", "--server", "ftp://x"], "http://"),
    ] {
        let output = simulate(folder.path(), None, args).await;
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {message}");
        assert!(message.contains(named), "{args:?}: {message}");
    }
}

#[tokio::test]
async fn an_unreachable_server_is_reported_with_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    // Port 1 is never assigned to a program that requests a free port.
    let url = "http://127.0.0.1:1";
    let output = simulate(folder.path(), Some("token"), &["--server", url, "--count", "1", "--register"]).await;
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains(url) && message.contains("muster serve"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_token_it_explains_how_to_get_one() {
    let folder = tempfile::tempdir().unwrap();
    let muster = server(folder.path());
    let args = ["--server", &muster.url, "--count", "1", "--register"];
    let none = simulate(folder.path(), None, &args).await;
    assert_eq!(none.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&none.stderr).contains("MUSTER_TOKEN"));
    let bad = simulate(folder.path(), Some("no.token.atall"), &args).await;
    assert_eq!(bad.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&bad.stderr).contains("log in again"));
}
