//! Lists: bullets, lines of a block, and runs of numbers.

use std::ops::Range;

use muster_engines::grammar::{Prim, Type};
use serde_json::{Value, json};

use super::Search;
use super::labels::{places, plain};
use crate::agent::parameter::Parameter;

/// Most items of a list.
const MAX_ITEMS: usize = 50_000;
/// A run of fewer numbers is a list only where it is named.
const MIN_NUMBERS: usize = 3;
/// Longest text in which names are looked for, in bytes.
const MAX_PROSE: usize = 64 * 1024;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Items {
    Texts,
    /// Records of `id` and `text`.
    Documents,
    Numbers,
}

/// Returns which lists a parameter takes.
fn items(kind: &Type) -> Option<Items> {
    let Type::Array(item) = kind else { return None };
    match &**item {
        Type::Prim(Prim::String) => Some(Items::Texts),
        Type::Prim(Prim::Number | Prim::Integer) => Some(Items::Numbers),
        Type::Record(members) => {
            let required: Vec<&str> = members.iter().filter(|m| !m.optional).map(|m| m.name.as_str()).collect();
            (required == ["id", "text"]).then_some(Items::Documents)
        }
        _ => None,
    }
}

pub(super) fn fill(search: &mut Search<'_>) {
    let wanted = |search: &Search<'_>, numbers: bool| -> Vec<(usize, Items)> {
        let all = search.parameters.iter().enumerate();
        let open = all.filter(|(_, parameter)| search.open.contains(parameter.name.as_str()));
        let kinds = open.filter_map(|(at, parameter)| Some((at, items(&parameter.kind)?)));
        kinds.filter(|(_, kind)| (*kind == Items::Numbers) == numbers).collect()
    };
    let texts = wanted(search, false);
    let lists = bullets(&search.prose).into_iter().chain(blocks(search)).collect::<Vec<_>>();
    assign(search, &texts, &lists, 1);
    let numbers = wanted(search, true);
    let runs: Vec<(Range<usize>, Vec<String>)> = runs(&search.prose);
    assign(search, &numbers, &runs, MIN_NUMBERS);
}

/// Gives each parameter the one list that stands after its name, or the only list to the only parameter that has no
/// default.
fn assign(search: &mut Search<'_>, wanted: &[(usize, Items)], lists: &[(Range<usize>, Vec<String>)], least: usize) {
    let prose = plain(search.prose.get(..search.prose.floor_char_boundary(MAX_PROSE)).unwrap_or_default());
    let parameters = search.parameters;
    let all: Vec<&Parameter> = parameters.iter().collect();
    let is_missing = |(at, _): &&(usize, Items)| {
        parameters.get(*at).is_some_and(|parameter| search.missing.contains(parameter.name.as_str()))
    };
    let missing = wanted.iter().filter(is_missing).count();
    let long: Vec<_> = lists.iter().filter(|(_, items)| items.len() >= least).collect();
    for (at, kind) in wanted {
        let Some(parameter) = parameters.get(*at) else { continue };
        let labels = places(&prose, parameter, &all);
        // "values: 1, 2" on one line, or "Messages:" on the line before, also of a block.
        let is_named = |start: usize| {
            labels.iter().any(|label| {
                let between = prose.get(label.span.end..start).unwrap_or_default();
                // "Residuals (mg/L): 0.4, 0.5"
                let bracket = between.trim_start().strip_prefix('(').and_then(|rest| rest.split_once(')'));
                let between = bracket.map_or(between, |(_, rest)| rest);
                let rest = between.trim_start_matches([' ', ':', '=']).trim();
                label.span.end <= start
                    && between.len() <= 64
                    && between.trim_start().starts_with([':', '='])
                    && (rest.is_empty() || rest.strip_prefix("```").is_some_and(|label| !label.contains('\n')))
            })
        };
        let named: Vec<_> = lists.iter().filter(|(span, _)| is_named(span.start)).collect();
        let chosen = match (&named[..], &long[..]) {
            ([list], _) => Some(*list),
            ([], [list]) if missing == 1 && search.missing.contains(parameter.name.as_str()) => Some(*list),
            _ => None,
        };
        let Some((span, items)) = chosen else { continue };
        let value: Value = match kind {
            Items::Texts => items.iter().take(MAX_ITEMS).map(|item| Value::from(item.as_str())).collect(),
            Items::Documents => {
                let document = |(at, text): (usize, &String)| json!({ "id": (at + 1).to_string(), "text": text });
                items.iter().take(MAX_ITEMS).enumerate().map(document).collect()
            }
            Items::Numbers => {
                let numbers = items.iter().take(MAX_ITEMS).map(|item| serde_json::from_str::<serde_json::Number>(item));
                match numbers.collect::<Result<Vec<_>, _>>() {
                    Ok(numbers) => numbers.into_iter().map(Value::Number).collect(),
                    Err(_) => continue,
                }
            }
        };
        if search.take(parameter, value, "list", span.clone()) {
            search.blank(span);
        }
    }
}

/// Lists of Markdown: lines that begin with `-`, `*` or a number and a point.
fn bullets(text: &str) -> Vec<(Range<usize>, Vec<String>)> {
    let mut found: Vec<(Range<usize>, Vec<String>)> = Vec::new();
    let (mut at, mut open) = (0, false);
    for line in text.split_inclusive('\n') {
        let span = at..at + line.len();
        at += line.len();
        let trimmed = line.trim();
        let digits = trimmed.bytes().take_while(u8::is_ascii_digit).count();
        let numbered = (1..=4).contains(&digits).then(|| trimmed.get(digits..)).flatten();
        let item = trimmed.strip_prefix("- ").or_else(|| trimmed.strip_prefix("* "));
        let item =
            item.or_else(|| numbered.and_then(|rest| rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") "))));
        match item.map(str::trim).filter(|item| !item.is_empty()) {
            Some(item) => match found.last_mut().filter(|_| open) {
                Some((whole, items)) => {
                    whole.end = span.end;
                    items.push(item.to_owned());
                }
                None => {
                    found.push((span, vec![item.to_owned()]));
                    open = true;
                }
            },
            // An empty line between items is part of the list.
            None => open &= trimmed.is_empty(),
        }
    }
    found
}

/// The lines of each block that was not used and is neither JSON nor a table.
fn blocks(search: &Search<'_>) -> Vec<(Range<usize>, Vec<String>)> {
    let free = search.fences.iter().filter(|fence| {
        let plain = matches!(fence.label, "" | "text" | "log" | "txt");
        plain && !search.found.iter().any(|filled| filled.span == fence.span) && super::json(fence.body).is_none()
    });
    let lines = |body: &str| body.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect::<Vec<_>>();
    free.map(|fence| (fence.span.clone(), lines(fence.body))).filter(|(_, lines)| !lines.is_empty()).collect()
}

/// Runs of numbers separated by commas, semicolons or spaces, each on one line.
pub(super) fn runs(text: &str) -> Vec<(Range<usize>, Vec<String>)> {
    let mut found = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let mut run: Option<(Range<usize>, Vec<String>)> = None;
        let mut from = 0;
        // Tokens, with the separators after them.
        for token in line.split_inclusive([' ', ',', ';', '\t', '[', ']', '\n']) {
            let span = at + from..at + from + token.len();
            from += token.len();
            let core = token.trim_matches([' ', ',', ';', '\t', '[', ']', '\n', '\r']).trim_end_matches('.');
            if core.is_empty() {
                continue;
            }
            let lead = token.find(core).unwrap_or(0);
            let end = span.start + lead + core.len();
            let is_number = core.parse::<f64>().is_ok() && core.starts_with(|c: char| c.is_ascii_digit() || c == '-');
            match (&mut run, is_number && serde_json::from_str::<serde_json::Number>(core).is_ok()) {
                (Some((whole, items)), true) => {
                    whole.end = end;
                    items.push(core.to_owned());
                }
                (None, true) => run = Some((span.start + lead..end, vec![core.to_owned()])),
                (Some(_), false) => found.extend(run.take().filter(|(_, items)| items.len() > 1)),
                (None, false) => {}
            }
        }
        found.extend(run.take().filter(|(_, items)| items.len() > 1));
        at += line.len();
    }
    found
}
