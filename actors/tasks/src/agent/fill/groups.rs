//! Commits, and several lists of numbers as groups.

use muster_engines::grammar::{Prim, Type};
use serde_json::{Value, json};

use super::labels::{places, plain};
use super::lists::runs;
use super::{Fence, Search};
use crate::agent::commits;
use crate::agent::parameter::Parameter;

/// A list of fewer numbers is no group.
const MIN_NUMBERS: usize = 3;

pub(super) fn fill(search: &mut Search<'_>) {
    let parameters = search.parameters;
    let log = search.missing().find(|parameter| commits::are_wanted(&parameter.kind));
    if let Some(parameter) = log
        && let Some((value, span)) = commits::read(search.text)
        && search.take(parameter, value, "list", span.clone())
    {
        search.blank(&span);
    }
    let nested: Vec<&Parameter> = search.missing().filter(|parameter| is_nested(parameter)).collect();
    let [parameter] = nested[..] else { return };
    let lists: Vec<_> = runs(&search.prose).into_iter().filter(|(_, items)| items.len() >= MIN_NUMBERS).collect();
    let (Some((first, _)), Some((last, _)), true) = (lists.first(), lists.last(), lists.len() >= 2) else { return };
    // A list after the name of another parameter is that one's.
    let prose = plain(&search.prose);
    let all: Vec<&Parameter> = parameters.iter().collect();
    let flat = all.iter().filter(|other| matches!(&other.kind, Type::Array(item) if matches!(**item, Type::Prim(_))));
    let is_named = flat.flat_map(|other| places(&prose, other, &all)).any(|label| {
        lists.iter().any(|(span, _)| {
            let between = prose.get(label.span.end..span.start);
            between.is_some_and(|text| text.len() <= 8 && text.trim_start().starts_with([':', '=']))
        })
    });
    if is_named {
        return;
    }
    let span = first.start..last.end;
    let group = |items: &Vec<String>| -> Option<Value> {
        items
            .iter()
            .map(|item| serde_json::from_str(item).ok().map(Value::Number))
            .collect::<Option<Vec<_>>>()
            .map(Value::from)
    };
    if let Some(groups) = lists.iter().map(|(_, items)| group(items)).collect::<Option<Vec<_>>>()
        && search.take(parameter, groups.into(), "list", span.clone())
    {
        search.blank(&span);
    }
}

/// Blocks as a list of records of a name and its content, as reports of tests are.
pub(super) fn contents(search: &mut Search<'_>, fences: &[Fence<'_>]) {
    let wanted: Vec<&Parameter> = search.missing().filter(|param| takes_contents(param)).collect();
    let unused = |fence: &&Fence<'_>| {
        let labelled = search.parameters.iter().any(|parameter| parameter.name == fence.label);
        !labelled && !search.found.iter().any(|filled| filled.span == fence.span)
    };
    let blocks: Vec<&Fence<'_>> = fences.iter().filter(unused).collect();
    if let ([parameter], Some((first, last))) = (&wanted[..], blocks.first().zip(blocks.last())) {
        let block =
            |(at, fence): (usize, &&Fence<'_>)| json!({ "name": format!("block {}", at + 1), "content": fence.body });
        let value = blocks.iter().enumerate().map(block).collect();
        search.take(parameter, value, "block", first.span.start..last.span.end);
    }
}

/// Whether a parameter is a list of records of a name and its content.
pub(super) fn takes_contents(parameter: &Parameter) -> bool {
    parameter.is_list_of(json!({ "name": "a", "content": "b" }))
}

/// Whether a parameter is a list of lists of numbers.
fn is_nested(parameter: &Parameter) -> bool {
    let number = |item: &Type| matches!(item, Type::Prim(Prim::Number | Prim::Integer));
    matches!(&parameter.kind, Type::Array(item) if matches!(&**item, Type::Array(inner) if number(inner)))
}
