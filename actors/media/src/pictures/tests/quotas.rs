//! Quotas hold whatever races.

use super::*;

#[test]
fn of_racing_requests_as_many_succeed_as_the_quota_has_room_for() {
    test_world::run(|tree| async move {
        let (folder, store) = (tempfile::tempdir().unwrap(), memory());
        let limits = PictureLimits { owner_pictures: 7, ..PictureLimits::default() };
        let pictures = start(&tree, &store, folder.path(), limits).await;
        let racing = (0..50).map(|_| {
            let pictures = pictures.clone();
            actix_rt::spawn(async move {
                let reservation = pictures.reserve(room("ann", 1)).await?;
                tokio::task::yield_now().await;
                pictures.store(reservation, vec![picture(b"abc")]).await
            })
        });
        let mut outcomes = Vec::new();
        for one in racing.collect::<Vec<_>>() {
            outcomes.push(one.await.unwrap());
        }
        assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 7);
        let refused = outcomes.iter().filter_map(|outcome| outcome.as_ref().err());
        assert!(refused.clone().all(|error| error.code == Some("image_quota") && error.kind == Kind::QuotaExceeded));
        assert_eq!(pictures.stats().await.unwrap().pictures, 7);
        assert!(pictures.reserve(room("bob", 7)).await.is_ok(), "the quota is an owner's");
    });
}

#[test]
fn room_that_was_reserved_is_free_again_when_it_is_not_used() {
    test_world::run(|tree| async move {
        let (folder, store) = (tempfile::tempdir().unwrap(), memory());
        let limits = PictureLimits { owner_pictures: 2, owner_bytes: 250, total_bytes: 400 };
        let pictures = start(&tree, &store, folder.path(), limits).await;
        let held = pictures.reserve(room("ann", 2)).await.unwrap();
        assert_eq!(pictures.reserve(room("ann", 1)).await.unwrap_err().code, Some("image_quota"));
        drop(held);
        let held = pictures.reserve(room("ann", 2)).await.unwrap();
        let other = pictures.reserve(room("bob", 2)).await.unwrap();
        let full = pictures.reserve(room("eve", 1)).await.unwrap_err();
        assert_eq!((full.kind, full.code), (Kind::Unavailable, Some("image_storage_full")));
        drop((held, other));
        let bytes = Room { bytes: 251, ..room("ann", 1) };
        assert_eq!(pictures.reserve(bytes).await.unwrap_err().code, Some("image_quota"));
    });
}

#[test]
fn a_picture_larger_than_was_reserved_is_stored_only_within_the_quota() {
    test_world::run(|tree| async move {
        let (folder, store) = (tempfile::tempdir().unwrap(), memory());
        let limits = PictureLimits { owner_bytes: 250, ..PictureLimits::default() };
        let pictures = start(&tree, &store, folder.path(), limits).await;
        let reservation = pictures.reserve(room("ann", 1)).await.unwrap();
        assert!(pictures.store(reservation, vec![picture(&[7; 200])]).await.is_ok());
        let reservation = pictures.reserve(Room { bytes: 10, ..room("ann", 1) }).await.unwrap();
        let refused = pictures.store(reservation, vec![picture(&[7; 60])]).await.unwrap_err();
        assert_eq!(refused.code, Some("image_quota"));
        assert_eq!(pictures.stats().await.unwrap(), PictureStats { pictures: 1, bytes: 200, owners: 1 });
    });
}
