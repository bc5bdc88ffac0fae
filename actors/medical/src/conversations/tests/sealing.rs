use super::*;

#[test]
fn a_conversation_comes_back_after_a_restart_and_the_store_has_only_sealed_bytes() {
    test_world::run(|tree| async move {
        let mut world = World::new(&tree);
        let conversations = world.start(24, Some("correct horse battery staple")).await;
        let first = conversations.keep(turn("key_1", None, "zebrafish headache")).await.unwrap();
        let second = conversations.keep(turn("key_1", Some(&first.id), "walrus cough")).await.unwrap();
        assert_eq!((second.id.as_str(), first.turns, second.turns), (first.id.as_str(), 1, 2));

        let again = world.start(24, Some("correct horse battery staple")).await;
        let view = again.read(owner("key_1"), &first.id).await.unwrap();
        let messages: Vec<&str> = view.turns.iter().map(|turn| turn.message.as_str()).collect();
        assert_eq!(messages, ["zebrafish headache", "walrus cough"]);
        let known = again.open("key_1", &first.id).await.unwrap().known;
        assert!(known.present.contains_key("zebrafish headache") && known.present.contains_key("walrus cough"));
        let stored = world.bytes(StoreTree::MedicalConversations);
        for text in ["zebrafish", "walrus", "See a doctor", "consultation"] {
            assert!(!contains(&stored, text), "{text} is in the store");
        }
        assert!(contains(&stored, "key_1"));
    });
}

#[test]
fn with_another_key_a_conversation_is_refused_counted_and_can_be_deleted() {
    test_world::run(|tree| async move {
        let mut world = World::new(&tree);
        let id = world.start(24, Some(KEY)).await.keep(turn("key_1", None, "cough")).await.unwrap().id;

        let changed = world.start(24, Some(OTHER_KEY)).await;
        for refused in [
            changed.open("key_1", &id).await.map(drop).unwrap_err(),
            changed.read(owner("key_1"), &id).await.map(drop).unwrap_err(),
            changed.keep(turn("key_1", Some(&id), "fever")).await.map(drop).unwrap_err(),
        ] {
            assert_eq!((refused.kind, refused.code), (Kind::Conflict, Some("conversation_unreadable")));
            assert!(refused.message.contains("MUSTER_MEDICAL_KEY"), "{refused}");
        }
        assert_eq!(changed.count().await.unwrap(), KeptCounts { kept: 1, unreadable: 1 });
        let new = changed.keep(turn("key_1", None, "fever")).await.unwrap();
        assert_eq!(changed.read(owner("key_1"), &new.id).await.unwrap().turns.len(), 1);
        changed.delete("key_1", &id).await.unwrap();
        assert_eq!(changed.count().await.unwrap(), KeptCounts { kept: 1, unreadable: 0 });
    });
}

#[test]
fn a_record_that_was_moved_or_changed_in_the_store_is_refused() {
    test_world::run(|tree| async move {
        let mut world = World::new(&tree);
        let conversations = world.start(24, Some(KEY)).await;
        let one = conversations.keep(turn("key_1", None, "cough")).await.unwrap().id;
        let two = conversations.keep(turn("key_1", None, "fever")).await.unwrap().id;
        let tree = StoreTree::MedicalConversations;
        let record = world.store.get(tree, one.as_bytes()).unwrap().unwrap();
        let moved = muster_store::Batch::put(tree, two.as_bytes(), record.clone());
        world.store.commit(moved).await.unwrap();
        assert_eq!(conversations.open("key_1", &two).await.unwrap_err().code, Some("conversation_unreadable"));

        let mut changed = record;
        *changed.bytes.last_mut().unwrap() ^= 1;
        world.store.commit(muster_store::Batch::put(tree, one.as_bytes(), changed)).await.unwrap();
        assert_eq!(conversations.open("key_1", &one).await.unwrap_err().code, Some("conversation_unreadable"));
    });
}

#[test]
fn what_was_recognised_only_grows() {
    let facts = |present: &[(&str, bool)], absent: &[&str], systolic: (f64, f64)| KnownFacts {
        present: present.iter().map(|&(id, sudden)| (id.to_owned(), sudden)).collect(),
        absent: absent.iter().map(|&id| id.to_owned()).collect(),
        values: [("systolic".to_owned(), systolic)].into(),
    };
    let mut known = facts(&[("headache", true)], &["fever"], (120.0, 120.0));
    known.join(facts(&[("headache", false), ("fever", false)], &["headache", "cough"], (86.0, 86.0)));
    assert_eq!(known, facts(&[("headache", true), ("fever", false)], &["cough"], (86.0, 120.0)));
}

#[test]
fn a_long_conversation_drops_its_oldest_turns_and_keeps_what_they_said() {
    test_world::run(|tree| async move {
        let mut world = World::new(&tree);
        let conversations = world.start(24, Some(KEY)).await;
        let id = conversations.keep(turn("key_1", None, "first")).await.unwrap().id;
        for number in 0..120 {
            conversations.keep(turn("key_1", Some(&id), &format!("turn {number}"))).await.unwrap();
        }
        let view = conversations.read(owner("key_1"), &id).await.unwrap();
        assert_eq!((view.turns.len(), view.dropped), (100, 21));
        assert!(view.known.present.contains_key("first"));
    });
}
