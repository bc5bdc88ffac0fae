//! Running: from the request to the end.

use super::*;
use muster_core::Kind;
use muster_core::idempotency::Idempotency;

#[test]
fn a_task_runs_its_steps_and_its_result_is_kept() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree, TaskSettings::default()).await;
        let accepted = bench.try_run(json!([{ "do": "ok" }, { "do": "sleep", "ms": 1500 }])).await.unwrap();
        assert_eq!((accepted.status, accepted.estimate.p50_seconds), (Status::Pending, 7), "its agent's own guess");
        let done = bench.is(&accepted.id, Status::Succeeded).await;
        let outputs = json!([{ "n": 0, "said": null }, { "n": 1, "said": null }]);
        assert_eq!(done.result, Some(json!({ "agent": "script", "outputs": outputs })));
        assert_eq!(done.steps.iter().map(|step| step.status).collect::<Vec<_>>(), [StepStatus::Succeeded; 2]);
        assert_eq!((done.progress.percent, done.progress.completed_steps), (Some(100), 2));
        assert_eq!(done.usage, Usage { prompt: 6, completion: 4, cost_nanos: 10 });
        assert!((1_500..1_700).contains(&done.ran_ms), "{}", done.ran_ms);
        let begun = bench.work.begun();
        assert_eq!(begun, [(format!("{}/0/0", done.id), 1), (format!("{}/0/1", done.id), 1)]);
        let again = bench.again().await;
        assert_eq!(again.get(&done.id).await, done, "an ended task is read from the store");
        assert!(again.work.begun().is_empty());
    });
}

#[test]
fn what_fails_is_tried_again_after_a_back_off_and_then_no_more() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree, TaskSettings { retries: 2, ..TaskSettings::default() }).await;
        let id = bench.run(json!([{ "do": "fail", "times": 2 }])).await;
        let retrying = bench.is(&id, Status::Retrying).await;
        assert_eq!(retrying.steps[0].status, StepStatus::Failed);
        let done = bench.is(&id, Status::Succeeded).await;
        assert_eq!((done.attempt, done.usage.prompt), (3, 5), "what failed attempts used counts too");
        // 0.5 s, then 1 s.
        assert!((1_500..2_000).contains(&done.ran_ms), "{}", done.ran_ms);

        let id = bench.run(json!([{ "do": "fail" }])).await;
        let failed = bench.is(&id, Status::Failed).await;
        assert_eq!((failed.attempt, failed.error.unwrap().error_code.as_str()), (3, "AGENT_EXECUTION_ERROR"));
        let id = bench.run(json!([{ "do": "fail", "times": 1, "never": true }])).await;
        assert_eq!(bench.is(&id, Status::Failed).await.attempt, 1);
        let id = bench.run(json!([{ "do": "fail", "times": 1, "after": 20_000 }])).await;
        assert!(bench.is(&id, Status::Succeeded).await.ran_ms >= 20_000, "not before the provider said");
        let id = bench.run(json!([{ "do": "panic" }])).await;
        let failed = bench.is(&id, Status::Failed).await;
        assert_eq!((failed.attempt, failed.error.unwrap().error_code.as_str()), (3, "AGENT_EXECUTION_ERROR"));
        let id = bench.run(json!([{ "do": "unplanned" }])).await;
        assert_eq!(bench.is(&id, Status::Failed).await.error.unwrap().error_code, "AGENT_PARAMS_MISSING");
        assert_eq!(bench.tree.snapshot()[0].restarts, 0, "no step's panic is the actor's");
    });
}

#[test]
fn run_time_is_bounded_and_so_is_time_in_the_queue() {
    test_world::run(|tree| async move {
        let settings = TaskSettings { slots: 1, queue_timeout: Duration::from_secs(30), ..TaskSettings::default() };
        let bench = Bench::new(&tree, settings).await;
        let short = NewTask { timeout_seconds: 60, ..new(json!([{ "do": "hang" }])) };
        let slow = bench.tasks.run(short, &bench.me, None).await.unwrap().id;
        let queued = bench.run(json!([{ "do": "ok" }])).await;
        let waited = bench.is(&queued, Status::TimedOut).await;
        assert_eq!(waited.error.unwrap().error_code, "QUEUE_TIMEOUT");
        let over = bench.is(&slow, Status::TimedOut).await;
        assert!((60_000..60_300).contains(&over.ran_ms), "{}", over.ran_ms);
        test_world::until(|| bench.work.dropped().len() == 1).await;
    });
}

#[test]
fn an_owner_runs_eight_at_a_time_and_one_too_many_in_the_queue_is_refused() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree, TaskSettings { queue_per_key: 5, ..TaskSettings::default() }).await;
        for _ in 0..13 {
            bench.run(json!([{ "do": "hang" }])).await;
        }
        test_world::until(|| bench.work.begun().len() == 8).await;
        let refused = bench.try_run(json!([])).await.unwrap_err();
        assert_eq!((refused.kind, refused.code), (Kind::RateLimited, Some("QUEUE_FULL")));
        let other = bench.tasks.run(new(json!([{ "do": "ok" }])), &key("key_other"), None).await.unwrap();
        assert_eq!(other.estimate.queue_seconds, 0, "another's queue is not in its way");
        test_world::until(|| bench.work.begun().len() == 9).await;
        test_world::after(Duration::from_millis(500)).await;
        let stats = bench.tasks.stats();
        assert_eq!((stats.running, stats.queued, stats.workers), (8, 5, 64));
    });
}

#[test]
fn a_run_request_that_cannot_be_is_refused() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree, TaskSettings::default()).await;
        let ask = |new: NewTask| bench.tasks.run(new, &bench.me, None);
        let unknown = NewTask { agent: "none".into(), ..new(json!([])) };
        assert_eq!(ask(unknown).await.unwrap_err().kind, Kind::NotFound);
        for timeout_seconds in [0, 86_401] {
            let wrong = NewTask { timeout_seconds, ..new(json!([])) };
            let refused = ask(wrong).await.unwrap_err();
            assert_eq!(
                (refused.kind, refused.fields[0].loc.join(".").as_str()),
                (Kind::Invalid, "body.timeout_seconds")
            );
        }
    });
}

#[test]
fn the_same_idempotency_key_makes_one_task() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree, TaskSettings::default()).await;
        let asked = Idempotency { principal: "key_me".into(), key: "k".into(), digest: [1; 32] };
        let ask = |asked: &Idempotency| bench.tasks.run(new(json!([{ "do": "ok" }])), &bench.me, Some(asked.clone()));
        let (one, two) = futures::join!(ask(&asked), ask(&asked));
        let (one, two) = (one.unwrap(), two.unwrap());
        assert_eq!(one.id, two.id);
        bench.is(&one.id, Status::Succeeded).await;
        let late = ask(&asked).await.unwrap();
        assert_eq!((late.id, late.status), (one.id, Status::Pending), "the first answer once more");
        let other = Idempotency { digest: [2; 32], ..asked };
        assert_eq!(ask(&other).await.unwrap_err().kind, Kind::IdempotencyConflict);
    });
}

#[test]
fn estimates_come_from_history_once_there_is_enough() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree, TaskSettings::default()).await;
        for _ in 0..5 {
            let id = bench.run(json!([{ "do": "sleep", "ms": 40_000 }])).await;
            bench.is(&id, Status::Succeeded).await;
        }
        test_world::after(Duration::from_secs(6)).await;
        let bench = bench.again().await;
        let estimate = bench.try_run(json!([])).await.unwrap().estimate;
        assert_eq!((estimate.samples, estimate.queue_seconds), (5, 0));
        assert!((40..=50).contains(&estimate.p50_seconds), "{}", estimate.p50_seconds);
    });
}
