//! One device and finished jobs return to earlier firmware: with approvals, signatures and the rules against rollback.

use super::*;

/// An artifact of this version that is ready.
pub(super) async fn release(people: &Client, key: &PrivateKey, version: &str, sequence: u64) -> String {
    let content = format!("firmware {version}").into_bytes();
    let mut body = announced(&content);
    (body["version"], body["sequence"]) = (json!(version), json!(sequence));
    let made = people.post(ARTIFACTS, &body).await;
    let id = made.json()["data"]["id"].as_str().unwrap().to_owned();
    assert_eq!(put(people, &id, None, content).await.status, 200);
    let jws = manifest::sign(key, "fw-manifest+jws", body.to_string().as_bytes()).unwrap();
    let verified = people.post(&format!("{ARTIFACTS}/{id}/verify"), &json!({ "manifest_jws": jws })).await;
    assert_eq!(verified.json()["data"]["state"], "ready", "{}", verified.text);
    id
}

async fn version_of(admin: &Client, unit: &Unit, field: &str) -> Value {
    let device = admin.get(&format!("/api/v1/devices/{}", unit.id)).await.json();
    device["data"]["firmware"][field]["version"].clone()
}

async fn installed(admin: &Client, unit: &Unit, artifact: &str, version: &str) -> String {
    let made = job_for(admin, artifact, json!({})).await;
    assert_eq!(made.status, 201, "{}", made.text);
    unit.succeed().await;
    until(async || version_of(admin, unit, "current").await == version).await;
    format!("{JOBS}/{}", made.json()["data"]["id"].as_str().unwrap())
}

async fn approved(muster: &Muster, path: &str) -> Value {
    let first = muster.login("ada@example.org", PASSWORD).await.post(&format!("{path}/approve"), &json!({})).await;
    assert_eq!((first.status, &first.json()["data"]["state"]), (200, &json!("pending_approval")), "{}", first.text);
    let second = muster.admin().await.post(&format!("{path}/approve"), &json!({})).await;
    assert_eq!(second.status, 200, "{}", second.text);
    second.json()["data"].clone()
}

#[tokio::test]
async fn one_device_returns_to_its_previous_firmware_with_two_approvals() {
    let muster = Muster::start(NO_APPROVAL);
    let admin = muster.admin().await;
    let (manager, _) = (muster.person("mia", "firmware_manager").await, muster.person("ada", "approver").await);
    let key = trusted_key(&admin).await;
    let (one, two) = (release(&admin, &key, "1.0.0", 1).await, release(&admin, &key, "2.0.0", 2).await);
    let unit = Unit::register(&admin).await;
    let rollback = format!("/api/v1/devices/{}/rollback", unit.id);
    let unknown = manager.post(&rollback, &json!({})).await;
    assert_eq!((unknown.status, &unknown.json()["error"]["code"]), (409, &json!("no_previous_firmware")));
    assert_eq!(manager.post("/api/v1/devices/dev_none/rollback", &json!({})).await.status, 404);
    installed(&admin, &unit, &one, "1.0.0").await;
    installed(&admin, &unit, &two, "2.0.0").await;
    assert_eq!(unit.beat(&json!({ "version": "2.0.0" })).await.status, 200);
    let viewer = muster.person("vera", "viewer").await;
    assert_eq!(viewer.post(&rollback, &json!({})).await.status, 403);

    let request = || manager.post_request(&rollback, &json!({})).header("idempotency-key", "back-1");
    let (made, again) = (answer(request()).await, answer(request()).await);
    assert_eq!((made.status, again.header("idempotency-replayed")), (201, Some("true")), "{}", made.text);
    let job = made.json()["data"].clone();
    assert_eq!((&job["kind"], &job["artifact_id"]), (&json!("downgrade"), &json!(one)), "{job}");
    assert_eq!(
        (&job["state"], &job["approvals_required"]),
        (&json!("pending_approval"), &json!(2)),
        "no silent downgrade"
    );
    let path = format!("{JOBS}/{}", job["id"].as_str().unwrap());
    assert_eq!(manager.post(&format!("{path}/approve"), &json!({})).await.status, 403, "not by who made it");
    approved(&muster, &path).await;
    let order = unit.next(30).await.expect("a job");
    assert_eq!((&order["allow_downgrade"], &order["artifact"]["id"]), (&json!(true), &json!(one)), "{order}");
    assert!(order["artifact"]["manifest_jws"].is_string());
    unit.succeed().await;
    until(async || version_of(&admin, &unit, "current").await == "1.0.0").await;
    assert_eq!(version_of(&admin, &unit, "desired").await, "1.0.0");

    // Back to a revoked image leads no way.
    let revoked = admin.post(&format!("{ARTIFACTS}/{two}/revoke"), &json!({ "reason": "bricks" })).await;
    assert_eq!(revoked.status, 200, "{}", revoked.text);
    let refused = manager.post(&rollback, &json!({ "artifact_id": two })).await;
    assert_eq!(
        (refused.status, &refused.json()["error"]["code"]),
        (409, &json!("artifact_revoked")),
        "{}",
        refused.text
    );
}

#[tokio::test]
async fn a_succeeded_job_is_rolled_back_after_two_approvals_and_spares_devices_that_moved_on() {
    let muster = Muster::start(NO_APPROVAL);
    let admin = muster.admin().await;
    let (manager, approver) = (muster.person("mia", "firmware_manager").await, muster.person("ada", "approver").await);
    let key = trusted_key(&admin).await;
    let two = release(&admin, &key, "2.0.0", 2).await;
    let three = release(&admin, &key, "3.0.0", 3).await;
    let (stays, returns) = (Unit::register(&admin).await, Unit::register(&admin).await);
    for unit in [&stays, &returns] {
        assert_eq!(unit.beat(&json!({ "version": "1.0.0", "sequence": 1 })).await.status, 200);
    }
    let made = job_for(&manager, &two, json!({})).await.json();
    let path = format!("{JOBS}/{}", made["data"]["id"].as_str().unwrap());
    stays.succeed().await;
    returns.succeed().await;
    until(async || admin.get(&path).await.json()["data"]["state"] == "succeeded").await;
    let body = json!({ "artifact_id": three, "target": { "device_ids": [stays.id] } });
    assert_eq!(admin.post(JOBS, &body).await.status, 201);
    stays.succeed().await;
    until(async || version_of(&admin, &stays, "current").await == "3.0.0").await;

    let requested = manager.post(&format!("{path}/rollback"), &json!({ "note": "drops alarms" })).await;
    let job = requested.json()["data"].clone();
    assert_eq!((requested.status, &job["state"]), (200, &json!("pending_approval")), "{}", requested.text);
    assert_eq!((&job["approvals_required"], &job["rollback"]["from"]), (&json!(2), &json!("succeeded")));
    assert_eq!(returns.next(0).await, None, "nothing happens before the approvals");
    let denied = approver.post(&format!("{path}/deny"), &json!({ "note": "wait" })).await.json()["data"].clone();
    assert_eq!((&denied["state"], &denied["rollback"]), (&json!("succeeded"), &Value::Null), "it is what it was");

    assert_eq!(manager.post(&format!("{path}/rollback"), &json!({})).await.status, 200);
    assert_eq!(approved(&muster, &path).await["state"], "rolling_back");
    let order = returns.next(30).await.expect("the rollback");
    assert_eq!((&order["action"], &order["to"]["version"]), (&json!("rollback"), &json!("1.0.0")), "{order}");
    assert_eq!(returns.report(&order, "rolled_back").await.status, 200);
    until(async || admin.get(&path).await.json()["data"]["state"] == "rolled_back").await;
    until(async || version_of(&admin, &returns, "current").await == "1.0.0").await;
    assert_eq!(stays.next(0).await, None);
    assert_eq!(version_of(&admin, &stays, "current").await, "3.0.0", "a later job has changed it");
    let again = manager.post(&format!("{path}/rollback"), &json!({})).await;
    assert_eq!((again.status, &again.json()["error"]["code"]), (409, &json!("illegal_transition")));
}
