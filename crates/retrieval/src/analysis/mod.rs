//! Text analysis: words and their terms, the same for entries and queries.
//!
//! Words by UAX #29; NFKC and lower case; Snowball stems. Diacritics are removed after stemming, which needs them; if
//! the stem of the word without diacritics differs, it is an additional term. Scripts without spaces are indexed by
//! character bigrams; names (`snake_case`, `a@b.c`, `src/main.rs`) as a whole and by their words. There is no query
//! syntax. Time is linear in any text.

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
pub(crate) use stop::is_stop_word;
pub(crate) use terms::{Reading, each_query_word, each_word};
