//! Metadata, outline, form fields and attachments.

use std::collections::{BTreeMap, BTreeSet};

use lopdf::{Dictionary, Document, Object, ObjectId, decode_text_string};

use super::Heading;

/// Most entries of each list, nodes that are visited, and longest text.
const MAX_ENTRIES: usize = 1_000;
const MAX_NODES: usize = 5_000;
const MAX_DEPTH: usize = 30;
const MAX_TEXT: usize = 1_000;
/// Nodes above a page that are asked for its size.
const MAX_PARENTS: usize = 64;

/// Width and height of a page, as it is shown; A4 where the file has none.
pub(super) fn size(document: &Document, page: ObjectId) -> (f64, f64) {
    let (mut size, mut rotation) = (None, None);
    let mut node = document.get_dictionary(page).ok();
    for _ in 0..MAX_PARENTS {
        let Some(here) = node else { break };
        size = size.or_else(|| here.get_deref(b"MediaBox", document).ok().and_then(|object| box_of(document, object)));
        rotation = rotation.or_else(|| here.get_deref(b"Rotate", document).and_then(Object::as_i64).ok());
        node = here.get_deref(b"Parent", document).and_then(Object::as_dict).ok();
    }
    let (width, height) = size.unwrap_or((595.0, 842.0));
    if rotation.is_some_and(|rotation| rotation.rem_euclid(180) == 90) { (height, width) } else { (width, height) }
}

fn box_of(document: &Document, object: &Object) -> Option<(f64, f64)> {
    let corners: Vec<f64> = object
        .as_array()
        .ok()?
        .iter()
        .filter_map(|corner| document.dereference(corner).ok()?.1.as_float().ok())
        .map(f64::from)
        .collect();
    let [left, bottom, right, top] = corners.try_into().ok()?;
    let (width, height) = ((right - left).abs(), (top - bottom).abs());
    (width.is_finite() && height.is_finite()).then_some((width, height))
}

fn text(object: &Object) -> Option<String> {
    let bytes = object.as_str().ok()?;
    let text = decode_text_string(object).unwrap_or_else(|_| String::from_utf8_lossy(bytes).into_owned());
    Some(text.chars().filter(|c| !c.is_control()).take(MAX_TEXT).collect())
}

/// The information dictionary.
pub(super) fn metadata(document: &Document) -> BTreeMap<String, String> {
    let information = document.trailer.get_deref(b"Info", document).and_then(Object::as_dict);
    let Ok(information) = information else { return BTreeMap::new() };
    information
        .iter()
        .take(100)
        .filter_map(|(name, value)| {
            let (_, value) = document.dereference(value).ok()?;
            let value =
                text(value).or_else(|| value.as_name().ok().map(|name| String::from_utf8_lossy(name).into_owned()))?;
            Some((String::from_utf8_lossy(name).chars().take(100).collect(), value))
        })
        .collect()
}

/// The headings in order, with the pages that they lead to.
pub(super) fn outline(document: &Document, pages: &BTreeMap<u32, ObjectId>) -> Vec<Heading> {
    let numbers: BTreeMap<ObjectId, u32> = pages.iter().map(|(number, id)| (*id, *number)).collect();
    let root =
        document.catalog().and_then(|catalog| catalog.get_deref(b"Outlines", document)).and_then(Object::as_dict);
    let first = root.and_then(|root| root.get(b"First")).and_then(Object::as_reference);
    // Siblings that are still to come, at each depth.
    let mut open: Vec<ObjectId> = first.into_iter().collect();
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    while let Some(id) = open.pop() {
        if !seen.insert(id) || found.len() == MAX_ENTRIES {
            continue;
        }
        let Ok(item) = document.get_dictionary(id) else { continue };
        if let Some(title) = item.get_deref(b"Title", document).ok().and_then(text) {
            let page = target(document, item).and_then(|page| numbers.get(&page).copied()).unwrap_or(0);
            found.push(Heading { title, page });
        }
        open.extend(item.get(b"Next").and_then(Object::as_reference));
        if open.len() <= MAX_DEPTH {
            open.extend(item.get(b"First").and_then(Object::as_reference));
        }
    }
    found
}

/// The page of a destination that is written out; named ones are not looked up.
fn target(document: &Document, item: &Dictionary) -> Option<ObjectId> {
    let action = || item.get_deref(b"A", document).and_then(Object::as_dict).ok()?.get_deref(b"D", document).ok();
    let destination = item.get_deref(b"Dest", document).ok().or_else(action)?;
    destination.as_array().ok()?.first()?.as_reference().ok()
}

/// Values of the form's fields by their full names.
pub(super) fn fields(document: &Document) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let form =
        document.catalog().and_then(|catalog| catalog.get_deref(b"AcroForm", document)).and_then(Object::as_dict);
    let roots = form.and_then(|form| form.get_deref(b"Fields", document)).and_then(Object::as_array);
    let mut open: Vec<(ObjectId, String, usize)> = Vec::new();
    let push = |open: &mut Vec<(ObjectId, String, usize)>, kids: &[Object], name: &str, depth: usize| {
        let kids = kids.iter().take(MAX_ENTRIES).filter_map(|kid| kid.as_reference().ok());
        open.extend(kids.map(|kid| (kid, name.to_owned(), depth)));
    };
    if let Ok(roots) = roots {
        push(&mut open, roots, "", 0);
    }
    let mut seen = BTreeSet::new();
    while let Some((id, prefix, depth)) = open.pop() {
        if !seen.insert(id) || seen.len() > MAX_NODES || found.len() >= MAX_ENTRIES {
            continue;
        }
        let Ok(field) = document.get_dictionary(id) else { continue };
        let part = field.get_deref(b"T", document).ok().and_then(text);
        let name = match (&part, prefix.as_str()) {
            (Some(part), "") => part.clone(),
            (Some(part), prefix) => format!("{prefix}.{part}").chars().take(MAX_TEXT).collect(),
            (None, prefix) => prefix.to_owned(),
        };
        if let Ok(value) = field.get_deref(b"V", document) {
            let value = match value {
                Object::Name(name) => Some(String::from_utf8_lossy(name).into_owned()),
                Object::Array(parts) => Some(parts.iter().take(100).filter_map(text).collect::<Vec<_>>().join(", ")),
                other => text(other),
            };
            found.extend(value.filter(|_| !name.is_empty()).map(|value| (name.clone(), value)));
        } else if part.is_some() && field.get(b"Kids").is_err() {
            found.entry(name.clone()).or_default();
        }
        if let Ok(kids) = field.get_deref(b"Kids", document).and_then(Object::as_array)
            && depth < MAX_DEPTH
        {
            push(&mut open, kids, &name, depth + 1);
        }
    }
    found
}

/// Names of the files that are embedded.
pub(super) fn attachments(document: &Document) -> Vec<String> {
    let names = document.catalog().and_then(|catalog| catalog.get_deref(b"Names", document)).and_then(Object::as_dict);
    let root = names.and_then(|names| names.get_deref(b"EmbeddedFiles", document)).and_then(Object::as_dict);
    let mut found = BTreeSet::new();
    let mut open: Vec<&Dictionary> = root.into_iter().collect();
    let mut visited = 0;
    while let Some(node) = open.pop() {
        visited += 1;
        if visited > MAX_NODES || found.len() >= MAX_ENTRIES {
            break;
        }
        if let Ok(pairs) = node.get_deref(b"Names", document).and_then(Object::as_array) {
            for pair in pairs.chunks(2).take(MAX_ENTRIES) {
                let file = pair.get(1).and_then(|file| document.dereference(file).ok()?.1.as_dict().ok());
                let of_file = file.and_then(|file| {
                    let name = file.get_deref(b"UF", document).or_else(|_| file.get_deref(b"F", document));
                    name.ok().and_then(text)
                });
                found.extend(of_file.or_else(|| pair.first().and_then(text)));
            }
        }
        if let Ok(kids) = node.get_deref(b"Kids", document).and_then(Object::as_array) {
            let kids = kids.iter().take(MAX_ENTRIES).filter_map(|kid| document.dereference(kid).ok()?.1.as_dict().ok());
            open.extend(kids);
        }
    }
    found.into_iter().collect()
}
