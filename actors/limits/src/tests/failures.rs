//! A disk that fails or hangs: a typed error in bounded time, and no admission without limits.

use std::time::Duration;

use futures::future::join_all;
use muster_store::{Store, StoreError};

use super::support::*;
use muster_core::Kind;

#[test]
fn a_failing_store_admits_only_what_is_covered() {
    with_limiter(|LimiterFixture { disk, limiter, .. }| async move {
        assert_eq!(passes(&limiter, chat("key_1")).await, Ok(true));
        disk.fail_commits(Some(StoreError::Poisoned("a sync failed".into())));
        let error = passes(&limiter, chat("key_2")).await.unwrap_err();
        assert_eq!((error.kind, error.retry_after), (Kind::Unavailable, Some(Duration::from_secs(30))));
        let message = "the store does not accept writes at the moment: try again later";
        assert_eq!((error.code, error.message.as_str()), (None, message), "as every feature's");
        let mut covered = 0;
        while passes(&limiter, chat("key_1")).await == Ok(true) {
            covered += 1;
        }
        assert_eq!(covered, 6, "one lease");
        disk.fail_commits(Some(StoreError::Busy));
        let error = passes(&limiter, chat("key_1")).await.unwrap_err();
        assert_eq!((error.kind, error.retry_after), (Kind::Unavailable, Some(Duration::from_secs(1))));
        assert_eq!((error.code, error.message.as_str()), (None, message));
        disk.fail_commits(None);
        assert_eq!(exhaust(&limiter, &chat("key_1")).await, 120 - 1 - 6, "a rejected request is not charged");
        assert_eq!(exhaust(&limiter, &chat("key_2")).await, 120);
    });
}

#[test]
fn callers_waiting_for_the_disk_are_replied_to_in_order() {
    with_limiter(|LimiterFixture { disk, limiter, .. }| async move {
        assert_eq!(passes(&limiter, chat("key_1")).await, Ok(true));
        disk.hold_commits();
        let requests = join_all((0..200).map(|_| passes(&limiter, chat("key_1"))));
        let released = async {
            disk.held(1).await;
            disk.release();
        };
        let (answers, ()) = tokio::join!(requests, released);
        let first_refused = answers.iter().position(|answer| *answer == Ok(false));
        assert_eq!(first_refused, Some(119));
        assert!(answers[119..].iter().all(|answer| *answer == Ok(false)));
    });
}

#[test]
fn a_hanging_disk_rejects_within_seconds_without_blocking_others() {
    with_limiter(|LimiterFixture { disk, limiter, .. }| async move {
        assert_eq!(passes(&limiter, chat("key_1")).await, Ok(true));
        disk.hold_commits();
        let begun = tokio::time::Instant::now();
        let (hung, covered) = tokio::join!(passes(&limiter, chat("key_2")), passes(&limiter, chat("key_1")));
        assert_eq!(hung.unwrap_err().kind, Kind::Unavailable);
        assert_eq!(covered, Ok(true), "the actor does not wait");
        assert!(begun.elapsed() < Duration::from_secs(5));
        disk.release();
        // The hung write has reached the disk after all; the bucket in memory knows that it was rejected.
        assert_eq!(exhaust(&limiter, &chat("key_2")).await, 120);
    });
}

#[test]
fn a_record_of_a_newer_program_rejects_requests() {
    with_limiter(|LimiterFixture { disk, limiter, .. }| async move {
        let key = crate::record::head_key(&chat("key_1").key);
        let rec = muster_store::Rec { schema: 9, bytes: vec![0] };
        disk.commit(muster_store::Batch::put(muster_store::Tree::Limits, key, rec)).await.unwrap();
        assert_eq!(passes(&limiter, chat("key_1")).await.unwrap_err().kind, Kind::Internal);
        assert_eq!(passes(&limiter, chat("key_2")).await, Ok(true));
    });
}
