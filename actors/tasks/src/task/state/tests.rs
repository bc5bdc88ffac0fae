//! The table of contract 4, row by row and as a whole, and its invariants over random sequences of events.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::task::executor::{Admission, Retry, StepSpec};
use crate::task::messages::{Control, FirstPhase, RedirectMode, Verb};
use crate::task::record::{Basis, Estimate, Owner, Priority, Progress, StepKind, Waiting};

const NOW: Millis = Millis(1_767_225_600_000);

fn rules() -> TaskSettings {
    TaskSettings { retries: 2, ..TaskSettings::default() }
}

fn new_record() -> Task {
    let progress = Progress {
        percent: Some(0),
        completed_steps: 0,
        total_steps: Some(4),
        phase: "pending".to_owned(),
        basis: Basis::Measured,
        updated_at: NOW,
    };
    let record = TaskRecord {
        id: "task_1".to_owned(),
        agent: "script".to_owned(),
        status: Status::Pending,
        task: "do it".to_owned(),
        params: json!({}),
        priority: Priority::Normal,
        timeout_seconds: 600,
        owner: Owner { id: "key_1".to_owned(), budget_nanos: None, payer: None },
        revision: 0,
        attempt: 0,
        seq: 0,
        created_at: NOW,
        queued_at: None,
        started_at: None,
        finished_at: None,
        deadline_at: None,
        ran_ms: 0,
        paused_ms: 0,
        progress,
        estimate: Estimate { p50_seconds: 10, p90_seconds: 20, samples: 0, queue_seconds: 0 },
        waiting: None,
        instructions: Vec::new(),
        controls: Vec::new(),
        steps: Vec::new(),
        result: None,
        partial: None,
        error: None,
        recovered: false,
        usage: Usage::default(),
    };
    Task { record, inner: Inner::default() }
}

fn step(repeatable: bool) -> Event {
    Event::Next(NextAction::Step(StepSpec {
        name: "s".to_owned(),
        kind: StepKind::Engine,
        input: json!({}),
        repeatable,
        total_steps: Some(4),
    }))
}

fn failure(retry: Retry) -> Event {
    Event::StepFailed { error: StepError::new("AGENT_EXECUTION_ERROR", "x", retry), ms: 1 }
}

fn verb(verb: Verb, request_id: &str) -> Control {
    Control { verb, request_id: request_id.to_owned(), if_seq: None, reason: None }
}

fn redirect(mode: RedirectMode) -> Verb {
    let agent = (mode == RedirectMode::Agent).then(|| "other".to_owned());
    Verb::Redirect { mode, instruction: "else".to_owned(), agent }
}

fn admission() -> Admission {
    Admission { params: json!({}), default_seconds: 3, total_steps: None }
}

fn apply_event(task: &mut Task, event: Event) -> Result<(), Illegal> {
    let rules = rules();
    task.apply(event, &mut Transition::new(NOW, &rules))
}

fn operate(task: &mut Task, control: Control) -> Result<super::control::ControlOutcome, ControlRejection> {
    let rules = rules();
    task.control(&control, "key_1", Some(&admission()), &mut Transition::new(NOW, &rules))
}

/// Returns a task in this status; running and pausing with a step in progress.
fn at(status: Status) -> Task {
    let mut task = new_record();
    let events = |task: &mut Task, events: Vec<Event>| {
        events.into_iter().for_each(|event| apply_event(task, event).unwrap());
    };
    use Event::{Admitted, QueueTimeUp};
    match status {
        Status::Pending => {}
        Status::Queued => events(&mut task, vec![Admitted]),
        Status::Running => events(&mut task, vec![Admitted, step(true)]),
        Status::Retrying => events(&mut task, vec![Admitted, step(true), failure(Retry::Soon)]),
        Status::Waiting => {
            let waiting = Waiting { reason: "input".to_owned(), detail: "x".to_owned() };
            events(&mut task, vec![Admitted, Event::Next(NextAction::Wait(waiting))]);
        }
        Status::Succeeded => events(&mut task, vec![Admitted, Event::Next(NextAction::Done(json!(1)))]),
        Status::Failed => events(&mut task, vec![Admitted, step(true), failure(Retry::Never)]),
        Status::TimedOut => events(&mut task, vec![Admitted, QueueTimeUp]),
        Status::Rejected => {
            let error = TaskError { error_code: "NO".to_owned(), detail: "no".to_owned() };
            events(&mut task, vec![Event::Vetoed(error)]);
        }
        Status::Pausing | Status::Paused | Status::Killed => {
            events(&mut task, vec![Admitted, step(true)]);
            let how = match status {
                Status::Pausing => Verb::Pause { now: false },
                Status::Paused => Verb::Pause { now: true },
                _ => Verb::Kill,
            };
            operate(&mut task, verb(how, "before")).unwrap();
        }
    }
    assert_eq!(task.status(), status);
    task
}

/// Contract 4's table: the status to which an event leads; `None` if it is not possible.
fn leads(from: Status, event: &str) -> Option<Status> {
    use Status::*;
    Some(match (from, event) {
        (Pending, "admitted") => Queued,
        (Pending, "vetoed") => Rejected,
        (Queued | Retrying, "step") => Running,
        (Queued | Retrying, "last") => Succeeded,
        (Queued | Retrying, "wait") => Waiting,
        (Queued | Retrying, "unplanned") => Failed,
        (Queued, "queue time up") => TimedOut,
        (Running, "step done") => Running,
        (Pausing, "step done") => Paused,
        (Running, "error, tries left") => Retrying,
        (Pausing, "error, tries left") => Paused,
        (Running | Pausing, "error, none left") => Failed,
        (Running | Pausing | Retrying, "run time up") => TimedOut,
        _ => return None,
    })
}

#[test]
fn events_match_the_table_in_every_status() {
    let wait = || Waiting { reason: "approval".to_owned(), detail: "x".to_owned() };
    let events: Vec<(&str, Event)> = vec![
        ("admitted", Event::Admitted),
        ("vetoed", Event::Vetoed(TaskError { error_code: "NO".to_owned(), detail: "no".to_owned() })),
        ("step", step(true)),
        ("last", Event::Next(NextAction::Done(json!({})))),
        ("wait", Event::Next(NextAction::Wait(wait()))),
        ("unplanned", Event::Unplanned(StepError::new("X", "x", Retry::Never))),
        ("queue time up", Event::QueueTimeUp),
        ("run time up", Event::TimeUp),
        ("step done", Event::StepDone { usage: Usage::default(), ms: 1 }),
        ("error, tries left", failure(Retry::Soon)),
        ("error, none left", failure(Retry::Never)),
    ];
    let rules = rules();
    for from in Status::ALL {
        for (name, event) in &events {
            let mut task = at(from);
            let before = task.clone();
            let late = if *name == "run time up" { NOW.plus(Duration::from_secs(600)) } else { NOW };
            let applied = task.apply(event.clone(), &mut Transition::new(late, &rules));
            let expected = leads(from, name);
            assert_eq!(applied.is_ok(), expected.is_some(), "{from:?}: {name}");
            assert_eq!(task.status(), expected.unwrap_or(from), "{from:?}: {name}");
            if expected.is_none() {
                assert_eq!(task, before, "{from:?}: {name} changed something");
            }
        }
    }
}

/// Result of a control in a status: accepted with the next status, already there, or rejected.
#[derive(Debug, PartialEq)]
enum Expected {
    To(Status),
    Already,
    Refused,
}

fn expected(from: Status, verb: &str) -> Expected {
    use Expected::{Already, Refused, To};
    use Status::*;
    match (verb, from) {
        ("kill", Killed) => Already,
        (_, from) if from.ended() => Refused,
        ("kill", _) => To(Killed),
        ("pause" | "pause now", Pending) => Refused,
        ("pause", Running) => To(Pausing),
        ("pause", Pausing | Paused) | ("pause now", Paused) => Already,
        ("pause" | "pause now", _) => To(Paused),
        ("resume", Paused | Waiting) => To(Queued),
        ("resume", Pausing) => To(Running),
        ("resume", _) => Already,
        // It has received what it waited for.
        (_, Waiting) => To(Queued),
        // The step was dropped, which is the boundary that the pause waits for.
        ("interrupt" | "agent", Pausing) => To(Paused),
        (_, same) => To(same),
    }
}

#[test]
fn controls_match_the_table_in_every_status() {
    let verbs = [
        ("pause", Verb::Pause { now: false }),
        ("pause now", Verb::Pause { now: true }),
        ("resume", Verb::Resume),
        ("kill", Verb::Kill),
        ("steer", redirect(RedirectMode::Steer)),
        ("interrupt", redirect(RedirectMode::Interrupt)),
        ("agent", redirect(RedirectMode::Agent)),
    ];
    for from in Status::ALL {
        for (name, kind) in &verbs {
            let mut task = at(from);
            let before = task.clone();
            let control_outcome = operate(&mut task, verb(kind.clone(), "r"));
            let found = match &control_outcome {
                Ok(control_outcome) if control_outcome.phase == FirstPhase::Accepted => Expected::To(task.status()),
                Ok(_) => Expected::Already,
                Err(_) => Expected::Refused,
            };
            assert_eq!(found, expected(from, name), "{from:?}: {name}");
            match found {
                Expected::To(_) => {
                    let redirected = matches!(kind, Verb::Redirect { .. });
                    assert_eq!(task.record.revision, before.record.revision + u32::from(redirected));
                    assert!(task.record.controls.iter().any(|each| each.request_id == "r"));
                }
                _ => assert_eq!(task, before, "{from:?}: {name} changed something"),
            }
        }
    }
}

#[test]
fn a_control_for_another_seq_is_rejected() {
    let mut task = at(Status::Running);
    let before = task.clone();
    let late = Control { if_seq: Some(task.record.seq - 1), ..verb(Verb::Kill, "r") };
    assert_eq!(operate(&mut task, late), Err(ControlRejection::SeqMismatch));
    assert_eq!(task, before);
    let exact = Control { if_seq: Some(task.record.seq), ..verb(Verb::Kill, "r") };
    assert!(operate(&mut task, exact).is_ok());
}

#[test]
fn a_pause_stores_the_status_to_return_to() {
    let mut waiting = at(Status::Waiting);
    operate(&mut waiting, verb(Verb::Pause { now: false }, "p")).unwrap();
    operate(&mut waiting, verb(Verb::Resume, "r")).unwrap();
    assert_eq!(waiting.status(), Status::Waiting, "what it waits for has not come");
    let mut retrying = at(Status::Retrying);
    operate(&mut retrying, verb(Verb::Pause { now: false }, "p")).unwrap();
    operate(&mut retrying, verb(Verb::Resume, "r")).unwrap();
    assert_eq!(retrying.status(), Status::Retrying, "its back-off is not over");
}

#[test]
fn a_step_that_may_not_be_repeated_waits_for_an_operator_after_a_crash() {
    let mut task = new_record();
    apply_event(&mut task, Event::Admitted).unwrap();
    apply_event(&mut task, step(false)).unwrap();
    apply_event(&mut task, Event::Lost).unwrap();
    assert_eq!(task.record.waiting.as_ref().map(|waiting| waiting.reason.as_str()), Some("operator"));
    operate(&mut task, verb(redirect(RedirectMode::Steer), "s")).unwrap();
    assert_eq!(task.status(), Status::Waiting, "an instruction does not repeat it");
    operate(&mut task, verb(Verb::Resume, "r")).unwrap();
    let key = task.key();
    apply_event(&mut task, step(false)).unwrap();
    assert_eq!((task.key(), task.record.attempt), (key, 2), "the same key once more");
}

#[test]
fn a_step_lost_to_three_crashes_fails_and_a_shutdown_is_not_a_crash() {
    let mut task = at(Status::Running);
    for _ in 0..5 {
        apply_event(&mut task, Event::Drained).unwrap();
        apply_event(&mut task, Event::Lost).unwrap();
        apply_event(&mut task, step(true)).unwrap();
    }
    assert!(!task.record.recovered);
    for _ in 0..2 {
        apply_event(&mut task, Event::Lost).unwrap();
        apply_event(&mut task, step(true)).unwrap();
    }
    assert!(task.record.recovered);
    apply_event(&mut task, Event::Lost).unwrap();
    assert_eq!(task.record.error.map(|error| error.error_code), Some("CRASH_LOOP".to_owned()));
}

/// A random operation.
#[derive(Debug, Clone)]
enum Operation {
    Event(Event),
    Control(Verb),
    Pass(u64),
}

fn operations(crashes: bool) -> impl Strategy<Value = Vec<Operation>> {
    let waiting = Waiting { reason: "input".to_owned(), detail: "x".to_owned() };
    let mut events = vec![
        (6, step(true)),
        (1, step(false)),
        (1, Event::Next(NextAction::Done(json!("r")))),
        (1, Event::Next(NextAction::Wait(waiting))),
        (6, Event::StepDone { usage: Usage { prompt: 1, ..Usage::default() }, ms: 1 }),
        (2, failure(Retry::Soon)),
        (1, failure(Retry::Never)),
        (2, Event::Boundary),
        (2, Event::TimeUp),
        (1, Event::QueueTimeUp),
        (4, Event::Admitted),
    ];
    if crashes {
        events.extend([(2, Event::Lost), (1, Event::Drained)]);
    }
    let events = prop::strategy::Union::new_weighted(events.into_iter().map(|(w, e)| (w, Just(e))).collect());
    let verbs = prop::sample::select(vec![
        Verb::Pause { now: false },
        Verb::Pause { now: true },
        Verb::Resume,
        Verb::Resume,
        redirect(RedirectMode::Steer),
        redirect(RedirectMode::Interrupt),
        redirect(RedirectMode::Agent),
    ]);
    let perform = prop_oneof![
        8 => events.prop_map(Operation::Event),
        3 => verbs.prop_map(Operation::Control),
        2 => (1_u64..200_000).prop_map(Operation::Pass),
    ];
    prop::collection::vec(perform, 1..120)
}

fn counts(status: Status) -> bool {
    matches!(status, Status::Running | Status::Pausing | Status::Retrying)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// The invariants of contract 4.
    #[test]
    fn invariants_hold_for_any_sequence(operations in operations(true)) {
        let (rules, mut task, mut now) = (rules(), new_record(), NOW);
        let (mut accepted, mut ends) = (Vec::new(), BTreeMap::<String, u32>::new());
        let mut best: HashMap<u32, u8> = HashMap::new();
        let mut operations = operations;
        operations.push(Operation::Control(Verb::Kill));
        for (number, perform) in operations.into_iter().enumerate() {
            let (before, mut transition) = (task.clone(), Transition::new(now, &rules));
            let changed = match perform {
                Operation::Event(event) => task.apply(event, &mut transition).is_ok(),
                Operation::Control(kind) => {
                    let request = format!("r{number}");
                    let control_outcome = task.control(&verb(kind, &request), "key_1", Some(&admission()), &mut transition);
                    let accepted_now = control_outcome.is_ok_and(|control_outcome| control_outcome.phase == FirstPhase::Accepted);
                    if accepted_now {
                        accepted.push(request);
                    }
                    accepted_now
                }
                Operation::Pass(ms) => {
                    now = now.plus(Duration::from_millis(ms));
                    task.progressed(None, now);
                    true
                }
            };
            let entries = transition.entries;
            let ended = before.status().ended();
            if !changed || ended {
                let status_same = task.record.status == before.record.status && entries.is_empty();
                prop_assert!(status_same && task.record.seq == before.record.seq && task.record.result == before.record.result);
            }
            for (nth, entry) in entries.iter().enumerate() {
                prop_assert_eq!(entry.seq, before.record.seq + 1 + nth as u64);
                if entry.event.starts_with("control.") {
                    *ends.entry(entry.data["idem"].as_str().unwrap().to_owned()).or_default() += 1;
                }
            }
            let running = task.record.steps.iter().filter(|step| step.status == StepStatus::Running).count();
            prop_assert_eq!(running, usize::from(task.doing().is_some()), "one step at most, and it is the current one");
            if task.doing().is_some() {
                prop_assert!(matches!(task.status(), Status::Running | Status::Pausing));
            }
            let percent = task.record.progress.percent.unwrap_or(0);
            let most = best.entry(task.record.revision).or_default();
            prop_assert!(percent >= *most, "{} after {}", percent, most);
            *most = percent;
            prop_assert!(task.record.progress.completed_steps >= before.record.progress.completed_steps);
            prop_assert!(task.record.steps.iter().enumerate().all(|(nth, step)| step.index as usize == nth));
            prop_assert!(task.record.revision >= before.record.revision);
        }
        prop_assert!(task.status().ended());
        prop_assert!(task.record.controls.iter().all(|each| each.outcome.is_some()));
        for request in &accepted {
            prop_assert_eq!(ends.get(request), Some(&1), "{} ended a different number of times", request);
        }
        prop_assert_eq!(ends.len(), accepted.len());
    }

    /// Time paused, queued or waiting does not count, and exceeding the limit ends the task.
    #[test]
    fn only_run_time_counts(operations in operations(false)) {
        let (rules, mut task, mut now) = (rules(), new_record(), NOW);
        let (mut ran, mut paused) = (0, 0);
        for (number, perform) in operations.into_iter().enumerate() {
            let mut transition = Transition::new(now, &rules);
            let before = task.status();
            match perform {
                Operation::Event(event) => drop(task.apply(event, &mut transition).map_err(|_| ())),
                Operation::Control(kind) => {
                    drop(task.control(&verb(kind, &format!("r{number}")), "key_1", Some(&admission()), &mut transition));
                }
                Operation::Pass(ms) => {
                    now = now.plus(Duration::from_millis(ms));
                    ran += if counts(before) { ms } else { 0 };
                    paused += if before == Status::Paused { ms } else { 0 };
                }
            }
            prop_assert_eq!(task.ran_ms(now), ran);
            if task.status() != Status::Paused {
                prop_assert_eq!(task.record.paused_ms, paused);
            }
            prop_assert_eq!(task.record.deadline_at.is_some(), counts(task.status()));
            if before != Status::TimedOut && task.status() == Status::TimedOut && before != Status::Queued {
                prop_assert!(ran >= 600_000, "ended after {} ms", ran);
            }
        }
    }
}
