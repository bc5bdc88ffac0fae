//! An alert's XML from its members, in the order of the standard.

use muster_engine::prelude::*;

use super::Trouble;

/// Members in all; a document of the largest size has fewer.
const MAX_ELEMENTS: usize = 20_000;

/// Elements of a member that is an object.
type Elements = &'static [(&'static str, Kind)];

/// What an element holds.
#[derive(Clone, Copy)]
enum Kind {
    /// Text, a number, or a list of them.
    Text,
    /// Texts that stand in one element, separated by spaces, in double quotes where they have spaces.
    Group,
    /// An object, or a list of them.
    Elements(Elements),
}

const ALERT: Elements = &[
    ("identifier", Kind::Text),
    ("sender", Kind::Text),
    ("sent", Kind::Text),
    ("status", Kind::Text),
    ("msgType", Kind::Text),
    ("source", Kind::Text),
    ("scope", Kind::Text),
    ("restriction", Kind::Text),
    ("addresses", Kind::Group),
    ("code", Kind::Text),
    ("note", Kind::Text),
    ("references", Kind::Group),
    ("incidents", Kind::Group),
    ("info", Kind::Elements(INFO)),
];
const INFO: Elements = &[
    ("language", Kind::Text),
    ("category", Kind::Text),
    ("event", Kind::Text),
    ("responseType", Kind::Text),
    ("urgency", Kind::Text),
    ("severity", Kind::Text),
    ("certainty", Kind::Text),
    ("audience", Kind::Text),
    ("eventCode", Kind::Elements(VALUE)),
    ("effective", Kind::Text),
    ("onset", Kind::Text),
    ("expires", Kind::Text),
    ("senderName", Kind::Text),
    ("headline", Kind::Text),
    ("description", Kind::Text),
    ("instruction", Kind::Text),
    ("web", Kind::Text),
    ("contact", Kind::Text),
    ("parameter", Kind::Elements(VALUE)),
    ("resource", Kind::Elements(RESOURCE)),
    ("area", Kind::Elements(AREA)),
];
const VALUE: Elements = &[("valueName", Kind::Text), ("value", Kind::Text)];
const RESOURCE: Elements = &[
    ("resourceDesc", Kind::Text),
    ("mimeType", Kind::Text),
    ("size", Kind::Text),
    ("uri", Kind::Text),
    ("derefUri", Kind::Text),
    ("digest", Kind::Text),
];
const AREA: Elements = &[
    ("areaDesc", Kind::Text),
    ("polygon", Kind::Text),
    ("circle", Kind::Text),
    ("geocode", Kind::Elements(VALUE)),
    ("altitude", Kind::Text),
    ("ceiling", Kind::Text),
];

struct Writer {
    out: String,
    left: usize,
    problems: Vec<Trouble>,
}

/// Returns the document, or the members that are no part of one.
pub(super) fn xml(alert: &Value) -> Result<Result<String, Vec<Trouble>>, Failure> {
    let Value::Object(members) = alert else {
        return Err(Failure::invalid(&["alert"], "must be an object with the elements of a CAP alert as members"));
    };
    let mut writer = Writer { out: String::new(), left: MAX_ELEMENTS, problems: Vec::new() };
    writer.out.push_str("<alert xmlns=\"urn:oasis:names:tc:emergency:cap:1.2\">");
    writer.elements(members, ALERT, "alert");
    writer.out.push_str("</alert>");
    if writer.left == 0 {
        return Err(Failure::too_large(format!("alert has more than {MAX_ELEMENTS} members")));
    }
    Ok(if writer.problems.is_empty() { Ok(writer.out) } else { Err(writer.problems) })
}

impl Writer {
    fn elements(&mut self, members: &Map<String, Value>, known: Elements, path: &str) {
        for name in members.keys().filter(|name| known.iter().all(|(known, _)| known != name)) {
            let name: String = name.chars().take(40).collect();
            let message = format!(
                "is no element of CAP here: known are {}",
                known.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
            );
            self.problem(format!("{path}/{name}"), message);
        }
        for (name, kind) in known {
            match members.get(*name) {
                None | Some(Value::Null) => {}
                Some(value) => self.element(name, *kind, value, &format!("{path}/{name}")),
            }
        }
    }

    fn element(&mut self, name: &str, kind: Kind, value: &Value, path: &str) {
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        match (kind, value) {
            (Kind::Group, Value::Array(items)) => {
                let quoted = |item: &Value| {
                    let text = item.as_str().map_or_else(|| item.to_string(), str::to_owned);
                    if text.contains(char::is_whitespace) { format!("\"{text}\"") } else { text }
                };
                let text = items.iter().take(MAX_ELEMENTS).map(quoted).collect::<Vec<_>>().join(" ");
                self.text(name, &text);
            }
            (_, Value::Array(items)) => {
                for (at, item) in items.iter().enumerate() {
                    if item.is_array() {
                        self.problem(format!("{path}[{}]", at + 1), "is a list in a list".to_owned());
                    } else {
                        self.element(name, kind, item, &format!("{path}[{}]", at + 1));
                    }
                }
            }
            (Kind::Elements(known), Value::Object(members)) => {
                self.out.push_str(&format!("<{name}>"));
                self.elements(members, known, path);
                self.out.push_str(&format!("</{name}>"));
            }
            (Kind::Text | Kind::Group, Value::String(text)) => self.text(name, text),
            (Kind::Text, Value::Number(number)) => self.text(name, &number.to_string()),
            (Kind::Elements(_), _) => {
                self.problem(path.to_owned(), "must be an object or a list of objects".to_owned())
            }
            _ => self.problem(path.to_owned(), "must be a text".to_owned()),
        }
    }

    fn text(&mut self, name: &str, text: &str) {
        self.out.push_str(&format!("<{name}>"));
        for letter in text.chars() {
            match letter {
                '&' => self.out.push_str("&amp;"),
                '<' => self.out.push_str("&lt;"),
                '>' => self.out.push_str("&gt;"),
                other => self.out.push(other),
            }
        }
        self.out.push_str(&format!("</{name}>"));
    }

    fn problem(&mut self, path: String, message: String) {
        if self.problems.len() < 100 {
            self.problems.push(Trouble { path, message });
        }
    }
}
