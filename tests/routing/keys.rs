//! Providers whose key is missing, and changes of the routing while the server runs.

use super::*;

use support::KEY;
use support::process::Launch;

#[tokio::test]
async fn a_missing_key_is_named_wherever_somebody_looks() {
    let upstream = healthy();
    let table = |id: &str, model: &str, variable: &str| {
        upstream.provider(id, model).replace("[[provider]]\n", &format!("[[provider]]\napi_key_env = \"{variable}\"\n"))
    };
    let folder = tempfile::tempdir().unwrap();
    let settings = table("one", "alpha", "MUSTER_TEST_NO_KEY") + &table("any", "*", "MUSTER_TEST_NO_ROUTER_KEY");
    std::fs::write(folder.path().join("config.toml"), settings).unwrap();
    let process = Launch::new(folder.path()).start();
    let client = Client::new(&process.url).with(KEY);
    for (model, variable) in [
        ("alpha", "MUSTER_TEST_NO_KEY"),
        ("one/alpha", "MUSTER_TEST_NO_KEY"),
        ("any/made-up", "MUSTER_TEST_NO_ROUTER_KEY"),
        ("made-up", "MUSTER_TEST_NO_ROUTER_KEY"),
    ] {
        for chat in Chat::EVERY {
            let got = post(&client, chat, model).await;
            assert_eq!(got.status, 503, "{chat:?}, {model}: {}", got.text);
            assert!(got.text.contains(&format!("set {variable}")), "{chat:?}, {model}: {}", got.text);
        }
    }
    let embed = client.post("/v1/embeddings", &json!({ "model": "made-up-vectors", "input": "hi" })).await;
    assert_eq!(embed.status, 503, "{}", embed.text);
    assert!(embed.text.contains("set MUSTER_TEST_NO_ROUTER_KEY"), "{}", embed.text);
    assert_eq!(upstream.requests(), 0);

    let model = client.get("/v1/models/alpha").await.json();
    assert_eq!((&model["status"], &model["setting"]), (&json!("unconfigured"), &json!("MUSTER_TEST_NO_KEY")));
    let health = client.get("/api/health").await.json();
    assert_eq!(health["providers"]["one"]["status"], "unconfigured", "{health}");
    let status = client.get("/api/v1/status").await.json();
    let one = status["providers"].as_array().unwrap().iter().find(|provider| provider["id"] == "one").unwrap();
    assert_eq!(one["missing_key"], "MUSTER_TEST_NO_KEY");
    let log = process.log();
    assert!(
        log.contains("WARN") && log.contains("MUSTER_TEST_NO_KEY") && log.contains("MUSTER_TEST_NO_ROUTER_KEY"),
        "{log}"
    );
}

#[tokio::test]
async fn routing_is_reloaded_and_what_cannot_work_is_refused_with_its_place() {
    let (one, two) = (broken(), healthy());
    let providers = one.provider("one", "alpha") + &two.provider("two", "beta");
    let folder = tempfile::tempdir().unwrap();
    let write = |more: &str| {
        std::fs::write(folder.path().join("config.toml"), format!("{providers}{more}[chain]\n{LENIENT}")).unwrap();
    };
    write("");
    let process = Launch::new(folder.path()).start();
    let client = Client::new(&process.url).with(KEY);
    assert_eq!(post(&client, Chat::B, "short").await.status, 404);
    write("[alias]\nshort = \"beta\"\n[fallback]\nalpha = [\"beta\"]\n[chat]\ndefault_max_tokens = 77\n");
    let reloaded = client.post("/api/v1/admin/reload", &json!({})).await.json();
    let names = json!(["alias.short", "chat.default_max_tokens", "fallback.alpha"]);
    assert_eq!((&reloaded["reloaded"], &reloaded["needs_restart"]), (&names, &json!([])), "{reloaded}");
    for (model, fallback) in [("short", "none"), ("alpha", "model")] {
        let got = post(&client, Chat::B, model).await;
        assert_eq!(named(&got.headers), ["two", "beta", fallback].map(str::to_owned), "{}", got.text);
        assert_eq!(two.last_request()["max_tokens"], 77);
    }
    write("[alias]\nshort = \"bta\"\n");
    let refused = client.post("/api/v1/admin/reload", &json!({})).await;
    assert!(
        refused.status >= 400 && refused.text.contains("short") && refused.text.contains("bta"),
        "{}",
        refused.text
    );
    assert_eq!(post(&client, Chat::B, "short").await.status, 200, "the old settings stand");
}
