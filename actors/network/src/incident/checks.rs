//! Validation of an incident's fields; all failed checks are reported at once.

use serde_json::Value;

use muster_core::{Error, FieldError, Kind, Millis};

/// Largest number of characters of a line, such as a title.
pub const LINE: usize = 200;
/// Largest number of characters of a text, such as a note.
pub const TEXT: usize = 10_000;
/// Largest number of items of a list.
pub const LIST: usize = 100;

/// Collects failed checks.
#[derive(Debug, Default)]
pub(crate) struct Checks(Vec<FieldError>);

impl Checks {
    pub(crate) fn fail(&mut self, field: &str, msg: impl Into<String>) {
        let mut loc = vec!["body".to_owned()];
        loc.extend(field.split('.').map(str::to_owned));
        self.0.push(FieldError { kind: "value_error", loc, msg: msg.into(), input: Value::Null });
    }

    pub(crate) fn that(&mut self, holds: bool, field: &str, msg: &str) {
        if !holds {
            self.fail(field, msg);
        }
    }

    /// Requires 1 to 200 characters without control characters.
    pub(crate) fn line(&mut self, field: &str, text: &str) {
        let forbidden = |c: char| c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}');
        let fits = !text.trim().is_empty() && text.chars().count() <= LINE && !text.chars().any(forbidden);
        self.that(fits, field, "must be 1 to 200 characters, on one line");
    }

    /// Requires 1 to 10,000 characters.
    pub(crate) fn text(&mut self, field: &str, text: &str) {
        self.that(!text.trim().is_empty(), field, "must not be empty");
        self.that(text.chars().count() <= TEXT, field, "must be at most 10,000 characters");
        // CAP is XML, which cannot represent them.
        let forbidden =
            |c: char| (c.is_control() && !matches!(c, '\n' | '\r' | '\t')) || matches!(c, '\u{fffe}' | '\u{ffff}');
        self.that(!text.chars().any(forbidden), field, "must hold no control characters");
    }

    /// Requires at most 100 lines.
    pub(crate) fn lines(&mut self, field: &str, list: &[String]) {
        self.that(list.len() <= LIST, field, "must be at most 100");
        list.iter().take(LIST).for_each(|item| self.line(field, item));
    }

    /// Requires at most 100 identifiers with a prefix.
    pub(crate) fn ids(&mut self, field: &str, prefix: &str, list: &[String]) {
        self.that(list.len() <= LIST, field, "must be at most 100");
        list.iter().take(LIST).for_each(|item| self.id(field, prefix, item));
    }

    pub(crate) fn id(&mut self, field: &str, prefix: &str, id: &str) {
        let fits = id.starts_with(prefix) && id.len() <= 64 && id.bytes().all(|byte| byte.is_ascii_graphic());
        self.that(fits, field, &format!("must be an id that begins with {prefix}"));
    }

    /// Requires that the first time is not after the second, if both are set.
    pub(crate) fn ordered(&mut self, field: &str, first: Option<Millis>, second: Option<Millis>) {
        let ordered = first.zip(second).is_none_or(|(first, second)| first <= second);
        self.that(ordered, field, "must not be before onset or effective");
    }

    /// # Errors
    /// `Invalid` with every failed check.
    pub(crate) fn done(self) -> Result<(), Error> {
        let Some(first) = self.0.first() else { return Ok(()) };
        let name = first.loc.get(1..).unwrap_or_default().join(".");
        let mut error = Error::new(Kind::Invalid, format!("{name}: {}", first.msg));
        error.fields = self.0;
        Err(error)
    }
}

/// Requires a text of a request.
///
/// # Errors
/// `Invalid` if it is missing, empty or too long.
pub(crate) fn required(field: &str, text: Option<String>, why: &str) -> Result<String, Error> {
    let Some(text) = text else {
        let mut error = Error::field(Kind::Invalid, &["body", field], format!("is required: {why}"), Value::Null);
        error.fields.iter_mut().for_each(|field| field.kind = "missing");
        return Err(error);
    };
    let mut checks = Checks::default();
    checks.text(field, &text);
    checks.done().map(|()| text)
}
