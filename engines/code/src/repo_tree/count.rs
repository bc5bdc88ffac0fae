//! Language and line counts of one file.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use tokei::{Config, LanguageType};

use crate::workspace::Entry;

/// Interpreters named in shebang lines.
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

/// Number of bytes searched for a NUL byte, as git does (`buffer_is_binary`).
const BINARY: usize = 8_000;

#[derive(Default)]
pub(super) struct Counted {
    pub language: &'static str,
    pub lines: usize,
    pub code: usize,
    pub comments: usize,
    pub blanks: usize,
}

/// Without content, only the language of the name is determined.
pub(super) fn count(entry: &Entry, bytes: Option<&[u8]>) -> Counted {
    let bytes = bytes.filter(|bytes| !bytes.iter().take(BINARY).any(|&byte| byte == 0));
    let language = by_name(entry).or_else(|| bytes.and_then(by_first_line));
    let mut counted = Counted { language: language.map_or("", LanguageType::name), ..Counted::default() };
    let Some(bytes) = bytes else { return counted };
    // A fault of the counter must not fail the whole tree.
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
    // For an unknown name tokei opens the path itself; a path with NUL cannot be opened.
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
