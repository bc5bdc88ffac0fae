//! Embedding requests over real sockets: encoding, decoding and failures.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails; clippy.toml exempts only the test functions themselves"
)]

mod support;

use std::sync::Arc;

use muster_providers::{
    Adapter, ClientFault, EmbedCall, EmbedInput, EmbedReply, EmbedRequest, Fault, FaultClass, Phase, Timeouts, Usage,
};
use support::{LONG, SHORT, adapter, adapter_at, answering, call, http, recording_answer, serve};
use tokio::net::TcpListener;

const TEXT: &str = "a text nobody else may read";

fn embed_call(inputs: &[&str]) -> EmbedCall {
    embed_call_within(inputs, call().timeouts)
}

fn embed_call_within(inputs: &[&str], timeouts: Timeouts) -> EmbedCall {
    let inputs = inputs.iter().map(|text| EmbedInput::Text((*text).to_owned())).collect();
    EmbedCall {
        upstream_model: "text-embedding-3-small".to_owned(),
        request: Arc::new(EmbedRequest { inputs, dimensions: None, user: None }),
        timeouts,
        request_id: "req_01TEST".to_owned(),
        traceparent: None,
    }
}

/// The example of the API reference, with two texts that come back in the other order.
const ANSWER: &str = r#"{"object":"list","data":[
    {"object":"embedding","embedding":[0.5,-0.25],"index":1},
    {"object":"embedding","embedding":[1.0,0.125],"index":0}],
    "model":"text-embedding-3-small","usage":{"prompt_tokens":8,"total_tokens":8}}"#;

fn expected() -> EmbedReply {
    EmbedReply {
        vectors: vec![vec![1.0, 0.125], vec![0.5, -0.25]],
        usage: Some(Usage { prompt_tokens: 8, completion_tokens: 0, estimated: false }),
        model: "text-embedding-3-small".to_owned(),
    }
}

#[tokio::test]
async fn vectors_are_requested_as_numbers() {
    let (addr, mut requests) = recording_answer(http("200 OK", "", ANSWER)).await;
    assert_eq!(adapter(addr).embed(embed_call(&["a", "b"])).await, Ok(expected()));
    let (_, request) = requests.recv().await.unwrap();
    assert!(request.head.starts_with("POST /v1/embeddings HTTP/1.1\r\n"), "{}", request.head);
    assert_eq!(request.header("x-request-id"), Some("req_01TEST"));
    assert_eq!(request.body, r#"{"model":"text-embedding-3-small","input":["a","b"],"encoding_format":"float"}"#);
}

/// 0.5, -0.25, 1.0 and 0.125 are 3F000000, BE800000, 3F800000 and 3E000000 (IEEE 754), lowest byte first.
#[tokio::test]
async fn base64_is_read_too() {
    let body = ANSWER.replace("[0.5,-0.25]", "\"AAAAPwAAgL4=\"").replace("[1.0,0.125]", "\"AACAPwAAAD4=\"");
    let addr = answering(http("200 OK", "", &body)).await;
    assert_eq!(adapter(addr).embed(embed_call(&["a", "b"])).await, Ok(expected()));
}

async fn fault_of(response: String) -> Fault {
    adapter(answering(response).await).embed(embed_call(&[TEXT, "b"])).await.unwrap_err()
}

#[tokio::test]
async fn each_failure_has_its_class() {
    use FaultClass::{Client, Hard, Throttled, Transient};
    let error = format!(r#"{{"error":{{"message":"cannot read '{TEXT}'","type":"t","param":null,"code":null}}}}"#);
    for (status, class) in [
        ("500 Internal Server Error", Transient),
        ("429 Too Many Requests", Throttled),
        ("401 Unauthorized", Hard),
        ("400 Bad Request", Client),
    ] {
        let fault = fault_of(http(status, "Retry-After: 7\r\n", &error)).await;
        assert_eq!((fault.class, fault.phase), (class, Phase::Headers), "{status}");
        assert_eq!(fault.retry_after.map(|wait| wait.as_secs()), Some(7));
        assert!(!fault.message.contains(TEXT), "{}", fault.message);
    }
    let too_long = r#"{"error":{"message":"This model's maximum context length is 8192 tokens","code":null}}"#;
    let fault = fault_of(http("400 Bad Request", "", too_long)).await;
    assert_eq!(fault.client, Some(ClientFault::ContextLengthExceeded));
    let inside = r#"{"error":{"message":"slow down","code":429}}"#;
    assert_eq!(fault_of(http("200 OK", "", inside)).await.class, Throttled);
}

#[tokio::test]
async fn a_malformed_answer_or_a_wrong_count_is_transient() {
    let one = r#"{"data":[{"index":0,"embedding":[1]}]}"#;
    let cut = http("200 OK", "", one).replace("Content-Length: 38", "Content-Length: 99");
    assert!(cut.contains("99"));
    for response in [http("200 OK", "", "{\"data\":[{\"emb"), http("200 OK", "", one), http("200 OK", "", "[]"), cut] {
        let fault = fault_of(response.clone()).await;
        assert_eq!((fault.class, fault.phase), (FaultClass::Transient, Phase::Body), "{response}");
    }
}

#[tokio::test]
async fn an_unreachable_server_is_transient_while_connecting() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let gone = listener.local_addr().unwrap();
    drop(listener);
    let fault = adapter_at(&format!("http://{gone}/v1")).embed(embed_call(&["a"])).await.unwrap_err();
    assert_eq!((fault.class, fault.phase), (FaultClass::Transient, Phase::Connect));
}

#[tokio::test]
async fn a_hang_times_out() {
    let addr = serve(|mut conn| async move { conn.closed().await }).await;
    let timeouts = Timeouts { headers: SHORT, ..call().timeouts };
    let fault = adapter(addr).embed(embed_call_within(&["a"], timeouts)).await.unwrap_err();
    assert_eq!((fault.class, fault.phase), (FaultClass::Transient, Phase::Headers));
    let addr = serve(|mut conn| async move {
        conn.request().await;
        conn.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{").await;
        conn.closed().await;
    })
    .await;
    let timeouts = Timeouts { first_delta: SHORT, headers: LONG, ..call().timeouts };
    let fault = adapter(addr).embed(embed_call_within(&["a"], timeouts)).await.unwrap_err();
    assert_eq!((fault.class, fault.phase), (FaultClass::Transient, Phase::Body));
}

/// A vector of another length than requested is not comparable with others.
#[tokio::test]
async fn an_unsupported_vector_length_is_reported() {
    let mut call = embed_call(&["a", "b"]);
    Arc::make_mut(&mut call.request).dimensions = Some(256);
    let fault = adapter(answering(http("200 OK", "", ANSWER)).await).embed(call).await.unwrap_err();
    assert_eq!((fault.client, fault.param.as_deref()), (Some(ClientFault::Unsupported), Some("dimensions")));
}
