//! The page of roles, permissions and scopes is what the server's tables say, and what it serves.

use serde_json::Value;

use crate::support::server::Muster;

/// To write the page anew: `MUSTER_WRITE_DOCS=1 cargo nextest run --workspace --test server -E 'test(/^permissions::/)'`.
#[tokio::test]
async fn the_page_in_the_documents_is_the_one_that_is_served() {
    let muster = Muster::start("");
    let served = muster.client().without_key().get("/docs/permissions").await;
    assert_eq!(served.status, 200, "{}", served.text);
    assert!(served.header("content-type").unwrap().starts_with("text/markdown"));
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/permissions.md");
    if std::env::var_os("MUSTER_WRITE_DOCS").is_some() {
        std::fs::write(file, &served.text).unwrap();
    }
    let stored = std::fs::read_to_string(file).unwrap_or_default();
    assert!(stored == served.text, "docs/permissions.md is stale: run this test with MUSTER_WRITE_DOCS=1");
}

#[tokio::test]
async fn every_name_is_on_the_page() {
    let muster = Muster::start("");
    let client = muster.client();
    let page = client.get("/docs/permissions").await.text;
    let known = client.get("/api/v1/roles").await.json();
    let names = |list: &Value| list.as_array().unwrap().iter().filter_map(Value::as_str).map(str::to_owned).collect();
    let listed: [Vec<String>; 2] = [names(&known["permissions"]), names(&known["scopes"])];
    let roles = known["roles"].as_array().unwrap().iter().map(|role| role["role"].as_str().unwrap().to_owned());
    for name in roles.chain(listed.concat()) {
        assert!(page.contains(&format!("| `{name}` |")), "{name}");
    }
    let row = page.lines().find(|line| line.starts_with("| `incidents:write` |")).unwrap();
    assert!(row.contains("`POST /api/v1/incidents`") && row.contains("`responder`"), "{row}");
    // Every operation that needs a permission states so in the description too.
    let api = client.get("/openapi.json").await.json();
    let described = &api["paths"]["/api/v1/incidents"]["post"]["description"];
    assert!(described.as_str().unwrap().contains("`incidents:write`"), "{described}");
}
