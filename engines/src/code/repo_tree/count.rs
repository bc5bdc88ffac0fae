//! The language and the lines of one file.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use tokei::{Config, LanguageType};

use crate::workspace::Entry;

/// Programs that scripts name in their first line.
const INTERPRETERS: [(&str, LanguageType); 13] = [
    ("bash", LanguageType::Bash),
    ("dash", LanguageType::Sh),
    ("fish", LanguageType::Fish),
    ("ksh", LanguageType::Ksh),
    ("lua", LanguageType::Lua),
    ("node", LanguageType::JavaScript),
    ("perl", LanguageType::Perl),
    ("php", LanguageType::Php),
    ("python", LanguageType::Python),
    ("Rscript", LanguageType::R),
    ("ruby", LanguageType::Ruby),
    ("sh", LanguageType::Sh),
    ("zsh", LanguageType::Zsh),
];

/// How far a NUL byte is looked for, as git does (`buffer_is_binary`).
const BINARY: usize = 8_000;

#[derive(Default)]
pub(super) struct Counted {
    pub language: &'static str,
    pub lines: usize,
    pub code: usize,
    pub comments: usize,
    pub blanks: usize,
}

/// Without bytes, only the language that its name tells.
pub(super) fn count(entry: &Entry, bytes: Option<&[u8]>) -> Counted {
    let bytes = bytes.filter(|bytes| !bytes.iter().take(BINARY).any(|&byte| byte == 0));
    let language = by_name(entry).or_else(|| bytes.and_then(by_first_line));
    let mut counted = Counted { language: language.map_or("", LanguageType::name), ..Counted::default() };
    let Some(bytes) = bytes else { return counted };
    // The counter's own faults are no reason to fail the whole tree.
    let stats = language
        .and_then(|language| {
            catch_unwind(AssertUnwindSafe(|| language.parse_from_slice(bytes, &Config::default()))).ok()
        })
        .map(|stats| stats.summarise());
    match stats {
        Some(stats) => {
            (counted.code, counted.comments, counted.blanks) = (stats.code, stats.comments, stats.blanks);
            counted.lines = stats.lines();
        }
        None => counted.lines = bytes.split_inclusive(|&byte| byte == b'\n').count(),
    }
    counted
}

fn by_name(entry: &Entry) -> Option<LanguageType> {
    // Where a name tells nothing, tokei opens the path itself: behind a NUL there is none to open.
    LanguageType::from_path(Path::new("\0").join(entry.path.file_name()?), &Config::default())
}

fn by_first_line(bytes: &[u8]) -> Option<LanguageType> {
    let line = bytes.strip_prefix(b"#!")?.split(|&byte| byte == b'\n').next()?;
    let mut words = std::str::from_utf8(line).ok()?.split_whitespace();
    let program = |word: &str| word.rsplit('/').next().unwrap_or_default().to_owned();
    let mut named = program(words.next()?);
    if named == "env" {
        named = program(words.find(|word| !word.starts_with('-') && !word.contains('='))?);
    }
    let named = named.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    INTERPRETERS.iter().find(|(program, _)| *program == named).map(|(_, language)| *language)
}
