//! Rules for prose: values without a name beside them, where one value and one missing parameter are of a kind.

use std::ops::Range;

use muster_engines::grammar::{Prim, Type};
use muster_kernel_words::quantities;
use serde_json::{Value, json};

use super::Search;
use super::labels::{occurrences, plain};
use super::rules::{Prose, is_position, point, today};
use crate::agent::parameter::{Parameter, ParameterDefault, problems_of};

/// Words for the words of an enum.
const SYNONYMS: &[(&str, &[&str])] = &[("female", &["woman", "girl", "lady"]), ("male", &["man", "boy", "gentleman"])];

/// Values without a name beside them, each only where one value and one missing parameter are of its kind.
pub(super) fn fill(search: &mut Search<'_>, prose: &Prose) {
    let free = |search: &Search<'_>, span: &Range<usize>| {
        !search
            .found
            .iter()
            .any(|filled| filled.by == "rule" && filled.span.start < span.end && span.start < filled.span.end)
    };
    let only = |search: &Search<'_>, fits: &dyn Fn(&Parameter) -> bool| -> Option<usize> {
        let missing = |parameter: &Parameter| search.missing.contains(parameter.name.as_str());
        let mut fitting =
            search.parameters.iter().enumerate().filter(|(_, parameter)| missing(parameter) && fits(parameter));
        let first = fitting.next()?;
        fitting.next().is_none().then_some(first.0)
    };
    let parameters = search.parameters;
    let take = |search: &mut Search<'_>, at: Option<usize>, value: Value, span: Range<usize>| {
        if let Some(parameter) = at.and_then(|at| parameters.get(at)) {
            let fresh = free(search, &span);
            if fresh && problems_of(parameter, &value).is_empty() {
                let parameters = search.parameters;
                if let Some(parameter) = parameters.iter().find(|other| other.name == parameter.name) {
                    search.take(parameter, value, "rule", span);
                }
            }
        }
    };
    // The latitude of a position is asked for beside it at times.
    if let [place] = &prose.coordinates[..] {
        let position = |parameter: &Parameter| match &parameter.kind {
            Type::Prim(Prim::LatLon) => true,
            Type::Record(members) => is_position(members),
            _ => false,
        };
        let span = place.start..place.end;
        let at = only(search, &position);
        take(search, at, json!({ "lat": place.lat, "lon": place.lon }), span.clone());
        let geometry = only(search, &|parameter| parameter.kind == Type::Prim(Prim::Geometry));
        take(search, geometry, point(&json!({ "lat": place.lat, "lon": place.lon })), span.clone());
        let latitude = only(search, &|parameter| parameter.name == "latitude" && parameter.unit == "deg");
        take(search, latitude, json!(place.lat), span);
    }
    if let [day] = quantities::days(&prose.text, today(search))[..] {
        let at = only(search, &|parameter| parameter.kind == Type::Prim(Prim::Date));
        take(search, at, day.date.to_string().into(), day.start..day.end);
    }
    if let [moment] = quantities::moments(&prose.text)[..] {
        let at = only(search, &|parameter| parameter.kind == Type::Prim(Prim::Datetime));
        take(search, at, moment.at.to_string().into(), moment.start..moment.end);
        // The day of a moment, where only a day is asked for.
        let at = only(search, &|parameter| parameter.kind == Type::Prim(Prim::Date));
        if quantities::days(&prose.text, today(search)).is_empty() {
            let day = moment.at.to_string().get(..10).map(str::to_owned);
            take(search, at, day.into(), moment.start..moment.end);
        }
    }
    for (at, parameter) in parameters.iter().enumerate() {
        let Type::Enum(words) = &parameter.kind else { continue };
        if !search.missing.contains(parameter.name.as_str()) {
            continue;
        }
        let mut found: Vec<(&String, Range<usize>)> = Vec::new();
        for word in words {
            let synonyms =
                SYNONYMS.iter().find(|(of, _)| *of == word.as_str()).map_or(&[][..], |(_, synonyms)| synonyms);
            let own = plain(word);
            // Short words are words of many sentences.
            let own = (own.len() >= 4).then_some(own.as_str());
            for phrase in own.into_iter().chain(synonyms.iter().copied()) {
                found.extend(occurrences(&prose.plain, phrase).map(|span| (word, span)));
            }
        }
        let Some((word, span)) = found.first().cloned() else { continue };
        if found.iter().all(|(other, _)| *other == word) {
            take(search, Some(at), word.as_str().into(), span);
        }
    }
    tokens(search, prose);
    super::named_files::fill(search, prose);
}

/// Texts that show what they are: a vector of CVSS, a weather report.
fn tokens(search: &mut Search<'_>, prose: &Prose) {
    let parameters = search.parameters;
    for parameter in parameters.iter().filter(|parameter| parameter.kind == Type::Prim(Prim::String)) {
        let found: Vec<&str> = match parameter.name.as_str() {
            "vector" => pieces(&prose.text, &['"', '`', '(', ')', ',', '.', ';'])
                .filter(|token| token.starts_with("CVSS:") || token.starts_with("AV:"))
                .collect(),
            // A JSON Web Token: its header begins with `{"`.
            "token" => pieces(&prose.text, &['"', '`', '\'', '(', ')', ','])
                .filter(|token| token.starts_with("eyJ") && token.matches('.').count() == 2)
                .collect(),
            name if name.ends_with("version") => {
                pieces(&prose.text, &['"', '`', '\'', '(', ')', ',', ';', ':', '?', '!'])
                    .map(|token| token.trim_end_matches('.').trim_start_matches('v'))
                    .filter(|token| is_version(token))
                    .collect()
            }
            "expression" | "deadline_cron" => cron(&prose.text),
            "timezone" => {
                let words = prose.text.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
                words.filter(|word| ZONES.iter().any(|area| word.starts_with(*area))).collect()
            }
            "metar" => {
                let lines = prose.text.lines().map(str::trim);
                lines.filter(|line| line.starts_with("METAR ") || line.starts_with("SPECI ")).collect()
            }
            "path" if parameter.default != ParameterDefault::Required => {
                let is_path = |token: &&str| {
                    token.contains('/') && !token.contains("//") && token.len() <= 512 && !token.starts_with('/')
                        && token.chars().all(|c| c.is_alphanumeric() || matches!(c, '/' | '_' | '-' | '.'))
                        && token.chars().any(char::is_alphabetic)
                        // "and/or"
                        && (token.ends_with('/') || token.contains('.') || token.contains('_') || token.matches('/').count() > 1 || quoted(&prose.text, token))
                };
                pieces(&prose.text, &['"', '`', '(', ')', ',', '.', ';', ':']).filter(is_path).collect()
            }
            _ => continue,
        };
        if let [one] = found[..]
            && let Some(at) = prose.text.find(one)
        {
            search.take(parameter, one.into(), "rule", at..at + one.len());
        }
    }
}

/// The words of a text without these characters around them.
fn pieces<'t>(text: &'t str, around: &[char]) -> impl Iterator<Item = &'t str> {
    text.split_whitespace().map(move |token| token.trim_matches(around))
}

/// Whether a word is a version of three numbers (SemVer 2.0.0), maybe of a pre-release.
fn is_version(word: &str) -> bool {
    let core = word.split(['-', '+']).next().unwrap_or_default();
    let parts: Vec<&str> = core.split('.').collect();
    parts.len() == 3 && parts.iter().all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
}

fn quoted(text: &str, token: &str) -> bool {
    text.contains(&format!("`{token}`")) || text.contains(&format!("\"{token}\""))
}

/// Beginnings of the names of time zones.
const ZONES: [&str; 8] = ["Africa/", "America/", "Asia/", "Atlantic/", "Australia/", "Europe/", "Indian/", "Pacific/"];

/// Texts of five fields of cron, one of them `*`: "30 3 * * 6".
fn cron(text: &str) -> Vec<&str> {
    let is_field = |word: &str| {
        let plain = word.trim_end_matches('.');
        !plain.is_empty()
            && plain.len() <= 32
            && plain.starts_with(|c: char| c.is_ascii_digit() || c == '*')
            && plain.bytes().all(|byte| byte.is_ascii_digit() || b"*,-/".contains(&byte))
    };
    let mut found = Vec::new();
    let trimmed = |c: char| matches!(c, '"' | '`' | '\'' | '(' | ')' | ',' | ';' | ':');
    for line in text.lines() {
        let mut words: Vec<(usize, &str)> = Vec::new();
        let mut from = 0;
        for token in line.split_inclusive(char::is_whitespace) {
            let word = token.trim().trim_matches(trimmed);
            if !word.is_empty() {
                words.push((from + token.find(word).unwrap_or_default(), word));
            }
            from += token.len();
        }
        let mut at = 0;
        while let Some(five) = words.get(at..at + 5) {
            let beside = [at.checked_sub(1), Some(at + 5)].into_iter().flatten();
            let longer = beside.filter_map(|at| words.get(at)).any(|(_, word)| is_field(word));
            if five.iter().all(|(_, word)| is_field(word)) && five.iter().any(|(_, word)| *word == "*") && !longer {
                let (Some((first, _)), Some((start, last))) = (five.first(), five.last()) else { break };
                found.extend(line.get(*first..start + last.trim_end_matches('.').len()));
                at += 5;
            } else {
                at += 1;
            }
        }
    }
    found
}
