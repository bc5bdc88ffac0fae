use super::*;

#[test]
fn a_conversation_ends_on_time_and_is_deleted() {
    test_world::run(|tree| async move {
        let mut world = World::new(&tree);
        let conversations = world.start(2, Some(KEY)).await;
        let id = conversations.keep(turn("key_1", None, "cough")).await.unwrap().id;
        test_world::after(HOUR).await;
        let later = conversations.keep(turn("key_1", Some(&id), "fever")).await.unwrap();
        assert_eq!(later.ends.0 - test_world::START.0, 3 * 3_600_000, "two hours after the last message");

        test_world::after(2 * HOUR - Duration::from_millis(1)).await;
        assert!(conversations.open("key_1", &id).await.is_ok());
        test_world::after(Duration::from_millis(1)).await;
        for ended in [
            conversations.open("key_1", &id).await.map(drop),
            conversations.read(owner("key_1"), &id).await.map(drop),
            conversations.keep(turn("key_1", Some(&id), "rash")).await.map(drop),
            conversations.delete("key_1", &id).await,
        ] {
            assert_eq!(ended.unwrap_err().kind, Kind::NotFound, "before any sweep");
        }
        assert!(contains(&world.bytes(StoreTree::MedicalConversations), &id));
        assert_eq!(conversations.sweep().await.unwrap(), 1);
        assert!(!contains(&world.bytes(StoreTree::MedicalConversations), &id));
    });
}

#[test]
fn a_shorter_time_counts_for_what_was_kept_before_and_none_deletes_it() {
    test_world::run(|tree| async move {
        let mut world = World::new(&tree);
        let id = world.start(24, Some(KEY)).await.keep(turn("key_1", None, "cough")).await.unwrap().id;
        let shorter = world.start(1, Some(KEY)).await;
        test_world::after(HOUR).await;
        assert_eq!(shorter.open("key_1", &id).await.unwrap_err().kind, Kind::NotFound);

        let none = world.start(0, None).await;
        assert!(!none.kept());
        assert!(!contains(&world.bytes(StoreTree::MedicalConversations), &id));
        assert_eq!(none.keep(turn("key_1", None, "cough")).await.unwrap_err().kind, Kind::NotFound);
    });
}

#[test]
fn a_longer_time_does_not_prolong_what_was_promised() {
    test_world::run(|tree| async move {
        let mut world = World::new(&tree);
        let id = world.start(1, Some(KEY)).await.keep(turn("key_1", None, "cough")).await.unwrap().id;
        let longer = world.start(24, Some(KEY)).await;
        test_world::after(HOUR).await;
        assert_eq!(longer.open("key_1", &id).await.unwrap_err().kind, Kind::NotFound);
    });
}

#[test]
fn an_owner_keeps_a_bounded_number() {
    test_world::run(|tree| async move {
        let mut world = World::new(&tree);
        let conversations = world.start(1, Some(KEY)).await;
        let mut ids = Vec::new();
        for _ in 0..3 {
            ids.push(conversations.keep(turn("key_1", None, "cough")).await.unwrap().id);
        }
        let refused = conversations.keep(turn("key_1", None, "cough")).await.unwrap_err();
        assert_eq!((refused.kind, refused.code), (Kind::QuotaExceeded, Some("conversation_quota")));
        assert!(conversations.keep(turn("key_2", None, "cough")).await.is_ok(), "a quota of each owner");
        conversations.delete("key_1", &ids[0]).await.unwrap();
        assert!(conversations.keep(turn("key_1", None, "cough")).await.is_ok());
        test_world::after(HOUR).await;
        assert!(conversations.keep(turn("key_1", None, "cough")).await.is_ok(), "those that ended do not count");
    });
}
