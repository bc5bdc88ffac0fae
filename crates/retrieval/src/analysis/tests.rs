mod bounds;
mod detection;
mod stems;
mod terms;

use super::{Language, analyze};

/// The terms of a text with how often each occurs.
fn terms(text: &str, language: Language) -> Vec<(String, usize)> {
    let analyzed = analyze(&[text], language);
    analyzed.terms().map(|(term, positions)| (term.to_owned(), positions.count())).collect()
}

fn names(text: &str, language: Language) -> Vec<String> {
    terms(text, language).into_iter().map(|(term, _)| term).collect()
}
