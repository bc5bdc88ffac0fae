//! Code without the contents of its literals and comments: what a rule about calls may look at.

/// Language of a changed file, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    Python,
    JavaScript,
    Go,
    Java,
    Ruby,
    Php,
    C,
    Rust,
    Shell,
    /// Configuration and workflows: only rules of every language and its own.
    Yaml,
    /// A file that is code or configuration of another kind.
    Other,
}

/// Returns a file's language; `None` for prose and data, whose lines run nowhere.
pub(super) fn language(path: &str) -> Option<Language> {
    let name = path.rsplit('/').next().unwrap_or_default().to_lowercase();
    let end = name.rsplit_once('.').map_or(name.as_str(), |(_, end)| end);
    Some(match end {
        "md" | "markdown" | "rst" | "txt" | "adoc" | "lock" | "svg" | "csv" | "tsv" | "po" | "snap" | "sum" => {
            return None;
        }
        "py" | "pyw" | "pyi" | "ipynb" => Language::Python,
        "js" | "mjs" | "cjs" | "jsx" | "ts" | "tsx" | "mts" | "cts" | "vue" | "svelte" | "html" => Language::JavaScript,
        "go" => Language::Go,
        "java" | "kt" | "kts" | "scala" | "groovy" | "cs" => Language::Java,
        "rb" | "rake" | "erb" | "gemspec" | "gemfile" | "rakefile" => Language::Ruby,
        "php" | "phtml" => Language::Php,
        "c" | "h" | "cc" | "cpp" | "cxx" | "hpp" | "hh" | "m" | "mm" | "ino" => Language::C,
        "rs" => Language::Rust,
        "sh" | "bash" | "zsh" | "ksh" | "dockerfile" | "containerfile" | "makefile" | "mk" => Language::Shell,
        "yml" | "yaml" => Language::Yaml,
        _ if name.starts_with("dockerfile") => Language::Shell,
        _ => Language::Other,
    })
}

/// A text of the source.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Literal {
    pub text: String,
    /// Whether the language puts values into it, such as `f"{x}"`.
    pub filled: bool,
    /// Byte after its closing quote in the code.
    pub end: usize,
    /// Byte of its opening quote in the code.
    pub start: usize,
}

/// A statement's code: each literal is `""`, or `"¤"` where values are put into it; comments are left out.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Masked {
    pub code: String,
    pub literals: Vec<Literal>,
}

/// Sign within the quotes of a literal that values are put into.
pub(super) const FILLED: char = '¤';

pub(super) fn masked(source: &str, language: Language) -> Masked {
    let chars: Vec<char> = source.chars().collect();
    let (mut masked, mut at) = (Masked::default(), 0);
    let looking = |at: usize, text: &str| text.chars().enumerate().all(|(i, c)| chars.get(at + i) == Some(&c));
    while let Some(&c) = chars.get(at) {
        if let Some(length) = comment(&chars, at, language) {
            at += length;
            masked.code.push(' ');
            continue;
        }
        if !quotes(c, &chars, at, language) {
            masked.code.push(c);
            at += 1;
            continue;
        }
        let triple = language == Language::Python && (looking(at, "\"\"\"") || looking(at, "'''"));
        let open = if triple { 3 } else { 1 };
        let mut end = at + open;
        let mut text = String::new();
        while let Some(&inner) = chars.get(end) {
            let closes = inner == c && (!triple || (chars.get(end + 1) == Some(&c) && chars.get(end + 2) == Some(&c)));
            if closes {
                break;
            }
            // A quote that is not closed on its line is an apostrophe.
            if inner == '\n' && !triple && c != '`' && language != Language::Shell {
                break;
            }
            text.push(inner);
            if inner == '\\' {
                end += 1;
                text.extend(chars.get(end));
            }
            end += 1;
        }
        let closed = chars.get(end) == Some(&c);
        let start = masked.code.len();
        let filled = filled(&text, c, &masked.code, language);
        masked.code.push(c);
        if filled {
            masked.code.push(FILLED);
        }
        masked.code.push(c);
        let (end_of_code, lines) = (masked.code.len(), text.matches('\n').count());
        masked.code.extend(std::iter::repeat_n('\n', lines));
        masked.literals.push(Literal { text, filled, start, end: end_of_code });
        at = if closed { end + open } else { end };
    }
    masked
}

/// Whether a literal begins here.
fn quotes(c: char, chars: &[char], at: usize, language: Language) -> bool {
    match c {
        '"' => true,
        // A lifetime, a label or a character; an apostrophe within a word of a shell or YAML text.
        '\'' => match language {
            Language::Rust | Language::Go | Language::Java | Language::C => {
                chars.get(at + 1) == Some(&'\\') || chars.get(at + 2) == Some(&'\'')
            }
            _ => {
                at == 0 || !chars.get(at - 1).is_some_and(|before| before.is_alphanumeric()) || python_prefix(chars, at)
            }
        },
        '`' => {
            matches!(language, Language::JavaScript | Language::Go | Language::Ruby | Language::Php | Language::Shell)
        }
        _ => false,
    }
}

/// Whether the quote follows one of Python's prefixes, such as the `f` of `f'…'`.
fn python_prefix(chars: &[char], at: usize) -> bool {
    let before: String = chars.get(at.saturating_sub(3)..at).unwrap_or_default().iter().collect();
    let word = before.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    word.len() <= 2 && word.chars().all(|c| "rRbBuUfF".contains(c))
}

/// Number of characters of the comment that begins here.
fn comment(chars: &[char], at: usize, language: Language) -> Option<usize> {
    let line = || chars.get(at..).unwrap_or_default().iter().take_while(|c| **c != '\n').count();
    let slashes = !matches!(language, Language::Python | Language::Ruby | Language::Shell | Language::Yaml);
    let hashes = matches!(
        language,
        Language::Python | Language::Ruby | Language::Shell | Language::Yaml | Language::Php | Language::Other
    );
    let next = chars.get(at + 1);
    match chars.get(at) {
        Some('#') if hashes && (at == 0 || chars.get(at - 1).is_some_and(|c| c.is_whitespace())) => Some(line()),
        Some('/') if slashes && next == Some(&'/') && (at == 0 || chars.get(at - 1) != Some(&':')) => Some(line()),
        Some('/') if slashes && next == Some(&'*') => {
            let rest = chars.get(at + 2..).unwrap_or_default();
            let end = rest.windows(2).position(|pair| pair == ['*', '/']).map_or(rest.len(), |end| end + 2);
            Some(end + 2)
        }
        _ => None,
    }
}

/// Whether the language puts values into this literal.
fn filled(text: &str, quote: char, before: &str, language: Language) -> bool {
    match language {
        Language::Python => {
            let prefix: String = before.chars().rev().take_while(|c| c.is_alphabetic()).collect();
            prefix.len() <= 2 && prefix.contains(['f', 'F']) && text.replace("{{", "").contains('{')
        }
        Language::JavaScript => quote == '`' && text.contains("${"),
        Language::Ruby => quote != '\'' && text.contains("#{"),
        Language::Php => quote != '\'' && (text.contains("{$") || dollar(text)),
        Language::Shell => quote != '\'' && dollar(text),
        _ => false,
    }
}

/// `$name`, `${name}` or `$(…)`.
fn dollar(text: &str) -> bool {
    text.match_indices('$').any(|(at, _)| {
        text.get(at + 1..)
            .and_then(|rest| rest.chars().next())
            .is_some_and(|c| c.is_alphanumeric() || "_{(@*".contains(c))
    })
}
