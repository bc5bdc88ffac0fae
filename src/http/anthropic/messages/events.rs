//! Server-sent events of a streamed message in the format of Anthropic: blocks that start, grow and end.

use bytes::BytesMut;
use muster_core::Error;
use muster_core::ids::{IdKind, new_id};
use muster_providers::{Delta, FinishReason, ToolDelta, Usage};
use serde::Serialize;
use serde_json::{Value, json};

use super::response::{AsksForTools, UsageMessages, stop_reason};
use crate::error::ErrorMessages;
use crate::sse::{Frames, frame};

/// Writes the events of a message.
///
/// One block is open at a time, as clients expect. If a provider returns to an earlier tool call, its part is still
/// written, with the index of that block.
pub struct MessageEvents {
    id: String,
    model: String,
    request_id: String,
    /// Estimated number of prompt tokens; the provider's count comes with the end.
    estimate: u32,
    open: Option<Open>,
    /// Number of started blocks.
    blocks: u32,
    /// Index of the block of each tool call, by the index of the call.
    calls: Vec<(u32, u32)>,
}

/// The open block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    Text { block: u32 },
    Tool { block: u32 },
}

impl Open {
    fn block(self) -> u32 {
        let (Self::Text { block } | Self::Tool { block }) = self;
        block
    }
}

#[derive(Serialize)]
struct BlockDelta<'a> {
    r#type: &'static str,
    index: u32,
    delta: Piece<'a>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Piece<'a> {
    TextDelta { text: &'a str },
    InputJsonDelta { partial_json: &'a str },
}

impl MessageEvents {
    pub fn new(id: String, model: String, request_id: String, estimate: u32) -> Self {
        Self { id, model, request_id, estimate, open: None, blocks: 0, calls: Vec::new() }
    }

    fn close(&mut self, out: &mut BytesMut) {
        if let Some(open) = self.open.take() {
            event("content_block_stop", json!({ "index": open.block() }), out);
        }
    }

    fn begin(&mut self, content: Value, open: impl FnOnce(u32) -> Open, out: &mut BytesMut) -> u32 {
        self.close(out);
        let block = self.blocks;
        self.blocks += 1;
        self.open = Some(open(block));
        event("content_block_start", json!({ "index": block, "content_block": content }), out);
        block
    }

    fn text(&mut self, text: &str, out: &mut BytesMut) {
        let block = match self.open {
            Some(Open::Text { block }) => block,
            _ => self.begin(json!({ "type": "text", "text": "" }), |block| Open::Text { block }, out),
        };
        piece(block, Piece::TextDelta { text }, out);
    }

    fn tool(&mut self, call: &ToolDelta, out: &mut BytesMut) {
        let begun = self.calls.iter().find(|(index, _)| *index == call.index).map(|&(_, block)| block);
        let block = begun.unwrap_or_else(|| {
            let id = call.id.clone().unwrap_or_else(|| new_id(IdKind::FunctionCall));
            let content = json!({ "type": "tool_use", "id": id, "name": call.name, "input": {} });
            let block = self.begin(content, |block| Open::Tool { block }, out);
            self.calls.push((call.index, block));
            block
        });
        if !call.arguments.is_empty() {
            piece(block, Piece::InputJsonDelta { partial_json: &call.arguments }, out);
        }
    }
}

/// Writes an event whose name is its type.
fn event(name: &'static str, mut data: Value, out: &mut BytesMut) {
    if let Some(object) = data.as_object_mut() {
        object.insert("type".to_owned(), name.into());
    }
    frame(Some(name), &data, out);
}

fn piece(index: u32, delta: Piece<'_>, out: &mut BytesMut) {
    let name = "content_block_delta";
    frame(Some(name), &BlockDelta { r#type: name, index, delta }, out);
}

impl Frames for MessageEvents {
    fn start(&mut self, out: &mut BytesMut) {
        let usage = UsageMessages { input_tokens: self.estimate, ..UsageMessages::default() };
        let message = json!({
            "id": self.id, "type": "message", "role": "assistant", "model": self.model, "content": [],
            "stop_reason": null, "stop_sequence": null, "usage": usage,
        });
        event("message_start", json!({ "message": message }), out);
    }

    fn delta(&mut self, delta: &Delta, out: &mut BytesMut) {
        match delta {
            Delta::Text { choice: 0, text } => self.text(text, out),
            Delta::Tool { choice: 0, call } => self.tool(call, out),
            Delta::Verbatim(chunk) => self.text(&chunk.text(), out),
            // One choice is requested.
            Delta::Text { .. } | Delta::Tool { .. } | Delta::Finish { .. } => {}
        }
    }

    fn done(&mut self, finish: FinishReason, usage: Usage, out: &mut BytesMut) {
        self.close(out);
        let tools = if self.calls.is_empty() { AsksForTools::No } else { AsksForTools::Yes };
        let delta = json!({ "stop_reason": stop_reason(finish, tools), "stop_sequence": null });
        event("message_delta", json!({ "delta": delta, "usage": UsageMessages::from(usage) }), out);
        event("message_stop", json!({}), out);
    }

    fn error(&mut self, error: &Error, out: &mut BytesMut) {
        frame(Some("error"), &ErrorMessages::new(error, Some(&self.request_id)), out);
    }
}

#[cfg(test)]
mod tests {
    use muster_core::Kind;

    use super::*;

    /// Returns name and data of each event.
    fn written(write: impl FnOnce(&mut MessageEvents, &mut BytesMut)) -> Vec<(String, Value)> {
        let mut frames = MessageEvents::new("msg_1".to_owned(), "m".to_owned(), "req_1".to_owned(), 5);
        let mut out = BytesMut::new();
        write(&mut frames, &mut out);
        let text = String::from_utf8(out.to_vec()).unwrap();
        let read = |event: &str| {
            let (name, data) = event.strip_prefix("event: ").unwrap().split_once("\ndata: ").unwrap();
            (name.to_owned(), serde_json::from_str::<Value>(data).unwrap())
        };
        text.split_terminator("\n\n").map(read).collect()
    }

    fn text(text: &str) -> Delta {
        Delta::Text { choice: 0, text: text.to_owned() }
    }

    fn tool(index: u32, id: Option<&str>, arguments: &str) -> Delta {
        let owned = |text: &str| text.to_owned();
        let call = ToolDelta { index, id: id.map(owned), name: id.map(|_| owned("f")), arguments: owned(arguments) };
        Delta::Tool { choice: 0, call }
    }

    const USAGE: Usage = Usage { prompt_tokens: 3, completion_tokens: 4, estimated: false };

    #[test]
    fn text_and_tool_calls_are_consecutive_blocks() {
        let events = written(|frames, out| {
            frames.start(out);
            for delta in [
                text("a"),
                text("\"b\""),
                tool(0, Some("call_1"), ""),
                tool(0, None, "{\"x\""),
                tool(0, None, ":1}"),
                tool(1, Some("call_2"), "{}"),
                // Discarded: one choice is requested.
                Delta::Text { choice: 1, text: "no".to_owned() },
            ] {
                frames.delta(&delta, out);
            }
            frames.done(FinishReason::ToolCalls, USAGE, out);
        });
        let usage = |input: u32, output: u32| {
            json!({ "input_tokens": input, "output_tokens": output, "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0 })
        };
        let begin =
            |index: u32, block: Value| json!({ "type": "content_block_start", "index": index, "content_block": block });
        let piece = |index: u32, delta: Value| json!({ "type": "content_block_delta", "index": index, "delta": delta });
        let stop = |index: u32| json!({ "type": "content_block_stop", "index": index });
        let text_delta = |text: &str| json!({ "type": "text_delta", "text": text });
        let args = |text: &str| json!({ "type": "input_json_delta", "partial_json": text });
        let call = |id: &str| json!({ "type": "tool_use", "id": id, "name": "f", "input": {} });
        let expected = [
            json!({ "type": "message_start", "message": { "id": "msg_1", "type": "message", "role": "assistant",
                "model": "m", "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage(5, 0) } }),
            begin(0, json!({ "type": "text", "text": "" })),
            piece(0, text_delta("a")),
            piece(0, text_delta("\"b\"")),
            stop(0),
            begin(1, call("call_1")),
            piece(1, args("{\"x\"")),
            piece(1, args(":1}")),
            stop(1),
            begin(2, call("call_2")),
            piece(2, args("{}")),
            stop(2),
            json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use", "stop_sequence": null },
                "usage": usage(3, 4) }),
            json!({ "type": "message_stop" }),
        ];
        let data: Vec<_> = events.iter().map(|(_, data)| data.clone()).collect();
        assert_eq!(data, expected);
        assert!(events.iter().all(|(name, data)| data["type"] == *name), "each is named by its type: {events:?}");
    }

    #[test]
    fn a_late_part_is_written_to_its_own_block() {
        let events = written(|frames, out| {
            frames.delta(&tool(0, Some("call_1"), "{"), out);
            frames.delta(&tool(1, Some("call_2"), "{"), out);
            frames.delta(&tool(0, None, "}"), out);
        });
        let pieces = events.iter().filter(|(name, _)| name == "content_block_delta");
        let deltas: Vec<_> =
            pieces.map(|(_, data)| (data["index"].clone(), data["delta"]["partial_json"].clone())).collect();
        assert_eq!(deltas, [(json!(0), json!("{")), (json!(1), json!("{")), (json!(0), json!("}"))]);
    }

    #[test]
    fn an_error_is_the_last_event() {
        let events = written(|frames, out| {
            frames.start(out);
            frames.delta(&text("a"), out);
            frames.error(&Error::new(Kind::ProviderFailed, "broken off"), out);
        });
        let (name, data) = events.last().unwrap();
        assert_eq!(name, "error");
        let error = json!({ "type": "api_error", "message": "broken off" });
        assert_eq!(*data, json!({ "type": "error", "error": error, "request_id": "req_1" }));
    }
}
