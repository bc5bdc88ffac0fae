//! Which language a text is in.

use tree_sitter::Tree;

use super::{Below, Language, advance, parse};
use crate::{Context, Failure};

/// Extensions of files.
const EXTENSIONS: [(&str, Language); 19] = [
    ("rs", Language::Rust),
    ("py", Language::Python),
    ("pyi", Language::Python),
    ("pyw", Language::Python),
    ("js", Language::JavaScript),
    ("jsx", Language::JavaScript),
    ("mjs", Language::JavaScript),
    ("cjs", Language::JavaScript),
    ("ts", Language::TypeScript),
    ("mts", Language::TypeScript),
    ("cts", Language::TypeScript),
    ("tsx", Language::Tsx),
    ("go", Language::Go),
    ("java", Language::Java),
    ("c", Language::C),
    ("h", Language::C),
    ("inc", Language::C),
    ("bzl", Language::Python),
    ("es6", Language::JavaScript),
];

/// What lines of one language begin with, and those of others seldom.
const BEGINNINGS: [(Language, &[&str]); 7] = [
    (Language::Rust, &["fn ", "pub ", "use ", "impl", "let mut ", "#[", "mod ", "//!", "match "]),
    (Language::Python, &["def ", "class ", "elif ", "from ", "import ", "@", "async def ", "with ", "#!"]),
    (Language::Go, &["package ", "func ", "import (", "type ", "defer "]),
    (Language::Java, &["package ", "import ", "public ", "private ", "protected ", "@Override"]),
    (Language::C, &["#include", "#define", "#ifdef", "#ifndef", "typedef ", "static ", "int ", "void ", "char "]),
    (Language::JavaScript, &["const ", "let ", "var ", "function ", "import ", "export ", "module.exports", "class "]),
    (
        Language::TypeScript,
        &["interface ", "export interface ", "type ", "declare ", "enum ", "export type ", "import "],
    ),
];

/// How much of a source is parsed in every language to guess which it is in, in bytes.
const SAMPLE: usize = 16 * 1024;

/// The language that the end of a file's name tells.
fn of_filename(name: &str) -> Option<Language> {
    let (_, extension) = name.rsplit_once('.')?;
    let extension = extension.to_ascii_lowercase();
    EXTENSIONS.iter().find(|(known, _)| *known == extension).map(|(_, language)| *language)
}

/// The tree of a source in the language that is named, or else told by a file's name, or else the one that fits best:
/// whose parse leaves out the least, and of such the one whose lines begin like the source's.
///
/// # Errors
/// As [`parse`].
pub fn choose(
    source: &str,
    named: &str,
    filename: Option<&str>,
    context: &Context,
) -> Result<(Language, Tree), Failure> {
    let told = Language::by_name(named).or_else(|| filename.and_then(of_filename));
    match told {
        Some(Language::TypeScript) => {
            let tree = parse(source, Language::TypeScript, "source")?;
            if !tree.root_node().has_error() {
                return Ok((Language::TypeScript, tree));
            }
            let tsx = parse(source, Language::Tsx, "source")?;
            let better = unread(&tsx) < unread(&tree);
            Ok(if better { (Language::Tsx, tsx) } else { (Language::TypeScript, tree) })
        }
        Some(language) => Ok((language, parse(source, language, "source")?)),
        None => guess(source, context),
    }
}

fn guess(source: &str, context: &Context) -> Result<(Language, Tree), Failure> {
    let sample = sample(source);
    let mut best: Option<(usize, usize, Language)> = None;
    for (language, beginnings) in BEGINNINGS {
        // What cannot be parsed as a language is not in it.
        let Ok(tree) = parse(sample, language, "source") else { continue };
        let begins = |line: &str| beginnings.iter().any(|beginning| line.starts_with(beginning));
        let alike = sample.lines().filter(|line| begins(line.trim_start())).count();
        let (lost, unlike) = (unread(&tree), usize::MAX - alike);
        if best.is_none_or(|(least, fewest, _)| (lost, unlike) < (least, fewest)) {
            best = Some((lost, unlike, language));
        }
    }
    let message = "is in none of the languages: name the one it should be read as in language";
    let (_, _, language) = best.ok_or_else(|| Failure::invalid(&["source"], message))?;
    context.warn(format!("the language was guessed: {}", language.name()));
    Ok((language, parse(source, language, "source")?))
}

/// The first lines of a source, at most [`SAMPLE`] bytes of them.
fn sample(source: &str) -> &str {
    if source.len() <= SAMPLE {
        return source;
    }
    let start = source.get(..source.floor_char_boundary(SAMPLE)).unwrap_or_default();
    start.rfind('\n').and_then(|end| start.get(..end)).unwrap_or(start)
}

/// Bytes in errors, and a byte for each thing that is missing.
fn unread(tree: &Tree) -> usize {
    let mut cursor = tree.walk();
    let mut unread = 0;
    loop {
        let node = cursor.node();
        let below = match (node.is_error(), node.has_error()) {
            (true, _) => {
                unread += node.byte_range().len().max(1);
                Below::Skip
            }
            (false, true) => Below::Enter,
            (false, false) => Below::Skip,
        };
        unread += usize::from(node.is_missing());
        if advance(&mut cursor, below).is_none() {
            return unread;
        }
    }
}
