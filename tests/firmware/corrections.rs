//! What goes wrong at a verification and in a rollout, and what is kept of it.

use super::*;

/// A manifest that an unknown key has signed can be corrected: the image need not be uploaded again.
#[tokio::test]
async fn a_wrong_key_at_verify_is_corrected_with_the_image_still_uploaded() {
    let muster = Muster::start("");
    let admin = muster.admin().await;
    let (stranger, content) = (PrivateKey::generate().unwrap(), content());
    let id = announce(&admin, &content).await;
    assert_eq!(put(&admin, &id, None, content.clone()).await.status, 200);
    let wrong = verify(&admin, &stranger, &id, &content).await;
    assert_eq!((wrong.status, &wrong.json()["error"]["code"]), (409, &json!("image_not_authentic")), "{}", wrong.text);
    assert!(wrong.text.contains(&stranger.public().thumbprint()), "it names the kid: {}", wrong.text);
    let artifact = admin.get(&format!("{ARTIFACTS}/{id}")).await.json()["data"].clone();
    assert_eq!(artifact["state"], "uploading");
    assert!(artifact["reason"].as_str().unwrap().starts_with("image_not_authentic"), "{artifact}");
    let early = job_for(&admin, &id, json!({})).await;
    assert_eq!((early.status, &early.json()["error"]["code"]), (409, &json!("artifact_not_ready")));

    let key = trusted_key(&admin).await;
    let other = json!({ "manifest_jws": manifest::sign(&key, "fw-manifest+jws", br#"{"name":"other"}"#).unwrap() });
    let unread = admin.post(&format!("{ARTIFACTS}/{id}/verify"), &other).await;
    assert_eq!((unread.status, &unread.json()["error"]["code"]), (409, &json!("image_format")), "{}", unread.text);
    let verified = verify(&admin, &key, &id, &content).await;
    assert_eq!(verified.json()["data"]["state"], "ready", "{}", verified.text);
    assert_eq!(verified.json()["data"]["reason"], Value::Null);
    assert_eq!(verified.json()["data"]["signing_kid"], json!(key.public().thumbprint()));
}

/// An image that is not what the manifest describes cannot be corrected.
#[tokio::test]
async fn an_image_that_does_not_match_stays_rejected() {
    let muster = Muster::start("");
    let admin = muster.admin().await;
    let (key, content) = (trusted_key(&admin).await, content());
    let id = announce(&admin, &content).await;
    let mut other = content.clone();
    other[7] ^= 1;
    assert_eq!(put(&admin, &id, None, other).await.status, 200);
    let refused = verify(&admin, &key, &id, &content).await;
    assert_eq!((refused.status, &refused.json()["data"]["state"]), (200, &json!("rejected")), "{}", refused.text);
    assert_eq!(verify(&admin, &key, &id, &content).await.status, 409);
}

/// Why a device failed and why the job was stopped are still there after the rollback, and after kill -9.
#[tokio::test]
async fn the_reasons_of_failures_survive_a_rollback() {
    let folder = tempfile::tempdir().unwrap();
    let launch = || Launch::new(folder.path()).with("MUSTER__FIRMWARE__APPROVALS", "0").start();
    let mut server = launch();
    let (mut admin, _) = Client::new(&server.url).login(EMAIL, PASSWORD).await;
    let artifact = ready(&admin).await;
    let mut unit = Unit::register(&admin).await;
    let firmware = json!({ "version": "1.0.0", "sequence": 1 });
    assert_eq!(unit.beat(&firmware).await.status, 200);
    let made = job_for(&admin, &artifact, json!({})).await;
    let path = format!("{JOBS}/{}", made.json()["data"]["id"].as_str().unwrap());
    let mut job = unit.next(30).await.expect("a job");
    while job["state"] != "installing" {
        job = unit.report(&job, following(job["state"].as_str().unwrap())).await.json()["data"].clone();
    }
    let failed = json!({ "state": "failed", "exec_version": job["exec_version"],
                         "error": { "code": "flash_worn_out", "message": "block 7 cannot be written" } });
    assert_eq!(unit.send(&job, &failed).await.status, 200);
    let stopped = admin.get(&path).await.json()["data"].clone();
    assert_eq!(stopped["state"], "paused", "{stopped}");
    let note = json!({ "note": "worn flash" });
    assert_eq!(admin.post(&format!("{path}/rollback"), &note).await.status, 200);
    let back = unit.next(30).await.expect("the rollback");
    assert_eq!((&back["state"], &back["action"]), (&json!("rolling_back"), &json!("rollback")), "{back}");
    assert_eq!(unit.report(&back, "rolled_back").await.status, 200);
    server.kill();
    server = launch();
    admin = admin.at(&server.url);
    unit.client = unit.client.at(&server.url);

    let ended = admin.get(&path).await.json()["data"].clone();
    assert_eq!(ended["state"], "rolled_back", "{ended}");
    let reasons: Vec<_> =
        ended["reasons"].as_array().unwrap().iter().map(|reason| reason["reason"].to_string()).collect();
    assert!(reasons[0].contains("1 of 1 devices failed"), "{reasons:?}");
    assert!(reasons.last().unwrap().contains("worn flash"), "{reasons:?}");
    let execution = admin.get(&format!("{path}/executions")).await.json()["data"]["executions"][0].clone();
    assert_eq!(execution["state"], "rolled_back");
    let failure = &execution["failures"][0];
    assert_eq!((&failure["code"], &failure["state"]), (&json!("flash_worn_out"), &json!("installing")), "{execution}");
    let device = admin.get(&format!("/api/v1/devices/{}", unit.id)).await.json()["data"]["firmware"].clone();
    assert_eq!((&device["current"]["version"], &device["desired"]["version"]), (&json!("1.0.0"), &json!("1.0.0")));
    server.kill();
}
