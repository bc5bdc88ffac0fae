//! Lists: everything, newest first, by pages, within filters.

use serde_json::{Value, json};

use super::world::{key, places, query, server, store};
use crate::support::client::Client;

async fn all(client: &Client, filter: &str, limit: usize) -> Vec<String> {
    let (mut names, mut cursor) = (Vec::new(), String::new());
    loop {
        let response = client.get(&format!("/api/memory?limit={limit}{filter}{cursor}")).await;
        assert_eq!(response.status, 200, "{}", response.text);
        let page = response.json();
        let entries = page["entries"].as_array().unwrap();
        assert!(entries.len() <= limit);
        names.extend(entries.iter().map(|it| it["key"].as_str().unwrap().to_owned()));
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return names,
        }
    }
}

async fn fill(client: &Client) {
    for nth in 0..9 {
        let body = json!({ "key": format!("k{nth}"), "value": nth.to_string(),
            "namespace": if nth % 3 == 0 { "third" } else { "rest" },
            "tags": if nth % 2 == 0 { json!(["even", "number"]) } else { json!(["number"]) },
            "thread": format!("t{}", nth / 5) });
        store(client, &body).await;
    }
}

#[tokio::test]
async fn pages_list_each_entry_once_newest_first() {
    let muster = server();
    let client = key(&muster).await;
    assert_eq!(client.get("/api/memory").await.json(), json!({ "entries": [], "next_cursor": null }));
    fill(&client).await;
    let newest_first: Vec<String> = (0..9).rev().map(|nth| format!("k{nth}")).collect();
    for limit in [1, 2, 4, 9, 200] {
        assert_eq!(all(&client, "", limit).await, newest_first, "{limit}");
    }
    assert_eq!(all(&client, "&tags=even,number", 2).await, ["k8", "k6", "k4", "k2", "k0"]);
    assert_eq!(all(&client, "&namespace=third", 2).await, ["k6", "k3", "k0"]);
    assert_eq!(all(&client, "&thread=t1&tags=number", 2).await, ["k8", "k7", "k6", "k5"]);
    assert_eq!(all(&client, "&key_prefix=k4", 2).await, ["k4"]);
    assert_eq!(all(&client, "&namespace=none", 2).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_page_goes_on_though_its_last_entry_was_deleted() {
    let muster = server();
    let client = key(&muster).await;
    fill(&client).await;
    let first = client.get("/api/memory?limit=3").await.json();
    let last = first["entries"][2]["id"].as_str().unwrap();
    assert_eq!(client.delete(&format!("/api/memory/{last}")).await.status, 204);
    let cursor = first["next_cursor"].as_str().unwrap();
    let rest = client.get(&format!("/api/memory?limit=3&cursor={cursor}")).await.json();
    let names: Vec<&Value> = rest["entries"].as_array().unwrap().iter().map(|it| &it["key"]).collect();
    assert_eq!(names, ["k5", "k4", "k3"]);
}

#[tokio::test]
async fn an_invalid_filter_is_rejected_with_all_failures() {
    let muster = server();
    let client = key(&muster).await;
    let (long, control) = ("x".repeat(600), "a\u{7}b");
    let bad = query(&[("limit", "0"), ("namespace", "no such name!"), ("key_prefix", &long), ("tags", control)]);
    let refused = client.get(&format!("/api/memory?{bad}")).await;
    assert_eq!(places(&refused), ["query.key_prefix", "query.limit", "query.namespace", "query.tags"]);
    for limit in ["201", "-1", "many", "1.5", "99999999999999999999"] {
        assert_eq!(places(&client.get(&format!("/api/memory?limit={limit}")).await), ["query.limit"]);
    }
    for cursor in ["x", "..", "%00", "YQ.0000000000000000", "1.2.3"] {
        assert_eq!(places(&client.get(&format!("/api/memory?cursor={cursor}")).await), ["query.cursor"], "{cursor}");
    }
    let unknown = client.get("/api/memory?no_such_filter=1&limit=5").await;
    assert_eq!(places(&unknown), ["query.no_such_filter"], "a filter that is not known would be lost");
}
