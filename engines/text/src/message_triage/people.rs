//! How many people a message is about.

use std::sync::LazyLock;

use muster_kernel_words::facts::{self, Clock, Value};
use regex::Regex;

/// Words between two numbers that are added: "two adults and three children".
const JOINING: [&str; 12] = ["&", "+", ",", "and", "e", "et", "plus", "sowie", "und", "with", "y", "mit"];
const NUMBERS: [(&str, f64); 40] = [
    ("two", 2.0),
    ("three", 3.0),
    ("four", 4.0),
    ("five", 5.0),
    ("six", 6.0),
    ("seven", 7.0),
    ("eight", 8.0),
    ("nine", 9.0),
    ("ten", 10.0),
    ("twelve", 12.0),
    ("dos", 2.0),
    ("tres", 3.0),
    ("cuatro", 4.0),
    ("cinco", 5.0),
    ("seis", 6.0),
    ("siete", 7.0),
    ("ocho", 8.0),
    ("nueve", 9.0),
    ("diez", 10.0),
    ("doce", 12.0),
    ("deux", 2.0),
    ("trois", 3.0),
    ("quatre", 4.0),
    ("cinq", 5.0),
    ("sept", 7.0),
    ("huit", 8.0),
    ("neuf", 9.0),
    ("dix", 10.0),
    ("douze", 12.0),
    ("zwei", 2.0),
    ("drei", 3.0),
    ("vier", 4.0),
    ("funf", 5.0),
    ("sechs", 6.0),
    ("sieben", 7.0),
    ("acht", 8.0),
    ("neun", 9.0),
    ("zehn", 10.0),
    ("elf", 11.0),
    ("zwolf", 12.0),
];
/// Counts beyond this are no number of people of a message.
const MOST: f64 = 1e9;

static GROUPS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r" (?:family of|group of|we are|we're|somos|nous sommes|wir sind) ([a-z]+|\d{1,6}) | ([a-z]+|\d{1,6}) (?:of us|de nosotros|d'entre nous|von uns|hikers|climbers|families members|family members) ").ok()
});

/// Returns the greatest number of people that is written: numbers before nouns of people, added where only a word such as
/// "and" stands between them, and groups ("family of five"). `joined` is the text folded. 0 if there is none.
pub(super) fn count(text: &str, joined: &str) -> i64 {
    let mut most: f64 = 0.0;
    let mut group: Option<(usize, f64)> = None;
    for fact in facts::find(text, &Clock::default()) {
        let Value::People(number) = fact.value else { continue };
        let before = group.filter(|(end, _)| {
            let between = text.get(*end..fact.start).unwrap_or_default().trim().to_lowercase();
            JOINING.contains(&between.as_str())
        });
        let sum = number + before.map_or(0.0, |(_, sum)| sum);
        most = most.max(sum);
        group = Some((fact.end, sum));
    }
    for found in GROUPS.iter().flat_map(|regex| regex.captures_iter(joined)) {
        let written = found.get(1).or(found.get(2)).map_or("", |found| found.as_str());
        let number = NUMBERS.iter().find(|(word, _)| *word == written).map(|(_, number)| *number);
        most = most.max(number.or_else(|| written.parse().ok()).unwrap_or_default());
    }
    most.clamp(0.0, MOST) as i64
}
