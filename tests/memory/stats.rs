//! Statistics, health, metrics and API description of memory.

use serde_json::{Value, json};

use super::world::{found, key, put, server, store, wait_until};

#[tokio::test]
async fn statistics_count_what_an_owner_has() {
    let muster = server();
    let client = key(&muster).await;
    let empty = client.get("/api/memory/stats").await.json();
    assert_eq!((&empty["entries"], &empty["versions"], &empty["namespaces"]), (&json!(0), &json!(0), &json!([])));
    put(&client, "k", "four").await;
    put(&client, "k", "five5").await;
    store(&client, &json!({ "key": "l", "value": "six", "namespace": "n" })).await;
    put(&key(&muster).await, "k", "another's").await;
    let response = client.get("/api/memory/stats").await.json();
    assert_eq!((&response["entries"], &response["versions"]), (&json!(2), &json!(1)), "{response}");
    let spaces: Vec<(&str, u64)> = response["namespaces"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["namespace"].as_str().unwrap(), it["entries"].as_u64().unwrap()))
        .collect();
    assert_eq!(spaces, [("default", 1), ("n", 1)]);
    assert!(response["bytes"].as_u64().unwrap() >= 10, "{response}");
    assert_eq!((&response["vectors"], &response["index"]["state"]), (&json!(0), &json!("ready")));
    assert!(response["owner"].as_str().unwrap().starts_with("key_"));
    assert_eq!(response["limit"], 1_000_000);
}

#[tokio::test]
async fn an_owner_has_so_many_entries_and_no_more() {
    let settings = super::world::settings().replace("[memory]\n", "[memory]\nmax_entries_per_owner = 3\n");
    let muster = crate::support::server::Muster::start(&settings);
    let client = key(&muster).await;
    for nth in 0..3 {
        put(&client, &format!("k{nth}"), "v").await;
    }
    let refused = client.post(super::world::STORE, &json!({ "key": "k3", "value": "v" })).await;
    assert_eq!(refused.status, 429, "{}", refused.text);
    put(&client, "k0", "a known key can still be replaced").await;
    assert_eq!(client.delete("/api/memory/k1").await.status, 204);
    put(&client, "k3", "there is room again").await;
}

#[tokio::test]
async fn health_probes_it_with_a_canary() {
    let muster = server();
    let probed = async || {
        let response = muster.client().get("/api/health").await.json();
        let state = response["module_statuses"]["memory-store"].clone();
        assert!(state.is_string(), "{response}");
        state != "starting"
    };
    wait_until("it is probed", probed).await;
    let response = muster.client().get("/api/health").await.json();
    assert!(
        ["healthy", "degraded"].contains(&response["module_statuses"]["memory-store"].as_str().unwrap()),
        "{response}"
    );
    let stats = muster.client().get("/api/v1/status").await.json();
    assert_eq!(stats["memory"]["entries"], 0, "the canary was taken away: {}", stats["memory"]);
}

#[tokio::test]
async fn status_and_metrics_report_its_figures() {
    let muster = server();
    let client = key(&muster).await;
    put(&client, "k", "a tapir").await;
    assert_eq!(found(&client, "tapir").await, ["k"]);
    let admin = muster.client();
    let status = admin.get("/api/v1/status").await.json();
    assert!(status["memory"]["entries"].as_u64().unwrap() >= 1, "{}", status["memory"]);
    let figures = admin.get("/metrics").await.text;
    let value = |line: &str| -> f64 {
        let response = figures.lines().find(|it| it.starts_with(line));
        response.unwrap_or_else(|| panic!("{line} is not in {figures}")).rsplit(' ').next().unwrap().parse().unwrap()
    };
    assert!(value("muster_memory_search_seconds_count{mode=\"text\"}") >= 1.0);
    assert!(value("muster_memory_writes_total{act=\"store\"}") >= 1.0);
    assert!(value("muster_state{name=\"entries\",part=\"memory\"}") >= 1.0);
    for name in ["vectors", "lag", "bytes", "pending"] {
        assert!(figures.contains(&format!("muster_state{{name=\"{name}\",part=\"memory\"}}")), "{name}");
    }
}

#[tokio::test]
async fn each_route_is_described_with_its_answers() {
    let muster = server();
    let api = muster.client().get("/openapi.json").await.json();
    let responses = |path: &str, method: &str| -> Vec<String> {
        let operation: &Value = &api["paths"][path][method];
        assert!(operation.is_object(), "{method} {path} is described");
        operation["responses"].as_object().unwrap().keys().cloned().collect()
    };
    for (path, method, statuses) in [
        ("/api/memory/store", "post", &["200", "201", "409", "412", "413", "415", "422", "429", "503"][..]),
        ("/api/memory/batch", "post", &["200", "409", "413", "422"]),
        ("/api/memory/search", "get", &["200", "401", "403", "422", "503"]),
        ("/api/memory/search", "post", &["200", "401", "403", "413", "415", "422", "503"]),
        ("/api/memory", "get", &["200", "422"]),
        ("/api/memory", "delete", &["204", "404", "412", "422"]),
        ("/api/memory/{key}", "get", &["200", "404"]),
        ("/api/memory/{key}", "delete", &["204", "404", "412"]),
        ("/api/memory/history", "get", &["200", "404", "422"]),
        ("/api/memory/stats", "get", &["200"]),
        ("/api/memory/owners/{owner}", "delete", &["200", "403"]),
    ] {
        let response = responses(path, method);
        for status in statuses {
            assert!(response.iter().any(|it| it == status), "{method} {path}: {status} is not in {response:?}");
        }
    }
}
