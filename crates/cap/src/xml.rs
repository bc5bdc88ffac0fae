//! Parses XML into a bounded tree of elements. Document types are rejected, so a document cannot define entities.

use quick_xml::events::{BytesRef, Event};
use quick_xml::name::ResolveResult;
use quick_xml::reader::NsReader;

use crate::CapError;

const MAX_DEPTH: usize = 16;
const MAX_ELEMENTS: usize = 50_000;

/// An element in the namespace of the document's root.
#[derive(Debug)]
pub(crate) struct Element {
    pub(crate) name: String,
    /// Text of the element without that of its children, trimmed.
    pub(crate) text: String,
    pub(crate) children: Vec<Element>,
}

/// A parsed document.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) namespace: String,
    pub(crate) root: Element,
}

fn broken(why: impl Into<String>) -> CapError {
    CapError::new("document", why)
}

/// An element that is still open; `None` for one in a foreign namespace, whose content is skipped.
type Open = Option<Element>;

/// Parses a document. Elements in namespaces other than the root's, such as signatures, are skipped.
pub(crate) fn read(bytes: &[u8]) -> Result<Document, CapError> {
    let text = std::str::from_utf8(bytes).map_err(|_| broken("must be UTF-8"))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = NsReader::from_str(text);
    reader.config_mut().expand_empty_elements = true;
    let (mut open, mut root, mut namespace, mut elements) = (Vec::<Open>::new(), None, None, 0usize);
    loop {
        let (bound, event) =
            reader.read_resolved_event().map_err(|error| broken(format!("is not well-formed XML: {error}")))?;
        match event {
            Event::Start(start) => {
                elements += 1;
                if elements > MAX_ELEMENTS || open.len() >= MAX_DEPTH {
                    return Err(broken("has too many or too deeply nested elements"));
                }
                if root.is_some() {
                    return Err(broken("has more than one root"));
                }
                let bound = match bound {
                    ResolveResult::Bound(bound) => bound.as_ref().to_owned(),
                    ResolveResult::Unbound => String::new(),
                    ResolveResult::Unknown(prefix) => {
                        return Err(broken(format!("the prefix {prefix} has no namespace")));
                    }
                };
                let own = *namespace.get_or_insert_with(|| bound.clone()) == bound;
                let name = start.local_name().as_ref().to_owned();
                open.push(own.then(|| Element { name, text: String::new(), children: Vec::new() }));
            }
            Event::End(_) => {
                let Some(done) = open.pop() else { return Err(broken("has an end tag without a start tag")) };
                if let Some(mut element) = done {
                    element.text = element.text.trim().to_owned();
                    match open.last_mut() {
                        None => root = Some(element),
                        Some(Some(parent)) => parent.children.push(element),
                        Some(None) => {}
                    }
                }
            }
            Event::Text(text) => append(&mut open, &text.xml10_content()),
            Event::CData(text) => append(&mut open, &text.xml10_content()),
            Event::GeneralRef(reference) => append(&mut open, &resolve(&reference)?),
            Event::DocType(_) => return Err(broken("must not have a document type: entities are never expanded")),
            Event::Decl(_) | Event::Comment(_) | Event::PI(_) => {}
            Event::Empty(_) => return Err(broken("is not well-formed XML")),
            Event::Eof => break,
        }
    }
    match (root, namespace, open.is_empty()) {
        (Some(root), Some(namespace), true) => Ok(Document { namespace, root }),
        _ => Err(broken("ends before its root element is closed")),
    }
}

fn append(open: &mut [Open], text: &str) {
    if let Some(Some(element)) = open.last_mut() {
        element.text.push_str(text);
    }
}

/// Resolves the five predefined XML entities and numeric character references.
fn resolve(reference: &BytesRef<'_>) -> Result<String, CapError> {
    if reference.is_char_ref() {
        let found = reference.resolve_char_ref().ok().flatten();
        return found.map(String::from).ok_or_else(|| broken("contains an invalid character reference"));
    }
    let name = reference.xml10_content();
    let text = match &*name {
        "amp" => "&",
        "lt" => "<",
        "gt" => ">",
        "quot" => "\"",
        "apos" => "'",
        other => return Err(broken(format!("the entity &{other}; is unknown"))),
    };
    Ok(text.to_owned())
}
