//! Calls that ask, explain themselves, have no answer or take long.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use muster_core::{Error, Kind};
use muster_engines::Need;
use muster_tasks::engine::{Effects, EngineCall, EngineCaller, EngineProgress, EngineRunner as _, Provided};
use muster_tasks::task::Usage;
use serde_json::json;
use tokio::sync::watch;

use crate::bad::{ASKS, ASKS_ON, ECHO, INFEASIBLE, LONG};
use crate::fixture::{call, call_of, run, until, with};

type Test = fn();

pub const ALL: &[(&str, Test)] = &[
    ("an_engine_is_run_again_with_the_answers_to_its_needs", asks),
    ("needs_are_refused_where_nobody_provides_them", refused),
    ("a_call_ends_with_the_error_of_its_need", fails),
    ("an_engine_that_asks_too_often_is_stopped", asks_on),
    ("steps_and_assumptions_are_returned_on_request", explains),
    ("an_input_without_an_answer_has_its_reason", infeasible),
    ("the_progress_of_a_long_call_reaches_its_caller", progress),
    ("long_calls_take_at_most_half_of_the_slots", half),
];

/// Numbers its answers, and keeps who asked for what.
#[derive(Debug, Default)]
struct Recorded(Mutex<Vec<(String, Need)>>);

impl Effects for Recorded {
    fn perform(&self, need: Need, caller: EngineCaller) -> BoxFuture<'static, Result<Provided, Error>> {
        let mut asked = self.0.lock().unwrap();
        asked.push((caller.actor, need));
        let usage = Usage { prompt: 10, completion: 2, cost_nanos: 3 };
        std::future::ready(Ok(Provided::given(json!(asked.len()), usage))).boxed()
    }
}

/// Has a budget that is used up.
#[derive(Debug)]
struct Exhausted;

impl Effects for Exhausted {
    fn perform(&self, _: Need, _: EngineCaller) -> BoxFuture<'static, Result<Provided, Error>> {
        let error = Error::new(Kind::BudgetExhausted, "the budget of this month is used up");
        std::future::ready(Err(error.retry_in(Duration::from_secs(9)))).boxed()
    }
}

fn asks() {
    let effects = Arc::new(Recorded::default());
    let performed = Arc::clone(&effects);
    with(
        move |options| options.effects = effects,
        |engines| async move {
            let answer = engines.run(call_of("key_1", &ASKS, json!({}))).await.unwrap();
            assert_eq!(answer.output, json!({ "answers": [1, 2] }));
            assert_eq!(answer.usage, Usage { prompt: 20, completion: 4, cost_nanos: 6 });
        },
    );
    let embed = |text: &str| Need::Embed { texts: vec![text.to_owned()], model: "embedded".to_owned() };
    let expected = [("key_1".to_owned(), embed("first")), ("key_1".to_owned(), embed("1"))];
    assert_eq!(*performed.0.lock().unwrap(), expected);
}

fn refused() {
    with(
        |_| {},
        |engines| async move {
            let answer = run(&engines, &ASKS).await.unwrap();
            assert_eq!(answer.output["refused"], "this server does not provide embed to engines");
        },
    );
}

fn fails() {
    with(
        |options| options.effects = Arc::new(Exhausted),
        |engines| async move {
            let error = run(&engines, &ASKS).await.unwrap_err();
            assert_eq!((error.kind, error.retry_after), (Kind::BudgetExhausted, Some(Duration::from_secs(9))));
        },
    );
}

fn asks_on() {
    let effects = Arc::new(Recorded::default());
    let performed = Arc::clone(&effects);
    with(
        move |options| options.effects = effects,
        |engines| async move {
            assert_eq!(run(&engines, &ASKS_ON).await.unwrap_err().kind, Kind::Internal);
        },
    );
    assert_eq!(performed.0.lock().unwrap().len(), 4);
}

fn explains() {
    with(
        |_| {},
        |engines| async move {
            let asked = call(&INFEASIBLE, json!({ "value": "explain" }));
            assert_eq!(engines.run(asked.clone()).await.unwrap().explained, None);
            let explained = engines.run(EngineCall { explain: true, ..asked }).await.unwrap().explained.unwrap();
            let step = &explained.steps[0];
            assert_eq!((step.name.as_str(), &step.value, step.unit.as_str()), ("slope", &json!(0.5), "m/m"));
            assert_eq!(explained.assumptions, ["the ground is dry"]);
        },
    );
}

fn infeasible() {
    with(
        |_| {},
        |engines| async move {
            let refused = run(&engines, &INFEASIBLE).await.unwrap_err();
            assert_eq!(refused.kind, Kind::NoAnswer);
            assert_eq!(refused.details.as_deref(), Some(&json!({ "reason": "infeasible" })));
            assert_eq!(refused.message, "no route satisfies all constraints: relax one");
        },
    );
}

fn progress() {
    with(
        |_| {},
        |engines| async move {
            let (sender, receiver) = watch::channel(EngineProgress::default());
            let asked = EngineCall { progress: Some(Arc::new(sender)), ..call(&LONG, json!({})) };
            let answer = engines.run(asked).await.unwrap();
            assert_eq!(answer.output, json!({ "elapsed": true }));
            // The others came within a quarter of a second.
            let expected = EngineProgress { done: 1, total: 3, phase: "counting".to_owned() };
            assert_eq!(*receiver.borrow(), expected);
        },
    );
}

fn half() {
    with(
        |options| options.workers = 4,
        |engines| async move {
            let parked: Vec<_> = (0..6)
                .map(|nth| {
                    let engines = engines.clone();
                    let asked = call_of(&format!("key_{nth}"), &LONG, json!({ "value": "park" }));
                    actix_rt::spawn(async move { engines.run(asked).await })
                })
                .collect();
            until(|| (engines.stats().running, engines.stats().waiting) == (2, 4)).await;
            for nth in 0..3 {
                let answer = engines.run(call_of("key_quick", &ECHO, json!({ "value": nth }))).await.unwrap();
                assert_eq!(answer.output, json!({ "value": nth }));
            }
            assert_eq!(
                (engines.stats().running, engines.stats().waiting),
                (2, 4),
                "long calls wait for long ones only"
            );
            parked.iter().for_each(tokio::task::JoinHandle::abort);
            until(|| engines.stats().running + engines.stats().waiting == 0).await;
            assert!(engines.run(call_of("key_0", &LONG, json!({}))).await.is_ok(), "their places are free again");
        },
    );
}
