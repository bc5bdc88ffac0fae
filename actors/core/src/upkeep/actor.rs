//! The actor that does it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use actix::fut::ActorFutureExt;
use actix::{Actor, AsyncContext, Context, WrapFuture};
use actix_rt::ArbiterHandle;
use futures::future::BoxFuture;

use crate::supervise::{ChildSpec, Group};

type Work = Arc<dyn Fn() -> BoxFuture<'static, Result<(), String>> + Send + Sync>;

/// Something to be done at an interval.
#[derive(Clone)]
pub struct Job {
    name: &'static str,
    /// From one end to the next beginning; also how long after a start it is first done.
    every: Duration,
    work: Work,
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Job {
    /// `work` must not block the arbiter: what does belongs into `spawn_blocking`.
    pub fn new<F, Fut>(name: &'static str, every: Duration, work: F) -> Self
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), String>> + Send + 'static,
    {
        Self { name, every, work: Arc::new(move || Box::pin(work())) }
    }
}

/// Does its jobs, each at its interval, never two of the same at once. A failed one is logged and done again in time.
#[derive(Debug)]
pub struct UpkeepActor {
    jobs: Arc<[Job]>,
}

/// Starts the actor.
pub fn start(group: &Group, arbiter: ArbiterHandle, jobs: Vec<Job>) {
    let jobs: Arc<[Job]> = jobs.into();
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

fn wait(job: Job, context: &mut Context<UpkeepActor>) {
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
    fn a_job_is_done_at_its_interval_whether_it_fails_or_its_actor_dies() {
        test_world::run(|tree| async move {
            let done = Arc::new(AtomicUsize::new(0));
            let counted = Arc::clone(&done);
            let job = Job::new("count", Duration::from_secs(10), move || {
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
