//! What is sent, checked before it is anybody's: every failed check is told at once.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use muster_retrieval::Language;
use serde_json::{Value, json};

use super::messages::{ListAsk, NewEntry, Precondition, SearchAsk};
use super::names::{MAX_KEY, MAX_NAME, NAMESPACE, Unfit, is_namespace, unfit};
use super::record::{Owner, Place};
use super::settings::MemorySettings;
use super::state::Draft;
use super::thread;
use muster_core::{Error, FieldError, Kind};
use muster_identity::By;

/// Longest value, in bytes.
pub const MAX_VALUE: usize = 256 << 10;
/// Most tags of an entry or a filter.
pub const MAX_TAGS: usize = 64;
/// Longest life that is no eternity, in seconds: ten years.
pub const MAX_TTL: u64 = 10 * 365 * 86_400;
/// Longest language tag, in bytes.
const MAX_LANGUAGE: usize = 35;
/// Longest query, in bytes.
pub const MAX_QUERY: usize = 64 << 10;
/// Most characters of an input that a refusal gives back.
const SHOWN: usize = 64;

/// Collects failed checks under `body` or `query`.
struct Checks<'a> {
    at: &'a [&'a str],
    failed: Vec<FieldError>,
}

impl Checks<'_> {
    fn fail(&mut self, field: &str, msg: impl Into<String>, input: Value) {
        let loc = self.at.iter().copied().chain(field.split('.')).map(str::to_owned).collect();
        self.failed.push(FieldError { kind: "value_error", loc, msg: msg.into(), input });
    }

    /// 1 to `most` bytes without control characters.
    fn name(&mut self, field: &str, text: &str, most: usize) {
        let msg = match unfit(text, most) {
            None => return,
            Some(Unfit::Length) => format!("must be 1 to {most} bytes, not {}", text.len()),
            Some(Unfit::Control) => "must hold no control characters".to_owned(),
        };
        self.fail(field, msg, shown(text));
    }

    fn tags(&mut self, field: &str, tags: &[String]) {
        if tags.len() > MAX_TAGS {
            self.fail(field, format!("must be at most {MAX_TAGS}, not {}", tags.len()), json!(tags.len()));
        }
        for (n, tag) in tags.iter().enumerate().take(MAX_TAGS) {
            self.name(&format!("{field}.{n}"), tag, MAX_NAME);
        }
    }

    fn namespace(&mut self, namespace: Option<&str>) {
        if let Some(wrong) = namespace.filter(|name| !is_namespace(name)) {
            self.fail("namespace", format!("must be {NAMESPACE}"), shown(wrong));
        }
    }

    fn share(&mut self, field: &str, share: Option<f32>) {
        if let Some(share) = share.filter(|share| !(0.0..=1.0).contains(share)) {
            self.fail(field, "must be from 0 to 1", json!(share));
        }
    }

    fn done(self) -> Result<(), Error> {
        let Some(first) = self.failed.first() else { return Ok(()) };
        let message = format!("{}: {}", first.loc.get(1..).unwrap_or_default().join("."), first.msg);
        Err(Error { fields: self.failed, ..Error::new(Kind::Invalid, message) })
    }
}

fn shown(text: &str) -> Value {
    text.chars().take(SHOWN).collect::<String>().into()
}

/// The entry as it is decided about. `at` is where it stands in the request, such as `["body"]`.
///
/// # Errors
/// `Invalid` with every failed check.
pub(super) fn draft(
    new: NewEntry,
    at: &[&str],
    by: &By,
    settings: &MemorySettings,
    precondition: Precondition,
) -> Result<Draft, Error> {
    let mut checks = Checks { at, failed: Vec::new() };
    checks.name("key", &new.key, MAX_KEY);
    if new.value.len() > MAX_VALUE {
        let msg = format!("may have {MAX_VALUE} bytes, not {}", new.value.len());
        checks.fail("value", msg, json!(new.value.len()));
    }
    checks.tags("tags", &new.tags);
    if let Some(ttl) = new.ttl_seconds.filter(|ttl| !(1..=MAX_TTL).contains(ttl)) {
        checks.fail("ttl_seconds", format!("must be from 1 to {MAX_TTL}; leave it out to keep for ever"), json!(ttl));
    }
    checks.namespace(new.namespace.as_deref());
    if let Some(thread) = &new.thread {
        checks.name("thread", thread, MAX_NAME);
    }
    checks.share("importance", new.importance);
    if let Some(language) = &new.language
        && (language.len() > MAX_LANGUAGE || Language::from_tag(language).is_none())
    {
        checks.fail("language", "must be a language tag (BCP 47), such as en or pt-BR", shown(language));
    }
    checks.done()?;
    let mut seen = HashSet::new();
    let tags: Vec<_> = new.tags.into_iter().filter(|tag| seen.insert(tag.clone())).collect();
    let thread = new.thread.or_else(|| thread::of_tags(&tags));
    Ok(Draft {
        place: Place::new(settings.space(by, new.namespace.as_deref()), &new.key),
        value: Arc::from(new.value),
        tags,
        ttl: new.ttl_seconds.map(Duration::from_secs),
        thread,
        importance: new.importance,
        language: new.language.map(|language| language.to_ascii_lowercase()),
        precondition,
    })
}

/// # Errors
/// `Invalid`: no principal is called so.
pub(super) fn owner(owner: &Owner) -> Result<(), Error> {
    let mut checks = Checks { at: &["path"], failed: Vec::new() };
    checks.name("owner", owner.as_str(), MAX_NAME);
    checks.done()
}

/// # Errors
/// `Invalid` with every failed check.
pub(super) fn search(ask: &SearchAsk) -> Result<(), Error> {
    let mut checks = Checks { at: &["query"], failed: Vec::new() };
    let query = &ask.query;
    if query.text.trim().is_empty() {
        checks.fail("q", "must not be empty: list entries without a query by the list", shown(&query.text));
    } else if query.text.len() > MAX_QUERY {
        checks.fail("q", format!("may have {MAX_QUERY} bytes, not {}", query.text.len()), json!(query.text.len()));
    }
    checks.tags("tags", &query.tags_all);
    checks.tags("tags_any", &query.tags_any);
    filters(&mut checks, ask.namespace.as_deref(), query.key_prefix.as_deref(), query.thread.as_deref());
    checks.share("min_score", query.min_score);
    checks.share("mmr", query.mmr);
    if query.half_life.is_some_and(|half_life| half_life.is_zero()) {
        checks.fail("half_life_days", "must be greater than 0", json!(0));
    }
    checks.done()
}

/// # Errors
/// `Invalid` with every failed check.
pub(super) fn list(ask: &ListAsk) -> Result<(), Error> {
    let mut checks = Checks { at: &["query"], failed: Vec::new() };
    checks.tags("tags", &ask.tags);
    filters(&mut checks, ask.namespace.as_deref(), ask.key_prefix.as_deref(), ask.thread.as_deref());
    checks.done()
}

fn filters(checks: &mut Checks<'_>, namespace: Option<&str>, key_prefix: Option<&str>, thread: Option<&str>) {
    checks.namespace(namespace);
    if let Some(prefix) = key_prefix {
        checks.name("key_prefix", prefix, MAX_KEY);
    }
    if let Some(thread) = thread {
        checks.name("thread", thread, MAX_NAME);
    }
}

#[cfg(test)]
mod tests {
    use muster_retrieval::Query;

    use super::*;

    fn checked(new: NewEntry) -> Result<Draft, Error> {
        draft(new, &["body"], &By::System, &MemorySettings::default(), Precondition::None)
    }

    fn good() -> NewEntry {
        NewEntry { key: "k".to_owned(), value: "v".to_owned(), ..NewEntry::default() }
    }

    #[test]
    fn every_failed_check_is_told_at_once() {
        let error = checked(NewEntry {
            key: "a\nb".to_owned(),
            value: "x".repeat(MAX_VALUE + 1),
            tags: vec![String::new(); 10_000],
            ttl_seconds: Some(0),
            namespace: Some("no spaces".to_owned()),
            thread: Some("t".repeat(129)),
            importance: Some(f32::NAN),
            language: Some("e".to_owned()),
        })
        .unwrap_err();
        assert_eq!(error.kind, Kind::Invalid);
        let fields: Vec<&str> = error.fields.iter().map(|field| field.loc[1].as_str()).collect();
        // The number of tags, and each of the first 64 of them.
        assert_eq!(fields.iter().filter(|field| **field == "tags").count(), 65);
        for field in ["key", "value", "ttl_seconds", "namespace", "thread", "importance", "language"] {
            assert!(fields.contains(&field), "{field}");
        }
    }

    #[test]
    fn the_bounds_themselves_are_good() {
        for (key, fits) in [(512, true), (513, false), (0, false), (1 << 20, false)] {
            assert_eq!(checked(NewEntry { key: "k".repeat(key), ..good() }).is_ok(), fits, "{key}");
        }
        for (ttl, fits) in [(1, true), (MAX_TTL, true), (MAX_TTL + 1, false), (u64::MAX, false)] {
            assert_eq!(checked(NewEntry { ttl_seconds: Some(ttl), ..good() }).is_ok(), fits, "{ttl}");
        }
        let full = NewEntry { value: "x".repeat(MAX_VALUE), importance: Some(1.0), ..good() };
        assert!(checked(full).is_ok());
        // Two bytes each: bytes are counted, not characters.
        assert!(checked(NewEntry { key: "é".repeat(257), ..good() }).is_err());
    }

    #[test]
    fn an_owners_name_cannot_reach_into_anothers_keys() {
        assert!(owner(&Owner::new("key_1")).is_ok() && owner(&Owner::shared()).is_ok());
        for bad in ["", "key_1\0default", "key_1\n"] {
            assert_eq!(owner(&Owner::new(bad)).unwrap_err().fields[0].loc, ["path", "owner"], "{bad:?}");
        }
    }

    #[test]
    fn a_tag_that_comes_twice_counts_once() {
        let tags = ["b", "a", "b"].map(str::to_owned).to_vec();
        assert_eq!(checked(NewEntry { tags, ..good() }).unwrap().tags, ["b", "a"]);
    }

    #[test]
    fn an_input_is_given_back_in_part_only() {
        let error = checked(NewEntry { key: "k".repeat(1 << 20), ..good() }).unwrap_err();
        assert_eq!(error.fields[0].input, json!("k".repeat(SHOWN)));
    }

    #[test]
    fn a_query_says_something_within_its_bound() {
        let ask = |text: String| {
            let query = Query { text: text.into(), ..Query::default() };
            search(&SearchAsk { query, ..SearchAsk::default() })
        };
        assert_eq!(ask(" ".to_owned()).unwrap_err().fields[0].loc, ["query", "q"]);
        assert!(ask("q".repeat(MAX_QUERY + 1)).is_err());
        assert!(ask("\" OR 1=1 -- (a+)+$ \u{0}".to_owned()).is_ok(), "no character means anything");
    }
}
