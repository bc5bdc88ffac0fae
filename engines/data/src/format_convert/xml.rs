//! XML in BadgerFish style: attributes as `@name`, text beside them as `#text`, repeated elements as arrays.

use quick_xml::events::{BytesStart, BytesText, Event};
use quick_xml::{Reader, Writer, XmlVersion};
use serde_json::{Map, Value};

use super::document::{Document, Notes};
use super::wrong;
use muster_engine::Failure;

const MAX_DEPTH: usize = 128;

#[derive(Default)]
struct Element {
    name: String,
    members: Map<String, Value>,
    text: String,
    /// Whether text was followed by an element.
    mixed: bool,
}

pub fn read(content: &str) -> Result<Document, Failure> {
    let bad = |why: &dyn std::fmt::Display| wrong(format!("is not XML: {why}"));
    let mut reader = Reader::from_str(content);
    let mut open = vec![Element::default()];
    let mut notes = Notes::default();
    loop {
        let event = reader.read_event().map_err(|error| bad(&error))?;
        let empty = matches!(event, Event::Empty(_));
        match event {
            Event::Start(start) | Event::Empty(start) => {
                if open.len() > MAX_DEPTH {
                    return Err(Failure::too_large(format!("the document is nested more than {MAX_DEPTH} deep")));
                }
                open.push(element(&start)?);
                if empty {
                    close(&mut open, &mut notes);
                }
            }
            Event::End(_) => close(&mut open, &mut notes),
            Event::Text(text) => push(&mut open, &text.xml_content(XmlVersion::Implicit1_0)),
            Event::CData(text) => push(&mut open, &text.xml_content(XmlVersion::Implicit1_0)),
            Event::GeneralRef(name) => {
                let name = format!("&{};", &*name);
                let text = quick_xml::escape::unescape(&name).map_err(|error| bad(&error))?;
                push(&mut open, &text);
            }
            Event::Comment(_) | Event::PI(_) | Event::DocType(_) => notes.add(Notes::REMARKS),
            Event::Decl(_) => {}
            Event::Eof => break,
        }
    }
    match (open.pop(), open.is_empty()) {
        (Some(root), true) if root.members.len() == 1 && root.text.trim().is_empty() => {
            if root.members.values().any(Value::is_array) {
                return Err(bad(&"it has more than one root element"));
            }
            Ok(Document { value: Value::Object(root.members), notes })
        }
        (Some(_), true) => Err(bad(&"it must have one root element, and no text beside it")),
        _ => Err(bad(&"an element is not closed")),
    }
}

fn push(open: &mut [Element], text: &str) {
    if let Some(element) = open.last_mut() {
        element.text.push_str(text);
    }
}

fn element(start: &BytesStart<'_>) -> Result<Element, Failure> {
    let mut element = Element { name: name(start.name().as_ref()), ..Element::default() };
    for attribute in start.attributes() {
        let attribute = attribute.map_err(|error| wrong(format!("is not XML: {error}")))?;
        let value = attribute.normalized_value(XmlVersion::Implicit1_0);
        let value = value.map_err(|error| wrong(format!("is not XML: {error}")))?;
        element.members.insert(format!("@{}", name(attribute.key.as_ref())), value.into());
    }
    Ok(element)
}

fn name(bytes: &str) -> String {
    bytes.to_owned()
}

fn close(open: &mut Vec<Element>, notes: &mut Notes) {
    let Some(element) = open.pop() else { return };
    let text = element.text.trim();
    let has_elements = element.members.keys().any(|key| !key.starts_with('@'));
    if element.mixed || (has_elements && !text.is_empty()) {
        notes.add(Notes::MIXED);
    }
    let value = match (element.members.is_empty(), text.is_empty()) {
        (true, true) => Value::Null,
        (true, false) => text.into(),
        (false, empty) => {
            let mut members = element.members;
            if !empty {
                members.insert("#text".to_owned(), text.into());
            }
            Value::Object(members)
        }
    };
    if let Some(parent) = open.last_mut() {
        match parent.members.get_mut(&element.name) {
            Some(Value::Array(values)) => values.push(value),
            Some(first) => *first = vec![first.take(), value].into(),
            None => drop(parent.members.insert(element.name, value)),
        }
    }
}

/// # Errors
/// Where a writer to memory fails, which it does not.
pub fn write(value: &Value, warnings: &mut Vec<String>) -> Result<String, Failure> {
    let mut writer = Writer::new(Vec::new());
    let mut names = Names::default();
    let single = value.as_object().filter(|object| object.len() == 1).and_then(|object| object.iter().next());
    match single.filter(|(key, value)| !value.is_array() && !key.starts_with(['@', '#'])) {
        Some((name, value)) => put(&mut writer, name, value, &mut names)?,
        None => {
            warnings.push("XML has one root element: the value was put into one that is named root".to_owned());
            let wrapped = value.as_array().map(|items| serde_json::json!({ "item": items }));
            put(&mut writer, "root", wrapped.as_ref().unwrap_or(value), &mut names)?;
        }
    }
    if names.changed {
        warnings.push("names and letters that XML does not allow were replaced by _".to_owned());
    }
    if names.typed {
        warnings.push("XML has no types: numbers, truths and null became text".to_owned());
    }
    if names.lost {
        warnings.push("arrays within arrays were joined, and empty arrays omitted".to_owned());
    }
    String::from_utf8(writer.into_inner()).map_err(Failure::internal)
}

#[derive(Default)]
struct Names {
    changed: bool,
    typed: bool,
    lost: bool,
}

impl Names {
    /// XML 1.0, production 5, of ASCII and of what is a letter anywhere.
    fn name(&mut self, name: &str) -> String {
        let fits = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.' | ':');
        let mut fit: String = name.chars().map(|letter| if fits(letter) { letter } else { '_' }).collect();
        if !fit.starts_with(|first: char| first.is_alphabetic() || first == '_') {
            fit.insert(0, '_');
        }
        self.changed |= fit != name;
        fit
    }

    fn text(&mut self, value: &Value) -> String {
        self.typed |= !value.is_string();
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            other => other.to_string(),
        };
        // XML 1.0, production 2.
        let good = |letter: char| matches!(letter, '\t' | '\n' | '\r' | '\u{20}'..='\u{fffd}' | '\u{10000}'..);
        self.changed |= !text.chars().all(good);
        text.chars().map(|letter| if good(letter) { letter } else { '_' }).collect()
    }
}

fn put(writer: &mut Writer<Vec<u8>>, name: &str, value: &Value, names: &mut Names) -> Result<(), Failure> {
    if let Value::Array(items) = value {
        names.lost |= items.is_empty() || items.iter().any(Value::is_array);
        return items.iter().try_for_each(|item| put(writer, name, item, names));
    }
    let tag = names.name(name);
    let mut start = BytesStart::new(tag.clone());
    let none = Map::new();
    let members = value.as_object().unwrap_or(&none);
    let is_attribute = |key: &str, value: &Value| key.starts_with('@') && !value.is_object() && !value.is_array();
    for (key, value) in members.iter().filter(|(key, value)| is_attribute(key, value)) {
        let key = names.name(key.trim_start_matches('@'));
        start.push_attribute((key.as_str(), names.text(value).as_str()));
    }
    let mut event = |event: Event<'_>| writer.write_event(event).map_err(Failure::internal);
    event(Event::Start(start.borrow()))?;
    if !value.is_object() {
        event(Event::Text(BytesText::new(&names.text(value))))?;
    }
    if let Some(text) = members.get("#text").filter(|text| !text.is_object() && !text.is_array()) {
        event(Event::Text(BytesText::new(&names.text(text))))?;
    }
    for (key, value) in members.iter().filter(|(key, value)| !is_attribute(key, value)) {
        if key != "#text" || value.is_object() || value.is_array() {
            put(writer, key, value, names)?;
        }
    }
    writer.write_event(Event::End(start.to_end())).map_err(Failure::internal)
}
