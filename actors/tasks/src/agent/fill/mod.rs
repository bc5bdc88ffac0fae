//! Completes params from the text of an instruction, each with the evidence in it.
//!
//! In this order: a JSON object of params, or fenced blocks; tables and lists; rules for numbers with units, positions,
//! days, words of an enum and labelled texts. A value is taken only where one reading fits one parameter, and only if
//! type, unit and range hold. A parameter with a default is taken only where the text names it.

pub(super) mod by_model;
mod groups;
mod labels;
mod lists;
mod named_files;
mod phrases;
mod rules;
pub(super) mod tables;
mod unlabelled;

use std::collections::HashSet;
use std::ops::Range;

use muster_core::Millis;
use muster_engines::grammar::{Prim, Type};
use serde_json::{Map, Value};

use super::file_table;
use super::parameter::{Accepted, Parameter, problems_of};

/// Maximum length of a text that is searched, in bytes.
const MAX_TEXT: usize = 1024 * 1024;
/// Longest order at the beginning of an instruction, in bytes.
const MAX_ORDER: usize = 80;
/// Maximum length of evidence, in bytes.
const MAX_EVIDENCE: usize = 160;

/// A param with its value from a text.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Filled {
    pub(super) param: String,
    pub(super) value: Value,
    /// `json`, `block`, `table`, `list`, `rule` or `model`.
    pub(super) by: &'static str,
    /// The place in the text.
    pub(super) span: Range<usize>,
}

impl Filled {
    /// Returns the part of the text from which the value is.
    pub(super) fn evidence(&self, text: &str) -> String {
        let found = text.get(self.span.clone()).unwrap_or_default();
        super::prompt::cut(found.split_whitespace().collect::<Vec<_>>().join(" ").as_str(), MAX_EVIDENCE)
    }
}

/// A fenced block of Markdown.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Fence<'a> {
    /// Text after the opening fence.
    label: &'a str,
    body: &'a str,
    /// The body's place.
    span: Range<usize>,
}

/// What is looked for, and what was found.
pub(super) struct Search<'a> {
    text: &'a str,
    fences: Vec<Fence<'a>>,
    /// The text with blocks and tables blanked, in which rules look.
    prose: String,
    parameters: &'a [Parameter],
    /// Parameters that the caller did not give.
    open: HashSet<&'a str>,
    /// Those of them that have no default.
    missing: HashSet<&'a str>,
    now: Option<Millis>,
    found: Vec<Filled>,
}

impl<'a> Search<'a> {
    fn missing(&self) -> impl Iterator<Item = &'a Parameter> {
        let (parameters, missing) = (self.parameters, &self.missing);
        parameters.iter().filter(move |parameter| missing.contains(parameter.name.as_str()))
    }

    /// Takes a value if it is valid and the parameter is open.
    fn take(&mut self, parameter: &'a Parameter, value: Value, by: &'static str, span: Range<usize>) -> bool {
        let valid = self.open.contains(parameter.name.as_str())
            && !value.is_null()
            && problems_of(parameter, &value).is_empty();
        if valid {
            self.open.remove(parameter.name.as_str());
            self.missing.remove(parameter.name.as_str());
            self.found.push(Filled { param: parameter.name.clone(), value, by, span });
        }
        valid
    }

    fn blank(&mut self, span: &Range<usize>) {
        let blanks: String = self
            .prose
            .get(span.clone())
            .unwrap_or_default()
            .bytes()
            .map(|byte| if byte == b'\n' { '\n' } else { ' ' })
            .collect();
        if self.prose.is_char_boundary(span.start) && self.prose.is_char_boundary(span.end) {
            self.prose.replace_range(span.clone(), &blanks);
        }
    }
}

/// Finds values for params that are not given: for a missing one by its kind or name, for others only by their name.
/// `now` is the time of the task, for days such as "today".
pub(super) fn find(
    parameters: &[Parameter],
    given: &HashSet<String>,
    missing: &[String],
    text: &str,
    now: Option<Millis>,
) -> Vec<Filled> {
    if text.len() > MAX_TEXT {
        return Vec::new();
    }
    let open: HashSet<&str> =
        parameters.iter().map(|parameter| parameter.name.as_str()).filter(|name| !given.contains(*name)).collect();
    let missing = open.iter().copied().filter(|name| missing.iter().any(|missing| missing == name)).collect();
    let fences = fences(text);
    let mut search = Search { text, fences, prose: text.to_owned(), parameters, open, missing, now, found: Vec::new() };
    objects(&mut search);
    blocks(&mut search);
    tables::fill(&mut search);
    for fence in search.fences.clone() {
        search.blank(&fence.span);
    }
    groups::fill(&mut search);
    lists::fill(&mut search);
    rules::fill(&mut search);
    search.found
}

/// Fills the params that a caller left out. Returns what was found.
pub(super) fn from_text(
    parameters: &[Parameter],
    accepted: &mut Accepted,
    text: &str,
    now: Option<Millis>,
) -> Vec<Filled> {
    let found = find(parameters, &accepted.given, &accepted.missing, text, now);
    for filled in &found {
        accepted.params.insert(filled.param.clone(), filled.value.clone());
        accepted.missing.retain(|name| *name != filled.param);
    }
    found
}

/// Returns an instruction without what other params were taken from: tables, lists and blocks with their titles, and the
/// beginning of its first line where that is an order, as "Translate to French: …".
pub(super) fn remainder(parameters: &[Parameter], own: &str, text: &str) -> String {
    let names: Vec<String> = parameters.iter().map(|parameter| parameter.name.clone()).collect();
    let mut spans: Vec<Range<usize>> = Vec::new();
    for filled in find(parameters, &HashSet::new(), &names, text, None) {
        let before = text.get(..filled.span.start).unwrap_or_default();
        if filled.param == own || filled.by == "json" {
            continue;
        }
        if filled.by == "rule" {
            let after = text.get(filled.span.end..).unwrap_or_default();
            let is_order = !before.contains('\n') && filled.span.end <= MAX_ORDER && after.starts_with(':');
            if is_order {
                spans.push(0..filled.span.end + 1);
            }
            continue;
        }
        let (mut start, mut end) = (filled.span.start, filled.span.end);
        let line_start = |at: usize| text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
        start = line_start(start);
        // The marks of a block.
        let opening = line_start(start.saturating_sub(1));
        if text.get(opening..start).is_some_and(|line| line.starts_with("```")) {
            start = opening;
            let closing = text.get(end..).unwrap_or_default();
            if closing.starts_with("```") {
                end += closing.find('\n').map_or(closing.len(), |at| at + 1);
            }
        }
        let kept = text.get(..start).unwrap_or_default().trim_end();
        let title = line_start(kept.len());
        if text.get(title..kept.len()).is_some_and(|line| line.ends_with(':') && line.split_whitespace().count() <= 4) {
            start = title;
        }
        spans.push(start..end);
    }
    spans.sort_by_key(|span| span.start);
    let (mut left, mut at) = (String::new(), 0);
    for span in spans.iter().filter(|span| span.end > span.start) {
        left.push_str(text.get(at..span.start.max(at)).unwrap_or_default());
        at = at.max(span.end);
    }
    left.push_str(text.get(at..).unwrap_or_default());
    let left = left.trim();
    if left.chars().any(char::is_alphanumeric) { left.to_owned() } else { text.to_owned() }
}

/// A JSON object of params: the whole text, or a fenced block, or its member `params`.
fn objects(search: &mut Search<'_>) {
    let whole = object(search.text).map(|object| (object, 0..search.text.len()));
    let fenced = search.fences.iter().filter_map(|fence| Some((object(fence.body)?, fence.span.clone())));
    let objects: Vec<_> = whole.into_iter().chain(fenced).collect();
    for parameter in search.parameters {
        for (object, span) in &objects {
            if let Some(value) = object.get(&parameter.name)
                && search.take(parameter, value.clone(), "json", span.clone())
            {
                break;
            }
        }
    }
}

/// Blocks: one labelled with the name of a parameter; the only block for the only missing text; a block of JSON that
/// fits one missing parameter only.
fn blocks(search: &mut Search<'_>) {
    let fences = search.fences.clone();
    let is_text = |parameter: &Parameter| parameter.kind == Type::Prim(Prim::String);
    for parameter in search.parameters {
        let Some(fence) = fences.iter().find(|fence| fence.label == parameter.name) else { continue };
        let value = if is_text(parameter) { Some(fence.body.into()) } else { json(fence.body) };
        if let Some(value) = value {
            search.take(parameter, value, "block", fence.span.clone());
        }
    }
    let used = |search: &Search<'_>, fence: &Fence<'_>| search.found.iter().any(|filled| filled.span == fence.span);
    for fence in &fences {
        // A block with the name of a parameter is that parameter's, also if it was given.
        if used(search, fence) || search.parameters.iter().any(|parameter| parameter.name == fence.label) {
            continue;
        }
        let fields = search.missing().find(|parameter| file_table::is_fields(&parameter.kind));
        if let Some((parameter, fields)) = fields.zip(file_table::header_fields(fence.body))
            && search.take(parameter, fields, "block", fence.span.clone())
        {
            continue;
        }
        let Some(value) = json(fence.body).filter(|value| value.is_array() || value.is_object()) else { continue };
        let specific = |parameter: &&Parameter| !matches!(parameter.kind, Type::Prim(Prim::Any | Prim::String));
        let fits = search.missing().filter(specific).filter(|parameter| problems_of(parameter, &value).is_empty());
        if let [parameter] = fits.collect::<Vec<_>>()[..] {
            search.take(parameter, value, "block", fence.span.clone());
        }
    }
    // The only document for the only parameter of any type.
    let documents: Vec<_> = search.missing().filter(|parameter| parameter.kind == Type::Prim(Prim::Any)).collect();
    let unused: Vec<_> = fences.iter().filter(|fence| !used(search, fence)).collect();
    if let ([parameter], [fence]) = (&documents[..], &unused[..])
        && fence.label != parameter.name
        && !search.parameters.iter().any(|other| other.name == fence.label)
        && let Some(value) = json(fence.body).filter(|value| value.is_array() || value.is_object())
    {
        search.take(parameter, value, "block", fence.span.clone());
    }
    groups::contents(search, &fences);
    let texts: Vec<_> = search.missing().filter(|parameter| is_text(parameter)).collect();
    if let ([parameter], [fence]) = (&texts[..], &fences[..])
        && object(fence.body).is_none()
        && !used(search, fence)
    {
        search.take(parameter, fence.body.into(), "block", fence.span.clone());
    }
}

fn json(text: &str) -> Option<Value> {
    serde_json::from_str(text.trim()).ok()
}

/// Parses an object of params: the text itself, or its member `params`.
pub(super) fn object(text: &str) -> Option<Map<String, Value>> {
    let text = text.trim();
    if !text.starts_with('{') {
        return None;
    }
    let mut object: Map<String, Value> = serde_json::from_str(text).ok()?;
    match object.remove("params") {
        Some(Value::Object(params)) => Some(params),
        Some(other) => {
            object.insert("params".to_owned(), other);
            Some(object)
        }
        None => Some(object),
    }
}

/// Returns the blocks between lines of three backticks (CommonMark 0.31, 4.5, in the form commonly used).
fn fences(text: &str) -> Vec<Fence<'_>> {
    let mut found = Vec::new();
    let mut open: Option<(&str, usize)> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let end = at + line.len();
        if let Some(label) = line.trim_end().strip_prefix("```") {
            match open.take() {
                None => open = Some((label.trim(), end)),
                Some((label, begin)) => {
                    found.push(Fence { label, body: text.get(begin..at).unwrap_or_default(), span: begin..at });
                }
            }
        }
        at = end;
    }
    found
}

#[cfg(test)]
mod tests;
