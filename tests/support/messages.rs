//! What an answer of Anthropic's Messages API says, whole and streamed.

use serde_json::{Value, json};

use super::client::Event;
use super::dialect::{Said, Streamed};

/// Reads a whole answer.
pub fn said(body: &Value) -> Said {
    let [block] = &body["content"].as_array().unwrap()[..] else { panic!("{body}") };
    assert_eq!((&body["type"], &block["type"]), (&json!("message"), &json!("text")), "{body}");
    Said {
        text: block["text"].as_str().unwrap().to_owned(),
        model: body["model"].as_str().unwrap().to_owned(),
        tokens: tokens(&body["usage"]),
        finish: Some(finish(&body["stop_reason"])),
        ..Said::default()
    }
}

/// Reads a stream of one block of text and checks the order of its events.
pub fn streamed(events: &[Event]) -> Streamed {
    let (mut streamed, mut said, mut before) = (Streamed::default(), Said::default(), "");
    for event in events {
        let data = event.json();
        let kind = event.name.as_deref().unwrap();
        assert_eq!(data["type"], kind);
        assert!(streamed.done.is_none() && streamed.error.is_none(), "something follows the end: {events:?}");
        match (before, kind) {
            (_, "ping") => continue,
            ("", "message_start") => said.model = data["message"]["model"].as_str().unwrap().to_owned(),
            ("message_start", "content_block_start") => assert_eq!(data["content_block"]["type"], "text"),
            ("content_block_start" | "content_block_delta", "content_block_delta") => {
                streamed.deltas.push(data["delta"]["text"].as_str().unwrap().to_owned());
            }
            ("content_block_delta", "content_block_stop") => {}
            ("content_block_stop", "message_delta") => {
                said.tokens = tokens(&data["usage"]);
                said.finish = Some(finish(&data["delta"]["stop_reason"]));
            }
            ("message_delta", "message_stop") => {
                streamed.done = Some(Said { text: streamed.deltas.concat(), ..said.clone() });
            }
            (_, "error") => streamed.error = Some(data.clone()),
            _ => panic!("{kind} after {before:?}: {events:?}"),
        }
        before = event.name.as_deref().unwrap();
    }
    streamed
}

fn tokens(usage: &Value) -> u64 {
    usage["input_tokens"].as_u64().unwrap() + usage["output_tokens"].as_u64().unwrap()
}

/// As the other dialects say it.
fn finish(reason: &Value) -> String {
    match reason.as_str().unwrap() {
        "end_turn" => "stop".to_owned(),
        "max_tokens" => "length".to_owned(),
        other => panic!("{other} is no end of a chat without tools"),
    }
}
