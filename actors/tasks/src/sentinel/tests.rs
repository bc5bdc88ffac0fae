use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::{BoxFuture, join_all};
use serde_json::json;

use super::turns::Turns;
use super::*;
use crate::engine::{EngineAnswer, EngineCall, EngineCaller, EngineRunner};

use std::sync::Arc;
use std::time::Duration;

use muster_core::{Error, Kind};
use tokio::time::Instant;

/// How an engine answers here: after a time, with a verdict or a failure.
type Script = BTreeMap<u16, (u64, Result<&'static str, Kind>)>;

/// Engines that answer by a script, else at once that all is clear.
#[derive(Debug, Default)]
struct Scripted {
    script: Script,
    begun: Mutex<Vec<(u16, Instant)>>,
    running: Arc<AtomicUsize>,
    most: AtomicUsize,
}

/// Counts a call until it is dropped.
struct Running(Arc<AtomicUsize>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl EngineRunner for Scripted {
    fn run(&self, call: EngineCall) -> BoxFuture<'static, Result<EngineAnswer, Error>> {
        let number = call.engine.number;
        let (ms, ends) = self.script.get(&number).copied().unwrap_or((0, Ok("clear")));
        self.begun.lock().unwrap().push((number, Instant::now()));
        self.most.fetch_max(self.running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        let running = Running(Arc::clone(&self.running));
        Box::pin(async move {
            let _running = running;
            // The clock of these tests is paused: it moves when all wait.
            let _ = tokio::time::timeout(Duration::from_millis(ms), std::future::pending::<()>()).await;
            let verdict = ends.map_err(|kind| Error::new(kind, "the process ended"))?;
            let findings = if verdict == "clear" {
                json!([])
            } else {
                json!([{ "rule": "r", "severity": "high", "message": "found" }])
            };
            let output = json!({ "verdict": verdict, "score": 0.5, "findings": findings });
            Ok(EngineAnswer { output, ..EngineAnswer::default() })
        })
    }
}

const TEXT: &str = "a text, an url and a configuration";

/// A subject for sentinels of all waves: 141 in the first, 143 and 145 in the second, 142 and 151 in the third.
fn orchestration(more: serde_json::Value) -> Orchestration {
    let mut input = json!({
        "subject": { "text": TEXT, "config": "x" },
        "sentinels": ["secrets", "prompt-injection", "phishing", "pii", "misconfig"],
    });
    input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    Orchestration::read(input).unwrap()
}

fn caller(name: &str) -> EngineCaller {
    EngineCaller { actor: name.to_owned(), ..EngineCaller::default() }
}

fn sentinels(script: &[(u16, u64, Result<&'static str, Kind>)], workers: usize) -> (Arc<Scripted>, Sentinels) {
    let script = script.iter().map(|(number, ms, ends)| (*number, (*ms, *ends))).collect();
    let engines = Arc::new(Scripted { script, ..Scripted::default() });
    (Arc::clone(&engines), Sentinels::new(engines, workers))
}

fn status(answer: &Orchestrated, sentinel: &str) -> &'static str {
    answer.runs.iter().find(|run| run.sentinel == sentinel).unwrap().status
}

#[tokio::test(start_paused = true)]
async fn a_wave_begins_when_the_one_before_has_ended() {
    let (engines, sentinels) = sentinels(&[(141, 300, Ok("clear")), (143, 200, Ok("warn"))], 9);
    let begun = Instant::now();
    let mut seen = Vec::new();
    let order = orchestration(json!({ "deadline_ms": 5000 }));
    assert_eq!(order.applicable().len(), 5);
    let answer = sentinels.orchestrate(order, caller("a"), |event| seen.push(event)).await.unwrap();
    let at = |number| {
        let begins = engines.begun.lock().unwrap();
        (begins.iter().find(|(one, _)| *one == number).unwrap().1 - begun).as_millis()
    };
    assert_eq!([141, 143, 145, 142, 151].map(at), [0, 300, 300, 500, 500]);
    assert_eq!((answer.verdict, answer.complete, answer.runs.len()), ("warn", true, SENTINELS.len()));
    assert_eq!(status(&answer, "sentinel-flood"), "skipped");
    let runs = seen.iter().filter(|event| matches!(event, SwarmEvent::Run(_))).count();
    assert_eq!(runs, SENTINELS.len(), "each is reported once");
    let rule = json!("sentinel-prompt-injection/r");
    assert!(
        seen.iter().any(|event| matches!(event, SwarmEvent::Finding(finding) if finding["rule"] == rule)),
        "{seen:?}"
    );
    assert_eq!(answer.findings[0]["rule"], rule);
}

#[tokio::test(start_paused = true)]
async fn a_slow_wave_gives_way_at_its_share_and_is_late_at_the_deadline() {
    let (engines, sentinels) = sentinels(&[(141, 60_000, Ok("clear"))], 9);
    let begun = Instant::now();
    let order = orchestration(json!({ "deadline_ms": 1000 }));
    let answer = sentinels.orchestrate(order, caller("a"), |_| {}).await.unwrap();
    assert_eq!(begun.elapsed(), Duration::from_millis(1000));
    let second = engines.begun.lock().unwrap().iter().find(|(number, _)| *number == 143).unwrap().1;
    assert_eq!(second - begun, Duration::from_millis(500));
    assert_eq!((status(&answer, "sentinel-secrets"), answer.verdict, answer.complete), ("timeout", "notice", false));
    assert_eq!(status(&answer, "sentinel-misconfig"), "ran");
    assert_eq!(engines.running.load(Ordering::SeqCst), 0, "what is late is ended");
}

#[tokio::test(start_paused = true)]
async fn in_parallel_all_begin_at_once() {
    let (engines, sentinels) = sentinels(&[(141, 400, Ok("clear"))], 9);
    let begun = Instant::now();
    let order = orchestration(json!({ "mode": "parallel" }));
    let answer = sentinels.orchestrate(order, caller("a"), |_| {}).await.unwrap();
    assert!(engines.begun.lock().unwrap().iter().all(|(_, at)| *at == begun));
    assert_eq!((answer.complete, begun.elapsed().as_millis()), (true, 400));
}

#[tokio::test(start_paused = true)]
async fn after_a_critical_verdict_no_wave_begins_if_so_asked() {
    for (mode, then) in [("first-critical", "skipped"), ("priority", "ran")] {
        let (_, sentinels) = sentinels(&[(141, 5, Ok("critical"))], 9);
        let answer = sentinels.orchestrate(orchestration(json!({ "mode": mode })), caller("a"), |_| {}).await.unwrap();
        assert_eq!((answer.verdict, status(&answer, "sentinel-phishing")), ("critical", then));
    }
}

#[tokio::test(start_paused = true)]
async fn a_dead_process_is_an_error_and_not_the_end() {
    let (_, sentinels) = sentinels(&[(141, 5, Err(Kind::Internal))], 9);
    let answer = sentinels.orchestrate(orchestration(json!({})), caller("a"), |_| {}).await.unwrap();
    assert_eq!((status(&answer, "sentinel-secrets"), answer.verdict, answer.complete), ("error", "notice", false));
    assert_eq!(answer.warnings, ["error: sentinel-secrets: the process ended"]);
}

#[tokio::test(start_paused = true)]
async fn a_deadline_of_ten_milliseconds_is_kept() {
    let all = SENTINELS.iter().map(|sentinel| (sentinel.number, 1_000, Ok("clear"))).collect::<Vec<_>>();
    let (_, sentinels) = sentinels(&all, 2);
    let begun = Instant::now();
    let answer = sentinels.orchestrate(orchestration(json!({ "deadline_ms": 10 })), caller("a"), |_| {}).await.unwrap();
    assert_eq!(begun.elapsed(), Duration::from_millis(10));
    assert!(answer.runs.iter().all(|run| run.status == "timeout" || run.status == "skipped"), "{answer:?}");
    assert_eq!(answer.verdict, "notice");
}

#[tokio::test(start_paused = true)]
async fn a_hundred_callers_leave_a_process_to_others_and_too_many_are_refused() {
    let all = SENTINELS.iter().map(|sentinel| (sentinel.number, 10, Ok("clear"))).collect::<Vec<_>>();
    let (engines, sentinels) = sentinels(&all, 4);
    let calls =
        (0..100).map(|number| {
            let (sentinels, name) = (sentinels.clone(), format!("caller {number}"));
            async move {
                sentinels.orchestrate(orchestration(json!({ "deadline_ms": 60_000 })), caller(&name), |_| {}).await
            }
        });
    let answers = join_all(calls).await;
    assert_eq!(engines.most.load(Ordering::SeqCst), 3);
    let (answered, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
    assert_eq!((answered.len(), refused.len()), (3 + 64, 33));
    assert!(answered.iter().all(|answer| answer.as_ref().is_ok_and(|answer| answer.complete)));
    let refused = refused[0].as_ref().unwrap_err();
    assert_eq!((refused.kind, refused.code), (Kind::Unavailable, Some("sentinels_busy")));
    assert!(refused.retry_after.is_some());
}

#[tokio::test(start_paused = true)]
async fn who_gives_up_returns_its_turns() {
    let all = SENTINELS.iter().map(|sentinel| (sentinel.number, 60_000, Ok("clear"))).collect::<Vec<_>>();
    let (engines, sentinels) = sentinels(&all, 2);
    let first = sentinels.orchestrate(orchestration(json!({ "mode": "parallel" })), caller("a"), |_| {});
    assert!(tokio::time::timeout(Duration::from_millis(5), first).await.is_err());
    assert_eq!(engines.running.load(Ordering::SeqCst), 0);
    let order = orchestration(json!({ "deadline_ms": 10 }));
    sentinels.orchestrate(order, caller("b"), |_| {}).await.unwrap();
    assert_eq!(engines.begun.lock().unwrap().len(), 2, "one call each: there is one turn");
}

#[tokio::test(start_paused = true)]
async fn turns_go_round_the_callers() {
    let turns = Turns::new(1);
    let (many, other): (Arc<str>, Arc<str>) = ("many".into(), "other".into());
    let held = turns.take(&many).await;
    let order = Arc::new(Mutex::new(Vec::new()));
    let wait = |who: &Arc<str>| {
        let (turns, who, order) = (turns.clone(), Arc::clone(who), Arc::clone(&order));
        tokio::spawn(async move {
            let _turn = turns.take(&who).await;
            order.lock().unwrap().push(who);
        })
    };
    let waiting = [wait(&many), wait(&many), wait(&other)];
    tokio::task::yield_now().await;
    drop(held);
    join_all(waiting).await;
    // Who has waited longest is next, and then the other one, before a second call of the first.
    assert_eq!(*order.lock().unwrap(), [Arc::clone(&many), other, many]);
}

#[test]
fn bad_input_is_refused_with_its_place() {
    let refused = |input| {
        let error = Orchestration::read(input).unwrap_err();
        (error.kind, error.fields.first().map(|field| field.loc.join(".")).unwrap_or_default())
    };
    assert_eq!(refused(json!({})), (Kind::Invalid, "body.subject".to_owned()));
    assert_eq!(refused(json!({ "subject": {} })), (Kind::Invalid, "body.subject".to_owned()));
    let subject = json!({ "text": TEXT });
    for (name, value, place) in [
        ("sentinels", json!(["other"]), "body.sentinels.0"),
        ("weights", json!({ "sentinel-secrets": 2 }), "body.weights.sentinel-secrets"),
        ("weights", json!({ "other": 1 }), "body.weights.other"),
        ("mode", json!("fast"), "body.mode"),
        ("deadline_ms", json!(9), "body.deadline_ms"),
    ] {
        assert_eq!(refused(json!({ "subject": subject, name: value })), (Kind::Invalid, place.to_owned()));
    }
}

/// The sample that the health module plants is one for the sentinel itself.
#[test]
fn every_sentinel_of_this_build_has_a_sample_to_find() {
    for (at, sentinel) in SENTINELS.iter().enumerate() {
        let Some(engine) = muster_engines::by_number(sentinel.number) else { continue };
        let planted = Orchestration::planted(at, Duration::from_secs(1));
        assert_eq!(planted.map(|planted| planted.applicable()), Some(vec![engine.id]), "{}", sentinel.id);
    }
    assert!(Orchestration::clean(Duration::from_secs(1)).is_some());
}
