//! Reads usage rows: those in the store, overlaid by newer ones in memory.

use std::collections::BTreeMap;

use muster_store::{PageRequest, Record, Store, Tree};

use super::checkpoint::KEEP_DAYS;
use super::messages::{Query, UsageRow};
use super::period::Day;
use super::record::{ROW, RowRecord, day_prefix, group_prefix};
use super::row::{Dimension, RowKey, TAG_SEPARATOR};
use muster_core::{Error, Kind};

/// Maximum number of rows in a reply.
const MAX_ROWS: usize = 10_000;

type Rows = BTreeMap<RowKey, RowRecord>;

/// Returns the rows of a query, where `fresh` are those in memory. Blocking.
pub(super) fn read(store: &dyn Store, query: &Query, fresh: Vec<(RowKey, RowRecord)>) -> Result<Vec<UsageRow>, Error> {
    let (from, to) = (query.from_day, query.to_day);
    if to.0.saturating_sub(from.0) >= KEEP_DAYS {
        return Err(Error::new(Kind::Invalid, format!("at most {KEEP_DAYS} days at a time: narrow the range")));
    }
    let mut rows = Rows::new();
    // The beginning of the rows of a day that can match.
    let within = match (query.dimension, &query.key_id, &query.subject) {
        (Dimension::Key, Some(key), _) => Some(format!("{key}\0")),
        (Dimension::Tag, Some(key), _) => Some(format!("{key}{TAG_SEPARATOR}")),
        (Dimension::Owner | Dimension::Team | Dimension::Provider, _, Some(subject)) => Some(format!("{subject}\0")),
        (Dimension::Key, None, _) => None,
        _ => Some(String::new()),
    };
    match within {
        Some(within) => {
            for day in (from.0..=to.0).map(Day) {
                let prefix = [group_prefix(day, query.dimension).as_slice(), within.as_bytes()].concat();
                pages(store, &prefix.clone(), prefix, query, &mut rows)?;
            }
        }
        None => pages(store, &[ROW], day_prefix(ROW, from), query, &mut rows)?,
    }
    for (key, record) in fresh {
        add(&mut rows, key, record);
    }
    bounded(&rows)?;
    let row = |(key, record): (RowKey, RowRecord)| UsageRow {
        day: key.day,
        subject: key.subject().1.to_owned(),
        model_id: key.model.into(),
        row: record.row,
    };
    Ok(rows.into_iter().map(row).collect())
}

/// Maximum number of rows of one day that are read for its close.
const MAX_ROWS_OF_DAY: usize = 500_000;

/// Returns the rows of all keys on a day, where `fresh` are those in memory. Blocking.
pub(super) fn read_day(store: &dyn Store, day: Day, fresh: Vec<(RowKey, RowRecord)>) -> Result<Vec<UsageRow>, Error> {
    let mut rows = Rows::new();
    for entry in store.entries(Tree::Ledger, day_prefix(ROW, day), PageRequest::default()) {
        let (key, rec) = entry?;
        let Some(key) = RowKey::decode(&key) else { continue };
        add(&mut rows, key, RowRecord::decode(&rec)?);
        if rows.len() > MAX_ROWS_OF_DAY {
            return Err(Error::new(Kind::Invalid, format!("more than {MAX_ROWS_OF_DAY} rows on {day}")));
        }
    }
    for (key, record) in fresh {
        add(&mut rows, key, record);
    }
    let row = |(key, record): (RowKey, RowRecord)| UsageRow {
        day: key.day,
        subject: key.id.to_string(),
        model_id: key.model.into(),
        row: record.row,
    };
    Ok(rows.into_iter().map(row).collect())
}

/// Returns the first day of which the store has rows. Blocking.
pub(super) fn first_day(store: &dyn Store) -> Result<Option<Day>, Error> {
    let first = store.entries(Tree::Ledger, vec![ROW], PageRequest::of(1)).next().transpose()?;
    Ok(first.and_then(|(key, _)| RowKey::decode(&key)).map(|key| key.day))
}

/// Adds the matching rows under a prefix, beginning at a key.
fn pages(store: &dyn Store, prefix: &[u8], from: Vec<u8>, query: &Query, rows: &mut Rows) -> Result<(), Error> {
    for entry in store.entries(Tree::Ledger, prefix, PageRequest::default().starting_at(Some(from))) {
        let (key, rec) = entry?;
        let Some(key) = RowKey::decode(&key) else { continue };
        if key.day > query.to_day {
            break;
        }
        if query.matches(&key) {
            add(rows, key, RowRecord::decode(&rec)?);
            bounded(rows)?;
        }
    }
    Ok(())
}

/// The later of two states of a row is used: a checkpoint may be written between reading memory and store.
fn add(rows: &mut Rows, key: RowKey, record: RowRecord) {
    let known = rows.entry(key).or_default();
    if record.line >= known.line {
        *known = record;
    }
}

fn bounded(rows: &Rows) -> Result<(), Error> {
    if rows.len() > MAX_ROWS {
        let why = format!("more than {MAX_ROWS} rows: narrow the range, or select one key or model");
        return Err(Error::new(Kind::Invalid, why));
    }
    Ok(())
}
