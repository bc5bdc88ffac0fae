//! Image requests over real sockets: encoding, decoding, refusals and failures. The shapes are those of OpenAI's published
//! types (package openai 3.52.0) and of Google's reference (ai.google.dev/gemini-api/docs/image-generation).
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails; clippy.toml exempts only the test functions themselves"
)]

mod support;

use std::net::SocketAddr;
use std::sync::Arc;

use muster_providers::{
    Adapter, Billed, ClientFault, Fault, FaultClass, GeminiAdapter, HttpConfig, ImageBackground, ImageCall, ImageData,
    ImageQuality, ImageReply, ImageRequest, ImageShape, ImageSize, Phase, Secret, Usage,
};
use serde_json::{Value, json};
use support::{KEY, adapter, answering, call, http, recording_answer};

const PROMPT: &str = "a prompt nobody else may read";

fn image_call(n: u32) -> ImageCall {
    let request = ImageRequest {
        prompt: PROMPT.to_owned(),
        n,
        size: Some(ImageSize::new(1792, 1024)),
        quality: Some(ImageQuality::High),
        background: ImageBackground::Auto,
        user: None,
    };
    ImageCall {
        upstream_model: "gpt-image-2".to_owned(),
        request: Arc::new(request),
        shape: ImageShape::Size(ImageSize::new(1792, 1024)),
        quality: Some(ImageQuality::High),
        per_call: 10,
        requests_base64: false,
        timeouts: call().timeouts,
        request_id: "req_01TEST".to_owned(),
        traceparent: None,
    }
}

fn google(addr: SocketAddr) -> GeminiAdapter {
    GeminiAdapter::new(HttpConfig::new("google", format!("http://{addr}/v1beta")).with_key(Secret::new(KEY))).unwrap()
}

/// "abc" and "def" in base64 (RFC 4648).
fn answer() -> Value {
    json!({"created": 1, "data": [{"b64_json": "YWJj", "revised_prompt": "a boat"}, {"b64_json": "ZGVm"}],
        "usage": {"input_tokens": 20, "output_tokens": 2000, "total_tokens": 2020,
            "input_tokens_details": {"image_tokens": 0, "text_tokens": 20}}})
}

fn usage(prompt_tokens: u32, completion_tokens: u32) -> Option<Usage> {
    Some(Usage { prompt_tokens, completion_tokens, estimated: false })
}

async fn draw(status: &str, body: &Value, n: u32) -> Result<ImageReply, Fault> {
    adapter(answering(http(status, "", &body.to_string())).await).image(image_call(n)).await
}

fn contents(reply: &ImageReply) -> Vec<&ImageData> {
    reply.images.iter().map(|image| &image.data).collect()
}

#[tokio::test]
async fn pictures_are_requested_and_read_in_openais_form() {
    let (addr, mut requests) = recording_answer(http("200 OK", "", &answer().to_string())).await;
    let reply = adapter(addr).image(image_call(2)).await.unwrap();
    assert_eq!(contents(&reply), [&ImageData::Bytes(b"abc".to_vec()), &ImageData::Bytes(b"def".to_vec())]);
    assert_eq!(reply.images[0].revised_prompt.as_deref(), Some("a boat"));
    assert_eq!((reply.usage, reply.model.as_str()), (usage(20, 2000), "gpt-image-2"));
    let (_, request) = requests.recv().await.unwrap();
    assert!(request.head.starts_with("POST /v1/images/generations HTTP/1.1\r\n"), "{}", request.head);
    let sent: Value = serde_json::from_str(&request.body).unwrap();
    let expected = json!({"model": "gpt-image-2", "prompt": PROMPT, "n": 2, "size": "1792x1024", "quality": "high"});
    assert_eq!(sent, expected);
}

#[tokio::test]
async fn a_model_with_aspect_ratios_is_asked_for_one_and_for_base64() {
    let body = json!({"data": [{"url": "https://pictures.example/1.png"}]});
    let (addr, mut requests) = recording_answer(http("200 OK", "", &body.to_string())).await;
    let shape = ImageShape::Ratio("16:9".parse().unwrap());
    let call = ImageCall { shape, quality: None, requests_base64: true, ..image_call(1) };
    let reply = adapter(addr).image(call).await.unwrap();
    assert_eq!(contents(&reply), [&ImageData::Url("https://pictures.example/1.png".to_owned())]);
    assert_eq!(reply.usage, None);
    let sent: Value = serde_json::from_str(&requests.recv().await.unwrap().1.body).unwrap();
    let expected = json!({"model": "gpt-image-2", "prompt": PROMPT, "n": 1, "aspect_ratio": "16:9",
        "response_format": "b64_json"});
    assert_eq!(sent, expected);
}

#[tokio::test]
async fn a_refused_prompt_is_the_clients_fault_and_not_shown() {
    for code in ["content_policy_violation", "moderation_blocked"] {
        let body = json!({"error": {"message": format!("not this: {PROMPT}"), "type": "image_generation_user_error",
            "param": null, "code": code}});
        let fault = draw("400 Bad Request", &body, 1).await.unwrap_err();
        assert_eq!((fault.class, fault.client), (FaultClass::Client, Some(ClientFault::ContentPolicy)), "{code}");
        assert!(!fault.message.contains(PROMPT), "{}", fault.message);
        assert_eq!(fault.billed, None);
    }
}

#[tokio::test]
async fn what_is_malformed_or_short_is_transient_and_states_what_was_billed() {
    let paid = Some(Billed { usage: usage(20, 2000), images: 2 });
    let short = draw("200 OK", &answer(), 3).await.unwrap_err();
    assert_eq!((short.class, short.phase, short.billed), (FaultClass::Transient, Phase::Body, paid));
    let mut broken = answer();
    broken["data"][1] = json!({"b64_json": "no base64!"});
    let broken = draw("200 OK", &broken, 2).await.unwrap_err();
    assert_eq!((broken.class, broken.billed), (FaultClass::Transient, paid));
    for body in [json!({}), json!([]), json!({"data": null})] {
        let fault = draw("200 OK", &body, 1).await.unwrap_err();
        assert_eq!((fault.class, fault.billed), (FaultClass::Transient, None), "{body}");
    }
}

#[tokio::test]
async fn google_draws_each_picture_in_a_call_of_its_own() {
    let body = json!({"candidates": [{"content": {"role": "model", "parts": [
            {"inlineData": {"mimeType": "image/png", "data": "ZHJhZnQ="}, "thought": true},
            {"text": "Here it is."},
            {"inlineData": {"mimeType": "image/png", "data": "YWJj"}}]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 1120}});
    let (addr, mut requests) = recording_answer(http("200 OK", "", &body.to_string())).await;
    let reply = google(addr).image(image_call(2)).await.unwrap();
    assert_eq!(contents(&reply), [&ImageData::Bytes(b"abc".to_vec()), &ImageData::Bytes(b"abc".to_vec())]);
    assert_eq!(reply.usage, usage(14, 2240));
    for _ in 0..2 {
        let (_, request) = requests.recv().await.unwrap();
        let line = "POST /v1beta/models/gpt-image-2:generateContent HTTP/1.1\r\n";
        assert!(request.head.starts_with(line), "{}", request.head);
        let expected = json!({"contents": [{"role": "user", "parts": [{"text": PROMPT}]}],
            "generationConfig": {"responseModalities": ["IMAGE"], "imageConfig": {"aspectRatio": "16:9"}}});
        assert_eq!(serde_json::from_str::<Value>(&request.body).unwrap(), expected);
    }
    assert!(requests.try_recv().is_err());
}

#[tokio::test]
async fn google_refuses_by_feedback_or_by_the_reason_of_the_end() {
    for (body, client) in [
        (json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}), Some(ClientFault::ContentPolicy)),
        (json!({"candidates": [{"finishReason": "IMAGE_SAFETY"}]}), Some(ClientFault::ContentPolicy)),
        (json!({"candidates": [{"finishReason": "NO_IMAGE"}]}), None),
        (json!({"candidates": []}), None),
    ] {
        let addr = answering(http("200 OK", "", &body.to_string())).await;
        let fault = google(addr).image(image_call(1)).await.unwrap_err();
        assert_eq!(fault.client, client, "{body}");
        let expected = if client.is_some() { FaultClass::Client } else { FaultClass::Transient };
        assert_eq!(fault.class, expected, "{body}");
    }
}

#[tokio::test]
async fn a_provider_without_pictures_says_so_without_a_call() {
    let config = HttpConfig::new("anthropic", "http://127.0.0.1:9/v1").with_key(Secret::new(KEY));
    let fault = muster_providers::AnthropicAdapter::new(config).unwrap().image(image_call(1)).await.unwrap_err();
    assert_eq!((fault.client, fault.param.as_deref()), (Some(ClientFault::Unsupported), Some("model")));
}
