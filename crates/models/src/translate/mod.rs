//! Translation by the models of Firefox Translations, in process.
//!
//! Everything here blocks and belongs on a thread of its own. [`Translator`] knows segments only; what must survive a
//! translation is protected by [`muster_media::segments`], which [`NeuralSegments`] serves.

mod pairs;
mod segments;
mod words;

#[cfg(feature = "translate")]
mod engine;
#[cfg(not(feature = "translate"))]
#[path = "no_engine.rs"]
mod engine;

pub use engine::Translator;
pub use pairs::{TranslationPair, find_pairs};
pub use segments::NeuralSegments;

use crate::media::MediaModelError;

/// Tokens of the engine's vocabulary that a segment may have; beyond them the models lose text.
pub const MAX_SEGMENT_TOKENS: usize = 127;
/// Segments that are translated together.
pub const BATCH: usize = 16;

/// The translation of one segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranslatedSegment {
    /// The translation; empty only where the model gave nothing.
    pub text: String,
    /// For each word of `text` (separated by white space) the word of the source that it is aligned with most. `None`
    /// where no alignment was requested, or where the model's words are not those of the source.
    pub alignment: Option<Vec<Option<usize>>>,
}

/// Why a pair cannot be loaded, or a translation was given up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TranslateError {
    /// A file of the pair is absent or differs from the manifest.
    #[error(transparent)]
    Model(#[from] MediaModelError),
    /// A file that an operator added is no model of Firefox Translations.
    #[error("the translation model {pair} cannot be used: {why}; replace its files in the folder of models")]
    Unusable {
        /// Both codes, such as `en-fr`.
        pair: String,
        /// What is wrong with it.
        why: String,
    },
    /// The processor lacks the instructions that the engine was compiled for.
    #[error("translation by the embedded models needs a processor with {0}; use a provider instead")]
    Processor(&'static str),
    /// The engine failed on a batch.
    #[error("the translation model {pair} failed; the text was not translated")]
    Failed {
        /// Both codes.
        pair: String,
    },
    /// The caller no longer wants the translation.
    #[error("stopped")]
    Stopped,
    /// This build has no engine.
    #[error("this server was built without the embedded translation engine (feature `translate`)")]
    NoEngine,
}
