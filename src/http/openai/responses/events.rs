//! Server-sent events of a streamed response: numbered events of items that start, grow and end.

use bytes::BytesMut;
use muster_core::ids::{IdKind, new_id};
use muster_core::{Clock, Error};
use muster_providers::{Delta, FinishReason, ToolCall, ToolDelta, Usage};
use serde::Serialize;
use serde_json::{Value, json};

use super::response::{OutputItem, OutputText, ResponseObject, Status, outcome};
use crate::error::{Dialect, body};
use crate::sse::{Frames, frame};

/// Writes the events of a response.
///
/// One item is open at a time, as clients expect. If a provider returns to an earlier call, its part is still written,
/// with the index of that call, and the final response contains all of it.
pub struct ResponseEvents {
    /// Response so far; its output contains every item, including the open one.
    response: ResponseObject,
    sequence: u64,
    /// Index of the open item.
    open: Option<usize>,
    /// Index of the item of each tool call, by the index of the call.
    calls: Vec<(u32, usize)>,
    clock: Clock,
}

#[derive(Serialize)]
struct TextDelta<'a> {
    r#type: &'static str,
    sequence_number: u64,
    item_id: &'a str,
    output_index: usize,
    content_index: u32,
    delta: &'a str,
    logprobs: [u8; 0],
}

impl ResponseEvents {
    pub fn new(response: ResponseObject, clock: Clock) -> Self {
        Self { response, sequence: 0, open: None, calls: Vec::new(), clock }
    }

    fn next(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence - 1
    }

    /// Writes an event whose name is its type.
    fn event(&mut self, name: &'static str, mut data: Value, out: &mut BytesMut) {
        let sequence = self.next();
        if let Some(object) = data.as_object_mut() {
            object.insert("type".to_owned(), name.into());
            object.insert("sequence_number".to_owned(), sequence.into());
        }
        frame(Some(name), &data, out);
    }

    fn about_response(&mut self, name: &'static str, out: &mut BytesMut) {
        self.event(name, json!({ "response": self.response }), out);
    }

    fn begin(&mut self, item: OutputItem, out: &mut BytesMut) -> usize {
        self.close(Status::Completed, out);
        let index = self.response.output.len();
        self.event("response.output_item.added", json!({ "output_index": index, "item": item }), out);
        self.response.output.push(item);
        self.open = Some(index);
        index
    }

    /// Completes the open item.
    fn close(&mut self, status: Status, out: &mut BytesMut) {
        let Some(index) = self.open.take() else { return };
        let Some(item) = self.response.output.get_mut(index) else { return };
        *item.status() = status;
        let item = item.clone();
        let id = item.id();
        match &item {
            OutputItem::Message(message) => {
                for part in &message.content {
                    let at = json!({ "item_id": id, "output_index": index, "content_index": 0 });
                    let text = merged(&at, json!({ "text": part.text, "logprobs": [] }));
                    self.event("response.output_text.done", text, out);
                    self.event("response.content_part.done", merged(&at, json!({ "part": part })), out);
                }
            }
            OutputItem::FunctionCall(call) => {
                let (name, arguments) = (&call.name, &call.arguments);
                let done = json!({ "item_id": id, "output_index": index, "name": name, "arguments": arguments });
                self.event("response.function_call_arguments.done", done, out);
            }
        }
        self.event("response.output_item.done", json!({ "output_index": index, "item": item }), out);
    }

    fn text(&mut self, text: &str, out: &mut BytesMut) {
        let open = self.open.and_then(|index| self.response.output.get(index));
        if !matches!(open, Some(OutputItem::Message(_))) {
            let item = OutputItem::message(Vec::new());
            let id = item.id().to_owned();
            let index = self.begin(item, out);
            let part = OutputText::new(String::new());
            let added = json!({ "item_id": id, "output_index": index, "content_index": 0, "part": part });
            self.event("response.content_part.added", added, out);
            if let Some(OutputItem::Message(message)) = self.response.output.get_mut(index) {
                message.content.push(part);
            }
        }
        let sequence_number = self.next();
        let Some(index) = self.open else { return };
        let Some(OutputItem::Message(message)) = self.response.output.get_mut(index) else { return };
        if let Some(part) = message.content.last_mut() {
            part.text.push_str(text);
        }
        let name = "response.output_text.delta";
        let delta = TextDelta {
            r#type: name,
            sequence_number,
            item_id: &message.id,
            output_index: index,
            content_index: 0,
            delta: text,
            logprobs: [],
        };
        frame(Some(name), &delta, out);
    }

    fn tool(&mut self, call: &ToolDelta, out: &mut BytesMut) {
        let begun = self.calls.iter().find(|(index, _)| *index == call.index).map(|&(_, item)| item);
        let index = begun.unwrap_or_else(|| {
            let id = call.id.clone().unwrap_or_else(|| new_id(IdKind::FunctionCall));
            let name = call.name.clone().unwrap_or_default();
            let item = self.begin(OutputItem::call(ToolCall { id, name, arguments: String::new() }), out);
            self.calls.push((call.index, item));
            item
        });
        if call.arguments.is_empty() {
            return;
        }
        let Some(OutputItem::FunctionCall(item)) = self.response.output.get_mut(index) else { return };
        item.arguments.push_str(&call.arguments);
        let delta = json!({ "item_id": item.id, "output_index": index, "delta": call.arguments });
        self.event("response.function_call_arguments.delta", delta, out);
    }
}

fn merged(base: &Value, more: Value) -> Value {
    let mut merged = base.clone();
    if let (Some(merged), Value::Object(more)) = (merged.as_object_mut(), more) {
        merged.extend(more);
    }
    merged
}

impl Frames for ResponseEvents {
    fn start(&mut self, out: &mut BytesMut) {
        self.about_response("response.created", out);
        self.about_response("response.in_progress", out);
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
        let (status, _) = outcome(finish);
        self.close(status, out);
        self.response.end(finish, usage, self.clock.now());
        let name = if status == Status::Completed { "response.completed" } else { "response.incomplete" };
        self.about_response(name, out);
    }

    /// Writes `response.failed` with the output so far, then `error`: the official clients treat the former as an
    /// ordinary event and raise an exception only for an event with the member `error`.
    fn error(&mut self, error: &Error, out: &mut BytesMut) {
        let rendered = body(error, Dialect::B, self.clock.now());
        let rendered = rendered.get("error").cloned().unwrap_or_default();
        let code = rendered.get("code").and_then(Value::as_str).unwrap_or_default().to_owned();
        self.response.fail(code.clone(), error.message.clone());
        self.about_response("response.failed", out);
        let last = json!({ "code": code, "message": error.message, "param": rendered.get("param"), "error": rendered });
        self.event("error", last, out);
    }
}

#[cfg(test)]
mod tests {
    use muster_core::{Kind, Millis};

    use super::super::request::RepeatedFields;
    use super::*;

    /// Returns the data of each event, after checking names, sequence numbers and prefixes of item identifiers.
    fn written(write: impl FnOnce(&mut ResponseEvents, &mut BytesMut)) -> Vec<Value> {
        let begun = ResponseObject::in_progress("m".to_owned(), RepeatedFields::default(), Millis(5_000));
        let mut frames = ResponseEvents::new(begun, Clock::manual(Millis(9_000)));
        let mut out = BytesMut::new();
        write(&mut frames, &mut out);
        let text = String::from_utf8(out.to_vec()).unwrap();
        let events = text.split_terminator("\n\n").enumerate().map(|(at, event)| {
            let (name, data) = event.strip_prefix("event: ").unwrap().split_once("\ndata: ").unwrap();
            let mut data: Value = serde_json::from_str(data).unwrap();
            assert_eq!((&data["type"], &data["sequence_number"]), (&json!(name), &json!(at)));
            data.as_object_mut().unwrap().remove("sequence_number");
            shorten_ids(&mut data);
            data
        });
        events.collect()
    }

    fn shorten_ids(value: &mut Value) {
        match value {
            Value::Object(object) => {
                for (name, below) in object {
                    match below.as_str().and_then(|id| id.split_once('_')) {
                        Some((prefix, _)) if name == "id" || name == "item_id" => *below = prefix.into(),
                        _ => shorten_ids(below),
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(shorten_ids),
            _ => {}
        }
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

    fn part(text: &str) -> Value {
        json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] })
    }

    fn message(status: &str, content: Value) -> Value {
        json!({ "type": "message", "id": "msg", "status": status, "role": "assistant", "content": content })
    }

    fn call(status: &str, id: &str, arguments: &str) -> Value {
        json!({ "type": "function_call", "id": "fc", "call_id": id, "name": "f", "arguments": arguments, "status": status })
    }

    #[test]
    fn text_and_tool_calls_are_consecutive_items() {
        let events = written(|frames, out| {
            frames.start(out);
            for delta in [
                text("a"),
                text("b"),
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
        let added = |index: u32, item: Value| json!({ "type": "response.output_item.added", "output_index": index, "item": item });
        let done = |index: u32, item: Value| json!({ "type": "response.output_item.done", "output_index": index, "item": item });
        let delta = |text: &str| {
            json!({ "type": "response.output_text.delta", "item_id": "msg", "output_index": 0, "content_index": 0,
                "delta": text, "logprobs": [] })
        };
        let arguments = |index: u32, text: &str| json!({ "type": "response.function_call_arguments.delta", "item_id": "fc", "output_index": index, "delta": text });
        let called = |index: u32, text: &str| {
            json!({ "type": "response.function_call_arguments.done", "item_id": "fc", "output_index": index, "name": "f",
                "arguments": text })
        };
        let output = [
            message("completed", json!([part("ab")])),
            call("completed", "call_1", "{\"x\":1}"),
            call("completed", "call_2", "{}"),
        ];
        let expected = [
            added(0, message("in_progress", json!([]))),
            json!({ "type": "response.content_part.added", "item_id": "msg", "output_index": 0, "content_index": 0,
                "part": part("") }),
            delta("a"),
            delta("b"),
            json!({ "type": "response.output_text.done", "item_id": "msg", "output_index": 0, "content_index": 0,
                "text": "ab", "logprobs": [] }),
            json!({ "type": "response.content_part.done", "item_id": "msg", "output_index": 0, "content_index": 0,
                "part": part("ab") }),
            done(0, output[0].clone()),
            added(1, call("in_progress", "call_1", "")),
            arguments(1, "{\"x\""),
            arguments(1, ":1}"),
            called(1, "{\"x\":1}"),
            done(1, output[1].clone()),
            added(2, call("in_progress", "call_2", "")),
            arguments(2, "{}"),
            called(2, "{}"),
            done(2, output[2].clone()),
        ];
        let (created, progress) = (&events[0], &events[1]);
        assert_eq!((&created["type"], &progress["type"]), (&json!("response.created"), &json!("response.in_progress")));
        for begun in [created, progress] {
            let response = &begun["response"];
            assert_eq!((&response["status"], &response["output"]), (&json!("in_progress"), &json!([])));
            assert_eq!((&response["created_at"], &response["usage"]), (&json!(5), &Value::Null));
        }
        assert_eq!(events[2..events.len() - 1], expected);
        let last = events.last().unwrap();
        let response = &last["response"];
        assert_eq!((&last["type"], &response["status"]), (&json!("response.completed"), &json!("completed")));
        assert_eq!(response["output"], json!(output));
        assert_eq!(response["completed_at"], 9);
        assert_eq!(
            response["usage"],
            json!({ "input_tokens": 3, "input_tokens_details": { "cached_tokens": 0, "cache_write_tokens": 0 },
                "output_tokens": 4, "output_tokens_details": { "reasoning_tokens": 0 }, "total_tokens": 7 })
        );
    }

    #[test]
    fn an_incomplete_response_has_its_reason() {
        for (finish, reason) in
            [(FinishReason::Length, "max_output_tokens"), (FinishReason::ContentFilter, "content_filter")]
        {
            let events = written(|frames, out| {
                frames.start(out);
                frames.delta(&text("a"), out);
                frames.done(finish, USAGE, out);
            });
            let last = events.last().unwrap();
            let response = &last["response"];
            assert_eq!((&last["type"], &response["status"]), (&json!("response.incomplete"), &json!("incomplete")));
            assert_eq!(response["incomplete_details"], json!({ "reason": reason }));
            assert_eq!(response["output"], json!([message("incomplete", json!([part("a")]))]));
            assert_eq!(response["completed_at"], Value::Null);
        }
    }

    #[test]
    fn a_late_part_is_written_and_part_of_the_final_response() {
        let events = written(|frames, out| {
            frames.delta(&tool(0, Some("call_1"), "{"), out);
            frames.delta(&tool(1, Some("call_2"), "{}"), out);
            frames.delta(&tool(0, None, "}"), out);
            frames.done(FinishReason::ToolCalls, USAGE, out);
        });
        let output = [call("completed", "call_1", "{}"), call("completed", "call_2", "{}")];
        assert_eq!(events.last().unwrap()["response"]["output"], json!(output));
    }

    #[test]
    fn a_failure_is_reported_by_two_events_and_ends_the_stream() {
        let events = written(|frames, out| {
            frames.start(out);
            frames.delta(&text("a"), out);
            frames.error(&Error::new(Kind::ProviderFailed, "broken off"), out);
        });
        let [.., failed, error] = &events[..] else { panic!("{events:?}") };
        assert_eq!(failed["type"], "response.failed");
        let response = &failed["response"];
        assert_eq!(response["status"], "failed");
        assert_eq!(response["error"], json!({ "code": "provider_failed", "message": "broken off" }));
        assert_eq!(response["output"], json!([message("incomplete", json!([part("a")]))]));
        let body = json!({ "message": "broken off", "type": "server_error", "param": null, "code": "provider_failed" });
        let expected = json!({ "type": "error", "code": "provider_failed", "message": "broken off", "param": null, "error": body });
        assert_eq!(*error, expected);
    }
}
