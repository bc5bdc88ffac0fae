//! Collects a model's answer: forwards its text as it arrives, and assembles its tool calls.

use std::sync::{Arc, OnceLock};

use futures::StreamExt;
use muster_providers::{ChatEvent, Delta, ToolCall, ToolDelta};

use super::failure::{self, EXECUTION};
use super::models::Models;
use crate::task::{Retry, StepError, StepSink, Usage};
use muster_core::{Error, Kind};
use muster_gateway::{GatewayChatRequest, Settlement};

/// Maximum size of an answer's text and of its calls' arguments, each, in bytes.
const MAX_TEXT: usize = 256 * 1024;
const MAX_ARGUMENTS: usize = 1024 * 1024;
/// Maximum number of tool calls in an answer.
pub(super) const MAX_CALLS: usize = 16;

/// A complete answer.
#[derive(Debug)]
pub(super) struct CollectedAnswer {
    pub(super) model_id: String,
    pub(super) text: String,
    pub(super) calls: Vec<ToolCall>,
    pub(super) usage: Usage,
}

/// Sends the request and collects the answer. Dropping the future closes the provider's connection.
pub(super) async fn collect_answer(
    models: &dyn Models,
    request: GatewayChatRequest,
    sink: &StepSink,
) -> Result<CollectedAnswer, StepError> {
    let settled: Arc<OnceLock<Settlement>> = Arc::default();
    let settle = {
        let settled = Arc::clone(&settled);
        Box::new(move |end| drop(settled.set(end)))
    };
    let refused = |error: Error| failure::provider(error, used(&settled));
    let mut stream = models.stream(request, settle).await.map_err(|error| refused(error.error))?;
    let mut answer = CollectedAnswer {
        model_id: std::mem::take(&mut stream.model_id),
        text: String::new(),
        calls: Vec::new(),
        usage: Usage::default(),
    };
    while let Some(event) = stream.events.next().await {
        match event.map_err(refused)? {
            ChatEvent::Delta(Delta::Tool { choice: 0, call }) => join(&mut answer.calls, call),
            ChatEvent::Delta(delta) => {
                if let Some(text) = delta.text() {
                    sink.delta(&text);
                    answer.text.push_str(&text);
                }
            }
            ChatEvent::Done { usage, .. } => {
                answer.usage = match (settled.get(), usage) {
                    (None, Some(reported)) => Usage {
                        prompt: reported.prompt_tokens.into(),
                        completion: reported.completion_tokens.into(),
                        cost_nanos: 0,
                    },
                    _ => used(&settled),
                };
                return Ok(answer);
            }
        }
        if too_long(&answer) {
            // The stream is dropped first, so that only what was delivered is charged.
            drop(stream);
            let detail = "the answer of the model exceeds the maximum size";
            return Err(StepError { usage: used(&settled), ..StepError::new(EXECUTION, detail, Retry::Never) });
        }
    }
    Err(refused(Error::new(Kind::ProviderFailed, "the answer of the model ended without a final event")))
}

fn too_long(answer: &CollectedAnswer) -> bool {
    let arguments: usize = answer.calls.iter().map(|call| call.arguments.len()).sum();
    answer.text.len() > MAX_TEXT || arguments > MAX_ARGUMENTS || answer.calls.len() > MAX_CALLS
}

fn join(calls: &mut Vec<ToolCall>, piece: ToolDelta) {
    let at = piece.index as usize;
    // Otherwise a gap in the numbers would allow one piece to create any number of calls.
    if at > calls.len() {
        return;
    }
    if at == calls.len() {
        calls.push(ToolCall { id: String::new(), name: String::new(), arguments: String::new() });
    }
    if let Some(call) = calls.get_mut(at) {
        if let Some(id) = piece.id {
            call.id = id;
        }
        if let Some(name) = piece.name {
            call.name = name;
        }
        call.arguments.push_str(&piece.arguments);
    }
}

fn used(settled: &OnceLock<Settlement>) -> Usage {
    settled.get().map_or_else(Usage::default, |end| Usage {
        prompt: end.usage.prompt_tokens.into(),
        completion: end.usage.completion_tokens.into(),
        cost_nanos: end.cost_nanos.unwrap_or_default(),
    })
}
