//! Simulated devices that restart, and a simulator that is stopped or killed.

use std::process::{Child, Stdio};

use muster_auth::{PrivateKey, manifest};
use reqwest::Method;
use sha2::{Digest, Sha256};

use super::*;
use crate::support::client::answer;

/// A running simulator, which is killed when it is dropped.
struct Simulator(Option<Child>);

impl Simulator {
    /// Ends it as a service manager does, and returns its summary.
    async fn terminated(mut self) -> Value {
        let child = self.0.take().unwrap();
        let sent = std::process::Command::new("kill").args(["-s", "TERM", &child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        let output = tokio::task::spawn_blocking(move || child.wait_with_output().unwrap()).await.unwrap();
        summary(&output)
    }

    /// Kills it with SIGKILL.
    fn kill(self) {
        drop(self);
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn started(folder: &Path, token: Option<&str>, args: &[&str]) -> Simulator {
    let mut command = program(folder);
    command.args(["simulate", "devices"]).args(args).env("XDG_CONFIG_HOME", folder.join("settings"));
    if let Some(token) = token {
        command.env("MUSTER_TOKEN", token);
    }
    Simulator(Some(command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()))
}

/// Waits until a condition holds, checking it by and by.
async fn until(what: &str, holds: impl AsyncFn() -> bool) {
    let mut interval = tokio::time::interval(std::time::Duration::from_millis(50));
    let waited = async {
        while !holds().await {
            interval.tick().await;
        }
    };
    assert!(tokio::time::timeout(crate::support::client::TEST_TIMEOUT, waited).await.is_ok(), "{what}");
}

async fn devices(admin: &Client) -> Vec<Value> {
    admin.get("/api/v1/devices?limit=200").await.json()["data"]["devices"].as_array().unwrap().clone()
}

async fn all_run(admin: &Client, version: &str, count: usize) -> bool {
    let devices = devices(admin).await;
    devices.len() == count && devices.iter().all(|device| device["firmware"]["current"]["version"] == version)
}

async fn last_seen(admin: &Client) -> Vec<Value> {
    devices(admin).await.iter().map(|device| device["last_seen"].clone()).collect()
}

/// Waits for a further heartbeat of each device.
async fn heartbeats_after(admin: &Client, before: &[Value]) {
    until("further heartbeats", async || last_seen(admin).await.iter().zip(before).all(|(now, before)| now != before))
        .await;
}

const FAST: &str = "heartbeat_s = 1\ntelemetry_s = 0\ninstall_ms = 10\nreboot_ms = 50\n";

/// A job of an image for simulated devices.
async fn roll_out(admin: &Client) -> String {
    let key = PrivateKey::generate().unwrap();
    let body = json!({ "name": "release", "public_key": key.public().to_jwk() });
    assert_eq!(admin.post("/api/v1/firmware/keys", &body).await.status, 201);
    let content = b"firmware of simulated devices".to_vec();
    let sha256: String = Sha256::digest(&content).iter().map(|byte| format!("{byte:02x}")).collect();
    let fields = json!({ "name": "sim", "version": "2.0.0", "sequence": 2, "vendor": "muster", "hw_class": "sim-1",
                         "hw_revisions": [], "size": content.len(), "sha256": sha256, "format": "raw",
                         "expires_at": null, "min_current_sequence": null });
    let made = admin.post("/api/v1/firmware/artifacts", &fields).await;
    let id = made.json()["data"]["id"].as_str().unwrap().to_owned();
    let path = format!("/api/v1/firmware/artifacts/{id}");
    assert_eq!(answer(admin.request(Method::PUT, &format!("{path}/content")).body(content)).await.status, 200);
    let jws = manifest::sign(&key, "fw-manifest+jws", fields.to_string().as_bytes()).unwrap();
    let verified = admin.post(&format!("{path}/verify"), &json!({ "manifest_jws": jws })).await;
    assert_eq!(verified.json()["data"]["state"], "ready", "{}", verified.text);
    let job = json!({ "artifact_id": id, "target": { "group": "simulated" } });
    let made = admin.post("/api/v1/firmware/jobs", &job).await;
    assert_eq!(made.status, 201, "{}", made.text);
    format!("/api/v1/firmware/jobs/{}", made.json()["data"]["id"].as_str().unwrap())
}

/// The firmware that devices have installed is what they run after the simulator was killed, without a moment to write.
#[tokio::test(flavor = "multi_thread")]
async fn installed_firmware_survives_a_kill_of_the_simulator_and_sigterm_prints_the_summary() {
    let folder = tempfile::tempdir().unwrap();
    let settings = "[auth]\nargon2_memory_kib = 64\nargon2_passes = 1\n[firmware]\napprovals = 0\n";
    std::fs::write(folder.path().join("config.toml"), settings).unwrap();
    let muster = Launch::new(folder.path()).start();
    let (admin, token) = admin(&muster.url).await;
    let (profile, state) = (folder.path().join("fast.toml"), folder.path().join("fleet.json"));
    std::fs::write(&profile, FAST).unwrap();
    let (profile, state) = (profile.to_str().unwrap(), state.to_str().unwrap());
    let common = ["--server", &muster.url, "--count", "5", "--profile", profile, "--state", state, "--json"];
    let first = started(folder.path(), Some(&token), &[&common[..], &["--register"]].concat());
    until("the devices are online", async || online(&admin).await == 5).await;
    let job = roll_out(&admin).await;
    until("the job succeeds", async || admin.get(&job).await.json()["data"]["state"] == "succeeded").await;
    first.kill();
    let before = last_seen(&admin).await;

    let second = started(folder.path(), None, &common);
    heartbeats_after(&admin, &before).await;
    assert!(all_run(&admin, "2.0.0", 5).await, "{:?}", devices(&admin).await);
    let output = second.terminated().await;
    assert_eq!((&output["versions"], &output["power"]), (&json!({ "2.0.0": 5 }), &json!({ "on": 5 })), "{output}");
    assert_eq!(output["totals"]["installs"], 0, "{output}");
}

/// A device comes back from a `reboot` command, whether it received it by long poll or on a socket.
#[tokio::test(flavor = "multi_thread")]
async fn a_device_comes_back_from_a_reboot() {
    for by_feed in ["0.0", "1.0"] {
        let folder = tempfile::tempdir().unwrap();
        let muster = server(folder.path());
        let (admin, token) = admin(&muster.url).await;
        let profile = folder.path().join("fast.toml");
        std::fs::write(&profile, format!("{FAST}commands_by_feed = {by_feed}\n")).unwrap();
        let args = ["--server", &muster.url, "--count", "3", "--register", "--json", "--profile"];
        let running = started(folder.path(), Some(&token), &[&args[..], &[profile.to_str().unwrap()]].concat());
        until("the devices are online", async || online(&admin).await == 3).await;
        let ids: Vec<String> =
            devices(&admin).await.iter().map(|device| device["id"].as_str().unwrap().to_owned()).collect();
        for nth in 0..2 {
            for id in &ids {
                let command = admin.post(&format!("/api/v1/devices/{id}/commands"), &json!({ "name": "reboot" })).await;
                assert_eq!(command.status, 201, "{}", command.text);
            }
            for id in &ids {
                until("the reboot is acknowledged", async || {
                    let commands = admin.get(&format!("/api/v1/devices/{id}/commands")).await.json();
                    commands["data"]["commands"]
                        .as_array()
                        .unwrap()
                        .iter()
                        .filter(|one| one["state"] == "acked")
                        .count()
                        == nth + 1
                })
                .await;
            }
        }
        // Two reboots each: a device that stayed off would not have received the second.
        heartbeats_after(&admin, &last_seen(&admin).await).await;
        let output = running.terminated().await;
        assert_eq!((&output["totals"]["restarts"], &output["power"]), (&json!(6), &json!({ "on": 3 })), "{output}");
    }
}

/// What devices send by the clock leaves no lines in a log of level `info`.
#[tokio::test(flavor = "multi_thread")]
async fn polls_and_heartbeats_are_not_logged_at_info() {
    let folder = tempfile::tempdir().unwrap();
    let muster = server(folder.path());
    let (admin, token) = admin(&muster.url).await;
    let args = ["--server", &muster.url, "--count", "2", "--register", "--json", "--duration", "2"];
    summary(&simulate(folder.path(), Some(&token), &args).await);
    assert_eq!(admin.get("/api/v1/devices").await.status, 200);
    let log = muster.log();
    assert!(log.contains("path=/api/v1/devices"), "requests are logged: {log}");
    for path in ["/heartbeat", "/telemetry", "/jobs/next", "/commands/next"] {
        assert!(!log.lines().any(|line| line.contains(path) && line.contains("answered")), "{path}: {log}");
    }
}
