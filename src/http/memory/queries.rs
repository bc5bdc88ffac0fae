//! Query parameters of memory: an empty parameter is ignored, and of a repeated one the last value counts.

use muster_core::page::PageParams;
use muster_memory::ListParams;
use muster_request::Request;

use super::entry::{check_key, check_name, check_namespace, tags};

/// Maximum length of a cursor, in bytes.
const MAX_CURSOR: usize = 2_048;

/// The filters and the page of a list of entries.
#[derive(Debug, Request)]
#[request(query, last, skip_empty)]
pub struct ListQuery {
    /// Namespace. By default all namespaces of the caller, without shared ones.
    #[request(check = check_namespace)]
    namespace: Option<String>,
    /// Returns only the entry with this key in the namespace (`default` by default); the other filters are ignored.
    #[request(check = check_key)]
    pub(super) key: Option<String>,
    /// Returns only entries whose key begins with this text.
    #[request(check = check_key)]
    key_prefix: Option<String>,
    /// Returns only entries with all these tags; repeatable or separated by commas.
    #[request(with = tags, default)]
    tags: Vec<String>,
    #[request(check = check_name)]
    thread: Option<String>,
    /// Maximum number of entries of the page.
    #[request(range = 1..=200, default = 50)]
    limit: usize,
    /// `next_cursor` of the previous page; requires the same filters.
    #[request(check = check_cursor)]
    cursor: Option<String>,
}

impl From<ListQuery> for ListParams {
    fn from(query: ListQuery) -> Self {
        let ListQuery { namespace, key_prefix, tags, thread, limit, cursor, .. } = query;
        Self { namespace, tags, key_prefix, thread, page: PageParams { limit, after: cursor } }
    }
}

/// The namespace of the key in the path.
#[derive(Debug, Request)]
#[request(query, last, skip_empty)]
pub struct NamespaceQuery {
    /// Namespace of the key; `default` by default.
    #[request(check = check_namespace)]
    pub(super) namespace: Option<String>,
}

/// A key and its namespace.
#[derive(Debug, Request)]
#[request(query, last, skip_empty)]
pub struct KeyQuery {
    /// Key of the entry; for a history also the identifier (`mem_…`).
    #[request(check = check_key)]
    pub(super) key: String,
    /// Namespace of the key; `default` by default.
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
    fn tags_may_be_repeated_or_separated_by_commas_without_duplicates() {
        let sent = [("tags", "a, b,,a"), ("tags", "c"), ("tags", "")];
        assert_eq!(read::<ListQuery>(&sent).unwrap().tags, ["a", "b", "c"]);
    }

    #[test]
    fn the_last_value_of_a_single_valued_parameter_counts() {
        let query = read::<ListQuery>(&[("limit", "5"), ("limit", "7"), ("cursor", "")]).unwrap();
        assert_eq!(ListParams::from(query).page, PageParams { limit: 7, after: None });
    }
}
