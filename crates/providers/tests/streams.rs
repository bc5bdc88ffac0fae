//! Streams over real sockets: complete, truncated and late ones, and the release of the connection.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails; clippy.toml exempts only the test functions themselves"
)]

mod support;

use std::time::Duration;

use futures::{FutureExt, StreamExt};
use muster_providers::{Adapter, Call, ChatEvent, ChatStream, Fault, FaultClass, FinishReason, Phase, Usage};
use support::{
    Conn, DONE, LONG, SHORT, USAGE, adapter, answering, call, call_within, collect, delta, events, finish, http, serve,
    text,
};
use tokio::sync::mpsc;

const FIGURES: Option<Usage> = Some(Usage { prompt_tokens: 5, completion_tokens: 2, estimated: false });

fn done(finish: FinishReason, usage: Option<Usage>) -> Result<ChatEvent, Fault> {
    Ok(ChatEvent::Done { finish, usage })
}

async fn open(response: String, call: Call) -> Result<ChatStream, Fault> {
    adapter(answering(response).await).stream(call).await
}

async fn fault_of(response: String) -> Fault {
    match open(response, call()).await {
        Err(fault) => fault,
        Ok(_) => panic!("the stream opened"),
    }
}

fn call_with(first_delta: Duration, between_deltas: Duration) -> Call {
    let mut timeouts = call().timeouts;
    timeouts.first_delta = first_delta;
    timeouts.between_deltas = between_deltas;
    call_within(timeouts)
}

#[tokio::test]
async fn complete_and_incomplete_streams_are_distinguished() {
    use FinishReason::{ContentFilter, Length, Stop};
    let role = "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n";
    let hi = format!("{role}{}{}", delta("He"), delta("y"));
    let last_with_usage = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"y\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":2}}\n\n";
    let thinking = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":null,\"reasoning_content\":\"hm\"}}]}\n\n";
    let rows = [
        ("by the book", format!("{hi}{}{USAGE}{DONE}", finish("stop")), done(Stop, FIGURES)),
        ("no usage", format!("{hi}{}{DONE}", finish("length")), done(Length, None)),
        ("no marker", format!("{hi}{}{USAGE}", finish("stop")), done(Stop, FIGURES)),
        ("neither", format!("{hi}{}", finish("content_filter")), done(ContentFilter, None)),
        ("no reason", format!("{hi}{DONE}"), done(Stop, None)),
        ("usage on the last", format!("{}{last_with_usage}{DONE}", delta("He")), done(Stop, FIGURES)),
        ("comments and thinking", format!(": ping\n\n{thinking}{hi}{}{DONE}", finish("stop")), done(Stop, None)),
        (
            "CRLF, no space",
            format!("{hi}{}{DONE}", finish("stop")).replace('\n', "\r\n").replace("data: ", "data:"),
            done(Stop, None),
        ),
        ("a stumble after the end", format!("{hi}{}data: {{oops\n\n", finish("stop")), done(Stop, None)),
    ];
    for (name, body, end) in rows {
        let events = collect(open(events(&body), call()).await.unwrap()).await;
        assert_eq!(text(&events), "Hey", "{name}");
        assert_eq!(events.last(), Some(&end), "{name}");
        assert_eq!(events.len(), 3, "{name}: {events:?}");
    }
}

#[tokio::test]
async fn an_answer_without_text_but_with_a_reason_is_proper() {
    let stream = open(events(&format!("{}{USAGE}{DONE}", finish("stop"))), call()).await;
    assert_eq!(collect(stream.unwrap()).await, [done(FinishReason::Stop, FIGURES)]);
}

#[tokio::test]
async fn an_answer_in_one_piece_becomes_one_delta() {
    let body = r#"{"model":"m-1","choices":[{"index":0,"message":{"role":"assistant","content":"Hey"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":2}}"#;
    let addr = answering(http("200 OK", "", body)).await;
    let events = collect(adapter(addr).stream(call()).await.unwrap()).await;
    assert_eq!(events, [Ok(ChatEvent::text("Hey")), done(FinishReason::Stop, FIGURES)]);
    let reply = adapter(addr).complete(call()).await.unwrap();
    assert_eq!((reply.first.content.as_str(), reply.model.as_str()), ("Hey", "m-1"));
    assert_eq!((reply.first.finish, reply.usage), (FinishReason::Stop, FIGURES));
}

#[tokio::test]
async fn an_end_before_the_first_text_is_still_hidden() {
    let role = "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n";
    for body in
        ["", DONE, role, &format!("{role}{DONE}"), ": ping\n\n", "data: {\"choices\": [\n\n", "data: nonsense\n\n"]
    {
        let fault = fault_of(events(body)).await;
        assert_eq!((fault.class, fault.phase), (FaultClass::Transient, Phase::FirstDelta), "{body}");
    }
    let page = http("200 OK", "", "<html>hello</html>").replace("application/json", "text/html");
    let fault = fault_of(page).await;
    assert_eq!((fault.class, fault.phase), (FaultClass::Transient, Phase::FirstDelta));
}

/// Ten deltas, then each way to break: the reader gets the ten, then the truth, then the end.
#[tokio::test]
async fn a_break_after_ten_deltas_is_reported() {
    let ten: String = (0..10).map(|n| delta(&n.to_string())).collect();
    let chunk = format!("{:x}\r\n{ten}\r\n", ten.len());
    let chunked =
        format!("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}");
    let rows = [
        ("a plain close", events(&ten), FaultClass::Transient),
        ("a close inside a chunked body", chunked, FaultClass::Transient),
        ("malformed JSON", events(&format!("{ten}data: {{\"choices\":[\n\n")), FaultClass::Transient),
        (
            "an error object",
            events(&format!("{ten}data: {{\"error\":{{\"message\":\"died\"}}}}\n\n")),
            FaultClass::Transient,
        ),
        (
            "an error event",
            events(&format!("{ten}event: error\ndata: {{\"code\":429,\"message\":\"slow\"}}\n\n")),
            FaultClass::Throttled,
        ),
        ("a reason of error", events(&format!("{ten}{}", finish("error"))), FaultClass::Transient),
        ("a giant event", events(&format!("{ten}data: {}", "x".repeat(1024 * 1024 + 1))), FaultClass::Transient),
    ];
    for (name, response, class) in rows {
        let events = collect(open(response, call()).await.unwrap()).await;
        assert_eq!(text(&events), "0123456789", "{name}");
        assert_eq!(events.len(), 11, "{name}");
        let fault = events[10].clone().unwrap_err();
        assert_eq!((fault.class, fault.phase), (class, Phase::BetweenDeltas), "{name}: {fault:?}");
    }
}

/// Sends `event` again whenever the client has taken the last one, until it closes: a server that keeps the line busy
/// and never sends anything.
async fn keep_busy(mut conn: Conn, before: String, event: &'static str) {
    conn.request().await;
    conn.events().await;
    conn.send(&before).await;
    let mut beat = tokio::time::interval(SHORT / 8);
    loop {
        tokio::select! {
            () = conn.closed() => return,
            _ = beat.tick() => {}
        }
        conn.send(event).await;
    }
}

const EMPTY: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\"}}]}\n\n";

#[tokio::test]
async fn keep_alives_and_empty_deltas_do_not_hold_off_the_first_delta() {
    for event in [": keep-alive\n\n", EMPTY] {
        let addr = serve(move |conn| keep_busy(conn, String::new(), event)).await;
        let Err(fault) = adapter(addr).stream(call_with(SHORT, LONG)).await else {
            panic!("the stream opened");
        };
        assert_eq!((fault.class, fault.phase), (FaultClass::Transient, Phase::FirstDelta), "{event}");
    }
}

#[tokio::test]
async fn keep_alives_and_empty_deltas_do_not_hold_off_the_next_delta() {
    for event in [": keep-alive\n\n", EMPTY] {
        let addr = serve(move |conn| keep_busy(conn, delta("a"), event)).await;
        let stream = adapter(addr).stream(call_with(LONG, SHORT)).await.unwrap();
        let events = collect(stream).await;
        assert_eq!(events.len(), 2, "{event}");
        let fault = events[1].clone().unwrap_err();
        assert_eq!((fault.class, fault.phase), (FaultClass::Transient, Phase::BetweenDeltas));
    }
}

#[tokio::test]
async fn a_finished_answer_does_not_wait_for_usage_for_ever() {
    let addr = serve(|conn| keep_busy(conn, format!("{}{}", delta("a"), finish("stop")), ": hm\n\n")).await;
    let events = collect(adapter(addr).stream(call_with(LONG, SHORT)).await.unwrap()).await;
    assert_eq!(events.last(), Some(&done(FinishReason::Stop, None)));
}

/// The limit of the next delta runs only while the reader waits for it.
#[tokio::test]
async fn a_slow_reader_is_not_the_providers_fault() {
    let (addr, mut closed) = watched(delta("a")).await;
    let mut stream = adapter(addr).stream(call_with(LONG, SHORT)).await.unwrap();
    assert_eq!(stream.next().await, Some(Ok(ChatEvent::text("a"))));
    let unread = tokio::time::timeout(SHORT * 2, closed.recv()).await;
    assert!(unread.is_err(), "the connection was given up while nobody read");
    let begun = tokio::time::Instant::now();
    assert!(stream.next().await.unwrap().is_err());
    assert!(begun.elapsed() >= SHORT);
}

/// Unread data stays with the provider: only the connection's buffers and a few chunks are held.
#[tokio::test]
async fn a_slow_reader_holds_the_provider_back() {
    const FLOOD: usize = 128 * 1024 * 1024;
    let (report, mut reports) = mpsc::channel(1);
    let addr = serve(move |mut conn| {
        let report = report.clone();
        async move {
            conn.request().await;
            conn.events().await;
            let some = delta(&"x".repeat(1000)).repeat(100);
            let mut sent = 0;
            while sent < FLOOD && tokio::time::timeout(SHORT, conn.send(&some)).await.is_ok() {
                sent += some.len();
            }
            report.send(sent).await.unwrap();
        }
    })
    .await;
    let stream = adapter(addr).stream(call()).await.unwrap();
    assert!(reports.recv().await.unwrap() < FLOOD / 2);
    drop(stream);
}

/// In one piece, and each as an HTTP chunk of its own, as servers send them.
#[tokio::test]
async fn deltas_that_came_together_are_ready_together() {
    let all: Vec<String> = (0..100).map(|n| delta(&format!("{n},"))).chain([finish("stop"), DONE.to_owned()]).collect();
    let chunks: String = all.iter().map(|event| format!("{:x}\r\n{event}\r\n", event.len())).collect();
    let chunked = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}0\r\n\r\n"
    );
    for response in [events(&all.concat()), chunked] {
        let mut stream = open(response, call()).await.unwrap();
        let expected: String = (0..100).map(|n| format!("{n},")).collect();
        let (mut text, mut waits) = (String::new(), 0);
        loop {
            // A hundred events come in a few reads: most of them must not need another wake-up.
            let event = if let Some(event) = stream.next().now_or_never() {
                event
            } else {
                waits += 1;
                stream.next().await
            };
            match event.unwrap().unwrap() {
                ChatEvent::Delta(delta) => text.push_str(&delta.text().unwrap()),
                ChatEvent::Done { .. } => break,
            }
        }
        assert_eq!(text, expected);
        assert!(waits < 20, "{waits} waits for 100 deltas of one write");
    }
}

/// Reports when the client has closed, after `before` was sent.
async fn watched(before: String) -> (std::net::SocketAddr, mpsc::Receiver<()>) {
    let (closed, reports) = mpsc::channel(1);
    let addr = serve(move |mut conn| {
        let (closed, before) = (closed.clone(), before.clone());
        async move {
            conn.request().await;
            if !before.is_empty() {
                conn.events().await;
                conn.send(&before).await;
            }
            conn.closed().await;
            closed.send(()).await.unwrap();
        }
    })
    .await;
    (addr, reports)
}

#[tokio::test]
async fn dropping_the_stream_closes_the_connection() {
    let (addr, mut closed) = watched(delta("a")).await;
    let mut stream = adapter(addr).stream(call()).await.unwrap();
    assert_eq!(stream.next().await, Some(Ok(ChatEvent::text("a"))));
    assert!(closed.try_recv().is_err());
    drop(stream);
    tokio::time::timeout(LONG, closed.recv()).await.unwrap().unwrap();
}

#[tokio::test]
async fn dropping_a_call_that_waits_closes_the_connection() {
    for before in [String::new(), ": no text yet\n\n".to_owned()] {
        let (addr, mut closed) = watched(before).await;
        let adapter = adapter(addr);
        for waiting in [adapter.stream(call()).map(|_| ()).boxed(), adapter.complete(call()).map(|_| ()).boxed()] {
            // Long enough to be on the wire; the server never answers.
            assert!(tokio::time::timeout(SHORT, waiting).await.is_err());
            tokio::time::timeout(LONG, closed.recv()).await.unwrap().unwrap();
        }
    }
}

#[tokio::test]
async fn a_fault_closes_the_connection() {
    let (addr, mut closed) = watched(": hm\n\n".to_owned()).await;
    assert!(adapter(addr).stream(call_with(SHORT, LONG)).await.is_err());
    tokio::time::timeout(LONG, closed.recv()).await.unwrap().unwrap();
}
