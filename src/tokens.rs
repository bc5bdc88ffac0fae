//! Token counts of prompts: by the embedded model's tokenizer, the only one available, where that is quick, otherwise by
//! the number of bytes. What is counted is the list of `PromptParts`, the same for reservations, limits and usage.

use muster_models::ChatModel;
use muster_providers::{PromptParts, PromptSize};

/// Longer texts are not tokenized on serving threads, because they would block them.
pub const QUICK_BYTES: u64 = 4 << 10;
/// Limit of tokenization off the serving threads: about a second of work.
pub const EXACT_BYTES: u64 = 1 << 20;

/// What a count is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountFor {
    /// A reservation: rather too many tokens than too few.
    Reservation,
    /// Usage that a provider did not report.
    Usage,
}

impl CountFor {
    /// Returns the number of tokens of a text by its bytes.
    fn rough(self, size: PromptSize) -> u32 {
        match self {
            Self::Reservation => size.reserved_tokens(),
            // The usual value for English prose.
            Self::Usage => u32::try_from(size.bytes().div_ceil(4)).unwrap_or(u32::MAX),
        }
    }
}

/// Counts the tokens of a text; before the model is loaded, and for long texts, by its bytes.
pub fn of_text(model: &dyn ChatModel, text: &str, purpose: CountFor) -> u32 {
    let exact = (text.len() as u64 <= QUICK_BYTES).then(|| model.count_text(text)).flatten();
    exact.unwrap_or_else(|| purpose.rough(PromptSize::of(text)))
}

/// Counts the tokens of everything that a request puts before the model, without images. A prompt of more than
/// `exact_bytes` is counted by its bytes.
pub fn of_prompt(model: &dyn ChatModel, parts: &PromptParts<'_>, purpose: CountFor, exact_bytes: u64) -> u32 {
    let (size, markup) = (parts.size(), parts.markup_tokens());
    let unparsed = PromptSize { ascii: parts.unparsed_bytes as u64, ..PromptSize::default() };
    let rough = || match purpose {
        CountFor::Reservation => purpose.rough(size),
        CountFor::Usage => {
            let mut sum = markup.saturating_add(purpose.rough(unparsed));
            parts.each_text(|text| sum = sum.saturating_add(purpose.rough(PromptSize::of(text))));
            sum
        }
    };
    if size.bytes() > exact_bytes {
        return rough();
    }
    let mut counted = Some(markup);
    parts.each_text(|text| {
        let tokens = if text.is_empty() { Some(0) } else { model.count_text(text) };
        counted = counted.zip(tokens).map(|(sum, tokens)| sum.saturating_add(tokens));
    });
    counted.map_or_else(rough, |counted| counted.saturating_add(purpose.rough(unparsed)))
}
