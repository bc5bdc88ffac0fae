//! Ranks the entries that match a query: hybrid search by words and vectors, where each candidate is scored by both.
//!
//! 1. The query's conditions are applied first: only entries that they admit are examined.
//! 2. Candidates are the best entries by words, the best by vector, and the thread neighbours of the latter.
//! 3. Each candidate gets both scores: BM25 (see [`text`](crate::text)) and its cosine, which includes its neighbours.
//! 4. Both are standardised (zero mean, unit deviation over the candidates) and added, weighted by [`ALPHA`].
//! 5. Importance, age, minimum score and diversity are applied as requested.

mod build_hit;
mod candidates;
mod diverse;
mod explain;
mod fuse;
mod query;
mod results;
mod scored;
mod search;
mod thread;
mod thread_cosines;

#[cfg(test)]
mod tests;

pub use explain::{Explain, SemanticPart, TextPart};
pub use query::{Mode, Query, QueryContext};
pub use results::{Hit, SearchResults};
pub use search::search;

/// Default weight of the vector; words have `1 - ALPHA`. Between 0.4 and 0.6 no measured quality changes by more than
/// 0.004; the lower end is used because vectors are weaker for names and for languages that the model was not trained
/// on.
pub const ALPHA: f32 = 0.4;

/// Minimum number of candidates by words and by vector; a larger page has as many as it holds. With 50 or 200 the
/// measured quality is the same within 0.003.
const CANDIDATES: usize = 100;
/// Maximum number of candidates, and their number for searches by words alone, where finding them also scores them.
const MAX_CANDIDATES: usize = 1_000;

/// Gain of an entry of importance 1, and loss of one of importance 0, in standard deviations; an entry of
/// [`Document::IMPORTANCE`] has neither.
///
/// [`Document::IMPORTANCE`]: crate::Document::IMPORTANCE
const IMPORTANCE: f32 = 0.5;
