//! Load of people and devices until the server is killed, with the changes that were acknowledged.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use muster_auth::{PrivateKey, device, manifest};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::history::key;
use crate::support::client::{Answer, Client, answer, try_answer};
use crate::support::{EMAIL, PASSWORD};

/// An acknowledged change: the record's path, the acknowledged version, and the event that the feed must publish.
pub struct AcknowledgedChange {
    pub path: String,
    pub version: u64,
    pub event: Option<(String, String)>,
}

/// A device for rollouts, and an image for it.
#[derive(Clone)]
pub struct Fleet {
    device: String,
    signer: PrivateKey,
    client: Client,
    artifact: String,
    /// The commander of every incident.
    commander: Value,
}

/// Response to a request; `None` once the server is gone.
type Done = Option<Answer>;

impl Fleet {
    pub async fn new(admin: &Client) -> Self {
        let signer = PrivateKey::generate().unwrap();
        let body = json!({ "name": "Siren", "kind": "siren", "public_key": signer.public().to_jwk(), "vendor": "acme",
                           "hw_class": "siren-2", "groups": ["sirens"] });
        let made = admin.post("/api/v1/devices", &body).await;
        let device = made.json()["data"]["device"]["id"].as_str().unwrap().to_owned();

        let release = PrivateKey::generate().unwrap();
        let body = json!({ "name": "release", "public_key": release.public().to_jwk() });
        assert_eq!(admin.post("/api/v1/firmware/keys", &body).await.status, 201);
        let image = vec![7_u8; 4096];
        let sha256: String = Sha256::digest(&image).iter().map(|byte| format!("{byte:02x}")).collect();
        let announced = json!({ "name": "siren", "version": "2.0.0", "sequence": 2, "vendor": "acme",
            "hw_class": "siren-2", "hw_revisions": [], "size": image.len(), "sha256": sha256, "format": "raw",
            "expires_at": null, "min_current_sequence": null });
        let made = admin.post("/api/v1/firmware/artifacts", &announced).await;
        let artifact = made.json()["data"]["id"].as_str().unwrap().to_owned();
        let path = format!("/api/v1/firmware/artifacts/{artifact}");
        let put = admin.request(Method::PUT, &format!("{path}/content")).body(image);
        assert_eq!(answer(put).await.status, 200);
        let jws = manifest::sign(&release, "fw-manifest+jws", announced.to_string().as_bytes()).unwrap();
        let verified = admin.post(&format!("{path}/verify"), &json!({ "manifest_jws": jws })).await;
        assert_eq!(verified.json()["data"]["state"], "ready", "{}", verified.text);
        let commander = admin.get("/api/v1/auth/me").await.json()["data"]["id"].clone();
        Self { device, signer, client: admin.without_key(), artifact, commander }
    }

    pub fn at(&self, url: &str) -> Self {
        Self { client: self.client.at(url), ..self.clone() }
    }

    pub fn channels(&self) -> Vec<String> {
        let fixed = ["incidents", "alerts", "devices", "firmware"].map(str::to_owned);
        fixed.into_iter().chain([self.channel()]).collect()
    }

    fn channel(&self) -> String {
        format!("devices:{}", self.device)
    }

    fn of_device(&self) -> Client {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        self.client.with(device::sign(&self.signer, &self.device, now, 300).unwrap())
    }
}

/// One client of the load.
pub struct Worker {
    pub client: Client,
    pub done: Arc<AtomicUsize>,
    pub seed: usize,
}

impl Worker {
    async fn send(&self, request: RequestBuilder) -> Done {
        let got = try_answer(request).await.ok()?;
        self.done.fetch_add(1, Ordering::AcqRel);
        Some(got)
    }

    async fn post(&self, path: &str, body: &Value) -> Done {
        self.send(self.client.post_request(path, body).header("if-match", "*")).await
    }

    async fn patch(&self, path: &str, body: &Value) -> Done {
        let request = self.client.request(Method::PATCH, path).header("if-match", "*");
        self.send(request.header("content-type", "application/json").body(body.to_string())).await
    }

    /// Runs all kinds of work in turn, in an order derived from the seed.
    pub async fn mixed(self, fleet: Fleet) -> Vec<AcknowledgedChange> {
        let mut acknowledged = Vec::new();
        for turn in self.seed.. {
            let name = format!("w{}-{turn}", self.seed);
            let going_on = match turn % 5 {
                0 => self.incident(&fleet, &name, &mut acknowledged).await,
                1 => self.device(&name, &mut acknowledged).await,
                2 => self.user(&name, &mut acknowledged).await,
                3 => self.geofence(&name, &mut acknowledged).await,
                _ => self.command(&fleet, &mut acknowledged).await,
            };
            if going_on.is_none() {
                break;
            }
        }
        acknowledged
    }

    async fn incident(&self, fleet: &Fleet, name: &str, acknowledged: &mut Vec<AcknowledgedChange>) -> Option<()> {
        let ring = json!([[[8.2, 49.9], [8.4, 49.9], [8.4, 50.1], [8.2, 49.9]]]);
        let body = json!({ "title": name, "kind": "flood", "severity": "Minor", "urgency": "Immediate",
            "certainty": "Observed", "area_desc": "Mainz", "geometry": { "type": "Polygon", "coordinates": ring } });
        let made = record(self.post("/api/v1/incidents", &body).await?);
        let path = format!("/api/v1/incidents/{}", made["id"].as_str().unwrap());
        acknowledged.push(published_change(&path, &made, "incidents"));
        for (action, body) in [
            ("triage", json!({})),
            ("acknowledge", json!({})),
            ("activate", json!({ "commander": fleet.commander })),
            ("escalate", json!({ "note": name })),
        ] {
            let moved = record(self.post(&format!("{path}/{action}"), &body).await?);
            acknowledged.push(published_change(&path, &moved, "incidents"));
        }
        let noted = record(self.post(&format!("{path}/notes"), &json!({ "text": name })).await?);
        acknowledged.push(published_change(&path, &noted, "incidents"));
        let alert = record(self.post(&format!("{path}/alerts"), &json!({})).await?);
        acknowledged.push(published_change(
            &format!("/api/v1/alerts/{}", alert["id"].as_str().unwrap()),
            &alert,
            "alerts",
        ));
        Some(())
    }

    async fn device(&self, name: &str, acknowledged: &mut Vec<AcknowledgedChange>) -> Option<()> {
        let made = record(self.post("/api/v1/devices", &json!({ "name": name, "kind": "siren" })).await?);
        let made = &made["device"];
        let path = format!("/api/v1/devices/{}", made["id"].as_str().unwrap());
        acknowledged.push(published_change(&path, made, "devices"));
        let renamed = record(self.patch(&path, &json!({ "name": format!("{name} again") })).await?);
        acknowledged.push(published_change(&path, &renamed, "devices"));
        Some(())
    }

    async fn user(&self, name: &str, acknowledged: &mut Vec<AcknowledgedChange>) -> Option<()> {
        let body = json!({ "email": format!("{name}@example.org"), "password": PASSWORD, "role": "viewer" });
        let made = record(self.post("/api/v1/users", &body).await?);
        let path = format!("/api/v1/users/{}", made["id"].as_str().unwrap());
        acknowledged.push(change(&path, &made));
        acknowledged.push(change(&path, &record(self.patch(&path, &json!({ "role": "operator" })).await?)));
        Some(())
    }

    async fn geofence(&self, name: &str, acknowledged: &mut Vec<AcknowledgedChange>) -> Option<()> {
        let ring = json!([[[20.0, -1.0], [22.0, -1.0], [22.0, 1.0], [20.0, 1.0], [20.0, -1.0]]]);
        let geometry = json!({ "type": "Polygon", "coordinates": ring });
        let body = json!({ "name": name, "kind": "evacuation", "geometry": geometry });
        let made = record(self.post("/api/v1/geofences", &body).await?);
        let path = format!("/api/v1/geofences/{}", made["id"].as_str().unwrap());
        acknowledged.push(change(&path, &made));
        acknowledged.push(change(&path, &record(self.patch(&path, &json!({ "active": false })).await?)));
        Some(())
    }

    /// A device has a limit of open commands: it acknowledges them.
    async fn command(&self, fleet: &Fleet, acknowledged: &mut Vec<AcknowledgedChange>) -> Option<()> {
        let path = format!("/api/v1/devices/{}", fleet.device);
        let command = self.post(&format!("{path}/commands"), &json!({ "name": "ping" })).await?;
        if command.status == 201 {
            let command = &command.json()["data"];
            let event = (fleet.channel(), key(&json!({ "command": command })));
            acknowledged.push(AcknowledgedChange { path, version: 1, event: Some(event) });
        }
        let device = fleet.of_device();
        let next = self.send(device.request(Method::GET, "/api/v1/device/commands/next?wait_s=0")).await?;
        if next.status == 200 {
            let ack = format!("/api/v1/device/commands/{}/ack", next.json()["data"]["id"].as_str().unwrap());
            self.send(device.post_request(&ack, &json!({ "ok": true }))).await?;
        }
        Some(())
    }

    /// Rollouts to one device, which takes part in each and fails.
    pub async fn rollout(self, fleet: Fleet) -> Vec<AcknowledgedChange> {
        let mut acknowledged = Vec::new();
        while self.job(&fleet, &mut acknowledged).await.is_some() {}
        acknowledged
    }

    async fn job(&self, fleet: &Fleet, acknowledged: &mut Vec<AcknowledgedChange>) -> Option<()> {
        let device = fleet.of_device();
        let next = self.send(device.request(Method::GET, "/api/v1/device/jobs/next?wait_s=0")).await?;
        if next.status == 204 {
            let body = json!({ "artifact_id": fleet.artifact, "target": { "group": "sirens" } });
            let made = record(self.post("/api/v1/firmware/jobs", &body).await?);
            let path = format!("/api/v1/firmware/jobs/{}", made["id"].as_str().unwrap());
            acknowledged.push(published_change(&path, &made, "firmware"));
            return Some(());
        }
        let mut job = record(next);
        while let Some(state) = following(job["state"].as_str().unwrap()) {
            let path = format!("/api/v1/device/jobs/{}", job["id"].as_str().unwrap());
            let body = json!({ "state": state, "exec_version": job["exec_version"] });
            let request = device.request(Method::PATCH, &path).header("content-type", "application/json");
            let reported = record(self.send(request.body(body.to_string())).await?);
            let about = json!({ "id": format!("{}/{}", job["id"].as_str().unwrap(), fleet.device),
                                "version": reported["exec_version"] });
            let path = format!("/api/v1/firmware/jobs/{}", job["id"].as_str().unwrap());
            acknowledged.push(AcknowledgedChange { path, version: 1, event: Some((fleet.channel(), key(&about))) });
            job = reported;
        }
        Some(())
    }
}

/// It fails at the end of each, so that the next job has something to do.
fn following(state: &str) -> Option<&'static str> {
    let chain = ["notified", "downloading", "downloaded", "verified", "installing", "failed"];
    let at = chain.iter().position(|known| *known == state)?;
    chain.get(at + 1).copied()
}

/// The record in a response.
fn record(got: Answer) -> Value {
    assert!(matches!(got.status, 200..=202), "{} {}", got.status, got.text);
    got.json()["data"].clone()
}

fn change(path: &str, record: &Value) -> AcknowledgedChange {
    let version = record["version"].as_u64().unwrap_or_else(|| panic!("{path}: {record}"));
    AcknowledgedChange { path: path.to_owned(), version, event: None }
}

fn published_change(path: &str, record: &Value, channel: &str) -> AcknowledgedChange {
    AcknowledgedChange { event: Some((channel.to_owned(), key(record))), ..change(path, record) }
}

/// A session that is refreshed continuously.
#[derive(Clone)]
pub struct Session(String);

impl Session {
    pub async fn open(client: &Client) -> Self {
        let (_, login) = client.without_key().login(EMAIL, PASSWORD).await;
        Self(login.json()["data"]["refresh_token"].as_str().unwrap().to_owned())
    }

    fn refresh_request(&self, client: &Client) -> RequestBuilder {
        client.without_key().post_request("/api/v1/auth/refresh", &json!({ "refresh_token": self.0 }))
    }

    fn answered(&self, got: &Answer) -> Self {
        assert_eq!(got.status, 200, "{}", got.text);
        Self(got.json()["data"]["refresh_token"].as_str().unwrap().to_owned())
    }

    /// Refreshes until the server is gone. Returns the last acknowledged token.
    pub async fn refreshes(mut self, client: Client, done: Arc<AtomicUsize>) -> Self {
        while let Ok(got) = try_answer(self.refresh_request(&client)).await {
            self = self.answered(&got);
            done.fetch_add(1, Ordering::AcqRel);
        }
        self
    }

    /// Checks that the session can be refreshed again, whether or not the server had processed the last refresh.
    pub async fn check_refresh(&mut self, client: &Client) {
        let got = answer(self.refresh_request(client)).await;
        *self = self.answered(&got);
    }
}
