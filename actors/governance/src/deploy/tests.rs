//! Starts, stops, kills and reloads.

use std::sync::Arc;

use muster_core::Clock;
use muster_core::page::PageParams;
use muster_store::{MemStore, StoreHandle};

use super::*;

fn program(version: &str, config: &str) -> Program {
    Program {
        version: version.to_owned(),
        commit: None,
        binary_sha256: format!("binary of {version}"),
        config_sha256: config.to_owned(),
    }
}

/// Versions, settings and ends, newest first.
async fn listed(deploys: &Deploys) -> Vec<(String, String, Option<DeployEnd>)> {
    let page = deploys.list(PageParams { limit: 200, after: None }).await.unwrap();
    for pair in page.items.windows(2) {
        assert_eq!(pair[0].previous.as_deref(), Some(pair[1].id.as_str()), "each names the one before it");
        assert_eq!(pair[1].ended_at.is_some(), pair[1].end.is_some());
    }
    page.items.into_iter().map(|one| (one.program.version, one.program.config_sha256, one.end)).collect()
}

fn row(version: &str, config: &str, end: Option<DeployEnd>) -> (String, String, Option<DeployEnd>) {
    (version.to_owned(), config.to_owned(), end)
}

#[tokio::test]
async fn a_start_that_differs_and_a_reload_are_recorded_with_the_end_of_what_ran_before() {
    let store: StoreHandle = Arc::new(MemStore::default());
    let deploys = Deploys::new(&store, &Clock::system(), None);
    deploys.start(program("1", "a"), "p").await.unwrap();
    assert_eq!(listed(&deploys).await, [row("1", "a", None)]);
    deploys.stop().await.unwrap();
    assert_eq!(listed(&deploys).await, [row("1", "a", Some(DeployEnd::Clean))]);
    // The same program again is the same deploy.
    deploys.start(program("1", "a"), "p").await.unwrap();
    assert_eq!(listed(&deploys).await, [row("1", "a", None)]);
    deploys.reload(program("1", "b"), "p", "usr_1").await.unwrap();
    let after = [row("1", "b", None), row("1", "a", Some(DeployEnd::Clean))];
    assert_eq!(listed(&deploys).await, after);
    // Nothing stops it: the next start finds a record without an end.
    deploys.start(program("1", "b"), "p").await.unwrap();
    let killed = row("1", "b", Some(DeployEnd::Killed));
    assert_eq!(listed(&deploys).await[..2], [row("1", "b", None), killed]);
    deploys.stop().await.unwrap();
    deploys.start(program("2", "b"), "q").await.unwrap();
    assert_eq!(listed(&deploys).await[..2], [row("2", "b", None), row("1", "b", Some(DeployEnd::Clean))]);
    let entries = crate::test_entries::of(&store);
    let by: Vec<_> = entries.iter().map(|entry| (entry.action.as_str(), entry.actor.as_str())).collect();
    let recorded = |by| ("deploy.recorded", by);
    assert_eq!(by, [recorded("system"), recorded("usr_1"), recorded("system"), recorded("system")]);
    assert_eq!(entries[2].details["previous_end"], "killed");
}

#[tokio::test]
async fn deploys_are_listed_by_pages_and_the_oldest_are_removed() {
    let store: StoreHandle = Arc::new(MemStore::default());
    let deploys = Deploys::new(&store, &Clock::system(), None);
    for number in 0..MAX_KEPT + 5 {
        deploys.reload(program(&number.to_string(), "a"), "p", "usr_1").await.unwrap();
    }
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let page = deploys.list(PageParams { limit: 200, after }).await.unwrap();
        seen.extend(page.items.into_iter().map(|one| one.program.version.parse::<usize>().unwrap()));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    let expected: Vec<usize> = (5..MAX_KEPT + 5).rev().collect();
    assert_eq!(seen, expected);
}
