//! Parsing of answers of Anthropic's Messages API, whole and streamed.

use serde_json::{Value, json};

use super::client::Event;
use super::dialect::{ChatOutput, StreamedChat};

/// Parses a complete answer.
pub fn output(body: &Value) -> ChatOutput {
    let [block] = &body["content"].as_array().unwrap()[..] else { panic!("{body}") };
    assert_eq!((&body["type"], &block["type"]), (&json!("message"), &json!("text")), "{body}");
    ChatOutput {
        text: block["text"].as_str().unwrap().to_owned(),
        model: body["model"].as_str().unwrap().to_owned(),
        tokens: tokens(&body["usage"]),
        finish: Some(finish(&body["stop_reason"])),
        ..ChatOutput::default()
    }
}

/// Parses a stream of one text block and checks the order of its events.
pub fn streamed(events: &[Event]) -> StreamedChat {
    let (mut streamed, mut output, mut previous) = (StreamedChat::default(), ChatOutput::default(), "");
    for event in events {
        let data = event.json();
        let kind = event.name.as_deref().unwrap();
        assert_eq!(data["type"], kind);
        assert!(streamed.done.is_none() && streamed.error.is_none(), "something follows the end: {events:?}");
        match (previous, kind) {
            (_, "ping") => continue,
            ("", "message_start") => output.model = data["message"]["model"].as_str().unwrap().to_owned(),
            ("message_start", "content_block_start") => assert_eq!(data["content_block"]["type"], "text"),
            ("content_block_start" | "content_block_delta", "content_block_delta") => {
                streamed.deltas.push(data["delta"]["text"].as_str().unwrap().to_owned());
            }
            ("content_block_delta", "content_block_stop") => {}
            ("content_block_stop", "message_delta") => {
                output.tokens = tokens(&data["usage"]);
                output.finish = Some(finish(&data["delta"]["stop_reason"]));
            }
            ("message_delta", "message_stop") => {
                streamed.done = Some(ChatOutput { text: streamed.deltas.concat(), ..output.clone() });
            }
            (_, "error") => streamed.error = Some(data.clone()),
            _ => panic!("{kind} after {previous:?}: {events:?}"),
        }
        previous = event.name.as_deref().unwrap();
    }
    streamed
}

fn tokens(usage: &Value) -> u64 {
    usage["input_tokens"].as_u64().unwrap() + usage["output_tokens"].as_u64().unwrap()
}

/// The finish reason in the terms of the other dialects.
fn finish(reason: &Value) -> String {
    match reason.as_str().unwrap() {
        "end_turn" => "stop".to_owned(),
        "max_tokens" => "length".to_owned(),
        other => panic!("{other} is no end of a chat without tools"),
    }
}
