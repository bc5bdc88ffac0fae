//! Registry of the engines of this build.

use crate::{Engine, Family, code, data, docs, llm, platform, security, text};

/// Iterates over the engines, by family and number.
pub fn all() -> impl Iterator<Item = &'static Engine> {
    let families = [
        platform::ENGINES,
        data::ENGINES,
        security::ENGINES,
        llm::ENGINES,
        text::ENGINES,
        code::ENGINES,
        docs::ENGINES,
    ];
    families.into_iter().flatten().copied()
}

/// Returns the engine with this number.
pub fn by_number(number: u16) -> Option<&'static Engine> {
    all().find(|engine| engine.number == number)
}

/// Returns the engine with this id.
pub fn by_id(id: &str) -> Option<&'static Engine> {
    all().find(|engine| engine.id == id)
}

/// Returns the number of engines per family.
pub fn counts() -> impl Iterator<Item = (Family, usize)> {
    Family::ALL.into_iter().map(|family| (family, all().filter(|engine| engine.family == family).count()))
}
