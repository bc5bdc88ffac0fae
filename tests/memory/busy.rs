//! Searches during writes: every hit is complete, belongs to the caller and was stored.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde_json::{Value, json};

use super::world::{STORE, key, query, server};
use crate::support::client::Client;

const KEYS: u64 = 40;
const WRITES: u64 = 250;

/// A value that shows whether it is complete: owner, number of the write, and the same again at its end.
fn value(owner: &str, nth: u64) -> String {
    format!("begin {owner} {nth} marmot {} end {owner} {nth}", "filler ".repeat(40))
}

fn whole(owner: &str, value: &str) -> u64 {
    let words: Vec<&str> = value.split(' ').collect();
    let nth: u64 = words[2].parse().unwrap();
    assert_eq!(value, self::value(owner, nth), "torn, or another's");
    nth
}

/// Replaces and deletes; `acknowledged` holds the newest acknowledged write of each key.
async fn write(client: Client, owner: &'static str, response: Arc<Vec<AtomicU64>>) {
    for nth in 1..=WRITES {
        let at = nth * 7 % KEYS;
        let name = format!("k{at}");
        if nth % 11 == 0 {
            let gone = client.delete(&format!("/api/memory/{name}")).await;
            assert!([204, 404].contains(&gone.status), "{}", gone.text);
            response[usize::try_from(at).unwrap()].store(nth, Ordering::Release);
            continue;
        }
        let body = json!({ "key": name, "value": value(owner, nth), "tags": [owner] });
        let stored = client.post(STORE, &body).await;
        assert!([200, 201].contains(&stored.status), "{}", stored.text);
        response[usize::try_from(at).unwrap()].store(nth, Ordering::Release);
    }
}

async fn read(client: Client, owner: &'static str, response: Arc<Vec<AtomicU64>>, stop: Arc<AtomicBool>) -> u64 {
    let paths = [
        query(&[("q", "marmot"), ("limit", "100")]),
        query(&[("q", "marmot begin end"), ("tags", owner), ("explain", "true")]),
        query(&[("q", "ada bob marmot"), ("limit", "100")]),
    ];
    let mut seen = 0;
    for nth in 0.. {
        let before: Vec<u64> = response.iter().map(|response| response.load(Ordering::Acquire)).collect();
        let found = client.get(&format!("/api/memory/search?{}", paths[nth % paths.len()])).await;
        assert_eq!(found.status, 200, "{}", found.text);
        let found: Value = found.json();
        for hit in found["results"].as_array().unwrap() {
            let nth = whole(owner, hit["value"].as_str().unwrap());
            assert_eq!(hit["tags"], json!([owner]));
            let at: usize = hit["key"].as_str().unwrap()[1..].parse().unwrap();
            assert!(nth >= before[at], "{} was replaced by {} before the search", nth, before[at]);
            seen += 1;
        }
        if stop.load(Ordering::Acquire) {
            break;
        }
    }
    seen
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_search_never_shows_a_torn_a_stale_or_a_foreign_entry() {
    let muster = server();
    let stop = Arc::new(AtomicBool::new(false));
    let (mut writers, mut readers) = (Vec::new(), Vec::new());
    for owner in ["ada", "bob"] {
        let client = key(&muster).await;
        let response: Arc<Vec<AtomicU64>> = Arc::new((0..KEYS).map(|_| AtomicU64::new(0)).collect());
        writers.push(tokio::spawn(write(client.clone(), owner, Arc::clone(&response))));
        for _ in 0..2 {
            readers.push(tokio::spawn(read(client.clone(), owner, Arc::clone(&response), Arc::clone(&stop))));
        }
    }
    for writer in writers {
        writer.await.unwrap();
    }
    stop.store(true, Ordering::Release);
    for reader in readers {
        assert!(reader.await.unwrap() > 0, "it saw something");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_owners_write_at_once_and_each_finds_its_own() {
    let muster = server();
    let mut all = Vec::new();
    for nth in 0..8_usize {
        let client = key(&muster).await;
        all.push(tokio::spawn(async move {
            for at in 0..25 {
                let body = json!({ "key": format!("k{at}"), "value": format!("marmot of owner{nth} number{at}") });
                assert_eq!(client.post(STORE, &body).await.status, 201);
                let found = client.get(&format!("/api/memory/search?q=number{at}")).await.json();
                assert_eq!(found["results"][0]["value"], body["value"], "{found}");
                assert_eq!(found["total"], 1);
            }
        }));
    }
    for one in all {
        one.await.unwrap();
    }
}
