//! Token counts by the embedded model's tokenizer, the only one available.

use muster_models::ChatModel;
use muster_providers::{ChatRequest, Message};

/// Longer texts are not tokenized on serving threads, because they would block them.
const MAX_COUNTED_BYTES: usize = 4 << 10;
/// Limit of tokenization off the serving threads: about a second of work.
const MAX_EXACT_BYTES: usize = 1 << 20;
/// Approximate number of tokens for the markup of a message.
const TURN_TOKENS: u32 = 4;

/// Counts the tokens of a text; before the model is loaded, and for long texts, one per `bytes_per_token` bytes.
pub fn of_text(model: &dyn ChatModel, text: &str, bytes_per_token: usize) -> u32 {
    let exact = (text.len() <= MAX_COUNTED_BYTES).then(|| model.count_text(text)).flatten();
    exact.unwrap_or_else(|| rough(text, bytes_per_token))
}

/// Counts the tokens of a whole prompt; the limit for long texts applies to all messages together.
pub fn of_prompt<'a>(
    model: &dyn ChatModel,
    messages: impl Iterator<Item = &'a Message> + Clone,
    bytes_per_token: usize,
) -> u32 {
    let texts = || messages.clone().flat_map(|message| message.content.texts());
    let long = texts().map(str::len).sum::<usize>() > MAX_COUNTED_BYTES;
    let counted = |text| if long { rough(text, bytes_per_token) } else { of_text(model, text, bytes_per_token) };
    texts().map(|text| counted(text).saturating_add(TURN_TOKENS)).fold(0, u32::saturating_add)
}

/// Counts the tokens of everything a request puts before the model: messages, tool calls in them, and tools.
///
/// Texts up to [`MAX_EXACT_BYTES`] are counted exactly, which may take long: not for a serving thread.
pub fn of_everything(model: &dyn ChatModel, request: &ChatRequest, bytes_per_token: usize) -> u32 {
    let turns = request.messages.iter().flat_map(|message| {
        let calls = message.tool_calls.iter().flat_map(|call| [call.name.as_str(), call.arguments.as_str()]);
        message.content.texts().chain(calls)
    });
    let schemas: Vec<_> = request.tools.iter().map(|tool| tool.parameters.to_string()).collect();
    let tools = request.tools.iter().flat_map(|tool| [tool.name.as_str(), tool.description.as_deref().unwrap_or("")]);
    let texts: Vec<_> = turns.chain(tools).chain(schemas.iter().map(String::as_str)).collect();
    let long = texts.iter().map(|text| text.len()).sum::<usize>() > MAX_EXACT_BYTES;
    let count = |text: &str| {
        let exact = if long { None } else { model.count_text(text) };
        exact.unwrap_or_else(|| rough(text, bytes_per_token))
    };
    let marks = request.messages.len() + request.tools.len();
    let marks = u32::try_from(marks).unwrap_or(u32::MAX).saturating_mul(TURN_TOKENS);
    texts.into_iter().map(count).fold(marks, u32::saturating_add)
}

fn rough(text: &str, bytes_per_token: usize) -> u32 {
    u32::try_from(text.len().div_ceil(bytes_per_token)).unwrap_or(u32::MAX)
}
