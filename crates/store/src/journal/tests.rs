//! Durability, order and bounds of the journal.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::*;

fn small() -> JournalOptions {
    JournalOptions { segment_bytes: 64, waiting: 3, tail_bytes: 1 << 20 }
}

fn open(folder: &Path) -> Journal {
    Journal::open(folder, 0, small()).unwrap()
}

/// Returns everything in the folder, as a new process would read it.
fn read(folder: &Path) -> (Vec<Vec<u8>>, u64) {
    let (mut found, mut before) = (Vec::new(), 0);
    let replayed = open(folder)
        .replay(0, u64::MAX, |number, payload| {
            assert!(number > before, "numbers grow");
            before = number;
            found.push(payload.to_vec());
        })
        .unwrap();
    assert_eq!(replayed.frames, found.len() as u64);
    (found, replayed.torn_bytes)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = crate::files::entries(folder);
    files.sort();
    files
}

fn taken(journal: &Journal, follower: u64) -> Vec<Vec<u8>> {
    let mut bytes = Vec::new();
    journal.take(follower, &mut bytes).unwrap();
    Frames::new(&bytes).map(|(_, payload)| payload.to_vec()).collect()
}

#[test]
fn appended_frames_are_readable_without_a_sync_or_a_close() {
    let home = tempfile::tempdir().unwrap();
    let journal = open(home.path());
    for n in 0..20_u8 {
        assert!(journal.append(&[n; 10]).unwrap() >= journal.started());
    }
    // The journal is not dropped: a killed process runs no destructors.
    let expected: Vec<Vec<u8>> = (0..20_u8).map(|n| vec![n; 10]).collect();
    assert_eq!(read(home.path()), (expected, 0));
    assert!(files(home.path()).len() > 1, "a new file is begun at the size limit");
    assert!(journal.dirty());
    journal.sync().unwrap();
    assert!(!journal.dirty());
}

#[test]
fn numbers_increase_across_openings_even_if_files_are_missing() {
    let home = tempfile::tempdir().unwrap();
    let first = open(home.path()).append(b"a").unwrap();
    let second = open(home.path()).append(b"b").unwrap();
    assert!(second > first);
    files(home.path()).iter().for_each(|file| fs::remove_file(file).unwrap());
    let third = Journal::open(home.path(), second, small()).unwrap().append(b"c").unwrap();
    assert!(third > second);
}

#[test]
fn a_torn_frame_hides_neither_earlier_frames_nor_later_openings() {
    let home = tempfile::tempdir().unwrap();
    let journal = Journal::open(home.path(), 0, JournalOptions::default()).unwrap();
    journal.append(b"first").unwrap();
    journal.append(b"second").unwrap();
    let [file] = files(home.path()).try_into().unwrap();
    let whole = fs::read(&file).unwrap();
    let first = frame::HEADER + b"first".len();
    for len in 0..whole.len() {
        let home = tempfile::tempdir().unwrap();
        let cut = home.path().join(file.file_name().unwrap());
        fs::write(&cut, &whole[..len]).unwrap();
        open(home.path()).append(b"third").unwrap();
        let (found, torn) = read(home.path());
        let mut expected: Vec<Vec<u8>> = if len >= first { vec![b"first".to_vec()] } else { vec![] };
        expected.push(b"third".to_vec());
        assert_eq!(found, expected, "cut at {len}");
        assert_eq!(torn, (len - if len >= first { first } else { 0 }) as u64, "cut at {len}");
    }
}

#[test]
fn every_bit_flip_is_detected() {
    let home = tempfile::tempdir().unwrap();
    let journal = Journal::open(home.path(), 0, JournalOptions::default()).unwrap();
    journal.append(b"first").unwrap();
    journal.append(b"second").unwrap();
    let [file] = files(home.path()).try_into().unwrap();
    let whole = fs::read(&file).unwrap();
    let first = frame::HEADER + b"first".len();
    for bit in 0..whole.len() * 8 {
        let mut flipped = whole.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let found: Vec<_> = Frames::new(&flipped).map(|(_, payload)| payload).collect();
        let expected: &[&[u8]] = if bit / 8 < first { &[] } else { &[b"first"] };
        assert_eq!(found, expected, "bit {bit}");
    }
    // What a power cut may leave of a file that had grown.
    assert_eq!(Frames::new(&[0; 64]).next(), None);
}

#[test]
fn remove_through_deletes_files_without_later_frames() {
    let home = tempfile::tempdir().unwrap();
    let journal = open(home.path());
    let numbers: Vec<u64> = (0..20_u8).map(|n| journal.append(&[n; 10]).unwrap()).collect();
    journal.remove_through(numbers[9]);
    let mut left = Vec::new();
    journal.replay(numbers[9], u64::MAX, |number, _| left.push(number)).unwrap();
    assert_eq!(left, numbers[10..]);
    assert!(journal.stats().files < 8, "{:?}", journal.stats());
    journal.rotate();
    journal.remove_through(numbers[19]);
    assert_eq!(files(home.path()), Vec::<PathBuf>::new());
    assert_eq!(journal.stats().bytes, 0);
    journal.append(b"next").unwrap();
    assert_eq!(read(home.path()).0, vec![b"next".to_vec()]);
}

#[test]
fn while_writing_fails_frames_are_buffered_in_order_up_to_a_bound() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("journal");
    let journal = open(&folder);
    let FollowerStart { follower, .. } = journal.follow();
    fs::remove_dir(&folder).unwrap();
    assert!(matches!(journal.append(b"refused"), Err(StoreError::Io(_))));
    for n in 0..3_u8 {
        assert!(matches!(journal.append_or_buffer(&[n + 1]), AppendOutcome::Buffered(_)));
    }
    assert_eq!(journal.append_or_buffer(&[9]), AppendOutcome::Lost);
    assert_eq!((journal.stats().waiting, journal.stats().lost), (3, 1));
    assert!(journal.sync().is_err() && journal.dirty());
    assert_eq!(taken(&journal, follower), [[1], [2], [3]], "a follower receives buffered frames");
    let followed = journal.follow();
    assert_eq!(Frames::new(&followed.waiting).count(), 3, "a later follower receives them as well");
    fs::create_dir(&folder).unwrap();
    journal.append(&[4]).unwrap();
    assert_eq!(read(&folder).0, [[1], [2], [3], [4]]);
    assert_eq!(journal.stats().waiting, 0);
}

#[test]
fn buffered_frames_can_be_removed() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("journal");
    let journal = open(&folder);
    fs::remove_dir(&folder).unwrap();
    let AppendOutcome::Buffered(first) = journal.append_or_buffer(b"a") else { panic!("the frame was written") };
    journal.append_or_buffer(b"b");
    journal.remove_through(first);
    fs::create_dir(&folder).unwrap();
    journal.sync().unwrap();
    assert_eq!(read(&folder).0, [b"b"]);
}

#[test]
fn a_follower_receives_each_frame_once_and_fails_after_lagging() {
    let home = tempfile::tempdir().unwrap();
    let options = JournalOptions { tail_bytes: 40, ..small() };
    let journal = Journal::open(home.path(), 0, options).unwrap();
    let before = journal.append(b"before").unwrap();
    let FollowerStart { follower, through, waiting } = journal.follow();
    assert_eq!((through, waiting.len()), (before, 0));
    journal.append(b"one").unwrap();
    assert_eq!(taken(&journal, follower), [b"one"]);
    assert_eq!(taken(&journal, follower), Vec::<Vec<u8>>::new());
    (0..3).for_each(|_| assert!(journal.append(b"many").is_ok()));
    assert_eq!(journal.take(follower, &mut Vec::new()), Err(StoreError::Conflict));
    let next = journal.follow();
    assert_eq!(journal.take(follower, &mut Vec::new()), Err(StoreError::Conflict), "superseded by another follower");
    let mut replayed = 0;
    journal.replay(before, next.through, |_, _| replayed += 1).unwrap();
    assert_eq!(replayed, 4);
}

#[test]
fn invalid_payloads_are_rejected() {
    let home = tempfile::tempdir().unwrap();
    let journal = open(home.path());
    for bad in [Vec::new(), vec![0; MAX_FRAME + 1]] {
        assert!(matches!(journal.append(&bad), Err(StoreError::BadRequest(_))));
        assert_eq!(journal.append_or_buffer(&bad), AppendOutcome::Lost);
    }
    journal.append(&vec![7; MAX_FRAME]).unwrap();
    assert_eq!(read(home.path()).0, [vec![7; MAX_FRAME]]);
}

#[test]
fn concurrent_appends_lose_nothing_and_the_follower_sees_the_files_order() {
    let home = tempfile::tempdir().unwrap();
    let journal = open(home.path());
    let FollowerStart { follower, .. } = journal.follow();
    std::thread::scope(|scope| {
        for thread in 0..4_u8 {
            let journal = &journal;
            scope.spawn(move || (0..200_u8).for_each(|n| assert!(journal.append(&[thread, n]).is_ok())));
        }
    });
    let (found, torn) = read(home.path());
    assert_eq!((found.len(), torn), (800, 0));
    assert_eq!(taken(&journal, follower), found);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Arbitrary payloads over several openings, each followed by a torn frame.
    #[test]
    fn all_intact_frames_are_replayed_in_order(
        runs in prop::collection::vec(
            (prop::collection::vec(prop::collection::vec(any::<u8>(), 1..200), 1..12), 0..40_usize), 1..4),
    ) {
        let home = tempfile::tempdir().unwrap();
        let mut expected = Vec::new();
        for (payloads, torn) in runs {
            let journal = open(home.path());
            for payload in payloads {
                journal.append(&payload).unwrap();
                expected.push(payload);
            }
            let newest = files(home.path()).pop().unwrap();
            let mut bytes = fs::read(&newest).unwrap();
            let len = bytes.len();
            let mut cut = Vec::new();
            frame::seal(journal.stats().last + 1, &[1; 40], &mut cut);
            bytes.extend(&cut[..torn]);
            prop_assert_eq!(bytes.len(), len + torn);
            fs::write(&newest, bytes).unwrap();
        }
        prop_assert_eq!(read(home.path()).0, expected);
    }
}
