//! A server with memory, and its entries.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::client::{Answer, Client, TEST_TIMEOUT};
use crate::support::server::Muster;

pub const SEARCH: &str = "/api/memory/search";
pub const STORE: &str = "/api/memory/store";

const SETTINGS: &str = "
[server]
shutdown_grace_seconds = 1
[limits.agent]
memory = \"unlimited\"
health = \"unlimited\"
[memory]
shared = [\"team\", \"team/board\"]
";

/// Settings without an embedding model.
pub fn settings() -> String {
    format!("{SETTINGS}[llm]\nmodel = \"none\"\ncache = \"/nowhere\"\n")
}

pub fn server() -> Muster {
    Muster::start(&settings())
}

/// A server with the embedding model, where its files exist and the build can run it.
pub fn with_model() -> Option<Muster> {
    let own = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("models-cache");
    let folder = std::env::var_os("MUSTER_MODELS_DIR").map_or_else(own, PathBuf::from);
    let manifest = muster_models::Manifest::embedded().unwrap();
    let found = cfg!(feature = "embed") && manifest.embeddings().iter().all(|model| model.is_present(&folder));
    if !found {
        eprintln!("skipped: run `muster models pull minilm`");
    }
    found.then(|| Muster::start(&format!("{SETTINGS}[llm]\nmodel = \"none\"\ncache = \"{}\"\n", folder.display())))
}

/// A client with a new key for memory.
pub async fn key(muster: &Muster) -> Client {
    scoped(muster, &["memory"]).await
}

pub async fn scoped(muster: &Muster, scopes: &[&str]) -> Client {
    let client = muster.client();
    let made = client.make_key(&json!({ "name": "k", "scopes": scopes })).await;
    client.with(made)
}

/// A part of a path or query, with every special character encoded.
pub fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

pub fn query(pairs: &[(&str, &str)]) -> String {
    pairs.iter().map(|(name, text)| format!("{name}={}", encoded(text))).collect::<Vec<_>>().join("&")
}

/// Stores a new entry or replaces one.
pub async fn store(client: &Client, body: &Value) -> Value {
    let stored = client.post(STORE, body).await;
    assert!([200, 201].contains(&stored.status), "{} {}", stored.status, stored.text);
    stored.json()
}

/// Stores a value under a key.
pub async fn put(client: &Client, key: &str, value: &str) -> Value {
    store(client, &json!({ "key": key, "value": value })).await
}

pub async fn search_response(client: &Client, pairs: &[(&str, &str)]) -> Answer {
    client.get(&format!("/api/memory/search?{}", query(pairs))).await
}

pub async fn search(client: &Client, pairs: &[(&str, &str)]) -> Value {
    let found = search_response(client, pairs).await;
    assert_eq!(found.status, 200, "{}", found.text);
    found.json()
}

/// The keys of the hits, best first.
pub fn keys(found: &Value) -> Vec<&str> {
    found["results"].as_array().unwrap().iter().map(|hit| hit["key"].as_str().unwrap()).collect()
}

pub async fn found(client: &Client, q: &str) -> Vec<String> {
    keys(&search(client, &[("q", q)]).await).into_iter().map(str::to_owned).collect()
}

/// Reads the entry of a key; the response may be an error.
pub async fn get(client: &Client, key: &str) -> Answer {
    client.get(&format!("/api/memory/{}", encoded(key))).await
}

/// The location of each failed check of a 422.
pub fn places(refused: &Answer) -> Vec<String> {
    assert_eq!(refused.status, 422, "{}", refused.text);
    let response = refused.json();
    let part = |part: &Value| part.as_str().map_or_else(|| part.to_string(), str::to_owned);
    let place = |failure: &Value| failure["loc"].as_array().unwrap().iter().map(part).collect::<Vec<_>>().join(".");
    let mut places: Vec<String> = response["detail"].as_array().unwrap().iter().map(place).collect();
    places.sort();
    places.dedup();
    places
}

/// Waits until the condition holds.
pub async fn wait_until<F: Future<Output = bool>>(description: &str, condition: impl Fn() -> F) {
    let waited = async {
        let mut interval = tokio::time::interval(Duration::from_millis(20));
        while !condition().await {
            interval.tick().await;
        }
    };
    assert!(tokio::time::timeout(TEST_TIMEOUT, waited).await.is_ok(), "{description}");
}

/// The identifier of the client's key, as its statistics name it.
pub async fn own_id(client: &Client) -> String {
    let response = client.get("/api/memory/stats").await;
    assert_eq!(response.status, 200, "{}", response.text);
    response.json()["owner"].as_str().unwrap().to_owned()
}
