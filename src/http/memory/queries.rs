//! The queries of memory: an empty parameter counts as left out, and of a repeated one the last value counts.

use muster_core::page::PageAsk;
use muster_memory::ListParams;
use muster_request::Request;

use super::entry::{check_key, check_name, check_namespace, tags};

/// Longest cursor, in bytes: it is this server's own text.
const MAX_CURSOR: usize = 2_048;

/// Which entries are listed.
#[derive(Debug, Request)]
#[request(query, last, skip_empty)]
pub struct ListQuery {
    /// All of the caller's own where it is left out; a shared one must be named.
    #[request(check = check_namespace)]
    namespace: Option<String>,
    /// This key alone, of the namespace (`default`); the other filters do not count then.
    #[request(check = check_key)]
    pub(super) key: Option<String>,
    /// How keys begin.
    #[request(check = check_key)]
    key_prefix: Option<String>,
    /// All of these: repeatable, or with commas between.
    #[request(with = tags, default)]
    tags: Vec<String>,
    #[request(check = check_name)]
    thread: Option<String>,
    /// Most entries of the page.
    #[request(range = 1..=200, default = 50)]
    limit: usize,
    /// `next_cursor` of the page before, with the same filters.
    #[request(check = check_cursor)]
    cursor: Option<String>,
}

impl From<ListQuery> for ListParams {
    fn from(query: ListQuery) -> Self {
        let ListQuery { namespace, key_prefix, tags, thread, limit, cursor, .. } = query;
        Self { namespace, tags, key_prefix, thread, page: PageAsk { limit, after: cursor } }
    }
}

/// Which namespace the key of a path is of.
#[derive(Debug, Request)]
#[request(query, last, skip_empty)]
pub struct NamespaceQuery {
    /// Of the key, `default` where it is left out.
    #[request(check = check_namespace)]
    pub(super) namespace: Option<String>,
}

/// A key and its namespace.
#[derive(Debug, Request)]
#[request(query, last, skip_empty)]
pub struct KeyQuery {
    /// The key; of a history also the id (`mem_…`) of an entry.
    #[request(check = check_key)]
    pub(super) key: String,
    /// Of the key, `default` where it is left out.
    #[request(check = check_namespace)]
    pub(super) namespace: Option<String>,
}

/// Checks the cursor of a page.
pub(super) fn check_cursor(cursor: &str) -> Result<(), &'static str> {
    if cursor.len() > MAX_CURSOR { Err("is no cursor of this server") } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T: Request>(pairs: &[(&str, &str)]) -> Result<T, muster_request::Rejection> {
        let pairs: Vec<_> = pairs.iter().map(|&(name, text)| (name.to_owned(), text.to_owned())).collect();
        T::from_query(&pairs)
    }

    #[test]
    fn tags_come_repeated_or_with_commas_and_each_counts_once() {
        let sent = [("tags", "a, b,,a"), ("other", "x"), ("tags", "c"), ("tags", "")];
        assert_eq!(read::<ListQuery>(&sent).unwrap().tags, ["a", "b", "c"]);
    }

    #[test]
    fn of_what_takes_one_value_the_last_counts() {
        let query = read::<ListQuery>(&[("limit", "5"), ("limit", "7"), ("cursor", "")]).unwrap();
        assert_eq!(ListParams::from(query).page, PageAsk { limit: 7, after: None });
    }
}
