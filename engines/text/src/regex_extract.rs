//! q176: pattern extraction.

use std::collections::BTreeMap;

use regex::{Regex, RegexBuilder};

use muster_engine::prelude::*;

use crate::support::{MAX_BYTES, bounded};

/// Bytes of the longest pattern and of its compiled form.
const MAX_PATTERN: usize = 10_000;
const MAX_COMPILED: usize = 2 << 20;
/// Pattern bytes times text bytes: the search takes at most as many steps.
const MAX_STEPS: usize = 4_000_000_000;
/// Bytes of all matches and groups, and of the text with replacements.
const MAX_OUTPUT: usize = 16 << 20;
/// Nesting of groups.
const MAX_NESTING: u32 = 100;

#[derive(Input)]
pub struct Input {
    text: String,
    pattern: String,
    flags: String,
    replace: Option<String>,
    limit: usize,
}

#[derive(Output)]
pub struct Output {
    matches: Vec<Match>,
    count: usize,
    replaced: Option<String>,
    explanation: Vec<String>,
}

#[derive(Output)]
struct Match {
    start: usize,
    end: usize,
    text: String,
    groups: BTreeMap<String, String>,
}

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
    bounded([input.text.as_str()], MAX_BYTES)?;
    let regex = compile(&input.pattern, &input.flags)?;
    if input.pattern.len().saturating_mul(input.text.len()) > MAX_STEPS {
        return Err(Failure::too_large("pattern and text are too long together: search the text in parts"));
    }
    let names: Vec<Option<&str>> = regex.capture_names().collect();
    let (mut matches, mut count, mut bytes) = (Vec::new(), 0, 0);
    let mut replaced = input.replace.as_ref().map(|_| String::new());
    let mut copied = 0;
    for captures in regex.captures_iter(&input.text) {
        let Some(whole) = captures.get(0) else { continue };
        count += 1;
        if let (Some(replaced), Some(replace)) = (&mut replaced, &input.replace) {
            replaced.push_str(input.text.get(copied..whole.start()).unwrap_or_default());
            captures.expand(replace, replaced);
            copied = whole.end();
            if replaced.len() > MAX_OUTPUT {
                return Err(Failure::too_large(format!("the text with replacements is over {MAX_OUTPUT} bytes")));
            }
        }
        if matches.len() < input.limit {
            let found = found(&captures, &names, whole);
            bytes += found.text.len() + found.groups.values().map(String::len).sum::<usize>();
            if bytes > MAX_OUTPUT {
                return Err(Failure::too_large(format!("the matches have over {MAX_OUTPUT} bytes: lower limit")));
            }
            matches.push(found);
        }
    }
    if let Some(replaced) = &mut replaced {
        replaced.push_str(input.text.get(copied..).unwrap_or_default());
    }
    if count > matches.len() {
        context.warn(format!("shortened: the first {} of {count} matches are listed", matches.len()));
    }
    let explanation = explanation(&regex, &input, count);
    Ok(Output { matches, count, replaced, explanation })
}

fn compile(pattern: &str, flags: &str) -> Result<Regex, Failure> {
    if pattern.len() > MAX_PATTERN {
        return Err(Failure::too_large(format!("pattern is longer than {MAX_PATTERN} bytes: split it")));
    }
    let mut builder = RegexBuilder::new(pattern);
    builder.size_limit(MAX_COMPILED).dfa_size_limit(MAX_COMPILED).nest_limit(MAX_NESTING);
    for flag in flags.chars() {
        match flag {
            'i' => builder.case_insensitive(true),
            'm' => builder.multi_line(true),
            's' => builder.dot_matches_new_line(true),
            'x' => builder.ignore_whitespace(true),
            'U' => builder.swap_greed(true),
            'u' | 'g' => &mut builder,
            other => {
                let message = format!("has {other:?}: flags are i, m, s, x and U; u and g are always on");
                return Err(Failure::invalid(&["flags"], message));
            }
        };
    }
    builder.build().map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => Failure::too_large(format!(
            "pattern takes over {MAX_COMPILED} bytes when it is compiled: use smaller counts in braces or fewer classes"
        )),
        error => Failure::invalid(&["pattern"], refusal(pattern, &error)),
    })
}

/// Names what this kind of expression cannot do, where the pattern has it.
fn refusal(pattern: &str, error: &regex::Error) -> String {
    let has = |parts: &[&str]| parts.iter().any(|part| pattern.contains(part));
    let reason = if has(&["(?=", "(?!", "(?<=", "(?<!"]) {
        "look-around is not supported, as it has no bound on time: match more, and use a group for what is wanted"
    } else if has(&["\\1", "\\2", "\\3", "\\k<", "(?P="]) {
        "back-references are not supported, as they have no bound on time: match both parts and compare them"
    } else if has(&["(?>", "*+", "++", "?+"]) {
        "atomic groups and possessive repetition are not needed: no search backtracks"
    } else {
        return format!("is not a regular expression: {error}");
    };
    format!("is not a regular expression here: {reason}")
}

fn found(captures: &regex::Captures<'_>, names: &[Option<&str>], whole: regex::Match<'_>) -> Match {
    let group = |(at, name): (usize, &Option<&str>)| {
        let text = captures.get(at)?.as_str().to_owned();
        Some((name.map_or_else(|| at.to_string(), str::to_owned), text))
    };
    let groups = names.iter().enumerate().skip(1).filter_map(group).collect();
    Match { start: whole.start(), end: whole.end(), text: whole.as_str().to_owned(), groups }
}

fn explanation(regex: &Regex, input: &Input, count: usize) -> Vec<String> {
    let mut notes = vec![format!("The search is linear in the text: no pattern can make it slow ({count} matches).")];
    let groups = regex.captures_len() - 1;
    if groups > 0 {
        let names: Vec<&str> = regex.capture_names().flatten().collect();
        let named = if names.is_empty() { "none is named".to_owned() } else { format!("named: {}", names.join(", ")) };
        notes.push(format!("{groups} groups; {named}."));
    }
    if !input.pattern.starts_with(['^']) && !input.pattern.starts_with("\\A") {
        notes.push("The pattern has no anchor at its begin: it matches anywhere in the text.".to_owned());
    }
    if regex.is_match("") {
        notes.push("The pattern matches the empty text, so it matches between all characters.".to_owned());
    }
    if input.pattern.contains(".*") && !input.flags.contains('U') {
        notes.push("`.*` takes as much as it can; `.*?` takes as little.".to_owned());
    }
    for class in ["\\d", "\\w", "\\s", "\\b"] {
        if input.pattern.contains(class) {
            notes.push(format!("`{class}` is that of Unicode, not of ASCII only."));
        }
    }
    notes
}
