//! q177: Unicode normalisation and transliteration.

use std::collections::BTreeMap;

use any_ascii::any_ascii;
use muster_media::languages::script_of;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;
use unicode_security::{MixedScript, confusable_detection::skeleton};

use muster_engine::prelude::*;

use crate::support::bounded;

/// Bytes of the longest text.
const MAX_BYTES: usize = 1_000_000;
/// Hidden characters that are listed.
const MAX_HIDDEN: usize = 1_000;

#[derive(Input)]
pub struct Input {
    text: String,
    form: Form,
    steps: Vec<Step>,
}

#[derive(Clone, Copy, Words)]
#[wire(case = "upper")]
enum Form {
    Nfc,
    Nfd,
    Nfkc,
    Nfkd,
}

#[derive(Clone, Copy, PartialEq, Words)]
#[wire(case = "kebab")]
enum Step {
    Casefold,
    Whitespace,
    Quotes,
    StripHidden,
    StripMarks,
    Ascii,
    Skeleton,
}

#[derive(Output)]
pub struct Output {
    text: String,
    changed: bool,
    hidden: Vec<Hidden>,
    scripts: BTreeMap<&'static str, usize>,
    mixed_script: bool,
}

#[derive(Output)]
struct Hidden {
    codepoint: String,
    offset: usize,
    name: &'static str,
}

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
    let Input { text: original, form, steps } = input;
    bounded([original.as_str()], MAX_BYTES)?;
    if steps.len() > 20 {
        return Err(Failure::too_large("steps has more than 20 items: each step is needed once"));
    }
    let mut all = original.char_indices().filter_map(|(offset, letter)| {
        let name = hidden(letter)?;
        Some(Hidden { codepoint: format!("U+{:04X}", u32::from(letter)), offset, name })
    });
    let listed = all.by_ref().take(MAX_HIDDEN).collect();
    let more = all.count();
    if more > 0 {
        context.warn(format!("shortened: {more} further hidden characters are not listed"));
    }
    let mut scripts = BTreeMap::new();
    for script in original.chars().filter_map(script_of) {
        *scripts.entry(script).or_default() += 1;
    }
    let mut text = normalise(&original, form);
    for step in steps {
        text = normalise(&apply(step, &text), form);
    }
    // By word: a text in two languages is not suspicious, a word of two scripts is.
    let mixed_script = original
        .split(|letter: char| !letter.is_alphanumeric() && !is_combining_mark(letter))
        .any(|word| word.len() > 1 && !word.is_ascii() && !word.is_single_script());
    Ok(Output { changed: text != original, text, hidden: listed, scripts, mixed_script })
}

fn normalise(text: &str, form: Form) -> String {
    match form {
        Form::Nfc => text.nfc().collect(),
        Form::Nfd => text.nfd().collect(),
        Form::Nfkc => text.nfkc().collect(),
        Form::Nfkd => text.nfkd().collect(),
    }
}

fn apply(step: Step, text: &str) -> String {
    match step {
        Step::Casefold => casefold(text),
        Step::Whitespace => whitespace(text),
        Step::Quotes => text.chars().map(quote).collect(),
        Step::StripHidden => strip_hidden(text),
        Step::StripMarks => text.nfd().filter(|letter| !is_combining_mark(*letter)).collect(),
        Step::Ascii => any_ascii(text),
        Step::Skeleton => skeleton(text).collect(),
    }
}

/// Joiners and selectors stay where writing needs them: within emoji and words of scripts other than the Latin, Greek and
/// Cyrillic.
fn strip_hidden(text: &str) -> String {
    let mut before = ' ';
    let joined = |before: char| !before.is_ascii() && !matches!(script_of(before), Some("Latn" | "Grek" | "Cyrl"));
    let keep = |letter: &char| {
        let joins = matches!(letter, '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}' | '\u{e0020}'..='\u{e007f}');
        let keep = hidden(*letter).is_none() || (joins && joined(before));
        if keep {
            before = *letter;
        }
        keep
    };
    text.chars().filter(keep).collect()
}

/// Full case folding of Unicode (CaseFolding.txt, C and F): lower case of the upper case, but for the dotless i, which
/// has no other case, the capital sharp s, and Cherokee, which folds to its capitals.
fn casefold(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            'ı' | '\u{13a0}'..='\u{13f5}' => out.push(letter),
            '\u{13f8}'..='\u{13fd}' | '\u{ab70}'..='\u{abbf}' => out.extend(letter.to_uppercase()),
            'ẞ' => out.push_str("ss"),
            _ => {
                let folded = letter.to_uppercase().flat_map(char::to_lowercase);
                out.extend(folded.map(|letter| if letter == 'ς' { 'σ' } else { letter }));
            }
        }
    }
    out
}

/// Runs of blanks become one, blanks around lines and empty lines at both ends go; more than one empty line becomes one.
fn whitespace(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut empty = 0;
    for line in text.lines() {
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        if line.is_empty() {
            empty += 1;
            continue;
        }
        if !out.is_empty() {
            out.push_str(if empty > 0 { "\n\n" } else { "\n" });
        }
        empty = 0;
        out.push_str(&line);
    }
    out
}

fn quote(letter: char) -> char {
    match letter {
        '‘' | '’' | '‚' | '‛' | 'ʼ' | '′' | '‹' | '›' => '\'',
        '“' | '”' | '„' | '‟' | '″' | '«' | '»' => '"',
        '‐' | '‑' | '‒' | '–' | '—' | '―' | '−' => '-',
        other => other,
    }
}

/// Name of a character that is not seen and may mislead; `None` of others. Joiners of Indic scripts and emoji are among
/// them.
fn hidden(letter: char) -> Option<&'static str> {
    Some(match letter {
        '\t' | '\n' | '\r' => return None,
        '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' => "control character",
        '\u{ad}' => "SOFT HYPHEN",
        '\u{34f}' => "COMBINING GRAPHEME JOINER",
        '\u{61c}' => "ARABIC LETTER MARK",
        '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' => "HANGUL FILLER",
        '\u{17b4}' | '\u{17b5}' => "KHMER VOWEL INHERENT",
        '\u{180b}'..='\u{180e}' => "MONGOLIAN SELECTOR OR SEPARATOR",
        '\u{200b}' => "ZERO WIDTH SPACE",
        '\u{200c}' => "ZERO WIDTH NON-JOINER",
        '\u{200d}' => "ZERO WIDTH JOINER",
        '\u{200e}' => "LEFT-TO-RIGHT MARK",
        '\u{200f}' => "RIGHT-TO-LEFT MARK",
        '\u{2028}' => "LINE SEPARATOR",
        '\u{2029}' => "PARAGRAPH SEPARATOR",
        '\u{202a}' => "LEFT-TO-RIGHT EMBEDDING",
        '\u{202b}' => "RIGHT-TO-LEFT EMBEDDING",
        '\u{202c}' => "POP DIRECTIONAL FORMATTING",
        '\u{202d}' => "LEFT-TO-RIGHT OVERRIDE",
        '\u{202e}' => "RIGHT-TO-LEFT OVERRIDE",
        '\u{2060}' => "WORD JOINER",
        '\u{2061}'..='\u{2064}' => "invisible operator",
        '\u{2066}' => "LEFT-TO-RIGHT ISOLATE",
        '\u{2067}' => "RIGHT-TO-LEFT ISOLATE",
        '\u{2068}' => "FIRST STRONG ISOLATE",
        '\u{2069}' => "POP DIRECTIONAL ISOLATE",
        '\u{206a}'..='\u{206f}' => "deprecated format character",
        '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => "VARIATION SELECTOR",
        '\u{feff}' => "ZERO WIDTH NO-BREAK SPACE",
        '\u{fff9}'..='\u{fffb}' => "INTERLINEAR ANNOTATION",
        '\u{e0001}' | '\u{e0020}'..='\u{e007f}' => "TAG CHARACTER",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `str.casefold` of Python 3.11.
    #[test]
    fn case_folds_as_by_unicode() {
        for (text, folded) in [
            ("STRAẞE Straße", "strasse strasse"),
            ("ΣΊΣΥΦΟΣ σίσυφος", "σίσυφοσ σίσυφοσ"),
            ("Iı İ", "iı i\u{307}"),
            ("\u{ab70}\u{13a0}\u{13f8}", "\u{13a0}\u{13a0}\u{13f0}"),
            ("ﬁ ŉ", "fi \u{2bc}n"),
        ] {
            assert_eq!(casefold(text), folded);
        }
    }
}
