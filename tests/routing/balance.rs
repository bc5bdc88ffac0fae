//! Requests of one model are shared by its providers: by weight, and by latency.

use super::*;

const CALLS: usize = 400;

#[tokio::test]
async fn requests_are_shared_in_proportion_to_the_weights() {
    let (one, two, spare) = (healthy(), healthy(), healthy());
    let providers = one.provider("one", "alpha") + "weight = 3\n" + &two.provider("two", "alpha") + "weight = 1\n";
    let providers = providers + &spare.provider("spare", "alpha") + "weight = 0\n";
    let muster = Muster::start(&format!("{providers}[chain]\nbalance = \"weight\"\n{LENIENT}"));
    let client = muster.client();
    for at in 0..CALLS {
        let chat = Chat::EVERY[at % Chat::EVERY.len()];
        let got = post(&client, chat, "alpha").await;
        assert_eq!((got.status, named(&got.headers)[2].as_str()), (200, "none"), "{}", got.text);
    }
    let counts = [one.requests(), two.requests(), spare.requests()];
    // Five standard errors of a binomial share of 3/4: exceeded once in some 1.7 million runs.
    assert!(counts[0].abs_diff(CALLS * 3 / 4) <= 44 && counts[2] == 0 && counts[0] + counts[1] == CALLS, "{counts:?}");
    eprintln!("weights 3:1:0 over {CALLS} calls: {counts:?}");

    // A provider that fails has no share while its breaker is open.
    one.set_action(UpstreamAction::Status(500, "", BROKEN));
    two.set_action(UpstreamAction::Status(500, "", BROKEN));
    for _ in 0..20 {
        let got = post(&client, Chat::B, "alpha").await;
        assert_eq!((got.status, named(&got.headers)), (200, ["spare", "alpha", "provider"].map(str::to_owned)));
    }
}

#[tokio::test]
async fn the_breaker_decides_who_has_a_share() {
    let (one, two) = (broken(), healthy());
    let providers = one.provider("one", "alpha") + "weight = 1000\n" + &two.provider("two", "alpha") + "weight = 1\n";
    let breaker =
        "breaker_min_calls = 2\nbreaker_consecutive_failures = 2\nbreaker_cooldown_ms = 600000\nretries = 0\n";
    let muster = Muster::start(&format!("{providers}[chain]\nbalance = \"weight\"\n{breaker}"));
    let client = muster.client();
    for _ in 0..10 {
        assert_eq!(post(&client, Chat::B, "alpha").await.status, 200);
    }
    let called = one.requests();
    for _ in 0..20 {
        let got = post(&client, Chat::B, "alpha").await;
        assert_eq!(named(&got.headers), ["two", "alpha", "none"].map(str::to_owned));
    }
    assert_eq!(one.requests(), called, "an open circuit has no share, whatever its weight");
}

#[tokio::test]
async fn by_latency_a_provider_that_fails_is_not_a_quick_one() {
    let (failing, steady) = (broken(), healthy());
    let providers = failing.provider("failing", "alpha") + &steady.provider("steady", "alpha");
    let muster = Muster::start(&format!("{providers}[chain]\nbalance = \"latency\"\n{LENIENT}"));
    let client = muster.client();
    // Whoever was not called yet has no load, so that both are called within two requests.
    for _ in 0..2 {
        assert_eq!(post(&client, Chat::B, "alpha").await.status, 200);
    }
    assert_eq!(failing.requests(), 1);
    for _ in 0..50 {
        let got = post(&client, Chat::B, "alpha").await;
        assert_eq!(named(&got.headers), ["steady", "alpha", "none"].map(str::to_owned));
    }
    assert_eq!(failing.requests(), 1);
}
