//! The server as a process that is killed and restarted, the users and the fleet.

use std::collections::HashMap;

use muster_simulate::{Fleet, Operator, Options, Profile};
use serde_json::json;
use tempfile::TempDir;
use tokio::sync::watch;

use super::dashboard::Dashboard;
use super::support::client::Client;
use super::support::process::{Launch, Process};
use super::support::{EMAIL, PASSWORD};

const SETTINGS: &str = r#"
[auth]
argon2_memory_kib = 64
argon2_passes = 1
logins_per_address = 1000
logins_per_minute = 1000
[limits]
login = 1000
unauthenticated = 100000
"#;

pub(super) struct ScenarioWorld {
    folder: TempDir,
    process: Option<Process>,
    address: watch::Sender<String>,
    tokens: HashMap<&'static str, (String, String)>,
}

impl ScenarioWorld {
    pub(super) async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("config.toml"), SETTINGS).unwrap();
        let process = Launch::new(folder.path()).start();
        let address = watch::Sender::new(process.url.clone());
        let mut world = Self { folder, process: Some(process), address, tokens: HashMap::new() };
        let (admin, login) = Client::new(world.url()).login(EMAIL, PASSWORD).await;
        world.keep("admin", &login.json()["data"]);
        for (name, role) in [
            ("omar", "operator"),
            ("clara", "incident_commander"),
            ("dora", "incident_commander"),
            ("fred", "firmware_manager"),
            ("anna", "approver"),
        ] {
            let email = format!("{name}@example.org");
            let body = json!({ "email": email, "password": PASSWORD, "name": name, "role": role });
            let made = admin.post("/api/v1/users", &body).await;
            assert_eq!(made.status, 201, "{}", made.text);
            let (_, login) = admin.without_key().login(&email, PASSWORD).await;
            world.keep(name, &login.json()["data"]);
        }
        world
    }

    fn keep(&mut self, name: &'static str, login: &serde_json::Value) {
        let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
        self.tokens.insert(name, (text(&login["token"]), text(&login["user"]["id"])));
    }

    pub(super) fn url(&self) -> String {
        self.address.borrow().clone()
    }

    /// A user's client, at the current address of the server.
    pub(super) fn person(&self, name: &str) -> Client {
        Client::new(self.url()).with(&*self.tokens[name].0)
    }

    pub(super) fn user(&self, name: &str) -> &str {
        &self.tokens[name].1
    }

    pub(super) async fn dashboard(&self, channels: &[&str]) -> Dashboard {
        Dashboard::open(self.address.subscribe(), self.tokens["admin"].0.clone(), channels).await
    }

    pub(super) async fn fleet(&self, count: usize) -> Fleet {
        let profile = Profile { heartbeat_s: 3, telemetry_s: 0, install_ms: 200, reboot_ms: 300, ..Profile::default() };
        let operator = Some(Operator::Token(self.tokens["omar"].0.clone()));
        let options = Options { operator, profile, ..Options::new(&self.url(), count) };
        let fleet = Fleet::start(options).await.unwrap();
        let heard = count as u64;
        fleet.wait_until(|fleet| fleet.summary().totals.heartbeats >= heard * 2).await;
        fleet
    }

    /// kill -9, and a new process on the same data, at another address that fleet and dashboards are notified of.
    pub(super) async fn kill_and_restart(&mut self, fleet: &Fleet) {
        self.process.take().unwrap().kill();
        let folder = self.folder.path().to_owned();
        let process = tokio::task::spawn_blocking(move || Launch::new(&folder).start()).await.unwrap();
        fleet.set_server(&process.url);
        self.address.send_replace(process.url.clone());
        self.process = Some(process);
    }
}
