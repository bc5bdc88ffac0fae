//! The members of one object, or the parameters of a query, and what is wrong with them.

use std::fmt::Display;
use std::ops::RangeInclusive;

use muster_names::{shortened, unknown};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::Request;
use crate::rejection::{Problems, UNKNOWN, failure};

/// Replaces the message of a failed bound.
type Message<'m> = Option<&'m dyn Fn() -> String>;

/// The members of one JSON object, or the parameters of a query.
#[derive(Debug)]
pub struct Fields<'a> {
    object: &'a Map<String, Value>,
    /// The parameters as they were sent; `None` of a body.
    pairs: Option<&'a [(String, String)]>,
    path: Vec<String>,
    /// Whether members that are not known are ignored.
    open: bool,
    problems: &'a mut Problems,
}

impl<'a> Fields<'a> {
    pub(crate) fn of_body(object: &'a Map<String, Value>, problems: &'a mut Problems) -> Self {
        Self { object, pairs: None, path: vec!["body".to_owned()], open: false, problems }
    }

    pub(crate) fn of_query(
        object: &'a Map<String, Value>,
        pairs: &'a [(String, String)],
        problems: &'a mut Problems,
    ) -> Self {
        Self { object, pairs: Some(pairs), path: vec!["query".to_owned()], open: false, problems }
    }

    /// Reads a request out of all members. This is where members that it does not name are refused.
    pub(crate) fn whole<T: Request>(&mut self) -> Option<T> {
        self.open |= T::OPEN;
        if !self.open {
            let mut known = Vec::new();
            T::names(&mut known);
            self.only(&known);
        }
        T::read(self)
    }

    /// Refuses members other than these, unless the request is open. A function that reads an object by itself calls it.
    pub fn only(&mut self, known: &[&str]) {
        if self.open {
            return;
        }
        let what = if self.is_query() { "query parameter" } else { "field" };
        let (pairs, object) = (self.pairs, self.object);
        let mut refuse = |name: &str, input: &Value| {
            let mut loc = self.path.clone();
            loc.push(shortened(name));
            self.problems.push(failure(UNKNOWN, loc, unknown(what, name, known), input));
            !self.problems.is_full()
        };
        // Of a query also empty parameters count, which may be left out of the object.
        let Some(pairs) = pairs else {
            let mut unknown = object.iter().filter(|(name, _)| !known.contains(&name.as_str()));
            unknown.all(|(name, value)| refuse(name, value));
            return;
        };
        let mut refused: Vec<&str> = Vec::new();
        for (name, text) in pairs.iter().filter(|(name, _)| !known.contains(&name.as_str())) {
            if !refused.contains(&name.as_str()) {
                refused.push(name);
                if !refuse(name, &Value::String(text.clone())) {
                    break;
                }
            }
        }
    }

    /// Notes a failed check of a member; dots in `name` lead into it.
    pub fn fail(&mut self, name: &str, msg: impl AsRef<str>) {
        self.note("value_error", name, msg.as_ref());
    }

    /// Notes that a known member or its value is not supported.
    pub fn unsupported(&mut self, name: &str, msg: impl AsRef<str>) {
        self.note("unsupported_value", name, msg.as_ref());
    }

    fn note(&mut self, kind: &'static str, name: &str, msg: &str) {
        self.note_at(kind, name.split('.').map(str::to_owned).collect(), msg);
    }

    fn note_at(&mut self, kind: &'static str, names: Vec<String>, msg: &str) {
        let input = self.object.get(&names.join(".")).unwrap_or(&Value::Null);
        let mut loc = self.path.clone();
        loc.extend(names);
        self.problems.push(failure(kind, loc, msg, input));
    }

    /// Whether a member was sent as null.
    #[must_use]
    pub fn is_null(&self, name: &str) -> bool {
        self.object.get(name).is_some_and(Value::is_null)
    }

    /// Notes a failure where a member was sent as null.
    pub fn refuse_null(&mut self, name: &str) {
        if self.is_null(name) {
            self.fail(name, "must not be null: leave it out, or send an empty one");
        }
    }

    /// A value that null clears.
    #[must_use]
    pub fn nullable<T>(&self, name: &str, value: Option<T>) -> Option<Option<T>> {
        value.map(Some).or_else(|| self.is_null(name).then_some(None))
    }

    /// Names of the members that were sent with a value; null counts as left out.
    pub fn sent(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.object.iter().filter(|(_, value)| !value.is_null()).map(|(name, _)| name.as_str())
    }

    /// The value of a member; null counts as left out.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&'a Value> {
        self.object.get(name).filter(|value| !value.is_null())
    }

    /// Every value of a repeated parameter of a query.
    pub fn texts(&self, name: &str) -> impl Iterator<Item = &'a str> + use<'a> {
        let name = name.to_owned();
        self.pairs.unwrap_or_default().iter().filter(move |(known, _)| *known == name).map(|(_, text)| text.as_str())
    }

    /// The single value of a parameter; `None` of a body, or where it was not sent.
    fn parameter(&mut self, name: &str) -> Option<Option<&'a str>> {
        self.pairs?;
        Some(match self.value(name) {
            Some(Value::String(text)) => Some(text),
            Some(_) => {
                self.fail(name, "must be sent once");
                None
            }
            None => None,
        })
    }

    fn typed<T>(&mut self, name: &str, expected: &str, read: impl Fn(&'a Value) -> Option<T>) -> Option<T> {
        let value = self.value(name)?;
        let read = read(value);
        if read.is_none() {
            self.note("type_error", name, &format!("must be {expected}"));
        }
        read
    }

    /// How many failed checks were noted so far.
    #[must_use]
    pub fn failures(&self) -> usize {
        self.problems.count
    }

    /// Notes a required member for which nothing was read, where its reader did not note why.
    pub fn required<T>(&mut self, name: &str, value: Option<T>, failures_before: usize) -> Option<T> {
        if value.is_none() && self.failures() == failures_before {
            self.note("missing", name, "is required");
        }
        value
    }

    /// Whether it is a query that is read.
    #[must_use]
    pub fn is_query(&self) -> bool {
        self.pairs.is_some()
    }

    /// Notes a required member that was left out.
    pub fn require<T>(&mut self, name: &str, value: Option<T>) -> Option<T> {
        if value.is_none() && self.value(name).is_none() {
            self.note("missing", name, "is required");
        }
        value
    }

    /// A text.
    pub fn string(&mut self, name: &str) -> Option<String> {
        match self.parameter(name) {
            Some(text) => text.map(str::to_owned),
            None => self.typed(name, "a string", |value| value.as_str().map(str::to_owned)),
        }
    }

    /// A text that must be sent; empty where it was not.
    pub fn required_string(&mut self, name: &str) -> String {
        let text = self.string(name);
        self.require(name, text).unwrap_or_default()
    }

    /// A list of texts, with bounds of how many there are and of the characters of each.
    pub fn strings(
        &mut self,
        name: &str,
        items: RangeInclusive<usize>,
        chars: RangeInclusive<usize>,
    ) -> Option<Vec<String>> {
        let sent = self.typed(name, "an array of strings", Value::as_array)?;
        if !items.contains(&sent.len()) {
            self.fail(name, format!("must have {} to {} items", items.start(), items.end()));
            return None;
        }
        let mut texts = Vec::with_capacity(sent.len());
        for (index, item) in sent.iter().enumerate() {
            let names = vec![name.to_owned(), index.to_string()];
            match item.as_str() {
                Some(text) if chars.contains(&text.chars().count()) => texts.push(text.to_owned()),
                Some(_) => {
                    let bound = format!("must have {} to {} characters", chars.start(), chars.end());
                    self.note_at("value_error", names, &bound);
                }
                None => self.note_at("type_error", names, "must be a string"),
            }
        }
        Some(texts)
    }

    /// True or false.
    pub fn bool(&mut self, name: &str) -> Option<bool> {
        let Some(text) = self.parameter(name) else { return self.typed(name, "true or false", Value::as_bool) };
        let read = text?.parse().ok();
        if read.is_none() {
            self.fail(name, "must be true or false");
        }
        read
    }

    /// A whole number of `range`.
    pub fn integer<T: TryFrom<i128>>(&mut self, name: &str, range: RangeInclusive<i128>) -> Option<T> {
        self.integer_or(name, range, None)
    }

    /// A whole number of `range`, with a message of its own where it is none.
    pub fn integer_or<T: TryFrom<i128>>(
        &mut self,
        name: &str,
        range: RangeInclusive<i128>,
        message: Message<'_>,
    ) -> Option<T> {
        let (number, range) = match self.parameter(name) {
            Some(text) => (text?.parse().ok(), range),
            None => {
                let most = (*range.end()).min(i64::MAX.into());
                (Some(self.typed(name, "a whole number", whole)?.into()), *range.start()..=most)
            }
        };
        let fits = number.filter(|number| range.contains(number)).and_then(|number| T::try_from(number).ok());
        self.bounded(name, fits, || format!("must be {} to {}", range.start(), range.end()), message)
    }

    /// A number of `range`.
    pub fn number(&mut self, name: &str, range: RangeInclusive<f64>) -> Option<f64> {
        self.number_or(name, range, None)
    }

    /// A number of `range`, with a message of its own where it is none.
    pub fn number_or(&mut self, name: &str, range: RangeInclusive<f64>, message: Message<'_>) -> Option<f64> {
        let number: Option<f64> = match self.parameter(name) {
            Some(text) => text?.parse().ok(),
            None => Some(self.typed(name, "a number", Value::as_f64)?),
        };
        let fits = number.filter(|number| range.contains(number));
        self.bounded(name, fits, || format!("must be {} to {}", range.start(), range.end()), message)
    }

    /// A value of a type that serde reads, such as one of the names of an enumeration.
    pub fn choice<T: DeserializeOwned>(&mut self, name: &str) -> Option<T> {
        if self.pairs.is_some() && self.parameter(name)?.is_none() {
            return None;
        }
        let value = self.value(name)?;
        let mut place = self.path.clone();
        place.push(name.to_owned());
        if !self.open {
            return self.problems.read_value(value, &place);
        }
        T::deserialize(value).map_err(|error| self.fail(name, error.to_string())).ok()
    }

    /// Notes a failed bound.
    fn bounded<T>(
        &mut self,
        name: &str,
        fits: Option<T>,
        bound: impl Fn() -> String,
        message: Message<'_>,
    ) -> Option<T> {
        if fits.is_none() {
            self.fail(name, message.map_or_else(bound, |message| message()));
        }
        fits
    }

    /// Checks how many characters a text has.
    pub fn chars(
        &mut self,
        name: &str,
        text: Option<String>,
        least: usize,
        most: Option<usize>,
        no_nul: bool,
        message: Message<'_>,
    ) -> Option<String> {
        let text = text?;
        let fits = fits(text.chars().count(), least, most) && !(no_nul && text.contains('\0'));
        self.bounded(name, fits.then_some(text), || bound(least, most) + " characters", message)
    }

    /// Checks how many items a list has.
    pub fn items<T>(
        &mut self,
        name: &str,
        items: Option<Vec<T>>,
        least: usize,
        most: Option<usize>,
        message: Message<'_>,
    ) -> Option<Vec<T>> {
        let items = items?;
        let fits = fits(items.len(), least, most);
        self.bounded(name, fits.then_some(items), || bound(least, most), message)
    }

    /// Checks a value.
    pub fn check<T, E: Display>(
        &mut self,
        name: &str,
        value: Option<T>,
        check: impl Fn(&T) -> Result<(), E>,
    ) -> Option<T> {
        let value = value?;
        match check(&value) {
            Ok(()) => Some(value),
            Err(error) => {
                self.fail(name, error.to_string());
                None
            }
        }
    }

    /// An object that is a request itself.
    pub fn nested<T: Request>(&mut self, name: &str) -> Option<T> {
        self.object(name, |fields| fields.whole()).flatten()
    }

    /// An array of objects that are requests themselves. What is wrong with one of them is noted; it is left out then.
    pub fn list<T: Request>(&mut self, name: &str) -> Option<Vec<T>> {
        self.objects(name, |fields| fields.whole()).map(|all| all.into_iter().flatten().collect())
    }

    /// As [`Fields::list`]; an array with fewer or more items is refused unread.
    pub fn list_of<T: Request>(
        &mut self,
        name: &str,
        least: usize,
        most: Option<usize>,
        message: Message<'_>,
    ) -> Option<Vec<T>> {
        if let Some(sent) = self.value(name).and_then(Value::as_array) {
            let fits = fits(sent.len(), least, most).then_some(());
            self.bounded(name, fits, || bound(least, most), message)?;
        }
        self.list(name)
    }

    /// Each object of an array, read by `each`.
    pub fn objects<T>(&mut self, name: &str, each: impl Fn(&mut Fields<'_>) -> T) -> Option<Vec<T>> {
        let items = self.typed(name, "an array", Value::as_array)?;
        let mut read = Vec::with_capacity(items.len().min(1024));
        for (index, item) in items.iter().enumerate() {
            let mut path = self.path.clone();
            path.extend([name.to_owned(), index.to_string()]);
            match item.as_object() {
                Some(object) => {
                    read.push(each(&mut Fields { object, pairs: None, path, open: self.open, problems: self.problems }))
                }
                None => self.problems.push(failure("type_error", path, "must be an object", item)),
            }
        }
        Some(read)
    }

    /// One object, read by `read`.
    pub fn object<T>(&mut self, name: &str, read: impl FnOnce(&mut Fields<'_>) -> T) -> Option<T> {
        let object = self.typed(name, "an object", Value::as_object)?;
        let mut path = self.path.clone();
        path.push(name.to_owned());
        Some(read(&mut Fields { object, pairs: None, path, open: self.open, problems: self.problems }))
    }
}

/// A number without a fraction, also where it is written with one.
fn whole(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| {
        value.as_f64().filter(|number| number.fract() == 0.0 && number.abs() < 9e15).map(|number| number as i64)
    })
}

fn fits(size: usize, least: usize, most: Option<usize>) -> bool {
    size >= least && most.is_none_or(|most| size <= most)
}

fn bound(least: usize, most: Option<usize>) -> String {
    match (least, most) {
        (0, Some(most)) => format!("must be at most {most}"),
        (least, Some(most)) => format!("must be {least} to {most}"),
        (least, None) => format!("must be at least {least}"),
    }
}
