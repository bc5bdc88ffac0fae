//! Firmware over HTTP: images uploaded in pieces and verified, rollouts that devices take part in, kill -9 in between.

mod corrections;
mod drift;
mod rollback;
mod signing;

use std::time::{SystemTime, UNIX_EPOCH};

use muster_auth::{PrivateKey, device, manifest};
use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::support::client::{Answer, Client, answer};
use crate::support::process::{Launch, program};
use crate::support::server::Muster;
use crate::support::socket::wait_until;
use crate::support::{EMAIL, PASSWORD};

const ARTIFACTS: &str = "/api/v1/firmware/artifacts";
const JOBS: &str = "/api/v1/firmware/jobs";
const NEXT: &str = "/api/v1/device/jobs/next";
const NO_APPROVAL: &str = "[firmware]\napprovals = 0";

fn content() -> Vec<u8> {
    (0..3_000_000u32).map(|n| (n % 251) as u8).collect()
}

fn announced(content: &[u8]) -> Value {
    let sha256: String = Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect();
    json!({ "name": "siren", "version": "2.0.0", "sequence": 2, "vendor": "acme", "hw_class": "siren-2",
            "hw_revisions": [], "size": content.len(), "sha256": sha256, "format": "raw", "expires_at": null,
            "min_current_sequence": null })
}

async fn put(client: &Client, id: &str, range: Option<String>, bytes: Vec<u8>) -> Answer {
    let request = client.request(Method::PUT, &format!("{ARTIFACTS}/{id}/content")).body(bytes);
    answer(range.into_iter().fold(request, |request, range| request.header("content-range", range))).await
}

async fn trusted_key(people: &Client) -> PrivateKey {
    let key = PrivateKey::generate().unwrap();
    let body = json!({ "name": "release", "public_key": key.public().to_jwk() });
    let made = people.post("/api/v1/firmware/keys", &body).await;
    assert_eq!((made.status, &made.json()["data"]["kid"]), (201, &json!(key.public().thumbprint())), "{}", made.text);
    key
}

async fn announce(people: &Client, content: &[u8]) -> String {
    let made = people.post(ARTIFACTS, &announced(content)).await;
    assert_eq!((made.status, &made.json()["data"]["state"]), (201, &json!("uploading")), "{}", made.text);
    made.json()["data"]["id"].as_str().unwrap().to_owned()
}

async fn verify(people: &Client, key: &PrivateKey, id: &str, content: &[u8]) -> Answer {
    let payload = announced(content).to_string();
    let jws = manifest::sign(key, "fw-manifest+jws", payload.as_bytes()).unwrap();
    people.post(&format!("{ARTIFACTS}/{id}/verify"), &json!({ "manifest_jws": jws })).await
}

/// An artifact that is ready.
async fn ready(people: &Client) -> String {
    let (key, content) = (trusted_key(people).await, content());
    let id = announce(people, &content).await;
    assert_eq!(put(people, &id, None, content.clone()).await.status, 200);
    let verified = verify(people, &key, &id, &content).await;
    assert_eq!(verified.json()["data"]["state"], "ready", "{}", verified.text);
    id
}

/// A device with its client.
#[derive(Clone)]
struct Unit {
    id: String,
    client: Client,
}

impl Unit {
    async fn register(people: &Client) -> Self {
        let key = PrivateKey::generate().unwrap();
        let body = json!({ "name": "Siren", "kind": "siren", "public_key": key.public().to_jwk(), "vendor": "acme",
                           "hw_class": "siren-2", "groups": ["sirens"] });
        let made = people.post("/api/v1/devices", &body).await;
        assert_eq!(made.status, 201, "{}", made.text);
        let id = made.json()["data"]["device"]["id"].as_str().unwrap().to_owned();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let client = people.without_key().with(device::sign(&key, &id, now, 300).unwrap());
        Self { id, client }
    }

    async fn next(&self, wait_s: u32) -> Option<Value> {
        let job = self.client.get(&format!("{NEXT}?wait_s={wait_s}")).await;
        match job.status {
            204 => None,
            200 => Some(job.json()["data"].clone()),
            other => panic!("{other} {}", job.text),
        }
    }

    fn reporting(&self, job: &Value, state: &str) -> reqwest::RequestBuilder {
        let path = format!("/api/v1/device/jobs/{}", job["id"].as_str().unwrap());
        let body = json!({ "state": state, "progress": 50, "exec_version": job["exec_version"] });
        let request = self.client.request(Method::PATCH, &path);
        request.header("content-type", "application/json").body(body.to_string())
    }

    /// Sends a report.
    async fn send(&self, job: &Value, body: &Value) -> Answer {
        let path = format!("/api/v1/device/jobs/{}", job["id"].as_str().unwrap());
        let request = self.client.request(Method::PATCH, &path);
        answer(request.header("content-type", "application/json").body(body.to_string())).await
    }

    /// Sends a heartbeat with the firmware that the device runs.
    async fn beat(&self, firmware: &Value) -> Answer {
        self.client.post(&format!("/api/v1/devices/{}/heartbeat", self.id), &json!({ "firmware": firmware })).await
    }

    async fn report(&self, job: &Value, state: &str) -> Answer {
        answer(self.reporting(job, state)).await
    }

    /// Reports each following state until the job has succeeded.
    async fn succeed(&self) {
        let mut job = self.next(30).await.expect("a job");
        while job["state"] != "succeeded" {
            let response = self.report(&job, following(job["state"].as_str().unwrap())).await;
            assert_eq!(response.status, 200, "{}", response.text);
            job = response.json()["data"].clone();
        }
    }
}

fn following(state: &str) -> &'static str {
    let chain =
        ["notified", "downloading", "downloaded", "verified", "installing", "rebooting", "verifying", "succeeded"];
    chain[chain.iter().position(|known| *known == state).unwrap() + 1]
}

/// Waits until a condition holds, checking it by and by.
async fn until(holds: impl AsyncFn() -> bool) {
    let mut interval = tokio::time::interval(std::time::Duration::from_millis(20));
    let waited = async {
        while !holds().await {
            interval.tick().await;
        }
    };
    assert!(tokio::time::timeout(crate::support::client::TEST_TIMEOUT, waited).await.is_ok(), "it does not hold");
}

async fn job_for(people: &Client, artifact: &str, policy: Value) -> Answer {
    let body = json!({ "name": "night", "artifact_id": artifact, "target": { "group": "sirens" }, "policy": policy });
    people.post(JOBS, &body).await
}

#[tokio::test]
async fn an_image_is_uploaded_in_pieces_verified_and_served_in_ranges() {
    let muster = Muster::start("");
    let admin = muster.admin().await;
    let (key, content) = (trusted_key(&admin).await, content());
    let id = announce(&admin, &content).await;
    let total = content.len();
    let piece = |from: usize, to: usize| (Some(format!("bytes {from}-{}/{total}", to - 1)), content[from..to].to_vec());
    let (range, bytes) = piece(0, 1_000_000);
    let first = put(&admin, &id, range.clone(), bytes.clone()).await;
    assert_eq!(first.json()["data"], json!({ "received": 1_000_000, "size": total, "complete": false }));
    let again = put(&admin, &id, range, bytes).await;
    assert_eq!((again.status, &again.json()["error"]["code"]), (409, &json!("wrong_offset")));
    assert_eq!(verify(&admin, &key, &id, &content).await.json()["error"]["code"], "upload_incomplete");
    let head = answer(admin.request(Method::HEAD, &format!("{ARTIFACTS}/{id}/content"))).await;
    assert_eq!((head.status, head.header("upload-offset")), (200, Some("1000000")));
    let (range, bytes) = piece(1_000_000, total);
    assert_eq!(put(&admin, &id, range, bytes).await.json()["data"]["complete"], true);
    assert_eq!(verify(&admin, &key, &id, &content).await.json()["data"]["state"], "ready");

    let path = format!("{ARTIFACTS}/{id}/content");
    let get = async |name: &str, value: &str| {
        let answer = admin.request(Method::GET, &path).header(name, value).send().await.unwrap();
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        (status, headers, answer.bytes().await.unwrap())
    };
    let (status, headers, bytes) = get("accept", "*/*").await;
    assert_eq!((status, bytes.len(), bytes[..] == content[..]), (200, total, true));
    let tag = headers["etag"].to_str().unwrap().to_owned();
    assert_eq!(tag, format!("\"{}\"", announced(&content)["sha256"].as_str().unwrap()));
    let (status, headers, bytes) = get("range", "bytes=1048570-1048580").await;
    assert_eq!((status, &bytes[..]), (206, &content[1_048_570..=1_048_580]));
    assert_eq!(headers["content-range"], format!("bytes 1048570-1048580/{total}"));
    assert_eq!(get("range", "bytes=9000000-").await.0, 416);
    assert_eq!(get("if-none-match", &tag).await.0, 304);
}

#[tokio::test]
async fn a44_an_image_swapped_on_the_disk_is_refused_and_its_artifact_rejected() {
    let muster = Muster::start("");
    let admin = muster.admin().await;
    let id = ready(&admin).await;
    Unit::register(&admin).await;
    let mut other = content();
    other[7] ^= 1;
    std::fs::write(muster.data.path().join(format!("store/firmware/{id}.img")), other).unwrap();
    let refused = admin.get(&format!("{ARTIFACTS}/{id}/content")).await;
    assert_eq!((refused.status, &refused.json()["error"]["code"]), (409, &json!("image_replaced")));
    assert_eq!(admin.get(&format!("{ARTIFACTS}/{id}")).await.json()["data"]["state"], "rejected");
    let refused = job_for(&admin, &id, json!({})).await;
    assert_eq!((refused.status, &refused.json()["error"]["code"]), (409, &json!("image_replaced")));
}

#[tokio::test]
async fn a_rollout_goes_from_approval_to_every_device() {
    let muster = Muster::start("");
    let admin = muster.admin().await;
    let (manager, approver) = (muster.person("mia", "firmware_manager").await, muster.person("ada", "approver").await);
    let artifact = ready(&admin).await;
    let (one, two) = (Unit::register(&admin).await, Unit::register(&admin).await);
    let groups = json!([{ "count": 1, "success_threshold_pct": 100 }, { "pct": 100, "success_threshold_pct": 100 }]);
    let made = job_for(&manager, &artifact, json!({ "groups": groups })).await;
    assert_eq!((made.status, &made.json()["data"]["state"]), (201, &json!("pending_approval")), "{}", made.text);
    let job = made.json()["data"]["id"].as_str().unwrap().to_owned();
    let path = format!("{JOBS}/{job}");
    assert_eq!(one.next(0).await, None);
    assert_eq!(approver.post(&format!("{path}/pause"), &json!({})).await.status, 403);
    let early = manager.post(&format!("{path}/resume"), &json!({})).await;
    assert_eq!(
        (early.status, &early.json()["error"]["details"]["allowed"]),
        (409, &json!(["approve", "deny", "cancel"]))
    );
    assert_eq!(approver.post(&format!("{path}/approve"), &json!({ "note": "go" })).await.status, 200);

    let instruction = one.next(30).await.expect("it gets a job");
    let fetched = one.client.get(instruction["artifact"]["content_url"].as_str().unwrap()).await;
    assert_eq!(fetched.status, 200, "by the device's own token");
    assert_eq!(two.client.get(instruction["artifact"]["content_url"].as_str().unwrap()).await.status, 404);
    let other = Unit::register(&admin).await;
    assert_eq!(other.report(&instruction, "downloading").await.status, 404, "another device's job");
    one.succeed().await;
    assert_eq!(one.report(&instruction, "downloading").await.json()["error"]["code"], "stale_execution");
    two.succeed().await;
    let ended = manager.get(&path).await.json()["data"].clone();
    assert_eq!((&ended["state"], &ended["counters"]["succeeded"]), (&json!("succeeded"), &json!(2)));
    let listed = manager.get(&format!("{path}/executions?state=succeeded&dialect=aws")).await.json();
    assert_eq!(listed["data"]["executions"][0]["status"], "SUCCEEDED");
    let of_device = manager.get(&format!("/api/v1/devices/{}/executions", one.id)).await.json();
    assert_eq!(of_device["data"]["executions"][0]["job_id"], json!(job));
}

#[tokio::test]
async fn a46_the_creator_of_a_job_cannot_approve_it() {
    let muster = Muster::start("");
    let admin = muster.admin().await;
    let artifact = ready(&admin).await;
    Unit::register(&admin).await;
    let made = job_for(&admin, &artifact, json!({})).await.json();
    let path = format!("{JOBS}/{}/approve", made["data"]["id"].as_str().unwrap());
    let refused = admin.post(&path, &json!({})).await;
    assert_eq!((refused.status, &refused.json()["error"]["code"]), (403, &json!("creator_cannot_approve")));
    let lacks = muster.person("vera", "viewer").await.post(&path, &json!({})).await;
    assert_eq!((lacks.status, &lacks.json()["error"]["details"]["permission"]), (403, &json!("firmware:approve")));
}

#[tokio::test]
async fn a_server_that_is_killed_in_an_upload_and_all_through_a_rollout_loses_nothing_and_repeats_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let launch = || Launch::new(folder.path()).with("MUSTER__FIRMWARE__APPROVALS", "0").start();
    let mut server = launch();
    let (mut admin, _) = Client::new(&server.url).login(EMAIL, PASSWORD).await;
    let (key, content) = (trusted_key(&admin).await, content());
    let id = announce(&admin, &content).await;
    let (half, total) = (content.len() / 2, content.len());
    let first = put(&admin, &id, Some(format!("bytes 0-{}/{total}", half - 1)), content[..half].to_vec()).await;
    assert_eq!(first.json()["data"]["received"], half);
    server.kill();
    server = launch();
    admin = admin.at(&server.url);
    let head = answer(admin.request(Method::HEAD, &format!("{ARTIFACTS}/{id}/content"))).await;
    assert_eq!(head.header("upload-offset"), Some(half.to_string().as_str()), "what was acknowledged is here");
    let rest = put(&admin, &id, Some(format!("bytes {half}-{}/{total}", total - 1)), content[half..].to_vec()).await;
    assert_eq!(rest.json()["data"]["complete"], true);
    assert_eq!(verify(&admin, &key, &id, &content).await.json()["data"]["state"], "ready");

    let mut units = [Unit::register(&admin).await, Unit::register(&admin).await];
    let made = job_for(&admin, &id, json!({ "groups": [{ "count": 1 }, { "count": 1 }] })).await;
    let path = format!("{JOBS}/{}", made.json()["data"]["id"].as_str().unwrap());
    let (mut reported, mut seen) = (0, Vec::new());
    for nth in 0..2 {
        loop {
            let unit = units[nth].clone();
            let Some(job) = unit.next(30).await else { panic!("unit {nth} got no job") };
            let state = job["state"].as_str().unwrap().to_owned();
            seen.push((nth, job["attempt"].as_u64().unwrap(), job["exec_version"].as_u64().unwrap()));
            let reporting = unit.reporting(&job, following(&state));
            reported += 1;
            let ended = if reported % 4 == 0 {
                // The server is killed while it handles the report: whether it was stored is unknown.
                let sent =
                    tokio::spawn(async move { reporting.send().await.is_ok_and(|response| response.status() == 200) });
                tokio::task::yield_now().await;
                server.kill();
                sent.await.unwrap();
                server = launch();
                admin = admin.at(&server.url);
                units.iter_mut().for_each(|unit| unit.client = unit.client.at(&server.url));
                let of = format!("/api/v1/devices/{}/executions", unit.id);
                admin.get(&of).await.json()["data"]["executions"][0]["state"] == "succeeded"
            } else {
                let response = answer(reporting).await;
                assert_eq!(response.status, 200, "{}", response.text);
                response.json()["data"]["state"] == "succeeded"
            };
            if ended {
                break;
            }
        }
    }
    let mut ordered = seen.clone();
    ordered.sort_unstable();
    assert_eq!(seen, ordered, "no execution ever went back");
    assert!(seen.iter().all(|(_, attempt, _)| *attempt == 1));
    let ended = admin.get(&path).await.json()["data"].clone();
    assert_eq!((&ended["state"], &ended["counters"]["succeeded"]), (&json!("succeeded"), &json!(2)), "{ended}");
}

#[tokio::test]
async fn a_job_made_twice_by_one_key_is_made_once() {
    let muster = Muster::start(NO_APPROVAL);
    let admin = muster.admin().await;
    let artifact = ready(&admin).await;
    Unit::register(&admin).await;
    let body = json!({ "artifact_id": artifact, "target": { "group": "sirens" } });
    let make = async || answer(admin.post_request(JOBS, &body).header("idempotency-key", "night-1")).await;
    let (first, second) = (make().await, make().await);
    assert_eq!((first.status, second.status, second.header("idempotency-replayed")), (201, 201, Some("true")));
    assert_eq!(first.json()["data"]["id"], second.json()["data"]["id"]);
    let cursor = admin.get(JOBS).await.json();
    assert_eq!(cursor["data"]["jobs"].as_array().unwrap().len(), 1);
    for wrong in [json!({ "target": {} }), json!({ "artifact_id": artifact, "target": { "query": {} } })] {
        assert_eq!(admin.post(JOBS, &wrong).await.status, 400);
    }
}

#[tokio::test]
async fn an_image_that_no_restore_brought_is_missed_and_no_job_of_it_starts() {
    let muster = Muster::start(NO_APPROVAL);
    let admin = muster.admin().await;
    let artifact = ready(&admin).await;
    Unit::register(&admin).await;
    let image = muster.data.path().join(format!("store/firmware/{artifact}.img"));
    let kept = std::fs::read(&image).unwrap();
    std::fs::remove_file(&image).unwrap();
    let refused = job_for(&admin, &artifact, json!({})).await;
    let job = refused.json()["error"].clone();
    assert_eq!((refused.status, &job["code"]), (409, &json!("image_missing")), "{}", refused.text);
    assert!(refused.text.contains(&format!("{artifact}.img")), "it names the missing file: {job}");
    let fetched = admin.get(&format!("{ARTIFACTS}/{artifact}/content")).await;
    assert_eq!((fetched.status, &fetched.json()["error"]["code"]), (409, &json!("image_missing")));

    let data = muster.stop();
    let looked = |data: &std::path::Path| {
        let mut doctor = program(data);
        doctor.args(["doctor", "--json"]).env("MUSTER__STORE__PATH", data.join("store"));
        let response: Value = serde_json::from_slice(&doctor.output().unwrap().stdout).unwrap();
        let findings = response["findings"].as_array().unwrap().clone();
        findings.into_iter().find(|finding| finding["subject"] == "firmware images").unwrap()
    };
    let finding = looked(data.path());
    assert_eq!(finding["ok"], false);
    assert!(finding["message"].as_str().unwrap().contains(&artifact), "{finding}");
    let muster = Muster::start_in(data, NO_APPROVAL);
    wait_until("firmware is probed", || muster.app.health.report().modules["firmware-jobs"].why.is_some()).await;
    std::fs::write(&image, kept).unwrap();
    let made = job_for(&muster.admin().await, &artifact, json!({})).await;
    assert_eq!(made.status, 201, "{}", made.text);
    assert_eq!(looked(muster.stop().path())["ok"], true);
}
