//! Counting of tokens by the published encodings of OpenAI.

use bpe_openai::{Tokenizer, cl100k_base, o200k_base};

/// An encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Encoding {
    /// Of GPT-4 and GPT-3.5.
    Cl100k,
    /// Of GPT-4o and later models.
    O200k,
}

impl Encoding {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Cl100k => "cl100k_base",
            Self::O200k => "o200k_base",
        }
    }

    fn tokenizer(self) -> &'static Tokenizer {
        match self {
            Self::Cl100k => cl100k_base(),
            Self::O200k => o200k_base(),
        }
    }

    /// Returns the number of tokens of a text. Names of special tokens count as text.
    pub(crate) fn count(self, text: &str) -> usize {
        self.tokenizer().count(text)
    }
}
