//! Stored pictures on a store in memory and on disk.

mod quotas;

use std::time::Duration;

use muster_core::page::PageParams;
use muster_core::supervise::Tree;
use muster_core::{Clock, Kind, test_world};
use muster_store::{MemStore, StoreHandle};

use super::*;

fn memory() -> StoreHandle {
    std::sync::Arc::new(MemStore::default())
}

fn room(owner: &str, pictures: u64) -> Room {
    Room { owner: owner.to_owned(), pictures, bytes: pictures * 100 }
}

fn picture(content: &[u8]) -> NewPicture {
    NewPicture {
        png: content.to_vec(),
        width: 2,
        height: 1,
        model: "m".to_owned(),
        provider: "p".to_owned(),
        method: "model".to_owned(),
    }
}

async fn start(tree: &Tree, store: &StoreHandle, folder: &std::path::Path, limits: PictureLimits) -> Pictures {
    let clock = Clock::tokio(test_world::START);
    let options = PictureOptions { store: std::sync::Arc::clone(store), clock, folder: folder.to_owned(), limits };
    let pictures = Pictures::start(&tree.group("pictures"), actix_rt::Arbiter::current(), options).unwrap();
    pictures.up().await;
    pictures
}

fn names(folder: &std::path::Path) -> Vec<String> {
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name != "link.key").collect()
}

#[test]
fn a_picture_is_read_by_its_owner_and_by_its_link_and_by_nobody_else() {
    test_world::run(|tree| async move {
        let (folder, store) = (tempfile::tempdir().unwrap(), memory());
        let pictures = start(&tree, &store, folder.path(), PictureLimits::default()).await;
        let reservation = pictures.reserve(room("ann", 1)).await.unwrap();
        let stored = pictures.store(reservation, vec![picture(b"abc")]).await.unwrap();
        let [one] = stored.as_slice() else { panic!("{stored:?}") };
        // FIPS 180-2, B.1.
        assert_eq!(one.hash(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(one.expires.since(one.created), Duration::from_secs(86_400));
        assert_eq!(pictures.read(one).await.unwrap(), b"abc");
        assert_eq!(pictures.of_owner(&one.id, "ann").await.as_ref(), Ok(one));
        let link = pictures.link(one);
        assert_eq!(pictures.by_link(&one.id, &link).await.as_ref(), Ok(one));
        let forged = format!("{}{}", if link.starts_with('A') { 'B' } else { 'A' }, &link[1..]);
        let others = [
            pictures.of_owner(&one.id, "bob").await.unwrap_err(),
            pictures.of_owner("img_unknown", "ann").await.unwrap_err(),
            pictures.by_link(&one.id, "").await.unwrap_err(),
            pictures.by_link(&one.id, &forged).await.unwrap_err(),
            pictures.delete(one.id.clone(), "bob".to_owned()).await.unwrap_err(),
        ];
        assert!(others.iter().all(|error| *error == others[0] && error.kind == Kind::NotFound), "{others:?}");
        assert_eq!(pictures.list("ann".to_owned(), PageParams::default()).await.unwrap().items, stored);
        assert!(pictures.list("bob".to_owned(), PageParams::default()).await.unwrap().items.is_empty());
        pictures.delete(one.id.clone(), "ann".to_owned()).await.unwrap();
        assert_eq!(pictures.of_owner(&one.id, "ann").await.unwrap_err().kind, Kind::NotFound);
        assert_eq!(pictures.stats().await.unwrap(), PictureStats::default());
    });
}

#[test]
fn a_picture_is_gone_after_a_day() {
    test_world::run(|tree| async move {
        let (folder, store) = (tempfile::tempdir().unwrap(), memory());
        let pictures = start(&tree, &store, folder.path(), PictureLimits::default()).await;
        let reservation = pictures.reserve(room("ann", 1)).await.unwrap();
        let one = pictures.store(reservation, vec![picture(b"abc")]).await.unwrap().remove(0);
        let link = pictures.link(&one);
        test_world::after(Duration::from_secs(86_399)).await;
        assert!(pictures.by_link(&one.id, &link).await.is_ok());
        test_world::after(Duration::from_secs(2)).await;
        assert_eq!(pictures.by_link(&one.id, &link).await.unwrap_err().kind, Kind::NotFound, "not swept yet");
        test_world::after(Duration::from_secs(61)).await;
        assert_eq!(pictures.stats().await.unwrap().pictures, 0, "swept");
        while !names(folder.path()).is_empty() {
            tokio::task::yield_now().await;
        }
    });
}

#[test]
fn pictures_and_links_survive_a_restart_and_files_without_a_record_do_not() {
    let (folder, store) = (tempfile::tempdir().unwrap(), memory());
    let (own, files) = (StoreHandle::clone(&store), folder.path().to_owned());
    let (send, receive) = std::sync::mpsc::channel();
    test_world::run(|tree| async move {
        let pictures = start(&tree, &own, &files, PictureLimits::default()).await;
        let reservation = pictures.reserve(room("ann", 2)).await.unwrap();
        let stored = pictures.store(reservation, vec![picture(b"abc"), picture(b"def")]).await.unwrap();
        send.send((stored[0].id.clone(), pictures.link(&stored[0]), stored[1].id.clone())).unwrap();
    });
    let (id, link, lost) = receive.recv().unwrap();
    std::fs::remove_file(folder.path().join(format!("{lost}.png"))).unwrap();
    for orphan in ["img_orphan.png", "img_half.part"] {
        std::fs::write(folder.path().join(orphan), b"x").unwrap();
    }
    let files = folder.path().to_owned();
    test_world::run(|tree| async move {
        let pictures = start(&tree, &store, &files, PictureLimits::default()).await;
        let one = pictures.by_link(&id, &link).await.unwrap();
        assert_eq!(pictures.read(&one).await.unwrap(), b"abc");
        assert_eq!(names(&files), [format!("{id}.png")]);
        assert_eq!(pictures.stats().await.unwrap().pictures, 1, "a record without a file is dropped");
        assert_eq!(pictures.missing_files().await, Ok(0));
        let mut snapshot = Vec::new();
        store.snapshot(&mut snapshot).unwrap();
        assert!(!snapshot.windows(id.len()).any(|part| part == id.as_bytes()), "in no backup");
    });
}

#[test]
fn the_key_of_links_has_32_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let one = link::Signature::open(folder.path()).unwrap();
    let again = link::Signature::open(folder.path()).unwrap();
    let at = muster_core::Millis(5);
    assert!(again.matches("img_1", at, &one.sign("img_1", at)));
    for (id, at) in [("img_2", at), ("img_1", muster_core::Millis(6))] {
        assert!(!again.matches(id, at, &one.sign("img_1", muster_core::Millis(5))));
    }
    std::fs::write(folder.path().join("link.key"), b"short").unwrap();
    assert!(link::Signature::open(folder.path()).unwrap_err().to_string().contains("32 bytes"));
}
