use super::*;
use muster_core::page::PageAsk;

async fn walk(bench: &Bench, ask: ListAsk) -> Vec<String> {
    let (mut keys, mut ask) = (Vec::new(), ask);
    loop {
        let page = bench.memory.list(ask.clone(), &bench.me).await.unwrap();
        assert!(page.items.len() <= ask.page.limit);
        keys.extend(page.items.iter().map(|entry| entry.key().to_owned()));
        ask.page.after = page.next;
        if ask.page.after.is_none() {
            return keys;
        }
    }
}

fn ask(limit: usize) -> ListAsk {
    ListAsk { page: PageAsk { limit, after: None }, ..ListAsk::default() }
}

#[test]
fn a_list_shows_what_was_made_last_first_and_each_once() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree).await;
        for n in 0..10 {
            let namespace = (n % 2 == 1).then(|| "odd".to_owned());
            bench.try_store(NewEntry { namespace, ..new(&format!("k{n}"), "v") }).await.unwrap();
        }
        bench.put("k0", "replaced").await;
        bench.memory.store(new("theirs", "v"), &bench.other, Precondition::None, None).await.unwrap();
        let all: Vec<String> = (0..10).rev().map(|n| format!("k{n}")).collect();
        for limit in [1, 3, 10, 200] {
            assert_eq!(walk(&bench, ask(limit)).await, all, "{limit}");
        }
        let odd = ListAsk { namespace: Some("odd".to_owned()), ..ask(2) };
        assert_eq!(walk(&bench, odd).await, ["k9", "k7", "k5", "k3", "k1"]);
        let shared = ListAsk { namespace: Some("team".to_owned()), ..ask(2) };
        assert!(walk(&bench, shared).await.is_empty());
    });
}

#[test]
fn filters_hold_together_and_a_cursor_is_of_its_list() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree).await;
        for n in 0..12 {
            let tags = [("two", 2), ("three", 3)].iter().filter(|(_, of)| n % of == 0).map(|(t, _)| (*t).to_owned());
            let thread = (n < 8).then(|| "talk".to_owned());
            bench
                .try_store(NewEntry { tags: tags.collect(), thread, ..new(&format!("{}/{n}", n % 4), "v") })
                .await
                .unwrap();
        }
        let both = ListAsk { tags: vec!["two".to_owned(), "three".to_owned()], ..ask(1) };
        assert_eq!(walk(&bench, both.clone()).await, ["2/6", "0/0"]);
        let thread = ListAsk { thread: Some("talk".to_owned()), key_prefix: Some("1/".to_owned()), ..ask(1) };
        assert_eq!(walk(&bench, thread).await, ["1/5", "1/1"]);
        let page = bench.memory.list(ask(1), &bench.me).await.unwrap();
        let stolen = |ask: ListAsk| ListAsk { page: PageAsk { after: page.next.clone(), limit: 1 }, ..ask };
        assert!(bench.memory.list(stolen(both), &bench.me).await.is_err(), "one of another filter");
        assert!(bench.memory.list(stolen(ask(1)), &bench.other).await.is_err(), "one of another owner");
        assert!(bench.memory.list(stolen(ask(1)), &bench.me).await.is_ok());
    });
}

#[test]
fn a_filter_that_lets_little_through_gives_short_pages_that_go_on() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree).await;
        bench.try_store(NewEntry { tags: vec!["rare".to_owned()], ..new("rare", "v") }).await.unwrap();
        for chunk in 0..21 {
            let entry = |n| new(&format!("k{chunk}/{n}"), "v");
            bench.memory.store_many((0..100).map(entry).collect(), &bench.me, None).await.unwrap();
        }
        let rare = ListAsk { tags: vec!["rare".to_owned()], ..ask(50) };
        let first = bench.memory.list(rare.clone(), &bench.me).await.unwrap();
        assert!(first.items.is_empty() && first.next.is_some(), "it has looked at 2,000");
        assert_eq!(walk(&bench, rare).await, ["rare"]);
    });
}
