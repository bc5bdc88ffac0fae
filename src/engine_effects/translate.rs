//! q165: a translation by the engines of `POST /api/translate`.

use std::collections::{BTreeMap, HashMap};

use muster_gateway::Spend;
use muster_media::marks::{Glossary, TextFormat};
use muster_tasks::engine::Provided;
use serde_json::{Value, json};
use tokio::sync::mpsc::unbounded_channel;

use super::{EffectParts, NO_PAYER, Performed, usage};
use crate::media::translate::{Payer, TextRequest, whole};

/// A text to translate, as the need has it.
pub(super) struct Text {
    pub(super) text: String,
    pub(super) from: String,
    pub(super) to: String,
    pub(super) glossary: BTreeMap<String, String>,
}

impl EffectParts {
    /// Translates a text by the first engine of the order of the settings that can. Providers are called at the payer's
    /// expense.
    pub(super) async fn translate(&self, text: Text, payer: Option<Box<Spend>>) -> Performed {
        let payer = Payer { call: self.call(whole(&text.text), *payer.ok_or(NO_PAYER)?) };
        let Text { text, from, to, glossary } = text;
        let glossary = Glossary::new(glossary.iter().map(|(term, word)| (term.as_str(), word.as_str())));
        let glossary = glossary.map_err(|error| error.to_string())?;
        let request = TextRequest { text, from, to, format: TextFormat::Text, glossary, model: None };
        let prepared = self.translators.prepare(request).await.map_err(|error| error.message)?;
        let (out, mut finished) = unbounded_channel();
        let outcome = self.translators.run(&prepared, &payer, Some(&out)).await.map_err(|error| error.message)?;
        drop(out);
        let mut segments = HashMap::new();
        while let Ok(segment) = finished.try_recv() {
            segments.insert(segment.index, segment.translation);
        }
        let suspect = |(index, reasons): &(usize, Vec<&str>)| {
            let text = segments.get(index).map_or("", |text| text.trim());
            json!({ "text": text, "reasons": reasons })
        };
        let answer = json!({
            "translation": outcome.translation, "method": outcome.method, "provider": outcome.provider,
            "model": outcome.model, "route": outcome.route,
            "suspects": outcome.suspects.iter().map(suspect).collect::<Vec<Value>>(),
        });
        Ok(Provided::given(answer, usage(outcome.usage, outcome.cost_nanos)))
    }
}
