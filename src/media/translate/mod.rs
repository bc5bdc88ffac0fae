//! Translation: the engines of this server, and the order in which they are tried.

mod neural;
mod plan;
mod provider;
mod rules;
mod run;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use muster_engines::{Failure, LanguageData};
use muster_imaging::engines::ModelSlots;
use muster_media::languages::{Detection, Dictionary, detect};
use muster_media::marks::{Glossary, TextFormat};
use muster_models::MediaManifest;

pub use plan::{Way, ways};
pub use provider::Payer;
pub(crate) use provider::{estimate, whole};
pub use run::Outcome;

use crate::config::{Config, TranslationEngine};
use crate::live::LiveReader;
use crate::telemetry::Metrics;
use neural::NeuralPair;
use rules::Rules;

/// The engines of translation.
#[derive(Debug, Clone)]
pub struct Translators {
    data: Arc<LanguageData>,
    neural: Arc<BTreeMap<(String, String), NeuralPair>>,
    rules: Rules,
    order: Arc<[TranslationEngine]>,
    live: LiveReader,
    metrics: Metrics,
}

/// What is to be translated.
#[derive(Debug)]
pub struct TextRequest {
    /// The text.
    pub text: String,
    /// Code of its language.
    pub from: String,
    /// Code of the language to translate to.
    pub to: String,
    /// Markup of the text.
    pub format: TextFormat,
    /// Terms with their translations, which hold where the text itself is translated to `to`.
    pub glossary: Glossary,
    /// Engine or chat model that was named.
    pub model: Option<String>,
}

impl Translators {
    /// Opens the data and finds the models of the folder; nothing is loaded.
    pub(crate) fn start(config: &Config, live: &LiveReader, metrics: &Metrics) -> Self {
        let cache = &config.llm.cache;
        let open = |id: &str, role: &str| {
            let manifest = MediaManifest::embedded().ok()?;
            File::open(manifest.get(id)?.path(cache, role).ok()?).ok()
        };
        let data = LanguageData::of_files(open("languages", "table"), open("names", "names"));
        Self {
            data: Arc::new(data),
            neural: Arc::new(pairs(cache)),
            rules: Rules::new(&config.translate.apertium, &config.engines.program),
            order: config.translate.order.clone().into(),
            live: live.clone(),
            metrics: metrics.clone(),
        }
    }

    /// Detects the language of a text. Blocks for some milliseconds.
    ///
    /// # Errors
    /// The language table is absent or damaged.
    pub fn detect(&self, text: &str) -> Result<Detection, Failure> {
        let damaged = |why: String| Failure::NoModel { id: "languages".to_owned(), why };
        detect(self.data.table()?, text, &[]).map_err(|error| damaged(error.to_string()))
    }

    /// Returns whether languages can be detected.
    pub fn detects(&self) -> bool {
        self.data.table().is_ok()
    }

    /// Returns the names of things, if they were fetched.
    pub fn dictionary(&self) -> Option<&Dictionary> {
        self.data.dictionary().ok()
    }

    /// Returns whether names in this language are known. Reads a file at its first use.
    pub fn names(&self, code: &str) -> bool {
        self.dictionary().is_some_and(|dictionary| dictionary.has(code))
    }

    /// Calls `each` with the counts of each model in this process.
    pub fn each_model(&self, mut each: impl FnMut(&str, &muster_imaging::engines::ModelStats)) {
        for ((from, to), pair) in self.neural.iter() {
            each(&format!("{from}-{to}"), &pair.stats());
        }
    }
}

/// Most translation models in memory: 50 MB each.
const LOADED_PAIRS: usize = 4;

fn pairs(cache: &Path) -> BTreeMap<(String, String), NeuralPair> {
    let Ok(manifest) = MediaManifest::embedded() else { return BTreeMap::new() };
    let slots = match ModelSlots::start(LOADED_PAIRS) {
        Ok(slots) => slots,
        Err(error) => {
            tracing::warn!(%error, "translation models have no threads");
            return BTreeMap::new();
        }
    };
    let found = muster_models::translate::find_pairs(cache, &manifest).into_iter();
    let started = found.filter_map(|pair| {
        let key = (pair.from.clone(), pair.to.clone());
        let name = pair.id();
        match NeuralPair::start(pair, &slots) {
            Ok(started) => Some((key, started)),
            Err(error) => {
                tracing::warn!(pair = name, %error, "a translation model has no thread");
                None
            }
        }
    });
    started.collect()
}
