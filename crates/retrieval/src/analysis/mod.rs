//! Words of a text and the terms they are known by: one analysis for entries and for queries.
//!
//! Words by UAX #29; NFKC and lower case; stems by Snowball; diacritics go after the stemmer, which needs them, and where
//! the stem of the word without them is another, that is a term as well. Scripts without spaces by pairs of characters;
//! names (`snake_case`, `a@b.c`, `src/main.rs`) whole and by their words. Nothing in a text has a meaning of its
//! own: there is no syntax. Time is linear in the text whatever is in it.

mod analyzed;
mod detect;
mod language;
mod normal;
mod parts;
mod script;
mod stem;
mod stop;
mod terms;
mod words;

#[cfg(test)]
mod tests;

pub use analyzed::{Analyzed, analyze};
pub use detect::detect;
pub use language::{Language, Languages};
pub(crate) use normal::MAX_WORD;
pub use stop::is_stop_word;
pub(crate) use terms::{Reading, each_asked, each_word};
