//! Fault matrix over real sockets: server behaviour, and the reported fault.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails; clippy.toml exempts only the test functions themselves"
)]

mod support;

use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use muster_providers::{Adapter, ClientFault, Fault, FaultClass, Phase, Timeouts};
use support::{KEY, LONG, SHORT, adapter, adapter_at, answering, call, call_within, http, serve};
use tokio::net::TcpListener;

/// The fault of a call in either mode.
async fn faults(base: &str) -> [Fault; 2] {
    let adapter = adapter_at(base);
    let whole = adapter.complete(call()).await.unwrap_err();
    let Err(streamed) = adapter.stream(call()).await else {
        panic!("the stream opened");
    };
    [whole, streamed]
}

async fn faults_of(response: String) -> [Fault; 2] {
    let addr = answering(response).await;
    faults(&format!("http://{addr}/v1")).await
}

fn error(message: &str, kind: &str, code: &str) -> String {
    serde_json::json!({"error": {"message": message, "type": kind, "param": null, "code": code}}).to_string()
}

#[tokio::test]
async fn each_status_has_its_class() {
    use FaultClass::{Client, Hard, Throttled, Transient};
    let invalid = Some(ClientFault::InvalidRequest);
    let plain = error("no", "some_error", "some_code");
    let quota = error("You exceeded your current quota", "insufficient_quota", "insufficient_quota");
    let billing = error("limit", "invalid_request_error", "billing_hard_limit_reached");
    let model = error("no such model", "invalid_request_error", "model_not_found");
    let key = error("API key not valid.", "", "");
    let rows: [(&str, &str, FaultClass, Option<ClientFault>); 20] = [
        ("500 Internal Server Error", &plain, Transient, None),
        ("502 Bad Gateway", "<html>bad gateway</html>", Transient, None),
        ("503 Service Unavailable", "", Transient, None),
        ("529 Overloaded", &plain, Transient, None),
        ("408 Request Timeout", &plain, Transient, None),
        ("409 Conflict", &plain, Transient, None),
        ("429 Too Many Requests", &plain, Throttled, None),
        ("429 Too Many Requests", &quota, Hard, None),
        ("400 Bad Request", &billing, Hard, None),
        ("400 Bad Request", &key, Hard, None),
        ("400 Bad Request", &model, Hard, None),
        ("401 Unauthorized", &plain, Hard, None),
        ("402 Payment Required", &plain, Hard, None),
        ("403 Forbidden", &plain, Hard, None),
        ("404 Not Found", &model, Hard, None),
        ("404 Not Found", "404 page not found", Hard, None),
        ("405 Method Not Allowed", &plain, Hard, None),
        ("400 Bad Request", &plain, Client, invalid),
        ("413 Payload Too Large", &plain, Client, invalid),
        ("422 Unprocessable Entity", r#"{"detail":"bad"}"#, Client, invalid),
    ];
    for (status, body, class, client) in rows {
        for fault in faults_of(http(status, "", body)).await {
            assert_eq!(fault.class, class, "{status} {body}: {fault:?}");
            assert_eq!(fault.client, client, "{status} {body}");
            assert_eq!(fault.phase, Phase::Headers, "{status}");
            assert_eq!(fault.status, status[..3].parse().ok(), "{status}");
        }
    }
}

#[tokio::test]
async fn a_prompt_that_is_too_long_is_recognised_in_each_dialect() {
    let openai = error(
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 10000 tokens.",
        "invalid_request_error",
        "context_length_exceeded",
    );
    let vllm = r#"{"object":"error","message":"This model's maximum context length is 16384 tokens. However, you requested 122946 tokens (112946 in the messages, 10000 in the completion).","type":"BadRequestError","param":null,"code":400}"#;
    let vllm_engine = r#"{"object":"error","message":"The decoder prompt (length 10127) is longer than the maximum model length of 8192.","type":"BadRequestError","param":null,"code":400}"#;
    let llama_cpp = r#"{"error":{"code":400,"message":"the request exceeds the available context size. try increasing the context size or enable context shift","type":"exceed_context_size_error","n_prompt_tokens":14429,"n_ctx":8192}}"#;
    let ollama = r#"{"error":"prompt too long; exceeded max context length by 15935 tokens"}"#;
    for (status, body) in [
        ("400 Bad Request", openai.as_str()),
        ("400 Bad Request", vllm),
        ("400 Bad Request", vllm_engine),
        ("400 Bad Request", llama_cpp),
        ("500 Internal Server Error", llama_cpp),
        ("400 Bad Request", ollama),
        // llama.cpp in an answer that claims success.
        ("200 OK", llama_cpp),
    ] {
        for fault in faults_of(http(status, "", body)).await {
            assert_eq!(fault.class, FaultClass::Client, "{status} {body}");
            assert_eq!(fault.client, Some(ClientFault::ContextLengthExceeded), "{body}");
        }
    }
    // A rate limit that mentions tokens is not a length limit.
    let pace = error("Rate limit reached: maximum context length of tokens per minute", "tokens", "x");
    for fault in faults_of(http("429 Too Many Requests", "", &pace)).await {
        assert_eq!(fault.class, FaultClass::Throttled);
    }
}

#[tokio::test]
async fn the_rejected_field_is_reported() {
    let body = r#"{"error":{"message":"Unsupported value: 'temperature'","type":"invalid_request_error","param":"temperature","code":"unsupported_value"}}"#;
    for fault in faults_of(http("400 Bad Request", "", body)).await {
        assert_eq!(fault.client, Some(ClientFault::UnsupportedValue));
        assert_eq!(fault.param.as_deref(), Some("temperature"));
    }
}

#[tokio::test]
async fn retry_after_is_read_as_seconds_as_date_and_as_milliseconds() {
    let with = |headers: &str| http("429 Too Many Requests", headers, "{}");
    for fault in faults_of(with("Retry-After: 7\r\n")).await {
        assert_eq!(fault.retry_after, Some(Duration::from_secs(7)));
    }
    for fault in faults_of(with("Retry-After: 7\r\nretry-after-ms: 6500\r\n")).await {
        assert_eq!(fault.retry_after, Some(Duration::from_millis(6500)));
    }
    let date = Timestamp::try_from(SystemTime::now() + Duration::from_secs(100)).unwrap();
    let date = date.strftime("%a, %d %b %Y %H:%M:%S GMT");
    for fault in faults_of(with(&format!("Retry-After: {date}\r\n"))).await {
        let wait = fault.retry_after.unwrap().as_secs();
        assert!((60..=100).contains(&wait), "{wait}");
    }
    for fault in faults_of(http("503 Service Unavailable", "Retry-After: 3\r\n", "")).await {
        assert_eq!(fault.class, FaultClass::Transient);
        assert_eq!(fault.retry_after, Some(Duration::from_secs(3)));
    }
}

#[tokio::test]
async fn an_error_inside_a_success_is_classed_by_its_content() {
    for (body, class) in [
        (r#"{"error":{"message":"the engine is dead"}}"#.to_owned(), FaultClass::Transient),
        (r#"{"error":"overloaded"}"#.to_owned(), FaultClass::Transient),
        (r#"{"error":{"code":502,"message":"bad gateway"}}"#.to_owned(), FaultClass::Transient),
        (r#"{"error":{"code":429,"message":"slow down"}}"#.to_owned(), FaultClass::Throttled),
        (error("slow down", "rate_limit_error", "rate_limit_exceeded"), FaultClass::Throttled),
        (error("pay", "insufficient_quota", "insufficient_quota"), FaultClass::Hard),
        (error("who?", "invalid_request_error", "invalid_api_key"), FaultClass::Hard),
        (error("bad field", "invalid_request_error", ""), FaultClass::Client),
    ] {
        let event = support::events(&format!("data: {body}\n\n"));
        let addr = answering(event).await;
        let Err(streamed) = adapter(addr).stream(call()).await else {
            panic!("the stream opened");
        };
        assert_eq!(streamed.class, class, "{body}");
        assert_eq!(streamed.phase, Phase::FirstDelta);
        let [whole, asked_to_stream] = faults_of(http("200 OK", "", &body)).await;
        assert_eq!((whole.class, whole.phase), (class, Phase::Body), "{body}");
        assert_eq!((asked_to_stream.class, asked_to_stream.phase), (class, Phase::FirstDelta));
    }
}

#[tokio::test]
async fn a_malformed_answer_is_transient() {
    for body in [
        "{\"choices\": [{\"mess",
        "[]",
        "{}",
        r#"{"choices":[]}"#,
        r#"{"choices":[{"index":0,"message":{"role":"assistant","content":null}}]}"#,
        r#"{"choices":[{"index":0,"message":{"content":"x"},"finish_reason":"error"}]}"#,
    ] {
        for fault in faults_of(http("200 OK", "", body)).await {
            assert_eq!(fault.class, FaultClass::Transient, "{body}");
        }
    }
    // The connection ends in the middle of the body.
    let cut = http("200 OK", "", r#"{"choices":[]}"#).replace("Content-Length: 14", "Content-Length: 99");
    for fault in faults_of(cut).await {
        assert_eq!(fault.class, FaultClass::Transient);
    }
}

#[tokio::test]
async fn an_unreachable_server_and_an_unknown_host_are_transient_while_connecting() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let gone = listener.local_addr().unwrap();
    drop(listener);
    for base in [format!("http://{gone}/v1"), "http://no-such-host.invalid/v1".to_owned()] {
        for fault in faults(&base).await {
            assert_eq!((fault.class, fault.phase), (FaultClass::Transient, Phase::Connect), "{fault:?}");
        }
    }
}

#[tokio::test]
async fn tls_failures_are_transient_while_connecting() {
    let addr = serve(|mut conn| async move { conn.send("HTTP/1.1 200 OK\r\n\r\n").await }).await;
    for fault in faults(&format!("https://{addr}/v1")).await {
        assert_eq!((fault.class, fault.phase), (FaultClass::Transient, Phase::Connect), "{fault:?}");
    }
}

fn within(change: impl FnOnce(&mut Timeouts)) -> muster_providers::Call {
    let mut timeouts = call().timeouts;
    assert_eq!(timeouts.headers, LONG);
    change(&mut timeouts);
    call_within(timeouts)
}

#[tokio::test]
async fn a_handshake_that_hangs_times_out_while_connecting() {
    let addr = serve(|mut conn| async move { conn.closed().await }).await;
    let adapter = adapter_at(&format!("https://{addr}/v1"));
    let fault = adapter.complete(within(|t| t.connect = SHORT)).await.unwrap_err();
    assert_eq!((fault.class, fault.phase), (FaultClass::Transient, Phase::Connect), "{fault:?}");
}

#[tokio::test]
async fn a_hang_before_the_headers_times_out() {
    let addr = serve(|mut conn| async move { conn.closed().await }).await;
    let fault = adapter(addr).complete(within(|t| t.headers = SHORT)).await.unwrap_err();
    assert_eq!((fault.class, fault.phase), (FaultClass::Transient, Phase::Headers), "{fault:?}");
    let Err(fault) = adapter(addr).stream(within(|t| t.headers = SHORT)).await else {
        panic!("the stream opened");
    };
    assert_eq!((fault.class, fault.phase), (FaultClass::Transient, Phase::Headers));
}

#[tokio::test]
async fn a_body_that_hangs_times_out() {
    let addr = serve(|mut conn| async move {
        conn.request().await;
        conn.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{").await;
        conn.closed().await;
    })
    .await;
    let fault = adapter(addr).complete(within(|t| t.first_delta = SHORT)).await.unwrap_err();
    assert_eq!((fault.class, fault.phase), (FaultClass::Transient, Phase::Body), "{fault:?}");
}

#[tokio::test]
async fn a_close_before_the_headers_is_transient() {
    let addr = serve(|mut conn| async move {
        conn.request().await;
    })
    .await;
    for fault in faults(&format!("http://{addr}/v1")).await {
        assert_eq!((fault.class, fault.phase), (FaultClass::Transient, Phase::Headers));
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let (sender, mut received) = tokio::sync::mpsc::channel(1);
    let target = serve(move |_conn| {
        let sender = sender.clone();
        async move { sender.send(()).await.unwrap() }
    })
    .await;
    for status in ["302 Found", "307 Temporary Redirect", "308 Permanent Redirect"] {
        let location = format!("Location: http://{target}/v1/chat/completions\r\n");
        for fault in faults_of(http(status, &location, "")).await {
            assert_eq!(fault.class, FaultClass::Transient);
            assert!(fault.message.contains("base_url"), "{}", fault.message);
        }
    }
    assert!(received.try_recv().is_err(), "the other host was called");
}

#[tokio::test]
async fn faults_contain_neither_key_nor_prompt_and_are_bounded() {
    let prompt = call().request.messages[0].content.text().into_owned();
    let long = "x".repeat(5000);
    for message in [
        format!("Incorrect API key provided: {KEY}. And sk-test****cdef, {long}"),
        format!("cannot parse '{prompt}' {long}"),
        format!("[{{'type': 'missing', 'msg': 'Field required', 'input': {{'messages': '{prompt}'}}}}]"),
    ] {
        for fault in faults_of(http("400 Bad Request", "", &error(&message, "t", "c"))).await {
            for secret in [KEY, "sk-test", prompt.as_str()] {
                assert!(!fault.message.contains(secret), "{}", fault.message);
            }
            assert!(fault.message.chars().count() <= 500 + "mock answered 400: ".len());
        }
    }
}
