//! The fault matrix.

use std::time::Duration;

use muster_providers::{Adapter, ClientFault, Fault, FaultClass, Phase};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::support::{KEY, SHORT, answering, call, call_within, events, http, serve};
use super::{adapter, adapter_at, refused};

/// The fault of a call in either mode.
async fn faults(base: &str) -> [Fault; 2] {
    let adapter = adapter_at(base);
    [adapter.complete(call()).await.unwrap_err(), refused(&adapter, call()).await]
}

async fn faults_of(response: String) -> [Fault; 2] {
    let addr = answering(response).await;
    faults(&format!("http://{addr}/v1beta")).await
}

fn error(code: u16, status: &str, message: &str) -> Value {
    json!({"error": {"code": code, "message": message, "status": status}})
}

fn with_details(mut error: Value, details: Value) -> Value {
    error["error"]["details"] = details;
    error
}

#[tokio::test]
async fn each_status_has_its_class() {
    use FaultClass::{Client, Hard, Throttled, Transient};
    let reason = json!([{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID",
        "domain": "googleapis.com"}]);
    let too_long = "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).";
    let several = "Multiple candidates is not enabled for this model";
    let credits = "Your prepayment credits are depleted. Please go to AI Studio to manage your billing.";
    let expired = with_details(error(400, "INVALID_ARGUMENT", "API key expired. Please renew the API key."), reason);
    let rows = [
        (error(500, "INTERNAL", "An internal error has occurred."), Transient, None),
        (error(503, "UNAVAILABLE", "The model is overloaded."), Transient, None),
        (error(504, "DEADLINE_EXCEEDED", "Deadline expired."), Transient, None),
        (error(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota, please check your plan."), Throttled, None),
        (error(429, "RESOURCE_EXHAUSTED", credits), Hard, None),
        (error(401, "UNAUTHENTICATED", "Request had invalid authentication credentials."), Hard, None),
        (error(403, "PERMISSION_DENIED", "Permission denied."), Hard, None),
        (error(404, "NOT_FOUND", "models/m is not found for API version v1beta."), Hard, None),
        (error(400, "FAILED_PRECONDITION", "User location is not supported for the API use."), Hard, None),
        (error(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."), Hard, None),
        (expired, Hard, None),
        (error(400, "INVALID_ARGUMENT", "Invalid value at 'contents'."), Client, Some(ClientFault::InvalidRequest)),
        (error(400, "INVALID_ARGUMENT", too_long), Client, Some(ClientFault::ContextLengthExceeded)),
        (error(400, "INVALID_ARGUMENT", several), Client, Some(ClientFault::Unsupported)),
    ];
    for (body, class, client) in rows {
        let code = body["error"]["code"].as_u64().unwrap();
        // The streaming endpoint returns its errors in a list.
        for payload in [body.to_string(), json!([body]).to_string()] {
            for fault in faults_of(http(&format!("{code} Nope"), "", &payload)).await {
                assert_eq!((fault.class, fault.client), (class, client), "{payload}");
                assert_eq!((fault.phase, fault.status.map(u64::from)), (Phase::Headers, Some(code)), "{payload}");
                let words = body["error"]["message"].as_str().unwrap();
                assert!(fault.message.ends_with(words), "{}", fault.message);
            }
            // The same under a status of success.
            let [whole, streamed] = faults_of(http("200 OK", "", &payload)).await;
            assert_eq!((whole.class, whole.client, whole.phase), (class, client, Phase::Body), "{payload}");
            assert_eq!((streamed.class, streamed.phase), (class, Phase::FirstDelta), "{payload}");
            let addr = answering(events(&format!("data: {payload}\r\n\r\n"))).await;
            let streamed = refused(&adapter(addr), call()).await;
            assert_eq!(
                (streamed.class, streamed.client, streamed.phase),
                (class, client, Phase::FirstDelta),
                "{payload}"
            );
        }
    }
}

#[tokio::test]
async fn an_error_without_a_status_is_classified_by_its_label() {
    for (status, class) in [
        ("RESOURCE_EXHAUSTED", FaultClass::Throttled),
        ("UNAUTHENTICATED", FaultClass::Hard),
        ("INVALID_ARGUMENT", FaultClass::Client),
        ("UNAVAILABLE", FaultClass::Transient),
    ] {
        let body = json!({"error": {"status": status, "message": "no"}}).to_string();
        for fault in faults_of(http("200 OK", "", &body)).await {
            assert_eq!(fault.class, class, "{status}");
        }
    }
}

#[tokio::test]
async fn the_delay_that_google_asks_for_is_read() {
    let details = |delay: &str| {
        json!([
            {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": []},
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay},
        ])
    };
    let body = |delay| with_details(error(429, "RESOURCE_EXHAUSTED", "slow down"), details(delay)).to_string();
    for (delay, expected) in [
        ("12s", Some(Duration::from_secs(12))),
        ("0.5s", Some(Duration::from_millis(500))),
        ("soon", None),
        ("-3s", None),
        ("NaNs", None),
    ] {
        for fault in faults_of(http("429 Too Many Requests", "", &body(delay))).await {
            assert_eq!((fault.class, fault.retry_after), (FaultClass::Throttled, expected), "{delay}");
        }
    }
    let addr = answering(events(&format!("data: {}\n\n", body("12s")))).await;
    assert_eq!(refused(&adapter(addr), call()).await.retry_after, Some(Duration::from_secs(12)));
    for fault in faults_of(http("429 Too Many Requests", "Retry-After: 40\r\n", &body("12s"))).await {
        assert_eq!(fault.retry_after, Some(Duration::from_secs(40)), "the header goes first");
    }
}

#[tokio::test]
async fn an_unreachable_server_is_transient_while_connecting() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let gone = listener.local_addr().unwrap();
    drop(listener);
    for fault in faults(&format!("http://{gone}/v1beta")).await {
        assert_eq!((fault.class, fault.phase), (FaultClass::Transient, Phase::Connect), "{fault:?}");
    }
}

#[tokio::test]
async fn a_hang_before_the_headers_times_out() {
    let addr = serve(|mut conn| async move { conn.closed().await }).await;
    let mut timeouts = call().timeouts;
    timeouts.headers = SHORT;
    let fault = adapter(addr).complete(call_within(timeouts)).await.unwrap_err();
    assert_eq!((fault.class, fault.phase), (FaultClass::Transient, Phase::Headers), "{fault:?}");
    let fault = refused(&adapter(addr), call_within(timeouts)).await;
    assert_eq!((fault.class, fault.phase), (FaultClass::Transient, Phase::Headers), "{fault:?}");
}

#[tokio::test]
async fn faults_contain_neither_key_nor_prompt_and_are_bounded() {
    let prompt = call().request.messages[0].content.text().into_owned();
    let words = format!("API key {KEY} cannot say '{prompt}' {}", "x".repeat(5000));
    let body = error(400, "INVALID_ARGUMENT", &words).to_string();
    for fault in faults_of(http("400 Bad Request", "", &body)).await {
        for secret in [KEY, prompt.as_str()] {
            assert!(!fault.message.contains(secret), "{}", fault.message);
        }
        assert!(fault.message.chars().count() <= 500 + "google answered 400: ".len());
    }
}
