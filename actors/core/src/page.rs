//! Pages of a list, by cursor.

/// Which page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageAsk {
    /// 1 to 200.
    pub limit: usize,
    /// `next` of the page before.
    pub after: Option<String>,
}

impl Default for PageAsk {
    fn default() -> Self {
        Self { limit: 50, after: None }
    }
}

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    pub items: Vec<T>,
    /// The cursor of the next page; `None` at the end.
    pub next: Option<String>,
}

impl<T> Page<T> {
    /// The first `limit` of what an iterator has after the cursor; `id` names an item for the next page's cursor.
    pub fn of(mut from: impl Iterator<Item = T>, limit: usize, id: impl Fn(&T) -> String) -> Self {
        let items: Vec<T> = from.by_ref().take(limit).collect();
        let next = if from.next().is_some() { items.last().map(id) } else { None };
        Self { items, next }
    }

    pub fn map<U>(self, each: impl FnMut(T) -> U) -> Page<U> {
        Page { items: self.items.into_iter().map(each).collect(), next: self.next }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_names_its_last_item_only_where_more_follows() {
        let page = |from: u32, limit| Page::of(from..4, limit, u32::to_string);
        assert_eq!(page(0, 2), Page { items: vec![0, 1], next: Some("1".to_owned()) });
        assert_eq!(page(2, 2), Page { items: vec![2, 3], next: None });
        assert_eq!(page(4, 2), Page { items: vec![], next: None });
    }
}
