//! Embeddings over HTTP: of a provider, and of the embedded model where its files exist.

use crate::support;

use std::path::PathBuf;
use std::time::Duration;

use base64::Engine as _;
use serde_json::{Value, json};
use support::client::{Client, TEST_TIMEOUT};
use support::server::Muster;
use support::upstream::{Upstream, UpstreamAction};

const VECTORS: &str = r#"{"object": "list", "model": "up", "usage": {"prompt_tokens": 5, "total_tokens": 5}, "data": [
    {"object": "embedding", "index": 1, "embedding": [0.5, -2.0]},
    {"object": "embedding", "index": 0, "embedding": [1.0, 0.25]}]}"#;

#[tokio::test]
async fn a_providers_vectors_come_in_order_in_both_encodings() {
    let upstream = Upstream::start(UpstreamAction::Status(200, "", VECTORS));
    let muster = Muster::start(&upstream.provider("one", "some-embedder"));
    let client = muster.client();
    let body = json!({ "model": "some-embedder", "input": ["a", "b"] });
    let got = client.post("/v1/embeddings", &body).await;
    assert_eq!(got.status, 200, "{}", got.text);
    let body = got.json();
    assert_eq!((&body["object"], &body["model"]), (&json!("list"), &json!("some-embedder")));
    assert_eq!(body["usage"], json!({ "prompt_tokens": 5, "total_tokens": 5 }));
    assert_eq!(body["data"][0], json!({ "object": "embedding", "index": 0, "embedding": [1.0, 0.25] }));
    let packed = json!({ "model": "some-embedder", "input": ["a", "b"], "encoding_format": "base64" });
    let body = client.post("/v1/embeddings", &packed).await.json();
    let bytes =
        base64::engine::general_purpose::STANDARD.decode(body["data"][1]["embedding"].as_str().unwrap()).unwrap();
    assert_eq!(bytes, [0.5_f32.to_le_bytes(), (-2.0_f32).to_le_bytes()].concat());
    let usage = client.get("/api/v1/usage").await.json();
    assert_eq!((&usage["total"]["requests"], &usage["total"]["prompt_tokens"]), (&json!(2), &json!(10)));
}

#[tokio::test]
async fn no_other_model_is_taken_in_its_place() {
    let upstream = Upstream::start(UpstreamAction::Status(500, "", "{}"));
    let muster = Muster::start(&upstream.provider("one", "some-embedder"));
    let client = muster.client();
    let embedding_request = |model: &str, input: Value| json!({ "model": model, "input": input });
    let status = async |body: Value| {
        let got = client.post("/v1/embeddings", &body).await;
        (got.status, got.json()["error"]["code"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(status(embedding_request("some-embedder", json!("a"))).await, (502, "provider_failed".to_owned()));
    assert_eq!(
        status(embedding_request("text-embedding-3-small", json!("a"))).await,
        (503, "model_unconfigured".to_owned())
    );
    assert_eq!(status(embedding_request("no-such-model", json!("a"))).await, (404, "model_not_found".to_owned()));
    assert_eq!(status(embedding_request("some-embedder", json!([]))).await.0, 400);
    assert_eq!(status(embedding_request("some-embedder", json!(vec!["a"; 2049]))).await.0, 400);
    assert_eq!(status(json!({ "input": "a" })).await.0, 400);
    assert_eq!(status(embedding_request("", json!("a"))).await.0, 400, "an empty name stands for no model");
}

/// Settings with the folder of the model files, where the embedding model is among them.
fn fetched() -> Option<String> {
    let own = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("models-cache");
    let folder = std::env::var_os("MUSTER_MODELS_DIR").map_or_else(own, PathBuf::from);
    let manifest = muster_models::Manifest::embedded().unwrap();
    let found = cfg!(feature = "embed") && manifest.embeddings().iter().all(|model| model.is_present(&folder));
    if !found {
        eprintln!("skipped: run `muster models pull minilm`");
    }
    found.then(|| format!("[llm]\nmodel = \"none\"\ncache = \"{}\"\n", folder.display()))
}

async fn embed(client: &Client, input: Value) -> Vec<Vec<f64>> {
    let mut interval = tokio::time::interval(Duration::from_millis(50));
    let polling = async {
        loop {
            let got = client.post("/v1/embeddings", &json!({ "model": "muster-embed", "input": input })).await;
            if got.status == 200 {
                let body = got.json();
                let vectors = body["data"].as_array().unwrap().iter().map(|item| item["embedding"].as_array().unwrap());
                return vectors.map(|vector| vector.iter().map(|number| number.as_f64().unwrap()).collect()).collect();
            }
            assert_eq!(got.status, 503, "while it loads: {}", got.text);
            assert!(got.number("retry-after").is_some(), "{}", got.text);
            interval.tick().await;
        }
    };
    tokio::time::timeout(TEST_TIMEOUT, polling).await.expect("the embedding model is loaded")
}

#[tokio::test]
async fn the_embedded_model_ranks_similar_texts() {
    let Some(settings) = fetched() else { return };
    let muster = Muster::start(&settings);
    let client = muster.client();
    let vectors = embed(&client, json!(["a cat sits on the mat", "a kitten lies on a rug", "stock prices fell"])).await;
    let cosine = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    assert!(vectors.iter().all(|vector| vector.len() == 384 && (cosine(vector, vector) - 1.0).abs() < 1e-4));
    assert!(cosine(&vectors[0], &vectors[1]) > cosine(&vectors[0], &vectors[2]) + 0.2);
    let listed = client.get("/v1/models/muster-embed").await.json();
    assert_eq!((&listed["dimensions"], &listed["status"]), (&json!(384), &json!("available")));
    let long = client.post("/v1/embeddings", &json!({ "model": "muster-embed", "input": "word ".repeat(400) })).await;
    assert_eq!((long.status, &long.json()["error"]["code"]), (400, &json!("context_length_exceeded")));
    let tokens = client.post("/v1/embeddings", &json!({ "model": "muster-embed", "input": [1, 2] })).await;
    assert_eq!((tokens.status, &tokens.json()["error"]["code"]), (400, &json!("unsupported_value")));
}

#[tokio::test]
async fn without_the_embedding_model_memory_is_searched_by_words_and_everything_says_so() {
    let muster = Muster::start("[embeddings]\nmodel = \"none\"\n");
    let client = muster.client();
    let refused = client.post("/v1/embeddings", &json!({ "model": "muster-embed", "input": "hi" })).await;
    assert_eq!(refused.status, 503, "{}", refused.text);
    assert!(refused.text.contains("switched off"), "{}", refused.text);
    let stored = client.post("/api/memory/store", &json!({ "key": "a", "value": "Two pumps are at the depot." })).await;
    assert!(stored.status < 300, "{}", stored.text);
    let found = client.get("/api/memory/search?q=pumps").await.json();
    assert_eq!((&found["mode"], &found["total"]), (&json!("text"), &json!(1)), "{found}");
}
