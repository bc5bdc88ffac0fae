//! Test environment for actors: a separate actix system and supervision tree on paused time, without global state.

use std::future::Future;

use crate::supervise::Tree;
use crate::{Clock, Millis};

/// 2026-01-01T00:00:00Z.
pub const START: Millis = Millis(1_767_225_600_000);

/// Runs a test in an environment of its own. Time stands still while any task can run, and otherwise advances to the
/// next timer.
pub fn run<F, Fut>(test: F)
where
    F: FnOnce(Tree) -> Fut,
    Fut: Future<Output = ()>,
{
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    actix_rt::System::with_tokio_rt(runtime).block_on(async {
        let tree = Tree::new(actix_rt::Arbiter::current(), Clock::tokio(START));
        test(tree.clone()).await;
        tree.stop().await;
    });
}

/// Runs all tasks until `holds` returns true; panics after a minute of virtual time.
pub async fn until(holds: impl Fn() -> bool) {
    let deadline = tokio::time::Instant::now() + std::time::Duration::from_secs(60);
    while !holds() {
        assert!(tokio::time::Instant::now() < deadline, "timed out waiting for the condition");
        tokio::time::advance(std::time::Duration::from_millis(1)).await;
        tokio::task::yield_now().await;
    }
}

/// Waits for a duration of virtual time.
pub async fn after(wait: std::time::Duration) {
    // The timeout is expected to elapse.
    let _ = tokio::time::timeout(wait, std::future::pending::<()>()).await;
}
