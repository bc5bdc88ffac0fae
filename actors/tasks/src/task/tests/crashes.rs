//! Crashes, panics of the actor, a failing store, orderly shutdown.

use muster_store::StoreError;

use super::*;
use muster_core::Kind;

#[test]
fn a_step_in_progress_is_repeated_with_its_key_and_finished_ones_are_not() {
    test_world::run(|tree| async move {
        let fixture = TaskFixture::new(&tree, TaskSettings::default()).await;
        let running = fixture.run(json!([{ "do": "ok" }, { "do": "gate" }])).await;
        test_world::until(|| fixture.executor.begun().len() == 2).await;
        let paused = fixture.run(json!([{ "do": "hang" }])).await;
        fixture.control(&paused, Verb::Pause { now: true }).await.unwrap();
        let fixture = fixture.restart().await;
        test_world::until(|| fixture.executor.begun().len() == 1).await;
        assert_eq!(
            fixture.executor.begun(),
            [(format!("{running}/0/1"), 2)],
            "the one in flight only, and nothing that pauses"
        );
        fixture.executor.open();
        let done = fixture.reaches(&running, Status::Succeeded).await;
        assert!(done.recovered);
        assert_eq!(done.steps[1].attempts, 2);
        assert_eq!(done.result.unwrap()["outputs"][0]["n"], 0, "the first step's output was read back");
        assert_eq!(fixture.get(&paused).await.status, Status::Paused);
    });
}

#[test]
fn every_accepted_task_survives_with_its_place_in_the_queue() {
    test_world::run(|tree| async move {
        let fixture = TaskFixture::new(&tree, TaskSettings { slots: 1, ..TaskSettings::default() }).await;
        let first = fixture.run(json!([{ "do": "gate" }])).await;
        let mut ids = Vec::new();
        for _ in 0..20 {
            ids.push(fixture.run(json!([{ "do": "ok" }])).await);
            test_world::after(Duration::from_millis(10)).await;
        }
        let fixture = fixture.restart().await;
        test_world::until(|| fixture.executor.begun().len() == 1).await;
        fixture.executor.open();
        fixture.reaches(ids.last().unwrap(), Status::Succeeded).await;
        let order: Vec<String> = fixture.executor.begun().into_iter().map(|(key, _)| key).collect();
        let expected: Vec<String> = [first].iter().chain(&ids).map(|id| format!("{id}/0/0")).collect();
        assert_eq!(order, expected);
    });
}

#[test]
fn a_step_lost_to_three_crashes_fails() {
    test_world::run(|tree| async move {
        let mut fixture = TaskFixture::new(&tree, TaskSettings::default()).await;
        let id = fixture.run(json!([{ "do": "hang" }])).await;
        for attempt in 1..=3 {
            test_world::until(|| fixture.executor.begun().len() == 1).await;
            assert_eq!(fixture.executor.begun()[0].1, attempt);
            fixture = fixture.restart().await;
        }
        let failed = fixture.reaches(&id, Status::Failed).await;
        assert_eq!(failed.error.unwrap().error_code, "CRASH_LOOP");
    });
}

#[test]
fn a_step_that_may_not_be_repeated_waits_for_an_operator() {
    test_world::run(|tree| async move {
        let fixture = TaskFixture::new(&tree, TaskSettings::default()).await;
        let id = fixture.run(json!([{ "do": "gate", "once": true }])).await;
        test_world::until(|| fixture.executor.begun().len() == 1).await;
        let fixture = fixture.restart().await;
        let waiting = fixture.reaches(&id, Status::Waiting).await;
        assert_eq!(waiting.waiting.unwrap().reason, "operator");
        assert!(fixture.executor.begun().is_empty());
        fixture.control(&id, Verb::Resume).await.unwrap();
        fixture.executor.open();
        fixture.reaches(&id, Status::Succeeded).await;
        assert_eq!(fixture.executor.begun(), [(format!("{id}/0/0"), 2)]);
    });
}

#[test]
fn an_orderly_shutdown_lets_steps_finish_aborts_the_rest_and_is_not_a_crash() {
    test_world::run(|tree| async move {
        let mut fixture = TaskFixture::new(&tree, TaskSettings::default()).await;
        let soon = fixture.run(json!([{ "do": "sleep", "ms": 500 }, { "do": "gate" }])).await;
        let never = fixture.run(json!([{ "do": "hang" }])).await;
        for _ in 0..5 {
            test_world::until(|| fixture.executor.begun().iter().any(|(key, _)| key.starts_with(&never))).await;
            fixture.tasks.drain(Duration::from_secs(2)).await.unwrap();
            let refused = fixture.try_run(json!([])).await.unwrap_err();
            assert_eq!(refused.kind, Kind::Unavailable);
            fixture = fixture.restart().await;
        }
        test_world::until(|| fixture.executor.begun().len() == 2).await;
        fixture.executor.open();
        let done = fixture.reaches(&soon, Status::Succeeded).await;
        assert!(!done.recovered);
        assert_eq!(done.steps[0].attempts, 1, "it ended within the grace");
        let hangs = fixture.get(&never).await;
        assert_eq!((hangs.status, hangs.recovered), (Status::Running, false));
    });
}

#[test]
fn an_orderly_shutdown_keeps_the_partial_output_of_many_models() {
    test_world::run(|tree| async move {
        let fixture = TaskFixture::new(&tree, TaskSettings { per_key: 64, ..TaskSettings::default() }).await;
        // Together they exceed what the store accepts in one batch.
        let text = "- one line of many\n".repeat(13_700);
        let mut ids = Vec::new();
        for _ in 0..64 {
            ids.push(fixture.run(json!([{ "do": "stream", "text": text }])).await);
        }
        test_world::until(|| fixture.executor.begun().len() == 64).await;
        fixture.tasks.drain(Duration::from_secs(1)).await.unwrap();
        for id in &ids {
            let record = fixture.get(id).await;
            assert!(record.partial.is_some_and(|partial| partial == text) && !record.recovered);
        }
        assert_eq!(fixture.tree.snapshot()[0].restarts, 0);
        let fixture = fixture.restart().await;
        test_world::until(|| fixture.executor.begun().len() == 64).await;
        assert!(!fixture.get(&ids[0]).await.recovered, "an orderly shutdown is not a crash");
    });
}

#[test]
fn nothing_is_acknowledged_and_no_step_begins_before_it_is_durable() {
    test_world::run(|tree| async move {
        let fixture = TaskFixture::new(&tree, TaskSettings::default()).await;
        fixture.store.hold_commits();
        let accepted = fixture.try_run(json!([{ "do": "hang" }]));
        let mut accepted = Box::pin(accepted);
        let early = tokio::time::timeout(Duration::from_secs(1), &mut accepted).await;
        assert!(early.is_err() && fixture.executor.begun().is_empty());
        fixture.store.release();
        let id = accepted.await.unwrap().id;
        test_world::until(|| fixture.executor.begun().len() == 1).await;
        fixture.store.hold_commits();
        let mut kill = Box::pin(fixture.control(&id, Verb::Kill));
        assert!(tokio::time::timeout(Duration::from_secs(1), &mut kill).await.is_err());
        assert!(fixture.executor.dropped().is_empty(), "a step is dropped once the kill is durable");
        fixture.store.release();
        kill.await.unwrap();
        test_world::until(|| fixture.executor.dropped().len() == 1).await;
    });
}

#[test]
fn while_the_store_fails_nothing_is_acknowledged_and_afterwards_everything_continues() {
    test_world::run(|tree| async move {
        let fixture = TaskFixture::new(&tree, TaskSettings::default()).await;
        let id = fixture.run(json!([{ "do": "gate" }, { "do": "ok" }])).await;
        test_world::until(|| fixture.executor.begun().len() == 1).await;
        fixture.store.fail_commits(Some(StoreError::Io("no disk".into())));
        let refused = fixture.try_run(json!([])).await.unwrap_err();
        assert_eq!(refused.kind, Kind::Unavailable);
        fixture.store.fail_commits(None);
        test_world::until(|| fixture.executor.begun().len() == 2).await;
        fixture.executor.open();
        let done = fixture.reaches(&id, Status::Succeeded).await;
        assert_eq!((done.steps.len(), done.recovered), (2, true));
    });
}

#[test]
fn a_read_only_store_rejects_runs_and_controls_and_serves_reads() {
    test_world::run(|tree| async move {
        let fixture = TaskFixture::new(&tree, TaskSettings::default()).await;
        let id = fixture.run(json!([{ "do": "gate" }])).await;
        test_world::until(|| fixture.executor.begun().len() == 1).await;
        fixture.store.fail_commits(Some(StoreError::Poisoned("disk".into())));
        let run = fixture.try_run(json!([])).await.map(drop);
        for refused in [run, fixture.control(&id, Verb::Kill).await.map(drop)] {
            let refused = refused.unwrap_err();
            let expected = (Kind::Unavailable, "the store does not accept writes at the moment: try again later");
            assert_eq!((refused.kind, refused.message.as_str()), expected);
            assert_eq!((refused.code, refused.retry_after), (None, Some(Duration::from_secs(30))));
        }
        assert_eq!(fixture.get(&id).await.status, Status::Running);
        test_world::after(Duration::from_secs(300)).await;
        assert!(fixture.tree.snapshot()[0].restarts <= 1, "no loop: {:?}", fixture.tree.snapshot());
        assert_eq!(fixture.get(&id).await.id, id);
    });
}

#[test]
fn a_failed_commit_is_reported_to_every_waiting_caller() {
    test_world::run(|tree| async move {
        let fixture = TaskFixture::new(&tree, TaskSettings::default()).await;
        fixture.store.hold_commits();
        let running = futures::future::join_all((0..50).map(|_| fixture.try_run(json!([{ "do": "ok" }]))));
        let breaking = async {
            fixture.store.held(2).await;
            fixture.store.fail_commits(Some(StoreError::Poisoned("disk".into())));
            fixture.store.release();
        };
        let (outcomes, ()) = futures::join!(running, breaking);
        for outcome in outcomes {
            let refused = outcome.unwrap_err();
            assert_eq!((refused.kind, refused.retry_after), (Kind::Unavailable, Some(Duration::from_secs(30))));
        }
        assert!(fixture.executor.begun().is_empty());
    });
}

#[test]
fn a_full_store_is_retried() {
    test_world::run(|tree| async move {
        let fixture = TaskFixture::new(&tree, TaskSettings::default()).await;
        fixture.store.fail_commits(Some(StoreError::Busy));
        let mut accepted = Box::pin(fixture.try_run(json!([{ "do": "ok" }])));
        assert!(tokio::time::timeout(Duration::from_secs(1), &mut accepted).await.is_err());
        fixture.store.fail_commits(None);
        let id = accepted.await.unwrap().id;
        fixture.reaches(&id, Status::Succeeded).await;
        assert_eq!(fixture.tree.snapshot()[0].restarts, 0);
    });
}

#[test]
fn a_panic_of_the_actor_under_load_loses_no_accepted_task() {
    test_world::run(|tree| async move {
        let settings = TaskSettings { crash_limit: 100, per_key: 64, ..TaskSettings::default() };
        let fixture = TaskFixture::new(&tree, settings).await;
        let (mut accepted, mut refused) = (Vec::new(), 0);
        for round in 0..60 {
            let some = (0..5).map(|_| fixture.try_run(json!([{ "do": "sleep", "ms": 30 }, { "do": "ok" }])));
            for outcome in futures::future::join_all(some).await {
                match outcome {
                    Ok(record) => accepted.push(record.id),
                    Err(_) => refused += 1,
                }
            }
            if round % 20 == 10 {
                assert!(tree.inject_panic("agents/tasks"));
            }
            test_world::after(Duration::from_millis(20)).await;
        }
        assert!(tree.snapshot()[0].restarts >= 3 && refused < 100, "{refused} were refused");
        fixture.tasks.up().await;
        let restarts = usize::try_from(tree.snapshot()[0].restarts).unwrap();
        assert_eq!(fixture.feed.losses(), restarts, "output lost with an actor begins a new epoch");
        for id in &accepted {
            let done = fixture.reaches(id, Status::Succeeded).await;
            assert_eq!(done.progress.completed_steps, 2);
        }
        let keys: Vec<_> = fixture.executor.begun();
        let once: std::collections::HashSet<_> = keys.iter().cloned().collect();
        assert_eq!(once.len(), keys.len(), "no attempt began twice");
    });
}

#[test]
fn a_caller_waiting_for_a_change_is_served_by_the_next_actor() {
    test_world::run(|tree| async move {
        let fixture = TaskFixture::new(&tree, TaskSettings::default()).await;
        let id = fixture.run(json!([{ "do": "gate" }])).await;
        test_world::until(|| fixture.executor.begun().len() == 1).await;
        let waits = fixture.tasks.wait(&id, &fixture.owner, None, Duration::from_secs(50));
        let dies = async {
            assert!(tree.inject_panic("agents/tasks"));
            test_world::until(|| fixture.executor.begun().len() == 2).await;
        };
        let (seen, ()) = futures::join!(waits, dies);
        assert!(seen.unwrap().recovered, "it received the change made by the next actor");
    });
}
