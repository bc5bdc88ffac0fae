//! Registry of the engines of this build.

use muster_engine::{Engine, Family, FamilyEngines};

/// The families of this build, in the catalogue's order.
static FAMILIES: &[&FamilyEngines] = &[
    #[cfg(feature = "geo")]
    &muster_engines_geo::FAMILY,
    #[cfg(feature = "hazard")]
    &muster_engines_hazard::FAMILY,
    #[cfg(feature = "network")]
    &muster_engines_network::FAMILY,
    #[cfg(feature = "platform")]
    &muster_engines_platform::FAMILY,
    #[cfg(feature = "logistics")]
    &muster_engines_logistics::FAMILY,
    #[cfg(feature = "stats")]
    &muster_engines_stats::FAMILY,
    #[cfg(feature = "data")]
    &muster_engines_data::FAMILY,
    #[cfg(feature = "finance")]
    &muster_engines_finance::FAMILY,
    #[cfg(feature = "security")]
    &muster_engines_security::FAMILY,
    #[cfg(feature = "llm")]
    &muster_engines_llm::FAMILY,
    #[cfg(feature = "text")]
    &muster_engines_text::FAMILY,
    #[cfg(feature = "code")]
    &muster_engines_code::FAMILY,
    #[cfg(feature = "crypto")]
    &muster_engines_crypto::FAMILY,
    #[cfg(feature = "medical")]
    &muster_engines_medical::FAMILY,
    #[cfg(feature = "docs")]
    &muster_engines_docs::FAMILY,
];

/// Iterates over the families of this build.
pub fn families() -> impl Iterator<Item = &'static FamilyEngines> {
    FAMILIES.iter().copied()
}

/// Iterates over the engines, by family and number.
pub fn all() -> impl Iterator<Item = &'static Engine> {
    families().flat_map(FamilyEngines::engines)
}

/// Returns the engine with this number. Only the catalogue of its family is read.
pub fn by_number(number: u16) -> Option<&'static Engine> {
    families().find(|family| family.has(number))?.by_number(number)
}

/// Returns the engine with this id.
pub fn by_id(id: &str) -> Option<&'static Engine> {
    all().find(|engine| engine.id == id)
}

/// Iterates over the engines of a family, or of all, whose id, name or summary contains every one of the words, in any case.
pub fn search(family: Option<Family>, words: &str) -> impl Iterator<Item = &'static Engine> {
    let words: Vec<String> = words.split_whitespace().map(str::to_lowercase).collect();
    all().filter(move |engine| {
        let text = format!("{} {} {}", engine.id, engine.name, engine.summary).to_lowercase();
        family.is_none_or(|family| engine.family == family) && words.iter().all(|word| text.contains(word.as_str()))
    })
}

/// Returns the number of engines per family.
pub fn counts() -> impl Iterator<Item = (Family, usize)> {
    Family::ALL.into_iter().map(|family| (family, all().filter(|engine| engine.family == family).count()))
}
