//! The transition tables of the contract, row by row, and rollouts that follow them.

use std::time::Duration;

use super::*;
use crate::firmware::policy::{AbortOn, AbortRule, Mode, OnError, OnSuccess, Rate};
use muster_core::Kind;

/// Contract 1, "Execution machine": every pair that it names, and no others. The rows from final states to
/// `rolling_back` are the rollback of the job; from active states to `queued` leads a retry.
#[test]
fn executions_follow_the_transition_table_only() {
    use ExecState::*;
    let chain = [Notified, Downloading, Downloaded, Verified, Installing, Rebooting, Verifying];
    let mut allowed = vec![(Queued, Notified), (Queued, Removed), (Queued, Canceled), (Queued, AlreadyInstalled)];
    allowed.extend(chain.windows(2).map(|pair| (pair[0], pair[1])));
    allowed.extend([(Verifying, Succeeded), (Verifying, RollingBack), (RollingBack, RolledBack)]);
    allowed.extend([(Notified, Rejected), (Notified, Installing), (Notified, Rebooting)]);
    allowed.extend([(Verified, Succeeded), (Installing, Verifying), (RollingBack, Canceled)]);
    allowed.extend(chain.iter().chain(&[RollingBack]).flat_map(|from| [(*from, Failed), (*from, TimedOut)]));
    allowed.extend(chain.map(|from| (from, Queued)));
    allowed.extend([Notified, Downloading, Downloaded, Verified].map(|from| (from, Canceled)));
    allowed.extend([Succeeded, Failed, TimedOut].map(|from| (from, RollingBack)));
    for from in ExecState::ALL {
        for to in ExecState::ALL {
            assert_eq!(from.may_become(to), allowed.contains(&(from, to)), "{from:?} to {to:?}");
        }
        assert_eq!(ExecState::parse(from.name()), Some(from));
    }
}

#[test]
fn reportable_states_are_transitions_of_the_state_machine() {
    for kind in [JobKind::Update, JobKind::Downgrade, JobKind::Config, JobKind::Reboot] {
        for mode in [Mode::Forced, Mode::Soft, Mode::DownloadOnly] {
            for from in ExecState::ALL {
                for to in from.reports(kind, mode) {
                    assert!(from.may_become(*to), "{kind:?} {mode:?}: {from:?} to {to:?}");
                }
                assert!(from.is_active() || from.reports(kind, mode).is_empty());
            }
        }
    }
}

/// Contract 1, "Job machine", and the rollback of a finished job, which waits for approval.
#[test]
fn jobs_follow_the_transition_table_only() {
    use JobState::*;
    let mut allowed = vec![
        (Draft, PendingApproval),
        (Draft, Scheduled),
        (PendingApproval, Scheduled),
        (PendingApproval, Denied),
        (Scheduled, RollingOut),
        (Scheduled, Aborting),
        (RollingOut, Succeeded),
        (RollingOut, PartiallySucceeded),
        (RollingOut, Failed),
        (RollingOut, Paused),
        (RollingOut, Aborting),
        (Paused, RollingOut),
        (Paused, Aborting),
        (Aborting, Aborted),
        (Aborting, RollingBack),
        (RollingBack, RolledBack),
        (RollingBack, Failed),
        // The rollback of a finished job.
        (PendingApproval, RollingBack),
    ];
    for ended in [Succeeded, PartiallySucceeded, Failed, Aborted, Canceled] {
        allowed.extend([(ended, PendingApproval), (PendingApproval, ended)]);
    }
    let open = [Draft, PendingApproval, Scheduled, RollingOut, Paused, Aborting, RollingBack];
    allowed.extend(open.map(|from| (from, Canceled)));
    for from in JobState::ALL {
        assert_eq!(from.is_terminal(), !open.contains(&from));
        for to in JobState::ALL {
            assert_eq!(from.may_become(to), allowed.contains(&(from, to)), "{from:?} to {to:?}");
        }
    }
}

#[test]
fn every_action_in_every_state_is_applied_or_rejected_with_the_allowed_actions() {
    for state in JobState::ALL {
        for selected in JobAction::ALL {
            let mut rollout = rollout(2, Policy::default());
            (rollout.job.state, rollout.job.kind, rollout.job.approvals_required) = (state, JobKind::Update, 1);
            let by = person("usr_other", UserRole::Approver);
            let answer = rollout.apply_action(selected, &by, "", None, START);
            if state.allowed_actions().contains(&selected) {
                answer.unwrap();
                // An aborting job only changes what follows its abort.
                let aborting =
                    state == JobState::Aborting && rollout.job.after == Some(super::super::job::AfterAbort::Canceled);
                assert!(rollout.job.state != state || aborting, "{selected:?} of {state:?}");
                continue;
            }
            let error = answer.unwrap_err();
            assert_eq!((error.kind, error.code), (Kind::Conflict, Some("illegal_transition")));
            let names: Vec<_> = state.allowed_actions().iter().map(|action| action.name()).collect();
            assert_eq!(*error.details.unwrap(), serde_json::json!({ "allowed": names }));
            assert_eq!(rollout.job.state, state);
        }
    }
}

#[test]
fn groups_start_one_after_another_after_success_and_soak_time() {
    let soaking = GroupPolicy { soak_s: 60, ..group(2) };
    let mut rollout = rollout(5, Policy { groups: vec![soaking, group(3)], ..Policy::default() });
    advance(&mut rollout, START);
    notify_all(&mut rollout, START);
    assert_eq!(states(&rollout)[2..], [ExecState::Queued; 3]);
    succeed(&mut rollout, 0, START);
    succeed(&mut rollout, 1, START);
    advance(&mut rollout, START);
    assert_eq!(rollout.job.groups[0].state, super::super::job::GroupState::Soaking);
    let before = START.plus(Duration::from_millis(59_999));
    advance(&mut rollout, before);
    notify_all(&mut rollout, before);
    assert_eq!(rollout.job.current_group, 0);
    let after = START.plus(Duration::from_secs(60));
    advance(&mut rollout, after);
    notify_all(&mut rollout, after);
    assert_eq!(states(&rollout)[2..], [ExecState::Notified; 3]);
    for n in 2..5 {
        succeed(&mut rollout, n, after);
    }
    advance(&mut rollout, after);
    assert_eq!((rollout.job.state, rollout.progress_pct()), (JobState::Succeeded, 100));
}

#[test]
fn a_group_that_pauses_after_passing_continues_on_resume() {
    let pausing = GroupPolicy { on_success: OnSuccess::Pause, ..group(1) };
    let mut rollout = rollout(2, Policy { groups: vec![pausing, group(1)], ..Policy::default() });
    advance(&mut rollout, START);
    notify_all(&mut rollout, START);
    succeed(&mut rollout, 0, START);
    advance(&mut rollout, START);
    assert_eq!((rollout.job.state, rollout.job.current_group), (JobState::Paused, 0));
    apply_action(&mut rollout, JobAction::Resume, START).unwrap();
    advance(&mut rollout, START);
    assert_eq!((rollout.job.state, rollout.job.current_group), (JobState::RollingOut, 1));
}

#[test]
fn a_resumed_group_accepts_earlier_failures_and_pauses_again_on_new_ones() {
    let policy = GroupPolicy { error_threshold_pct: 25, success_threshold_pct: 50, ..group(4) };
    let mut rollout = rollout(4, Policy { groups: vec![policy], ..Policy::default() });
    advance(&mut rollout, START);
    notify_all(&mut rollout, START);
    for (n, state) in [(0, JobState::Paused), (1, JobState::Paused)] {
        report(&mut rollout, n, ExecState::Failed, START).unwrap();
        advance(&mut rollout, START);
        assert_eq!(rollout.job.state, state);
        apply_action(&mut rollout, JobAction::Resume, START).unwrap();
        advance(&mut rollout, START);
        assert_eq!(rollout.job.state, JobState::RollingOut);
    }
    succeed(&mut rollout, 2, START);
    succeed(&mut rollout, 3, START);
    advance(&mut rollout, START);
    assert_eq!(rollout.job.state, JobState::PartiallySucceeded);
}

#[test]
fn an_abort_rule_applies_only_once_enough_devices_were_notified() {
    let rule = AbortRule { on: AbortOn::Rejected, pct: 50, min_executed: 4 };
    let lenient = GroupPolicy { error_threshold_pct: 100, ..group(8) };
    let rate = Rate { base_per_min: 60, factor: 1.0, max_per_min: 60, every_succeeded: 1 };
    let policy = Policy { groups: vec![lenient], abort: vec![rule], rate: Some(rate), ..Policy::default() };
    let mut rollout = rollout(8, policy);
    advance(&mut rollout, START);
    for n in 0..4 {
        let now = START.plus(Duration::from_secs(n as u64 + 1));
        notify_all(&mut rollout, now);
        let notified = rollout.counters().total() - rollout.counters().of(ExecState::Queued);
        assert_eq!(notified, n as u32 + 1, "sixty a minute is one a second");
        report(&mut rollout, n, ExecState::Rejected, now).unwrap();
        advance(&mut rollout, now);
        assert_eq!(rollout.job.state == JobState::RollingOut, n < 3, "after {n}");
    }
    assert_eq!(rollout.job.state, JobState::Aborted);
    assert_eq!(rollout.counters().of(ExecState::Canceled), 4);
}

#[test]
fn a_canceled_job_cancels_harmless_executions_and_lets_the_others_finish() {
    let mut rollout = rollout(3, Policy { groups: vec![group(2), group(1)], ..Policy::default() });
    advance(&mut rollout, START);
    notify_all(&mut rollout, START);
    report(&mut rollout, 0, ExecState::Rebooting, START).unwrap();
    apply_action(&mut rollout, JobAction::Cancel, START).unwrap();
    advance(&mut rollout, START);
    assert_eq!(rollout.job.state, JobState::Aborting);
    assert_eq!(states(&rollout), [ExecState::Rebooting, ExecState::Canceled, ExecState::Canceled]);
    report(&mut rollout, 0, ExecState::Verifying, START).unwrap();
    report(&mut rollout, 0, ExecState::Succeeded, START).unwrap();
    advance(&mut rollout, START);
    assert_eq!(rollout.job.state, JobState::Canceled);
}

#[test]
fn a_retry_is_a_further_attempt_and_the_last_one_counts() {
    let mut rollout = rollout(1, Policy { retries: 1, device_timeout_s: 60, ..Policy::default() });
    advance(&mut rollout, START);
    notify_all(&mut rollout, START);
    report(&mut rollout, 0, ExecState::Failed, START).unwrap();
    assert_eq!((rollout.at(0).unwrap().attempt, states(&rollout)[0]), (2, ExecState::Queued));
    advance(&mut rollout, START);
    assert_eq!(rollout.job.state, JobState::RollingOut, "an attempt that is followed by another is no failure");
    notify_all(&mut rollout, START);
    advance(&mut rollout, START.plus(Duration::from_secs(60)));
    assert_eq!(states(&rollout), [ExecState::TimedOut]);
    assert_eq!(rollout.job.state, JobState::Paused);
}

#[test]
fn an_error_threshold_with_abort_aborts_the_job() {
    let aborting = GroupPolicy { on_error: OnError::Abort, ..group(2) };
    let mut rollout = rollout(2, Policy { groups: vec![aborting], ..Policy::default() });
    advance(&mut rollout, START);
    notify_all(&mut rollout, START);
    report(&mut rollout, 1, ExecState::Failed, START).unwrap();
    advance(&mut rollout, START);
    assert_eq!(rollout.job.state, JobState::Aborted);
    assert_eq!(states(&rollout), [ExecState::Canceled, ExecState::Failed]);
}
