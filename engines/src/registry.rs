//! Every engine of this build.

use crate::{Engine, Family, code, data, docs, platform, security, text};

/// The engines in the order of their numbers within their families.
pub fn all() -> impl Iterator<Item = &'static Engine> {
    let families = [platform::ENGINES, data::ENGINES, security::ENGINES, text::ENGINES, code::ENGINES, docs::ENGINES];
    families.into_iter().flatten().copied()
}

pub fn by_number(number: u16) -> Option<&'static Engine> {
    all().find(|engine| engine.number == number)
}

pub fn by_id(id: &str) -> Option<&'static Engine> {
    all().find(|engine| engine.id == id)
}

/// How many engines each family has, in the order of the families.
pub fn counts() -> impl Iterator<Item = (Family, usize)> {
    Family::ALL.into_iter().map(|family| (family, all().filter(|engine| engine.family == family).count()))
}
