//! Semantic search, with the embedding model where its files exist.

use serde_json::Value;

use super::world::{get, key, keys, put, search, wait_until, with_model};
use crate::support::client::Client;

const ENTRIES: [(&str, &str); 6] = [
    ("cat", "The cat sleeps on the windowsill all afternoon."),
    ("car", "Its engine would not start, so they towed the automobile to the garage."),
    ("doctor", "The physician prescribed antibiotics for the infection."),
    ("storm", "A hurricane tore the roofs off and flooded the coast."),
    ("bread", "She kneads the dough and bakes sourdough every Sunday."),
    ("code", "ERR-4711 pump controller firmware"),
];

async fn filled(client: &Client) {
    for (name, value) in ENTRIES {
        put(client, name, value).await;
    }
    wait_until("every entry has its vector", async || {
        let stats = client.get("/api/memory/stats").await.json();
        stats["vectors"] == ENTRIES.len() && stats["pending"] == 0
    })
    .await;
}

async fn best(client: &Client, mode: &str, q: &str) -> Value {
    let response = search(client, &[("q", q), ("mode", mode), ("explain", "true")]).await;
    assert_eq!(response["mode"], if mode == "vector" { "semantic" } else { mode }, "{response}");
    response["results"][0].clone()
}

#[tokio::test]
async fn meaning_is_found_where_no_word_is_the_same() {
    let Some(muster) = with_model() else { return };
    let client = key(&muster).await;
    filled(&client).await;
    for (q, name) in [
        ("kitten taking a nap", "cat"),
        ("broken down vehicle", "car"),
        ("medicine against bacteria", "doctor"),
        ("natural disaster at sea", "storm"),
        ("home baking", "bread"),
    ] {
        for mode in ["semantic", "vector", "hybrid"] {
            let hit = best(&client, mode, q).await;
            assert_eq!(hit["key"], name, "{mode} {q}: {hit}");
            assert!(hit["scores"]["semantic"].as_f64().unwrap() > 0.0, "{hit}");
        }
    }
    let plain = search(&client, &[("q", "broken down vehicle")]).await;
    assert_eq!(plain["mode"], "hybrid", "by default");
    assert_eq!(plain["warnings"].as_array().unwrap().len(), 0, "{plain}");
    let text = search(&client, &[("q", "kitten taking a nap"), ("mode", "text")]).await;
    assert!(!keys(&text).contains(&"cat"), "by text alone it is not: {text}");
    assert_eq!(best(&client, "hybrid", "ERR-4711").await["key"], "code", "and exact words count too");
    assert_eq!(get(&client, "cat").await.json()["index_state"], "indexed");
}

#[tokio::test]
async fn a_replaced_value_loses_its_old_meaning() {
    let Some(muster) = with_model() else { return };
    let client = key(&muster).await;
    filled(&client).await;
    put(&client, "note", "A kitten naps in the sun.").await;
    // The cosine similarity of the note.
    let near = async |q: &str| {
        let pairs = [("q", q), ("mode", "semantic"), ("key_prefix", "note"), ("limit", "1")];
        let response = search(&client, &pairs).await;
        response["results"][0]["scores"]["semantic"].as_f64().unwrap_or(0.0)
    };
    wait_until("it has its meaning", async || near("sleeping cat").await > 0.4).await;
    let before = near("sleeping cat").await;
    put(&client, "note", "The stock market fell by three percent today.").await;
    wait_until("it has its new meaning", async || near("share prices dropped").await > 0.4).await;
    assert!(near("sleeping cat").await < before / 2.0, "nothing of the old one is left");
    assert_eq!(client.delete("/api/memory/note").await.status, 204);
    for mode in ["semantic", "hybrid", "text"] {
        let response = search(&client, &[("q", "share prices dropped stock market"), ("mode", mode)]).await;
        assert!(!keys(&response).contains(&"note"), "{mode}: deleted, and not found by its vector either");
    }
}

#[tokio::test]
async fn vectors_are_there_after_a_restart_without_being_made_again() {
    let Some(muster) = with_model() else { return };
    let client = key(&muster).await;
    filled(&client).await;
    let config = muster.app.live().config.clone();
    let embedded = muster.app.embedder.clone();
    let before = muster_models::EmbedModel::stats(&*embedded).texts;
    assert!(before >= ENTRIES.len() as u64);
    let folder = config.llm.cache.display().to_string();
    let settings = super::world::settings().replace("/nowhere", &folder);
    let muster = crate::support::server::Muster::start_in(muster.stop(), &settings);
    let client = client.at(format!("http://{}", muster.address));
    wait_until("the model is loaded", async || best_or_text(&client).await == "semantic").await;
    assert_eq!(best(&client, "semantic", "home baking").await["key"], "bread");
    assert_eq!(client.get("/api/memory/stats").await.json()["pending"], 0);
}

async fn best_or_text(client: &Client) -> String {
    let response = search(client, &[("q", "home baking"), ("mode", "semantic")]).await;
    response["mode"].as_str().unwrap().to_owned()
}
