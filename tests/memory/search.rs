//! Text search: hits, their order and their explanation.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::world::{SEARCH, found, key, keys, places, put, search, search_response, server, store};

#[tokio::test]
async fn words_are_found_by_their_stems_whatever_their_case() {
    let muster = server();
    let client = key(&muster).await;
    put(&client, "a", "The pumps are running dry").await;
    put(&client, "b", "Nobody runs a marathon here").await;
    put(&client, "c", "A well-tended garden").await;
    assert_eq!(found(&client, "PUMP").await, ["a"]);
    let runs: BTreeSet<String> = found(&client, "run").await.into_iter().collect();
    assert_eq!(runs, BTreeSet::from(["a".to_owned(), "b".to_owned()]));
    assert!(found(&client, "helicopter").await.is_empty());
}

#[tokio::test]
async fn more_and_rarer_words_rank_higher() {
    let muster = server();
    let client = key(&muster).await;
    for nth in 0..20 {
        put(&client, &format!("noise{nth}"), &format!("water level report number {nth}")).await;
    }
    put(&client, "rare", "water at the turbine").await;
    put(&client, "both", "turbine bearing and water level").await;
    let hits = found(&client, "turbine bearing").await;
    assert_eq!(hits, ["both", "rare"]);
    let scores: Vec<f64> = {
        let response = search(&client, &[("q", "water turbine bearing")]).await;
        assert_eq!(response["total"], 22, "every entry holds the word water");
        assert_eq!(keys(&response)[0], "both");
        response["results"].as_array().unwrap().iter().map(|hit| hit["score"].as_f64().unwrap()).collect()
    };
    assert!(scores.is_sorted_by(|before, after| before >= after), "{scores:?}");
    assert!(scores.iter().all(|score| (0.0..=1.0).contains(score)), "{scores:?}");
    let ranks = search(&client, &[("q", "water"), ("limit", "200")]).await;
    let ranks: Vec<u64> =
        ranks["results"].as_array().unwrap().iter().map(|hit| hit["rank"].as_u64().unwrap()).collect();
    assert_eq!(ranks, (1..=22).collect::<Vec<u64>>());
}

#[tokio::test]
async fn pages_go_on_where_the_one_before_ended() {
    let muster = server();
    let client = key(&muster).await;
    for nth in 0..25 {
        put(&client, &format!("k{nth}"), &format!("the same otter {}", "again ".repeat(nth))).await;
    }
    let whole = search(&client, &[("q", "otter"), ("limit", "200")]).await;
    assert_eq!((keys(&whole).len(), &whole["next_cursor"]), (25, &Value::Null));
    let (mut paged, mut ranks, mut cursor) = (Vec::new(), Vec::new(), None::<String>);
    loop {
        let mut pairs = vec![("q", "otter"), ("limit", "7")];
        pairs.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
        let page = search(&client, &pairs).await;
        assert_eq!(page["total"], 25);
        paged.extend(keys(&page).into_iter().map(str::to_owned));
        ranks.extend(page["results"].as_array().unwrap().iter().map(|hit| hit["rank"].as_u64().unwrap()));
        match page["next_cursor"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => break,
        }
    }
    assert_eq!(paged, keys(&whole));
    assert_eq!(ranks, (1..=25).collect::<Vec<u64>>(), "ranks count over pages");
    assert_eq!(keys(&search(&client, &[("q", "otter")]).await).len(), 10, "ten by default");
}

#[tokio::test]
async fn highlights_mark_the_matching_words() {
    let muster = server();
    let client = key(&muster).await;
    let value =
        format!("{} The größte Lantern hangs over the gate. {}", "filler text ".repeat(100), "and more ".repeat(100));
    put(&client, "k", &value).await;
    let response = search(&client, &[("q", "lanterns gate")]).await;
    let highlights = response["results"][0]["highlights"].as_array().unwrap();
    assert!(!highlights.is_empty() && highlights.len() <= 10, "{highlights:?}");
    let mut words = BTreeSet::new();
    for part in highlights {
        let text = part["snippet"].as_str().unwrap();
        assert!(value.contains(text) && text.chars().count() <= 200, "{part}");
        for place in part["matches"].as_array().unwrap() {
            let [from, to] = [0, 1].map(|side| usize::try_from(place[side].as_u64().unwrap()).unwrap());
            let marked: String = text.chars().skip(from).take(to - from).collect();
            words.insert(marked.to_lowercase());
        }
    }
    assert_eq!(words, BTreeSet::from(["gate".to_owned(), "lantern".to_owned()]));
}

#[tokio::test]
async fn explain_returns_every_part_of_the_score() {
    let muster = server();
    let client = key(&muster).await;
    put(&client, "k", "the harbour crane at the harbour").await;
    put(&client, "l", "the harbour master").await;
    let plain = search(&client, &[("q", "harbour crane")]).await;
    assert!(plain["results"][0]["explain"].is_null(), "only on request");
    let response = search(&client, &[("q", "harbour crane"), ("explain", "true")]).await;
    for hit in response["results"].as_array().unwrap() {
        let explain = &hit["explain"];
        let terms = explain["text"]["terms"].as_array().unwrap();
        let sum: f64 = terms.iter().map(|term| term["contribution"].as_f64().unwrap()).sum();
        let score = explain["text"]["bm25"].as_f64().unwrap();
        assert!((sum - score).abs() < 1e-3 * score.max(1.0), "the terms make the score: {explain}");
        assert!(terms.iter().all(|term| term["idf"].as_f64().unwrap() > 0.0 && term["tf"].as_f64().unwrap() > 0.0));
        let last = explain["score"].as_f64().unwrap();
        assert!((last - hit["score"].as_f64().unwrap()).abs() < 1e-5, "{hit}");
    }
}

#[tokio::test]
async fn minimum_decay_and_diversity_are_query_parameters() {
    let muster = server();
    let client = key(&muster).await;
    put(&client, "strong", "kelp kelp kelp forest").await;
    put(&client, "weak", "a very long text about many other things in the sea with one kelp in it").await;
    let all = search(&client, &[("q", "kelp forest")]).await;
    let best = all["results"][0]["score"].as_f64().unwrap();
    let least = search(&client, &[("q", "kelp forest"), ("min_score", &(best - 1e-6).to_string())]).await;
    assert_eq!(keys(&least), ["strong"]);
    assert!(keys(&search(&client, &[("q", "kelp"), ("min_score", "1")]).await).len() <= 1);
    // New entries have hardly decayed.
    let decayed = search(&client, &[("q", "kelp forest"), ("half_life_days", "3650")]).await;
    assert_eq!(keys(&decayed), keys(&all));
    assert_eq!(keys(&search(&client, &[("q", "kelp"), ("mmr", "0.5")]).await).len(), 2);
}

#[tokio::test]
async fn the_neighbours_in_a_thread_are_returned() {
    let muster = server();
    let client = key(&muster).await;
    let mut ids = Vec::new();
    for value in ["the tide turned", "a gull cried", "the lamp went out"] {
        let key = format!("turn{}", ids.len());
        ids.push(store(&client, &json!({ "key": key, "value": value, "thread": "night" })).await["id"].clone());
    }
    let response = search(&client, &[("q", "gull cried")]).await;
    let first = &response["results"][0];
    assert_eq!(first["key"], "turn1", "{response}");
    assert_eq!((&first["context"]["prev_id"], &first["context"]["next_id"]), (&ids[0], &ids[2]));
}

#[tokio::test]
async fn tags_that_name_a_session_make_a_thread() {
    let muster = server();
    let client = key(&muster).await;
    let turn = |key: &str, value: &str| json!({ "key": key, "value": value, "tags": ["session:1", "person:ada"] });
    let first = store(&client, &turn("a", "the bridge is closed")).await;
    store(&client, &turn("b", "until when")).await;
    let response = search(&client, &[("q", "until when")]).await;
    assert_eq!(response["results"][0]["context"]["prev_id"], first["id"], "{response}");
    let body = json!({ "key": "c", "value": "v", "tags": ["session:1"], "thread": "another" });
    assert_eq!(store(&client, &body).await["thread"], "another", "an explicit thread is used");
}

#[tokio::test]
async fn a_search_that_cannot_be_meant_is_refused_with_all_that_is_wrong() {
    let muster = server();
    let client = key(&muster).await;
    assert_eq!(places(&client.get("/api/memory/search").await), ["query.q"]);
    assert_eq!(places(&search_response(&client, &[("q", "  ")]).await), ["query.q"]);
    let bad = [
        ("limit", "0"),
        ("mode", "guess"),
        ("min_score", "2"),
        ("explain", "perhaps"),
        ("half_life_days", "-1"),
        ("mmr", "nan"),
        ("cursor", "x"),
        ("namespace", "a b"),
    ];
    let refused = search_response(&client, &bad).await;
    let mut wrong: Vec<String> = bad.iter().map(|(name, _)| format!("query.{name}")).collect();
    wrong.push("query.q".to_owned());
    wrong.sort();
    // A valid cursor is then checked against the query.
    assert_eq!(places(&refused), wrong.into_iter().filter(|place| place != "query.cursor").collect::<Vec<_>>());
    let mode = search_response(&client, &[("q", "x"), ("mode", "semantic")]).await;
    assert_eq!(mode.status, 200, "{}", mode.text);
    let response = mode.json();
    assert_eq!(response["mode"], "text", "there is no model: text, with a warning");
    assert!(response["warnings"][0].as_str().unwrap().contains("model"), "{response}");
}

#[tokio::test]
async fn a_search_by_body_equals_a_search_by_query() {
    let muster = server();
    let client = key(&muster).await;
    for nth in 0..12 {
        let tags = json!(["otter", if nth % 2 == 0 { "even" } else { "odd" }]);
        let value = format!("the same otter {}", "again ".repeat(nth));
        store(&client, &json!({ "key": format!("river/{nth}"), "value": value, "tags": tags })).await;
    }
    let query =
        [("q", "otter again"), ("tags", "otter,even"), ("key_prefix", "river/"), ("limit", "2"), ("mode", "text")];
    let body =
        json!({ "q": "otter again", "tags": ["otter", "even"], "key_prefix": "river/", "limit": 2, "mode": "text" });
    let (by_query, by_body) = (search(&client, &query).await, client.post(SEARCH, &body).await);
    assert_eq!(by_body.status, 200, "{}", by_body.text);
    let by_body = by_body.json();
    for part in ["query", "mode", "results", "total", "next_cursor"] {
        assert_eq!(by_query[part], by_body[part], "{part}");
    }
    assert_eq!((keys(&by_body).len(), &by_body["total"]), (2, &json!(6)));
    // A page of one is continued by the other.
    let mut next = body.clone();
    next["cursor"] = by_query["next_cursor"].clone();
    next["explain"] = json!(true);
    let next = client.post(SEARCH, &next).await.json();
    assert_eq!(next["results"][0]["rank"], 3, "{next}");
    assert!(next["results"][0]["explain"].is_object());
}

#[tokio::test]
async fn an_invalid_body_is_rejected_with_all_failures() {
    let muster = server();
    let client = key(&muster).await;
    let bad = json!({
        "q": " ", "mode": "guess", "limit": 0, "cursor": 7, "namespace": "a b", "tags": "one", "tags_any": ["fine", ""],
        "key_prefix": "", "thread": "t".repeat(200), "min_score": 2, "half_life_days": -1, "mmr": "1", "explain": "yes",
    });
    let mut wrong: Vec<String> = bad.as_object().unwrap().keys().map(|name| format!("body.{name}")).collect();
    wrong.retain(|place| place != "body.tags_any");
    wrong.push("body.tags_any.1".to_owned());
    wrong.sort();
    assert_eq!(places(&client.post(SEARCH, &bad).await), wrong);
    assert_eq!(places(&client.post(SEARCH, &json!({})).await), ["body.q"]);
    assert_eq!(places(&client.post(SEARCH, &json!({ "q": "" })).await), ["body.q"]);
}
