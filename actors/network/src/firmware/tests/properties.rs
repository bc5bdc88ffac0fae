//! Invariants of rollouts under any sequence of events from devices, time and people.

use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::firmware::job::GroupState;
use crate::firmware::policy::{AbortOn, AbortRule, OnError, OnSuccess};

#[derive(Debug, Clone)]
enum Event {
    Report(usize, ExecState),
    /// A report with a stale version.
    Stale(usize),
    Notify,
    Pass(u64),
    Action(JobAction),
    /// The process dies and restarts.
    Restart,
}

fn event() -> impl Strategy<Value = Event> {
    let state = proptest::sample::select(ExecState::ALL.to_vec());
    prop_oneof![
        8 => (0usize..9, state).prop_map(|(device, state)| Event::Report(device, state)),
        8 => (0usize..9).prop_map(|device| Event::Report(device, ExecState::Rebooting)),
        8 => (0usize..9).prop_map(|device| Event::Report(device, ExecState::Verifying)),
        8 => (0usize..9).prop_map(|device| Event::Report(device, ExecState::Succeeded)),
        1 => (0usize..9).prop_map(Event::Stale),
        6 => Just(Event::Notify),
        3 => (0u64..200).prop_map(Event::Pass),
        2 => proptest::sample::select(JobAction::ALL.to_vec()).prop_map(Event::Action),
        1 => Just(Event::Restart),
    ]
}

fn policy() -> impl Strategy<Value = Policy> {
    let errors = proptest::sample::select(vec![OnError::Pause, OnError::Abort, OnError::Rollback]);
    let successes = proptest::sample::select(vec![OnSuccess::Next, OnSuccess::Pause]);
    let group = (1u32..5, 0u32..90, 1u8..=100, 1u8..=100, errors, successes).prop_map(
        |(count, soak_s, success, error, on_error, on_success)| GroupPolicy {
            count: Some(count),
            soak_s,
            success_threshold_pct: success,
            error_threshold_pct: error,
            on_success,
            on_error,
            ..GroupPolicy::default()
        },
    );
    let abort = (1u8..=100, 1u32..9).prop_map(|(pct, min_executed)| AbortRule { on: AbortOn::Any, pct, min_executed });
    let abort = proptest::collection::vec(abort, 0..2);
    (proptest::collection::vec(group, 1..4), 0u32..3, abort, any::<bool>()).prop_map(
        |(groups, retries, abort, back)| Policy {
            groups,
            retries,
            abort,
            auto_rollback: back,
            device_timeout_s: 120,
            ..Policy::default()
        },
    )
}

/// Checks the invariants.
fn check(rollout: &Rollout, before: &[ExecState], was_terminal: bool) {
    assert_eq!(rollout.counters().total(), rollout.job.resolved_count);
    for (n, execution) in rollout.executions().iter().enumerate() {
        assert_eq!(execution.deadline.is_some(), execution.state.is_active(), "every active execution has a deadline");
        assert!(execution.attempt <= rollout.job.policy.retries + 1);
        if was_terminal && execution.state.is_active() {
            assert!(before[n].is_active(), "nothing of a terminal job becomes active");
        }
        let started = rollout.job.groups[execution.group as usize].started_at.is_some();
        assert!(started || !execution.times.contains_key(&ExecState::Notified), "notified before its group started");
    }
    for pair in rollout.job.groups.windows(2) {
        let passed = pair[0].state == GroupState::Passed && pair[0].passed_at.is_some();
        assert!(pair[1].started_at.is_none() || passed, "a group began before the one before it had passed");
    }
    if rollout.job.state.is_terminal()
        && rollout.job.state != JobState::Canceled
        && rollout.job.state != JobState::Denied
    {
        assert_eq!(rollout.counters().open(), 0, "{:?}", rollout.job.state);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn invariants_hold_under_any_sequence_of_events(
        policy in policy(),
        installs in any::<bool>(),
        events in proptest::collection::vec(event(), 1..120),
    ) {
        let groups = policy.groups.iter().map(|group| GroupPolicy { on_error: OnError::Pause, ..group.clone() });
        let mut rollout = super::rollout(9, Policy { groups: groups.collect(), ..Policy::default() });
        rollout.job.policy = policy;
        rollout.job.kind = if installs { JobKind::Update } else { JobKind::Reboot };
        let mut now = START;
        advance(&mut rollout, now);
        for event in events {
            let before = states(&rollout);
            let (terminal, version) = (rollout.job.state.is_terminal(), rollout.job.version);
            let error = match event {
                Event::Report(device, state) => report(&mut rollout, device, state, now).is_err(),
                Event::Stale(device) => {
                    let stale = ExecutionReport { exec_version: 0, ..ExecutionReport::default() };
                    rollout.report(&format!("dev_{device:05}"), stale, now).unwrap_err();
                    true
                }
                Event::Notify => { notify_all(&mut rollout, now); false }
                Event::Pass(seconds) => { now = now.plus(Duration::from_secs(seconds)); false }
                Event::Action(what) => apply_action(&mut rollout, what, now).is_err(),
                Event::Restart => {
                    let (job, executions) = (rollout.job.clone(), rollout.executions().to_vec());
                    let counted = rollout.counters().clone();
                    rollout = Rollout::new(job, executions, now);
                    assert_eq!(*rollout.counters(), counted, "what is counted follows from what is stored");
                    false
                }
            };
            if error {
                assert_eq!((states(&rollout), rollout.job.version), (before.clone(), version), "a refusal changes nothing");
            }
            advance(&mut rollout, now);
            rollout.drain();
            check(&rollout, &before, terminal);
        }
        // Without any further report, a rollout finishes or waits for a person.
        for _ in 0..40 {
            now = now.plus(Duration::from_secs(200));
            notify_all(&mut rollout, now);
            advance(&mut rollout, now);
        }
        let waits = matches!(rollout.job.state, JobState::Paused | JobState::PendingApproval);
        assert!(rollout.job.state.is_terminal() || waits, "{:?}", rollout.job.state);
        assert!(rollout.active_devices().next().is_none());
    }
}
