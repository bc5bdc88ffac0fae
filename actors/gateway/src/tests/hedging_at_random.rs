//! Properties of hedging under random latencies, faults and disconnects.

use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
struct Scenario {
    /// For each provider: outcome of each call in turn, and its delay in milliseconds.
    scripts: Vec<Vec<(u64, RandomOutcome)>>,
    hedge_after: u64,
    max_attempts: usize,
    retries: u32,
    deadline: u64,
    /// When the client disconnects, in milliseconds.
    leaves_at: u64,
    kind: AnswerKind,
}

#[derive(Debug, Clone, Copy)]
enum RandomOutcome {
    Answer,
    Transient,
    Throttled,
    Hard,
    Client,
    Hang,
    /// Cut after its first delta.
    Cut,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AnswerKind {
    Complete,
    Streamed,
}

fn step((wait, outcome): &(u64, RandomOutcome)) -> CallScript {
    let then = match outcome {
        RandomOutcome::Answer => CallScript::Answer(2),
        RandomOutcome::Transient => transient(),
        RandomOutcome::Throttled => throttled(1),
        RandomOutcome::Hard => CallScript::Fail(fault(FaultClass::Hard)),
        RandomOutcome::Client => CallScript::Fail(fault(FaultClass::Client)),
        RandomOutcome::Hang => CallScript::Hang,
        RandomOutcome::Cut => CallScript::Break(1, Ending::Cut),
    };
    delayed(ms(*wait), then)
}

fn scenarios() -> impl Strategy<Value = Scenario> {
    let outcome = prop_oneof![
        3 => Just(RandomOutcome::Answer),
        3 => Just(RandomOutcome::Transient),
        1 => Just(RandomOutcome::Throttled),
        1 => Just(RandomOutcome::Hard),
        1 => Just(RandomOutcome::Client),
        1 => Just(RandomOutcome::Hang),
        1 => Just(RandomOutcome::Cut),
    ];
    let script = proptest::collection::vec((0..60_u64, outcome), 4);
    let scripts = proptest::collection::vec(script, 2..=3);
    let kind = prop_oneof![Just(AnswerKind::Complete), Just(AnswerKind::Streamed)];
    (scripts, 0..50_u64, 1..=6_usize, 0..=3_u32, 20..400_u64, 10..800_u64, kind).prop_map(
        |(scripts, hedge_after, max_attempts, retries, deadline, leaves_at, kind)| Scenario {
            scripts,
            hedge_after,
            max_attempts,
            retries,
            deadline,
            leaves_at,
            kind,
        },
    )
}

/// Runs one scenario. Returns `None` if the client disconnected before the end.
async fn play(chain: &Chain, scenario: &Scenario, ledger: &SettlementLog) -> Option<Vec<Attempt>> {
    let request = GatewayChatRequest {
        deadline: Some(ms(scenario.deadline)),
        retries: Some(scenario.retries),
        hedge_after: Some(ms(scenario.hedge_after)),
        ..chat_request()
    };
    let seen = async {
        match scenario.kind {
            AnswerKind::Complete => match chain.complete(request).await {
                Ok(answer) => answer.attempts,
                Err(refused) => refused.attempts,
            },
            AnswerKind::Streamed => match chain.stream(request, ledger.entry()).await {
                Ok(mut streaming) => {
                    read_to_end(&mut streaming).await;
                    streaming.attempts.clone()
                }
                Err(refused) => refused.attempts,
            },
        }
    };
    tokio::time::timeout(ms(scenario.leaves_at), seen).await.ok()
}

async fn check(tree: Tree, scenario: Scenario) {
    let gauge = scripted_provider::CallGauge::default();
    let providers: Vec<ScriptedProvider> = scenario
        .scripts
        .iter()
        .map(|script| ScriptedProvider::answering(transient()).first(script.iter().map(step)).with_gauge(&gauge))
        .collect();
    let refs: Vec<&ScriptedProvider> = providers.iter().collect();
    let bounds = ChainOptions { max_attempts: scenario.max_attempts, backoff: ms(20), ..options() };
    let chain = chain(&tree, &refs, bounds).await;
    let (holders, ledger) = (chain.holders(), SettlementLog::default());
    let seen = play(&chain, &scenario, &ledger).await;

    let calls: usize = providers.iter().map(ScriptedProvider::calls).sum();
    assert!(calls <= scenario.max_attempts, "{calls} calls");
    assert!(gauge.peak() <= 2, "{} calls at once", gauge.peak());
    assert_eq!(providers.iter().map(ScriptedProvider::in_progress).sum::<usize>(), 0, "no call outlives its request");
    assert_eq!(ledger.0.lock().unwrap().len(), usize::from(scenario.kind == AnswerKind::Streamed), "settlements");
    test_world::until(|| chain.holders() == holders).await;

    let Some(attempts) = seen else { return };
    let of = |outcome| attempts.iter().filter(|attempt| attempt.outcome == outcome).count();
    let called = attempts.len() - of(AttemptOutcome::OpenCircuit);
    assert_eq!(called, calls, "every call is noted once");
    assert!(of(AttemptOutcome::Ok) <= 1 && of(AttemptOutcome::Cancelled) <= 1, "{attempts:?}");
    if of(AttemptOutcome::Ok) == 1 {
        assert_eq!(attempts.last().unwrap().outcome, AttemptOutcome::Ok);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_hedged_request_settles_once_makes_two_calls_at_most_and_releases_every_permit(scenario in scenarios()) {
        test_world::run(|tree| check(tree, scenario));
    }
}
