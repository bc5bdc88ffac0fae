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
fn a_kill_drops_the_step_and_keeps_its_partial_output() {
    test_world::run(|tree| async move {
        let fixture = TaskFixture::new(&tree, TaskSettings::default()).await;
        let id = fixture.run(json!([{ "do": "stream", "text": "half a sen" }])).await;
        fixture.until(&id, |record| !record.steps.is_empty()).await;
        test_world::until(|| fixture.executor.begun().len() == 1).await;
        let reply = fixture.control(&id, Verb::Kill).await.unwrap();
        assert_eq!(
            (reply.phase, reply.effective, reply.abort),
            (FirstPhase::Accepted, Effective::Now, Some(Abort::Dropped))
        );
        test_world::until(|| fixture.executor.dropped() == [format!("{id}/0/0")]).await;
        let killed = fixture.get(&id).await;
        assert_eq!((killed.status, killed.partial.as_deref()), (Status::Killed, Some("half a sen")));
        assert_eq!(killed.steps[0].status, StepStatus::Aborted);
        assert_eq!(outcome(&killed, &reply), Some(Outcome::Applied));
        let twice = fixture.control(&id, Verb::Kill).await.unwrap();
        assert_eq!(twice.phase, FirstPhase::Already);
        let refused = fixture.control(&id, Verb::Resume).await.unwrap_err();
        assert_eq!((refused.kind, &refused.details.unwrap()["status"]), (Kind::Conflict, &json!("killed")));
    });
}

#[test]
fn redirects_are_rejected_before_a_record_exceeds_the_stores_limit() {
    test_world::run(|tree| async move {
        let fixture = TaskFixture::new(&tree, TaskSettings::default()).await;
        let id = fixture.run(hang()).await;
        test_world::until(|| fixture.executor.begun().len() == 2).await;
        fixture.control(&id, Verb::Pause { now: true }).await.unwrap();
        // As JSON each of them is six times as long.
        let long = format!("look {}", "\u{1}".repeat(8_000));
        let mut accepted = 0;
        let refused = loop {
            match fixture.control(&id, redirect(RedirectMode::Steer, &long)).await {
                Ok(_) => accepted += 1,
                Err(refused) => break refused,
            }
            assert!(accepted <= 256);
        };
        assert_eq!(refused.kind, Kind::Conflict, "{refused:?}");
        assert!(accepted >= 10, "{accepted}");
        assert_eq!(fixture.tree.snapshot()[0].restarts, 0, "one task's redirects affect no other task");
        fixture.control(&id, Verb::Kill).await.unwrap();
        assert_eq!(fixture.reaches(&id, Status::Killed).await.instructions.len(), accepted);
    });
}

#[test]
fn a_kill_is_accepted_while_the_queue_is_full_of_submissions() {
    test_world::run(|tree| async move {
        let settings = TaskSettings { queue_per_key: 100_000, ..TaskSettings::default() };
        let fixture = TaskFixture::new(&tree, settings).await;
        let id = fixture.run(json!([{ "do": "hang" }])).await;
        test_world::until(|| fixture.executor.begun().len() == 1).await;
        fixture.store.hold_commits();
        let submissions = futures::future::join_all((0..CALLS).map(|_| fixture.try_run(json!([{ "do": "ok" }]))));
        let controlling = async {
            test_world::until(|| fixture.tree.snapshot()[0].mailbox_depth == CALLS).await;
            let refused = fixture.try_run(json!([])).await.unwrap_err();
            assert_eq!((refused.kind, refused.message.as_str()), (Kind::Unavailable, "agents/tasks is overloaded"));
            let killing = fixture.control(&id, Verb::Kill);
            let releasing = async {
                test_world::after(Duration::from_secs(1)).await;
                fixture.store.release();
            };
            futures::join!(killing, releasing).0
        };
        let (accepted, killed) = futures::join!(submissions, controlling);
        assert_eq!(killed.unwrap().phase, FirstPhase::Accepted);
        assert!(accepted.iter().all(Result::is_ok));
        test_world::until(|| fixture.executor.dropped().len() == 1).await;
    });
}

#[test]
fn kill_latency_is_measured_from_the_request_to_the_drop_of_the_step() {
    test_world::run(|tree| async move {
        let fixture = TaskFixture::new(&tree, TaskSettings::default()).await;
        let (paused, killed) =
            (fixture.run(json!([{ "do": "hang" }])).await, fixture.run(json!([{ "do": "hang" }])).await);
        test_world::until(|| fixture.executor.begun().len() == 2).await;
        fixture.control(&paused, Verb::Pause { now: true }).await.unwrap();
        fixture.control(&paused, Verb::Kill).await.unwrap();
        assert!(
            fixture.kills.lock().unwrap().is_empty(),
            "a pause is no kill, and what does nothing has no step to drop"
        );
        fixture.store.hold_commits();
        let mut kill = Box::pin(fixture.control(&killed, Verb::Kill));
        assert!(tokio::time::timeout(Duration::from_secs(3), &mut kill).await.is_err());
        fixture.store.release();
        kill.await.unwrap();
        test_world::until(|| fixture.executor.dropped().len() == 2).await;
        let latencies = fixture.kills.lock().unwrap().clone();
        assert!(
            latencies.len() == 1 && latencies[0] >= Duration::from_secs(3),
            "with its wait for the disk: {latencies:?}"
        );
    });
}

#[test]
fn a_pause_applies_at_the_boundary_and_resume_continues_after_it() {
    test_world::run(|tree| async move {
        let fixture = TaskFixture::new(&tree, TaskSettings::default()).await;
        let id = fixture.run(json!([{ "do": "gate" }, { "do": "ok" }])).await;
        fixture.reaches(&id, Status::Running).await;
        let reply = fixture.control(&id, Verb::Pause { now: false }).await.unwrap();
        assert_eq!((reply.effective, reply.status), (Effective::Boundary, Status::Pausing));
        assert_eq!(outcome(&fixture.get(&id).await, &reply), None);
        fixture.executor.open();
        let paused = fixture.reaches(&id, Status::Paused).await;
        assert_eq!((paused.progress.completed_steps, outcome(&paused, &reply)), (1, Some(Outcome::Applied)));
        test_world::after(Duration::from_secs(3_600)).await;
        assert_eq!(fixture.executor.begun().len(), 1, "nothing of it runs");
        fixture.control(&id, Verb::Resume).await.unwrap();
        let done = fixture.reaches(&id, Status::Succeeded).await;
        assert!(done.paused_ms >= 3_600_000 && done.ran_ms < 60_000, "{} {}", done.paused_ms, done.ran_ms);
        assert_eq!(done.queued_at, paused.queued_at, "its first time in the queue counts");
    });
}

#[test]
fn an_immediate_pause_keeps_partial_output_and_repeats_the_step_with_its_key() {
    test_world::run(|tree| async move {
        let fixture = TaskFixture::new(&tree, TaskSettings::default()).await;
        let id = fixture.run(json!([{ "do": "stream", "text": "so far" }])).await;
        test_world::until(|| fixture.executor.begun().len() == 1).await;
        let first = fixture.control(&id, Verb::Pause { now: false }).await.unwrap();
        let second = fixture.control(&id, Verb::Pause { now: true }).await.unwrap();
        assert_eq!((second.effective, second.abort), (Effective::Now, Some(Abort::Dropped)));
        let paused = fixture.get(&id).await;
        assert_eq!((paused.status, paused.partial.as_deref()), (Status::Paused, Some("so far")));
        assert_eq!(
            (outcome(&paused, &first), outcome(&paused, &second)),
            (Some(Outcome::Superseded), Some(Outcome::Applied))
        );
        test_world::until(|| fixture.executor.dropped().len() == 1).await;
        fixture.control(&id, Verb::Resume).await.unwrap();
        test_world::until(|| fixture.executor.begun().len() == 2).await;
        let key = format!("{id}/0/0");
        assert_eq!(fixture.executor.begun(), [(key.clone(), 1), (key, 2)]);
    });
}

#[test]
fn a_redirect_after_an_immediate_pause_plans_the_step_again() {
    test_world::run(|tree| async move {
        let fixture = TaskFixture::new(&tree, TaskSettings::default()).await;
        let id = fixture.run(json!([{ "do": "hang" }])).await;
        test_world::until(|| fixture.executor.begun().len() == 1).await;
        fixture.control(&id, Verb::Pause { now: true }).await.unwrap();
        let steer = fixture.control(&id, redirect(RedirectMode::Steer, "otherwise")).await.unwrap();
        assert_eq!((steer.effective, steer.status), (Effective::Resume, Status::Paused));
        fixture.control(&id, Verb::Resume).await.unwrap();
        test_world::until(|| fixture.executor.begun().len() == 3).await;
        assert_eq!(fixture.executor.begun()[1], (format!("{id}/1/1"), 1), "the instruction's own step comes first");
        let record = fixture.get(&id).await;
        assert_eq!(outcome(&record, &steer), Some(Outcome::Applied));
        assert_eq!(record.instructions[0].joined_after, Some(0), "before anything was done");
    });
}

#[test]
fn instructions_apply_at_the_boundary_in_their_order() {
    test_world::run(|tree| async move {
        let fixture = TaskFixture::new(&tree, TaskSettings::default()).await;
        let id = fixture.run(json!([{ "do": "gate" }])).await;
        test_world::until(|| fixture.executor.begun().len() == 1).await;
        let one = fixture.control(&id, redirect(RedirectMode::Steer, "one")).await.unwrap();
        let two = fixture.control(&id, redirect(RedirectMode::Steer, "two")).await.unwrap();
        assert_eq!((one.effective, one.abort, two.status), (Effective::Boundary, None, Status::Running));
        fixture.executor.open();
        let done = fixture.reaches(&id, Status::Succeeded).await;
        assert_eq!(done.revision, 2);
        assert_eq!((outcome(&done, &one), outcome(&done, &two)), (Some(Outcome::Applied), Some(Outcome::Applied)));
        let texts: Vec<_> = done.instructions.iter().map(|each| (each.text.as_str(), each.joined_after)).collect();
        assert_eq!(texts, [("one", Some(1)), ("two", Some(1))]);
        assert_eq!(done.result.unwrap()["outputs"].as_array().unwrap().len(), 3, "both were followed");
        assert_eq!(fixture.executor.begun()[0].0, format!("{id}/0/0"));
        assert_eq!(
            fixture.executor.begun()[1].0,
            format!("{id}/2/1"),
            "a step planned again has the key of the new revision"
        );
    });
}

#[test]
fn an_interrupt_drops_the_step_and_plans_again() {
    test_world::run(|tree| async move {
        let fixture = TaskFixture::new(&tree, TaskSettings::default()).await;
        let id = fixture.run(hang()).await;
        test_world::until(|| fixture.executor.begun().len() == 2).await;
        let reply = fixture.control(&id, redirect(RedirectMode::Interrupt, "stop")).await.unwrap();
        assert_eq!(
            (reply.effective, reply.abort, reply.status),
            (Effective::Now, Some(Abort::Dropped), Status::Running)
        );
        let done = fixture.reaches(&id, Status::Succeeded).await;
        assert_eq!(outcome(&done, &reply), Some(Outcome::Applied));
        assert_eq!(
            done.steps.iter().map(|step| step.status).collect::<Vec<_>>(),
            [StepStatus::Succeeded, StepStatus::Aborted]
        );
        assert_eq!(fixture.executor.dropped(), [format!("{id}/0/1")]);
    });
}

#[test]
fn another_agent_continues_with_the_instruction_and_the_finished_steps() {
    test_world::run(|tree| async move {
        let fixture = TaskFixture::new(&tree, TaskSettings::default()).await;
        let id = fixture.run(hang()).await;
        test_world::until(|| fixture.executor.begun().len() == 2).await;
        let unknown =
            Verb::Redirect { mode: RedirectMode::Agent, instruction: "stop".into(), agent: Some("none".into()) };
        assert_eq!(fixture.control(&id, unknown).await.unwrap_err().kind, Kind::NotFound, "admission runs again");
        fixture.control(&id, redirect(RedirectMode::Agent, "stop")).await.unwrap();
        let done = fixture.reaches(&id, Status::Succeeded).await;
        assert_eq!((done.agent.as_str(), &done.result.unwrap()["agent"]), ("other", &json!("other")));
        assert_eq!(done.progress.completed_steps, 1);
    });
}

#[test]
fn a_task_waiting_for_input_continues_with_it_and_late_controls_are_superseded_or_missed() {
    test_world::run(|tree| async move {
        let fixture = TaskFixture::new(&tree, TaskSettings::default()).await;
        let id = fixture.run(json!([{ "do": "wait" }])).await;
        let waiting = fixture.reaches(&id, Status::Waiting).await;
        assert_eq!(waiting.waiting.unwrap().reason, "input");
        fixture.control(&id, redirect(RedirectMode::Steer, "stop")).await.unwrap();
        fixture.reaches(&id, Status::Succeeded).await;

        let id = fixture.run(json!([{ "do": "fail", "never": true, "times": 1 }, { "do": "ok" }])).await;
        fixture.reaches(&id, Status::Failed).await;
        let id = fixture.run(json!([{ "do": "gate" }])).await;
        test_world::until(|| fixture.executor.begun().last().is_some_and(|(key, _)| key.starts_with(&id))).await;
        let late = fixture.control(&id, Verb::Pause { now: false }).await.unwrap();
        let steer = fixture.control(&id, redirect(RedirectMode::Steer, "stop")).await.unwrap();
        assert_eq!(steer.effective, Effective::Resume);
        fixture.control(&id, Verb::Resume).await.unwrap();
        let at_last = fixture.control(&id, Verb::Pause { now: false }).await.unwrap();
        let killed = fixture.control(&id, Verb::Kill).await.unwrap();
        let record = fixture.get(&id).await;
        let ends = [&late, &steer, &at_last, &killed].map(|reply| outcome(&record, reply));
        assert_eq!(ends, [Outcome::Superseded, Outcome::Superseded, Outcome::Superseded, Outcome::Applied].map(Some));
    });
}

#[test]
fn a_repeated_request_gets_the_same_reply_and_a_different_body_is_rejected() {
    test_world::run(|tree| async move {
        let fixture = TaskFixture::new(&tree, TaskSettings::default()).await;
        let id = fixture.run(hang()).await;
        let pause = Control { verb: Verb::Pause { now: true }, request_id: "r".into(), if_seq: None, reason: None };
        let (one, two) = futures::join!(
            fixture.tasks.control(&id, pause.clone(), &fixture.owner),
            fixture.tasks.control(&id, pause.clone(), &fixture.owner)
        );
        assert_eq!(one, two);
        fixture.control(&id, Verb::Kill).await.unwrap();
        assert_eq!(
            fixture.tasks.control(&id, pause.clone(), &fixture.owner).await,
            one,
            "also when it has ended since"
        );
        let other = Control { verb: Verb::Resume, ..pause.clone() };
        let refused = fixture.tasks.control(&id, other, &fixture.owner).await.unwrap_err();
        assert_eq!(refused.kind, Kind::IdempotencyConflict);
        let late = Control { request_id: "late".into(), ..pause };
        let first = fixture.tasks.control(&id, late.clone(), &fixture.owner).await.unwrap_err();
        assert_eq!(fixture.tasks.control(&id, late, &fixture.owner).await.unwrap_err(), first, "a rejection too");
        let fixture = fixture.restart().await;
        let again = Control { verb: Verb::Pause { now: true }, request_id: "r".into(), if_seq: None, reason: None };
        assert_eq!(fixture.tasks.control(&id, again, &fixture.owner).await, one, "and after a restart");
        let audit = fixture
            .store
            .scan(Trees::AuditLog, &Scan { limit: 100, order: Order::Ascending, ..Scan::default() })
            .unwrap();
        assert_eq!(audit.items.len(), 3, "each control once: the pause, the kill, the refused one");
    });
}

#[test]
fn another_key_has_no_access_and_an_auditor_may_only_read() {
    test_world::run(|tree| async move {
        let fixture = TaskFixture::new(&tree, TaskSettings::default()).await;
        let id = fixture.run(hang()).await;
        let kill = || Control { verb: Verb::Kill, request_id: "r".into(), if_seq: None, reason: None };
        let other = key("key_other");
        assert_eq!(fixture.tasks.get(&id, &other).await.unwrap_err().kind, Kind::NotFound);
        assert_eq!(fixture.tasks.control(&id, kill(), &other).await.unwrap_err().kind, Kind::NotFound);
        assert!(fixture.tasks.wait(&id, &other, None, Duration::from_secs(1)).await.is_err());
        let auditor = Requester { reads: Reach::All, ..key("key_auditor") };
        assert!(fixture.tasks.get(&id, &auditor).await.is_ok());
        assert_eq!(fixture.tasks.control(&id, kill(), &auditor).await.unwrap_err().kind, Kind::Forbidden);
        let operator = Requester { reads: Reach::All, controls: Reach::All, ..key("key_operator") };
        assert!(fixture.tasks.control(&id, kill(), &operator).await.is_ok());
    });
}

#[test]
fn a_bulk_control_applies_to_a_filter_after_a_dry_run() {
    test_world::run(|tree| async move {
        let fixture = TaskFixture::new(&tree, TaskSettings { slots: 4, ..TaskSettings::default() }).await;
        for _ in 0..150 {
            fixture.run(hang()).await;
        }
        let other = key("key_other");
        let others = fixture.tasks.run(new(hang()), &other, None).await.unwrap().id;
        let filter = Filter { status: vec![Status::Queued], ..Filter::default() };
        let kill = || Control { verb: Verb::Kill, request_id: "bulk".into(), if_seq: None, reason: None };
        let dry = fixture.tasks.control_many(filter.clone(), kill(), DryRun::Yes, &fixture.owner).await.unwrap();
        assert_eq!((dry.matched, dry.outcomes.len()), (146, 146));
        assert_eq!(
            fixture.tasks.control_many(filter.clone(), kill(), DryRun::No, &fixture.owner).await.unwrap().matched,
            146
        );
        let left = fixture.tasks.control_many(filter, kill(), DryRun::Yes, &fixture.owner).await.unwrap();
        assert_eq!(left.matched, 0, "the dry run changed nothing, the other one all");
        assert!(!fixture.tasks.get(&others, &other).await.unwrap().status.ended());
    });
}
