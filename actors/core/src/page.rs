//! Cursor-based paging of lists.

/// A request for one page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageParams {
    /// Maximum number of items, 1 to 200.
    pub limit: usize,
    /// Cursor: `next` of the previous page.
    pub after: Option<String>,
}

impl Default for PageParams {
    fn default() -> Self {
        Self { limit: 50, after: None }
    }
}

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// Items of the page.
    pub items: Vec<T>,
    /// Cursor of the next page; `None` after the last one.
    pub next: Option<String>,
}

impl<T> Page<T> {
    /// Collects the first `limit` items of an iterator that begins after the cursor. `id` returns the cursor of an
    /// item.
    pub fn of(mut from: impl Iterator<Item = T>, limit: usize, id: impl Fn(&T) -> String) -> Self {
        let items: Vec<T> = from.by_ref().take(limit).collect();
        let next = if from.next().is_some() { items.last().map(id) } else { None };
        Self { items, next }
    }

    /// Converts every item.
    pub fn map<U>(self, each: impl FnMut(T) -> U) -> Page<U> {
        Page { items: self.items.into_iter().map(each).collect(), next: self.next }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_a_cursor_only_if_more_items_follow() {
        let page = |from: u32, limit| Page::of(from..4, limit, u32::to_string);
        assert_eq!(page(0, 2), Page { items: vec![0, 1], next: Some("1".to_owned()) });
        assert_eq!(page(2, 2), Page { items: vec![2, 3], next: None });
        assert_eq!(page(4, 2), Page { items: vec![], next: None });
    }
}
