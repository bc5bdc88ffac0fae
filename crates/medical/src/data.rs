//! The data files, compiled in.

pub const ENGLISH: &str = include_str!("../data/lexicon/en.toml");
pub const EVERYONE: &str = include_str!("../data/everyone.toml");
pub const SELF_CARE: &str = include_str!("../data/self_care.toml");
pub const SPECIALTIES: &str = include_str!("../data/specialties.toml");

/// The lexicons of the other languages.
pub const LEXICONS: &[(&str, &str)] = &[];

/// The fixed sentences, by language.
pub const PHRASES: &[(&str, &str)] = &[];

/// The protocols.
pub const PROTOCOLS: &[(&str, &str)] = &[];
