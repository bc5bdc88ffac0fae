//! Bounded XML trees for reports and manifests. Entities defined in a document are not expanded.

use std::collections::BTreeMap;

use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::reader::Reader;

const MAX_DEPTH: usize = 128;
const MAX_ELEMENTS: usize = 1_000_000;

#[derive(Debug, Default)]
pub(super) struct Element {
    /// Local name, without prefix.
    pub name: String,
    pub attributes: BTreeMap<String, String>,
    /// Own text without that of children; trimmed.
    pub text: String,
    pub children: Vec<Element>,
}

impl Element {
    /// Returns an attribute's value; empty if absent.
    pub fn attribute(&self, name: &str) -> &str {
        self.attributes.get(name).map(String::as_str).unwrap_or_default()
    }

    pub fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|child| child.name == name)
    }

    /// Returns the text of a child; empty if absent.
    pub fn child_text(&self, name: &str) -> &str {
        self.child(name).map(|child| child.text.as_str()).unwrap_or_default()
    }

    /// Visits itself and all descendants in document order.
    pub fn visit_all<'e>(&'e self, visit: &mut impl FnMut(&'e Self)) {
        visit(self);
        self.children.iter().for_each(|child| child.visit_all(visit));
    }
}

/// Parses a document and returns its root.
///
/// # Errors
/// A description of the problem.
pub(super) fn read(text: &str) -> Result<Element, String> {
    let mut reader = Reader::from_str(text.trim_start_matches('\u{feff}'));
    reader.config_mut().expand_empty_elements = true;
    let (mut open, mut root, mut elements) = (Vec::<Element>::new(), None, 0_usize);
    loop {
        match reader.read_event().map_err(|error| format!("is not XML: {error}"))? {
            Event::Start(start) => {
                elements += 1;
                if elements > MAX_ELEMENTS || open.len() >= MAX_DEPTH {
                    return Err("has too many elements, or too deep ones".to_owned());
                }
                if root.is_some() {
                    return Err("has more than one root".to_owned());
                }
                open.push(begin(&start)?);
            }
            Event::End(_) => {
                let Some(mut done) = open.pop() else { return Err("closes an element that was not opened".to_owned()) };
                done.text = done.text.trim().to_owned();
                match open.last_mut() {
                    None => root = Some(done),
                    Some(parent) => parent.children.push(done),
                }
            }
            Event::Text(text) => append(&mut open, &text.xml10_content()),
            Event::CData(text) => append(&mut open, &text.xml10_content()),
            Event::GeneralRef(reference) => append(&mut open, &resolve(&reference)),
            Event::Decl(_) | Event::Comment(_) | Event::PI(_) | Event::DocType(_) | Event::Empty(_) => {}
            Event::Eof => break,
        }
    }
    root.filter(|_| open.is_empty()).ok_or_else(|| "ends before its root does".to_owned())
}

fn begin(start: &BytesStart<'_>) -> Result<Element, String> {
    let mut element = Element { name: start.local_name().as_ref().to_owned(), ..Element::default() };
    for attribute in start.attributes() {
        let attribute = attribute.map_err(|error| format!("is not XML: {error}"))?;
        let name = attribute.key.local_name().as_ref().to_owned();
        let value = attribute.normalized_value(quick_xml::XmlVersion::Implicit1_0).map(|value| value.into_owned());
        element.attributes.insert(name, value.unwrap_or_default());
    }
    Ok(element)
}

fn append(open: &mut [Element], text: &str) {
    if let Some(element) = open.last_mut() {
        element.text.push_str(text);
    }
}

/// Resolves XML's predefined entities and character references; others stay as written.
fn resolve(reference: &BytesRef<'_>) -> String {
    if let Ok(Some(character)) = reference.resolve_char_ref() {
        return character.to_string();
    }
    match &*reference.xml10_content() {
        "amp" => "&".to_owned(),
        "lt" => "<".to_owned(),
        "gt" => ">".to_owned(),
        "quot" => "\"".to_owned(),
        "apos" => "'".to_owned(),
        other => format!("&{other};"),
    }
}
