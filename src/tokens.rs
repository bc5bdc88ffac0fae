//! Tokens counted here, by the embedded model's tokenizer, the only one at hand.

use muster_models::ChatModel;
use muster_providers::ChatRequest;

/// Longer texts would hold a serving thread up: they are not tokenized.
const MAX_COUNTED_BYTES: usize = 4 << 10;
/// A turn's own marks, about.
const TURN_TOKENS: u32 = 4;

/// Tokens of a text; before the model is loaded, and of a long text, one for `bytes_per_token` bytes.
pub fn of_text(model: &dyn ChatModel, text: &str, bytes_per_token: usize) -> u32 {
    let exact = (text.len() <= MAX_COUNTED_BYTES).then(|| model.count_text(text)).flatten();
    exact.unwrap_or_else(|| rough(text, bytes_per_token))
}

/// Tokens of a whole prompt; long is what is long together.
pub fn of_prompt(model: &dyn ChatModel, request: &ChatRequest, bytes_per_token: usize) -> u32 {
    let texts = || request.messages.iter().flat_map(|message| message.content.texts());
    let long = texts().map(str::len).sum::<usize>() > MAX_COUNTED_BYTES;
    let counted = |text| if long { rough(text, bytes_per_token) } else { of_text(model, text, bytes_per_token) };
    texts().map(|text| counted(text).saturating_add(TURN_TOKENS)).fold(0, u32::saturating_add)
}

fn rough(text: &str, bytes_per_token: usize) -> u32 {
    u32::try_from(text.len().div_ceil(bytes_per_token)).unwrap_or(u32::MAX)
}
