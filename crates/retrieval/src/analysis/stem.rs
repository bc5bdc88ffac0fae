//! Snowball stemming, followed by removal of diacritics.

use std::cell::RefCell;

use rust_stemmers::{Algorithm, Stemmer};

use super::Language;
use super::normal::fold;
use super::script::Script;

/// Calls `each` for the forms of a word (normalised letters) in a text of a language: one form, or two if the stem
/// without diacritics differs from the stem of the word without diacritics, so that a query typed without them matches.
pub(super) fn each_form(word: &str, language: Language, each: &mut impl FnMut(&str)) {
    let script = Script::of_word(word);
    let language = language.of_word(script);
    FORMS.with_borrow_mut(|forms| {
        let (first, second) = forms.of(word, language, script);
        each(first);
        if let Some(second) = second {
            each(second);
        }
    });
}

thread_local! {
    /// Cache: a stem depends only on its word, and texts repeat words.
    static FORMS: RefCell<Forms> = const { RefCell::new(Forms { slots: Vec::new() }) };
}

/// Cached words per thread, a power of two.
const SLOTS: usize = 8_192;
/// Maximum bytes of a cached word.
const REMEMBERED: usize = 32;

struct Forms {
    slots: Vec<Option<Form>>,
}

struct Form {
    language: Language,
    word: Box<str>,
    first: Box<str>,
    second: Option<Box<str>>,
}

impl Forms {
    /// Direct-mapped: replaces the previous entry.
    fn of(&mut self, word: &str, language: Language, script: Script) -> (&str, Option<&str>) {
        if self.slots.is_empty() {
            self.slots.resize_with(SLOTS + 1, || None);
        }
        // Words too long for the cache share the last slot.
        let place = if word.len() > REMEMBERED { SLOTS } else { place(word, language) };
        let Some(slot) = self.slots.get_mut(place) else { return ("", None) };
        if slot.as_ref().is_none_or(|form| form.language != language || *form.word != *word) {
            *slot = Some(form(word, language, script));
        }
        slot.as_ref().map_or(("", None), |form| (&*form.first, form.second.as_deref()))
    }
}

/// FNV-1a.
fn place(word: &str, language: Language) -> usize {
    let start = 0xcbf2_9ce4_8422_2325_u64 ^ u64::from(language.number());
    let hash = word.bytes().fold(start, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    usize::try_from((hash ^ (hash >> 32)) & (SLOTS as u64 - 1)).unwrap_or_default()
}

fn form(word: &str, language: Language, script: Script) -> Form {
    let mut folded = String::new();
    fold(word, &mut folded);
    let (first, second) = match algorithm(language) {
        None => (folded, None),
        // English words have no diacritics of their own: the stemmer's rules would not match one.
        Some(algorithm) if language == Language::English => (stem(algorithm, &folded), None),
        Some(algorithm) => {
            let mut first = String::new();
            fold(&stem(algorithm, &elided(word, language).replace('ё', "е")), &mut first);
            // Only Latin is commonly typed without its diacritics.
            let second =
                (script == Script::Latin && !word.is_ascii()).then(|| stem(algorithm, elided(&folded, language)));
            let second = second.filter(|second| *second != first);
            (first, second)
        }
    };
    Form { language, word: word.into(), first: first.into(), second: second.map(Into::into) }
}

/// Removes remaining apostrophes: `don't` and `dont` are one word. English loses the possessive `'s` as well.
fn stem(algorithm: Algorithm, word: &str) -> String {
    let stemmer = Stemmer::create(algorithm);
    if !word.contains('\'') {
        return stemmer.stem(word).into_owned();
    }
    let owner = match algorithm {
        Algorithm::English => word.trim_end_matches('\'').trim_end_matches("'s"),
        _ => word,
    };
    stemmer.stem(&owner.replace('\'', "")).into_owned()
}

/// Removes an elided article: `l'avion`, `dell'arte` (the lists of Lucene's `FrenchAnalyzer` and `ItalianAnalyzer`).
fn elided(word: &str, language: Language) -> &str {
    const FRENCH: [&str; 12] = ["l", "m", "t", "qu", "n", "s", "j", "d", "c", "jusqu", "quoiqu", "lorsqu"];
    const ITALIAN: [&str; 15] =
        ["c", "l", "all", "dall", "dell", "nell", "sull", "coll", "pell", "gl", "agl", "dagl", "degl", "negl", "sugl"];
    let Some((before, after)) = word.split_once('\'') else { return word };
    let known = match language {
        Language::French => FRENCH.contains(&before) || before == "puisqu",
        Language::Italian => ITALIAN.contains(&before) || ["un", "m", "t", "s", "v", "d"].contains(&before),
        _ => false,
    };
    if known && !after.is_empty() { after } else { word }
}

const fn algorithm(language: Language) -> Option<Algorithm> {
    Some(match language {
        Language::Arabic => Algorithm::Arabic,
        Language::Danish => Algorithm::Danish,
        Language::Dutch => Algorithm::Dutch,
        Language::English => Algorithm::English,
        Language::Finnish => Algorithm::Finnish,
        Language::French => Algorithm::French,
        Language::German => Algorithm::German,
        Language::Greek => Algorithm::Greek,
        Language::Hungarian => Algorithm::Hungarian,
        Language::Italian => Algorithm::Italian,
        Language::Norwegian => Algorithm::Norwegian,
        Language::Portuguese => Algorithm::Portuguese,
        Language::Romanian => Algorithm::Romanian,
        Language::Russian => Algorithm::Russian,
        Language::Spanish => Algorithm::Spanish,
        Language::Swedish => Algorithm::Swedish,
        Language::Tamil => Algorithm::Tamil,
        Language::Turkish => Algorithm::Turkish,
        Language::Other => return None,
    })
}
