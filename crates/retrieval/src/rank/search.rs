use super::build_hit::build_hit;
use super::candidates::SearchedCollection;
use super::diverse::diversify;
use super::scored::{Scored, fuse, rank, score};
use super::{CANDIDATES, Hit, Mode, Query, QueryContext, SearchResults};
use crate::collection::Collection;
use crate::{DocNo, Languages, Statistics, StopWords, TextQuery};

/// Searches collections of one owner as if they were one: term statistics are computed over all of them. Entries that
/// have expired or do not meet the query's conditions are never returned. Equal scores are ordered by collection and
/// id.
#[must_use]
pub fn search(collections: &[&Collection], query: &Query, context: &QueryContext<'_>) -> SearchResults {
    let languages = collections.iter().fold(Languages::default(), |all, one| all.union(one.text().languages()));
    let words = TextQuery::new(&query.text, languages, StopWords::Dropped);
    let mut warnings = warnings(collections, query, context, &words);
    let Some((mode, context)) = mode(collections, query, context, &words, &mut warnings) else {
        return SearchResults { hits: Vec::new(), total: 0, mode: Mode::Text, warnings };
    };
    // No terms are looked up if words do not count.
    let words = if mode == Mode::Semantic { TextQuery::default() } else { words };
    let parts: Vec<SearchedCollection<'_>> = collections
        .iter()
        .map(|collection| SearchedCollection {
            collection,
            admitted: collection.admitted(query, &context),
            resolved: collection.text().resolve(&words),
        })
        .collect();
    let mut statistics = Statistics::default();
    parts.iter().for_each(|part| statistics.merge(part.resolved.statistics()));
    let mut scored = score(&parts, &statistics, query, &context, mode);
    let best_text = collections.first().map_or(0.0, |one| one.text().best(&words, &statistics));
    let fusion = fuse(&scored, &context, mode, best_text);
    let page = query.offset.saturating_add(query.limit);
    let count = if query.mmr.is_some() { page.max(CANDIDATES) } else { page };
    rank(&mut scored, &parts, &fusion, (query, &context), count);
    let total = scored.len();
    let build =
        |one: &Scored| Some((build_hit(one, parts.get(one.key.0)?, &fusion, &statistics, &context)?, one.key.1));
    let hits = match query.mmr {
        None => scored.iter().skip(query.offset).take(query.limit).filter_map(build).map(|(hit, _)| hit).collect(),
        Some(lambda) => {
            let mut hits: Vec<(Hit, DocNo)> = scored.iter().take(count).filter_map(build).collect();
            diversify(&mut hits, collections, lambda, CANDIDATES);
            hits.into_iter().skip(query.offset).take(query.limit).map(|(hit, _)| hit).collect()
        }
    };
    SearchResults { hits, total, mode, warnings }
}

fn warnings(collections: &[&Collection], query: &Query, context: &QueryContext<'_>, words: &TextQuery) -> Vec<String> {
    let mut warnings = Vec::new();
    if words.is_cut() {
        warnings.push("the query has more than 512 words: the words after them were ignored".to_owned());
    }
    let waiting: usize = collections.iter().map(|one| one.len() - one.vectors()).sum();
    if context.vector.is_some() && query.mode != Mode::Text && waiting > 0 {
        warnings.push(format!("{waiting} entries have no vector yet: they are found by their words only"));
    }
    warnings
}

/// Determines the ranking that is possible, and removes an unusable vector from the context; `None` if there is neither a
/// word nor a vector.
fn mode<'a>(
    collections: &[&Collection],
    query: &Query,
    context: &QueryContext<'a>,
    words: &TextQuery,
    warnings: &mut Vec<String>,
) -> Option<(Mode, QueryContext<'a>)> {
    let fits = |vector: &&[f32]| collections.iter().all(|one| one.dimensions() == vector.len());
    let vector = context.vector.filter(fits);
    if context.vector.is_some() && vector.is_none() {
        warnings.push("the query's vector is of another model than the entries': ranked by words only".to_owned());
    }
    let mode = match (query.mode, vector.is_some(), words.is_empty()) {
        (Mode::Text, _, false) | (_, false, false) => Mode::Text,
        (Mode::Semantic, true, _) | (Mode::Hybrid, true, true) => Mode::Semantic,
        (Mode::Hybrid, true, false) => Mode::Hybrid,
        (Mode::Text, _, true) | (_, false, true) => return None,
    };
    Some((mode, QueryContext { vector, ..*context }))
}
