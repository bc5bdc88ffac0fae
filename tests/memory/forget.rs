//! Deleting an owner deletes every trace, and names the backups that still hold it.

use serde_json::{Value, json};

use super::world::{found, get, key, own_id, put, scoped, server, settings, store};
use crate::support::client::Client;
use crate::support::server::Muster;

async fn forget(client: &Client, owner: &str) -> Value {
    let response = client.delete(&format!("/api/memory/owners/{owner}")).await;
    assert_eq!(response.status, 200, "{}", response.text);
    response.json()
}

/// Files below a folder that hold these bytes.
fn holding(folder: &std::path::Path, marker: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(holding(&path, marker));
        } else if let Ok(bytes) = std::fs::read(&path)
            && bytes.windows(marker.len()).any(|window| window == marker.as_bytes())
        {
            found.push(path.display().to_string());
        }
    }
    found
}

#[tokio::test]
async fn nothing_of_an_owner_is_left() {
    let muster = server();
    let (ada, bob) = (key(&muster).await, key(&muster).await);
    for nth in 0..30 {
        let body = json!({ "key": format!("k{nth}"), "value": "a xylograph marker", "namespace": format!("n{}", nth % 3),
            "tags": ["t"], "thread": "t" });
        store(&ada, &body).await;
        if nth % 2 == 0 {
            store(&ada, &body).await;
        }
    }
    put(&bob, "k", "a xylograph of bob").await;
    let id = own_id(&ada).await;
    let response = forget(&ada, &id).await;
    assert_eq!(
        (&response["entries"], &response["versions"], &response["vectors"]),
        (&json!(30), &json!(15), &json!(0)),
        "{response}"
    );
    assert!(found(&ada, "xylograph").await.is_empty());
    assert_eq!(ada.get("/api/memory").await.json()["entries"], json!([]));
    assert_eq!(get(&ada, "k0?namespace=n0").await.status, 404);
    assert_eq!(ada.get("/api/memory/history?key=k0&namespace=n0").await.status, 404);
    let stats = ada.get("/api/memory/stats").await.json();
    assert_eq!((&stats["entries"], &stats["versions"], &stats["namespaces"]), (&json!(0), &json!(0), &json!([])));
    assert_eq!(found(&bob, "xylograph").await, ["k"], "another's stay");
    let again = put(&ada, "k0", "anew").await;
    assert_eq!(again["version"], 1);
    let twice = forget(&ada, &id).await;
    assert_eq!(twice["entries"], 1);
}

#[tokio::test]
async fn permissions_to_forget() {
    let muster = server();
    let (ada, bob) = (key(&muster).await, key(&muster).await);
    put(&ada, "k", "v").await;
    let id = own_id(&ada).await;
    let refused = bob.delete(&format!("/api/memory/owners/{id}")).await;
    assert_eq!((refused.status, refused.json()["error_code"].as_str()), (403, Some("FORBIDDEN")), "{}", refused.text);
    let chat = scoped(&muster, &["chat"]).await;
    assert_eq!(chat.delete(&format!("/api/memory/owners/{id}")).await.status, 403);
    assert_eq!(get(&ada, "k").await.status, 200);
    let admin = scoped(&muster, &["admin"]).await;
    assert_eq!(forget(&admin, &id).await["entries"], 1);
    assert_eq!(get(&ada, "k").await.status, 404);
    assert_eq!(forget(&admin, "key_nobody").await["entries"], 0, "an unknown owner deletes nothing");
    // For an administrator a shared namespace is an owner, too.
    store(&ada, &json!({ "key": "k", "value": "v", "namespace": "team" })).await;
    assert_eq!(ada.delete("/api/memory/owners/shared").await.status, 403);
    assert_eq!(forget(&admin, "shared").await["entries"], 1);
}

#[tokio::test]
async fn a_key_that_is_revoked_forgets_nothing_by_itself() {
    let muster = server();
    let ada = key(&muster).await;
    put(&ada, "k", "v").await;
    let id = own_id(&ada).await;
    assert_eq!(muster.client().delete(&format!("/api/v1/keys/{id}")).await.status, 200);
    assert_eq!(get(&ada, "k").await.status, 401);
    assert_eq!(forget(&muster.client(), &id).await["entries"], 1, "an administrator ends it");
}

#[tokio::test]
async fn backups_that_still_hold_it_are_named_and_the_act_is_in_the_audit_log() {
    let muster = server();
    let backup = async || {
        let response = muster
            .client()
            .post("/api/v1/admin/backup", &json!({ "passphrase": "the passphrase of these tests" }))
            .await;
        assert_eq!(response.status, 200, "{}", response.status);
    };
    let names = |response: &Value| response["backups"].as_array().unwrap().len();
    backup().await;
    let ada = key(&muster).await;
    put(&ada, "k", "v").await;
    let id = own_id(&ada).await;
    backup().await;
    let response = forget(&ada, &id).await;
    assert_eq!(names(&response), 1, "the one that was written after its first entry: {response}");
    let name = response["backups"][0].as_str().unwrap();
    assert!(muster.data.path().join("store/snapshots").join(name).is_file(), "{name}");
    let response = crate::support::audit_entries(&muster).iter().any(|entry| {
        let text = entry.to_string();
        text.contains("memory") && text.contains("forg") && text.contains(&id)
    });
    assert!(response, "it is in the audit log");
}

#[tokio::test]
async fn the_files_of_the_index_hold_nothing_of_it_either() {
    let settings = settings().replace("[memory]\n", "[memory]\ncheckpoint_seconds = 1\n");
    let muster = Muster::start(&settings);
    let ada = key(&muster).await;
    put(&ada, "zyzzyvamarker", "a value of its own").await;
    let id = own_id(&ada).await;
    // A graceful end saves the index.
    let muster = Muster::start_in(muster.stop(), &settings);
    let ada = ada.at(format!("http://{}", muster.address));
    let index = muster.data.path().join("store/memory");
    assert!(!holding(&index, "zyzzyvamarker").is_empty(), "its keys are in the files of the index");
    forget(&ada, &id).await;
    super::world::wait_until("the files are written anew", async || holding(&index, "zyzzyvamarker").is_empty()).await;
    assert!(holding(&index, &id).is_empty(), "nor its owner's name");
}
