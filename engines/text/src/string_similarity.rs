//! q171: string similarity.

use std::collections::{BTreeMap, BTreeSet};

use any_ascii::any_ascii;

use muster_engine::prelude::*;

/// Maximum product of the query's and all choices' characters: the cost of the quadratic measures.
const MAX_CELLS: usize = 100_000_000;
/// Least number of matches that are kept while the others are compared.
const MIN_KEPT: usize = 1_000;

#[derive(Input)]
pub struct Input {
    query: String,
    choices: Vec<String>,
    method: Method,
    limit: f64,
    cutoff: f64,
}

#[derive(Clone, Copy, PartialEq, Words)]
#[wire(case = "kebab")]
enum Method {
    Auto,
    Levenshtein,
    Damerau,
    JaroWinkler,
    TokenSet,
    Trigram,
    Phonetic,
}

#[derive(Output)]
pub struct Output {
    matches: Vec<Match>,
    phonetic: String,
}

#[derive(Output)]
struct Match {
    choice: String,
    index: usize,
    score: f64,
    distances: BTreeMap<&'static str, f64>,
}

pub fn run(input: Input, _: &Context) -> Result<Output, Failure> {
    let characters: usize = input.choices.iter().map(|choice| choice.chars().count()).sum();
    if input.query.chars().count().saturating_mul(characters) > MAX_CELLS {
        let message = format!("query times choices is over {MAX_CELLS} characters: send fewer choices at a time");
        return Err(Failure::too_large(message));
    }
    let Input { query, choices, method, limit, cutoff } = input;
    let limit = limit as usize;
    let best = |matches: &mut Vec<Match>| {
        matches.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.index.cmp(&b.index)));
        matches.truncate(limit);
    };
    let mut matches: Vec<Match> = Vec::new();
    for (index, choice) in choices.into_iter().enumerate() {
        let (score, distances) = measure(method, &query, &choice);
        if score >= cutoff {
            matches.push(Match { choice, index, score, distances });
        }
        // What cannot be among the best is not kept.
        if matches.len() >= 2 * limit.max(MIN_KEPT) {
            best(&mut matches);
        }
    }
    best(&mut matches);
    Ok(Output { matches, phonetic: codes(&query) })
}

/// Returns a similarity from 0 to 1 and its components. `auto` folds case and script, and takes the best of measures
/// for typing errors, word order and phonetic spelling.
fn measure(method: Method, a: &str, b: &str) -> (f64, BTreeMap<&'static str, f64>) {
    let one = |name, score: f64| (score, BTreeMap::from([(name, score)]));
    match method {
        Method::Levenshtein => {
            (strsim::normalized_levenshtein(a, b), BTreeMap::from([("levenshtein", strsim::levenshtein(a, b) as f64)]))
        }
        Method::Damerau => (
            strsim::normalized_damerau_levenshtein(a, b),
            BTreeMap::from([("damerau", strsim::damerau_levenshtein(a, b) as f64)]),
        ),
        Method::JaroWinkler => one("jaro_winkler", strsim::jaro_winkler(a, b)),
        Method::TokenSet => one("token_set", token_set(a, b)),
        Method::Trigram => one("trigram", trigram(a, b)),
        Method::Phonetic => one("soundex", phonetic(a, b)),
        Method::Auto => {
            let (a, b) = (any_ascii(a).to_lowercase(), any_ascii(b).to_lowercase());
            let jaro_winkler = strsim::jaro_winkler(&a, &b);
            let (token_set, trigram, phonetic) = (token_set(&a, &b), trigram(&a, &b), phonetic(&a, &b));
            let distances = BTreeMap::from([
                ("damerau", strsim::damerau_levenshtein(&a, &b) as f64),
                ("jaro_winkler", jaro_winkler),
                ("levenshtein", strsim::levenshtein(&a, &b) as f64),
                ("soundex", phonetic),
                ("token_set", token_set),
                ("trigram", trigram),
            ]);
            // A superset of words, and words that only sound alike, score below equality.
            let best = [jaro_winkler, 0.95 * token_set, trigram, 0.8 * phonetic].into_iter().fold(0.0, f64::max);
            (if a == b { 1.0 } else { best.min(0.99) }, distances)
        }
    }
}

/// Share of the longest common subsequence in both texts: 2 LCS / (|a| + |b|).
fn indel(a: &str, b: &str) -> f64 {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.is_empty() && b.is_empty() {
        return 1.0;
    }
    let mut row = vec![0_usize; b.len() + 1];
    for left in &a {
        let (mut diagonal, mut before) = (0, 0);
        for (right, cell) in b.iter().zip(row.iter_mut().skip(1)) {
            let above = *cell;
            *cell = if left == right { diagonal + 1 } else { above.max(before) };
            (diagonal, before) = (above, *cell);
        }
    }
    2.0 * row.last().copied().unwrap_or_default() as f64 / (a.len() + b.len()) as f64
}

/// Best ratio of the common words with and without the remaining words of each side (fuzzywuzzy's token set ratio).
fn token_set(a: &str, b: &str) -> f64 {
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<BTreeSet<_>>();
    let (a, b) = (words(a), words(b));
    if a.is_empty() || b.is_empty() {
        return 0.0;
    }
    let join = |words: Vec<&String>| words.into_iter().map(String::as_str).collect::<Vec<_>>().join(" ");
    let common = join(a.intersection(&b).collect());
    let (only_a, only_b) = (join(a.difference(&b).collect()), join(b.difference(&a).collect()));
    if !common.is_empty() && (only_a.is_empty() || only_b.is_empty()) {
        return 1.0;
    }
    let with = |more: &str| format!("{common} {more}").trim().to_owned();
    let (all_a, all_b) = (with(&only_a), with(&only_b));
    let mut best = indel(&all_a, &all_b);
    if !common.is_empty() {
        best = best.max(indel(&common, &all_a)).max(indel(&common, &all_b));
    }
    best
}

/// Jaccard index of trigrams, with words padded by two blanks before and one after, as PostgreSQL's pg_trgm.
fn trigram(a: &str, b: &str) -> f64 {
    let (a, b) = (trigrams(a), trigrams(b));
    let all = a.union(&b).count();
    if all == 0 { 0.0 } else { a.intersection(&b).count() as f64 / all as f64 }
}

fn trigrams(text: &str) -> BTreeSet<[char; 3]> {
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words
        .flat_map(|word| {
            let padded: Vec<char> = "  ".chars().chain(word.chars()).chain(" ".chars()).collect();
            padded.windows(3).filter_map(|three| <[char; 3]>::try_from(three).ok()).collect::<Vec<_>>()
        })
        .collect()
}

/// Share of equal code characters, word by word: as SQL's DIFFERENCE, divided by 4.
fn phonetic(a: &str, b: &str) -> f64 {
    let (a, b) = (codes(a), codes(b));
    let most = a.split(' ').count().max(b.split(' ').count());
    if a.is_empty() || b.is_empty() {
        return 0.0;
    }
    let equal: usize =
        a.split(' ').zip(b.split(' ')).map(|(a, b)| a.chars().zip(b.chars()).filter(|(a, b)| a == b).count()).sum();
    equal as f64 / (4 * most) as f64
}

/// The Soundex code of each word.
fn codes(text: &str) -> String {
    any_ascii(text).split_whitespace().filter_map(soundex).collect::<Vec<_>>().join(" ")
}

/// Russell's Soundex by the rules of the US National Archives: equal codes that are adjacent, or separated only by H or
/// W, count once; a vowel separates them.
fn soundex(word: &str) -> Option<String> {
    let mut letters = word.chars().filter(char::is_ascii_alphabetic).map(|c| c.to_ascii_uppercase());
    let first = letters.next()?;
    let (mut code, mut last) = (String::from(first), digit(first));
    for letter in letters {
        match digit(letter) {
            Some(found) => {
                if last != Some(found) {
                    code.push(found);
                }
                last = Some(found);
            }
            None if matches!(letter, 'H' | 'W') => {}
            None => last = None,
        }
        if code.len() == 4 {
            break;
        }
    }
    Some(format!("{code:0<4}"))
}

fn digit(letter: char) -> Option<char> {
    match letter {
        'B' | 'F' | 'P' | 'V' => Some('1'),
        'C' | 'G' | 'J' | 'K' | 'Q' | 'S' | 'X' | 'Z' => Some('2'),
        'D' | 'T' => Some('3'),
        'L' => Some('4'),
        'M' | 'N' => Some('5'),
        'R' => Some('6'),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 5e-5, "{found} in place of {expected}");
    }

    /// National Archives, "The Soundex Indexing System": its examples.
    #[test]
    fn soundex_by_the_national_archives() {
        for (name, code) in [
            ("Washington", "W252"),
            ("Lee", "L000"),
            ("Gutierrez", "G362"),
            ("Pfister", "P236"),
            ("Jackson", "J250"),
            ("Tymczak", "T522"),
            ("Ashcraft", "A261"),
        ] {
            assert_eq!(soundex(name).as_deref(), Some(code), "{name}");
        }
    }

    /// Winkler 1990, table: MARTHA/MARHTA, DWAYNE/DUANE, DIXON/DICKSONX.
    #[test]
    fn jaro_winkler_by_winkler() {
        for (a, b, expected) in [("MARTHA", "MARHTA", 0.9611), ("DWAYNE", "DUANE", 0.84), ("DIXON", "DICKSONX", 0.8133)]
        {
            near(measure(Method::JaroWinkler, a, b).0, expected);
        }
    }

    /// PostgreSQL manual, pg_trgm: similarity('word', 'two words') is 0.36363637.
    #[test]
    fn trigrams_by_postgresql() {
        near(trigram("word", "two words"), 0.363_636_37);
    }

    /// RapidFuzz documentation, token_set_ratio: "fuzzy was a bear" in "fuzzy fuzzy was a bear" is 100; its ratio of
    /// "this is a test" to "this is a test!" is 96.551724.
    #[test]
    fn token_sets_by_rapidfuzz() {
        near(token_set("fuzzy was a bear", "fuzzy fuzzy was a bear"), 1.0);
        near(indel("this is a test", "this is a test!"), 0.965_517_24);
    }

    /// Damerau 1964: a transposition is one error; Levenshtein counts two.
    #[test]
    fn a_transposition() {
        near(measure(Method::Damerau, "ca", "ac").1["damerau"], 1.0);
        near(measure(Method::Levenshtein, "ca", "ac").1["levenshtein"], 2.0);
    }

    #[test]
    fn auto_matches_a_name_in_another_script_and_order() {
        let (score, _) = measure(Method::Auto, "Müller, Anna", "anna muller");
        assert!(score > 0.8, "{score}");
        near(measure(Method::Auto, "Ødegård", "odegard").0, 1.0);
    }
}
