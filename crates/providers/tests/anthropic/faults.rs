//! The fault matrix.

use std::time::Duration;

use muster_providers::{Adapter, ClientFault, FaultClass, Phase};
use tokio::net::TcpListener;

use super::support::{KEY, SHORT, answering, http, serve};
use super::*;

/// The fault of a call in either mode.
async fn faults(base: &str) -> [Fault; 2] {
    let adapter = adapter_at(base);
    let whole = adapter.complete(support::call()).await.unwrap_err();
    [whole, refused(adapter.stream(support::call()).await)]
}

async fn faults_of(response: String) -> [Fault; 2] {
    let addr = answering(response).await;
    faults(&format!("http://{addr}/v1")).await
}

/// The statuses and types of the documentation's page on errors.
#[tokio::test]
async fn each_status_has_its_class() {
    use FaultClass::{Client, Hard, Throttled, Transient};
    let invalid = Some(ClientFault::InvalidRequest);
    let too_long = Some(ClientFault::ContextLengthExceeded);
    let unsupported = Some(ClientFault::Unsupported);
    let bad = "invalid_request_error";
    let rows = [
        ("400 Bad Request", bad, "messages: at least one message is required", Client, invalid),
        ("400 Bad Request", bad, "prompt is too long: 103078 tokens > 102398 maximum", Client, too_long),
        (
            "400 Bad Request",
            bad,
            "input length and `max_tokens` exceed context limit: 199000 + 4096 > 200000",
            Client,
            too_long,
        ),
        (
            "400 Bad Request",
            bad,
            "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.",
            Hard,
            None,
        ),
        ("400 Bad Request", bad, "You have reached your specified API usage limits.", Hard, None),
        (
            "400 Bad Request",
            bad,
            "tool_choice: type \"tool\" and \"any\" are not supported for this model.",
            Client,
            unsupported,
        ),
        ("400 Bad Request", bad, "Thinking may not be enabled when tool_choice forces tool use.", Client, unsupported),
        ("401 Unauthorized", "authentication_error", "invalid x-api-key", Hard, None),
        ("402 Payment Required", "billing_error", "pay", Hard, None),
        ("403 Forbidden", "permission_error", "not yours", Hard, None),
        ("404 Not Found", "not_found_error", "model: claude-2", Hard, None),
        ("409 Conflict", "conflict_error", "changed meanwhile", Transient, None),
        ("413 Payload Too Large", "request_too_large", "Request exceeds the maximum size", Client, invalid),
        ("429 Too Many Requests", "rate_limit_error", "slow down", Throttled, None),
        ("500 Internal Server Error", "api_error", "Internal server error", Transient, None),
        ("504 Gateway Timeout", "timeout_error", "took too long", Transient, None),
        ("529 Overloaded", "overloaded_error", "Overloaded", Transient, None),
    ];
    for (status, kind, message, class, client) in rows {
        for fault in faults_of(http(status, "", &error_body(kind, message))).await {
            assert_eq!((fault.class, fault.client), (class, client), "{status} {message}: {fault:?}");
            assert_eq!(fault.phase, Phase::Headers, "{status}");
            assert_eq!(fault.status, status[..3].parse().ok(), "{status}");
        }
    }
    for fault in faults_of(http("502 Bad Gateway", "", "<html>bad gateway</html>")).await {
        assert_eq!(fault.class, Transient);
    }
}

#[tokio::test]
async fn the_requested_retry_delay_is_reported() {
    let body = error_body("rate_limit_error", "This request would exceed your organization's rate limit");
    for fault in faults_of(http("429 Too Many Requests", "Retry-After: 7\r\n", &body)).await {
        assert_eq!((fault.class, fault.retry_after), (FaultClass::Throttled, Some(Duration::from_secs(7))));
    }
}

#[tokio::test]
async fn an_error_under_a_success_has_the_class_of_its_type() {
    use FaultClass::{Client, Hard, Throttled, Transient};
    for (kind, message, class) in [
        ("overloaded_error", "Overloaded", Transient),
        ("api_error", "Internal server error", Transient),
        ("rate_limit_error", "slow down", Throttled),
        ("authentication_error", "invalid x-api-key", Hard),
        ("permission_error", "not yours", Hard),
        ("not_found_error", "model: claude-2", Hard),
        ("invalid_request_error", "Your credit balance is too low", Hard),
        ("invalid_request_error", "prompt is too long: 2 tokens > 1 maximum", Client),
    ] {
        let body = error_body(kind, message);
        let [whole, in_one_piece] = faults_of(http("200 OK", "", &body)).await;
        assert_eq!((whole.class, whole.phase), (class, Phase::Body), "{kind} {message}");
        assert_eq!((in_one_piece.class, in_one_piece.phase), (class, Phase::FirstDelta), "{kind} {message}");
        let stream = support::events(&format!("{}{PING}event: error\ndata: {body}\n\n", start()));
        let addr = answering(stream).await;
        let streamed = refused(adapter(addr).stream(support::call()).await);
        assert_eq!((streamed.class, streamed.phase), (class, Phase::FirstDelta), "{kind} {message}");
        assert_eq!(streamed.status, None);
    }
}

#[tokio::test]
async fn a_refused_connection_is_transient() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    drop(listener);
    for fault in faults(&format!("http://{addr}/v1")).await {
        assert_eq!((fault.class, fault.phase), (FaultClass::Transient, Phase::Connect), "{fault:?}");
    }
}

#[tokio::test]
async fn a_hang_before_the_headers_times_out() {
    let addr = serve(|mut conn| async move { conn.closed().await }).await;
    let call = || within(|t| t.headers = SHORT);
    let whole = adapter(addr).complete(call()).await.unwrap_err();
    for fault in [whole, refused(adapter(addr).stream(call()).await)] {
        assert_eq!((fault.class, fault.phase), (FaultClass::Transient, Phase::Headers), "{fault:?}");
    }
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
async fn a_fault_shows_neither_key_nor_prompt_and_is_bounded() {
    let prompt = support::call().request.messages[0].content.text().into_owned();
    let long = "x".repeat(5000);
    let body = error_body("invalid_request_error", &format!("{KEY} may not say '{prompt}' {long}"));
    let addr = answering(support::events(&format!("{}event: error\ndata: {body}\n\n", start()))).await;
    let in_stream = refused(adapter(addr).stream(support::call()).await);
    let [whole, streamed] = faults_of(http("400 Bad Request", "", &body)).await;
    for fault in [whole, streamed, in_stream] {
        for secret in [KEY, prompt.as_str()] {
            assert!(!fault.message.contains(secret), "{}", fault.message);
        }
        assert!(fault.message.chars().count() <= 500 + "mock reported an error: ".len());
    }
}
