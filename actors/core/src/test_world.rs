//! A small world for an actor's test: its own system and tree, on paused time, with nothing global.

use std::future::Future;

use crate::supervise::Tree;
use crate::{Clock, Millis};

/// 2026-01-01T00:00:00Z.
pub const START: Millis = Millis(1_767_225_600_000);

/// Runs a test in a world of its own. Time stands still while anything can run, and leaps to the next timer when not.
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

/// Lets everything that can run do so until `holds`; panics after a minute of the world's time.
pub async fn until(holds: impl Fn() -> bool) {
    let deadline = tokio::time::Instant::now() + std::time::Duration::from_secs(60);
    while !holds() {
        assert!(tokio::time::Instant::now() < deadline, "what was awaited did not come");
        tokio::time::advance(std::time::Duration::from_millis(1)).await;
        tokio::task::yield_now().await;
    }
}

/// Comes after so much of the world's time, which costs none of ours.
pub async fn after(wait: std::time::Duration) {
    // Elapsing is what is awaited.
    let _ = tokio::time::timeout(wait, std::future::pending::<()>()).await;
}
