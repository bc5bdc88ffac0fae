//! Assembles the events of one streamed answer. Pure: no socket, no clock.

use std::collections::VecDeque;

use serde_json::Value;

use super::fence::Unfence;
use super::wire::{Block, BlockDelta, Event, TokenCounts, finish};
use crate::http::{Broken, Events, Flow, MAX_TEXT_BYTES};
use crate::sse::SseEvent;
use crate::{ChatEvent, Delta, FinishReason, ResponseFormat, ToolDelta};

/// Maximum number of tool calls in one answer.
const MAX_TOOL_CALLS: usize = 1024;

/// Assembles a stream. Accepts nothing after an error or after `End`.
#[derive(Debug, Default)]
pub(super) struct Assembler {
    /// The tool calls, in order.
    calls: Vec<OpenCall>,
    /// Text and arguments together.
    bytes: usize,
    delivered: bool,
    fence: Option<Unfence>,
    finish: Option<FinishReason>,
    counts: TokenCounts,
    stopped: bool,
}

#[derive(Debug)]
struct OpenCall {
    /// Index among all content blocks of the answer.
    block: u32,
    has_arguments: bool,
}

impl Assembler {
    pub(super) fn new(format: &ResponseFormat) -> Self {
        let fence = matches!(format, ResponseFormat::JsonObject).then(Unfence::default);
        Self { fence, ..Self::default() }
    }
}

impl Events for Assembler {
    fn accept(&mut self, event: &SseEvent, out: &mut VecDeque<Delta>) -> Result<Flow, Broken> {
        let before = out.len();
        let taken = self.take(event, out);
        self.delivered |= out.len() > before;
        match taken {
            Err(_) if self.is_finished() => Ok(Flow::End),
            taken => taken,
        }
    }

    fn has_content(&self) -> bool {
        self.delivered
    }

    fn is_finished(&self) -> bool {
        self.finish.is_some()
    }

    /// Complete with a stop reason, with or without end marker; a marker after some content counts as a stop.
    fn end(&mut self) -> Result<ChatEvent, Broken> {
        let finish = match self.finish {
            Some(reason) => reason,
            None if self.stopped && self.delivered => FinishReason::Stop,
            None => return Err(Broken::Cut),
        };
        Ok(ChatEvent::Done { finish, usage: self.counts.usage() })
    }
}

impl Assembler {
    fn take(&mut self, event: &SseEvent, out: &mut VecDeque<Delta>) -> Result<Flow, Broken> {
        if event.kind == "error" {
            return Err(reported(&event.data));
        }
        if event.data.trim().is_empty() {
            return Ok(Flow::GoOn);
        }
        let read = serde_json::from_str(&event.data).map_err(|error| Broken::Malformed(error.to_string()))?;
        match read {
            Event::Error => return Err(reported(&event.data)),
            Event::MessageStart { message } => self.count(message.usage),
            Event::MessageStop => {
                self.stopped = true;
                self.flush(out);
                return Ok(Flow::End);
            }
            Event::MessageDelta { delta, usage } => {
                self.count(usage);
                if let Some(reason) = delta.stop_reason {
                    self.flush(out);
                    self.finish = Some(finish(&reason));
                }
            }
            // Events after the end of the answer are ignored.
            _ if self.is_finished() => {}
            Event::ContentBlockStart { index, content_block } => self.start(index, content_block, out)?,
            Event::ContentBlockDelta { delta: BlockDelta::TextDelta { text }, .. } => self.text(&text, out)?,
            Event::ContentBlockDelta { index, delta: BlockDelta::InputJsonDelta { partial_json } } => {
                self.arguments(index, partial_json, out)?;
            }
            Event::ContentBlockStop { index } => self.stop(index, out)?,
            Event::ContentBlockDelta { delta: BlockDelta::Other, .. } | Event::Other => {}
        }
        Ok(Flow::GoOn)
    }

    fn count(&mut self, counts: Option<TokenCounts>) {
        self.counts.update(counts.unwrap_or_default());
    }

    fn start(&mut self, block: u32, content: Block, out: &mut VecDeque<Delta>) -> Result<(), Broken> {
        match content {
            Block::Text { text } => self.text(&text, out),
            Block::ToolUse { id, name, input } => {
                let index = u32::try_from(self.calls.len()).unwrap_or(u32::MAX);
                if self.calls.len() >= MAX_TOOL_CALLS {
                    return Err(Broken::Malformed(format!("more than {MAX_TOOL_CALLS} tool calls")));
                }
                self.calls.push(OpenCall { block, has_arguments: false });
                let call = ToolDelta { index, id: Some(id), name: Some(name), arguments: String::new() };
                out.push_back(Delta::Tool { choice: 0, call });
                // Usually the input is empty here and arrives in fragments; some compatible servers send it at once.
                if input.is_empty() { Ok(()) } else { self.arguments(block, Value::Object(input).to_string(), out) }
            }
            Block::Other => Ok(()),
        }
    }

    fn text(&mut self, text: &str, out: &mut VecDeque<Delta>) -> Result<(), Broken> {
        self.grow(text.len())?;
        let text = match &mut self.fence {
            Some(fence) => fence.push(text),
            None => text.to_owned(),
        };
        give(text, out);
        Ok(())
    }

    /// Appends to a call's arguments. Blocks that are not the caller's tools are skipped.
    fn arguments(&mut self, block: u32, json: String, out: &mut VecDeque<Delta>) -> Result<(), Broken> {
        self.grow(json.len())?;
        let open = (0..).zip(&mut self.calls).find(|(_, call)| call.block == block);
        if let Some((index, call)) = open
            && !json.is_empty()
        {
            call.has_arguments = true;
            out.push_back(Delta::Tool {
                choice: 0,
                call: ToolDelta { index, arguments: json, ..ToolDelta::default() },
            });
        }
        Ok(())
    }

    /// A tool without arguments is streamed without fragments; the caller must still receive an object.
    fn stop(&mut self, block: u32, out: &mut VecDeque<Delta>) -> Result<(), Broken> {
        match self.calls.iter().find(|call| call.block == block) {
            Some(call) if !call.has_arguments => self.arguments(block, "{}".to_owned(), out),
            _ => Ok(()),
        }
    }

    /// Emits held-back text.
    fn flush(&mut self, out: &mut VecDeque<Delta>) {
        if let Some(mut fence) = self.fence.take() {
            give(fence.finish(), out);
        }
    }

    fn grow(&mut self, bytes: usize) -> Result<(), Broken> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > MAX_TEXT_BYTES {
            return Err(Broken::Malformed(format!("more than {MAX_TEXT_BYTES} bytes of content")));
        }
        Ok(())
    }
}

fn give(text: String, out: &mut VecDeque<Delta>) {
    if !text.is_empty() {
        out.push_back(Delta::Text { choice: 0, text });
    }
}

fn reported(data: &str) -> Broken {
    Broken::Reported(serde_json::from_str(data).unwrap_or_else(|_| Value::String(data.to_owned())))
}
