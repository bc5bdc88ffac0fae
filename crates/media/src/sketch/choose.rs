//! The language of a prompt: the one in which most of it is understood.

use super::names::{Language, Names};
use super::reader::{Reading, read};
use super::tokens::Token;

/// Read first; the rest only if none of these understands every word.
const MAIN: &[&str] = &["en", "es", "pt", "fr", "de", "it"];
const LATIN: &[&str] = &[
    "id", "tr", "pl", "vi", "nl", "sv", "da", "nb", "fi", "ro", "cs", "hu", "sw", "af", "az", "bs", "ca", "cy", "et",
    "eu", "ga", "ha", "hr", "is", "jv", "ku", "lt", "lv", "mi", "ms", "sk", "sl", "so", "sq", "tl", "uz", "xh", "yo",
    "zu",
];

/// Reads the tokens in the language that was named, else in the one that fits best; ties go to the earlier one.
pub(super) fn read_best<'a>(
    names: &'a Names,
    tokens: &[Token],
    named: Option<&str>,
) -> Option<(&'a Language, Reading)> {
    if let Some(language) = named.and_then(|code| names.language(code)) {
        return Some((language, read(tokens, language)));
    }
    let script = script(tokens);
    let mut best: Option<(&Language, Reading)> = None;
    let groups: [&[&str]; 2] = if script == Script::Latin { [MAIN, LATIN] } else { [candidates(script), &[]] };
    for group in groups {
        for code in group {
            let Some(language) = names.language(code) else { continue };
            let reading = read(tokens, language);
            if best.as_ref().is_none_or(|(_, best)| reading.score > best.score) {
                best = Some((language, reading));
            }
        }
        if best.as_ref().is_some_and(|(_, reading)| reading.complete) {
            break;
        }
    }
    best.or_else(|| {
        let language = names.codes().next().and_then(|code| names.language(code))?;
        Some((language, read(tokens, language)))
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Script {
    Latin,
    Cyrillic,
    Arabic,
    Devanagari,
    Han,
    Kana,
    Other(&'static str),
}

fn candidates(script: Script) -> &'static [&'static str] {
    match script {
        Script::Latin => MAIN,
        Script::Cyrillic => &["ru", "uk", "bg", "sr", "mk", "be", "kk", "mn"],
        Script::Arabic => &["ar", "fa", "ur", "ps"],
        Script::Devanagari => &["hi", "mr", "ne"],
        Script::Han => &["zh", "ja"],
        Script::Kana => &["ja"],
        Script::Other(code) => match code {
            "ko" => &["ko"],
            "th" => &["th"],
            "el" => &["el"],
            "he" => &["he"],
            "hy" => &["hy"],
            "ka" => &["ka"],
            "bn" => &["bn"],
            "pa" => &["pa"],
            "gu" => &["gu"],
            "or" => &["or"],
            "ta" => &["ta"],
            "te" => &["te"],
            "kn" => &["kn"],
            "ml" => &["ml"],
            "si" => &["si"],
            "km" => &["km"],
            "my" => &["my"],
            "am" => &["am"],
            _ => &[],
        },
    }
}

/// The script of most letters; any kana makes a text Japanese.
fn script(tokens: &[Token]) -> Script {
    let mut counts = std::collections::BTreeMap::new();
    for c in tokens.iter().flat_map(|token| token.raw.chars()) {
        if let Some(script) = script_of(c) {
            *counts.entry(script).or_insert(0_usize) += 1;
        }
    }
    if counts.contains_key(&Script::Kana) {
        return Script::Kana;
    }
    // Of equal counts the first script of the order of `Script` is taken.
    counts.into_iter().rev().max_by_key(|(_, count)| *count).map_or(Script::Latin, |(script, _)| script)
}

fn script_of(c: char) -> Option<Script> {
    Some(match c as u32 {
        0x41..=0x5a | 0x61..=0x7a | 0xc0..=0x24f | 0x1e00..=0x1eff => Script::Latin,
        0x400..=0x52f => Script::Cyrillic,
        0x600..=0x6ff | 0x750..=0x77f | 0xfb50..=0xfdff | 0xfe70..=0xfefe => Script::Arabic,
        0x900..=0x97f => Script::Devanagari,
        0x3041..=0x30ff => Script::Kana,
        0x3400..=0x9fff => Script::Han,
        0xac00..=0xd7a3 | 0x1100..=0x11ff => Script::Other("ko"),
        0xe00..=0xe7f => Script::Other("th"),
        0x370..=0x3ff => Script::Other("el"),
        0x590..=0x5ff => Script::Other("he"),
        0x530..=0x58f => Script::Other("hy"),
        0x10a0..=0x10ff => Script::Other("ka"),
        0x980..=0x9ff => Script::Other("bn"),
        0xa00..=0xa7f => Script::Other("pa"),
        0xa80..=0xaff => Script::Other("gu"),
        0xb00..=0xb7f => Script::Other("or"),
        0xb80..=0xbff => Script::Other("ta"),
        0xc00..=0xc7f => Script::Other("te"),
        0xc80..=0xcff => Script::Other("kn"),
        0xd00..=0xd7f => Script::Other("ml"),
        0xd80..=0xdff => Script::Other("si"),
        0x1780..=0x17ff => Script::Other("km"),
        0x1000..=0x109f => Script::Other("my"),
        0x1200..=0x137f => Script::Other("am"),
        _ => return None,
    })
}
