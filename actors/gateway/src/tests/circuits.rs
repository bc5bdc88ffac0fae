//! Circuits of models, of providers, and what is answered where every candidate throttles or is out of service.

use super::*;

fn request(model: &str) -> GatewayChatRequest {
    GatewayChatRequest { models: vec![model.to_owned()], ..chat_request() }
}

fn hard(status: u16, scope: FaultScope) -> CallScript {
    CallScript::Fail(Fault { status: Some(status), scope, ..fault(FaultClass::Hard) })
}

#[test]
fn failures_of_one_model_leave_the_providers_other_models_in_service() {
    for step in [transient(), hard(404, FaultScope::Model)] {
        test_world::run(|tree| async move {
            let one = ScriptedProvider::answering(step);
            let chain = chain_of(&tree, &[settings("one", &["bad", "good"])], &[&one], options()).await;
            for _ in 0..6 {
                chain.complete(request("bad")).await.unwrap_err();
            }
            test_world::until(|| chain.circuit_open("one", "bad")).await;
            one.set_default(CallScript::Answer(1));
            chain.complete(request("good")).await.unwrap();
            assert!(!chain.circuit_open("one", "good"));
            let status = breaker(&chain, "one");
            assert_eq!(status.state, BreakerState::Closed, "one of two models is in service");
            assert_eq!(status.models.iter().map(|model| model.model.as_str()).collect::<Vec<_>>(), ["bad"]);
            assert_eq!(chain.soonest_probe(), Some(Duration::ZERO));
        });
    }
}

#[test]
fn a_rejected_key_and_a_refused_connection_concern_all_models() {
    let unreachable = CallScript::Fail(Fault::transient(Phase::Connect, "refused"));
    for (step, calls) in [(hard(401, FaultScope::Provider), 1), (unreachable, 5)] {
        test_world::run(|tree| async move {
            let one = ScriptedProvider::answering(step);
            let chain = chain_of(&tree, &[settings("one", &["a", "b"])], &[&one], options()).await;
            for n in 0..calls {
                chain.complete(request(if n % 2 == 0 { "a" } else { "b" })).await.unwrap_err();
            }
            until_open(&chain, "one").await;
            assert!(chain.circuit_open("one", "a") && chain.circuit_open("one", "b"));
        });
    }
}

#[test]
fn a_limit_of_one_model_is_not_that_of_the_account() {
    for (message, other_is_open) in [
        ("Rate limit reached for gpt-x in organization org-1 on requests per min", false),
        ("Rate limit reached for gpt-x-large in organization org-1", true),
        ("slow down", true),
    ] {
        test_world::run(|tree| async move {
            let limited = Fault { message: message.to_owned(), ..fault(FaultClass::Throttled) };
            let one = ScriptedProvider::answering(CallScript::Fail(limited.with_retry_after(secs(30))));
            let chain = chain_of(&tree, &[settings("one", &["gpt-x", "other"])], &[&one], options()).await;
            chain.complete(request("gpt-x")).await.unwrap_err();
            test_world::until(|| chain.circuit_open("one", "gpt-x")).await;
            assert_eq!(chain.circuit_open("one", "other"), other_is_open, "{message}");
        });
    }
}

#[test]
fn where_every_candidate_throttles_the_answer_is_a_rate_limit_with_the_soonest_time() {
    test_world::run(|tree| async move {
        let (one, two) = (ScriptedProvider::answering(throttled(30)), ScriptedProvider::answering(throttled(12)));
        let chain = chain(&tree, &[&one, &two], options()).await;
        let first = chain.complete(chat_request()).await.unwrap_err().error;
        assert_eq!((first.kind, first.retry_after), (Kind::RateLimited, Some(secs(12))));
        until_open(&chain, "one").await;
        until_open(&chain, "two").await;
        // The breakers hold the calls back from here on: the client's answer is the same.
        let second = chain.stream(chat_request(), |_| ()).await.unwrap_err().error;
        assert_eq!(second.kind, Kind::RateLimited);
        assert!((secs(11)..=secs(12)).contains(&second.retry_after.unwrap()));
        assert_eq!((one.calls(), two.calls()), (1, 1));
        // Where another one failed, that is the failure.
        tokio::time::advance(secs(20)).await;
        two.set_default(transient());
        assert_eq!(chain.complete(chat_request()).await.unwrap_err().error.kind, Kind::ProviderFailed);
    });
}

#[test]
fn the_only_provider_is_tried_in_one_call_of_ten_although_its_circuit_is_open() {
    test_world::run(|tree| async move {
        let one = ScriptedProvider::answering(transient());
        let long = BreakerOptions { first_cooldown: secs(1_000), ..BreakerOptions::default() };
        let chain = chain(&tree, &[&one], ChainOptions { breaker: long, ..options() }).await;
        for _ in 0..5 {
            chain.complete(chat_request()).await.unwrap_err();
        }
        until_open(&chain, "one").await;
        let before = one.calls();
        let mut refused = 0;
        for _ in 0..20 {
            let error = chain.complete(chat_request()).await.unwrap_err();
            if error.error.kind == Kind::Unavailable {
                assert_eq!(outcomes(&error.attempts), [("one", AttemptOutcome::OpenCircuit)]);
                refused += 1;
            }
        }
        assert_eq!((one.calls() - before, refused), (2, 18));
        one.set_default(CallScript::Answer(1));
        let mut answered = Vec::new();
        for _ in 0..10 {
            answered.extend(chain.complete(chat_request()).await.ok());
        }
        assert!(answered[0].despite_open, "it says so");
        let expected = [("one", AttemptOutcome::OpenCircuit), ("one", AttemptOutcome::Ok)];
        assert_eq!(outcomes(&answered[0].attempts), expected);
        test_world::until(|| breaker(&chain, "one").state == BreakerState::Closed).await;
        let mut streaming = chain.stream(chat_request(), |_| ()).await.unwrap();
        assert!(!streaming.despite_open && read_to_end(&mut streaming).await.0 == 1);
    });
}

#[test]
fn of_two_providers_out_of_service_none_is_called() {
    test_world::run(|tree| async move {
        let (one, two) = (ScriptedProvider::answering(transient()), ScriptedProvider::answering(transient()));
        let long = BreakerOptions { first_cooldown: secs(1_000), ..BreakerOptions::default() };
        let chain = chain(&tree, &[&one, &two], ChainOptions { breaker: long, ..options() }).await;
        for _ in 0..5 {
            chain.complete(chat_request()).await.unwrap_err();
        }
        until_open(&chain, "one").await;
        until_open(&chain, "two").await;
        for _ in 0..30 {
            assert_eq!(chain.complete(chat_request()).await.unwrap_err().error.kind, Kind::Unavailable);
        }
        assert_eq!((one.calls(), two.calls()), (5, 5));
    });
}

#[test]
fn the_number_of_consecutive_failures_is_a_setting() {
    test_world::run(|tree| async move {
        let one = ScriptedProvider::answering(transient());
        let strict = BreakerOptions { consecutive_failures: 2, ..BreakerOptions::default() };
        let chain = chain(&tree, &[&one], ChainOptions { breaker: strict, ..options() }).await;
        for _ in 0..2 {
            chain.complete(chat_request()).await.unwrap_err();
        }
        until_open(&chain, "one").await;
    });
}
