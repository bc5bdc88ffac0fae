//! The lists of models: what has no credentials is listed, unless the request or the settings leave it out.

use crate::support;

use serde_json::json;
use support::KEY;
use support::client::Client;
use support::process::start;

/// A provider with a key that is not set, and one that needs none.
const PROVIDERS: &str = "[[provider]]\nid = \"closed\"\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:1/v1\"\n\
                         api_key_env = \"MUSTER_TEST_NO_SUCH_KEY\"\nmodels = [\"alpha\"]\n\
                         [[provider]]\nid = \"open\"\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:1/v1\"\n\
                         models = [\"beta\"]\n";

/// Status of each listed model that a test knows.
async fn listed(client: &Client, path: &str) -> Vec<(String, String)> {
    let answer = client.get(path).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.text);
    let body = answer.json();
    let models = body.get("data").or(body.get("models")).unwrap().as_array().unwrap();
    assert!(models.iter().all(|model| model["status"].is_string()));
    let known = models.iter().filter(|model| ["alpha", "beta"].contains(&model["id"].as_str().unwrap()));
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    known.map(|model| (text(&model["id"]), text(&model["status"]))).collect()
}

#[tokio::test]
async fn unconfigured_models_are_listed_unless_they_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let (process, client) = start(folder.path(), PROVIDERS);
    let of = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|&(id, status)| (id.to_owned(), status.to_owned())).collect::<Vec<_>>()
    };
    let (all, some) = (of(&[("alpha", "unconfigured"), ("beta", "available")]), of(&[("beta", "available")]));
    for path in ["/v1/models", "/api/models"] {
        assert_eq!(listed(&client, path).await, all, "{path}: the clients' own call");
        assert_eq!(listed(&client, &format!("{path}?configured=true")).await, some, "{path}");
        assert_eq!(listed(&client, &format!("{path}?configured=false")).await, all, "{path}");
        let refused = client.get(&format!("{path}?configured=perhaps")).await;
        assert_eq!(refused.status, 400, "{path}: {}", refused.text);
    }
    let hidden = client.get("/v1/models?configured=true").await.json();
    assert!(hidden["data"].as_array().unwrap().iter().all(|model| model["status"] != "unconfigured"), "{hidden}");

    std::fs::write(folder.path().join("config.toml"), format!("{PROVIDERS}[models]\nlist_unconfigured = false\n"))
        .unwrap();
    let reloaded = client.post("/api/v1/admin/reload", &json!({})).await.json();
    assert_eq!(reloaded, json!({ "reloaded": ["models.list_unconfigured"], "needs_restart": [] }));
    for path in ["/v1/models", "/api/models"] {
        assert_eq!(listed(&client, path).await, some, "{path}: as the settings say");
        assert_eq!(listed(&client, &format!("{path}?configured=false")).await, all, "{path}");
    }
    // Leaving it out of a list is no refusal: the model is found by its name.
    let one = Client::new(&process.url).with(KEY).get("/v1/models/alpha").await;
    assert_eq!((one.status, &one.json()["status"]), (200, &json!("unconfigured")));
}
