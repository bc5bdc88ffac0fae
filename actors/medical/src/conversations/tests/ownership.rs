use super::*;

fn break_glass(by: &str) -> Reader {
    Reader::BreakGlass { by: by.to_owned(), reason: "the practice cannot be reached".to_owned() }
}

#[test]
fn nobody_but_the_owner_reads_continues_or_deletes() {
    test_world::run(|tree| async move {
        let mut world = World::new(&tree);
        let conversations = world.start(24, Some(KEY)).await;
        let id = conversations.keep(turn("key_1", None, "cough")).await.unwrap().id;
        for refused in [
            conversations.open("key_2", &id).await.map(drop),
            conversations.read(owner("key_2"), &id).await.map(drop),
            conversations.keep(turn("key_2", Some(&id), "fever")).await.map(drop),
            conversations.delete("key_2", &id).await,
        ] {
            assert_eq!(refused.unwrap_err().kind, Kind::NotFound);
        }
        assert_eq!(conversations.read(owner("key_1"), &id).await.unwrap().turns.len(), 1);
        conversations.delete("key_1", &id).await.unwrap();
        assert_eq!(conversations.read(owner("key_1"), &id).await.unwrap_err().kind, Kind::NotFound);
        let audited = world.audited();
        assert!(audited.contains("medical_conversation_read") && audited.contains("medical_conversation_delete"));
        assert!(!audited.contains("cough"));
    });
}

#[test]
fn breaking_the_glass_is_audited_and_told_to_the_owner_once() {
    test_world::run(|tree| async move {
        let mut world = World::new(&tree);
        let conversations = world.start(24, Some(KEY)).await;
        let id = conversations.keep(turn("key_1", None, "cough")).await.unwrap().id;
        let view = conversations.read(break_glass("key_9"), &id).await.unwrap();
        assert_eq!((view.owner.as_str(), view.turns.len()), ("key_1", 1));
        let audited = world.audited();
        assert!(audited.contains("medical_break_glass") && audited.contains("the practice cannot be reached"));

        // The notice survives a restart and the end of the conversation.
        conversations.delete("key_1", &id).await.unwrap();
        let again = world.start(24, Some(KEY)).await;
        assert!(again.take_notices("key_9").await.unwrap().is_empty());
        let notices = again.take_notices("key_1").await.unwrap();
        assert_eq!(
            (notices.len(), notices[0].by.as_str(), notices[0].conversation.as_str()),
            (1, "key_9", id.as_str())
        );
        assert!(again.take_notices("key_1").await.unwrap().is_empty());
        assert!(world.bytes(StoreTree::MedicalNotices).is_empty());
    });
}

#[test]
fn breaking_the_glass_of_nothing_is_not_found_and_leaves_no_notice() {
    test_world::run(|tree| async move {
        let mut world = World::new(&tree);
        let conversations = world.start(24, Some(KEY)).await;
        assert_eq!(conversations.read(break_glass("key_9"), "con_none").await.unwrap_err().kind, Kind::NotFound);
        assert!(world.bytes(StoreTree::MedicalNotices).is_empty() && world.audited().is_empty());
    });
}
