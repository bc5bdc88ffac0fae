//! Server-sent chunks of a streamed chat completion.

use bytes::{BufMut, BytesMut};
use muster_core::{Clock, Error};
use muster_providers::{Delta, FinishReason, ToolDelta, Usage};
use serde::Serialize;
use serde_json::{Value, json};

use super::response::UsageB;
use crate::error::{Dialect, body};
use crate::sse::{Frames, frame};

/// Writes `chat.completion.chunk` objects. The part that all chunks share is serialized once.
pub struct ChunkWriter {
    /// Bytes from `data: {…` up to and including `"choices":`.
    head: Vec<u8>,
    /// Bytes from after the choices to the end of the event.
    tail: &'static [u8],
    /// Number of requested choices.
    n: u32,
    include_usage: bool,
    clock: Clock,
}

#[derive(Serialize)]
struct ToolCallDelta<'a> {
    index: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    function: FunctionDelta<'a>,
}

#[derive(Serialize)]
struct FunctionDelta<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    arguments: &'a str,
}

impl ChunkWriter {
    pub fn new(id: &str, created: u64, model: &str, n: u32, include_usage: bool, clock: Clock) -> Self {
        let head = json!({ "id": id, "object": "chat.completion.chunk", "created": created, "model": model });
        let head = head.to_string();
        let head = format!("data: {},\"choices\":", head.trim_end_matches('}')).into_bytes();
        // If usage was requested, it is null in every chunk but the last.
        let tail: &[u8] = if include_usage { b",\"usage\":null}\n\n" } else { b"}\n\n" };
        Self { head, tail, n, include_usage, clock }
    }

    /// Writes a chunk with these choices, given as JSON.
    fn chunk(&self, choices: &[u8], out: &mut BytesMut) {
        out.reserve(self.head.len() + choices.len() + self.tail.len());
        out.extend_from_slice(&self.head);
        out.extend_from_slice(choices);
        out.extend_from_slice(self.tail);
    }

    fn piece(&self, choice: u32, delta: Value, finish: Option<FinishReason>, out: &mut BytesMut) {
        let choices = json!([{ "index": choice, "delta": delta, "finish_reason": finish }]);
        self.chunk(choices.to_string().as_bytes(), out);
    }

    /// Writes a text chunk, by far the most frequent kind, without building a JSON tree.
    fn text(&self, choice: u32, text: &str, out: &mut BytesMut) {
        out.reserve(self.head.len() + text.len() + 80);
        out.extend_from_slice(&self.head);
        out.extend_from_slice(b"[{\"index\":");
        // Writing into memory cannot fail.
        let _ = serde_json::to_writer(out.writer(), &choice);
        out.extend_from_slice(b",\"delta\":{\"content\":");
        let _ = serde_json::to_writer(out.writer(), text);
        out.extend_from_slice(b"},\"finish_reason\":null}]");
        out.extend_from_slice(self.tail);
    }

    fn tool(&self, choice: u32, call: &ToolDelta, out: &mut BytesMut) {
        let call = ToolCallDelta {
            index: call.index,
            id: call.id.as_deref(),
            kind: call.id.is_some().then_some("function"),
            function: FunctionDelta { name: call.name.as_deref(), arguments: &call.arguments },
        };
        self.piece(choice, json!({ "tool_calls": [call] }), None, out);
    }
}

impl Frames for ChunkWriter {
    fn start(&mut self, out: &mut BytesMut) {
        for choice in 0..self.n.max(1) {
            self.piece(choice, json!({ "role": "assistant", "content": "" }), None, out);
        }
    }

    fn delta(&mut self, delta: &Delta, out: &mut BytesMut) {
        match delta {
            Delta::Text { choice, text } => self.text(*choice, text, out),
            Delta::Tool { choice, call } => self.tool(*choice, call, out),
            Delta::Finish { choice, finish } => self.piece(*choice, json!({}), Some(*finish), out),
            Delta::Verbatim(chunk) => self.chunk(&chunk.choices, out),
        }
    }

    fn done(&mut self, finish: FinishReason, usage: Usage, out: &mut BytesMut) {
        self.piece(0, json!({}), Some(finish), out);
        if self.include_usage {
            out.extend_from_slice(&self.head);
            out.extend_from_slice(b"[],\"usage\":");
            let _ = serde_json::to_writer(out.writer(), &UsageB::from(usage));
            out.extend_from_slice(b"}\n\n");
        }
        out.extend_from_slice(b"data: [DONE]\n\n");
    }

    fn error(&mut self, error: &Error, out: &mut BytesMut) {
        frame(None, &body(error, Dialect::B, self.clock.now()), out);
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use muster_providers::Verbatim;

    use super::*;

    fn written(include_usage: bool, write: impl FnOnce(&mut ChunkWriter, &mut BytesMut)) -> Vec<Value> {
        let mut frames = ChunkWriter::new("chatcmpl-1", 7, "m \"x\"", 1, include_usage, Clock::system());
        let mut out = BytesMut::new();
        write(&mut frames, &mut out);
        let text = String::from_utf8(out.to_vec()).unwrap();
        let events = text.split_terminator("\n\n").map(|event| event.strip_prefix("data: ").unwrap());
        events.filter(|data| *data != "[DONE]").map(|data| serde_json::from_str(data).unwrap()).collect()
    }

    #[test]
    fn every_chunk_has_the_shared_fields_and_its_choices() {
        let text = Delta::Text { choice: 1, text: "a\"\n\u{e9}".to_owned() };
        let verbatim = Delta::Verbatim(Verbatim {
            choices: Bytes::from_static(b"[{\"index\":0,\"delta\":{\"content\":\"b\"},\"logprobs\":null}]"),
            escaped: Bytes::from_static(b"b"),
        });
        let call = ToolDelta {
            index: 2,
            id: Some("call_1".to_owned()),
            name: Some("f".to_owned()),
            arguments: "{\"a\"".to_owned(),
        };
        let more = ToolDelta { index: 2, arguments: ":1}".to_owned(), ..ToolDelta::default() };
        let chunks = written(false, |frames, out| {
            frames.delta(&text, out);
            frames.delta(&verbatim, out);
            frames.delta(&Delta::Tool { choice: 0, call }, out);
            frames.delta(&Delta::Tool { choice: 0, call: more }, out);
        });
        for chunk in &chunks {
            assert_eq!(
                (&chunk["id"], &chunk["object"], &chunk["created"], &chunk["model"]),
                (&json!("chatcmpl-1"), &json!("chat.completion.chunk"), &json!(7), &json!("m \"x\""))
            );
            assert!(chunk.get("usage").is_none());
        }
        let choices: Vec<_> = chunks.iter().map(|chunk| chunk["choices"][0].clone()).collect();
        assert_eq!(choices[0], json!({ "index": 1, "delta": { "content": "a\"\n\u{e9}" }, "finish_reason": null }));
        assert_eq!(choices[1], json!({ "index": 0, "delta": { "content": "b" }, "logprobs": null }));
        let function = json!({ "name": "f", "arguments": "{\"a\"" });
        assert_eq!(
            choices[2]["delta"]["tool_calls"],
            json!([{ "index": 2, "id": "call_1", "type": "function", "function": function }])
        );
        assert_eq!(choices[3]["delta"]["tool_calls"], json!([{ "index": 2, "function": { "arguments": ":1}" } }]));
    }

    #[test]
    fn usage_is_null_before_its_own_chunk() {
        let usage = Usage { prompt_tokens: 3, completion_tokens: 4, estimated: false };
        let chunks = written(true, |frames, out| {
            frames.start(out);
            frames.done(FinishReason::Stop, usage, out);
        });
        let usages: Vec<_> = chunks.iter().map(|chunk| chunk["usage"].clone()).collect();
        let figures = json!({ "prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7 });
        assert_eq!(usages, [Value::Null, Value::Null, figures]);
        assert_eq!(chunks[1]["choices"][0]["finish_reason"], "stop");
        assert_eq!(chunks[2]["choices"], json!([]));
    }
}
