//! Streamed responses: complete and truncated ones, and the release of the connection.

use futures::{FutureExt, StreamExt};
use muster_providers::{Adapter, ChatEvent, Delta, Fault, FaultClass, FinishReason, Phase, Timeouts, ToolDelta};
use proptest::prelude::*;
use serde_json::json;
use tokio::sync::mpsc;

use super::support::{LONG, SHORT, answering, call, call_within, collect, events, http, serve, text};
use super::{FIGURES, adapter, call_for, candidate, delta, event, last, open, refused, usage};

fn done(finish: FinishReason) -> Result<ChatEvent, Fault> {
    Ok(ChatEvent::Done { finish, usage: FIGURES })
}

#[tokio::test]
async fn deltas_are_followed_by_the_last_usage() {
    let thinking = event(&json!({
        "candidates": [candidate(0, json!([{"text": "hm", "thought": true}]), "")],
        "usageMetadata": {"promptTokenCount": 5, "thoughtsTokenCount": 1},
    }));
    let body = format!("{thinking}{}{}{}", delta("He"), delta(""), last("y", "STOP"));
    let events = collect(open(&body, call()).await.unwrap()).await;
    assert_eq!(events, [Ok(ChatEvent::text("He")), Ok(ChatEvent::text("y")), done(FinishReason::Stop)]);
}

#[tokio::test]
async fn complete_and_incomplete_streams_are_distinguished() {
    use FinishReason::{ContentFilter, Length, Stop};
    let every = format!("{}{}", last("He", "STOP"), last("y", "STOP"));
    let rows = [
        ("a length", format!("{}{}", delta("He"), last("y", "MAX_TOKENS")), "Hey", Length),
        ("a filter after some text", format!("{}{}", delta("Hey"), last("", "SAFETY")), "Hey", ContentFilter),
        ("no text but a reason", last("", "STOP"), "", Stop),
        ("a reason with every event", every, "Hey", Stop),
        ("a stumble after the end", format!("{}data: {{oops\n\n", last("Hey", "STOP")), "Hey", Stop),
        ("an error after the end", format!("{}data: {{\"error\":{{}}}}\n\n", last("Hey", "STOP")), "Hey", Stop),
    ];
    for (name, body, expected, finish) in rows {
        let events = collect(open(&body, call()).await.unwrap()).await;
        assert_eq!(text(&events), expected, "{name}");
        assert_eq!(events.last(), Some(&done(finish)), "{name}");
    }
}

#[tokio::test]
async fn a_blocked_prompt_is_an_empty_filtered_answer() {
    let body = event(&json!({"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": usage()}));
    let events = collect(open(&body, call_for(2)).await.unwrap()).await;
    let other = Delta::Finish { choice: 1, finish: FinishReason::ContentFilter };
    assert_eq!(events, [Ok(ChatEvent::Delta(other)), done(FinishReason::ContentFilter)]);
}

#[tokio::test]
async fn calls_are_numbered_over_all_events() {
    let part = |id: &str| json!({"functionCall": {"id": id, "name": "weather", "args": {"city": id}}});
    let first = event(&json!({"candidates": [candidate(0, json!([part("a"), part("b")]), "")]}));
    let body = format!(
        "{first}{}",
        event(&json!({
            "candidates": [candidate(0, json!([part("c")]), "STOP")], "usageMetadata": usage(),
        }))
    );
    let events = collect(open(&body, call()).await.unwrap()).await;
    let mut expected: Vec<_> = (0..)
        .zip(["a", "b", "c"])
        .map(|(index, id)| {
            let (name, arguments) = (Some("weather".to_owned()), format!("{{\"city\":\"{id}\"}}"));
            let call = ToolDelta { index, id: Some(id.to_owned()), name, arguments };
            Ok(ChatEvent::Delta(Delta::Tool { choice: 0, call }))
        })
        .collect();
    expected.push(done(FinishReason::ToolCalls));
    assert_eq!(events, expected);
}

#[tokio::test]
async fn several_choices_are_streamed_together() {
    let both = event(&json!({"candidates": [
        candidate(0, json!([{"text": "He"}]), ""), candidate(1, json!([{"text": "Ho"}]), "MAX_TOKENS"),
        candidate(7, json!([{"text": "nobody asked"}]), "STOP"),
    ]}));
    let events = collect(open(&format!("{both}{}", last("y", "STOP")), call_for(2)).await.unwrap()).await;
    let expected = [
        Ok(ChatEvent::text("He")),
        Ok(ChatEvent::Delta(Delta::Text { choice: 1, text: "Ho".to_owned() })),
        Ok(ChatEvent::Delta(Delta::Finish { choice: 1, finish: FinishReason::Length })),
        Ok(ChatEvent::text("y")),
        done(FinishReason::Stop),
    ];
    assert_eq!(events, expected);
}

#[tokio::test]
async fn a_truncated_second_choice_breaks_the_stream() {
    let other = event(&json!({"candidates": [candidate(1, json!([{"text": "Ho"}]), "")]}));
    let events = collect(open(&format!("{other}{}", last("Hey", "STOP")), call_for(2)).await.unwrap()).await;
    assert!(events.last().unwrap().is_err(), "{events:?}");
    // A choice that the model never returns is not an error: some models return only one.
    let events = collect(open(&last("Hey", "STOP"), call_for(2)).await.unwrap()).await;
    assert_eq!(events, [Ok(ChatEvent::text("Hey")), done(FinishReason::Stop)]);
}

#[tokio::test]
async fn a_break_before_the_first_text_can_fail_over() {
    for body in [
        String::new(),
        ": ping\n\n".to_owned(),
        delta(""),
        "data: {\"candidates\": [\n\n".to_owned(),
        "data: nonsense\n\n".to_owned(),
        last("", "MALFORMED_FUNCTION_CALL"),
        // Content beside the failure has not been emitted yet.
        last("let me", "MALFORMED_FUNCTION_CALL"),
        last("", "OTHER"),
    ] {
        let fault = refused(&adapter(answering(events(&body)).await), call()).await;
        assert_eq!((fault.class, fault.phase), (FaultClass::Transient, Phase::FirstDelta), "{body}");
    }
    let page = http("200 OK", "", "<html>hello</html>").replace("application/json", "text/html");
    let fault = refused(&adapter(answering(page).await), call()).await;
    assert_eq!((fault.class, fault.phase), (FaultClass::Transient, Phase::FirstDelta));
}

#[tokio::test]
async fn a_break_after_some_deltas_is_told() {
    let error = |code: u16, status: &str| json!({"error": {"code": code, "message": "no more", "status": status}});
    let exhausted = error(429, "RESOURCE_EXHAUSTED");
    let rows = [
        ("a plain close", String::new(), FaultClass::Transient),
        ("malformed JSON", "data: {\"candidates\":[\n\n".to_owned(), FaultClass::Transient),
        ("an error", event(&error(503, "UNAVAILABLE")), FaultClass::Transient),
        ("a throttle", event(&exhausted), FaultClass::Throttled),
        ("an error in a list", event(&json!([exhausted])), FaultClass::Throttled),
        ("a failed call", last("", "MALFORMED_FUNCTION_CALL"), FaultClass::Transient),
        ("a giant event", format!("data: {}", "x".repeat(1024 * 1024 + 1)), FaultClass::Transient),
    ];
    for (name, end, class) in rows {
        let body = format!("{}{}{end}", delta("He"), delta("y"));
        let events = collect(open(&body, call()).await.unwrap()).await;
        assert_eq!((text(&events).as_str(), events.len()), ("Hey", 3), "{name}");
        let fault = events[2].clone().unwrap_err();
        assert_eq!((fault.class, fault.phase), (class, Phase::BetweenDeltas), "{name}: {fault:?}");
    }
}

/// Sends the headers and `before`, then nothing more, and reports when the client closes the connection.
async fn hanging(before: String) -> (std::net::SocketAddr, mpsc::Receiver<()>) {
    let (closed, reports) = mpsc::channel(1);
    let addr = serve(move |mut conn| {
        let (closed, before) = (closed.clone(), before.clone());
        async move {
            conn.request().await;
            conn.events().await;
            conn.send(&before).await;
            conn.closed().await;
            closed.send(()).await.unwrap();
        }
    })
    .await;
    (addr, reports)
}

fn within(change: impl FnOnce(&mut Timeouts)) -> muster_providers::Call {
    let mut timeouts = call().timeouts;
    change(&mut timeouts);
    call_within(timeouts)
}

async fn reported(closed: &mut mpsc::Receiver<()>) {
    tokio::time::timeout(LONG, closed.recv()).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_hang_before_the_first_text_runs_into_its_bound() {
    for before in [String::new(), delta("")] {
        let (addr, mut closed) = hanging(before).await;
        let fault = refused(&adapter(addr), within(|t| t.first_delta = SHORT)).await;
        assert_eq!((fault.class, fault.phase), (FaultClass::Transient, Phase::FirstDelta), "{fault:?}");
        reported(&mut closed).await;
    }
}

#[tokio::test]
async fn a_hang_between_deltas_runs_into_its_bound() {
    let (addr, mut closed) = hanging(delta("a")).await;
    let events = collect(adapter(addr).stream(within(|t| t.between_deltas = SHORT)).await.unwrap()).await;
    assert_eq!((events.len(), &events[0]), (2, &Ok(ChatEvent::text("a"))));
    let fault = events[1].clone().unwrap_err();
    assert_eq!((fault.class, fault.phase), (FaultClass::Transient, Phase::BetweenDeltas), "{fault:?}");
    reported(&mut closed).await;
}

#[tokio::test]
async fn a_finished_answer_does_not_wait_for_the_bodys_end_for_ever() {
    let (addr, mut closed) = hanging(last("Hey", "STOP")).await;
    let events = collect(adapter(addr).stream(within(|t| t.between_deltas = SHORT)).await.unwrap()).await;
    assert_eq!(events, [Ok(ChatEvent::text("Hey")), done(FinishReason::Stop)]);
    reported(&mut closed).await;
}

#[tokio::test]
async fn dropping_the_stream_closes_the_connection() {
    let (addr, mut closed) = hanging(delta("a")).await;
    let mut stream = adapter(addr).stream(call()).await.unwrap();
    assert_eq!(stream.next().await, Some(Ok(ChatEvent::text("a"))));
    assert!(closed.try_recv().is_err());
    drop(stream);
    reported(&mut closed).await;
}

#[tokio::test]
async fn dropping_a_call_that_waits_closes_the_connection() {
    let (addr, mut closed) = hanging(": nothing yet\n\n".to_owned()).await;
    let adapter = adapter(addr);
    for waiting in [adapter.stream(call()).map(|_| ()).boxed(), adapter.complete(call()).map(|_| ()).boxed()] {
        // Long enough to be on the wire; the server never answers.
        assert!(tokio::time::timeout(SHORT, waiting).await.is_err());
        reported(&mut closed).await;
    }
}

/// An answer of text and calls, with whatever end.
fn answers() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-zäß€ ]{1,8}".prop_map(|events| delta(&events)),
        Just(event(&json!({"candidates": [candidate(0, json!([{"functionCall": {"name": "f"}}]), "")]}))),
        Just(": ping\r\n\r\n".to_owned()),
        Just("data: {\"candidates\":3}\r\n\r\n".to_owned()),
        Just(event(&json!({"error": {"code": 500, "message": "no", "status": "INTERNAL"}}))),
        Just(last("", "OTHER")),
        Just(last("z", "STOP")),
    ];
    proptest::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

/// Whether what was sent holds a proper end, judged by the events that arrived whole: the first one that ends or breaks
/// the answer decides.
fn ends_properly(sent: &str) -> bool {
    let mut spoken = false;
    // The CR of an event's empty line ends it; the LF after it has no effect.
    let whole = sent.rsplit_once("\r\n\r").map_or("", |(whole, _)| whole);
    for event in whole.split("\r\n\r") {
        if event.contains("\"error\"") || event.contains("\"candidates\":3") {
            return false;
        }
        if event.contains("\"OTHER\"") {
            return spoken;
        }
        if event.contains("\"STOP\"") {
            return true;
        }
        spoken |= event.contains("\"candidates\"");
    }
    false
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Wherever a stream is cut: one end, after which nothing comes, and `Done` only where a proper end had arrived
    /// before anything broke.
    #[test]
    fn a_stream_cut_anywhere_ends_once_and_correctly(body in answers(), cut in any::<prop::sample::Index>()) {
        // The body ends in the middle of a character too.
        let sent = body.as_bytes()[..cut.index(body.len() + 1)].to_vec();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let opened = runtime.block_on(async {
            let addr = answering_bytes(sent.clone()).await;
            match adapter(addr).stream(call()).await {
                Ok(stream) => collect(stream).await,
                Err(fault) => vec![Err(fault)],
            }
        });
        let ends = |events: &Result<ChatEvent, Fault>| !matches!(events, Ok(ChatEvent::Delta(_)));
        prop_assert_eq!(opened.iter().filter(|events| ends(events)).count(), 1, "{:?}", opened);
        prop_assert!(opened.last().is_some_and(ends), "{:?}", opened);
        let sent = String::from_utf8_lossy(&sent);
        prop_assert_eq!(matches!(opened.last(), Some(Ok(_))), ends_properly(&sent), "{}: {:?}", sent, opened);
    }
}

/// A stream of these bytes that ends with the connection.
async fn answering_bytes(body: Vec<u8>) -> std::net::SocketAddr {
    serve(move |mut conn| {
        let body = body.clone();
        async move {
            conn.request().await;
            conn.events().await;
            conn.send_bytes(&body).await;
        }
    })
    .await
}
