use super::script::candidate;
use super::*;
use muster_core::Kind;

fn ask(text: &str, limit: usize) -> SearchAsk {
    SearchAsk { query: Query { text: text.into(), limit, ..Query::default() }, ..SearchAsk::default() }
}

fn keys(reply: &SearchReply) -> Vec<(usize, &str)> {
    reply.hits.iter().map(|hit| (hit.rank, hit.record.key())).collect()
}

#[test]
fn a_hit_is_what_is_stored_now_or_it_is_none() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree).await;
        let stale = candidate(bench.put("stale", "v").await.as_ref());
        bench.put("stale", "w").await;
        let deleted = candidate(bench.put("deleted", "v").await.as_ref());
        bench.memory.delete(None, "deleted", Precondition::None, &bench.me).await.unwrap();
        let theirs = bench.memory.store(new("theirs", "v"), &bench.other, Precondition::None, None).await.unwrap();
        let foreign = candidate(&theirs.record);
        let good = candidate(bench.put("good", "v").await.as_ref());
        let moved = Candidate { namespace: Arc::from("elsewhere"), ..good.clone() };
        bench.index.finds(vec![stale, deleted, foreign, moved, good]);
        let reply = bench.memory.search(ask("v", 10), &bench.me).await.unwrap();
        assert_eq!(keys(&reply), [(1, "good")]);
        assert_eq!((reply.mode, reply.next), (Mode::Text, None));
    });
}

#[test]
fn what_was_dropped_is_made_up_for_once() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree).await;
        let gone = candidate(bench.put("gone", "v").await.as_ref());
        bench.memory.delete(None, "gone", Precondition::None, &bench.me).await.unwrap();
        let mut found = vec![gone.clone(), gone];
        for n in 0..4 {
            found.push(candidate(bench.put(&format!("k{n}"), "v").await.as_ref()));
        }
        bench.index.finds(found.clone());
        bench.index.finds(found.clone());
        let reply = bench.memory.search(ask("v", 3), &bench.me).await.unwrap();
        assert_eq!(keys(&reply), [(1, "k0"), (2, "k1"), (3, "k2")]);
        let asked: Vec<(usize, usize)> =
            bench.index.asked().iter().map(|ask| (ask.query.offset, ask.query.limit)).collect();
        assert_eq!(asked, [(0, 3), (3, 2)], "only for what was missing");
        bench.index.finds(found);
        let mut next = ask("v", 3);
        next.after = reply.next;
        let reply = bench.memory.search(next, &bench.me).await.unwrap();
        assert_eq!(
            (keys(&reply), reply.next.clone()),
            (vec![(6, "k3")], None),
            "the next page begins behind what was looked at"
        );
    });
}

#[test]
fn a_search_is_of_its_owner_and_its_cursor_of_its_query() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree).await;
        let found = [bench.put("a", "v").await, bench.put("b", "v").await].map(|entry| candidate(&entry)).to_vec();
        bench.index.finds(found.clone());
        let first = bench.memory.search(ask("v", 1), &bench.me).await.unwrap();
        let cursor = |query: &str| SearchAsk { after: first.next.clone(), ..ask(query, 1) };
        assert!(first.next.is_some());
        for (query, by) in [("w", &bench.me), ("v", &bench.other)] {
            assert_eq!(bench.memory.search(cursor(query), by).await.unwrap_err().fields[0].loc, ["query", "cursor"]);
        }
        let namespace = |name: &str| SearchAsk { namespace: Some(name.to_owned()), ..ask("v", 1) };
        bench.index.finds(vec![]);
        bench.index.finds(vec![]);
        bench.memory.search(namespace("team"), &bench.me).await.unwrap();
        bench.memory.search(namespace("mine"), &bench.me).await.unwrap();
        let asked: Vec<(String, Option<String>)> = bench
            .index
            .asked()
            .iter()
            .map(|ask| (ask.owner.to_string(), ask.namespace.as_ref().map(ToString::to_string)))
            .collect();
        let wanted = [("key_me", None), ("shared", Some("team")), ("key_me", Some("mine"))];
        assert_eq!(asked, wanted.map(|(owner, name)| (owner.to_owned(), name.map(str::to_owned))));
        bench.index.finds(found);
        let reply = bench.memory.search(namespace("mine"), &bench.me).await.unwrap();
        assert!(reply.hits.is_empty(), "what an index finds elsewhere is not shown");
    });
}

#[test]
fn an_index_that_is_down_is_said_and_a_bad_query_never_asked() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree).await;
        assert_eq!(bench.memory.search(ask("v", 1), &bench.me).await.unwrap_err().kind, Kind::Unavailable);
        let query = Query { min_score: Some(2.0), tags_all: vec![String::new()], limit: 1, ..Query::default() };
        let bad = SearchAsk { query, ..SearchAsk::default() };
        let refused = bench.memory.search(bad, &bench.me).await.unwrap_err();
        assert_eq!((refused.kind, refused.fields.len()), (Kind::Invalid, 3));
        assert_eq!(bench.index.asked().len(), 1);
    });
}
