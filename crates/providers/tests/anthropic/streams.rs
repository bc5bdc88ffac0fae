//! Streamed answers: complete, cut and late ones, and the closing of connections.

use futures::{FutureExt, StreamExt};
use muster_providers::{Adapter, ChatEvent, Delta, FaultClass, FinishReason, Phase, ResponseFormat, ToolDelta, Usage};
use proptest::prelude::*;
use tokio::sync::mpsc;

use super::support::{Conn, SHORT, answering, collect, events, http, serve, text};
use super::*;

const FIGURES: Option<Usage> = Some(Usage { prompt_tokens: 25, completion_tokens: 15, estimated: false });

type Events = Vec<Result<ChatEvent, Fault>>;

fn done(finish: FinishReason, usage: Option<Usage>) -> Result<ChatEvent, Fault> {
    Ok(ChatEvent::Done { finish, usage })
}

fn tool(index: u32, id: Option<&str>, name: Option<&str>, arguments: &str) -> Result<ChatEvent, Fault> {
    let call =
        ToolDelta { index, id: id.map(str::to_owned), name: name.map(str::to_owned), arguments: arguments.to_owned() };
    Ok(ChatEvent::Delta(Delta::Tool { choice: 0, call }))
}

async fn open(response: String, request: ChatRequest) -> Result<ChatStream, Fault> {
    adapter(answering(response).await).stream(asking(request)).await
}

async fn read_events(body: &str, request: ChatRequest) -> Events {
    collect(open(events(body), request).await.unwrap()).await
}

fn hey() -> String {
    format!("{}{}{PING}{}{}{}", start(), text_block(0), delta(0, "He"), delta(0, "y"), stop_block(0))
}

#[tokio::test]
async fn complete_and_incomplete_streams_are_distinguished() {
    use FinishReason::{ContentFilter, Length, Stop};
    let thinking = [
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Hm."}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "EqQB"}}),
        json!({"type": "content_block_stop", "index": 0}),
    ]
    .map(|data| event(&data))
    .concat();
    let thought = format!("{}{thinking}{}{}{}", start(), text_block(1), delta(1, "He"), delta(1, "y"));
    let unknown = event(&json!({"type": "an_event_of_tomorrow", "content_block": 7}));
    let no_figures = hey().replace(r#""usage":{"input_tokens":25,"output_tokens":1}"#, r#""usage":null"#);
    let rows = [
        ("by the book", format!("{}{}{STOP}", hey(), ending("end_turn")), done(Stop, FIGURES)),
        ("no marker", format!("{}{}", hey(), ending("max_tokens")), done(Length, FIGURES)),
        ("refused in the middle", format!("{}{}{STOP}", hey(), ending("refusal")), done(ContentFilter, FIGURES)),
        ("thinking first", format!("{thought}{}{STOP}", ending("end_turn")), done(Stop, FIGURES)),
        ("unknown events", format!("{}{unknown}{}{STOP}", hey(), ending("end_turn")), done(Stop, FIGURES)),
        ("a stumble after the end", format!("{}{}data: {{oops\n\n", hey(), ending("end_turn")), done(Stop, FIGURES)),
        ("no figures of the prompt", format!("{no_figures}{}{STOP}", ending("end_turn")), done(Stop, None)),
        (
            "no reason",
            format!("{}{STOP}", hey()),
            done(Stop, Some(Usage { prompt_tokens: 25, completion_tokens: 1, estimated: false })),
        ),
    ];
    for (name, body, end) in rows {
        let events = read_events(&body, hello()).await;
        assert_eq!(text(&events), "Hey", "{name}");
        assert_eq!(events.last(), Some(&end), "{name}");
        assert_eq!(events.len(), 3, "{name}: {events:?}");
    }
    let refusal = read_events(&format!("{}{}{STOP}", start(), ending("refusal")), hello()).await;
    assert_eq!(refusal, [done(ContentFilter, FIGURES)]);
}

/// The last counts are valid: cache counts arrive late if the provider's own tools were used.
#[tokio::test]
async fn figures_are_cumulative() {
    let late = event(&json!({"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": null},
        "usage": {"input_tokens": 30, "cache_creation_input_tokens": 4, "cache_read_input_tokens": 200, "output_tokens": 9}}));
    let events = read_events(&format!("{}{late}{STOP}", hey()), hello()).await;
    let usage = Usage { prompt_tokens: 234, completion_tokens: 9, estimated: false };
    assert_eq!(events.last(), Some(&done(FinishReason::Stop, Some(usage))));
}

#[tokio::test]
async fn tools_are_counted_from_nought_and_come_in_pieces() {
    let server_tool = [
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{\"query\":1}"}}),
    ]
    .map(|data| event(&data))
    .concat();
    let body = [
        start(),
        text_block(0),
        delta(0, "Okay"),
        stop_block(0),
        server_tool,
        tool_block(2, "toolu_01T1x1fJ34qAmk2tNTrN7Up6", "get_weather"),
        json_delta(2, ""),
        json_delta(2, "{\"location\":"),
        json_delta(2, " \"San Francisco, CA\"}"),
        stop_block(2),
        tool_block(3, "toolu_02", "now"),
        stop_block(3),
        ending("tool_use"),
        STOP.to_owned(),
    ]
    .concat();
    let expected = [
        Ok(ChatEvent::text("Okay")),
        tool(0, Some("toolu_01T1x1fJ34qAmk2tNTrN7Up6"), Some("get_weather"), ""),
        tool(0, None, None, "{\"location\":"),
        tool(0, None, None, " \"San Francisco, CA\"}"),
        tool(1, Some("toolu_02"), Some("now"), ""),
        // A call without arguments has no piece of its own, and its text must still be JSON.
        tool(1, None, None, "{}"),
        done(FinishReason::ToolCalls, FIGURES),
    ];
    assert_eq!(read_events(&body, hello()).await, expected);
}

#[tokio::test]
async fn a_fence_around_requested_json_is_removed() {
    let pieces = ["``", "`json\n{\"a\":", " 1}", "\n`", "``"].map(|piece| delta(0, piece)).concat();
    let body = format!("{}{}{pieces}{}{}{STOP}", start(), text_block(0), stop_block(0), ending("end_turn"));
    let json = ChatRequest { format: ResponseFormat::JsonObject, ..hello() };
    let answer = read_events(&body, json).await;
    assert_eq!(text(&answer), "{\"a\": 1}");
    assert_eq!(answer.last(), Some(&done(FinishReason::Stop, FIGURES)));
    assert_eq!(text(&read_events(&body, hello()).await), "```json\n{\"a\": 1}\n```");
}

#[tokio::test]
async fn an_answer_in_one_piece_becomes_deltas() {
    let body = json!({"type": "message", "model": "m", "stop_reason": "tool_use",
        "content": [{"type": "text", "text": "Hey"}, {"type": "tool_use", "id": "t1", "name": "f", "input": {"a": 1}}],
        "usage": {"input_tokens": 25, "output_tokens": 15}});
    let events = collect(open(http("200 OK", "", &body.to_string()), hello()).await.unwrap()).await;
    let expected = [
        Ok(ChatEvent::text("Hey")),
        tool(0, Some("t1"), Some("f"), "{\"a\":1}"),
        done(FinishReason::ToolCalls, FIGURES),
    ];
    assert_eq!(events, expected);
}

#[tokio::test]
async fn a_break_before_the_first_content_can_fail_over() {
    let opened = format!("{}{}", start(), text_block(0));
    let bodies = [
        String::new(),
        STOP.to_owned(),
        opened.clone(),
        format!("{opened}{STOP}"),
        format!("{opened}{PING}"),
        format!("{opened}event: content_block_delta\ndata: {{\"type\":\n\n"),
        "data: nonsense\n\n".to_owned(),
        "data: {\"index\": 0}\n\n".to_owned(),
    ];
    for body in bodies {
        let fault = refused(open(events(&body), hello()).await);
        assert_eq!((fault.class, fault.phase), (FaultClass::Transient, Phase::FirstDelta), "{body}");
    }
    let page = http("200 OK", "", "<html>hello</html>").replace("application/json", "text/html");
    let fault = refused(open(page, hello()).await);
    assert_eq!((fault.class, fault.phase), (FaultClass::Transient, Phase::FirstDelta));
}

/// Ten deltas, then each kind of failure: the reader gets the ten, then the error, then the end.
#[tokio::test]
async fn a_break_after_ten_deltas_is_reported() {
    use FaultClass::{Client, Hard, Throttled, Transient};
    let deltas: String = (0..10).map(|n| delta(0, &n.to_string())).collect();
    let ten = format!("{}{}{deltas}", start(), text_block(0));
    let broken = |kind| format!("event: error\ndata: {}\n\n", error_body(kind, "no more"));
    let many: String = (0..1025).map(|n| tool_block(n, "t", "f")).collect();
    let rows = [
        ("a plain close", String::new(), Transient),
        ("malformed JSON", "data: {\"type\":\"content_\n\n".to_owned(), Transient),
        ("an event cut in its middle", "event: content_block_delta\ndata: {\"ty".to_owned(), Transient),
        ("an event without a type", "data: {}\n\n".to_owned(), Transient),
        ("a giant event", format!("data: {}", "x".repeat(1024 * 1024 + 1)), Transient),
        ("overloaded", broken("overloaded_error"), Transient),
        ("a failure", broken("api_error"), Transient),
        ("a time-out", broken("timeout_error"), Transient),
        ("too fast", broken("rate_limit_error"), Throttled),
        ("the key", broken("authentication_error"), Hard),
        ("money", broken("billing_error"), Hard),
        ("the model", broken("not_found_error"), Hard),
        ("the request", broken("invalid_request_error"), Client),
        ("its size", broken("request_too_large"), Client),
        ("an error without its name", format!("data: {}\n\n", error_body("overloaded_error", "x")), Transient),
        ("an error of plain text", "event: error\ndata: oops\n\n".to_owned(), Transient),
    ];
    for (name, end, class) in rows {
        let events = read_events(&format!("{ten}{end}"), hello()).await;
        assert_eq!(text(&events), "0123456789", "{name}");
        assert_eq!(events.len(), 11, "{name}");
        let fault = events[10].clone().unwrap_err();
        assert_eq!((fault.class, fault.phase), (class, Phase::BetweenDeltas), "{name}: {fault:?}");
    }
    let events = read_events(&format!("{ten}{many}"), hello()).await;
    assert_eq!(events.last().unwrap().as_ref().unwrap_err().class, Transient);
    assert_eq!(events.len(), 10 + 1024 + 1);
}

/// Sends `event` again and again until the client closes.
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

#[tokio::test]
async fn pings_do_not_hold_off_the_first_delta() {
    let addr = serve(|conn| keep_busy(conn, format!("{}{}", start(), text_block(0)), PING)).await;
    let fault = refused(adapter(addr).stream(within(|t| t.first_delta = SHORT)).await);
    assert_eq!((fault.class, fault.phase), (FaultClass::Transient, Phase::FirstDelta), "{fault:?}");
}

#[tokio::test]
async fn pings_do_not_hold_off_the_next_delta() {
    let addr = serve(|conn| keep_busy(conn, format!("{}{}{}", start(), text_block(0), delta(0, "a")), PING)).await;
    let events = collect(adapter(addr).stream(within(|t| t.between_deltas = SHORT)).await.unwrap()).await;
    assert_eq!(events.len(), 2);
    let fault = events[1].clone().unwrap_err();
    assert_eq!((fault.class, fault.phase), (FaultClass::Transient, Phase::BetweenDeltas), "{fault:?}");
}

#[tokio::test]
async fn a_finished_answer_does_not_wait_for_its_marker_for_ever() {
    let addr = serve(|conn| keep_busy(conn, format!("{}{}", hey(), ending("end_turn")), PING)).await;
    let events = collect(adapter(addr).stream(within(|t| t.between_deltas = SHORT)).await.unwrap()).await;
    assert_eq!(events.last(), Some(&done(FinishReason::Stop, FIGURES)));
}

/// Reports when the client has closed, after `before` was sent.
async fn watched(before: String) -> (SocketAddr, mpsc::Receiver<()>) {
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
    let (addr, mut closed) = watched(format!("{}{}{}", start(), text_block(0), delta(0, "a"))).await;
    let mut stream = adapter(addr).stream(asking(hello())).await.unwrap();
    assert_eq!(stream.next().await, Some(Ok(ChatEvent::text("a"))));
    assert!(closed.try_recv().is_err());
    drop(stream);
    tokio::time::timeout(LONG, closed.recv()).await.unwrap().unwrap();
}

#[tokio::test]
async fn dropping_a_call_that_waits_closes_the_connection() {
    for before in [String::new(), PING.to_owned()] {
        let (addr, mut closed) = watched(before).await;
        let adapter = adapter(addr);
        let calls = [
            adapter.stream(asking(hello())).map(|_| ()).boxed(),
            adapter.complete(asking(hello())).map(|_| ()).boxed(),
        ];
        for waiting in calls {
            // Long enough to be on the wire; the server never answers.
            assert!(tokio::time::timeout(SHORT, waiting).await.is_err());
            tokio::time::timeout(LONG, closed.recv()).await.unwrap().unwrap();
        }
    }
}

/// Text, a tool call, and a regular end.
fn standard_stream() -> String {
    let tool = format!("{}{}{}", tool_block(1, "t1", "f"), json_delta(1, "{\"é\": 1}"), stop_block(1));
    format!("{}{tool}{}{STOP}", hey(), ending("tool_use"))
}

/// Asserts deltas, then one end and nothing after it; an end is proper only if the provider sent it.
fn check_order(events: &[Result<ChatEvent, Fault>], ended: bool) {
    let (last, before) = events.split_last().unwrap();
    assert!(before.iter().all(|event| matches!(event, Ok(ChatEvent::Delta(_)))), "{events:?}");
    assert_eq!(last.is_ok(), ended, "{events:?}");
    assert!(!matches!(last, Ok(ChatEvent::Delta(_))));
}

async fn said_or_refused(body: &str) -> Events {
    match open(events(body), hello()).await {
        Ok(stream) => collect(stream).await,
        Err(fault) => vec![Err(fault)],
    }
}

#[tokio::test]
async fn a_stream_cut_at_any_byte_ends_properly_only_after_its_reason() {
    let body = standard_stream();
    let reason = body.find("event: message_delta").unwrap();
    // The reason is known once its event is complete.
    let known = reason + body[reason..].find("\n\n").unwrap() + 2;
    for cut in 0..=body.len() {
        if let Some(head) = body.get(..cut) {
            check_order(&said_or_refused(head).await, cut >= known);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever the provider garbles: no panic, and nothing after an error.
    #[test]
    fn garbled_bytes_never_end_twice(at in 0_usize..1000, garbage in "[{}\"\\\\:,\n a-z0-9]{0,8}", length in 0_usize..12) {
        let body = standard_stream();
        let at = at.min(body.len());
        let end = (at + length).min(body.len());
        prop_assume!(body.is_char_boundary(at) && body.is_char_boundary(end));
        let garbled = format!("{}{garbage}{}", &body[..at], &body[end..]);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let events = runtime.block_on(said_or_refused(&garbled));
        let ended = events.last().unwrap().is_ok();
        check_order(&events, ended);
    }
}
