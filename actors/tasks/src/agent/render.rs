//! Results as text, and as the bounded value with which a task ends.

use serde_json::{Map, Value, json};

use super::markdown;
use super::material::{Material, Part};
use super::prompt::cut;
use super::reference::is_empty;

/// Maximum size of one section's text and of the whole text, in bytes.
const MAX_SECTION: usize = 6 * 1024;
const MAX_TEXT: usize = 64 * 1024;
/// Maximum number of items of a list.
const MAX_ITEMS: usize = 20;
/// Maximum size of an item, in bytes.
const MAX_ITEM: usize = 400;
/// Maximum size of a section's value in the result, in bytes; the text and the outputs still contain it.
const MAX_VALUE: usize = 64 * 1024;
/// Maximum size of all outputs in the result, in bytes.
const MAX_OUTPUTS: usize = 4 * 1024 * 1024;

/// Returns the sections as text, each with the engine from which its value comes.
pub(super) fn text(material: &Material<'_>) -> String {
    let mut text = String::new();
    if !material.failed.is_empty() {
        let count = material.failed.len();
        text.push_str(&format!("**Incomplete:** {count} of {} steps failed, see Warnings.\n\n", material.uses.len()));
    }
    list(&mut text, "In short", material.key_points.iter().map(String::as_str));
    let (given, undetermined): (Vec<&Part>, Vec<&Part>) =
        material.parts.iter().partition(|part| !part.value.is_null() || !part.none.is_empty());
    for part in given {
        let section =
            format!("## {}\nFrom engine {}\n\n{}\n\n", part.title, part.source, cut(&shown(part), MAX_SECTION));
        if text.len() + section.len() > MAX_TEXT {
            text.push_str("(further sections are in the outputs only)\n\n");
            break;
        }
        text.push_str(&section);
    }
    if material.parts.is_empty() {
        text.push_str("No engine was called.\n\n");
    }
    let undetermined = undetermined.iter().map(|part| format!("{} ({})", part.title, part.source)).collect::<Vec<_>>();
    list(&mut text, "Not determined by what was given", undetermined.iter().map(String::as_str));
    list(&mut text, "Next steps", material.next_steps.iter().map(String::as_str));
    let filled: Vec<String> = material.filled.iter().map(markdown::filled).collect();
    list(&mut text, "Taken from the instruction", filled.iter().map(String::as_str));
    let defaults: Vec<String> = material.defaults.iter().map(markdown::default).collect();
    list(&mut text, "Values at their default", defaults.iter().map(String::as_str));
    list(&mut text, "Not used of the instruction", material.unused.iter().map(String::as_str));
    let skipped: Vec<String> = material.skipped.iter().filter_map(|skipped| left_out(skipped)).collect();
    list(&mut text, "Left out", skipped.iter().map(String::as_str));
    let notes: Vec<String> =
        material.notes.iter().map(|note| format!("{} – {}", cut(&note.text, MAX_ITEM), note.effect)).collect();
    list(&mut text, "Redirections", notes.iter().map(String::as_str));
    list(&mut text, "Warnings", material.warnings.iter().map(String::as_str));
    text.truncate(text.trim_end().len());
    text
}

/// Why a step was left out, for a reader; nothing for what only follows from another step that was.
fn left_out(skipped: &str) -> Option<String> {
    let (step, reason) = skipped.split_once(": ")?;
    if reason.starts_with("$steps.") && reason.ends_with(" is empty") {
        return None;
    }
    let Some(rest) = reason.strip_prefix("$params.") else { return Some(skipped.to_owned()) };
    let (name, rest) = rest.split_once(' ')?;
    let rest = if rest == "is empty" { "was not given" } else { rest };
    Some(format!("{step}: `{name}` {rest}"))
}

fn shown(part: &Part) -> String {
    if is_empty(&part.value) && !part.none.is_empty() {
        return part.none.clone();
    }
    markdown::value(&part.value, &part.kind, &part.unit)
}

fn list<'a>(text: &mut String, title: &str, items: impl Iterator<Item = &'a str>) {
    let mut items = items.peekable();
    if items.peek().is_none() {
        return;
    }
    text.push_str(&format!("## {title}\n\n"));
    items.by_ref().take(MAX_ITEMS).for_each(|item| text.push_str(&format!("- {}\n", cut(item, MAX_ITEM))));
    let more = items.count();
    if more > 0 {
        text.push_str(&format!("- … and {more} more\n"));
    }
    text.push('\n');
}

/// Returns a task's result: `outputs` by name, `sections`, `text`, `engines`, `skipped`, `redirections`, `warnings`,
/// the author of the text (`null` for generated sections), `filled` (params from the instruction), `defaults` (params at their default), `unused` (parts of it
/// from which nothing was taken), `focus`, `failed` and `next_steps`.
pub(super) fn result(agent: &str, mut material: Material<'_>, text: String, written_by: Option<&str>) -> Value {
    let outputs = outputs(&mut material);
    let Material {
        parts,
        key_points,
        skipped,
        notes,
        warnings,
        uses,
        failed,
        filled,
        defaults,
        unused,
        focus,
        next_steps,
        ..
    } = &material;
    let sections: Vec<Value> = parts.iter().map(section).collect();
    let notes = notes.iter().map(|note| json!({ "instruction": note.text, "effect": note.effect }));
    let engines: Vec<Value> = uses
        .iter()
        .map(|used| json!({ "as": used.name, "number": used.engine_step.number, "engine": used.engine_step.engine, "by": used.engine_step.agent }))
        .collect();
    json!({
        "agent": agent, "text": text, "written_by": written_by, "sections": sections, "outputs": outputs,
        "engines": engines, "skipped": skipped, "redirections": notes.collect::<Vec<_>>(), "warnings": warnings,
        "complete": failed.is_empty(), "failed": failed, "filled": filled, "defaults": defaults, "unused": unused, "focus": focus, "key_points": key_points, "next_steps": next_steps,
    })
}

fn section(part: &Part) -> Value {
    let bytes = part.value.to_string().len();
    if bytes <= MAX_VALUE {
        json!({ "title": part.title, "engine": part.source, "value": part.value })
    } else {
        let note = format!("{bytes} bytes: see outputs");
        json!({ "title": part.title, "engine": part.source, "value": null, "left_out": note })
    }
}

/// Returns the outputs by name. If they are too large together, the largest are omitted with a note.
fn outputs(material: &mut Material<'_>) -> Map<String, Value> {
    let mut sizes: Vec<(usize, usize)> =
        material.uses.iter().enumerate().map(|(at, used)| (used.engine_step.output.to_string().len(), at)).collect();
    let mut all: usize = sizes.iter().map(|(bytes, _)| bytes).sum();
    sizes.sort_unstable();
    let mut left_out = Vec::new();
    while all > MAX_OUTPUTS
        && let Some((bytes, at)) = sizes.pop()
    {
        all -= bytes;
        left_out.push((at, bytes));
    }
    let mut outputs = Map::new();
    for (at, used) in material.uses.iter().enumerate() {
        let output = match left_out.iter().find(|(left, _)| *left == at) {
            Some((_, bytes)) => json!({ "left_out": true, "bytes": bytes }),
            None => used.engine_step.output.clone(),
        };
        outputs.insert(used.name.clone(), output);
    }
    for (at, bytes) in left_out {
        let name = material.uses.get(at).map_or_else(String::new, |used| used.name.clone());
        material.warnings.push(format!("the output {name} is left out of the result: it has {bytes} bytes"));
    }
    outputs
}
