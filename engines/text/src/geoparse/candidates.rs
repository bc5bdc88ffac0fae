//! Which words of a text may name a place.

use std::ops::Range;

use muster_kernel_places::{Named, fold, named, place};
use unicode_segmentation::UnicodeSegmentation as _;

/// Words of the longest name that is looked for.
const MAX_WORDS: usize = 6;
/// Population from which a place needs no other sign in a text of capitals, or at the start of a sentence if its name is
/// a word too.
const LARGE: u32 = 100_000;

/// Names of places that are words, first names, days, months or directions more often: taken only after a preposition of
/// place or before a comma and a name.
const WORDS: &[&str] = &[
    "a",
    "action",
    "alert",
    "all",
    "and",
    "april",
    "august",
    "bar",
    "bath",
    "battle",
    "bay",
    "best",
    "bridge",
    "call",
    "caller",
    "callers",
    "camp",
    "center",
    "central",
    "centre",
    "charlotte",
    "church",
    "city",
    "cook",
    "cross",
    "deal",
    "december",
    "east",
    "eden",
    "elizabeth",
    "emergency",
    "fire",
    "flood",
    "florence",
    "food",
    "fort",
    "friday",
    "general",
    "george",
    "god",
    "grand",
    "green",
    "hall",
    "help",
    "hill",
    "home",
    "hope",
    "hospital",
    "independence",
    "island",
    "january",
    "jackson",
    "john",
    "july",
    "june",
    "king",
    "lake",
    "lawrence",
    "lincoln",
    "little",
    "lot",
    "love",
    "madison",
    "male",
    "march",
    "marina",
    "martin",
    "mary",
    "man",
    "maria",
    "may",
    "mobile",
    "monday",
    "most",
    "mountain",
    "nancy",
    "new",
    "nice",
    "north",
    "november",
    "october",
    "of",
    "old",
    "orange",
    "park",
    "paul",
    "peace",
    "peter",
    "police",
    "power",
    "president",
    "price",
    "queen",
    "reading",
    "red",
    "rescue",
    "river",
    "road",
    "rose",
    "san",
    "santa",
    "saturday",
    "school",
    "september",
    "sandwich",
    "south",
    "split",
    "spring",
    "station",
    "st",
    "storm",
    "street",
    "sunday",
    "the",
    "this",
    "thursday",
    "tuesday",
    "union",
    "university",
    "update",
    "victor",
    "victoria",
    "warren",
    "water",
    "wednesday",
    "west",
    "white",
    "wilson",
    "winter",
    "wood",
    "young",
    "moscow mule",
    "die",
    "der",
    "das",
    "wie",
    "les",
    "la",
    "le",
    "el",
    "los",
    "las",
    "we",
    "they",
    "he",
    "she",
    "it",
    "i",
    "in",
    "on",
    "at",
    "no",
    "yes",
    "people",
    "two",
    "three",
    "four",
    "five",
    "many",
    "please",
    "send",
];

/// Prepositions that precede a place, in four languages.
const PREPOSITIONS: &[&str] = &[
    "in", "near", "at", "from", "to", "towards", "toward", "around", "outside", "inside", "between", "into", "via",
    "through", "of", "nach", "bei", "aus", "von", "um", "à", "en", "vers", "près", "dans", "cerca", "desde", "hacia",
    "de", "hasta",
];

/// Words after which a name is a person's or a street's.
const TITLES: &[&str] = &[
    "caller",
    "maria",
    "mr",
    "mrs",
    "ms",
    "dr",
    "prof",
    "professor",
    "president",
    "mayor",
    "minister",
    "captain",
    "sergeant",
    "sir",
    "lady",
    "king",
    "queen",
    "prince",
    "herr",
    "frau",
    "monsieur",
    "madame",
    "señor",
    "señora",
    "operation",
    "hurricane",
    "cyclone",
    "typhoon",
    "storm",
];

/// A name in the text and the places that have it.
#[derive(Debug)]
pub(super) struct Mention {
    pub(super) range: Range<usize>,
    pub(super) places: Vec<Named>,
}

/// A word of the text.
struct Word<'a> {
    at: usize,
    text: &'a str,
    /// Whether it begins with a capital, or its script has none.
    name_like: bool,
    /// Whether a sentence begins with it.
    first: bool,
}

/// Finds the longest names from left to right. They do not overlap.
pub(super) fn mentions(text: &str, least: u32) -> Vec<Mention> {
    let words = words(text);
    // Where all is in capitals, they say nothing.
    let shouted = words.len() > 3 && !text.chars().any(char::is_lowercase) && text.chars().any(char::is_uppercase);
    let mut found = Vec::new();
    let mut at = 0;
    while at < words.len() {
        match longest(text, &words, at, least, shouted) {
            Some((mention, count)) => {
                found.push(mention);
                at += count;
            }
            None => at += 1,
        }
    }
    found
}

fn words(text: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut end = 0;
    for (at, word) in text.unicode_word_indices() {
        let between = text.get(end..at).unwrap_or_default();
        let first = words.is_empty() || between.contains(['.', '!', '?', '\n', ':', '"', '“', '。']);
        let initial = word.chars().next();
        let name_like =
            initial.is_some_and(|letter| letter.is_uppercase() || letter.is_alphabetic() && !letter.is_lowercase());
        words.push(Word { at, text: word, name_like, first });
        end = at + word.len();
    }
    words
}

fn longest(text: &str, words: &[Word<'_>], at: usize, least: u32, shouted: bool) -> Option<(Mention, usize)> {
    let start = words.get(at).filter(|word| word.name_like)?;
    let before = at.checked_sub(1).and_then(|before| words.get(before)).map(|word| word.text.to_lowercase());
    let before = before.as_deref().unwrap_or_default();
    let titled = !start.first && TITLES.contains(&before) || TITLES.contains(&before) && before.len() > 2;
    if titled {
        return None;
    }
    for count in (1..=MAX_WORDS.min(words.len() - at)).rev() {
        let Some(last) = words.get(at + count - 1).filter(|word| word.name_like) else { continue };
        let range = start.at..last.at + last.text.len();
        let name = text.get(range.clone())?;
        // A name runs over blanks, hyphens and apostrophes; `St.` has a full stop.
        let inside = name.replace("St. ", "St ");
        if inside.contains([',', ';', '.', '!', '?', '\n', ':', '(', ')', '"', '/', '&']) {
            continue;
        }
        let key = fold(name);
        if key.len() < 3 && name.is_ascii() {
            continue;
        }
        let mut places = named(&key);
        places.retain(|named| place(named.id).is_some_and(|place| place.population >= least));
        if places.is_empty() {
            continue;
        }
        let large = places.iter().filter_map(|named| place(named.id)).any(|place| place.population >= LARGE);
        let placed = PREPOSITIONS.contains(&before) || text.get(range.end..).is_some_and(is_qualified);
        let word = WORDS.contains(&key.as_str());
        let doubtful = (word || shouted && count == 1 && !large || start.first && count == 1 && !large) && !placed;
        if !doubtful {
            return Some((Mention { range, places }, count));
        }
    }
    None
}

/// Whether a comma and a name follow, as in `Split, Croatia`.
fn is_qualified(rest: &str) -> bool {
    let after = rest.strip_prefix(", ").and_then(|after| after.chars().next());
    after.is_some_and(char::is_uppercase)
}
