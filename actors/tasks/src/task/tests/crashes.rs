//! Crashes, panics of the actor, a failing store, orderly shutdown.

use muster_store::StoreError;

use super::*;
use muster_core::Kind;

#[test]
fn a_step_in_flight_is_done_again_under_its_key_and_finished_ones_are_not() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree, TaskSettings::default()).await;
        let running = bench.run(json!([{ "do": "ok" }, { "do": "gate" }])).await;
        test_world::until(|| bench.work.begun().len() == 2).await;
        let paused = bench.run(json!([{ "do": "hang" }])).await;
        bench.control(&paused, Verb::Pause { now: true }).await.unwrap();
        let bench = bench.again().await;
        test_world::until(|| bench.work.begun().len() == 1).await;
        assert_eq!(
            bench.work.begun(),
            [(format!("{running}/0/1"), 2)],
            "the one in flight only, and nothing that pauses"
        );
        bench.work.open();
        let done = bench.is(&running, Status::Succeeded).await;
        assert!(done.recovered);
        assert_eq!(done.steps[1].attempts, 2);
        assert_eq!(done.result.unwrap()["outputs"][0]["n"], 0, "what the first step gave was read back");
        assert_eq!(bench.get(&paused).await.status, Status::Paused);
    });
}

#[test]
fn every_accepted_task_survives_with_its_place_in_the_queue() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree, TaskSettings { slots: 1, ..TaskSettings::default() }).await;
        let first = bench.run(json!([{ "do": "gate" }])).await;
        let mut ids = Vec::new();
        for _ in 0..20 {
            ids.push(bench.run(json!([{ "do": "ok" }])).await);
            test_world::after(Duration::from_millis(10)).await;
        }
        let bench = bench.again().await;
        test_world::until(|| bench.work.begun().len() == 1).await;
        bench.work.open();
        bench.is(ids.last().unwrap(), Status::Succeeded).await;
        let order: Vec<String> = bench.work.begun().into_iter().map(|(key, _)| key).collect();
        let expected: Vec<String> = [first].iter().chain(&ids).map(|id| format!("{id}/0/0")).collect();
        assert_eq!(order, expected);
    });
}

#[test]
fn a_step_lost_to_three_crashes_fails() {
    test_world::run(|tree| async move {
        let mut bench = Bench::new(&tree, TaskSettings::default()).await;
        let id = bench.run(json!([{ "do": "hang" }])).await;
        for attempt in 1..=3 {
            test_world::until(|| bench.work.begun().len() == 1).await;
            assert_eq!(bench.work.begun()[0].1, attempt);
            bench = bench.again().await;
        }
        let failed = bench.is(&id, Status::Failed).await;
        assert_eq!(failed.error.unwrap().error_code, "CRASH_LOOP");
    });
}

#[test]
fn a_step_that_may_not_be_repeated_waits_for_an_operator() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree, TaskSettings::default()).await;
        let id = bench.run(json!([{ "do": "gate", "once": true }])).await;
        test_world::until(|| bench.work.begun().len() == 1).await;
        let bench = bench.again().await;
        let waiting = bench.is(&id, Status::Waiting).await;
        assert_eq!(waiting.waiting.unwrap().reason, "operator");
        assert!(bench.work.begun().is_empty());
        bench.control(&id, Verb::Resume).await.unwrap();
        bench.work.open();
        bench.is(&id, Status::Succeeded).await;
        assert_eq!(bench.work.begun(), [(format!("{id}/0/0"), 2)]);
    });
}

#[test]
fn an_orderly_end_lets_steps_finish_aborts_the_rest_and_is_no_crash() {
    test_world::run(|tree| async move {
        let mut bench = Bench::new(&tree, TaskSettings::default()).await;
        let soon = bench.run(json!([{ "do": "sleep", "ms": 500 }, { "do": "gate" }])).await;
        let never = bench.run(json!([{ "do": "hang" }])).await;
        for _ in 0..5 {
            test_world::until(|| bench.work.begun().iter().any(|(key, _)| key.starts_with(&never))).await;
            bench.tasks.drain(Duration::from_secs(2)).await.unwrap();
            let refused = bench.try_run(json!([])).await.unwrap_err();
            assert_eq!(refused.kind, Kind::Unavailable);
            bench = bench.again().await;
        }
        test_world::until(|| bench.work.begun().len() == 2).await;
        bench.work.open();
        let done = bench.is(&soon, Status::Succeeded).await;
        assert!(!done.recovered);
        assert_eq!(done.steps[0].attempts, 1, "it ended within the grace");
        let hangs = bench.get(&never).await;
        assert_eq!((hangs.status, hangs.recovered), (Status::Running, false));
    });
}

#[test]
fn an_orderly_end_keeps_what_many_models_had_written() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree, TaskSettings { per_key: 64, ..TaskSettings::default() }).await;
        // Together they exceed what the store accepts in one batch.
        let text = "- one line of many\n".repeat(13_700);
        let mut ids = Vec::new();
        for _ in 0..64 {
            ids.push(bench.run(json!([{ "do": "stream", "text": text }])).await);
        }
        test_world::until(|| bench.work.begun().len() == 64).await;
        bench.tasks.drain(Duration::from_secs(1)).await.unwrap();
        for id in &ids {
            let record = bench.get(id).await;
            assert!(record.partial.is_some_and(|partial| partial == text) && !record.recovered);
        }
        assert_eq!(bench.tree.snapshot()[0].restarts, 0);
        let bench = bench.again().await;
        test_world::until(|| bench.work.begun().len() == 64).await;
        assert!(!bench.get(&ids[0]).await.recovered, "an end in order is no crash");
    });
}

#[test]
fn nothing_is_acknowledged_and_no_step_begins_before_it_is_durable() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree, TaskSettings::default()).await;
        bench.store.hold_commits();
        let accepted = bench.try_run(json!([{ "do": "hang" }]));
        let mut accepted = Box::pin(accepted);
        let early = tokio::time::timeout(Duration::from_secs(1), &mut accepted).await;
        assert!(early.is_err() && bench.work.begun().is_empty());
        bench.store.release();
        let id = accepted.await.unwrap().id;
        test_world::until(|| bench.work.begun().len() == 1).await;
        bench.store.hold_commits();
        let mut kill = Box::pin(bench.control(&id, Verb::Kill));
        assert!(tokio::time::timeout(Duration::from_secs(1), &mut kill).await.is_err());
        assert!(bench.work.dropped().is_empty(), "a step is dropped once the kill is durable");
        bench.store.release();
        kill.await.unwrap();
        test_world::until(|| bench.work.dropped().len() == 1).await;
    });
}

#[test]
fn while_the_store_fails_nothing_is_acknowledged_and_after_it_everything_goes_on() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree, TaskSettings::default()).await;
        let id = bench.run(json!([{ "do": "gate" }, { "do": "ok" }])).await;
        test_world::until(|| bench.work.begun().len() == 1).await;
        bench.store.fail_commits(Some(StoreError::Io("no disk".into())));
        let refused = bench.try_run(json!([])).await.unwrap_err();
        assert_eq!(refused.kind, Kind::Unavailable);
        bench.store.fail_commits(None);
        test_world::until(|| bench.work.begun().len() == 2).await;
        bench.work.open();
        let done = bench.is(&id, Status::Succeeded).await;
        assert_eq!((done.steps.len(), done.recovered), (2, true));
    });
}

#[test]
fn a_read_only_store_refuses_runs_and_controls_and_is_read_from() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree, TaskSettings::default()).await;
        let id = bench.run(json!([{ "do": "gate" }])).await;
        test_world::until(|| bench.work.begun().len() == 1).await;
        bench.store.fail_commits(Some(StoreError::Poisoned("disk".into())));
        let run = bench.try_run(json!([])).await.map(drop);
        for refused in [run, bench.control(&id, Verb::Kill).await.map(drop)] {
            let refused = refused.unwrap_err();
            let expected = (Kind::Unavailable, "the store does not accept writes at the moment: try again later");
            assert_eq!((refused.kind, refused.message.as_str()), expected);
            assert_eq!((refused.code, refused.retry_after), (None, Some(Duration::from_secs(30))));
        }
        assert_eq!(bench.get(&id).await.status, Status::Running);
        test_world::after(Duration::from_secs(300)).await;
        assert!(bench.tree.snapshot()[0].restarts <= 1, "no loop: {:?}", bench.tree.snapshot());
        assert_eq!(bench.get(&id).await.id, id);
    });
}

#[test]
fn a_commit_that_fails_is_told_to_everybody_who_waits() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree, TaskSettings::default()).await;
        bench.store.hold_commits();
        let running = futures::future::join_all((0..50).map(|_| bench.try_run(json!([{ "do": "ok" }]))));
        let breaking = async {
            bench.store.held(2).await;
            bench.store.fail_commits(Some(StoreError::Poisoned("disk".into())));
            bench.store.release();
        };
        let (outcomes, ()) = futures::join!(running, breaking);
        for outcome in outcomes {
            let refused = outcome.unwrap_err();
            assert_eq!((refused.kind, refused.retry_after), (Kind::Unavailable, Some(Duration::from_secs(30))));
        }
        assert!(bench.work.begun().is_empty());
    });
}

#[test]
fn a_full_store_is_tried_again() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree, TaskSettings::default()).await;
        bench.store.fail_commits(Some(StoreError::Busy));
        let mut accepted = Box::pin(bench.try_run(json!([{ "do": "ok" }])));
        assert!(tokio::time::timeout(Duration::from_secs(1), &mut accepted).await.is_err());
        bench.store.fail_commits(None);
        let id = accepted.await.unwrap().id;
        bench.is(&id, Status::Succeeded).await;
        assert_eq!(bench.tree.snapshot()[0].restarts, 0);
    });
}

#[test]
fn a_panic_of_the_actor_under_load_loses_no_accepted_task() {
    test_world::run(|tree| async move {
        let settings = TaskSettings { crash_limit: 100, per_key: 64, ..TaskSettings::default() };
        let bench = Bench::new(&tree, settings).await;
        let (mut accepted, mut refused) = (Vec::new(), 0);
        for round in 0..60 {
            let some = (0..5).map(|_| bench.try_run(json!([{ "do": "sleep", "ms": 30 }, { "do": "ok" }])));
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
        bench.tasks.up().await;
        let restarts = usize::try_from(tree.snapshot()[0].restarts).unwrap();
        assert_eq!(bench.feed.losses(), restarts, "output lost with an actor begins a new epoch");
        for id in &accepted {
            let done = bench.is(id, Status::Succeeded).await;
            assert_eq!(done.progress.completed_steps, 2);
        }
        let keys: Vec<_> = bench.work.begun();
        let once: std::collections::HashSet<_> = keys.iter().cloned().collect();
        assert_eq!(once.len(), keys.len(), "no attempt began twice");
    });
}

#[test]
fn who_waits_for_a_change_outlives_the_actor() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree, TaskSettings::default()).await;
        let id = bench.run(json!([{ "do": "gate" }])).await;
        test_world::until(|| bench.work.begun().len() == 1).await;
        let waits = bench.tasks.wait(&id, &bench.me, None, Duration::from_secs(50));
        let dies = async {
            assert!(tree.inject_panic("agents/tasks"));
            test_world::until(|| bench.work.begun().len() == 2).await;
        };
        let (seen, ()) = futures::join!(waits, dies);
        assert!(seen.unwrap().recovered, "it received the change made by the next actor");
    });
}
