use super::*;

#[tokio::test]
async fn a_stream_begins_with_the_level_and_ends_with_the_whole_answer() {
    let muster = Muster::start(UNLIMITED);
    let medical = Medical::of(&muster);
    let mut events = medical.stream(&json!({ "message": MILD, "stream": true })).await;
    assert_eq!(events.status, 200);
    assert!(events.headers["content-type"].to_str().unwrap().starts_with("text/event-stream"));
    assert_eq!(events.headers["cache-control"], "no-store");
    let all = events.rest().await;
    let names: Vec<&str> = all.iter().map(|event| event.name.as_deref().unwrap()).collect();
    assert_eq!((names[0], names[1], *names.last().unwrap()), ("triage", "delta", "done"));
    assert!(names[1..names.len() - 1].iter().all(|name| *name == "delta"));
    let text: String = all
        .iter()
        .filter(|event| event.name.as_deref() == Some("delta"))
        .map(|event| event.json()["text"].as_str().unwrap().to_owned())
        .collect();
    let done = all.last().unwrap().json();
    assert_eq!(text.trim_end(), done["response"].as_str().unwrap());
    assert_eq!(all[0].json(), done["triage"]);
    let whole = medical.chat(json!({ "message": MILD })).await;
    assert_eq!(done["response"], whole["response"], "the same answer as without a stream");
}

#[tokio::test]
async fn a_refused_request_for_a_stream_is_a_plain_error() {
    let muster = Muster::start(UNLIMITED);
    let refused = Medical::of(&muster).post(CHAT, &json!({ "message": "", "stream": true })).await;
    assert_eq!((refused.status, refused.json()["error"]["field"].as_str()), (400, Some("message")));
}
