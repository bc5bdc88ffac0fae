//! Language-neutral tokens of source code: words, numbers, strings and single characters. Comments are skipped.

/// Comment syntax of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comments {
    /// `//` and `/* */`.
    Slashes,
    /// As `Slashes`; a quote may begin a lifetime.
    Rust,
    /// `#`.
    Hash,
    /// `--`.
    Dashes,
}

const HASH: [&str; 18] = [
    "py", "pyi", "pyx", "sh", "bash", "zsh", "fish", "rb", "pl", "pm", "r", "jl", "yaml", "yml", "toml", "mk", "ex",
    "nim",
];
const DASHES: [&str; 5] = ["sql", "lua", "hs", "elm", "adb"];

impl Comments {
    pub fn of(path: &str) -> Self {
        let name = path.rsplit('/').next().unwrap_or_default();
        let extension = name.rsplit_once('.').map_or(name, |(_, extension)| extension).to_ascii_lowercase();
        match extension.as_str() {
            known if HASH.contains(&known) => Self::Hash,
            "makefile" | "dockerfile" | "gemfile" | "rakefile" => Self::Hash,
            known if DASHES.contains(&known) => Self::Dashes,
            "rs" => Self::Rust,
            _ => Self::Slashes,
        }
    }
}

/// Kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Name,
    Keyword,
    Number,
    Text,
    Sign,
}

impl Kind {
    /// Placeholder for all tokens of a kind if names do not matter: in a type-2 clone, identifiers and literals may
    /// differ (Roy, Cordy and Koschke 2009). No real token has this text.
    pub fn normal(self) -> Option<&'static str> {
        match self {
            Self::Name => Some("\0name"),
            Self::Number => Some("\0number"),
            Self::Text => Some("\0text"),
            Self::Keyword | Self::Sign => None,
        }
    }
}

#[derive(Debug, PartialEq)]
pub(super) struct Token<'s> {
    pub kind: Kind,
    pub text: &'s str,
    /// Its first and its last line, from 1.
    pub lines: (u32, u32),
}

/// Keywords shared by most languages, which renaming does not change.
const KEYWORDS: [&str; 92] = [
    "abstract",
    "and",
    "as",
    "assert",
    "async",
    "await",
    "begin",
    "bool",
    "boolean",
    "break",
    "byte",
    "case",
    "catch",
    "chan",
    "char",
    "class",
    "const",
    "continue",
    "def",
    "default",
    "defer",
    "del",
    "delete",
    "do",
    "double",
    "elif",
    "else",
    "elsif",
    "end",
    "enum",
    "except",
    "export",
    "extends",
    "extern",
    "false",
    "final",
    "finally",
    "float",
    "fn",
    "for",
    "foreach",
    "from",
    "func",
    "function",
    "global",
    "go",
    "goto",
    "if",
    "impl",
    "implements",
    "import",
    "in",
    "instanceof",
    "int",
    "interface",
    "is",
    "lambda",
    "let",
    "long",
    "loop",
    "match",
    "mod",
    "module",
    "mut",
    "namespace",
    "new",
    "nil",
    "none",
    "not",
    "null",
    "or",
    "package",
    "pass",
    "private",
    "protected",
    "pub",
    "public",
    "raise",
    "return",
    "self",
    "static",
    "struct",
    "super",
    "switch",
    "this",
    "throw",
    "trait",
    "true",
    "try",
    "type",
    "use",
    "while",
];

pub(super) struct Lexer<'s> {
    source: &'s str,
    comments: Comments,
    at: usize,
    line: u32,
}

impl<'s> Lexer<'s> {
    pub fn new(source: &'s str, comments: Comments) -> Self {
        Self { source, comments, at: 0, line: 1 }
    }

    fn rest(&self) -> &'s str {
        self.source.get(self.at..).unwrap_or_default()
    }

    /// Takes `length` bytes.
    fn take(&mut self, length: usize) -> &'s str {
        let text = self.rest().get(..length).unwrap_or(self.rest());
        self.at += text.len();
        let breaks = text.bytes().filter(|&byte| byte == b'\n').count();
        self.line = self.line.saturating_add(u32::try_from(breaks).unwrap_or(u32::MAX));
        text
    }

    /// Length of a comment at this position, if there is one.
    fn comment(&self) -> Option<usize> {
        let rest = self.rest();
        let line = |mark: &str| rest.starts_with(mark).then(|| rest.find('\n').unwrap_or(rest.len()));
        let block = |open: &str, close: &str| {
            let inner = rest.strip_prefix(open)?;
            Some(inner.find(close).map_or(rest.len(), |at| open.len() + at + close.len()))
        };
        match self.comments {
            Comments::Slashes | Comments::Rust => line("//").or_else(|| block("/*", "*/")),
            Comments::Hash => line("#"),
            Comments::Dashes => line("--").or_else(|| block("/*", "*/")),
        }
    }

    /// Length of a string at this position, if there is one. A single-quoted string ends on its line; an unclosed quote
    /// is a token of its own, such as that of a lifetime.
    fn string(&self) -> Option<usize> {
        let rest = self.rest();
        for triple in ["\"\"\"", "'''"] {
            if let Some(inner) = rest.strip_prefix(triple) {
                return Some(inner.find(triple).map_or(rest.len(), |at| at + 6));
            }
        }
        let quote = rest.bytes().next().filter(|byte| matches!(byte, b'"' | b'\'' | b'`'))?;
        // A character literal has a quote after its first character or begins with a backslash; a lifetime does not.
        let mut letters = rest.chars().skip(1);
        if self.comments == Comments::Rust && quote == b'\'' && letters.next() != Some('\\') {
            return (letters.next() == Some('\'')).then(|| rest.chars().take(3).map(char::len_utf8).sum());
        }
        let mut bytes = rest.bytes().enumerate().skip(1);
        while let Some((at, byte)) = bytes.next() {
            match byte {
                b'\\' => drop(bytes.next()),
                b'\n' if quote == b'\'' => return None,
                byte if byte == quote => return Some(at + 1),
                _ => {}
            }
        }
        None
    }
}

impl<'s> Iterator for Lexer<'s> {
    type Item = Token<'s>;

    fn next(&mut self) -> Option<Token<'s>> {
        let first = loop {
            let blank = self.rest().len() - self.rest().trim_start().len();
            self.take(blank);
            match self.comment() {
                Some(length) => drop(self.take(length)),
                None => break self.rest().chars().next()?,
            }
        };
        let start = self.line;
        let word = |rest: &str| rest.find(|letter: char| !is_word(letter)).unwrap_or(rest.len());
        let (kind, length) = if first.is_ascii_digit() {
            (Kind::Number, number(self.rest()))
        } else if is_word(first) {
            let length = word(self.rest());
            let lower = self.rest().get(..length).unwrap_or_default().to_ascii_lowercase();
            let kind = if KEYWORDS.contains(&lower.as_str()) { Kind::Keyword } else { Kind::Name };
            (kind, length)
        } else if let Some(length) = self.string() {
            (Kind::Text, length)
        } else {
            (Kind::Sign, first.len_utf8())
        };
        let text = self.take(length);
        Some(Token { kind, text, lines: (start, self.line) })
    }
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_' || letter == '$'
}

/// Digits, letters and a dot between digits: `0x1F`, `1_000u64`, `2.5e3`.
fn number(rest: &str) -> usize {
    let mut letters = rest.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        let point = letter == '.' && letters.peek().is_some_and(|(_, next)| next.is_ascii_digit());
        if !is_word(letter) && !point {
            return at;
        }
    }
    rest.len()
}
