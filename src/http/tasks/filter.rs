//! Filters of tasks, and cursors that are valid for one filter only.

use muster_core::page::PageParams;
use muster_core::{Error, Kind, Millis};
use muster_request::{Fields, Request};
use muster_tasks::task::{Filter, Priority, Status};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::parameters::{PageQuery, time};

/// A filter of tasks; all given conditions must hold.
#[derive(Debug, Request)]
#[request(query, body, schema = FilterBody, into = Filter, last)]
pub struct TaskFilter {
    /// Returns only tasks with one of these statuses; repeatable or separated by commas.
    #[request(with = statuses, default, schema = Vec<String>, traced)]
    status: Vec<Status>,
    /// Identifier of an agent: only its tasks.
    #[request(with = agent)]
    agent: Option<String>,
    /// Priority: `low`, `normal` or `high`.
    #[request(with = priority, schema = String, traced)]
    priority: Option<Priority>,
    /// Earliest `created_at`, inclusive, RFC 3339.
    #[request(with = time, schema = String)]
    #[schema(format = DateTime)]
    from: Option<Millis>,
    /// Latest `created_at`, exclusive, RFC 3339.
    #[request(with = time, schema = String)]
    #[schema(format = DateTime)]
    to: Option<Millis>,
}

/// The filter and the page of a list of tasks.
#[derive(Debug, Request)]
#[request(query, last)]
pub struct ListQuery {
    #[request(flatten)]
    pub(super) filter: TaskFilter,
    #[request(flatten)]
    pub(super) page: PageQuery,
}

fn statuses(fields: &mut Fields<'_>, name: &str) -> Option<Vec<Status>> {
    let mut texts: Vec<String> = fields.texts(name).map(str::to_owned).collect();
    match fields.value(name) {
        Some(Value::Array(items)) => texts = items.iter().map(|item| item.as_str().unwrap_or("?").to_owned()).collect(),
        Some(_) if !fields.is_query() => texts.extend(fields.string(name)),
        _ => {}
    }
    let mut statuses = Vec::new();
    for text in texts.iter().flat_map(|text| text.split(',')).map(str::trim).filter(|text| !text.is_empty()) {
        let Some(status) = Status::parse(text) else {
            fields.fail(name, format!("must be of {}", Status::ALL.map(Status::name).join(", ")));
            continue;
        };
        if !statuses.contains(&status) {
            statuses.push(status);
        }
    }
    Some(statuses)
}

fn agent(fields: &mut Fields<'_>, name: &str) -> Option<String> {
    fields.string(name).filter(|agent| !agent.is_empty())
}

fn priority(fields: &mut Fields<'_>, name: &str) -> Option<Priority> {
    let read = serde_json::from_value(fields.string(name)?.into());
    read.map_err(|_| fields.fail(name, "must be low, normal or high")).ok()
}

/// Returns a digest of a filter, which is the same for equal filters.
fn mark(filter: &Filter) -> String {
    let mut status: Vec<&str> = filter.status.iter().map(|status| status.name()).collect();
    status.sort_unstable();
    let rest = (&filter.agent, filter.priority, filter.from, filter.to);
    let digest = Sha256::digest(format!("{status:?} {rest:?}"));
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the cursor of the page after `last`.
pub(super) fn cursor(last: &str, filter: &Filter) -> String {
    format!("{last}.{}", mark(filter))
}

/// Returns the page of a list with this filter.
pub(super) fn page(page: PageQuery, filter: &Filter) -> Result<PageParams, Error> {
    let PageParams { limit, after } = page.into();
    let Some(cursor) = after else { return Ok(PageParams { limit, after: None }) };
    let other_filter = || {
        let wrong = "is of a list with other filters: begin without it";
        Error::field(Kind::Invalid, &["query", "cursor"], wrong, cursor.as_str().into())
    };
    let (last, marked) = cursor.rsplit_once('.').ok_or_else(other_filter)?;
    if marked != mark(filter) {
        return Err(other_filter());
    }
    Ok(PageParams { limit, after: Some(last.to_owned()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<(Filter, PageQuery), muster_request::Rejection> {
        let pairs: Vec<_> = pairs.iter().map(|&(name, text)| (name.to_owned(), text.to_owned())).collect();
        ListQuery::from_query(&pairs).map(|ListQuery { filter, page }| (filter.into(), page))
    }

    #[test]
    fn statuses_may_be_repeated_or_separated_by_commas() {
        let (filter, _) = read(&[("status", "queued,running"), ("status", "killed"), ("status", "queued")]).unwrap();
        assert_eq!(filter.status, [Status::Queued, Status::Running, Status::Killed]);
    }

    #[test]
    fn every_invalid_parameter_is_reported() {
        let error = read(&[("status", "lost"), ("priority", "urgent"), ("from", "today")]).unwrap_err();
        let fields: Vec<&str> = error.fields.iter().map(|field| field.loc[1].as_str()).collect();
        assert_eq!(fields, ["status", "priority", "from"]);
    }

    #[test]
    fn a_cursor_is_valid_for_its_filter_in_any_order() {
        let (one, _) = read(&[("status", "queued,running"), ("agent", "a")]).unwrap();
        let sent = cursor("task_1", &one);
        let (same, requested) =
            read(&[("agent", "a"), ("status", "running"), ("status", "queued"), ("cursor", &sent)]).unwrap();
        let (other, _) = read(&[("status", "queued"), ("agent", "a")]).unwrap();
        assert_eq!(page(requested.clone(), &same).unwrap().after.as_deref(), Some("task_1"));
        assert_eq!(page(requested, &other).unwrap_err().fields[0].loc, ["query", "cursor"]);
    }
}
