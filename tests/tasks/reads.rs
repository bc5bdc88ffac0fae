//! Lists, journals and streams.

use serde_json::{Value, json};

use super::world::{begin, endless, key, quick, reaches, runs, server, verb};
use crate::support::client::{Client, answer};

fn ids(list: &Value) -> Vec<&str> {
    list["tasks"].as_array().unwrap().iter().map(|task| task["task_id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn the_list_pages_by_cursor_within_its_filters() {
    let muster = server();
    let client = key(&muster, &["agents"], &[]).await;
    let mut made = Vec::new();
    for _ in 0..3 {
        let id = begin(&client, &quick()).await;
        reaches(&client, &id, &["succeeded"]).await;
        made.insert(0, id);
    }
    let all = client.get("/api/v1/tasks").await.json();
    assert_eq!(ids(&all), made, "newest first");
    let mut path = "/api/v1/tasks?status=succeeded,failed&agent=json-wrangler&limit=1".to_owned();
    let mut seen = Vec::new();
    loop {
        let page = client.get(&path).await.json();
        seen.extend(ids(&page).into_iter().map(str::to_owned));
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        // The same filter in another order.
        path = format!("/api/v1/tasks?agent=json-wrangler&limit=1&status=failed&status=succeeded&cursor={cursor}");
        let other = client.get(&format!("/api/v1/tasks?status=failed&cursor={cursor}")).await;
        assert_eq!((other.status, &other.json()["detail"][0]["loc"]), (422, &json!(["query", "cursor"])));
    }
    assert_eq!(seen, made);

    let second = client.get(&format!("/api/v1/tasks/{}", made[1])).await.json();
    let at = second["created_at"].as_str().unwrap();
    let from = client.get(&format!("/api/v1/tasks?from={at}")).await.json();
    assert!(ids(&from).contains(&made[1].as_str()), "from is inclusive");
    let to = client.get(&format!("/api/v1/tasks?to={at}")).await.json();
    assert!(!ids(&to).contains(&made[1].as_str()), "to is exclusive");
    assert_eq!(client.get("/api/v1/tasks?status=killed").await.json()["tasks"], json!([]));
    for bad in ["status=lost", "priority=urgent", "from=today", "limit=0", "cursor=x"] {
        assert_eq!(client.get(&format!("/api/v1/tasks?{bad}")).await.status, 422, "{bad}");
    }
}

#[tokio::test]
async fn another_key_s_task_is_not_there() {
    let muster = server();
    let (one, other) = (key(&muster, &["agents"], &[]).await, key(&muster, &["agents"], &[]).await);
    let id = begin(&one, &endless()).await;
    for path in [format!("/api/v1/tasks/{id}"), format!("/api/v1/tasks/{id}/events")] {
        assert_eq!(other.get(&path).await.status, 404, "{path}");
    }
    assert_eq!(verb(&other, &id, "kill", &json!({})).await.status, 404);
    assert_eq!(other.get("/api/v1/tasks").await.json()["tasks"], json!([]));
    let auditor = key(&muster, &["agents"], &["auditor"]).await;
    assert_eq!(auditor.get(&format!("/api/v1/tasks/{id}")).await.status, 200);
    assert_eq!(verb(&auditor, &id, "kill", &json!({})).await.status, 403);
    let operations = key(&muster, &["agents"], &["operations"]).await;
    assert_eq!(verb(&operations, &id, "kill", &json!({})).await.status, 202);
    reaches(&one, &id, &["killed"]).await;
}

#[tokio::test]
async fn the_journal_is_a_page_in_the_order_of_seq() {
    let muster = server();
    let client = key(&muster, &["agents"], &[]).await;
    let id = begin(&client, &quick()).await;
    let task = reaches(&client, &id, &["succeeded"]).await;
    let path = format!("/api/v1/tasks/{id}/events");
    let page = client.get(&path).await.json();
    let seqs: Vec<u64> = page["events"].as_array().unwrap().iter().map(|it| it["seq"].as_u64().unwrap()).collect();
    assert!(seqs.is_sorted() && seqs.len() >= 4, "{seqs:?}");
    assert_eq!((page["after"].as_u64(), page["more"].as_bool()), (task["seq"].as_u64(), Some(false)));
    let names: Vec<&str> = page["events"].as_array().unwrap().iter().map(|it| it["event"].as_str().unwrap()).collect();
    for name in ["task.state", "task.step", "task.end"] {
        assert!(names.contains(&name), "{name} is not in {names:?}");
    }
    let rest = client.get(&format!("{path}?after={}", seqs[seqs.len() - 1])).await.json();
    assert_eq!(rest["events"], json!([]));
}

async fn stream(client: &Client, id: &str, last: Option<&str>) -> String {
    let request = client.request(reqwest::Method::GET, &format!("/api/v1/tasks/{id}/events"));
    let request = request.header("accept", "text/event-stream");
    let request = last.map_or_else(
        || request.try_clone().unwrap(),
        |last| request.try_clone().unwrap().header("last-event-id", last),
    );
    let got = answer(request).await;
    assert_eq!(
        (got.status, got.header("content-type")),
        (200, Some("text/event-stream; charset=utf-8")),
        "{}",
        got.text
    );
    got.text
}

#[tokio::test]
async fn the_stream_has_the_same_events_and_ends_with_the_task() {
    let muster = server();
    let client = key(&muster, &["agents"], &[]).await;
    let id = begin(&client, &quick()).await;
    // While the task runs: the stream continues to the end.
    let live = stream(&client, &id, None).await;
    let lines = |text: &str, field: &str| -> Vec<String> {
        text.lines().filter_map(|line| line.strip_prefix(field)).map(str::to_owned).collect()
    };
    let names = lines(&live, "event: ");
    assert!(names.contains(&"task.end".to_owned()), "{live}");
    let journal: Vec<String> = names.iter().filter(|name| *name != "log").cloned().collect();
    let page = client.get(&format!("/api/v1/tasks/{id}/events")).await.json();
    let paged: Vec<&str> = page["events"].as_array().unwrap().iter().map(|it| it["event"].as_str().unwrap()).collect();
    assert_eq!(journal, paged);
    // Resumed from the middle.
    let last_id = &lines(&live, "id: ")[names.len() / 2];
    let rest = stream(&client, &id, Some(last_id)).await;
    // Log lines are interleaved with the entries: none may be duplicated or missing.
    let sorted = |names: &[String]| {
        let mut names = names.to_vec();
        names.sort();
        names
    };
    assert_eq!(sorted(&lines(&rest, "event: ")), sorted(&names[names.len() / 2 + 1..]));
    let bad = client.request(reqwest::Method::GET, &format!("/api/v1/tasks/{id}/events"));
    let bad = answer(bad.header("accept", "text/event-stream").header("last-event-id", "here")).await;
    assert_eq!(bad.status, 422);
}

#[tokio::test]
async fn a_long_poll_answers_at_the_change() {
    let muster = server();
    let client = key(&muster, &["agents"], &[]).await;
    let id = begin(&client, &endless()).await;
    let task = runs(&muster, &client, &id).await;
    let path = format!("/api/v1/tasks/{id}?wait=50&after_seq={}", task["seq"]);
    let begun = std::time::Instant::now();
    let none = json!({});
    let (changed, killed) = tokio::join!(client.get(&path), verb(&client, &id, "kill", &none));
    assert_eq!(killed.status, 202, "{}", killed.text);
    assert!(changed.json()["seq"].as_u64() > task["seq"].as_u64(), "{}", changed.text);
    assert!(begun.elapsed().as_secs() < 30, "long before its time is over");
    assert_eq!(client.get(&format!("/api/v1/tasks/{id}?wait=61")).await.status, 422);
}
