//! Hedging under random latencies, faults and departures: what holds whatever happens.

use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
struct Scene {
    /// Of each provider: what its calls meet in turn, and after how many milliseconds.
    scripts: Vec<Vec<(u64, Kindled)>>,
    hedge_after: u64,
    max_attempts: usize,
    retries: u32,
    deadline: u64,
    /// When the client leaves.
    leaves_at: u64,
    form: Form,
}

#[derive(Debug, Clone, Copy)]
enum Kindled {
    Answer,
    Transient,
    Throttled,
    Hard,
    Client,
    Hang,
    /// After its first delta.
    Cut,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Whole,
    Streamed,
}

fn act((wait, kindled): &(u64, Kindled)) -> Act {
    let then = match kindled {
        Kindled::Answer => Act::Answer(2),
        Kindled::Transient => transient(),
        Kindled::Throttled => throttled(1),
        Kindled::Hard => Act::Fail(fault(FaultClass::Hard)),
        Kindled::Client => Act::Fail(fault(FaultClass::Client)),
        Kindled::Hang => Act::Hang,
        Kindled::Cut => Act::Break(1, Ending::Cut),
    };
    late(ms(*wait), then)
}

fn scenes() -> impl Strategy<Value = Scene> {
    let kindled = prop_oneof![
        3 => Just(Kindled::Answer),
        3 => Just(Kindled::Transient),
        1 => Just(Kindled::Throttled),
        1 => Just(Kindled::Hard),
        1 => Just(Kindled::Client),
        1 => Just(Kindled::Hang),
        1 => Just(Kindled::Cut),
    ];
    let script = proptest::collection::vec((0..60_u64, kindled), 4);
    let scripts = proptest::collection::vec(script, 2..=3);
    let form = prop_oneof![Just(Form::Whole), Just(Form::Streamed)];
    (scripts, 0..50_u64, 1..=6_usize, 0..=3_u32, 20..400_u64, 10..800_u64, form).prop_map(
        |(scripts, hedge_after, max_attempts, retries, deadline, leaves_at, form)| Scene {
            scripts,
            hedge_after,
            max_attempts,
            retries,
            deadline,
            leaves_at,
            form,
        },
    )
}

/// What the client saw: `None` where it left before the end.
async fn play(chain: &Chain, scene: &Scene, ledger: &Ledger) -> Option<Vec<Attempt>> {
    let asked = ChatAsk {
        deadline: Some(ms(scene.deadline)),
        retries: Some(scene.retries),
        hedge_after: Some(ms(scene.hedge_after)),
        ..ask()
    };
    let seen = async {
        match scene.form {
            Form::Whole => match chain.complete(asked).await {
                Ok(answer) => answer.attempts,
                Err(refused) => refused.attempts,
            },
            Form::Streamed => match chain.stream(asked, ledger.entry()).await {
                Ok(mut streaming) => {
                    read(&mut streaming).await;
                    streaming.attempts.clone()
                }
                Err(refused) => refused.attempts,
            },
        }
    };
    tokio::time::timeout(ms(scene.leaves_at), seen).await.ok()
}

async fn check(tree: Tree, scene: Scene) {
    let air = double::Air::default();
    let doubles: Vec<Double> = scene
        .scripts
        .iter()
        .map(|script| Double::always(transient()).first(script.iter().map(act)).in_air(&air))
        .collect();
    let refs: Vec<&Double> = doubles.iter().collect();
    let bounds = ChainOptions { max_attempts: scene.max_attempts, backoff: ms(20), ..options() };
    let chain = chain(&tree, &refs, bounds).await;
    let (holders, ledger) = (chain.holders(), Ledger::default());
    let seen = play(&chain, &scene, &ledger).await;

    let calls: usize = doubles.iter().map(Double::calls).sum();
    assert!(calls <= scene.max_attempts, "{calls} calls");
    assert!(air.peak() <= 2, "{} calls at once", air.peak());
    assert_eq!(doubles.iter().map(Double::open).sum::<usize>(), 0, "no call outlives its request");
    assert_eq!(ledger.0.lock().unwrap().len(), usize::from(scene.form == Form::Streamed), "settlements");
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
    fn one_settlement_two_calls_at_once_and_every_permit_back(scene in scenes()) {
        test_world::run(|tree| check(tree, scene));
    }
}
