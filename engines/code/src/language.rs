//! Supported source languages: names, file extensions, and typical beginnings of lines.

/// Maximum length of a source, in bytes.
pub const MAX_SOURCE: usize = 512 * 1024;
/// Number of bytes used to guess the language.
const SAMPLE: usize = 16 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    Rust,
    Python,
    JavaScript,
    TypeScript,
    /// TypeScript with JSX, where a cast cannot be written `<T>x`.
    Tsx,
    Go,
    Java,
    C,
}

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

/// Beginnings of lines that are typical of one language.
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

impl Language {
    /// Languages with their names; `Tsx` is reported as TypeScript.
    pub const NAMES: [(Self, &'static str); 8] = [
        (Self::Rust, "rust"),
        (Self::Python, "python"),
        (Self::Go, "go"),
        (Self::Java, "java"),
        (Self::C, "c"),
        (Self::JavaScript, "javascript"),
        (Self::TypeScript, "typescript"),
        (Self::Tsx, "typescript"),
    ];

    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(language, _)| *language == self).map_or("", |(_, name)| name)
    }

    /// Returns `None` for `auto`.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, known)| *known == name).map(|(language, _)| *language)
    }

    /// Returns the language of a file extension.
    pub fn of_filename(name: &str) -> Option<Self> {
        let (_, extension) = name.rsplit_once('.')?;
        let extension = extension.to_ascii_lowercase();
        EXTENSIONS.iter().find(|(known, _)| *known == extension).map(|(_, language)| *language)
    }

    /// Candidate languages with the number of sample lines that begin typically for them.
    pub fn alike(sample: &str) -> impl Iterator<Item = (Self, usize)> {
        BEGINNINGS.iter().map(|(language, beginnings)| {
            let begins = |line: &str| beginnings.iter().any(|beginning| line.starts_with(beginning));
            (*language, sample.lines().filter(|line| begins(line.trim_start())).count())
        })
    }
}

/// Returns the first lines of a source, at most [`SAMPLE`] bytes.
pub fn sample(source: &str) -> &str {
    if source.len() <= SAMPLE {
        return source;
    }
    let start = source.get(..source.floor_char_boundary(SAMPLE)).unwrap_or_default();
    start.rfind('\n').and_then(|end| start.get(..end)).unwrap_or(start)
}
