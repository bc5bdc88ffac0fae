//! Engines that use a model or read memory: in the caller's name, within its scopes and budget, over HTTP and for agents.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::client::Client;
use crate::support::server::Muster;
use crate::support::upstream::{Upstream, UpstreamAction};
use crate::tasks::world;

const TRANSLATED: &[&str] = &["{\"translations\": [\"O abrigo abre às nove.\"]}"];

/// A server that translates by one provider only, with the models of this folder.
fn translator(upstream: &Upstream, cache: &Path) -> Muster {
    let price = "price = { input_per_million = 1.0, output_per_million = 2.0 }\n";
    let settings = format!(
        "[chain]\norder = [\"one\"]\n[llm]\nmodel = \"none\"\ncache = \"{}\"\n[translate]\norder = [\"model\"]\n\
         [agents]\nplanner_model = \"none\"\n",
        cache.display()
    );
    Muster::start(&format!("{}{price}{settings}", upstream.provider("one", "alpha")))
}

fn opening() -> Value {
    json!({ "text": "The shelter opens at nine.", "from": "en", "to": "pt" })
}

#[tokio::test]
async fn a_text_is_translated_and_translated_back() {
    let upstream = Upstream::start(UpstreamAction::Answer(TRANSLATED));
    let muster = translator(&upstream, Path::new("/nonexistent"));
    let client = muster.client();
    let ran = client.post("/api/q165/run", &opening()).await;
    assert_eq!(ran.status, 200, "{}", ran.text);
    let output = ran.json()["output"].clone();
    assert_eq!(
        (&output["translation"], &output["method"], &output["coverage"]),
        (&json!("O abrigo abre às nove."), &json!("model"), &json!(1.0)),
        "{output}"
    );
    // The provider's answer on the way back is Portuguese again: far from the English text. sacreBLEU 2.6.
    assert!((output["back_check"].as_f64().unwrap() - 0.079_005_659_871_667_54).abs() < 1e-9, "{output}");
    assert_eq!(upstream.requests(), 2);
    let back = upstream.last_request().to_string();
    assert!(back.contains("from Portuguese to English") && back.contains("O abrigo abre"), "{back}");
    let report = client.get("/api/v1/usage").await.json();
    assert!(report["budget"]["spent_usd"].as_f64().unwrap() > 0.0, "{report}");
    let without = json!({ "text": "The shelter opens at nine.", "from": "en", "to": "pt", "use_model": false });
    let ran = client.post("/api/q165/run", &without).await.json();
    assert_eq!((&ran["output"]["method"], upstream.requests()), (&json!("phrase-table"), 2), "{ran}");
}

/// Who may use no model, or has no budget left, gets names and terms only and a warning that says why; no provider is called.
#[tokio::test]
async fn scope_and_budget_hold_for_translations() {
    let upstream = Upstream::start(UpstreamAction::Answer(TRANSLATED));
    let muster = translator(&upstream, Path::new("/nonexistent"));
    let client = muster.client();
    for (key, why) in [
        (json!({ "name": "engines", "scopes": ["engines"] }), "scope `chat`"),
        (json!({ "name": "poor", "scopes": ["engines", "chat"], "budget_usd": 1e-9 }), "budget"),
        (json!({ "name": "other", "scopes": ["engines", "chat"], "models": ["beta"] }), "limited to beta"),
    ] {
        let caller = client.with(client.make_key(&key).await);
        let ran = caller.post("/api/q165/run", &opening()).await;
        assert_eq!(ran.status, 200, "{key}: {}", ran.text);
        let ran = ran.json();
        assert_eq!(ran["output"]["method"], "phrase-table", "{key}: {ran}");
        let warnings = ran["warnings"].to_string();
        assert!(warnings.contains("no_model") && warnings.contains(why), "{key}: {warnings}");
    }
    assert_eq!(upstream.requests(), 0);
}

async fn finished(client: &Client, agent: &str, body: &Value) -> Value {
    let began = client.post(&format!("/api/v1/agents/{agent}/run"), body).await;
    assert_eq!(began.status, 201, "{}", began.text);
    let id = began.json()["task_id"].as_str().unwrap().to_owned();
    world::reaches(client, &id, &["succeeded"]).await
}

#[tokio::test]
async fn the_translator_translates_at_its_keys_expense() {
    let upstream = Upstream::start(UpstreamAction::Answer(TRANSLATED));
    let Some(models) = crate::translate::fetched("languages.bin") else { return };
    let muster = translator(&upstream, &models);
    let task = json!({ "task": "Translate", "params": { "text": "The shelter opens at nine.", "to": "pt" } });
    let task = finished(&muster.client(), "translator", &task).await;
    let report = task["result"].to_string();
    assert!(report.contains("O abrigo abre às nove."), "{report}");
    assert!(task["usage"]["cost_usd"].as_f64().unwrap() > 0.0, "{task}");
}

async fn remember(client: &Client, key: &str, value: &str) {
    let stored = client.post("/api/memory/store", &json!({ "key": key, "value": value })).await;
    assert!(stored.status < 300, "{}", stored.text);
}

#[tokio::test]
async fn memory_is_searched_as_its_own_search_does_and_only_ones_own() {
    let muster = world::server();
    let client = muster.client();
    remember(&client, "depot", "Two pumps are at the depot on Hill Street.").await;
    remember(&client, "bridge", "The bridge is closed until Monday.").await;
    let search = json!({ "query": "pumps depot", "source": "memory", "mode": "lexical" });
    let ran = client.post("/api/q157/run", &search).await;
    assert_eq!(ran.status, 200, "{}", ran.text);
    let output = ran.json()["output"].clone();
    let direct = client.get("/api/memory/search?q=pumps%20depot&mode=text").await.json();
    assert_eq!((&output["total"], &output["hits"][0]["id"]), (&json!(1), &direct["results"][0]["key"]), "{output}");
    // The search's is in single precision.
    let score = |hit: &Value| hit["score"].as_f64().unwrap();
    assert!((score(&output["hits"][0]) - score(&direct["results"][0])).abs() < 1e-6, "{output} {direct}");
    assert_eq!(output["entries"][0]["text"], "Two pumps are at the depot on Hill Street.");
    // A blank query lists the newest first.
    let newest = client.post("/api/q157/run", &json!({ "query": "", "source": "memory" })).await.json();
    let texts: Vec<&str> =
        newest["output"]["entries"].as_array().unwrap().iter().map(|entry| entry["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["The bridge is closed until Monday.", "Two pumps are at the depot on Hill Street."]);
    let other = client.with(client.make_key(&json!({ "name": "other", "scopes": ["engines", "memory"] })).await);
    let theirs = other.post("/api/q157/run", &search).await.json();
    assert_eq!((&theirs["output"]["total"], &theirs["output"]["hits"]), (&json!(0), &json!([])), "{theirs}");
    let none = client.with(client.make_key(&json!({ "name": "none", "scopes": ["engines"] })).await);
    let refused = none.post("/api/q157/run", &search).await;
    assert!(refused.status == 403 && refused.text.contains("`memory`"), "{} {}", refused.status, refused.text);
}

#[tokio::test]
async fn the_memory_curator_finds_duplicates_of_the_keys_memory() {
    let muster = world::server();
    let client = muster.client();
    remember(&client, "a", "Please send water to the school on Hill Street now, 40 people are waiting there.").await;
    remember(&client, "b", "Please send water to the school on Hill Street now, 40 people are waiting here.").await;
    remember(&client, "c", "The bridge is closed until Monday.").await;
    let body = json!({ "task": "Which entries about water are there twice?", "params": { "threshold": 0.6 } });
    let task = finished(&client, "memory-curator", &body).await;
    let report = task["result"].to_string();
    assert!(report.contains("1 groups say almost the same") && report.contains("Of the newest 3 of 3"), "{report}");
}
