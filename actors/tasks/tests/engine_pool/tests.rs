//! Guarantees of the pool.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use futures::future::join_all;
use muster_core::Error;
use muster_core::Kind;
use muster_identity::By;
use muster_tasks::engine::{EngineCaller, EngineOptions, EngineRunner as _, Engines, Job, JobCall, SandboxMode};
use serde_json::json;

use crate::WORKER;
use crate::bad::{
    ABORTS, BOMB, CLIMBS, CLIMBS_GREEDILY, DEEP, ECHO, FITS, FOREVER, GREEDY, JOB_PANICS, KEEPS, LARGE, LEAKS, NESTS,
    NEVER_ENDS, PANICS, PROCESS, REFUSES, REVERSES, TAKES_TOO_MUCH, WRITES,
};
use crate::fixture::{call, call_of, children, kill, pid, run, until, with};

type Test = fn();

pub const ALL: &[(&str, Test)] = &[
    ("a_thousand_calls_receive_their_own_results", a_thousand_calls),
    ("a_call_beyond_its_time_limit_is_stopped_and_its_process_replaced", past_its_time),
    ("a_call_beyond_its_memory_limit_reports_the_limit", past_its_memory),
    ("the_reported_memory_limit_is_exact_with_and_without_a_large_stack", exact),
    ("a_stack_overflow_affects_only_its_call", overflow),
    ("a_panic_and_an_abort_are_internal_errors", broken),
    ("an_output_beyond_its_limit_is_rejected", outputs),
    ("a_dropped_call_ends_its_process_at_once", dropped),
    ("a_caller_that_leaves_the_queue_cancels_its_call", left_the_queue),
    ("a_process_killed_from_outside_is_replaced", killed),
    ("a_full_queue_rejects_calls", full),
    ("an_idle_process_ends", idle),
    ("a_process_that_leaks_memory_is_replaced", leaks),
    ("a_process_has_no_environment_and_cannot_write_files", confined),
    ("a_process_ends_when_its_input_closes_while_an_engine_runs", orphan),
    ("the_tree_s_end_ends_processes_that_are_busy", stopped_busy),
    ("a_principal_does_not_wait_for_the_calls_of_another", fair),
    ("waiting_calls_of_a_principal_are_bounded", bounded),
    ("a_process_serves_one_principal_and_leaves_nothing_to_the_next", private),
    ("a_job_gets_and_returns_bytes_in_the_processes_of_engines", jobs),
    ("a_job_is_bounded_in_time_memory_and_input", bounded_jobs),
];

fn a_thousand_calls() {
    with(
        |_| {},
        |engines| async move {
            for round in 0..50_u64 {
                let calls = (0..20).map(|nth| {
                    let input = json!({ "value": [round, nth, "ü", 0.1, -1.5e-7] });
                    let engines = engines.clone();
                    let principal = ["key_a", "key_b"][nth % 2];
                    async move { (engines.run(call_of(principal, &ECHO, input.clone())).await, input) }
                });
                for (answer, input) in join_all(calls).await {
                    assert_eq!(answer.unwrap().output, input);
                }
            }
            let stats = engines.stats();
            assert_eq!((stats.calls, stats.processes, stats.running, stats.waiting), (1_000, 2, 0, 0));
            assert_eq!(children().len(), 2);
        },
    );
}

fn past_its_time() {
    with(
        |options| options.time = Duration::from_secs(1),
        |engines| async move {
            let old = pid(&engines).await;
            let refused = run(&engines, &FOREVER).await.unwrap_err();
            assert_eq!(refused.kind, Kind::TimedOut);
            assert!(refused.message.contains("1 s"), "{refused}");
            assert!(children().is_empty(), "killed and reaped before the reply");
            assert_ne!(pid(&engines).await, old);
            assert_eq!(engines.stats().timed_out, 1);
        },
    );
}

fn past_its_memory() {
    with(
        |_| {},
        |engines| async move {
            for _ in 0..2 {
                let refused = run(&engines, &BOMB).await.unwrap_err();
                assert_eq!((refused.kind, refused.code), (Kind::TooLarge, Some("memory_exceeded")), "{refused}");
                assert!(refused.message.contains("64 MiB"), "{refused}");
                pid(&engines).await;
            }
        },
    );
}

fn exact() {
    with(
        |options| options.workers = 1,
        |engines| async move {
            let had = run(&engines, &FITS).await.unwrap().output;
            assert_eq!(had, json!({ "had": 48 }));
            let climbed = run(&engines, &CLIMBS).await.unwrap().output;
            assert_eq!(climbed["had"], 48);
            assert!(climbed["climbed"].as_u64().unwrap() >= 192, "{climbed}");
            // After a large stack in the same process, and on one.
            for engine in [&GREEDY, &CLIMBS_GREEDILY] {
                let old = pid(&engines).await;
                run(&engines, &CLIMBS).await.unwrap();
                assert_eq!(pid(&engines).await, old, "a released stack does not count as memory in use");
                let refused = run(&engines, engine).await.unwrap_err();
                assert_eq!((refused.kind, refused.code), (Kind::TooLarge, Some("memory_exceeded")), "{refused}");
            }
        },
    );
}

fn overflow() {
    with(
        |_| {},
        |engines| async move {
            let refused = run(&engines, &DEEP).await.unwrap_err();
            assert_eq!(refused.kind, Kind::Invalid, "{refused}");
            assert!(refused.message.contains("nested too deeply"), "{refused}");
            pid(&engines).await;
        },
    );
}

fn broken() {
    with(
        |_| {},
        |engines| async move {
            let old = pid(&engines).await;
            for engine in [&PANICS, &ABORTS] {
                let refused = run(&engines, engine).await.unwrap_err();
                assert_eq!(refused.kind, Kind::Internal, "{refused}");
                assert!(!refused.message.contains("disco"), "{refused}");
            }
            assert_ne!(pid(&engines).await, old, "a process in which an engine panicked is not used again");
            assert_eq!(engines.stats().broken, 2);
        },
    );
}

fn outputs() {
    with(
        |_| {},
        |engines| async move {
            for engine in [&LARGE, &NESTS] {
                let refused = run(&engines, engine).await.unwrap_err();
                assert_eq!(refused.kind, Kind::TooLarge, "{refused}");
            }
            let value = json!({ "value": "x".repeat(17 << 20) });
            let refused = engines.run(call(&ECHO, value)).await.unwrap_err();
            assert_eq!(refused.kind, Kind::TooLarge, "{refused}");
            pid(&engines).await;
        },
    );
}

fn dropped() {
    with(
        |_| {},
        |engines| async move {
            let begun = Instant::now();
            {
                let running = run(&engines, &FOREVER);
                let seen = until(|| !children().is_empty());
                futures::pin_mut!(running, seen);
                assert!(
                    matches!(futures::future::select(running, seen).await, futures::future::Either::Right(_)),
                    "it runs for ever"
                );
            }
            until(|| children().is_empty()).await;
            assert!(begun.elapsed() < Duration::from_secs(10), "long before its time is over");
            until(|| engines.stats().running == 0).await;
        },
    );
}

fn left_the_queue() {
    with(
        |options| options.workers = 1,
        |engines| async move {
            let busy = actix_rt::spawn({
                let engines = engines.clone();
                async move { run(&engines, &FOREVER).await }
            });
            until(|| engines.stats().running == 1).await;
            // More callers than there are places enter and leave the queue.
            for _ in 0..100 {
                let waiting = tokio::time::timeout(Duration::from_millis(1), run(&engines, &ECHO)).await;
                assert!(waiting.is_err(), "the only process is busy");
            }
            assert_eq!(engines.stats().waiting, 0);
            busy.abort();
            assert!(run(&engines, &ECHO).await.is_ok());
        },
    );
}

fn killed() {
    with(
        |_| {},
        |engines| async move {
            let idle = pid(&engines).await;
            kill(idle);
            assert_ne!(pid(&engines).await, idle);

            let busy = actix_rt::spawn({
                let engines = engines.clone();
                async move { run(&engines, &FOREVER).await }
            });
            until(|| engines.stats().running == 1 && !children().is_empty()).await;
            let first = children();
            first.iter().copied().for_each(kill);
            until(|| children().iter().any(|pid| !first.contains(pid))).await;
            // Repeated once in another process, but not forever.
            children().into_iter().for_each(kill);
            let refused = busy.await.unwrap().unwrap_err();
            assert_eq!(refused.kind, Kind::Unavailable, "{refused}");
            assert!(refused.retry_after.is_some());
        },
    );
}

fn full() {
    with(
        |options| (options.workers, options.queue) = (1, 2),
        |engines| async move {
            let busy: Vec<_> = (0..3)
                .map(|_| {
                    let engines = engines.clone();
                    actix_rt::spawn(async move { run(&engines, &FOREVER).await })
                })
                .collect();
            until(|| (engines.stats().running, engines.stats().waiting) == (1, 2)).await;
            let refused = run(&engines, &ECHO).await.unwrap_err();
            assert_eq!((refused.kind, refused.code), (Kind::Unavailable, Some("engines_busy")));
            assert!(refused.retry_after.is_some());
            busy.iter().for_each(tokio::task::JoinHandle::abort);
            until(|| engines.stats().running == 0).await;
            assert!(run(&engines, &ECHO).await.is_ok());
        },
    );
}

fn idle() {
    with(
        |options| options.idle = Duration::from_millis(200),
        |engines| async move {
            pid(&engines).await;
            until(|| children().is_empty()).await;
            assert_eq!(engines.stats().processes, 0);
        },
    );
}

fn leaks() {
    with(
        |_| {},
        |engines| async move {
            // In total more than the limit of a single process.
            let mut pids = Vec::new();
            for _ in 0..6 {
                pids.push(run(&engines, &LEAKS).await.unwrap().output["pid"].as_u64().unwrap());
            }
            pids.dedup();
            assert!(pids.len() > 1, "{pids:?}");
        },
    );
}

fn confined() {
    with(
        |_| {},
        |engines| async move {
            // MALLOC_ARENA_MAX is set by the pool.
            assert_eq!(run(&engines, &PROCESS).await.unwrap().output["variables"], 1);
        },
    );
    for mode in [SandboxMode::Prefer, SandboxMode::Off] {
        let change = |options: &mut EngineOptions| {
            options.sandbox = mode;
            options.worker.args.extend(["--sandbox".into(), mode.name().into()]);
        };
        with(change, |engines| async move {
            // The kernel may end it for the attempt, or reject it.
            let wrote = run(&engines, &WRITES).await;
            assert!(!wrote.is_ok_and(|answer| answer.output["written"] == json!(true)), "{mode:?}");
        });
    }
}

/// Starts a process manually: a killed pool leaves one behind in the middle of a call.
fn orphan() {
    let program = std::env::current_exe().unwrap();
    let mut child = Command::new(program).arg(WORKER).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let echo = |number: u8, body: &[u8]| {
        let length = u8::try_from(body.len()).unwrap();
        [&[0, 0, 0, 2, 0, number, 0, 0, 0, length], body].concat()
    };
    input.write_all(&echo(1, br#"{"value":7}"#)).unwrap();
    let mut output = child.stdout.take().unwrap();
    let mut frame = || {
        let mut length = [0; 4];
        output.read_exact(&mut length).unwrap();
        let mut frame = vec![0; u32::from_be_bytes(length) as usize];
        output.read_exact(&mut frame).unwrap();
        String::from_utf8(frame).unwrap()
    };
    assert!(frame().contains(r#""sandbox":"#), "the greeting");
    assert!(frame().contains(r#""failure":null"#));
    assert_eq!(frame(), r#"{"value":7}"#);
    input.write_all(&echo(2, b"{}")).unwrap();
    drop(input);
    let (exited, exit) = std::sync::mpsc::channel();
    std::thread::spawn(move || exited.send(child.wait().unwrap()));
    assert!(exit.recv_timeout(Duration::from_secs(30)).expect("it ends").success());
}

fn stopped_busy() {
    with(
        |_| {},
        |engines| async move {
            actix_rt::spawn(async move { run(&engines, &FOREVER).await });
            // The test environment verifies that no process survives the tree.
            until(|| !children().is_empty()).await;
        },
    );
}

/// 24 calls that never end keep one principal's places; another's are answered all the same.
fn fair() {
    with(
        |_| {},
        |engines| async move {
            let slow: Vec<_> = (0..24)
                .map(|_| {
                    let engines = engines.clone();
                    actix_rt::spawn(async move { engines.run(call_of("key_slow", &FOREVER, json!({}))).await })
                })
                .collect();
            until(|| (engines.stats().running, engines.stats().waiting) == (1, 23)).await;
            for nth in 0..10 {
                let answer = engines.run(call_of("key_quick", &ECHO, json!({ "value": nth }))).await.unwrap();
                assert_eq!(answer.output, json!({ "value": nth }));
            }
            assert_eq!((engines.stats().running, engines.stats().waiting), (1, 23), "none of the others has ended");
            slow.iter().for_each(tokio::task::JoinHandle::abort);
            until(|| engines.stats().running + engines.stats().waiting == 0).await;
            assert!(engines.run(call_of("key_slow", &ECHO, json!({}))).await.is_ok(), "its places are free again");
        },
    );
}

fn bounded() {
    with(
        |options| options.queue_per_key = 2,
        |engines| async move {
            let slow = |principal: &'static str| {
                let engines = engines.clone();
                actix_rt::spawn(async move { engines.run(call_of(principal, &FOREVER, json!({}))).await })
            };
            let busy: Vec<_> = (0..3).map(|_| slow("key_slow")).collect();
            until(|| (engines.stats().running, engines.stats().waiting) == (1, 2)).await;
            let refused = engines.run(call_of("key_slow", &ECHO, json!({}))).await.unwrap_err();
            assert_eq!((refused.kind, refused.code), (Kind::RateLimited, Some("engine_calls_queued")), "{refused}");
            assert!(refused.retry_after.is_some() && refused.message.contains('2'), "{refused}");
            assert!(engines.run(call_of("key_quick", &ECHO, json!({}))).await.is_ok());
            busy.iter().for_each(tokio::task::JoinHandle::abort);
            until(|| engines.stats().running == 0).await;
        },
    );
}

/// An engine that keeps what it was sent finds it again in a later call of the same principal, and no other does.
fn private() {
    with(
        |_| {},
        |engines| async move {
            let keeps = |principal: &'static str, text: &'static str| {
                let call = call_of(principal, &KEEPS, json!({ "value": text }));
                let ran = engines.run(call);
                async move { ran.await.unwrap().output }
            };
            let first = keeps("key_a", "the secret of a").await;
            assert_eq!(first["kept"], json!(null));
            let again = keeps("key_a", "more of a").await;
            assert_eq!((&again["kept"], &again["pid"]), (&json!("the secret of a"), &first["pid"]), "its own process");
            for principal in ["key_b", "key_c", "key_d"] {
                let other = keeps(principal, principal).await;
                assert_eq!(other["kept"], json!(null), "{principal}");
                assert_ne!(other["pid"], first["pid"], "{principal}");
            }
            assert_eq!(keeps("key_a", "x").await["kept"], json!(null), "its process has made room");
            assert_eq!(engines.stats().processes, 2);
            until(|| children().len() == 2).await;
        },
    );
}

async fn run_job(engines: &Engines, job: &'static Job, input: Vec<u8>) -> Result<Vec<u8>, Error> {
    engines.run_job(JobCall { job, input, caller: EngineCaller::of(&By::System) }).await
}

fn jobs() {
    with(
        |_| {},
        |engines| async move {
            let process = pid(&engines).await;
            // The largest frame, of bytes that are no text.
            let input: Vec<u8> = (0..20 << 20).map(|nth: u32| nth.to_le_bytes()[0]).collect();
            let reversed: Vec<u8> = input.iter().rev().copied().collect();
            let output = run_job(&engines, &REVERSES, input).await;
            // It is also larger than an output may be.
            assert_eq!(output.unwrap_err().kind, Kind::TooLarge);
            let half = reversed[..16 << 20].to_vec();
            let expected: Vec<u8> = half.iter().rev().copied().collect();
            assert!(run_job(&engines, &REVERSES, half).await.unwrap() == expected);
            assert_eq!(run_job(&engines, &REVERSES, Vec::new()).await.unwrap(), b"");
            let refused = run_job(&engines, &REFUSES, Vec::new()).await.unwrap_err();
            assert_eq!((refused.kind, refused.message.as_str()), (Kind::Invalid, "data: is not to its liking"));
            assert_eq!(run_job(&engines, &JOB_PANICS, Vec::new()).await.unwrap_err().kind, Kind::Internal);
            assert_ne!(pid(&engines).await, process, "a process in which something panicked is replaced");
        },
    );
}

fn bounded_jobs() {
    with(
        |_| {},
        |engines| async move {
            let late = run_job(&engines, &NEVER_ENDS, Vec::new()).await.unwrap_err();
            assert_eq!(late.kind, Kind::TimedOut);
            assert!(late.message.contains("1 s"), "its own time, not that of engines: {late}");
            assert!(children().is_empty(), "killed and reaped before the reply");
            let greedy = run_job(&engines, &TAKES_TOO_MUCH, Vec::new()).await.unwrap_err();
            assert_eq!((greedy.kind, greedy.code), (Kind::TooLarge, Some("memory_exceeded")), "{greedy}");
            let long = run_job(&engines, &REVERSES, vec![0; (20 << 20) + 1]).await.unwrap_err();
            assert_eq!(long.kind, Kind::TooLarge);
        },
    );
}
