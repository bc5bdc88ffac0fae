//! Reads a prompt in one language: longest match of names, keywords and concepts.

use super::concepts::Concept;
use super::fold::{hash, is_continuous, stem_hash};
use super::kinds::Kinds;
use super::names::{Language, Rank};
use super::scene::Colour;
use super::tokens::{Token, join};

/// Words of one name, at most.
const MAX_WORDS: usize = 6;
/// Characters of one name in a script without spaces, at most.
const MAX_CHARACTERS: usize = 12;

/// What a stretch of the prompt means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    Picture {
        picture: u16,
        /// Written in the plural, as far as a final s tells.
        plural: bool,
    },
    Concept(Concept),
    /// A colour that is also the name of a picture (orange, rose).
    ColourOrPicture(Colour, u16),
    Unknown,
}

/// One stretch of the prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Element {
    pub(super) meaning: Meaning,
    /// As the prompt writes it.
    pub(super) raw: String,
    pub(super) clause: usize,
    /// A number above nine, which is drawn as nine.
    pub(super) clamped: bool,
}

/// A prompt as read in one language.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) elements: Vec<Element>,
    /// How much of the text was understood; languages are compared by it.
    pub(super) score: u32,
    /// Whether every word was understood.
    pub(super) complete: bool,
}

/// Reads tokens in one language.
pub(super) fn read(tokens: &[Token], language: &Language) -> Reading {
    let folded: Vec<String> = tokens.iter().map(|token| language.folder.fold(&token.raw)).collect();
    let stems: Vec<Option<String>> = folded.iter().map(|word| language.folder.stem(word)).collect();
    let mut reader =
        Reader { tokens, folded, stems, language, reading: Reading { elements: Vec::new(), score: 0, complete: true } };
    let mut at = 0;
    while at < tokens.len() {
        at += reader.step(at).max(1);
    }
    reader.reading
}

struct Reader<'a> {
    tokens: &'a [Token],
    folded: Vec<String>,
    stems: Vec<Option<String>>,
    language: &'a Language,
    reading: Reading,
}

/// Weight of a match by name, at least; one by keyword has less.
const NAMED: u32 = 9;

/// A match and how much a letter of it counts.
struct Found {
    meaning: Meaning,
    weight: u32,
}

impl Reader<'_> {
    /// Reads the longest match at a token; returns its length.
    fn step(&mut self, at: usize) -> usize {
        let Some(token) = self.tokens.get(at) else { return 1 };
        if let Some(picture) = token.picture {
            self.push(at, 1, &Found { meaning: Meaning::Picture { picture, plural: false }, weight: 0 });
            return 1;
        }
        let longest = if token.continuous { MAX_CHARACTERS } else { MAX_WORDS };
        for length in (1..=longest.min(self.tokens.len() - at)).rev() {
            if let Some(found) = self.find(at, length) {
                self.push(at, length, &found);
                return length;
            }
        }
        self.unknown(at)
    }

    fn find(&self, at: usize, length: usize) -> Option<Found> {
        let tokens = self.tokens.get(at..at + length)?;
        let clause = tokens.first()?.clause;
        if tokens.iter().any(|token| token.picture.is_some() || token.clause != clause) {
            return None;
        }
        let folded = self.folded.get(at..at + length)?;
        let word = join(folded.iter().map(String::as_str).zip(tokens.iter().map(|token| token.continuous)));
        let last = tokens.last()?;
        if length == 1
            && let Some(count) = number(&word)
        {
            return Some(Found { meaning: Meaning::Concept(Concept::Count(count)), weight: 0 });
        }
        self.by_hash(hash(word.as_bytes()), &last.raw, 0)
            .or_else(|| {
                let stems: Option<Vec<&str>> = self.stems.get(at..at + length)?.iter().map(Option::as_deref).collect();
                let stem = join(stems?.into_iter().zip(tokens.iter().map(|token| token.continuous)));
                self.by_hash(stem_hash(&stem), &last.raw, 1)
            })
            .or_else(|| {
                if length > 1 {
                    return None;
                }
                let forms = self.language.folder.without_particles(&word);
                forms.iter().find_map(|form| {
                    self.by_hash(hash(form.as_bytes()), &last.raw, 1)
                        .or_else(|| self.by_hash(stem_hash(&self.language.folder.stem(form)?), &last.raw, 1))
                })
            })
            .filter(|found| !is_fragment(found, length, &word))
            .filter(|found| length == 1 || !self.is_phrase_of_concepts(found, folded))
    }

    /// Whether a keyword of several words says no more than its words do one by one ("in the rain": an umbrella).
    fn is_phrase_of_concepts(&self, found: &Found, folded: &[String]) -> bool {
        found.weight < NAMED && folded.iter().all(|word| self.language.concepts.find(hash(word.as_bytes())).is_some())
    }

    fn by_hash(&self, hash: u64, raw: &str, loss: u32) -> Option<Found> {
        let concept = self.language.concepts.find(hash);
        let picture = self
            .language
            .find(hash)
            .filter(|(rank, _)| *rank < Rank::Keyword || self.language.code != "en" || !is_gerund(raw));
        let weight = |rank: Rank| if rank < Rank::Keyword { 10 } else { 7 };
        let (meaning, weight) = match (concept, picture) {
            (Some(Concept::Colour(colour)), Some((rank, picture))) if is_namesake(colour, rank, picture) => {
                (Meaning::ColourOrPicture(colour, picture), weight(rank))
            }
            (Some(Concept::Picture(picture)), _) => (Meaning::Picture { picture, plural: is_plural(raw) }, 10),
            // An ending may make a noun of it (swimmer): then the name of a picture is meant.
            (Some(Concept::Vague), Some((Rank::Name | Rank::NameStem, picture))) if loss > 0 => {
                (Meaning::Picture { picture, plural: is_plural(raw) }, 10)
            }
            (Some(Concept::Vague), _) => (Meaning::Concept(Concept::Vague), 10),
            (Some(Concept::Stop), _) => (Meaning::Concept(Concept::Stop), 6),
            (Some(concept), _) => (Meaning::Concept(concept), 10),
            (None, Some((rank, picture))) => {
                (Meaning::Picture { picture, plural: loss > 0 && is_plural(raw) }, weight(rank))
            }
            (None, None) => return None,
        };
        Some(Found { meaning, weight: weight - loss })
    }

    fn push(&mut self, at: usize, length: usize, found: &Found) {
        let Some(tokens) = self.tokens.get(at..at + length) else { return };
        let raw = join(tokens.iter().map(|token| (token.raw.as_str(), token.continuous)));
        let clause = tokens.first().map_or(0, |token| token.clause);
        let letters = u32::try_from(raw.chars().filter(|c| c.is_alphabetic()).count()).unwrap_or(0);
        self.reading.score += letters * found.weight;
        let clamped =
            raw.parse::<u64>().is_ok_and(|number| number > 9) || (number(&raw).is_some() && raw.chars().count() > 1);
        self.reading.elements.push(Element { meaning: found.meaning, raw, clause, clamped });
    }

    /// Takes a word, or a run of characters, up to the next match.
    fn unknown(&mut self, at: usize) -> usize {
        let Some(first) = self.tokens.get(at) else { return 1 };
        let mut raw = first.raw.clone();
        let mut length = 1;
        while first.continuous && length < MAX_CHARACTERS {
            let Some(next) = self.tokens.get(at + length).filter(|next| next.continuous && next.clause == first.clause)
            else {
                break;
            };
            let longest = MAX_CHARACTERS.min(self.tokens.len() - at - length);
            if (1..=longest).any(|ahead| self.find(at + length, ahead).is_some()) {
                break;
            }
            raw.push_str(&next.raw);
            length += 1;
        }
        self.reading.complete = false;
        self.reading.elements.push(Element { meaning: Meaning::Unknown, raw, clause: first.clause, clamped: false });
        length
    }
}

/// Whether a keyword is so short that it is found inside other words of Thai, Lao, Burmese and Khmer, which have no
/// spaces between them and are no pictograms.
fn is_fragment(found: &Found, length: usize, word: &str) -> bool {
    let spaceless = |c: char| is_continuous(c) && u32::from(c) < 0x3000;
    found.weight < NAMED && length < 3 && word.contains(spaceless)
}

/// English words in -ing that name a thing.
const THINGS_IN_ING: &[&str] =
    &["building", "ceiling", "clothing", "duckling", "dumpling", "painting", "pudding", "wedding"];

/// Whether an English word is the -ing form of a verb: as a keyword it says what is done with a thing (a fishing rod).
fn is_gerund(raw: &str) -> bool {
    let word = raw.to_lowercase();
    word.len() > 5 && word.ends_with("ing") && !THINGS_IN_ING.contains(&word.as_str())
}

/// Whether a colour word also names the thing from which the colour has its name: a picture of just this name (rose),
/// or an orange. Other pictures that have the word among their keywords only have the colour.
fn is_namesake(colour: Colour, rank: Rank, picture: u16) -> bool {
    rank < Rank::Keyword || (colour == Colour::Orange && Kinds::get().find("🍊") == Some(picture))
}

/// A count in digits of any script that is common with them, cut to nine; zero is no count.
fn number(word: &str) -> Option<u8> {
    let mut value: u64 = 0;
    for c in word.chars().take(10) {
        let digit = c.to_digit(10).or_else(|| {
            let base = [0x660, 0x6f0, 0x966, 0x9e6, 0xe50, 0xff10]
                .into_iter()
                .find(|base| (*base..*base + 10).contains(&(c as u32)))?;
            Some(c as u32 - base)
        })?;
        value = value * 10 + u64::from(digit);
    }
    (!word.is_empty() && value > 0).then(|| u8::try_from(value.min(9)).unwrap_or(9))
}

fn is_plural(raw: &str) -> bool {
    raw.len() > 3 && raw.is_ascii() && raw.ends_with('s') && !raw.ends_with("ss") && !raw.ends_with("us")
}
