//! Which entries answer a query, best first: by words and by meaning, each candidate scored by both.
//!
//! 1. Conditions first: only what they admit is looked at.
//! 2. Candidates: the best by words, the best by vector, and the neighbours of these in their threads.
//! 3. Each candidate gets both scores: BM25 (in `text/`) and the cosine with its neighbours.
//! 4. Both are brought to one scale (zero mean, unit deviation over the candidates) and added by [`ALPHA`].
//! 5. Importance, age, the least score and diversity, where asked for.

mod candidates;
mod context;
mod diverse;
mod explain;
mod found;
mod fuse;
mod hit;
mod query;
mod scored;
mod search;
mod thread;

#[cfg(test)]
mod tests;

pub use explain::{Explain, SemanticPart, TextPart};
pub use found::{Found, Hit};
pub use query::{Mode, Query, QueryContext};
pub use search::search;

/// What the vector counts where words count `1 - ALPHA`. Between .4 and .6 nothing measured changes by more than .004;
/// the lower end, since a vector knows less of names and of languages that its model did not learn.
pub const ALPHA: f32 = 0.4;

/// Candidates that either side names, or as many as a page has: with 50 or 200 the rankings measured are the same within
/// .003.
const CANDIDATES: usize = 100;
/// At most, and where words alone count, which are scored in finding them.
const MOST: usize = 1_000;

/// What an entry of importance 1 gains, in deviations, and one of 0 loses; one of [`Document::IMPORTANCE`] neither.
///
/// [`Document::IMPORTANCE`]: crate::Document::IMPORTANCE
const IMPORTANCE: f32 = 0.5;
