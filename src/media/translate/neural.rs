//! A pair of languages with its model, on a thread of its own.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use muster_imaging::engines::{ModelError, ModelOptions, ModelSlots, ModelState, ModelStats, ModelThread, Stop};
use muster_media::segments::{FinishedSegment, SegmentError, TextOptions, Translated, translate_text};
use muster_models::translate::{NeuralSegments, TranslationPair, Translator};
use muster_providers::Usage;
use tokio::sync::mpsc::UnboundedSender;

use super::run::LegError;
use super::{TextRequest, Translators};

/// Time between two checks of a loaded model: longer than the idle time, so that checks do not keep it in memory.
const CHECKED: Duration = Duration::from_secs(660);
/// Its translation is of no interest, only that it stays the same.
const CANARY: &str = "The shelter opens at nine.";

/// A pair of languages with the thread of its model.
#[derive(Debug, Clone)]
pub(super) struct NeuralPair {
    pub(super) name: Arc<str>,
    thread: ModelThread<Translator>,
    canary: Arc<Mutex<Option<(Instant, String)>>>,
}

impl NeuralPair {
    /// Starts the thread of a model that shares the places of loaded models with others.
    pub(super) fn start(pair: TranslationPair, slots: &ModelSlots) -> std::io::Result<Self> {
        let name: Arc<str> = pair.name.as_str().into();
        let load = move || Translator::load(&pair).map_err(|error| error.to_string());
        let options = ModelOptions { slots: Some(slots.clone()), ..ModelOptions::default() };
        let thread = ModelThread::start(&name, options, load)?;
        Ok(Self { thread, name, canary: Arc::default() })
    }

    /// Checks a model that is in memory: the same text must have the same translation as before. `Ok` where it is not in
    /// memory, is busy, or was checked a short time ago.
    pub(super) async fn check(&self) -> Result<(), String> {
        match self.stats().state {
            ModelState::Ready => {}
            ModelState::Failed(why) => return Err(format!("{}: {why}", self.name)),
            ModelState::Absent | ModelState::Loading => return Ok(()),
        }
        let known = || self.canary.lock().unwrap_or_else(PoisonError::into_inner);
        if known().as_ref().is_some_and(|(at, _)| at.elapsed() < CHECKED) {
            return Ok(());
        }
        let run =
            |translator: &mut Translator, stop: Stop<'_>| translator.translate_batch(&[CANARY], &|| stop.is_set());
        let translated = match self.thread.call(run).await {
            Ok(Ok(mut segments)) => segments.pop().map(|segment| segment.text).unwrap_or_default(),
            Ok(Err(error)) => return Err(format!("{}: {error}", self.name)),
            Err(ModelError::Busy { .. }) => return Ok(()),
            Err(failed @ ModelError::Failed { .. }) => return Err(failed.to_string()),
        };
        compare(&mut known(), translated).map_err(|why| format!("{} {why}", self.name))
    }

    pub(super) fn stats(&self) -> ModelStats {
        self.thread.stats()
    }

    /// Translates a text; returns it with the tokens of both texts. A dropped future stops between batches.
    pub(super) async fn translate(
        &self,
        translators: &Translators,
        text: String,
        request: &TextRequest,
        to: &str,
        segments: Option<UnboundedSender<FinishedSegment>>,
    ) -> Result<(Translated, Usage), LegError> {
        let (format, glossary, to) = (request.format, request.glossary.clone(), to.to_owned());
        let data = translators.clone();
        let run = move |translator: &mut Translator, stop: Stop<'_>| {
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
            let tokens = |text: &str| u32::try_from(translator.tokens(text)).unwrap_or(u32::MAX);
            let (prompt_tokens, completion_tokens) = (tokens(&text), tokens(&translated.text));
            Ok::<_, SegmentError>((translated, Usage { prompt_tokens, completion_tokens, estimated: false }))
        };
        match self.thread.call(run).await {
            Ok(translated) => translated.map_err(LegError::from),
            Err(busy @ ModelError::Busy { .. }) => Err(LegError::Busy(busy.to_string())),
            Err(failed @ ModelError::Failed { .. }) => Err(LegError::Failed(failed.to_string())),
        }
    }
}

/// Keeps the translation of the canary, and compares it with the one before.
fn compare(known: &mut Option<(Instant, String)>, translated: String) -> Result<(), &'static str> {
    let same = known.as_ref().is_none_or(|(_, before)| *before == translated);
    *known = Some((Instant::now(), translated));
    if same { Ok(()) } else { Err("has another translation of the same text now") }
}

impl Translators {
    /// Checks the models that are in memory.
    ///
    /// # Errors
    /// What is wrong with the first that fails.
    pub async fn check(&self) -> Result<(), String> {
        for pair in self.neural.values() {
            pair.check().await?;
        }
        Ok(())
    }

    /// Returns the language of a text where it is certain.
    pub(super) fn certain(&self, text: &str) -> Option<String> {
        let detection = self.detect(text).ok().filter(muster_media::languages::Detection::is_reliable)?;
        detection.best().map(|guess| guess.language.code.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_translation_of_the_same_text_is_noticed() {
        let mut known = None;
        assert_eq!(compare(&mut known, "O abrigo abre às nove.".to_owned()), Ok(()));
        assert_eq!(compare(&mut known, "O abrigo abre às nove.".to_owned()), Ok(()));
        assert!(compare(&mut known, "óplicech".to_owned()).is_err());
    }
}
