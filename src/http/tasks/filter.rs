//! Which tasks are meant, and cursors that are good for one filter only.

use muster_core::page::PageAsk;
use muster_core::{Error, Kind, Millis};
use muster_tasks::task::{Filter, Priority, Status};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::ask;

/// The parameters of a list, as they stand in the query; `status` may come more than once.
pub(super) type Pairs = Vec<(String, String)>;

fn wrong(place: &str, field: &str, why: impl Into<String>, input: &str) -> Error {
    Error::field(Kind::Invalid, &[place, field], why, input.into())
}

/// A filter of one text for each field.
pub(super) fn read(place: &str, pairs: &[(String, String)]) -> Result<Filter, Error> {
    let mut filter = Filter::default();
    let mut errors = Vec::new();
    for (field, text) in pairs {
        if let Err(error) = put(&mut filter, place, field, text) {
            errors.push(error);
        }
    }
    let mut errors = errors.into_iter();
    let Some(mut first) = errors.next() else { return Ok(filter) };
    first.fields.extend(errors.flat_map(|error| error.fields));
    Err(first)
}

fn put(filter: &mut Filter, place: &str, field: &str, text: &str) -> Result<(), Error> {
    match field {
        "status" => {
            for name in text.split(',').map(str::trim).filter(|name| !name.is_empty()) {
                let status = Status::parse(name).ok_or_else(|| {
                    let known = Status::ALL.map(Status::name).join(", ");
                    wrong(place, field, format!("must be of {known}"), name)
                })?;
                if !filter.status.contains(&status) {
                    filter.status.push(status);
                }
            }
        }
        "agent" => filter.agent = Some(text.to_owned()).filter(|agent| !agent.is_empty()),
        "priority" => {
            let named = serde::de::value::StrDeserializer::<serde::de::value::Error>::new(text);
            let priority = Priority::deserialize(named);
            filter.priority = Some(priority.map_err(|_| wrong(place, field, "must be low, normal or high", text))?);
        }
        "from" | "to" => {
            let needed = "must be an RFC 3339 time, such as 2027-01-01T00:00:00Z";
            let at = Millis::parse_rfc3339(text).ok_or_else(|| wrong(place, field, needed, text))?;
            if field == "from" { filter.from = Some(at) } else { filter.to = Some(at) }
        }
        _ => {}
    }
    Ok(())
}

/// What makes two filters the same.
fn mark(filter: &Filter) -> String {
    let mut status: Vec<&str> = filter.status.iter().map(|status| status.name()).collect();
    status.sort_unstable();
    let rest = (&filter.agent, filter.priority, filter.from, filter.to);
    let digest = Sha256::digest(format!("{status:?} {rest:?}"));
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// The cursor of the page behind `last`.
pub(super) fn cursor(last: &str, filter: &Filter) -> String {
    format!("{last}.{}", mark(filter))
}

/// The page that a query asks for.
pub(super) fn page(pairs: &[(String, String)], filter: &Filter) -> Result<PageAsk, Error> {
    let of = |field: &str| pairs.iter().find(|(name, _)| name == field).map(|(_, text)| text.clone());
    let PageAsk { limit, after } = ask::page(of("limit").as_deref(), of("cursor"))?;
    let Some(cursor) = after else { return Ok(PageAsk { limit, after: None }) };
    let foreign = || wrong("query", "cursor", "is of a list with other filters: begin without it", &cursor);
    let (last, marked) = cursor.rsplit_once('.').ok_or_else(foreign)?;
    if marked != mark(filter) {
        return Err(foreign());
    }
    Ok(PageAsk { limit, after: Some(last.to_owned()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(all: &[(&str, &str)]) -> Pairs {
        all.iter().map(|&(name, text)| (name.to_owned(), text.to_owned())).collect()
    }

    #[test]
    fn states_come_repeated_or_with_commas() {
        let filter = read("query", &pairs(&[("status", "queued,running"), ("status", "killed"), ("status", "queued")]));
        assert_eq!(filter.unwrap().status, [Status::Queued, Status::Running, Status::Killed]);
    }

    #[test]
    fn everything_that_is_wrong_is_told() {
        let error =
            read("query", &pairs(&[("status", "lost"), ("priority", "urgent"), ("from", "today")])).unwrap_err();
        let fields: Vec<&str> = error.fields.iter().map(|field| field.loc[1].as_str()).collect();
        assert_eq!(fields, ["status", "priority", "from"]);
    }

    #[test]
    fn a_cursor_is_good_for_its_filter_in_any_order() {
        let one = read("query", &pairs(&[("status", "queued,running"), ("agent", "a")])).unwrap();
        let same = read("query", &pairs(&[("agent", "a"), ("status", "running"), ("status", "queued")])).unwrap();
        let other = read("query", &pairs(&[("status", "queued"), ("agent", "a")])).unwrap();
        let asked = pairs(&[("cursor", &cursor("task_1", &one))]);
        assert_eq!(page(&asked, &same).unwrap().after.as_deref(), Some("task_1"));
        assert_eq!(page(&asked, &other).unwrap_err().fields[0].loc, ["query", "cursor"]);
    }
}
