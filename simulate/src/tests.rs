//! Tests of the state machine, the image check, profiles and random numbers.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use muster_auth::{PrivateKey, manifest};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::check::{Content, ImagePolicy, check};
use super::faults::{Fault, Faults};
use super::job::{Job, JobReport, Stage, Version};
use super::profile::{Profile, Shares, Stretch};
use super::random::Random;
use super::retry::{Backoff, is_transient};
use super::state::{Machine, Power, Step};

const SHA: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

fn version(version: &str, sequence: u64) -> Version {
    Version { artifact: None, version: version.to_owned(), sequence }
}

fn signed(key: &PrivateKey) -> String {
    let claims = json!({
        "name": "fw", "version": "2.0.0", "sequence": 2, "vendor": "acme", "hw_class": "s1", "hw_revisions": [],
        "size": 3, "sha256": SHA, "format": "raw", "expires_at": null, "min_current_sequence": null,
    });
    manifest::sign(key, "fw-manifest+jws", claims.to_string().as_bytes()).unwrap()
}

fn key() -> PrivateKey {
    PrivateKey::from_seed(&[7; 32])
}

fn job_json(state: &str, attempt: u32) -> Value {
    json!({
        "id": "job_1", "kind": "update", "action": if state == "rolling_back" { "rollback" } else { "install" },
        "mode": "forced", "state": state, "attempt": attempt, "exec_version": 3,
        "to": if state == "rolling_back" { json!(version("1.0.0", 1)) } else { json!(version("2.0.0", 2)) },
        "allow_downgrade": state == "rolling_back",
        "artifact": {
            "id": "art_1", "content_url": "/api/v1/firmware/artifacts/art_1/content", "content_type": "x", "name": "fw",
            "version": "2.0.0", "sequence": 2, "vendor": "acme", "hw_class": "s1", "hw_revisions": [], "size": 3,
            "sha256": SHA, "format": "raw", "manifest_jws": signed(&key()),
        },
    })
}

fn job(state: &str, attempt: u32) -> Job {
    serde_json::from_value(job_json(state, attempt)).unwrap()
}

fn content() -> Content {
    Content { size: 3, sha256: SHA.to_owned() }
}

fn machine(faults: Faults) -> Machine {
    let mut machine = Machine::new("s1", version("1.0.0", 1), Some(key().public()));
    machine.faults = faults;
    machine
}

fn reported_stage(step: &Step) -> Option<Stage> {
    match step {
        Step::Report(JobReport { state, .. }) => *state,
        _ => None,
    }
}

/// Runs an attempt against a server that accepts every report. Returns the reported stages in order.
fn run(machine: &mut Machine, from: &str, attempt: u32) -> Vec<Stage> {
    let mut at = job(from, attempt);
    let mut stages = Vec::new();
    for _ in 0..50 {
        match machine.next(&at) {
            Step::Report(JobReport { state: None, .. }) => {}
            Step::Report(JobReport { state: Some(state), .. }) => {
                stages.push(state);
                at.state = state;
            }
            Step::Fetch(until) if until < 3 => machine.received(until),
            Step::Fetch(_) => machine.fetched(content()),
            Step::Install => machine.installed(&at),
            Step::Restart => {
                machine.shut_down();
                machine.start_up(Some(&at));
                if machine.power == Power::Dead {
                    return stages;
                }
            }
            Step::Wait | Step::Done => return stages,
        }
    }
    panic!("the attempt does not end: {stages:?}")
}

#[test]
fn a_healthy_device_installs_once_and_runs_the_new_version() {
    use Stage::*;
    let mut device = machine(Faults::NONE);
    let stages = run(&mut device, "notified", 1);
    assert_eq!(stages, [Downloading, Downloaded, Verified, Installing, Rebooting, Verifying, Succeeded]);
    assert_eq!((device.version().version.as_str(), device.installs().len()), ("2.0.0", 1));
    assert_eq!(device.reported_version(), device.version());
}

#[test]
fn a_slow_device_installs_from_partial_downloads() {
    let mut device = machine(Faults::NONE.with(Fault::Slow));
    assert_eq!(run(&mut device, "notified", 1).last(), Some(&Stage::Succeeded));
}

#[test]
fn each_fault_ends_in_its_stage() {
    use Stage::*;
    let ends = |fault| run(&mut machine(Faults::NONE.with(fault)), "notified", 1);
    assert_eq!(ends(Fault::Rejects), [Rejected]);
    assert_eq!(ends(Fault::FailsInstall), [Downloading, Downloaded, Verified, Installing, Failed]);
    assert_eq!(ends(Fault::NeverComesBack), [Downloading, Downloaded, Verified, Installing, Rebooting]);
    let mut stale = machine(Faults::NONE.with(Fault::StaleVersion));
    run(&mut stale, "notified", 1);
    assert_eq!((stale.reported_version().version.as_str(), stale.version().version.as_str()), ("1.0.0", "2.0.0"));
}

#[test]
fn an_image_that_differs_from_the_announced_one_is_not_installed() {
    let mut device = machine(Faults::NONE);
    device.next(&job("downloading", 1));
    device.fetched(Content { sha256: SHA.replace('b', "c"), ..content() });
    let Step::Report(report) = device.next(&job("downloaded", 1)) else { panic!() };
    assert_eq!((report.state, report.error.unwrap().code), (Some(Stage::Failed), "hash_mismatch"));
}

#[test]
fn a_manifest_must_be_signed_by_the_key_and_match_the_announced_image() {
    let result_of = |job: Value, sequence| {
        let job: Job = serde_json::from_value(job).unwrap();
        let trusted = key().public();
        let policy = ImagePolicy { hw_class: "s1", sequence, trusted: Some(&trusted) };
        check(&job, &content(), policy).map_err(|error| error.code)
    };
    let mut other_key = job_json("downloaded", 1);
    other_key["artifact"]["manifest_jws"] = signed(&PrivateKey::from_seed(&[8; 32])).into();
    let mut other_name = job_json("downloaded", 1);
    other_name["artifact"]["name"] = "another".into();
    let mut none = job_json("downloaded", 1);
    none["artifact"]["manifest_jws"] = Value::Null;
    let mut downgrade = job_json("downloaded", 1);
    downgrade["allow_downgrade"] = true.into();
    assert_eq!(result_of(job_json("downloaded", 1), 1), Ok(()));
    assert_eq!(result_of(other_key, 1), Err("image_not_authentic"));
    assert_eq!(result_of(other_name, 1), Err("image_not_authentic"));
    assert_eq!(result_of(none, 1), Err("image_not_authentic"));
    assert_eq!(result_of(job_json("downloaded", 1), 2), Err("image_outdated"));
    assert_eq!(result_of(downgrade, 2), Ok(()));
}

#[test]
fn without_a_trusted_key_a_device_compares_the_signed_claims() {
    let mut job = job_json("downloaded", 1);
    let payload = URL_SAFE_NO_PAD.encode(json!({ "name": "fw", "size": 4 }).to_string());
    let policy = ImagePolicy { hw_class: "s1", sequence: 1, trusted: None };
    let read = |job: &Value| serde_json::from_value::<Job>(job.clone()).unwrap();
    assert_eq!(check(&read(&job), &content(), policy), Ok(()));
    job["artifact"]["manifest_jws"] = format!("e30.{payload}.e30").into();
    assert_eq!(check(&read(&job), &content(), policy).unwrap_err().code, "image_not_authentic");
}

#[test]
fn a_rollback_restores_the_previous_version() {
    let mut device = machine(Faults::NONE);
    run(&mut device, "notified", 1);
    assert_eq!(run(&mut device, "rolling_back", 1), [Stage::RolledBack]);
    assert_eq!((device.version().version.as_str(), device.rollbacks(), device.installs().len()), ("1.0.0", 1, 1));
}

#[test]
fn a_rollback_of_an_unchanged_device_keeps_its_version() {
    let mut device = machine(Faults::NONE.with(Fault::FailsInstall));
    run(&mut device, "notified", 1);
    assert_eq!(run(&mut device, "rolling_back", 1), [Stage::RolledBack]);
    assert_eq!(device.version().version, "1.0.0");
}

#[test]
fn a_device_without_its_state_does_not_claim_a_version_it_does_not_run() {
    let mut device = machine(Faults::NONE);
    assert_eq!(reported_stage(&device.next(&job("installing", 1))), Some(Stage::Failed));
    assert_eq!(reported_stage(&device.next(&job("verifying", 1))), Some(Stage::Failed));
    assert!(device.installs().is_empty());
}

fn stage() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "notified",
        "downloading",
        "downloaded",
        "verified",
        "installing",
        "rebooting",
        "verifying",
        "rolling_back",
        "canceled",
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn an_attempt_is_installed_at_most_once_whatever_the_server_sends(
        stages in prop::collection::vec((stage(), 1_u32..4), 1..60),
        faults in prop::collection::vec(prop::sample::select(Fault::ALL.to_vec()), 0..4),
    ) {
        let mut device = machine(faults.into_iter().collect());
        // A server never returns to an earlier attempt.
        let mut attempts: Vec<_> = stages.iter().map(|(_, attempt)| *attempt).collect();
        attempts.sort_unstable();
        for ((stage, _), attempt) in stages.into_iter().zip(attempts) {
            let job = job(stage, attempt);
            match device.next(&job) {
                Step::Fetch(_) => device.fetched(content()),
                Step::Install => device.installed(&job),
                Step::Restart => { device.shut_down(); device.start_up(Some(&job)); }
                Step::Report(_) | Step::Wait | Step::Done => {}
            }
            let attempts: std::collections::HashSet<_> =
                device.installs().iter().map(|install| install.attempt).collect();
            prop_assert_eq!(attempts.len(), device.installs().len());
            prop_assert!(["1.0.0", "2.0.0"].contains(&device.version().version.as_str()));
        }
    }

    #[test]
    fn waits_grow_and_never_undercut_retry_after(seed: u64, retry_after in 0_u64..100) {
        let (mut random, mut backoff) = (Random::new(seed), Backoff::default());
        for _ in 0..20 {
            let retry_after = std::time::Duration::from_secs(retry_after);
            let wait = backoff.next(Some(retry_after), &mut random);
            prop_assert!(wait >= retry_after && wait <= retry_after + std::time::Duration::from_secs(5));
        }
    }
}

#[test]
fn the_random_numbers_are_those_of_splitmix64() {
    // The first five of seed 1234567, as published with the reference implementation.
    let mut random = Random::new(1_234_567);
    let first: Vec<u64> = (0..5).map(|_| random.next()).collect();
    let published = [
        6_457_827_717_110_365_317,
        3_203_168_211_198_807_973,
        9_817_491_932_198_370_423,
        4_593_380_528_125_082_431,
        16_408_922_859_458_223_821,
    ];
    assert_eq!(first, published);
}

#[test]
fn a_seed_draws_the_same_faults_again_about_as_often_as_configured() {
    let profile = Profile { faults: Shares::from([(Fault::Slow, 0.25)]), ..Profile::default() };
    let draw = |seed| (0..4_000).map(|at| profile.draw(seed, at, 4_000).0.has(Fault::Slow)).collect::<Vec<_>>();
    assert_eq!(draw(1), draw(1));
    assert_ne!(draw(1), draw(2));
    // 1,000 expected; six standard deviations are 164.
    let slow = draw(1).iter().filter(|slow| **slow).count();
    assert!((836..=1_164).contains(&slow), "{slow}");
}

#[test]
fn faults_of_a_stretch_apply_only_to_its_devices() {
    let all = Shares::from([(Fault::Rejects, 1.0)]);
    let stretch = vec![Stretch { from_pct: 10.0, to_pct: 40.0, faults: all }];
    let profile = Profile { stretch, ..Profile::default() };
    let rejects = (0..200).filter(|at| profile.draw(9, *at, 200).0.has(Fault::Rejects)).collect::<Vec<_>>();
    assert_eq!(rejects, (20..80).collect::<Vec<_>>());
}

#[test]
fn an_invalid_profile_is_rejected_with_the_reason() {
    assert_eq!(Profile::parse("").unwrap(), Profile::default());
    let wrong = |text: &str| Profile::parse(text).unwrap_err().to_string();
    assert!(wrong("[faults]\nslwo = 0.1").contains("slow"), "the known ones are named");
    assert!(wrong("[faults]\nslow = 1.5").contains("0 to 1"));
    assert!(wrong("heartbeat_s = 0").contains("1 to 3600"));
    assert!(wrong("speed = 1").contains("speed"));
    assert!(wrong("[[stretch]]\nfrom_pct = 50\nto_pct = 10\nfaults = {}").contains("to_pct"));
}

#[test]
fn only_transient_statuses_are_retried() {
    assert!([429, 500, 503].into_iter().all(is_transient));
    assert!(![200, 400, 401, 403, 404, 409, 412, 416, 422].into_iter().any(is_transient));
}
