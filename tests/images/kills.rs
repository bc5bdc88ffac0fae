//! kill -9 while pictures are stored and deleted: what was acknowledged is there, and no record lacks its file.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::join_all;
use serde_json::json;

use super::{Size, answer_of, openai, picture, settings};
use crate::support::client::{Client, try_answer};
use crate::support::process::start;
use crate::support::socket::wait_until;
use crate::support::upstream::Upstream;

const KILLS: usize = 8;
const WORKERS: usize = 4;

/// Draws until the server is gone; returns the pictures that were acknowledged.
async fn draws(client: Client, done: Arc<AtomicUsize>) -> Vec<String> {
    let mut acknowledged = Vec::new();
    loop {
        let request = client.post_request("/api/generate-image", &json!({ "prompt": "a red boat" }));
        let Ok(answer) = try_answer(request).await else { return acknowledged };
        if answer.status == 200 {
            acknowledged.push(answer.json()["image"]["id"].as_str().unwrap().to_owned());
            done.fetch_add(1, Ordering::AcqRel);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_acknowledged_survives_kills_and_no_record_lacks_its_file() {
    let upstream = Upstream::start(answer_of(&[picture(Size(1024, 1024))], None));
    let folder = tempfile::tempdir().unwrap();
    let text = settings(&openai(&upstream), "[images]\nowner_pictures = 100000\nowner_mib = 100000\n");
    let (mut server, mut client) = start(folder.path(), &text);
    let mut known: Vec<String> = Vec::new();
    for round in 1..=KILLS {
        let done = Arc::new(AtomicUsize::new(0));
        let going: Vec<_> = (0..WORKERS).map(|_| tokio::spawn(draws(client.clone(), Arc::clone(&done)))).collect();
        wait_until("they draw", || done.load(Ordering::Acquire) >= 3 + round).await;
        server.signal("KILL");
        known.extend(join_all(going).await.into_iter().flat_map(Result::unwrap));
        server.ended();
        (server, client) = start(folder.path(), &text);
        let (mut listed, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = client.get(&format!("/api/images?limit=200{cursor}")).await.json();
            listed.extend(
                page["images"].as_array().unwrap().iter().map(|image| image["id"].as_str().unwrap().to_owned()),
            );
            let Some(next) = page["next_cursor"].as_str() else { break };
            cursor = format!("&cursor={next}");
        }
        assert!(known.iter().all(|id| listed.contains(id)), "round {round}: an acknowledged picture is gone");
        for id in &listed {
            assert_eq!(client.get(&format!("/api/images/{id}")).await.status, 200, "round {round}: {id} has no file");
        }
    }
}
