//! Running: from the request to the end.

use super::*;
use muster_core::Kind;
use muster_core::idempotency::Idempotency;

#[test]
fn a_task_runs_its_steps_and_its_result_is_stored() {
    test_world::run(|tree| async move {
        let fixture = TaskFixture::new(&tree, TaskSettings::default()).await;
        let accepted = fixture.try_run(json!([{ "do": "ok" }, { "do": "sleep", "ms": 1500 }])).await.unwrap();
        assert_eq!((accepted.status, accepted.estimate.p50_seconds), (Status::Pending, 7), "the default of its agent");
        let done = fixture.reaches(&accepted.id, Status::Succeeded).await;
        let outputs = json!([{ "n": 0, "echo": null }, { "n": 1, "echo": null }]);
        assert_eq!(done.result, Some(json!({ "agent": "script", "outputs": outputs })));
        assert_eq!(done.steps.iter().map(|step| step.status).collect::<Vec<_>>(), [StepStatus::Succeeded; 2]);
        assert_eq!((done.progress.percent, done.progress.completed_steps), (Some(100), 2));
        assert_eq!(done.usage, Usage { prompt: 6, completion: 4, cost_nanos: 10 });
        assert!((1_500..1_700).contains(&done.ran_ms), "{}", done.ran_ms);
        let begun = fixture.executor.begun();
        assert_eq!(begun, [(format!("{}/0/0", done.id), 1), (format!("{}/0/1", done.id), 1)]);
        let again = fixture.restart().await;
        assert_eq!(again.get(&done.id).await, done, "an ended task is read from the store");
        assert!(again.executor.begun().is_empty());
    });
}

#[test]
fn a_failed_step_is_retried_after_a_back_off_a_limited_number_of_times() {
    test_world::run(|tree| async move {
        let fixture = TaskFixture::new(&tree, TaskSettings { retries: 2, ..TaskSettings::default() }).await;
        let id = fixture.run(json!([{ "do": "fail", "times": 2 }])).await;
        let retrying = fixture.reaches(&id, Status::Retrying).await;
        assert_eq!(retrying.steps[0].status, StepStatus::Failed);
        let done = fixture.reaches(&id, Status::Succeeded).await;
        assert_eq!((done.attempt, done.usage.prompt), (3, 5), "what failed attempts used counts too");
        // 0.5 s, then 1 s.
        assert!((1_500..2_000).contains(&done.ran_ms), "{}", done.ran_ms);

        let id = fixture.run(json!([{ "do": "fail" }])).await;
        let failed = fixture.reaches(&id, Status::Failed).await;
        assert_eq!((failed.attempt, failed.error.unwrap().error_code.as_str()), (3, "AGENT_EXECUTION_ERROR"));
        let id = fixture.run(json!([{ "do": "fail", "times": 1, "never": true }])).await;
        assert_eq!(fixture.reaches(&id, Status::Failed).await.attempt, 1);
        let id = fixture.run(json!([{ "do": "fail", "times": 1, "after": 20_000 }])).await;
        assert!(
            fixture.reaches(&id, Status::Succeeded).await.ran_ms >= 20_000,
            "not before the time requested by the provider"
        );
        let id = fixture.run(json!([{ "do": "panic" }])).await;
        let failed = fixture.reaches(&id, Status::Failed).await;
        assert_eq!((failed.attempt, failed.error.unwrap().error_code.as_str()), (3, "AGENT_EXECUTION_ERROR"));
        let id = fixture.run(json!([{ "do": "unplanned" }])).await;
        assert_eq!(fixture.reaches(&id, Status::Failed).await.error.unwrap().error_code, "AGENT_PARAMS_MISSING");
        assert_eq!(fixture.tree.snapshot()[0].restarts, 0, "a panic of a step does not affect the actor");
    });
}

#[test]
fn run_time_and_queue_time_are_bounded() {
    test_world::run(|tree| async move {
        let settings = TaskSettings { slots: 1, queue_timeout: Duration::from_secs(30), ..TaskSettings::default() };
        let fixture = TaskFixture::new(&tree, settings).await;
        let short = NewTask { timeout_seconds: 60, ..new(json!([{ "do": "hang" }])) };
        let slow = fixture.tasks.run(short, &fixture.owner, None).await.unwrap().id;
        let queued = fixture.run(json!([{ "do": "ok" }])).await;
        let waited = fixture.reaches(&queued, Status::TimedOut).await;
        assert_eq!(waited.error.unwrap().error_code, "QUEUE_TIMEOUT");
        let over = fixture.reaches(&slow, Status::TimedOut).await;
        assert!((60_000..60_300).contains(&over.ran_ms), "{}", over.ran_ms);
        test_world::until(|| fixture.executor.dropped().len() == 1).await;
    });
}

#[test]
fn an_owner_runs_eight_tasks_at_a_time_and_a_full_queue_rejects() {
    test_world::run(|tree| async move {
        let fixture = TaskFixture::new(&tree, TaskSettings { queue_per_key: 5, ..TaskSettings::default() }).await;
        for _ in 0..13 {
            fixture.run(json!([{ "do": "hang" }])).await;
        }
        test_world::until(|| fixture.executor.begun().len() == 8).await;
        let refused = fixture.try_run(json!([])).await.unwrap_err();
        assert_eq!((refused.kind, refused.code), (Kind::RateLimited, Some("QUEUE_FULL")));
        let other = fixture.tasks.run(new(json!([{ "do": "ok" }])), &key("key_other"), None).await.unwrap();
        assert_eq!(other.estimate.queue_seconds, 0, "another owner's queue has no effect");
        test_world::until(|| fixture.executor.begun().len() == 9).await;
        test_world::after(Duration::from_millis(500)).await;
        let stats = fixture.tasks.stats();
        assert_eq!((stats.running, stats.queued, stats.workers), (8, 5, 64));
    });
}

#[test]
fn an_invalid_run_request_is_rejected() {
    test_world::run(|tree| async move {
        let fixture = TaskFixture::new(&tree, TaskSettings::default()).await;
        let run = |new: NewTask| fixture.tasks.run(new, &fixture.owner, None);
        let unknown = NewTask { agent: "none".into(), ..new(json!([])) };
        assert_eq!(run(unknown).await.unwrap_err().kind, Kind::NotFound);
        for timeout_seconds in [0, 86_401] {
            let wrong = NewTask { timeout_seconds, ..new(json!([])) };
            let refused = run(wrong).await.unwrap_err();
            assert_eq!(
                (refused.kind, refused.fields[0].loc.join(".").as_str()),
                (Kind::Invalid, "body.timeout_seconds")
            );
        }
    });
}

#[test]
fn the_same_idempotency_key_creates_one_task() {
    test_world::run(|tree| async move {
        let fixture = TaskFixture::new(&tree, TaskSettings::default()).await;
        let idempotency = Idempotency { principal: "key_me".into(), key: "k".into(), digest: [1; 32] };
        let run = |idempotency: &Idempotency| {
            fixture.tasks.run(new(json!([{ "do": "ok" }])), &fixture.owner, Some(idempotency.clone()))
        };
        let (one, two) = futures::join!(run(&idempotency), run(&idempotency));
        let (one, two) = (one.unwrap(), two.unwrap());
        assert_eq!(one.id, two.id);
        fixture.reaches(&one.id, Status::Succeeded).await;
        let late = run(&idempotency).await.unwrap();
        assert_eq!((late.id, late.status), (one.id, Status::Pending), "the first reply again");
        let other = Idempotency { digest: [2; 32], ..idempotency };
        assert_eq!(run(&other).await.unwrap_err().kind, Kind::IdempotencyConflict);
    });
}

#[test]
fn estimates_come_from_history_once_there_is_enough() {
    test_world::run(|tree| async move {
        let fixture = TaskFixture::new(&tree, TaskSettings::default()).await;
        for _ in 0..5 {
            let id = fixture.run(json!([{ "do": "sleep", "ms": 40_000 }])).await;
            fixture.reaches(&id, Status::Succeeded).await;
        }
        test_world::after(Duration::from_secs(6)).await;
        let fixture = fixture.restart().await;
        let estimate = fixture.try_run(json!([])).await.unwrap().estimate;
        assert_eq!((estimate.samples, estimate.queue_seconds), (5, 0));
        assert!((40..=50).contains(&estimate.p50_seconds), "{}", estimate.p50_seconds);
    });
}

#[test]
fn a_task_that_starts_paused_runs_once_it_is_resumed() {
    test_world::run(|tree| async move {
        let fixture = TaskFixture::new(&tree, TaskSettings::default()).await;
        let held = NewTask { start: Start::Paused, ..new(json!([{ "do": "ok" }])) };
        let id = fixture.tasks.run(held, &fixture.owner, None).await.unwrap().id;
        assert_eq!(fixture.get(&id).await.status, Status::Paused, "from the first reply on");
        test_world::after(Duration::from_secs(3_600)).await;
        assert!(fixture.executor.begun().is_empty(), "nothing of it runs");
        let paused = fixture.get(&id).await;
        let [pause] = &paused.controls[..] else { panic!("{:?}", paused.controls) };
        assert_eq!((pause.verb.name(), pause.outcome), ("pause", Some(Outcome::Applied)));
        fixture.control(&id, Verb::Resume).await.unwrap();
        let done = fixture.reaches(&id, Status::Succeeded).await;
        assert!(done.paused_ms >= 3_600_000, "{}", done.paused_ms);
    });
}
