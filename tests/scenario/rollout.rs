//! The firmware rollout of the scenario.

use std::collections::{BTreeMap, HashSet};

use muster_auth::{PrivateKey, manifest};
use muster_simulate::{Fault, Faults, Fleet, Power};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::support::client::{Client, answer};
use super::world::ScenarioWorld;

const IMAGE: usize = 96 * 1024;

/// A signed image, uploaded in two pieces and verified.
async fn artifact(admin: &Client, fred: &Client) -> String {
    let key = PrivateKey::generate().unwrap();
    let trusted = json!({ "name": "scenario", "public_key": key.public().to_jwk() });
    let added = admin.post("/api/v1/firmware/keys", &trusted).await;
    assert_eq!(added.status, 201, "{}", added.text);
    let image: Vec<u8> = (0..IMAGE).map(|at| (at * 31 % 251) as u8).collect();
    let sha256: String = Sha256::digest(&image).iter().map(|byte| format!("{byte:02x}")).collect();
    let body = json!({
        "name": "sensor", "version": "2.0.0", "sequence": 2, "vendor": "muster", "hw_class": "sim-1",
        "hw_revisions": [], "size": IMAGE, "sha256": sha256, "format": "raw", "expires_at": null,
        "min_current_sequence": null,
    });
    let made = fred.post("/api/v1/firmware/artifacts", &body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let id = made.json()["data"]["id"].as_str().unwrap().to_owned();
    let path = format!("/api/v1/firmware/artifacts/{id}");
    for (from, to) in [(0, IMAGE / 2), (IMAGE / 2, IMAGE)] {
        let piece = fred
            .request(reqwest::Method::PUT, &format!("{path}/content"))
            .header("content-type", "application/octet-stream")
            .header("content-range", format!("bytes {from}-{}/{IMAGE}", to - 1))
            .body(image[from..to].to_vec());
        let put = answer(piece).await;
        assert_eq!(put.status, 200, "{}", put.text);
    }
    let jws = manifest::sign(&key, "fw-manifest+jws", body.to_string().as_bytes()).unwrap();
    let verified = fred.post(&format!("{path}/verify"), &json!({ "manifest_jws": jws })).await;
    assert_eq!((verified.status, &verified.json()["data"]["state"]), (200, &json!("ready")), "{}", verified.text);
    id
}

/// All executions of a job.
async fn executions(client: &Client, job: &str) -> Vec<Value> {
    let (mut all, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = client.get(&format!("/api/v1/firmware/jobs/{job}/executions?limit=200&cursor={cursor}")).await;
        assert_eq!(page.status, 200, "{}", page.text);
        let data = page.json()["data"].clone();
        all.extend(data["executions"].as_array().unwrap().iter().cloned());
        match data["next_cursor"].as_str() {
            Some(next) => cursor = next.to_owned(),
            None => return all,
        }
    }
}

/// A job in three groups; the devices of the second will fail it.
pub(super) async fn made(world: &ScenarioWorld, fleet: &Fleet) -> String {
    let fred = world.person("fred");
    let artifact = artifact(&world.person("admin"), &fred).await;
    let group = |pct: u8| json!({ "pct": pct, "success_threshold_pct": 90, "error_threshold_pct": 30 });
    let body = json!({
        "name": "sensor 2.0.0", "artifact_id": artifact, "kind": "update", "target": { "group": "simulated" },
        "policy": {
            "groups": [group(10), group(30), group(60)], "device_timeout_s": 60, "retries": 1,
            "health_gate": { "probe": "heartbeat", "within_s": 30 }, "auto_rollback": true,
        },
    });
    let made = fred.post("/api/v1/firmware/jobs", &body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let made = made.json()["data"].clone();
    assert_eq!((&made["state"], &made["resolved_count"]), (&json!("pending_approval"), &json!(200)), "{made}");
    let job = made["id"].as_str().unwrap().to_owned();
    let mut sizes = BTreeMap::<u64, usize>::new();
    for execution in executions(&fred, &job).await {
        let group = execution["group"].as_u64().unwrap();
        let nth = sizes.entry(group).or_default();
        *nth += 1;
        // Half of the second group fails, some of it by rejecting the job; a few of the first are slow or interrupted.
        let fault = match (group, *nth % 10) {
            (0, 1) => Some(Fault::Cuts),
            (0, 2) => Some(Fault::Slow),
            (1, 0..=3) => Some(Fault::FailsInstall),
            (1, 4) => Some(Fault::Rejects),
            _ => None,
        };
        fleet.set_faults(execution["device_id"].as_str().unwrap(), fault.into_iter().collect::<Faults>());
    }
    assert_eq!(sizes.into_values().collect::<Vec<_>>(), [20, 60, 120]);
    job
}

/// Two people of different roles approve; the creator may not.
pub(super) async fn approved(world: &ScenarioWorld, job: &str) {
    let path = format!("/api/v1/firmware/jobs/{job}/approve");
    let own = world.person("fred").post(&path, &json!({})).await;
    assert_eq!(own.status, 403, "{}", own.text);
    for name in ["anna", "admin"] {
        let approved = world.person(name).post(&path, &json!({ "note": "looked at" })).await;
        assert_eq!(approved.status, 200, "{}", approved.text);
    }
}

pub(super) async fn taken_back(world: &ScenarioWorld, job: &str) {
    let fred = world.person("fred");
    let paused = fred.get(&format!("/api/v1/firmware/jobs/{job}")).await.json()["data"].clone();
    assert_eq!((&paused["state"], &paused["current_group"]), (&json!("paused"), &json!(1)), "{paused}");
    assert!(paused["end_reason"].as_str().unwrap().contains("group 2"), "{paused}");
    let back = fred.post(&format!("/api/v1/firmware/jobs/{job}/rollback"), &json!({ "note": "too many fail" })).await;
    assert_eq!(back.status, 200, "{}", back.text);
}

/// No device installed twice in one attempt, none of the third group was touched, and all run their previous version.
pub(super) async fn is_unchanged(world: &ScenarioWorld, fleet: &Fleet, job: &str) {
    let fred = world.person("fred");
    let over = fred.get(&format!("/api/v1/firmware/jobs/{job}")).await.json()["data"].clone();
    assert_eq!(over["state"], "rolled_back", "{over}");
    let mut touched = 0;
    for view in fleet.views() {
        let installs: HashSet<_> = view.installs.iter().collect();
        let attempts: HashSet<_> = view.installs.iter().map(|install| (&install.job, install.attempt)).collect();
        assert_eq!((installs.len(), attempts.len()), (view.installs.len(), view.installs.len()), "{view:?}");
        assert_eq!((view.version.version.as_str(), view.power), ("1.0.0", Power::On), "{view:?}");
        touched += usize::from(!view.installs.is_empty());
    }
    assert!((20..80).contains(&touched), "the first group and some of the second: {touched}");
    let mut ends = BTreeMap::<String, usize>::new();
    for execution in executions(&fred, job).await {
        let state = execution["state"].as_str().unwrap().to_owned();
        let installed = fleet.view(execution["device_id"].as_str().unwrap()).unwrap().installs.len();
        assert!(installed as u64 <= execution["attempt"].as_u64().unwrap(), "{execution}");
        if installed > 0 {
            assert_eq!(state, "rolled_back", "{execution}");
        }
        if execution["group"] == 2 {
            assert_eq!(state, "canceled", "{execution}");
        }
        *ends.entry(state).or_default() += 1;
    }
    eprintln!("ends of executions: {ends:?}");
    // Two rounds of heartbeats later the server's records agree.
    let heard = fleet.summary().totals.heartbeats + 2 * fleet.ids().len() as u64;
    fleet.wait_until(|fleet| fleet.summary().totals.heartbeats >= heard).await;
    let devices = world.person("omar").get("/api/v1/devices?limit=200").await.json();
    let devices = devices["data"]["devices"].as_array().unwrap().clone();
    assert_eq!(devices.len(), 200);
    for device in devices {
        assert_eq!(device["firmware"]["current"]["version"], "1.0.0", "{}", device["firmware"]);
    }
}
