use super::scripted_index::candidate;
use super::*;
use muster_core::Kind;

fn params(text: &str, limit: usize) -> SearchParams {
    SearchParams { query: Query { text: text.into(), limit, ..Query::default() }, ..SearchParams::default() }
}

fn keys(reply: &SearchResponse) -> Vec<(usize, &str)> {
    reply.hits.iter().map(|hit| (hit.rank, hit.record.key())).collect()
}

#[test]
fn hits_are_current_entries_of_the_caller_only() {
    test_world::run(|tree| async move {
        let fixture = Fixture::new(&tree).await;
        let stale = candidate(fixture.put("stale", "v").await.as_ref());
        fixture.put("stale", "w").await;
        let deleted = candidate(fixture.put("deleted", "v").await.as_ref());
        fixture.memory.delete(None, "deleted", Precondition::None, &fixture.me).await.unwrap();
        let theirs = fixture.memory.store(new("theirs", "v"), &fixture.other, Precondition::None, None).await.unwrap();
        let foreign = candidate(&theirs.record);
        let good = candidate(fixture.put("good", "v").await.as_ref());
        let moved = Candidate { namespace: Arc::from("elsewhere"), ..good.clone() };
        fixture.index.respond_with(vec![stale, deleted, foreign, moved, good]);
        let reply = fixture.memory.search(params("v", 10), &fixture.me).await.unwrap();
        assert_eq!(keys(&reply), [(1, "good")]);
        assert_eq!((reply.mode, reply.next), (Mode::Text, None));
    });
}

#[test]
fn dropped_hits_are_replaced_by_a_second_search() {
    test_world::run(|tree| async move {
        let fixture = Fixture::new(&tree).await;
        let gone = candidate(fixture.put("gone", "v").await.as_ref());
        fixture.memory.delete(None, "gone", Precondition::None, &fixture.me).await.unwrap();
        let mut found = vec![gone.clone(), gone];
        for n in 0..4 {
            found.push(candidate(fixture.put(&format!("k{n}"), "v").await.as_ref()));
        }
        fixture.index.respond_with(found.clone());
        fixture.index.respond_with(found.clone());
        let reply = fixture.memory.search(params("v", 3), &fixture.me).await.unwrap();
        assert_eq!(keys(&reply), [(1, "k0"), (2, "k1"), (3, "k2")]);
        let searches: Vec<(usize, usize)> =
            fixture.index.searches().iter().map(|params| (params.query.offset, params.query.limit)).collect();
        assert_eq!(searches, [(0, 3), (3, 2)], "only for what was missing");
        fixture.index.respond_with(found);
        let mut next = params("v", 3);
        next.after = reply.next;
        let reply = fixture.memory.search(next, &fixture.me).await.unwrap();
        assert_eq!(
            (keys(&reply), reply.next.clone()),
            (vec![(6, "k3")], None),
            "the next page begins after the examined entries"
        );
    });
}

#[test]
fn searches_are_limited_to_the_owner_and_cursors_to_their_query() {
    test_world::run(|tree| async move {
        let fixture = Fixture::new(&tree).await;
        let found = [fixture.put("a", "v").await, fixture.put("b", "v").await].map(|entry| candidate(&entry)).to_vec();
        fixture.index.respond_with(found.clone());
        let first = fixture.memory.search(params("v", 1), &fixture.me).await.unwrap();
        let cursor = |query: &str| SearchParams { after: first.next.clone(), ..params(query, 1) };
        assert!(first.next.is_some());
        for (query, by) in [("w", &fixture.me), ("v", &fixture.other)] {
            assert_eq!(fixture.memory.search(cursor(query), by).await.unwrap_err().fields[0].loc, ["query", "cursor"]);
        }
        let namespace = |name: &str| SearchParams { namespace: Some(name.to_owned()), ..params("v", 1) };
        fixture.index.respond_with(vec![]);
        fixture.index.respond_with(vec![]);
        fixture.memory.search(namespace("team"), &fixture.me).await.unwrap();
        fixture.memory.search(namespace("mine"), &fixture.me).await.unwrap();
        let searches: Vec<(String, Option<String>)> = fixture
            .index
            .searches()
            .iter()
            .map(|params| (params.owner.to_string(), params.namespace.as_ref().map(ToString::to_string)))
            .collect();
        let expected = [("key_me", None), ("shared", Some("team")), ("key_me", Some("mine"))];
        assert_eq!(searches, expected.map(|(owner, name)| (owner.to_owned(), name.map(str::to_owned))));
        fixture.index.respond_with(found);
        let reply = fixture.memory.search(namespace("mine"), &fixture.me).await.unwrap();
        assert!(reply.hits.is_empty(), "entries of other namespaces are dropped");
    });
}

#[test]
fn a_failing_index_is_reported_and_invalid_queries_are_not_sent() {
    test_world::run(|tree| async move {
        let fixture = Fixture::new(&tree).await;
        assert_eq!(fixture.memory.search(params("v", 1), &fixture.me).await.unwrap_err().kind, Kind::Unavailable);
        let query = Query { min_score: Some(2.0), tags_all: vec![String::new()], limit: 1, ..Query::default() };
        let bad = SearchParams { query, ..SearchParams::default() };
        let refused = fixture.memory.search(bad, &fixture.me).await.unwrap_err();
        assert_eq!((refused.kind, refused.fields.len()), (Kind::Invalid, 3));
        assert_eq!(fixture.index.searches().len(), 1);
    });
}
