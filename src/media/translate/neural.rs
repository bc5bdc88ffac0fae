//! A pair of languages with its model, on a thread of its own.

use std::sync::Arc;

use muster_imaging::engines::{ModelError, ModelOptions, ModelStats, ModelThread};
use muster_media::segments::{FinishedSegment, SegmentError, TextOptions, Translated, translate_text};
use muster_models::translate::{NeuralSegments, TranslationPair, Translator};
use tokio::sync::mpsc::UnboundedSender;

use super::run::LegError;
use super::{TextRequest, Translators};

/// A pair of languages with the thread of its model.
#[derive(Debug, Clone)]
pub(super) struct NeuralPair {
    pub(super) name: Arc<str>,
    thread: ModelThread<Translator>,
}

impl NeuralPair {
    pub(super) fn start(pair: TranslationPair) -> std::io::Result<Self> {
        let name: Arc<str> = pair.name.as_str().into();
        let load = move || Translator::load(&pair).map_err(|error| error.to_string());
        Ok(Self { thread: ModelThread::start(&name, ModelOptions::default(), load)?, name })
    }

    pub(super) fn stats(&self) -> ModelStats {
        self.thread.stats()
    }

    /// Translates a text; returns it with the number of tokens of both texts. A dropped future stops between batches.
    pub(super) async fn translate(
        &self,
        translators: &Translators,
        text: String,
        request: &TextRequest,
        to: &str,
        segments: Option<UnboundedSender<FinishedSegment>>,
    ) -> Result<(Translated, u32), LegError> {
        let (format, glossary, to) = (request.format, request.glossary.clone(), to.to_owned());
        let data = translators.clone();
        let run = move |translator: &mut Translator, stop: muster_imaging::engines::Stop<'_>| {
            let stopped = || stop.is_set();
            let mut engine = NeuralSegments::new(translator, &stopped);
            let language_of = |text: &str| data.certain(text);
            let mut each = |segment: &FinishedSegment| {
                if let Some(segments) = &segments {
                    // A client that left is noticed by `stop`.
                    drop(segments.send(segment.clone()));
                }
            };
            let options = TextOptions { format, to: &to, glossary: &glossary };
            let translated = translate_text(&text, &options, &mut engine, Some(&language_of), &mut each)?;
            let tokens = translator.tokens(&text) + translator.tokens(&translated.text);
            Ok::<_, SegmentError>((translated, u32::try_from(tokens).unwrap_or(u32::MAX)))
        };
        match self.thread.call(run).await {
            Ok(translated) => translated.map_err(LegError::from),
            Err(busy @ ModelError::Busy { .. }) => Err(LegError::Busy(busy.to_string())),
            Err(failed @ ModelError::Failed { .. }) => Err(LegError::Failed(failed.to_string())),
        }
    }
}

impl Translators {
    /// Returns the language of a text where it is certain.
    pub(super) fn certain(&self, text: &str) -> Option<String> {
        let detection = self.detect(text).ok().filter(muster_media::languages::Detection::is_reliable)?;
        detection.best().map(|guess| guess.language.code.clone())
    }
}
