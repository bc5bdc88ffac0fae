//! A small tree of XML elements, for KML and GPX.

use quick_xml::Reader;
use quick_xml::escape::escape;
use quick_xml::events::{BytesStart, Event};

const MAX_DEPTH: usize = 64;
const MAX_ELEMENTS: usize = 500_000;

/// An element. Names are without their namespace.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Element {
    pub(crate) name: String,
    pub(crate) attributes: Vec<(String, String)>,
    pub(crate) text: String,
    pub(crate) children: Vec<Element>,
}

impl Element {
    pub(crate) fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|child| child.name == name)
    }

    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Self> {
        self.children.iter().filter(move |child| child.name == name)
    }

    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns the text of a child.
    pub(crate) fn text_of(&self, name: &str) -> Option<&str> {
        self.child(name).map(|child| child.text.trim())
    }
}

/// Reads a document; documents with their own entities are refused.
pub(crate) fn parse(content: &str) -> Result<Element, String> {
    let mut reader = Reader::from_str(content.trim_start_matches('\u{feff}'));
    let mut open: Vec<Element> = vec![Element::default()];
    let mut count = 0;
    loop {
        match reader.read_event().map_err(|error| format!("is no XML: {error}"))? {
            Event::Start(start) => {
                count += 1;
                if open.len() > MAX_DEPTH || count > MAX_ELEMENTS {
                    return Err(format!(
                        "has more than {MAX_ELEMENTS} elements, or is nested more than {MAX_DEPTH} deep"
                    ));
                }
                open.push(element(&start)?);
            }
            Event::Empty(start) => {
                count += 1;
                let element = element(&start)?;
                if let Some(parent) = open.last_mut() {
                    parent.children.push(element);
                }
            }
            Event::End(_) => {
                if let (Some(done), Some(parent)) = (open.pop(), open.last_mut()) {
                    parent.children.push(done);
                }
            }
            Event::Text(text) => {
                push(&mut open, &text);
            }
            Event::CData(data) => {
                push(&mut open, &data);
            }
            Event::GeneralRef(reference) => {
                let name: &str = &reference;
                let text = quick_xml::escape::unescape(&format!("&{name};"))
                    .map_err(|_| format!("has the entity {name}, which is not known"))?
                    .into_owned();
                push(&mut open, &text);
            }
            Event::DocType(_) => return Err("has a document type, which is not allowed".to_owned()),
            Event::Eof => break,
            Event::Decl(_) | Event::PI(_) | Event::Comment(_) => {}
        }
    }
    let mut root = open.pop().filter(|_| open.is_empty()).ok_or("has an element without an end")?;
    root.children.pop().filter(|_| root.children.is_empty()).ok_or_else(|| "must have one root element".to_owned())
}

fn push(open: &mut [Element], text: &str) {
    if let Some(element) = open.last_mut() {
        element.text.push_str(text);
    }
}

fn element(start: &BytesStart<'_>) -> Result<Element, String> {
    let mut attributes = Vec::new();
    for attribute in start.attributes() {
        let attribute = attribute.map_err(|error| format!("is no XML: {error}"))?;
        let value =
            quick_xml::escape::unescape(&attribute.value).map_err(|error| format!("is no XML: {error}"))?.into_owned();
        attributes.push((attribute.key.local_name().as_ref().to_owned(), value));
    }
    Ok(Element { name: start.local_name().as_ref().to_owned(), attributes, ..Element::default() })
}

/// Writes `<name>text</name>`.
pub(crate) fn tag(name: &str, text: &str) -> String {
    format!("<{name}>{}</{name}>", escape(text))
}
