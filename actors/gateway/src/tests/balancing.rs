//! How the providers of one model share its requests, with paused time and numbers that repeat.

use std::sync::atomic::{AtomicU64, Ordering};

use futures::future::join_all;

use super::*;

/// Numbers in `0..1` of a linear congruential generator, the same in each run.
fn drawing() -> Jitter {
    let state = AtomicU64::new(7);
    Jitter::from_fn(move || {
        let next = |state: u64| state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let before = state.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |state| Some(next(state)));
        (next(before.unwrap_or_default()) >> 11) as f64 / (1_u64 << 53) as f64
    })
}

fn balanced(balance: Balance) -> ChainOptions {
    ChainOptions { balance, jitter: drawing(), ..options() }
}

#[test]
fn by_latency_the_quicker_provider_answers_and_the_slower_one_is_tried_again_later() {
    test_world::run(|tree| async move {
        let slow = ScriptedProvider::answering(delayed(ms(800), CallScript::Answer(1)));
        let quick = ScriptedProvider::answering(delayed(ms(100), CallScript::Answer(1)));
        let chain = chain(&tree, &[&slow, &quick], balanced(Balance::Latency)).await;
        for _ in 0..100 {
            assert_eq!(chain.complete(chat_request()).await.unwrap().substitute, Substitute::None);
        }
        // In ten seconds the average of the slow one does not fall to that of the quick one.
        assert_eq!((slow.calls(), quick.calls()), (1, 99));
        for _ in 0..1_000 {
            chain.complete(chat_request()).await.unwrap();
        }
        // 800 ms fall to 100 ms in 30 s × ln 8 = 62 s: once in a hundred seconds.
        assert!((2..=3).contains(&slow.calls()), "{}", slow.calls());
        // It has recovered, and the other one became slow: the next tries find that out.
        slow.set_default(delayed(ms(20), CallScript::Answer(1)));
        quick.set_default(delayed(ms(400), CallScript::Answer(1)));
        let before = slow.calls();
        for _ in 0..500 {
            chain.complete(chat_request()).await.unwrap();
        }
        assert!(slow.calls() - before > 300, "{}", slow.calls() - before);
    });
}

#[test]
fn by_latency_calls_in_progress_count() {
    test_world::run(|tree| async move {
        let one = ScriptedProvider::answering(delayed(ms(100), CallScript::Answer(1)));
        let other = ScriptedProvider::answering(delayed(ms(100), CallScript::Answer(1)));
        let chain = chain(&tree, &[&one, &other], balanced(Balance::Latency)).await;
        // Both are measured first.
        for _ in 0..2 {
            chain.complete(chat_request()).await.unwrap();
        }
        let calls = (0..40).map(|_| chain.complete(chat_request()));
        assert!(join_all(calls).await.iter().all(Result::is_ok));
        assert!(one.calls().abs_diff(other.calls()) <= 2, "{} and {}", one.calls(), other.calls());
    });
}

#[test]
fn streams_are_measured_by_their_first_content_apart_from_complete_answers() {
    test_world::run(|tree| async move {
        let one = ScriptedProvider::answering(delayed(ms(500), CallScript::Answer(1)));
        let other = ScriptedProvider::answering(delayed(ms(50), CallScript::Answer(1)));
        let chain = chain(&tree, &[&one, &other], balanced(Balance::Latency)).await;
        for _ in 0..10 {
            chain.complete(chat_request()).await.unwrap();
        }
        assert_eq!(one.calls(), 1);
        for _ in 0..10 {
            let mut stream = chain.stream(chat_request(), |_| ()).await.unwrap();
            read_to_end(&mut stream).await;
        }
        assert_eq!(one.calls(), 2, "the first stream is tried at both");
    });
}

#[test]
fn by_weight_the_shares_are_those_of_the_weights_and_failures_move_on() {
    test_world::run(|tree| async move {
        let providers =
            [CallScript::Answer(1), CallScript::Answer(1), CallScript::Answer(1)].map(ScriptedProvider::answering);
        let weights = [6, 3, 1];
        let settings: Vec<_> = NAMES.iter().map(|id| settings(id, &["m"])).collect();
        let references: Vec<&ScriptedProvider> = providers.iter().collect();
        let chain = chain_weighing(&tree, &settings, &references, balanced(Balance::Weight), &weights).await;
        for _ in 0..1_000 {
            chain.complete(chat_request()).await.unwrap();
        }
        let counts = providers.each_ref().map(ScriptedProvider::calls);
        // Four standard errors of each share.
        for (count, (share, error)) in counts.into_iter().zip([(600_usize, 62), (300, 58), (100, 38)]) {
            assert!(count.abs_diff(share) <= error, "{counts:?}");
        }
        providers[0].set_default(transient());
        let answer = chain.complete(chat_request()).await.unwrap();
        assert_ne!(answer.provider_id, "one");
    });
}
