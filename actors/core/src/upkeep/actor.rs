//! The actor that runs periodic jobs.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use actix::fut::ActorFutureExt;
use actix::{Actor, AsyncContext, Context, WrapFuture};
use actix_rt::ArbiterHandle;
use futures::future::BoxFuture;

use crate::supervise::{ChildSpec, Group};

type Work = Arc<dyn Fn() -> BoxFuture<'static, Result<(), String>> + Send + Sync>;

/// A periodic job.
#[derive(Clone)]
pub struct PeriodicJob {
    name: &'static str,
    /// Interval from the end of one run to the start of the next, and from the start of the actor to the first run.
    every: Duration,
    work: Work,
}

impl fmt::Debug for PeriodicJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job").field("name", &self.name).finish_non_exhaustive()
    }
}

impl PeriodicJob {
    /// Creates a job. `work` must not block the arbiter: blocking work must use `spawn_blocking`.
    pub fn new<F, Fut>(name: &'static str, every: Duration, work: F) -> Self
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), String>> + Send + 'static,
    {
        Self { name, every, work: Arc::new(move || Box::pin(work())) }
    }
}

/// Runs its jobs, each at its interval and never concurrently with itself. A failure is logged, and the job runs again
/// after its interval.
#[derive(Debug)]
pub struct UpkeepActor {
    jobs: Arc<[PeriodicJob]>,
}

/// Starts the actor.
pub fn start(group: &Group, arbiter: ArbiterHandle, jobs: Vec<PeriodicJob>) {
    let jobs: Arc<[PeriodicJob]> = jobs.into();
    group.start(ChildSpec::new("upkeep", arbiter, move |_| {
        let jobs = Arc::clone(&jobs);
        async move { Ok(UpkeepActor { jobs }) }
    }));
}

impl Actor for UpkeepActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Context<Self>) {
        for job in self.jobs.iter() {
            wait(job.clone(), context);
        }
    }
}

fn wait(job: PeriodicJob, context: &mut Context<UpkeepActor>) {
    context.run_later(job.every, move |actor, context| {
        let work = (job.work)().into_actor(actor).map(move |done, _, context: &mut Context<UpkeepActor>| {
            match done {
                Ok(()) => tracing::debug!(job = job.name, "done"),
                Err(error) => tracing::error!(job = job.name, %error, "failed"),
            }
            wait(job, context);
        });
        context.spawn(work);
    });
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use actix_rt::Arbiter;

    use super::*;
    use crate::test_world;

    #[test]
    fn a_job_runs_at_its_interval_despite_failures_and_restarts() {
        test_world::run(|tree| async move {
            let done = Arc::new(AtomicUsize::new(0));
            let counted = Arc::clone(&done);
            let job = PeriodicJob::new("count", Duration::from_secs(10), move || {
                let nth = counted.fetch_add(1, Ordering::SeqCst);
                async move { if nth == 0 { Err("the first one fails".to_owned()) } else { Ok(()) } }
            });
            start(&tree.group("upkeep"), Arbiter::current(), vec![job]);
            test_world::after(Duration::from_millis(10_100)).await;
            assert_eq!(done.load(Ordering::SeqCst), 1);
            test_world::after(Duration::from_secs(10)).await;
            assert_eq!(done.load(Ordering::SeqCst), 2);
            assert!(tree.inject_panic("upkeep/upkeep"));
            test_world::until(|| tree.snapshot()[0].restarts == 1).await;
            test_world::after(Duration::from_millis(10_200)).await;
            assert_eq!(done.load(Ordering::SeqCst), 3);
        });
    }
}
