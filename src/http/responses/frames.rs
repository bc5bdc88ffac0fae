//! A streamed answer, in the words of OpenAI's Responses API: numbered events of items that begin, grow and end.

use bytes::BytesMut;
use muster_actors::ids::{IdKind, new_id};
use muster_actors::{Clock, Error};
use muster_providers::{Delta, FinishReason, ToolCall, ToolDelta, Usage};
use serde::Serialize;
use serde_json::{Value, json};

use super::answer::{OutputItem, OutputText, ResponseObject, Status, outcome};
use crate::error::{Dialect, body};
use crate::sse::{Frames, frame};

/// Writes the events of one response.
///
/// One item is open at a time, as clients expect. A provider that goes back to an earlier call still has its piece
/// delivered, under that call's index, and the final response holds all of it.
pub struct FramesResponses {
    /// As far as it has come: its output holds every item, the open one too.
    response: ResponseObject,
    sequence: u64,
    /// The index of the open item.
    open: Option<usize>,
    /// The item of each tool call, by the call's index.
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

impl FramesResponses {
    pub fn new(response: ResponseObject, clock: Clock) -> Self {
        Self { response, sequence: 0, open: None, calls: Vec::new(), clock }
    }

    fn next(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence - 1
    }

    /// Writes an event whose type is its name.
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

    /// Ends the open item.
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

impl Frames for FramesResponses {
    fn start(&mut self, out: &mut BytesMut) {
        self.about_response("response.created", out);
        self.about_response("response.in_progress", out);
    }

    fn delta(&mut self, delta: &Delta, out: &mut BytesMut) {
        match delta {
            Delta::Text { choice: 0, text } => self.text(text, out),
            Delta::Tool { choice: 0, call } => self.tool(call, out),
            Delta::Verbatim(chunk) => self.text(&chunk.text(), out),
            // One answer is asked for.
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

    /// `response.failed` tells what there is of the answer. The official clients read it as one event of many: what
    /// makes them raise is the `error` event behind it, as it has the member `error` that they look for.
    fn error(&mut self, error: &Error, out: &mut BytesMut) {
        let told = body(error, Dialect::B, self.clock.now());
        let told = told.get("error").cloned().unwrap_or_default();
        let code = told.get("code").and_then(Value::as_str).unwrap_or_default().to_owned();
        self.response.fail(code.clone(), error.message.clone());
        self.about_response("response.failed", out);
        let last = json!({ "code": code, "message": error.message, "param": told.get("param"), "error": told });
        self.event("error", last, out);
    }
}
