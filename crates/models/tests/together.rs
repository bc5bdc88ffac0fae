//! Concurrent requests: none starves, and cancelled ones free their slots.

#![cfg(feature = "llm")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test's helpers may fail it")]

mod common;

use std::sync::Arc;

use common::{answer, endless, installed, next, options, request_of, start};
use futures_order::Order;
use muster_models::{ChatModel, Finish, GenerateEvent, LocalModel, ModelError, ModelOptions};

/// Records the order of events across tasks.
mod futures_order {
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[derive(Debug, Default)]
    pub(crate) struct Order(AtomicUsize);

    impl Order {
        pub(crate) fn now(&self) -> usize {
            self.0.fetch_add(1, Ordering::SeqCst)
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn four_requests_progress_together() {
    if !installed("small") {
        return;
    }
    let model = start(options("small")).await;
    let order = Arc::new(Order::default());
    let tasks: Vec<_> = (0..4)
        .map(|_| {
            let mut generation = model.generate(endless(60)).unwrap();
            let order = Arc::clone(&order);
            tokio::spawn(async move {
                assert!(matches!(next(&mut generation).await, Some(GenerateEvent::Delta(_))));
                let first = order.now();
                while let Some(GenerateEvent::Delta(_)) = next(&mut generation).await {}
                (first, order.now())
            })
        })
        .collect();
    let mut times = Vec::new();
    for task in tasks {
        times.push(task.await.unwrap());
    }
    let last_first = times.iter().map(|(first, _)| *first).max().unwrap();
    let first_last = times.iter().map(|(_, last)| *last).min().unwrap();
    assert!(last_first < first_last, "one finished before another had begun: {times:?}");
}

/// A generating sequence continues while a prompt of several steps is processed.
#[tokio::test]
async fn a_long_prompt_does_not_stop_the_others() {
    if !installed("small") {
        return;
    }
    let model = start(options("small")).await;
    let mut running = model.generate(endless(400)).unwrap();
    assert!(matches!(next(&mut running).await, Some(GenerateEvent::Delta(_))));
    let mut long = model.generate(request_of(&"word ".repeat(600), 1)).unwrap();
    let mut beside = 0;
    let read = loop {
        tokio::select! {
            biased;
            event = next(&mut long) => break event,
            event = next(&mut running) => {
                assert!(matches!(event, Some(GenerateEvent::Delta(_))), "{event:?}");
                beside += 1;
            }
        }
    };
    assert!(read.is_some());
    // 600 tokens at 48 a step are 12 steps or more, with a token of the other in each.
    assert!(beside >= 10, "only {beside} tokens beside a prompt of 12 steps");
}

async fn occupy(model: &LocalModel, count: usize) -> Vec<muster_models::Generation> {
    let mut running: Vec<_> = (0..count).map(|_| model.generate(endless(900)).unwrap()).collect();
    for generation in &mut running {
        assert!(matches!(next(generation).await, Some(GenerateEvent::Delta(_))));
    }
    running
}

#[tokio::test]
async fn cancelling_frees_the_slot_for_the_next_request() {
    if !installed("small") {
        return;
    }
    let model = start(options("small")).await;
    let mut running = occupy(&model, 4).await;
    let mut fifth = model.generate(request_of("What is the capital of Australia?", 4)).unwrap();
    let stats = model.stats();
    assert_eq!((stats.active, stats.waiting), (4, 1));
    let before = model.stats().completion_tokens;
    running.pop();
    assert!(matches!(next(&mut fifth).await, Some(GenerateEvent::Delta(_))));
    // The cancelled one had some 900 tokens to go; cancellation takes one step, plus the time for this thread to wake.
    let meanwhile = model.stats().completion_tokens - before;
    assert!(meanwhile < 200, "{meanwhile} tokens were generated before the slot was free");
    // The three others still run, in the same context.
    for generation in &mut running {
        assert!(matches!(next(generation).await, Some(GenerateEvent::Delta(_))));
    }
}

/// The next request of a freed slot must not see what the slot computed before.
#[tokio::test]
async fn a_freed_slot_keeps_no_state() {
    if !installed("small") {
        return;
    }
    let model = start(ModelOptions { slots: 1, ..options("small") }).await;
    let question = request_of("What is the capital of Australia?", 16);
    let fresh = answer(&model, question.clone()).await;
    drop(occupy(&model, 1).await);
    assert_eq!(answer(&model, question).await, fresh);
}

#[tokio::test]
async fn a_full_queue_is_busy_and_returns_a_retry_time() {
    if !installed("small") {
        return;
    }
    let model = start(ModelOptions { slots: 1, queue: 1, ..options("small") }).await;
    let running = occupy(&model, 1).await;
    let waiting = model.generate(request_of("x", 1)).unwrap();
    match model.generate(request_of("x", 1)) {
        Err(ModelError::Busy { retry_after }) => assert!((1..=60).contains(&retry_after.as_secs())),
        other => panic!("{other:?}"),
    }
    // A cancelled waiting request frees its place.
    drop(waiting);
    let waiting = model.generate(request_of("x", 1)).unwrap();
    drop(running);
    assert_eq!(common::read(waiting).await.unwrap().finish, Finish::Length);
}

/// A reader that does not read delays no other request, and loses nothing.
#[tokio::test]
async fn a_slow_reader_does_not_delay_other_requests() {
    if !installed("small") {
        return;
    }
    let model = start(ModelOptions { slots: 2, ..options("small") }).await;
    let slow = model.generate(endless(300)).unwrap();
    let quick = answer(&model, endless(300)).await;
    assert_eq!(quick.usage.completion, 300);
    let slow = common::read(slow).await.unwrap();
    assert_eq!((slow.usage.completion, slow.finish), (300, Finish::Length));
}
