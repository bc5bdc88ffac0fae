//! Streams: failover before the first delta, errors after it, exactly one settlement.

use tokio::time::Instant;

use super::*;

#[test]
fn a_failure_before_the_first_delta_is_invisible_to_the_caller() {
    let cases = [
        transient(),
        throttled(5),
        CallScript::Fail(fault(FaultClass::Hard)),
        CallScript::Break(0, Ending::Fault(fault(FaultClass::Transient))),
        CallScript::Break(0, Ending::Cut),
    ];
    for step in cases {
        test_world::run(|tree| async move {
            let (one, two) = (ScriptedProvider::answering(step), ScriptedProvider::answering(CallScript::Answer(3)));
            let chain = chain(&tree, &[&one, &two], options()).await;
            let ledger = SettlementLog::default();
            let mut streaming = chain.stream(chat_request(), ledger.entry()).await.unwrap();
            assert_eq!((streaming.provider_id.as_str(), streaming.attempts.len()), ("two", 2));
            assert_eq!(read_to_end(&mut streaming).await, (3, Some(Ok(estimated_usage(3)))));
            let settled = ledger.only();
            assert_eq!((settled.end, settled.usage), (StreamEnd::Done, estimated_usage(3)));
            assert_eq!(settled.provider_id.as_deref(), Some("two"));
            until_counted(&chain, "one", 1).await;
            until_counted(&chain, "two", 1).await;
            assert_eq!((breaker(&chain, "one").failure_share, breaker(&chain, "two").failure_share), (1.0, 0.0));
        });
    }
}

#[test]
fn a_stream_that_is_cut_after_ten_deltas_ends_with_an_error_and_nothing_else() {
    for ending in [Ending::Cut, Ending::Fault(fault(FaultClass::Transient))] {
        test_world::run(|tree| async move {
            let (one, two) = (
                ScriptedProvider::answering(CallScript::Break(10, ending)),
                ScriptedProvider::answering(CallScript::Answer(1)),
            );
            let chain = chain(&tree, &[&one, &two], options()).await;
            let ledger = SettlementLog::default();
            let mut streaming = chain.stream(chat_request(), ledger.entry()).await.unwrap();
            let (words, end) = read_to_end(&mut streaming).await;
            assert_eq!(words, 10);
            let error = end.unwrap().unwrap_err();
            assert_eq!(error.kind, Kind::ProviderFailed);
            assert!(error.message.starts_with("one broke off"), "{}", error.message);
            assert_eq!((two.calls(), one.in_progress()), (0, 0));
            drop(streaming);
            let settled = ledger.only();
            assert_eq!((settled.end, settled.usage), (StreamEnd::Failed, estimated_usage(10)));
            until_counted(&chain, "one", 1).await;
            assert_eq!(breaker(&chain, "one").failure_share, 1.0, "the breaker learned it");
        });
    }
}

#[test]
fn a_stream_is_settled_by_the_usage_that_the_provider_reports() {
    test_world::run(|tree| async move {
        let figures = Usage { prompt_tokens: 30, completion_tokens: 20, estimated: false };
        let one = ScriptedProvider::answering(CallScript::Figures(2, figures));
        let chain = chain(&tree, &[&one], options()).await;
        let ledger = SettlementLog::default();
        let mut streaming = chain.stream(chat_request(), ledger.entry()).await.unwrap();
        assert_eq!(read_to_end(&mut streaming).await, (2, Some(Ok(figures))));
        assert_eq!(ledger.only().usage, figures);
    });
}

#[test]
fn a_long_response_is_counted_in_pieces_and_in_full() {
    test_world::run(|tree| async move {
        // Some 200 kB of text: more than three counting buffers.
        let one = ScriptedProvider::answering(CallScript::Answer(40_000));
        let chain = chain(&tree, &[&one], options()).await;
        let ledger = SettlementLog::default();
        let mut streaming = chain.stream(chat_request(), ledger.entry()).await.unwrap();
        assert_eq!(read_to_end(&mut streaming).await, (40_000, Some(Ok(estimated_usage(40_000)))));
    });
}

#[test]
fn a_disconnected_client_cancels_the_call_and_is_charged_for_what_it_received() {
    test_world::run(|tree| async move {
        let one = ScriptedProvider::answering(CallScript::Break(5, Ending::Hang));
        let chain = chain(&tree, &[&one], options()).await;
        let ledger = SettlementLog::default();
        let mut streaming = chain.stream(chat_request(), ledger.entry()).await.unwrap();
        for _ in 0..3 {
            streaming.next().await.unwrap().unwrap();
        }
        assert_eq!(one.in_progress(), 1);
        drop(streaming);
        assert_eq!(one.in_progress(), 0, "the provider's work ends at once");
        let settled = ledger.only();
        assert_eq!((settled.end, settled.usage), (StreamEnd::ClientGone, estimated_usage(3)));

        // Nothing was delivered before the first delta.
        one.set_default(CallScript::Hang);
        let ledger = SettlementLog::default();
        assert!(tokio::time::timeout(ms(100), chain.stream(chat_request(), ledger.entry())).await.is_err());
        assert_eq!(one.in_progress(), 0);
        let settled = ledger.only();
        assert_eq!(
            (settled.end, settled.usage, settled.cost_nanos),
            (StreamEnd::ClientGone, Usage::default(), Some(0))
        );
        assert_eq!(failures_of(&chain, "one", &one).await, 0, "a disconnected client is no fault of the provider");
    });
}

#[test]
fn a_stream_that_no_provider_could_open_is_settled_too() {
    test_world::run(|tree| async move {
        let one = ScriptedProvider::answering(transient());
        let chain = chain(&tree, &[&one], options()).await;
        let ledger = SettlementLog::default();
        let refused = chain.stream(chat_request(), ledger.entry()).await.unwrap_err();
        assert_eq!(refused.error.kind, Kind::ProviderFailed);
        assert_eq!((ledger.only().end, ledger.only().usage), (StreamEnd::Failed, Usage::default()));
        let ledger = SettlementLog::default();
        let unknown = GatewayChatRequest { models: vec!["nobody-has-it".to_owned()], ..chat_request() };
        chain.stream(unknown, ledger.entry()).await.unwrap_err();
        assert_eq!(ledger.only().end, StreamEnd::Failed);
    });
}

#[test]
fn a_stalled_stream_is_ended() {
    test_world::run(|tree| async move {
        let one = ScriptedProvider::answering(CallScript::Break(3, Ending::Hang));
        let chain = chain(&tree, &[&one], options()).await;
        let mut streaming = chain.stream(chat_request(), |_| ()).await.unwrap();
        let begun = Instant::now();
        let (words, end) = read_to_end(&mut streaming).await;
        assert_eq!((words, end.unwrap().unwrap_err().kind), (3, Kind::ProviderFailed));
        let took = begun.elapsed();
        assert!(took >= secs(30) && took < secs(30) + ms(10), "the bound between deltas: {took:?}");
        assert_eq!(one.in_progress(), 0);
        until_counted(&chain, "one", 1).await;
    });
}

#[test]
fn a_slow_reader_is_not_mistaken_for_a_stalled_provider() {
    test_world::run(|tree| async move {
        let one = ScriptedProvider::answering(CallScript::Drip(secs(20)));
        let chain = chain(&tree, &[&one], options()).await;
        let mut streaming = chain.stream(chat_request(), |_| ()).await.unwrap();
        for _ in 0..3 {
            streaming.next().await.unwrap().unwrap();
            // Longer than the limit between deltas, but the next one is not even polled.
            tokio::time::advance(secs(40)).await;
        }
        streaming.next().await.unwrap().unwrap();
    });
}

#[test]
fn an_endless_stream_is_ended_and_not_counted_as_a_failure() {
    test_world::run(|tree| async move {
        let one = ScriptedProvider::answering(CallScript::Drip(secs(29)));
        let chain = chain(&tree, &[&one], options()).await;
        let begun = Instant::now();
        let mut streaming = chain.stream(chat_request(), |_| ()).await.unwrap();
        let (words, end) = read_to_end(&mut streaming).await;
        // 20 times 29 s are 580 s; the 21st would come after the total of 600 s.
        assert_eq!((words, end.unwrap().unwrap_err().kind), (20, Kind::ProviderFailed));
        assert!(begun.elapsed() >= secs(600) && begun.elapsed() < secs(600) + ms(10));
        assert_eq!(one.in_progress(), 0);
        assert_eq!(failures_of(&chain, "one", &one).await, 0);
    });
}

#[test]
fn a_short_hold_back_extends_invisible_failover() {
    test_world::run(|tree| async move {
        let broken = CallScript::Break(2, Ending::Fault(fault(FaultClass::Transient)));
        let (one, two) =
            (ScriptedProvider::answering(broken), ScriptedProvider::answering(CallScript::Break(4, Ending::Hang)));
        let chain = chain(&tree, &[&one, &two], ChainOptions { hold_back: Some(ms(200)), ..options() }).await;
        let begun = Instant::now();
        let mut streaming = chain.stream(chat_request(), |_| ()).await.unwrap();
        assert_eq!(streaming.provider_id, "two");
        assert!(begun.elapsed() >= ms(200) && begun.elapsed() < ms(210));
        assert_eq!(read_to_end(&mut streaming).await.0, 4, "only the second one's words");
    });
}

#[test]
fn a_probing_stream_closes_the_breaker_with_its_first_delta() {
    test_world::run(|tree| async move {
        let one = ScriptedProvider::answering(throttled(7));
        let chain = chain(&tree, &[&one], options()).await;
        chain.complete(chat_request()).await.unwrap_err();
        until_open(&chain, "one").await;
        tokio::time::advance(secs(7)).await;
        one.set_default(CallScript::Break(2, Ending::Hang));
        let streaming = chain.stream(chat_request(), |_| ()).await.unwrap();
        one.set_default(CallScript::Answer(1));
        chain.complete(chat_request()).await.unwrap();
        assert_eq!(one.in_progress(), 1, "while the probe still streams");
        drop(streaming);
    });
}
