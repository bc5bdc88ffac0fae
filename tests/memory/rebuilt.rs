//! The index after a restart: from its files, from later changes, or from the store where the files are gone.

use std::path::Path;

use serde_json::json;

use super::world::{found, get, key, put, server, settings, store, wait_until};
use crate::support::client::Client;
use crate::support::server::Muster;

async fn fill(client: &Client) {
    for nth in 0..50 {
        put(client, &format!("k{nth}"), &format!("the lynx number{nth}")).await;
    }
    put(client, "k7", "a replaced value").await;
    assert_eq!(client.delete("/api/memory/k8").await.status, 204);
}

/// Asserts that exactly the expected entries are found.
async fn complete(client: &Client) {
    wait_until("the index is ready", async || {
        client.get("/api/memory/stats").await.json()["index"]["state"] == "ready"
    })
    .await;
    for nth in (0..50).filter(|nth| ![7, 8].contains(nth)) {
        assert_eq!(found(client, &format!("number{nth}")).await, [format!("k{nth}")]);
    }
    assert_eq!(found(client, "replaced value").await, ["k7"]);
    for gone in ["number7", "number8"] {
        assert!(found(client, gone).await.is_empty(), "{gone}");
    }
}

fn restarted(muster: Muster, client: &Client, between: impl Fn(&Path)) -> (Muster, Client) {
    let data = muster.stop();
    between(&data.path().join("store/memory"));
    let muster = Muster::start_in(data, &settings());
    let client = client.at(format!("http://{}", muster.address));
    (muster, client)
}

fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

#[tokio::test]
async fn what_was_stored_is_found_after_a_restart() {
    let muster = server();
    let client = key(&muster).await;
    fill(&client).await;
    let (muster, client) = restarted(muster, &client, |folder| {
        assert!(!files(folder).is_empty(), "an end in order leaves files of the index");
    });
    complete(&client).await;
    put(&client, "later", "once restarted").await;
    let (_muster, client) = restarted(muster, &client, |_| {});
    complete(&client).await;
    assert_eq!(found(&client, "restarted").await, ["later"]);
}

#[tokio::test]
async fn files_of_the_index_that_are_gone_or_damaged_are_made_anew() {
    let muster = server();
    let client = key(&muster).await;
    fill(&client).await;
    let (muster, client) = restarted(muster, &client, |folder| std::fs::remove_dir_all(folder).unwrap());
    complete(&client).await;
    let (muster, client) = restarted(muster, &client, |folder| {
        for file in files(folder) {
            let mut bytes = std::fs::read(&file).unwrap();
            let middle = bytes.len() / 2;
            if let Some(byte) = bytes.get_mut(middle) {
                *byte ^= 0x40;
            }
            std::fs::write(&file, bytes).unwrap();
        }
    });
    complete(&client).await;
    let (_muster, client) = restarted(muster, &client, |folder| {
        for file in files(folder) {
            let bytes = std::fs::read(&file).unwrap();
            std::fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
        }
    });
    complete(&client).await;
}

#[tokio::test]
async fn it_answers_while_the_index_is_made_anew() {
    let muster = server();
    let client = key(&muster).await;
    fill(&client).await;
    let (_muster, client) = restarted(muster, &client, |folder| std::fs::remove_dir_all(folder).unwrap());
    // While the index is rebuilt, reads come from the store and a search reports what is missing.
    assert_eq!(get(&client, "k1").await.status, 200);
    let response = super::world::search(&client, &[("q", "number1")]).await;
    let hits = super::world::keys(&response);
    assert!(hits == ["k1"] || response["warnings"].to_string().contains("rebuil"), "{response}");
    store(&client, &json!({ "key": "during", "value": "written meanwhile" })).await;
    assert_eq!(found(&client, "written meanwhile").await, ["during"]);
    complete(&client).await;
}

#[tokio::test]
async fn a_failed_shard_restarts_with_all_entries() {
    let muster = server();
    let client = key(&muster).await;
    fill(&client).await;
    let actors: Vec<String> = muster.tree.snapshot().into_iter().map(|actor| actor.path).collect();
    let memory: Vec<&String> = actors.iter().filter(|path| path.contains("memory")).collect();
    assert!(!memory.is_empty(), "{actors:?}");
    for path in memory {
        muster.tree.inject_panic(path);
        wait_until("it answers again", async || {
            let stored = client.post(super::world::STORE, &json!({ "key": "alive", "value": "still alive" })).await;
            let found = super::world::search_response(&client, &[("q", "still alive")]).await;
            [200, 201].contains(&stored.status) && found.status == 200 && found.text.contains("\"alive\"")
        })
        .await;
        complete(&client).await;
    }
}
