//! Parsing of answers of OpenAI's Responses API, whole and streamed.

use serde_json::{Value, json};

use super::client::Event;
use super::dialect::{ChatOutput, StreamedChat};

/// Parses a complete answer.
pub fn output(body: &Value) -> ChatOutput {
    let [item] = &body["output"].as_array().unwrap()[..] else { panic!("{body}") };
    let [part] = &item["content"].as_array().unwrap()[..] else { panic!("{body}") };
    assert_eq!((&body["object"], &part["type"]), (&json!("response"), &json!("output_text")), "{body}");
    let finish = match body["status"].as_str().unwrap() {
        "completed" => "stop",
        "incomplete" => "length",
        other => panic!("{other} is no end of a whole answer: {body}"),
    };
    ChatOutput {
        text: part["text"].as_str().unwrap().to_owned(),
        model: body["model"].as_str().unwrap().to_owned(),
        tokens: body["usage"]["total_tokens"].as_u64().unwrap(),
        finish: Some(finish.to_owned()),
        ..ChatOutput::default()
    }
}

/// Parses a stream and checks the consistency of its events.
pub fn streamed(events: &[Event]) -> StreamedChat {
    let (mut streamed, mut failed) = (StreamedChat::default(), false);
    for (at, event) in events.iter().enumerate() {
        let data = event.json();
        let kind = event.name.as_deref().unwrap();
        assert_eq!((&data["type"], &data["sequence_number"]), (&json!(kind), &json!(at)));
        assert!(streamed.done.is_none() && streamed.error.is_none(), "something follows the end: {events:?}");
        assert!(!failed || kind == "error", "{kind} follows the failure: {events:?}");
        match kind {
            "response.output_text.delta" => streamed.deltas.push(data["delta"].as_str().unwrap().to_owned()),
            "response.output_text.done" => assert_eq!(data["text"], streamed.deltas.concat()),
            "response.completed" => streamed.done = Some(output(&data["response"])),
            "response.failed" => {
                assert_eq!(data["response"]["status"], "failed");
                failed = true;
            }
            "error" => streamed.error = Some(data),
            _ => assert!(at < events.len() - 1, "{kind} is no end: {events:?}"),
        }
    }
    assert!(failed == streamed.error.is_some(), "the failed response and the error come together: {events:?}");
    streamed
}
