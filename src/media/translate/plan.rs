//! Which engines can translate a pair of languages, and in which order they are asked.

use muster_core::{Error, Kind};
use muster_media::languages::languages;
use serde_json::{Value, json};

use super::Translators;
use super::rules::Quality;
use crate::config::TranslationEngine;
use crate::live::Live;

/// The language between two that no engine knows as a pair.
const BETWEEN: &str = "en";

/// A step from one language to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leg {
    /// Engine that takes it.
    pub engine: TranslationEngine,
    /// Code of the source.
    pub from: String,
    /// Code of the target.
    pub to: String,
}

/// One or two steps from the source to the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan(pub Vec<Leg>);

impl Plan {
    /// Returns the codes of the languages on the way.
    pub fn languages(&self) -> Vec<String> {
        let first = self.0.first().map(|leg| leg.from.clone());
        first.into_iter().chain(self.0.iter().map(|leg| leg.to.clone())).collect()
    }

    /// Returns the engine whose answer counts: the last one named in the settings' order of the two.
    pub fn engine(&self, order: &[TranslationEngine]) -> Option<TranslationEngine> {
        let rank = |engine: TranslationEngine| order.iter().position(|it| *it == engine).unwrap_or(0);
        self.0.iter().map(|leg| leg.engine).max_by_key(|engine| rank(*engine))
    }
}

/// How a language is translated to or from English.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Way {
    /// The engine.
    pub engine: TranslationEngine,
    /// Whether its translations were measured as drafts only.
    pub draft: bool,
}

/// What can translate at present.
struct Able<'a> {
    translators: &'a Translators,
    /// Whether a provider of chat models is configured, or a model was named.
    model: bool,
    /// Modes of Apertium.
    modes: &'a [String],
}

impl Able<'_> {
    /// Whether an engine translates free text of this pair.
    fn takes(&self, engine: TranslationEngine, from: &str, to: &str) -> bool {
        match engine {
            TranslationEngine::Dictionary => false,
            TranslationEngine::Neural => self.translators.neural.contains_key(&(from.to_owned(), to.to_owned())),
            TranslationEngine::Model => self.model,
            TranslationEngine::Rules => super::rules::mode(self.modes, from, to).is_some(),
        }
    }
}

/// Returns the ways of translating free text between two languages, in the order in which they are tried: each engine for
/// the pair and then through English; at last through English by two engines. The dictionary is not among them.
/// `named` restricts them to one engine.
pub(super) async fn plans(
    translators: &Translators,
    live: &Live,
    pair: (&str, &str),
    named: Option<TranslationEngine>,
) -> Vec<Plan> {
    let (from, to) = pair;
    let modes = translators.rules.modes().await;
    let model = named == Some(TranslationEngine::Model) || live.remote_providers() > 0;
    let able = Able { translators, model, modes };
    let order: Vec<TranslationEngine> = match named {
        Some(engine) => vec![engine],
        None => translators.order.to_vec(),
    };
    let leg = |engine, from: &str, to: &str| {
        able.takes(engine, from, to).then(|| Leg { engine, from: from.to_owned(), to: to.to_owned() })
    };
    let through = from != BETWEEN && to != BETWEEN;
    let mut plans = Vec::new();
    for &engine in &order {
        plans.extend(leg(engine, from, to).map(|leg| Plan(vec![leg])));
        if through {
            let both = leg(engine, from, BETWEEN).zip(leg(engine, BETWEEN, to));
            plans.extend(both.map(|(first, second)| Plan(vec![first, second])));
        }
    }
    if through {
        let first = order.iter().find_map(|&engine| leg(engine, from, BETWEEN));
        let second = order.iter().find_map(|&engine| leg(engine, BETWEEN, to));
        let mixed = first.zip(second).filter(|(first, second)| first.engine != second.engine);
        plans.extend(mixed.map(|(first, second)| Plan(vec![first, second])));
    }
    plans
}

/// Returns how each of the 84 languages is translated to and from English at present: code, to English, from English.
pub async fn ways(translators: &Translators, live: &Live) -> Vec<(&'static str, Vec<Way>, Vec<Way>)> {
    let modes = translators.rules.modes().await;
    let able = Able { translators, model: live.remote_providers() > 0, modes };
    let of = |from: &str, to: &str| {
        let takes = translators.order.iter().filter(|engine| able.takes(**engine, from, to));
        let draft =
            |engine| engine == TranslationEngine::Rules && super::rules::quality(from, to) == Some(Quality::Draft);
        takes.map(|&engine| Way { engine, draft: draft(engine) }).collect::<Vec<_>>()
    };
    let other = languages().iter().map(|language| language.code.as_str());
    let ways = other.map(|code| match code {
        BETWEEN => (code, Vec::new(), Vec::new()),
        _ => (code, of(code, BETWEEN), of(BETWEEN, code)),
    });
    ways.collect()
}

/// The error of a pair that nothing here translates.
pub(super) fn no_engine(from: &str, to: &str, tried: &[Value]) -> Error {
    let how = format!(
        "add a provider of chat models to [[provider]], or models of the pair to the folder of models (`muster models pull \
         translate:en-{}`), or install Apertium for en with es, ca, gl, pt or fr",
        if from == BETWEEN { to } else { from }
    );
    let message = format!("no engine here translates {from} to {to}: {how}");
    let details = json!({ "from": from, "to": to, "tried": tried, "how": how });
    Error::new(Kind::Unavailable, message).coded("no_engine_for_pair").detailing(details)
}
