//! q168: readability.

use muster_kernel_words::syllables::syllables;
use muster_kernel_words::tokens::{sentences, words};

use muster_engine::prelude::*;

use crate::support::{MAX_BYTES, base, bounded};

/// Sentences above the target grade that are listed.
const MAX_HARD: usize = 1_000;
/// Letters of the longest word that LIX counts as short.
const SHORT: usize = 6;

#[derive(Input)]
pub struct Input {
    text: String,
    language: String,
    target_grade: f64,
}

#[derive(Output)]
pub struct Output {
    flesch: f64,
    fk_grade: f64,
    smog: f64,
    fog: f64,
    ari: f64,
    coleman_liau: f64,
    lix: f64,
    hard_sentences: Vec<Hard>,
    words: usize,
    meets_target: bool,
}

#[derive(Output)]
struct Hard {
    text: String,
    words: usize,
    grade: f64,
}

#[derive(Default, Clone, Copy)]
struct Counts {
    sentences: f64,
    words: f64,
    syllables: f64,
    letters: f64,
    /// Letters and digits.
    characters: f64,
    /// Words of three syllables or more.
    polysyllables: f64,
    /// Words of more than six letters.
    long: f64,
}

impl Counts {
    fn of(text: &str, english: bool) -> Self {
        let mut counts = Self { sentences: 1.0, ..Self::default() };
        for (_, word) in words(text) {
            let syllables = syllables(word, english);
            let characters = word.chars().filter(|letter| letter.is_alphanumeric()).count();
            counts.words += 1.0;
            counts.syllables += syllables as f64;
            counts.letters += word.chars().filter(|letter| letter.is_alphabetic()).count() as f64;
            counts.characters += characters as f64;
            counts.polysyllables += f64::from(u8::from(syllables >= 3));
            counts.long += f64::from(u8::from(characters > SHORT));
        }
        counts
    }

    fn add(&mut self, other: Self) {
        self.sentences += other.sentences;
        self.words += other.words;
        self.syllables += other.syllables;
        self.letters += other.letters;
        self.characters += other.characters;
        self.polysyllables += other.polysyllables;
        self.long += other.long;
    }

    /// Flesch-Kincaid grade (Kincaid et al. 1975).
    fn grade(&self) -> f64 {
        0.39 * self.words / self.sentences + 11.8 * self.syllables / self.words - 15.59
    }
}

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
    bounded([input.text.as_str()], MAX_BYTES)?;
    let english = base(&input.language) == "en";
    if !english {
        context.warn(
            "calibration: the formulas but LIX were fitted to English; syllables are counted as groups of vowels",
        );
    }
    let mut all = Counts::default();
    let mut hard = Vec::new();
    for range in sentences(&input.text) {
        let Some(text) = input.text.get(range) else { continue };
        let counts = Counts::of(text, english);
        if counts.words == 0.0 {
            continue;
        }
        if counts.grade() > input.target_grade {
            hard.push(Hard { text: text.to_owned(), words: counts.words as usize, grade: counts.grade() });
        }
        all.add(counts);
    }
    if all.words == 0.0 {
        return Err(Failure::no_answer(NoAnswer::TooFew, "text has no words: readability needs one sentence or more"));
    }
    if all.sentences < 30.0 {
        context.warn("short_text: SMOG is defined for 30 sentences; with fewer it is scaled");
    }
    hard.sort_by(|a, b| b.grade.total_cmp(&a.grade));
    if hard.len() > MAX_HARD {
        context.warn(format!("shortened: the {MAX_HARD} hardest of {} sentences are listed", hard.len()));
        hard.truncate(MAX_HARD);
    }
    context.step("sentences", all.sentences, "");
    context.step("syllables", all.syllables, "");
    context.step("characters", all.characters, "");
    context.step("words of three syllables or more", all.polysyllables, "");
    let (per_sentence, hundred) = (all.words / all.sentences, 100.0 / all.words);
    Ok(Output {
        flesch: 206.835 - 1.015 * per_sentence - 84.6 * all.syllables / all.words,
        fk_grade: all.grade(),
        smog: 1.043 * (all.polysyllables * 30.0 / all.sentences).sqrt() + 3.1291,
        fog: 0.4 * (per_sentence + hundred * all.polysyllables),
        ari: 4.71 * all.characters / all.words + 0.5 * per_sentence - 21.43,
        coleman_liau: 0.0588 * hundred * all.letters - 0.296 * hundred * all.sentences - 15.8,
        lix: per_sentence + hundred * all.long,
        hard_sentences: hard,
        words: all.words as usize,
        meets_target: all.grade() <= input.target_grade,
    })
}
