//! Texts into vectors.

use std::sync::Arc;

use muster_providers::{
    Adapter, ClientFault, EmbedCall, EmbedInput, EmbedReply, EmbedRequest, Fault, FaultClass, Phase, Usage,
};
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};

use super::adapter;
use super::support::{KEY, LONG, Request, answering, call, http, serve};

fn embedding(inputs: Vec<EmbedInput>, dimensions: Option<u32>) -> EmbedCall {
    EmbedCall {
        upstream_model: "gemini-embedding-001".to_owned(),
        request: Arc::new(EmbedRequest { inputs, dimensions, user: None }),
        timeouts: call().timeouts,
        request_id: "req_01TEST".to_owned(),
        traceparent: None,
    }
}

fn texts(texts: &[&str]) -> Vec<EmbedInput> {
    texts.iter().map(|text| EmbedInput::Text((*text).to_owned())).collect()
}

async fn embed(body: &str, inputs: &[&str]) -> Result<EmbedReply, Fault> {
    adapter(answering(http("200 OK", "", body)).await).embed(embedding(texts(inputs), None)).await
}

/// A server that returns each text's number as its vector and records the requests. The batch that begins with 0 is
/// answered after `before_zero` others.
async fn counting(before_zero: usize) -> (std::net::SocketAddr, mpsc::Receiver<Request>) {
    let (report, reports) = mpsc::channel(64);
    let answered = watch::Sender::new(0);
    let addr = serve(move |mut conn| {
        let (report, answered) = (report.clone(), answered.clone());
        async move {
            while let Some(request) = conn.request().await {
                let numbers = numbers(&request);
                if numbers[0] == 0.0 {
                    answered.subscribe().wait_for(|count| *count >= before_zero).await.unwrap();
                }
                let vectors: Vec<_> = numbers.into_iter().map(|n| json!({"values": [n, 0.5]})).collect();
                report.send(request).await.unwrap();
                conn.send(&http("200 OK", "", &json!({"embeddings": vectors}).to_string())).await;
                answered.send_modify(|count| *count += 1);
            }
        }
    })
    .await;
    (addr, reports)
}

fn numbers(request: &Request) -> Vec<f32> {
    let body: Value = serde_json::from_str(&request.body).unwrap();
    let number = |one: &Value| one["content"]["parts"][0]["text"].as_str().unwrap().parse().unwrap();
    body["requests"].as_array().unwrap().iter().map(number).collect()
}

#[tokio::test]
async fn batches_are_encoded_for_google() {
    let (addr, mut requests) = counting(0).await;
    let reply = adapter(addr).embed(embedding(texts(&["1", "2"]), Some(2))).await.unwrap();
    assert_eq!(reply.vectors, [[1.0, 0.5], [2.0, 0.5]]);
    assert_eq!((reply.usage, reply.model.as_str()), (None, "gemini-embedding-001"));
    let request = requests.recv().await.unwrap();
    let line = "POST /v1beta/models/gemini-embedding-001:batchEmbedContents HTTP/1.1\r\n";
    assert!(request.head.starts_with(line), "{}", request.head);
    assert_eq!(request.header("x-goog-api-key"), Some(KEY));
    let one = |text: &str| {
        json!({
            "model": "models/gemini-embedding-001",
            "content": {"parts": [{"text": text}]},
            "outputDimensionality": 2,
        })
    };
    assert_eq!(serde_json::from_str::<Value>(&request.body).unwrap(), json!({"requests": [one("1"), one("2")]}));
}

#[tokio::test]
async fn many_texts_go_in_batches_and_come_back_in_order() {
    let (addr, mut requests) = counting(2).await;
    let inputs: Vec<_> = (0..250).map(|n| EmbedInput::Text(n.to_string())).collect();
    let reply = adapter(addr).embed(embedding(inputs, None)).await.unwrap();
    let expected: Vec<_> = (0_u8..250).map(|n| vec![f32::from(n), 0.5]).collect();
    assert_eq!(reply.vectors, expected);
    let mut sizes = Vec::new();
    while let Ok(request) = requests.try_recv() {
        sizes.push(numbers(&request).len());
    }
    sizes.sort_unstable();
    assert_eq!(sizes, [50, 100, 100]);
}

#[tokio::test]
async fn figures_count_where_they_are_given() {
    let body = r#"{"embeddings":[{"values":[0.5]}],"usageMetadata":{"promptTokenCount":4}}"#;
    let usage = embed(body, &["x"]).await.unwrap().usage;
    assert_eq!(usage, Some(Usage { prompt_tokens: 4, completion_tokens: 0, estimated: false }));
}

#[tokio::test]
async fn tokens_are_refused_without_a_call() {
    let (addr, mut requests) = counting(0).await;
    let inputs = vec![EmbedInput::Text("1".to_owned()), EmbedInput::Tokens(vec![1, 2])];
    let fault = adapter(addr).embed(embedding(inputs, None)).await.unwrap_err();
    assert_eq!((fault.client, fault.param.as_deref()), (Some(ClientFault::Unsupported), Some("input")));
    assert!(requests.try_recv().is_err());
}

#[tokio::test]
async fn a_malformed_or_short_answer_is_transient() {
    for body in ["{", "{}", "[]", r#"{"embeddings":[{"values":[0.5]}]}"#, r#"{"embeddings":[{},{}]}"#] {
        let fault = embed(body, &["a", "b"]).await.unwrap_err();
        assert_eq!((fault.class, fault.phase), (FaultClass::Transient, Phase::Body), "{body}");
    }
}

#[tokio::test]
async fn an_error_has_its_class_and_does_not_show_the_text() {
    let text = "a text nobody else may read";
    let body = json!({"error": {"code": 429, "message": format!("slow: {text}"), "status": "RESOURCE_EXHAUSTED",
        "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "9s"}]}});
    let addr = answering(http("429 Too Many Requests", "", &body.to_string())).await;
    let fault = adapter(addr).embed(embedding(texts(&[text]), None)).await.unwrap_err();
    assert_eq!((fault.class, fault.phase), (FaultClass::Throttled, Phase::Headers));
    assert_eq!(fault.retry_after.map(|wait| wait.as_secs()), Some(9));
    assert!(!fault.message.contains(text), "{}", fault.message);
    let reported = embed(&body.to_string(), &[text]).await.unwrap_err();
    assert_eq!((reported.class, reported.phase), (FaultClass::Throttled, Phase::Body));
}

#[tokio::test]
async fn dropping_the_call_closes_every_connection() {
    let (closed, mut reports) = mpsc::channel(4);
    let (sender, mut requests) = mpsc::channel(4);
    let addr = serve(move |mut conn| {
        let (closed, sender) = (closed.clone(), sender.clone());
        async move {
            conn.request().await;
            sender.send(()).await.unwrap();
            conn.closed().await;
            closed.send(()).await.unwrap();
        }
    })
    .await;
    let inputs: Vec<_> = (0..150).map(|n| EmbedInput::Text(n.to_string())).collect();
    let call = tokio::spawn(adapter(addr).embed(embedding(inputs, None)));
    for _ in 0..2 {
        tokio::time::timeout(LONG, requests.recv()).await.unwrap().unwrap();
    }
    call.abort();
    for _ in 0..2 {
        tokio::time::timeout(LONG, reports.recv()).await.unwrap().unwrap();
    }
}
