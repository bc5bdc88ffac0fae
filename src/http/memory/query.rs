//! The parameters of a query: unknown ones ignored, every failed check told at once.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use muster_core::page::PageAsk;
use muster_core::{Error, FieldError, Kind};
use muster_memory::MAX_TAGS;

use super::entry::{unfit_key, unfit_namespace, unfit_tag, unfit_thread};

/// A query as it was sent: names may come more than once, of those that take one value the last counts.
pub(super) type Pairs = Vec<(String, String)>;

/// A cursor is a server's own text, and never long.
pub(super) const MAX_CURSOR: usize = 2_048;
pub(super) const NO_CURSOR: &str = "is no cursor of this server";
/// How much of what was sent is sent back.
const SHOWN: usize = 200;

/// Reads a query, and notes what is wrong with it.
#[derive(Debug)]
pub(super) struct Query<'a> {
    pairs: &'a [(String, String)],
    wrong: Vec<FieldError>,
}

impl<'a> Query<'a> {
    pub(super) fn new(pairs: &'a [(String, String)]) -> Self {
        Self { pairs, wrong: Vec::new() }
    }

    pub(super) fn fail(&mut self, name: &str, msg: impl Into<String>) {
        let input = self.get(name).map(|text| text.chars().take(SHOWN).collect::<String>());
        let kind = if input.is_some() { "value_error" } else { "missing" };
        let loc = vec!["query".to_owned(), name.to_owned()];
        self.wrong.push(FieldError { kind, loc, msg: msg.into(), input: input.into() });
    }

    /// The value of a parameter; an empty one counts as left out.
    pub(super) fn get(&self, name: &str) -> Option<&'a str> {
        let of = self.pairs.iter().rev().find(|(known, _)| known == name);
        of.map(|(_, text)| text.as_str()).filter(|text| !text.is_empty())
    }

    pub(super) fn required(&mut self, name: &str) -> Option<&'a str> {
        let text = self.get(name);
        if text.is_none() {
            self.fail(name, "is required");
        }
        text
    }

    /// A text, and what keeps it from being what it is to be.
    pub(super) fn fit(&mut self, name: &str, unfit: impl Fn(&str) -> Option<String>) -> Option<String> {
        let text = self.get(name)?;
        if let Some(why) = unfit(text) {
            self.fail(name, why);
        }
        Some(text.to_owned())
    }

    pub(super) fn namespace(&mut self) -> Option<String> {
        self.fit("namespace", unfit_namespace)
    }

    pub(super) fn key(&mut self) -> Option<String> {
        self.fit("key", unfit_key)
    }

    pub(super) fn key_prefix(&mut self) -> Option<String> {
        self.fit("key_prefix", unfit_key)
    }

    pub(super) fn thread(&mut self) -> Option<String> {
        self.fit("thread", unfit_thread)
    }

    /// Tags, repeated or with commas between, none twice.
    pub(super) fn tags(&mut self, name: &str) -> Vec<String> {
        let mut tags: Vec<String> = Vec::new();
        let sent = self.pairs.iter().filter(|(known, _)| known == name).flat_map(|(_, text)| text.split(','));
        for tag in sent.map(str::trim).filter(|tag| !tag.is_empty()) {
            if let Some(why) = unfit_tag(tag) {
                self.fail(name, why);
                return tags;
            }
            if !tags.iter().any(|known| known == tag) {
                tags.push(tag.to_owned());
            }
            if tags.len() > MAX_TAGS {
                self.fail(name, format!("must be at most {MAX_TAGS}"));
                return tags;
            }
        }
        tags
    }

    pub(super) fn flag(&mut self, name: &str) -> bool {
        match self.get(name) {
            Some("true" | "1") => true,
            None | Some("false" | "0") => false,
            Some(_) => {
                self.fail(name, "must be true or false");
                false
            }
        }
    }

    /// A number of `range`; NaN is in none.
    pub(super) fn number<T: FromStr + PartialOrd + Display>(
        &mut self,
        name: &str,
        range: RangeInclusive<T>,
    ) -> Option<T> {
        let number = self.get(name)?.parse().ok().filter(|number| range.contains(number));
        if number.is_none() {
            self.fail(name, format!("must be {} to {}", range.start(), range.end()));
        }
        number
    }

    /// The page; 1 to 200 items.
    pub(super) fn page(&mut self, default: usize) -> PageAsk {
        let limit = self.number("limit", 1..=200).unwrap_or(default);
        let after = self.get("cursor").map(str::to_owned);
        if after.as_ref().is_some_and(|cursor| cursor.len() > MAX_CURSOR) {
            self.fail("cursor", NO_CURSOR);
        }
        PageAsk { limit, after }
    }

    /// # Errors
    /// `Invalid` with every failed check.
    pub(super) fn finish(self) -> Result<(), Error> {
        let Some(first) = self.wrong.first() else { return Ok(()) };
        let name = first.loc.last().map_or("", String::as_str);
        let mut error = Error::new(Kind::Invalid, format!("{name}: {}", first.msg));
        error.fields = self.wrong;
        Err(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(all: &[(&str, &str)]) -> Pairs {
        all.iter().map(|&(name, text)| (name.to_owned(), text.to_owned())).collect()
    }

    #[test]
    fn tags_come_repeated_or_with_commas_and_each_counts_once() {
        let sent = pairs(&[("tags", "a, b,,a"), ("other", "x"), ("tags", "c"), ("tags", "")]);
        let mut query = Query::new(&sent);
        assert_eq!(query.tags("tags"), ["a", "b", "c"]);
        assert!(query.finish().is_ok());
    }

    #[test]
    fn everything_that_is_wrong_is_told() {
        let sent = pairs(&[
            ("limit", "0"),
            ("min_score", "NaN"),
            ("explain", "perhaps"),
            ("tags", "a\u{7}"),
            ("namespace", "a b"),
        ]);
        let mut query = Query::new(&sent);
        query.page(10);
        query.number("min_score", 0.0..=1.0);
        query.flag("explain");
        query.tags("tags");
        query.namespace();
        query.required("q");
        let told = query.finish().unwrap_err();
        let fields: Vec<(&str, &str)> = told.fields.iter().map(|field| (field.kind, field.loc[1].as_str())).collect();
        let wrong = |name| ("value_error", name);
        assert_eq!(
            fields,
            [wrong("limit"), wrong("min_score"), wrong("explain"), wrong("tags"), wrong("namespace"), ("missing", "q")]
        );
    }

    #[test]
    fn of_what_takes_one_value_the_last_counts() {
        let sent = pairs(&[("limit", "5"), ("limit", "7"), ("cursor", "")]);
        let mut query = Query::new(&sent);
        assert_eq!(query.page(10), PageAsk { limit: 7, after: None });
        assert!(query.finish().is_ok());
    }
}
