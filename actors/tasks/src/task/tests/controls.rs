//! Controls of running tasks.

use muster_store::{Order, Scan, Store, Tree as Trees};

use super::*;
use muster_core::Kind;

fn hang() -> Value {
    json!([{ "do": "ok" }, { "do": "hang" }])
}

fn outcome(record: &TaskRecord, reply: &ControlReply) -> Option<Outcome> {
    record.controls.iter().find(|each| each.request_id == reply.request_id).and_then(|each| each.outcome)
}

fn redirect(mode: RedirectMode, text: &str) -> Verb {
    let agent = (mode == RedirectMode::Agent).then(|| "other".to_owned());
    Verb::Redirect { mode, instruction: text.to_owned(), agent }
}

#[test]
fn a_kill_drops_the_step_and_nothing_comes_of_it() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree, TaskSettings::default()).await;
        let id = bench.run(json!([{ "do": "stream", "text": "half a sen" }])).await;
        bench.until(&id, |record| !record.steps.is_empty()).await;
        test_world::until(|| bench.work.begun().len() == 1).await;
        let reply = bench.control(&id, Verb::Kill).await.unwrap();
        assert_eq!(
            (reply.phase, reply.effective, reply.abort),
            (FirstPhase::Accepted, Effective::Now, Some(Abort::Dropped))
        );
        test_world::until(|| bench.work.dropped() == [format!("{id}/0/0")]).await;
        let killed = bench.get(&id).await;
        assert_eq!((killed.status, killed.partial.as_deref()), (Status::Killed, Some("half a sen")));
        assert_eq!(killed.steps[0].status, StepStatus::Aborted);
        assert_eq!(outcome(&killed, &reply), Some(Outcome::Applied));
        let twice = bench.control(&id, Verb::Kill).await.unwrap();
        assert_eq!(twice.phase, FirstPhase::Already);
        let refused = bench.control(&id, Verb::Resume).await.unwrap_err();
        assert_eq!((refused.kind, &refused.details.unwrap()["status"]), (Kind::Conflict, &json!("killed")));
    });
}

#[test]
fn redirects_are_refused_before_a_record_is_larger_than_the_store_takes() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree, TaskSettings::default()).await;
        let id = bench.run(hang()).await;
        test_world::until(|| bench.work.begun().len() == 2).await;
        bench.control(&id, Verb::Pause { now: true }).await.unwrap();
        // As JSON each of them is six times as long.
        let long = format!("look {}", "\u{1}".repeat(8_000));
        let mut taken = 0;
        let refused = loop {
            match bench.control(&id, redirect(RedirectMode::Steer, &long)).await {
                Ok(_) => taken += 1,
                Err(refused) => break refused,
            }
            assert!(taken <= 256);
        };
        assert_eq!(refused.kind, Kind::Conflict, "{refused:?}");
        assert!(taken >= 10, "{taken}");
        assert_eq!(bench.tree.snapshot()[0].restarts, 0, "one task's redirects are nobody else's affair");
        bench.control(&id, Verb::Kill).await.unwrap();
        assert_eq!(bench.is(&id, Status::Killed).await.instructions.len(), taken);
    });
}

#[test]
fn a_kill_is_taken_while_the_queue_is_full_of_submissions() {
    test_world::run(|tree| async move {
        let settings = TaskSettings { queue_per_key: 100_000, ..TaskSettings::default() };
        let bench = Bench::new(&tree, settings).await;
        let id = bench.run(json!([{ "do": "hang" }])).await;
        test_world::until(|| bench.work.begun().len() == 1).await;
        bench.store.hold_commits();
        let submissions = futures::future::join_all((0..CALLS).map(|_| bench.try_run(json!([{ "do": "ok" }]))));
        let controlling = async {
            test_world::until(|| bench.tree.snapshot()[0].mailbox_depth == CALLS).await;
            let refused = bench.try_run(json!([])).await.unwrap_err();
            assert_eq!((refused.kind, refused.message.as_str()), (Kind::Unavailable, "agents/tasks is overloaded"));
            let killing = bench.control(&id, Verb::Kill);
            let releasing = async {
                test_world::after(Duration::from_secs(1)).await;
                bench.store.release();
            };
            futures::join!(killing, releasing).0
        };
        let (accepted, killed) = futures::join!(submissions, controlling);
        assert_eq!(killed.unwrap().phase, FirstPhase::Accepted);
        assert!(accepted.iter().all(Result::is_ok));
        test_world::until(|| bench.work.dropped().len() == 1).await;
    });
}

#[test]
fn a_kill_is_timed_from_its_coming_in_to_the_drop_of_the_step() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree, TaskSettings::default()).await;
        let (paused, killed) = (bench.run(json!([{ "do": "hang" }])).await, bench.run(json!([{ "do": "hang" }])).await);
        test_world::until(|| bench.work.begun().len() == 2).await;
        bench.control(&paused, Verb::Pause { now: true }).await.unwrap();
        bench.control(&paused, Verb::Kill).await.unwrap();
        assert!(
            bench.kills.lock().unwrap().is_empty(),
            "a pause is no kill, and what does nothing has no step to drop"
        );
        bench.store.hold_commits();
        let mut kill = Box::pin(bench.control(&killed, Verb::Kill));
        assert!(tokio::time::timeout(Duration::from_secs(3), &mut kill).await.is_err());
        bench.store.release();
        kill.await.unwrap();
        test_world::until(|| bench.work.dropped().len() == 2).await;
        let published_count = bench.kills.lock().unwrap().clone();
        assert!(
            published_count.len() == 1 && published_count[0] >= Duration::from_secs(3),
            "with its wait for the disk: {published_count:?}"
        );
    });
}

#[test]
fn a_pause_comes_at_the_boundary_and_resume_goes_on_behind_it() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree, TaskSettings::default()).await;
        let id = bench.run(json!([{ "do": "gate" }, { "do": "ok" }])).await;
        bench.is(&id, Status::Running).await;
        let reply = bench.control(&id, Verb::Pause { now: false }).await.unwrap();
        assert_eq!((reply.effective, reply.status), (Effective::Boundary, Status::Pausing));
        assert_eq!(outcome(&bench.get(&id).await, &reply), None);
        bench.work.open();
        let paused = bench.is(&id, Status::Paused).await;
        assert_eq!((paused.progress.completed_steps, outcome(&paused, &reply)), (1, Some(Outcome::Applied)));
        test_world::after(Duration::from_secs(3_600)).await;
        assert_eq!(bench.work.begun().len(), 1, "nothing of it runs");
        bench.control(&id, Verb::Resume).await.unwrap();
        let done = bench.is(&id, Status::Succeeded).await;
        assert!(done.paused_ms >= 3_600_000 && done.ran_ms < 60_000, "{} {}", done.paused_ms, done.ran_ms);
        assert_eq!(done.queued_at, paused.queued_at, "its first time in the queue counts");
    });
}

#[test]
fn a_pause_now_keeps_what_was_written_and_does_the_step_again_under_its_key() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree, TaskSettings::default()).await;
        let id = bench.run(json!([{ "do": "stream", "text": "so far" }])).await;
        test_world::until(|| bench.work.begun().len() == 1).await;
        let first = bench.control(&id, Verb::Pause { now: false }).await.unwrap();
        let second = bench.control(&id, Verb::Pause { now: true }).await.unwrap();
        assert_eq!((second.effective, second.abort), (Effective::Now, Some(Abort::Dropped)));
        let paused = bench.get(&id).await;
        assert_eq!((paused.status, paused.partial.as_deref()), (Status::Paused, Some("so far")));
        assert_eq!(
            (outcome(&paused, &first), outcome(&paused, &second)),
            (Some(Outcome::Superseded), Some(Outcome::Applied))
        );
        test_world::until(|| bench.work.dropped().len() == 1).await;
        bench.control(&id, Verb::Resume).await.unwrap();
        test_world::until(|| bench.work.begun().len() == 2).await;
        let key = format!("{id}/0/0");
        assert_eq!(bench.work.begun(), [(key.clone(), 1), (key, 2)]);
    });
}

#[test]
fn who_pauses_now_and_redirects_sees_the_step_planned_anew() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree, TaskSettings::default()).await;
        let id = bench.run(json!([{ "do": "hang" }])).await;
        test_world::until(|| bench.work.begun().len() == 1).await;
        bench.control(&id, Verb::Pause { now: true }).await.unwrap();
        let steer = bench.control(&id, redirect(RedirectMode::Steer, "otherwise")).await.unwrap();
        assert_eq!((steer.effective, steer.status), (Effective::Resume, Status::Paused));
        bench.control(&id, Verb::Resume).await.unwrap();
        test_world::until(|| bench.work.begun().len() == 3).await;
        assert_eq!(bench.work.begun()[1], (format!("{id}/1/1"), 1), "the instruction's own step comes first");
        let record = bench.get(&id).await;
        assert_eq!(outcome(&record, &steer), Some(Outcome::Applied));
        assert_eq!(record.instructions[0].joined_after, Some(0), "before anything was done");
    });
}

#[test]
fn instructions_join_at_the_boundary_in_their_order() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree, TaskSettings::default()).await;
        let id = bench.run(json!([{ "do": "gate" }])).await;
        test_world::until(|| bench.work.begun().len() == 1).await;
        let one = bench.control(&id, redirect(RedirectMode::Steer, "one")).await.unwrap();
        let two = bench.control(&id, redirect(RedirectMode::Steer, "two")).await.unwrap();
        assert_eq!((one.effective, one.abort, two.status), (Effective::Boundary, None, Status::Running));
        bench.work.open();
        let done = bench.is(&id, Status::Succeeded).await;
        assert_eq!(done.revision, 2);
        assert_eq!((outcome(&done, &one), outcome(&done, &two)), (Some(Outcome::Applied), Some(Outcome::Applied)));
        let texts: Vec<_> = done.instructions.iter().map(|each| (each.text.as_str(), each.joined_after)).collect();
        assert_eq!(texts, [("one", Some(1)), ("two", Some(1))]);
        assert_eq!(done.result.unwrap()["outputs"].as_array().unwrap().len(), 3, "both were followed");
        assert_eq!(bench.work.begun()[0].0, format!("{id}/0/0"));
        assert_eq!(bench.work.begun()[1].0, format!("{id}/2/1"), "what is planned anew has the new revision's key");
    });
}

#[test]
fn an_interrupt_drops_the_step_and_plans_anew() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree, TaskSettings::default()).await;
        let id = bench.run(hang()).await;
        test_world::until(|| bench.work.begun().len() == 2).await;
        let reply = bench.control(&id, redirect(RedirectMode::Interrupt, "stop")).await.unwrap();
        assert_eq!(
            (reply.effective, reply.abort, reply.status),
            (Effective::Now, Some(Abort::Dropped), Status::Running)
        );
        let done = bench.is(&id, Status::Succeeded).await;
        assert_eq!(outcome(&done, &reply), Some(Outcome::Applied));
        assert_eq!(
            done.steps.iter().map(|step| step.status).collect::<Vec<_>>(),
            [StepStatus::Succeeded, StepStatus::Aborted]
        );
        assert_eq!(bench.work.dropped(), [format!("{id}/0/1")]);
    });
}

#[test]
fn another_agent_takes_the_instruction_and_the_finished_steps() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree, TaskSettings::default()).await;
        let id = bench.run(hang()).await;
        test_world::until(|| bench.work.begun().len() == 2).await;
        let unknown =
            Verb::Redirect { mode: RedirectMode::Agent, instruction: "stop".into(), agent: Some("none".into()) };
        assert_eq!(bench.control(&id, unknown).await.unwrap_err().kind, Kind::NotFound, "admission runs again");
        bench.control(&id, redirect(RedirectMode::Agent, "stop")).await.unwrap();
        let done = bench.is(&id, Status::Succeeded).await;
        assert_eq!((done.agent.as_str(), &done.result.unwrap()["agent"]), ("other", &json!("other")));
        assert_eq!(done.progress.completed_steps, 1);
    });
}

#[test]
fn what_waits_for_input_goes_on_with_it_and_controls_that_come_too_late_are_missed() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree, TaskSettings::default()).await;
        let id = bench.run(json!([{ "do": "wait" }])).await;
        let waiting = bench.is(&id, Status::Waiting).await;
        assert_eq!(waiting.waiting.unwrap().reason, "input");
        bench.control(&id, redirect(RedirectMode::Steer, "stop")).await.unwrap();
        bench.is(&id, Status::Succeeded).await;

        let id = bench.run(json!([{ "do": "fail", "never": true, "times": 1 }, { "do": "ok" }])).await;
        bench.is(&id, Status::Failed).await;
        let id = bench.run(json!([{ "do": "gate" }])).await;
        test_world::until(|| bench.work.begun().last().is_some_and(|(key, _)| key.starts_with(&id))).await;
        let late = bench.control(&id, Verb::Pause { now: false }).await.unwrap();
        let steer = bench.control(&id, redirect(RedirectMode::Steer, "stop")).await.unwrap();
        assert_eq!(steer.effective, Effective::Resume);
        bench.control(&id, Verb::Resume).await.unwrap();
        let at_last = bench.control(&id, Verb::Pause { now: false }).await.unwrap();
        let killed = bench.control(&id, Verb::Kill).await.unwrap();
        let record = bench.get(&id).await;
        let ends = [&late, &steer, &at_last, &killed].map(|reply| outcome(&record, reply));
        assert_eq!(ends, [Outcome::Superseded, Outcome::Superseded, Outcome::Superseded, Outcome::Applied].map(Some));
    });
}

#[test]
fn the_same_request_gets_the_same_answer_and_another_body_none() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree, TaskSettings::default()).await;
        let id = bench.run(hang()).await;
        let pause = Control { verb: Verb::Pause { now: true }, request_id: "r".into(), if_seq: None, reason: None };
        let (one, two) = futures::join!(
            bench.tasks.control(&id, pause.clone(), &bench.me),
            bench.tasks.control(&id, pause.clone(), &bench.me)
        );
        assert_eq!(one, two);
        bench.control(&id, Verb::Kill).await.unwrap();
        assert_eq!(bench.tasks.control(&id, pause.clone(), &bench.me).await, one, "also when it has ended since");
        let other = Control { verb: Verb::Resume, ..pause.clone() };
        let refused = bench.tasks.control(&id, other, &bench.me).await.unwrap_err();
        assert_eq!(refused.kind, Kind::IdempotencyConflict);
        let late = Control { request_id: "late".into(), ..pause };
        let first = bench.tasks.control(&id, late.clone(), &bench.me).await.unwrap_err();
        assert_eq!(bench.tasks.control(&id, late, &bench.me).await.unwrap_err(), first, "a refusal too");
        let bench = bench.again().await;
        let again = Control { verb: Verb::Pause { now: true }, request_id: "r".into(), if_seq: None, reason: None };
        assert_eq!(bench.tasks.control(&id, again, &bench.me).await, one, "and after a restart");
        let audit =
            bench.store.scan(Trees::Audit, &Scan { limit: 100, order: Order::Ascending, ..Scan::default() }).unwrap();
        assert_eq!(audit.items.len(), 3, "each control once: the pause, the kill, the refused one");
    });
}

#[test]
fn a_stranger_sees_nothing_and_an_auditor_may_only_look() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree, TaskSettings::default()).await;
        let id = bench.run(hang()).await;
        let kill = || Control { verb: Verb::Kill, request_id: "r".into(), if_seq: None, reason: None };
        let stranger = key("key_other");
        assert_eq!(bench.tasks.get(&id, &stranger).await.unwrap_err().kind, Kind::NotFound);
        assert_eq!(bench.tasks.control(&id, kill(), &stranger).await.unwrap_err().kind, Kind::NotFound);
        assert!(bench.tasks.wait(&id, &stranger, None, Duration::from_secs(1)).await.is_err());
        let auditor = Asker { sees: Reach::All, ..key("key_auditor") };
        assert!(bench.tasks.get(&id, &auditor).await.is_ok());
        assert_eq!(bench.tasks.control(&id, kill(), &auditor).await.unwrap_err().kind, Kind::Forbidden);
        let operator = Asker { sees: Reach::All, controls: Reach::All, ..key("key_operator") };
        assert!(bench.tasks.control(&id, kill(), &operator).await.is_ok());
    });
}

#[test]
fn many_are_controlled_by_a_filter_after_a_dry_run() {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree, TaskSettings { slots: 4, ..TaskSettings::default() }).await;
        for _ in 0..150 {
            bench.run(hang()).await;
        }
        let other = key("key_other");
        let others = bench.tasks.run(new(hang()), &other, None).await.unwrap().id;
        let filter = Filter { status: vec![Status::Queued], ..Filter::default() };
        let kill = || Control { verb: Verb::Kill, request_id: "bulk".into(), if_seq: None, reason: None };
        let dry = bench.tasks.control_many(filter.clone(), kill(), DryRun::Yes, &bench.me).await.unwrap();
        assert_eq!((dry.matched, dry.outcomes.len()), (146, 146));
        assert_eq!(bench.tasks.control_many(filter.clone(), kill(), DryRun::No, &bench.me).await.unwrap().matched, 146);
        let left = bench.tasks.control_many(filter, kill(), DryRun::Yes, &bench.me).await.unwrap();
        assert_eq!(left.matched, 0, "the dry run changed nothing, the other one all");
        assert!(!bench.tasks.get(&others, &other).await.unwrap().status.ended());
    });
}
