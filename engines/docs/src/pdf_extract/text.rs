//! Text of pages: what their content streams show, in the order of drawing.

use std::collections::BTreeMap;

use lopdf::content::Content;
use lopdf::{Dictionary, Document, Encoding, Object, ObjectId, Stream};

/// Most bytes of one content stream, operators of all, and bytes of text.
const MAX_CONTENT: usize = 2 << 20;
/// Most bytes that the contents of all pages inflate to: pages may share streams.
const MAX_INFLATED: usize = 128 << 20;
const MAX_OPERATORS: usize = 1_000_000;
const MAX_TEXT: usize = 4 << 20;
/// Forms within forms.
const MAX_DEPTH: usize = 12;
/// A step back of this share of the size between two pieces is a blank.
const BLANK: f64 = 0.2;

/// Text of a page.
pub(super) struct Found {
    pub(super) text: String,
    pub(super) has_pictures: bool,
}

pub(super) struct Reader<'a> {
    document: &'a Document,
    operators: usize,
    inflated: usize,
    length: usize,
    skipped: usize,
    ended: bool,
}

/// What is being drawn.
struct Page {
    text: String,
    has_pictures: bool,
}

/// Where text is written, as far as lines and blanks need it.
#[derive(Clone, Copy)]
struct State {
    /// The line's matrix: only shift and vertical scale are followed.
    x: f64,
    y: f64,
    scale: f64,
    size: f64,
    leading: f64,
    /// Where the last piece was written.
    last: Option<(f64, f64)>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(document: &'a Document) -> Self {
        Self { document, operators: 0, inflated: 0, length: 0, skipped: 0, ended: false }
    }

    pub(super) fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.skipped > 0 {
            warnings.push(format!("skipped: {} damaged or very large parts of pages have no text here", self.skipped));
        }
        if self.ended {
            warnings.push(
                "truncated: the pages have more text or drawing than is read: choose some with `pages`".to_owned(),
            );
        }
        warnings
    }

    pub(super) fn page(&mut self, id: ObjectId) -> Found {
        let mut page = Page { text: String::new(), has_pictures: false };
        let mut content = Vec::new();
        for part in self.document.get_page_contents(id) {
            if let Ok(stream) = self.document.get_object(part).and_then(Object::as_stream) {
                content.extend(self.content(stream));
                content.push(b'\n');
            }
            if content.len() > MAX_CONTENT {
                break;
            }
        }
        let resources = self.inherited(id);
        if content.len() > MAX_CONTENT {
            self.skipped += 1;
        } else {
            self.walk(&content, &resources, &mut page, 0);
        }
        let text = tidy(&page.text);
        self.length += text.len();
        Found { text, has_pictures: page.has_pictures }
    }

    /// The resources of a page, its own first, then those of the nodes above.
    fn inherited(&self, id: ObjectId) -> Vec<&'a Dictionary> {
        let mut found = Vec::new();
        let mut node = self.document.get_dictionary(id).ok();
        for _ in 0..64 {
            let Some(here) = node else { break };
            found.extend(here.get_deref(b"Resources", self.document).and_then(Object::as_dict).ok());
            node = here.get_deref(b"Parent", self.document).and_then(Object::as_dict).ok();
        }
        found
    }

    /// Decodes a stream that is no picture: those were not measured.
    fn content(&mut self, stream: &Stream) -> Vec<u8> {
        let is_picture = stream.dict.get(b"Subtype").and_then(Object::as_name).is_ok_and(|name| name == b"Image");
        if is_picture || self.ended {
            return Vec::new();
        }
        let content = stream.decompressed_content().unwrap_or_else(|_| {
            self.skipped += 1;
            Vec::new()
        });
        self.inflated += content.len() + stream.content.len();
        self.ended = self.inflated > MAX_INFLATED;
        content
    }

    fn entry(&self, resources: &[&'a Dictionary], kind: &[u8], name: &[u8]) -> Option<&'a Object> {
        resources.iter().find_map(|resources| {
            let group = resources.get_deref(kind, self.document).and_then(Object::as_dict).ok()?;
            group.get_deref(name, self.document).ok()
        })
    }

    fn walk(&mut self, content: &[u8], resources: &[&'a Dictionary], page: &mut Page, depth: usize) {
        let Ok(content) = Content::decode(content) else {
            self.skipped += 1;
            return;
        };
        let mut fonts: BTreeMap<Vec<u8>, Option<Encoding<'a>>> = BTreeMap::new();
        let mut font: Vec<u8> = Vec::new();
        let start = State { x: 0.0, y: 0.0, scale: 1.0, size: 1.0, leading: 0.0, last: None };
        let mut state = start;
        for operation in content.operations {
            self.operators += 1;
            if self.operators > MAX_OPERATORS || self.length + page.text.len() > MAX_TEXT {
                self.ended = true;
                return;
            }
            let number =
                |at: usize| operation.operands.get(at).and_then(|object| object.as_float().ok()).map_or(0.0, f64::from);
            match operation.operator.as_str() {
                "BT" => state = State { last: state.last, size: state.size, leading: state.leading, ..start },
                "Tf" => {
                    if let Some(name) = operation.operands.first().and_then(|name| name.as_name().ok()) {
                        font = name.to_vec();
                        if !fonts.contains_key(&font) {
                            fonts.insert(font.clone(), self.encoding(resources, name));
                        }
                    }
                    state.size = number(1).abs().max(0.01);
                }
                "TL" => state.leading = number(0),
                "Td" => state.shift(number(0), number(1)),
                "TD" => {
                    state.leading = -number(1);
                    state.shift(number(0), number(1));
                }
                "T*" => state.shift(0.0, -state.leading),
                "Tm" => {
                    state.scale = number(3).abs().max(number(0).abs()).max(1e-3);
                    (state.x, state.y) = (number(4), number(5));
                }
                "Tj" | "'" | "\"" | "TJ" => {
                    if matches!(operation.operator.as_str(), "'" | "\"") {
                        state.shift(0.0, -state.leading);
                    }
                    separate(&mut state, &mut page.text);
                    let encoding = fonts.get(&font).and_then(Option::as_ref);
                    for operand in &operation.operands {
                        show(operand, encoding, &mut page.text);
                    }
                }
                "Do" => {
                    let name = operation.operands.first().and_then(|name| name.as_name().ok());
                    let drawn = name.and_then(|name| self.entry(resources, b"XObject", name));
                    if let Some(stream) = drawn.and_then(|object| object.as_stream().ok()) {
                        self.form(stream, resources, page, depth);
                    }
                }
                "BI" => page.has_pictures = true,
                _ => {}
            }
        }
    }

    /// A form is drawn within the page; one without resources uses those of the page.
    fn form(&mut self, stream: &'a Stream, resources: &[&'a Dictionary], page: &mut Page, depth: usize) {
        match stream.dict.get(b"Subtype").and_then(Object::as_name) {
            Ok(b"Image") => page.has_pictures = true,
            Ok(b"Form") if depth < MAX_DEPTH => {
                let content = self.content(stream);
                // Forms that draw forms again and again cost what they inflate to.
                self.operators += 1 + content.len() / 16;
                if content.len() > MAX_CONTENT {
                    self.skipped += 1;
                    return;
                }
                let own = stream.dict.get_deref(b"Resources", self.document).and_then(Object::as_dict);
                let inside: Vec<&Dictionary> = own.into_iter().chain(resources.iter().copied()).take(64).collect();
                page.text.push('\n');
                self.walk(&content, &inside, page, depth + 1);
                page.text.push('\n');
            }
            Ok(b"Form") => self.skipped += 1,
            _ => {}
        }
    }

    /// The table to Unicode first, if a font has one: its encoding may be of its own.
    fn encoding(&mut self, resources: &[&'a Dictionary], name: &[u8]) -> Option<Encoding<'a>> {
        let font = self.entry(resources, b"Font", name)?.as_dict().ok()?;
        let table = font.get_deref(b"ToUnicode", self.document).and_then(Object::as_stream);
        if let Ok(table) = table {
            let is_picture = table.dict.get(b"Subtype").and_then(Object::as_name).is_ok_and(|name| name == b"Image");
            self.operators += 100 + table.content.len() / 8;
            if !is_picture {
                let mut with_table = Dictionary::new();
                with_table.set("Type", Object::Name(b"Font".to_vec()));
                with_table.set("ToUnicode", Object::Stream(table.clone()));
                if let Ok(Encoding::UnicodeMapEncoding(map)) = with_table.get_font_encoding(self.document) {
                    return Some(Encoding::UnicodeMapEncoding(map));
                }
            }
        }
        font.get_font_encoding(self.document).ok()
    }
}

impl State {
    fn shift(&mut self, x: f64, y: f64) {
        self.x += x * self.scale;
        self.y += y * self.scale;
    }
}

/// Begins a new line or word where the next piece is written elsewhere.
fn separate(state: &mut State, text: &mut String) {
    let size = state.size * state.scale;
    match state.last {
        Some((_, y)) if (state.y - y).abs() > size * 0.4 => text.push('\n'),
        Some((x, _)) if (state.x - x).abs() > size * BLANK => text.push(' '),
        _ => {}
    }
    state.last = Some((state.x, state.y));
}

fn show(operand: &Object, encoding: Option<&Encoding<'_>>, text: &mut String) {
    match operand {
        Object::String(bytes, _) => match encoding.map(|encoding| encoding.bytes_to_string(bytes)) {
            Some(Ok(decoded)) => text.push_str(&decoded),
            _ => text.extend(bytes.iter().map(|byte| char::from(*byte)).filter(|c| !c.is_control())),
        },
        Object::Array(parts) => {
            for part in parts {
                match part {
                    Object::String(..) => show(part, encoding, text),
                    // In thousandths of the size, to the left: large ones are blanks.
                    other => {
                        if other.as_float().is_ok_and(|shift| f64::from(shift) < -1_000.0 * BLANK) {
                            text.push(' ');
                        }
                    }
                }
            }
        }
        _ => {}
    }
}

/// Takes off blanks at the ends of lines, and control characters.
fn tidy(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in text.split('\n') {
        let line: String = line.chars().filter(|c| !c.is_control()).collect();
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        if !line.is_empty() || lines.last().is_some_and(|last| !last.is_empty()) {
            lines.push(line);
        }
    }
    lines.join("\n").trim().to_owned()
}
