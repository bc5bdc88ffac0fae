//! Parser of the type grammar.

use serde_json::Value;

use super::{Field, Member, Need, Prim, Range, Type};

/// Error: a text does not follow the grammar.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} in {text:?}")]
pub struct Malformed {
    /// What is wrong.
    pub what: String,
    /// The rejected text.
    pub text: String,
}

/// Parses `name:type:unit:required|optional|=default`.
///
/// # Errors
/// [`Malformed`] with what is wrong.
pub fn parse_input(text: &str) -> Result<Field, Malformed> {
    let [name, kind, unit, need] = parts(text)?;
    let need = match need.trim() {
        "required" => Need::Required,
        "optional" => Need::Optional,
        other => match other.strip_prefix('=') {
            Some(default) => Need::Default(literal(default)),
            None => return Err(malformed("a field is required, optional or has a =default", text)),
        },
    };
    field(name, kind, unit, need)
}

/// Parses `name:type:unit`.
///
/// # Errors
/// [`Malformed`] with what is wrong.
pub fn parse_output(text: &str) -> Result<Field, Malformed> {
    let [name, kind, unit] = parts(text)?;
    field(name, kind, unit, Need::Optional)
}

/// Parses a type.
///
/// # Errors
/// [`Malformed`] with what is wrong.
pub fn parse_type(text: &str) -> Result<Type, Malformed> {
    let mut reader = Reader { text, rest: text };
    let kind = reader.kind()?;
    if reader.rest.is_empty() { Ok(kind) } else { Err(malformed("trailing text", text)) }
}

/// Parses JSON; anything else is a text.
pub(crate) fn literal(text: &str) -> Value {
    serde_json::from_str(text.trim()).unwrap_or_else(|_| Value::String(text.trim().to_owned()))
}

fn malformed(what: impl Into<String>, text: &str) -> Malformed {
    Malformed { what: what.into(), text: text.to_owned() }
}

fn parts<const N: usize>(text: &str) -> Result<[&str; N], Malformed> {
    let parts: Vec<&str> = text.splitn(N, ':').collect();
    parts.try_into().map_err(|_| malformed(format!("a field needs {N} parts"), text))
}

fn field(name: &str, kind: &str, unit: &str, need: Need) -> Result<Field, Malformed> {
    let (name, unit) = (name.trim(), unit.trim());
    if !is_name(name) {
        return Err(malformed("no name of a field", name));
    }
    if unit.is_empty() {
        return Err(malformed("no unit (`-` for none)", name));
    }
    let (unit, range) = ranged(unit)?;
    let unit = if unit == "-" { String::new() } else { unit.to_owned() };
    Ok(Field { name: name.to_owned(), kind: parse_type(kind.trim())?, unit, range, need })
}

/// Splits `deg[-90..90]` into unit and range.
fn ranged(unit: &str) -> Result<(&str, Range), Malformed> {
    let Some((word, range)) = unit.strip_suffix(']').and_then(|open| open.split_once('[')) else {
        return Ok((unit, Range::default()));
    };
    let Some((least, most)) = range.split_once("..") else { return Err(malformed("no range", unit)) };
    let bound = |text: &str| match text {
        "" => Ok(None),
        text => text.parse().map(Some).map_err(|_| malformed("no number as a bound", unit)),
    };
    Ok((word, Range { least: bound(least)?, most: bound(most)? }))
}

fn is_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

struct Reader<'a> {
    text: &'a str,
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn kind(&mut self) -> Result<Type, Malformed> {
        if self.take("enum(") {
            let values: Vec<String> = self.until(')')?.split('|').map(str::to_owned).collect();
            let distinct = values.iter().enumerate().all(|(at, value)| !values.iter().take(at).any(|v| v == value));
            return if distinct && values.iter().all(|value| !value.is_empty()) {
                Ok(Type::Enum(values))
            } else {
                Err(malformed("an enum's values are distinct and not empty", self.text))
            };
        }
        if self.take("array<") {
            return Ok(Type::Array(Box::new(self.closed()?)));
        }
        if self.take("map<") {
            return Ok(Type::Map(Box::new(self.closed()?)));
        }
        if self.take("{") {
            return self.record();
        }
        let word = self.word(|c| c.is_ascii_lowercase());
        let prim = Prim::ALL.iter().find(|(_, name)| *name == word);
        prim.map(|(prim, _)| Type::Prim(*prim)).ok_or_else(|| malformed(format!("no type `{word}`"), self.text))
    }

    fn closed(&mut self) -> Result<Type, Malformed> {
        let kind = self.kind()?;
        if self.take(">") { Ok(kind) } else { Err(malformed("a `>` is missing", self.text)) }
    }

    fn record(&mut self) -> Result<Type, Malformed> {
        let mut members: Vec<Member> = Vec::new();
        loop {
            let name = self.word(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_').to_owned();
            let optional = self.take("?");
            if !is_name(&name) || !self.take("=") || members.iter().any(|member| member.name == name) {
                return Err(malformed(format!("no field of a record at `{name}`"), self.text));
            }
            let kind = self.kind()?;
            let unit = if self.take("[") { self.until(']')?.to_owned() } else { String::new() };
            members.push(Member { name, kind, optional, unit });
            if self.take("}") {
                return Ok(Type::Record(members));
            }
            if !self.take(",") {
                return Err(malformed("a `,` or `}` is missing", self.text));
            }
        }
    }

    fn take(&mut self, token: &str) -> bool {
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn until(&mut self, end: char) -> Result<&'a str, Malformed> {
        let (before, after) =
            self.rest.split_once(end).ok_or_else(|| malformed(format!("a `{end}` is missing"), self.text))?;
        self.rest = after;
        Ok(before)
    }

    fn word(&mut self, of: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !of(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }
}
