//! SQL that is put together from texts.

use std::sync::LazyLock;

use regex::Regex;

use super::Grade::{self, Critical, High};
use super::literals::{Language, Literal, Masked};
use super::rules::{argument, computed};

static STATEMENT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?is)^\s*(?:select\b.+?\bfrom\b|select\s+\*|insert\s+into\s|update\s+\S+\s+set\s|delete\s+from\s|replace\s+into\s|drop\s+(?:table|database|user)\s|alter\s+table\s|truncate\s+table\s|merge\s+into\s|create\s+(?:table|user|database)\s)",
    )
    .ok()
});
/// What runs it.
static RUNS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)\b\w*(?:execute|query|exec|raw|prepare|fetch|select|create_?statement)\w*!?\s*(?:::<[^>]*>)?\s*\(")
        .ok()
});
/// What puts values into a format.
static FORMATS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?:[sS]printf|format!|String\.format|string\.Format|asprintf|Sprint|write!)\s*\([^\x22]*$").ok()
});

/// Returns the grade and the byte of the code where it begins.
pub(super) fn injection(masked: &Masked, language: Language) -> Option<(Grade, usize)> {
    let literal =
        masked.literals.iter().find(|literal| is_statement(literal) && is_joined(literal, masked, language))?;
    let runs = RUNS.as_ref().is_some_and(|runs| runs.is_match(&masked.code));
    Some((if runs { Critical } else { High }, literal.start))
}

fn is_statement(literal: &Literal) -> bool {
    STATEMENT.as_ref().is_some_and(|statement| statement.is_match(&literal.text))
}

/// Whether values are put into the text, or put after it.
fn is_joined(literal: &Literal, masked: &Masked, language: Language) -> bool {
    let code = masked.code.as_str();
    let before = code.get(..literal.start).unwrap_or_default();
    let after = code.get(literal.end..).unwrap_or_default().trim_start();
    // A tagged template, such as sql`…`, passes its values as parameters.
    let tagged = language == Language::JavaScript && before.ends_with(|c: char| c.is_alphanumeric());
    if literal.filled {
        return !tagged;
    }
    let placeholder =
        literal.text.contains('{') || ["%s", "%d", "%v", "%q", "%i", "%u"].iter().any(|p| literal.text.contains(p));
    if placeholder && FORMATS.as_ref().is_some_and(|formats| formats.is_match(before)) {
        // Rust's `format!("… {TABLE}")` of constants in capitals is none.
        let inline = literal.text.split('{').skip(1).filter_map(|part| part.split('}').next());
        let constants = language == Language::Rust
            && inline.clone().count() > 0
            && inline.clone().all(|name| !name.is_empty() && !computed(name));
        return !constants;
    }
    let rest = |sign: &str| after.strip_prefix(sign).map(|rest| computed(argument(rest, 0)));
    match language {
        Language::Php => rest(".") == Some(true) || rest(".=").is_some(),
        Language::Python => {
            after.starts_with(".format(") || rest("+") == Some(true) || after.strip_prefix('%').is_some_and(computed)
        }
        Language::Shell | Language::Yaml | Language::Other => false,
        _ => {
            rest("+") == Some(true)
                || (language == Language::Ruby && rest("%") == Some(true))
                || after.starts_with(".formatted(")
        }
    }
}
