use super::*;
use muster_core::page::PageParams;

async fn list_all(fixture: &Fixture, params: ListParams) -> Vec<String> {
    let (mut keys, mut params) = (Vec::new(), params);
    loop {
        let page = fixture.memory.list(params.clone(), &fixture.me).await.unwrap();
        assert!(page.items.len() <= params.page.limit);
        keys.extend(page.items.iter().map(|entry| entry.key().to_owned()));
        params.page.after = page.next;
        if params.page.after.is_none() {
            return keys;
        }
    }
}

fn params(limit: usize) -> ListParams {
    ListParams { page: PageParams { limit, after: None }, ..ListParams::default() }
}

#[test]
fn lists_return_each_entry_once_newest_first() {
    test_world::run(|tree| async move {
        let fixture = Fixture::new(&tree).await;
        for n in 0..10 {
            let namespace = (n % 2 == 1).then(|| "odd".to_owned());
            fixture.try_store(NewEntry { namespace, ..new(&format!("k{n}"), "v") }).await.unwrap();
        }
        fixture.put("k0", "replaced").await;
        fixture.memory.store(new("theirs", "v"), &fixture.other, Precondition::None, None).await.unwrap();
        let all: Vec<String> = (0..10).rev().map(|n| format!("k{n}")).collect();
        for limit in [1, 3, 10, 200] {
            assert_eq!(list_all(&fixture, params(limit)).await, all, "{limit}");
        }
        let odd = ListParams { namespace: Some("odd".to_owned()), ..params(2) };
        assert_eq!(list_all(&fixture, odd).await, ["k9", "k7", "k5", "k3", "k1"]);
        let shared = ListParams { namespace: Some("team".to_owned()), ..params(2) };
        assert!(list_all(&fixture, shared).await.is_empty());
    });
}

#[test]
fn filters_combine_and_cursors_are_limited_to_their_list() {
    test_world::run(|tree| async move {
        let fixture = Fixture::new(&tree).await;
        for n in 0..12 {
            let tags = [("two", 2), ("three", 3)].iter().filter(|(_, of)| n % of == 0).map(|(t, _)| (*t).to_owned());
            let thread = (n < 8).then(|| "talk".to_owned());
            fixture
                .try_store(NewEntry { tags: tags.collect(), thread, ..new(&format!("{}/{n}", n % 4), "v") })
                .await
                .unwrap();
        }
        let both = ListParams { tags: vec!["two".to_owned(), "three".to_owned()], ..params(1) };
        assert_eq!(list_all(&fixture, both.clone()).await, ["2/6", "0/0"]);
        let thread = ListParams { thread: Some("talk".to_owned()), key_prefix: Some("1/".to_owned()), ..params(1) };
        assert_eq!(list_all(&fixture, thread).await, ["1/5", "1/1"]);
        let page = fixture.memory.list(params(1), &fixture.me).await.unwrap();
        let stolen =
            |params: ListParams| ListParams { page: PageParams { after: page.next.clone(), limit: 1 }, ..params };
        assert!(fixture.memory.list(stolen(both), &fixture.me).await.is_err(), "one of another filter");
        assert!(fixture.memory.list(stolen(params(1)), &fixture.other).await.is_err(), "one of another owner");
        assert!(fixture.memory.list(stolen(params(1)), &fixture.me).await.is_ok());
    });
}

#[test]
fn selective_filters_return_short_pages_with_a_cursor() {
    test_world::run(|tree| async move {
        let fixture = Fixture::new(&tree).await;
        fixture.try_store(NewEntry { tags: vec!["rare".to_owned()], ..new("rare", "v") }).await.unwrap();
        for chunk in 0..21 {
            let entry = |n| new(&format!("k{chunk}/{n}"), "v");
            fixture.memory.store_many((0..100).map(entry).collect(), &fixture.me, None).await.unwrap();
        }
        let rare = ListParams { tags: vec!["rare".to_owned()], ..params(50) };
        let first = fixture.memory.list(rare.clone(), &fixture.me).await.unwrap();
        assert!(first.items.is_empty() && first.next.is_some(), "2,000 entries were examined");
        assert_eq!(list_all(&fixture, rare).await, ["rare"]);
    });
}
