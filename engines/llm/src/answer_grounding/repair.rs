//! JSON as models write it: in fences, with comments, trailing commas, other quotes, cut off.

use serde_json::{Map, Number, Value};

/// Nesting that is read; deeper values are dropped.
const MAX_DEPTH: usize = 64;

/// Reads the JSON of an answer: as it is, in a fence, or from its first bracket, with its faults mended. `None` if there
/// is no object, array or plain value.
pub(crate) fn json(answer: &str) -> Option<Value> {
    let inner = fenced(answer).unwrap_or(answer).trim();
    if let Ok(value) = serde_json::from_str(inner) {
        return Some(value);
    }
    let start = inner.find(['{', '['])?;
    let letters: Vec<char> = inner.get(start..)?.chars().collect();
    let mut reader = Reader { letters: &letters, at: 0 };
    reader.value(0)
}

/// The content of the first fence that is not empty.
fn fenced(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("```")?;
    let (first, body) = rest.split_once('\n')?;
    let body = if first.trim_start().starts_with(['{', '[']) { rest } else { body };
    // A fence ends at the begin of a line: within a text of JSON there is no line break. One that began in its own line
    // ends in it.
    let end = body.find("\n```").or_else(|| body.rfind("```")).unwrap_or(body.len());
    body.get(..end).filter(|body| !body.trim().is_empty())
}

struct Reader<'a> {
    letters: &'a [char],
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.letters.get(self.at).copied()
    }

    /// Skips space and comments.
    fn skip(&mut self) {
        loop {
            match (self.peek(), self.letters.get(self.at + 1)) {
                (Some(letter), _) if letter.is_whitespace() => self.at += 1,
                (Some('/'), Some('/')) | (Some('#'), _) => self.until(|letter| letter == '\n'),
                (Some('/'), Some('*')) => {
                    self.at += 2;
                    while self.at < self.letters.len() && !self.starts("*/") {
                        self.at += 1;
                    }
                    self.at += 2;
                }
                _ => return,
            }
        }
    }

    fn until(&mut self, ends: impl Fn(char) -> bool) {
        while self.peek().is_some_and(|letter| !ends(letter)) {
            self.at += 1;
        }
    }

    fn starts(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(nth, letter)| self.letters.get(self.at + nth) == Some(&letter))
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        self.skip();
        match self.peek()? {
            '{' if depth < MAX_DEPTH => Some(self.object(depth)),
            '[' if depth < MAX_DEPTH => Some(self.array(depth)),
            '{' | '[' => {
                self.at = self.letters.len();
                None
            }
            '"' | '\'' | '“' | '‘' | '`' => Some(Value::String(self.quoted())),
            _ => Some(self.bare(&[',', '}', ']', '\n'])),
        }
    }

    fn object(&mut self, depth: usize) -> Value {
        let mut members = Map::new();
        self.at += 1;
        loop {
            self.skip();
            match self.peek() {
                None => break,
                Some('}') => {
                    self.at += 1;
                    break;
                }
                Some(',' | ';' | ']') => {
                    self.at += 1;
                    continue;
                }
                Some(_) => {}
            }
            let begin = self.at;
            let name = match self.peek() {
                Some('"' | '\'' | '“' | '‘' | '`') => self.quoted(),
                _ => match self.bare(&[':', '=', ',', '}', '\n']) {
                    Value::String(name) => name,
                    other => other.to_string(),
                },
            };
            self.skip();
            if matches!(self.peek(), Some(':' | '=')) {
                self.at += 1;
                self.skip();
                // A name without a value has none.
                let value = if matches!(self.peek(), None | Some(',' | '}')) { None } else { self.value(depth + 1) };
                members.insert(name, value.unwrap_or(Value::Null));
            }
            if self.at == begin {
                self.at += 1;
            }
        }
        Value::Object(members)
    }

    fn array(&mut self, depth: usize) -> Value {
        let mut items = Vec::new();
        self.at += 1;
        loop {
            self.skip();
            match self.peek() {
                None => break,
                Some(']') => {
                    self.at += 1;
                    break;
                }
                Some(',' | ';') => {
                    self.at += 1;
                    continue;
                }
                // The bracket of what the array is in: the array was not closed.
                Some('}') => break,
                Some(_) => {}
            }
            let begin = self.at;
            items.extend(self.value(depth + 1));
            if self.at == begin {
                self.at += 1;
            }
        }
        Value::Array(items)
    }

    fn quoted(&mut self) -> String {
        let close = match self.peek() {
            Some('“') => '”',
            Some('‘') => '’',
            Some(other) => other,
            None => return String::new(),
        };
        self.at += 1;
        let mut out = String::new();
        while let Some(letter) = self.peek() {
            self.at += 1;
            match letter {
                letter if letter == close => break,
                '\\' => {
                    let next = self.peek();
                    self.at += 1;
                    match next {
                        Some('n') => out.push('\n'),
                        Some('t') => out.push('\t'),
                        Some('r') => out.push('\r'),
                        Some('b' | 'f') | None => {}
                        Some('u') => out.push(self.escape()),
                        Some(other) => out.push(other),
                    }
                }
                other => out.push(other),
            }
        }
        out
    }

    /// A character of four hexadecimal digits, or of two such if it is a surrogate.
    fn escape(&mut self) -> char {
        let first = self.hex().unwrap_or(0xfffd);
        if (0xd800..0xdc00).contains(&first) && self.starts("\\u") {
            self.at += 2;
            let second = self.hex().unwrap_or(0);
            if (0xdc00..0xe000).contains(&second) {
                let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return char::from_u32(code).unwrap_or('\u{fffd}');
            }
        }
        char::from_u32(first).unwrap_or('\u{fffd}')
    }

    fn hex(&mut self) -> Option<u32> {
        let digits: String = self.letters.get(self.at..self.at + 4)?.iter().collect();
        let code = u32::from_str_radix(&digits, 16).ok()?;
        self.at += 4;
        Some(code)
    }

    /// A value without quotes: a number, a constant, or a text up to one of the signs.
    fn bare(&mut self, ends: &[char]) -> Value {
        let begin = self.at;
        while self.peek().is_some_and(|letter| !ends.contains(&letter)) && !self.starts("/*") {
            self.at += 1;
        }
        let text: String = self.letters.get(begin..self.at).unwrap_or_default().iter().collect();
        let text = text.trim();
        match text {
            "true" | "True" | "TRUE" => return Value::Bool(true),
            "false" | "False" | "FALSE" => return Value::Bool(false),
            "null" | "None" | "NULL" | "nil" | "undefined" | "NaN" | "Infinity" | "-Infinity" => return Value::Null,
            _ => {}
        }
        let plain = text.trim_start_matches('+').replace('_', "");
        if let Ok(whole) = plain.parse::<i64>() {
            return whole.into();
        }
        let number = plain.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '-' | '.'));
        match plain.parse::<f64>().ok().filter(|_| number).and_then(Number::from_f64) {
            Some(number) => Value::Number(number),
            None => Value::String(text.to_owned()),
        }
    }
}
