//! Isolation of owners: no access by key, id, filter, cursor or search. Shared namespaces are readable by everyone.

use serde_json::{Value, json};

use super::world::{found, get, key, keys, places, put, query, search, server, store};
use crate::support::client::Client;

/// Two owners with the same keys, tags, threads and words.
async fn two(muster: &crate::support::server::Muster) -> [(Client, Vec<Value>); 2] {
    let mut both = Vec::new();
    for name in ["ada", "bob"] {
        let client = key(muster).await;
        let mut made = Vec::new();
        for nth in 0..3 {
            let body = json!({ "key": format!("k{nth}"), "value": format!("the secret badger of {name} {nth}"),
                "tags": ["badger"], "thread": "t", "namespace": "n" });
            made.push(store(&client, &body).await);
        }
        both.push((client, made));
    }
    both.try_into().unwrap_or_else(|_| unreachable!("two were made"))
}

fn values(found: &Value) -> Vec<String> {
    let list = if found["results"].is_array() { &found["results"] } else { &found["entries"] };
    list.as_array().unwrap().iter().map(|it| it["value"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn no_way_leads_to_another_owner_s_entries() {
    let muster = server();
    let [(ada, of_ada), (bob, _)] = two(&muster).await;
    let own = |values: Vec<String>| {
        assert!(!values.is_empty() && values.iter().all(|value| value.contains("of bob")), "{values:?}");
    };
    for pairs in [
        &[("q", "secret badger")][..],
        &[("q", "ada")],
        &[("q", "secret badger of ada"), ("namespace", "n")],
        &[("q", "badger"), ("tags", "badger")],
        &[("q", "badger"), ("tags_any", "badger,other")],
        &[("q", "badger"), ("key_prefix", "k")],
        &[("q", "badger"), ("thread", "t")],
        &[("q", "badger"), ("min_score", "0")],
        &[("q", "badger"), ("mmr", "0.5")],
        &[("q", "badger"), ("half_life_days", "1")],
    ] {
        let hits = search(&bob, pairs).await;
        if pairs[0].1 == "ada" {
            assert!(values(&hits).is_empty(), "{hits}");
        } else {
            own(values(&hits));
            assert_eq!(hits["total"], 3, "what another has is not even counted: {hits}");
        }
    }
    for filter in ["", "?namespace=n", "?tags=badger", "?key_prefix=k", "?thread=t"] {
        own(values(&bob.get(&format!("/api/memory{filter}")).await.json()));
    }
    for entry in &of_ada {
        let id = entry["id"].as_str().unwrap();
        assert_eq!(bob.get(&format!("/api/memory/{id}?namespace=n")).await.status, 404);
        assert_eq!(bob.get(&format!("/api/memory/{id}")).await.status, 404);
        assert_eq!(bob.delete(&format!("/api/memory/{id}")).await.status, 404);
        assert_eq!(ada.get(&format!("/api/memory/{id}")).await.status, 200, "and it is still there");
    }
    let context = search(&bob, &[("q", "badger"), ("explain", "true")]).await.to_string();
    for entry in &of_ada {
        assert!(!context.contains(entry["id"].as_str().unwrap()), "not even as a neighbour of a thread");
    }
}

#[tokio::test]
async fn a_cursor_is_valid_for_its_owner_and_query_only() {
    let muster = server();
    let [(ada, _), (bob, _)] = two(&muster).await;
    let page = ada.get("/api/memory?limit=1").await.json();
    let cursor = page["next_cursor"].as_str().unwrap();
    assert_eq!(places(&bob.get(&format!("/api/memory?limit=1&cursor={cursor}")).await), ["query.cursor"]);
    let found = search(&ada, &[("q", "badger"), ("limit", "1")]).await;
    let next = found["next_cursor"].as_str().unwrap();
    let with = |q: &str| format!("/api/memory/search?{}", query(&[("q", q), ("limit", "1"), ("cursor", next)]));
    assert_eq!(places(&bob.get(&with("badger")).await), ["query.cursor"]);
    assert_eq!(places(&ada.get(&with("secret")).await), ["query.cursor"]);
    assert_eq!(ada.get(&with("badger")).await.status, 200);
    assert_eq!(places(&ada.get(&format!("/api/memory?cursor={next}")).await), ["query.cursor"]);
}

#[tokio::test]
async fn what_one_owner_deletes_the_other_keeps() {
    let muster = server();
    let [(ada, _), (bob, _)] = two(&muster).await;
    assert_eq!(ada.delete("/api/memory/k0?namespace=n").await.status, 204);
    assert_eq!(bob.get("/api/memory/k0?namespace=n").await.status, 200);
    assert_eq!(found(&bob, "badger").await.len(), 3);
    assert_eq!(found(&ada, "badger").await.len(), 2);
}

#[tokio::test]
async fn a_shared_namespace_is_readable_by_all_and_must_be_named() {
    let muster = server();
    let (ada, bob) = (key(&muster).await, key(&muster).await);
    store(&ada, &json!({ "key": "k", "value": "the shared lantern", "namespace": "team" })).await;
    let read = bob.get("/api/memory/k?namespace=team").await;
    assert_eq!((read.status, &read.json()["value"]), (200, &json!("the shared lantern")));
    assert_eq!(keys(&search(&bob, &[("q", "lantern"), ("namespace", "team")]).await), ["k"]);
    assert!(found(&bob, "lantern").await.is_empty(), "without its name only one's own are searched");
    assert_eq!(get(&bob, "k").await.status, 404);
    let replaced = store(&bob, &json!({ "key": "k", "value": "the shared torch", "namespace": "team" })).await;
    assert_eq!(replaced["version"], 2);
    assert_eq!(keys(&search(&ada, &[("q", "torch"), ("namespace", "team")]).await), ["k"]);
    let listed = ada.get("/api/memory?namespace=team").await.json();
    assert_eq!(values(&listed), ["the shared torch"]);
    assert_eq!(values(&ada.get("/api/memory").await.json()), Vec::<String>::new());
    // Deleting an owner's entries leaves the shared ones.
    put(&ada, "own", "an own lantern").await;
    let id = super::world::own_id(&ada).await;
    assert_eq!(ada.delete(&format!("/api/memory/owners/{id}")).await.status, 200);
    assert_eq!(keys(&search(&bob, &[("q", "torch"), ("namespace", "team")]).await), ["k"]);
}
