//! Probes of users: tokens, sessions, and the decisions of governance.

use std::time::Duration;

use muster_core::Clock;
use muster_core::health::{Probe, ProbeResult};
use muster_core::page::PageParams;
use muster_core::supervise::Tree;
use muster_governance::Governance;
use muster_governance::policy::PolicyService;
use muster_identity::{Credential, Identity, Scheme};
use muster_store::{PageRequest, StoreHandle, Tree as StoreTree};

use super::{ProbeTargets, SECOND};

/// Age above which a signing key should have been replaced.
const OLD: Duration = Duration::from_secs(90 * 86_400);
/// Age above which a pending approval is reported.
const PENDING_TOO_LONG: Duration = Duration::from_secs(24 * 3600);
/// Largest number of messages in the mailbox of the actor for users and sessions.
const WAITING: usize = 1_000;
/// Largest number of sessions that are counted in the store; counting more would be too slow.
const COUNTED: usize = 1_000;

pub(super) fn all(parts: &ProbeTargets) -> Vec<Probe> {
    let (identity, session_identity) = (parts.identity.clone(), parts.identity.clone());
    let (tree, store) = (parts.tree.clone(), parts.store.clone());
    let (governance, policy, clock) = (parts.governance.clone(), parts.policy.clone(), parts.clock.clone());
    vec![
        Probe::new("auth", 6, 30 * SECOND, move || std::future::ready(check_tokens(&identity))).critical(),
        Probe::new("sessions", 4, 15 * SECOND, move || {
            let (identity, tree, store) = (session_identity.clone(), tree.clone(), store.clone());
            async move { check_sessions(&identity, &tree, &store).await }
        })
        .critical(),
        Probe::new("governance", 3, 15 * SECOND, move || {
            let (governance, policy, clock) = (governance.clone(), policy.clone(), clock.clone());
            async move { check_governance(&governance, &policy, &clock).await }
        }),
    ]
}

/// Checks that the actor answers, that the quorum can be reached and approvals move, that no break-glass waits too long for its review, and that the settings describe the policy
/// in force.
async fn check_governance(governance: &Governance, policy: &PolicyService, clock: &Clock) -> ProbeResult {
    match tokio::time::timeout(SECOND, governance.respond()).await {
        Err(_) => return ProbeResult::Unhealthy("governance did not respond within 1 s".to_owned()),
        Ok(Err(error)) => return ProbeResult::Unhealthy(error.to_string()),
        Ok(Ok(())) => {}
    }
    let counts = governance.counts();
    if let Some(role) = counts.uncovered.first() {
        return ProbeResult::Unhealthy(format!(
            "nobody decides for the quorum role {0}: enrol a decider by POST /api/v1/governance/deciders, or give an account a \
             role that holds {0}",
            role.name()
        ));
    }
    if counts.oldest_pending.is_some_and(|opened| clock.now().since(opened) > PENDING_TOO_LONG) {
        return ProbeResult::Degraded(
            "an approval waits for more than 24 h: GET /api/v1/governance/approvals?state=pending".to_owned(),
        );
    }
    match counts.reviews_overdue {
        0 if policy.now().like_file => ProbeResult::Healthy,
        0 => ProbeResult::Degraded(
            "[governance] of the settings differs from the policy in force: GET /api/v1/governance/policy".to_owned(),
        ),
        overdue => ProbeResult::Degraded(format!(
            "{overdue} reviews of a break-glass are overdue: POST /api/v1/governance/approvals/{{id}}/review"
        )),
    }
}

/// Checks that a token signed here is accepted, an altered and an invented one are not, and the key is not too old.
fn check_tokens(identity: &Identity) -> ProbeResult {
    let token = "e30.e30.c2ln";
    let invented = Credential { scheme: Scheme::Bearer, token, proof: None, method: "GET", url: "http://localhost/" };
    if identity.admit(&invented).is_ok() {
        return ProbeResult::Unhealthy("an invented token was accepted".to_owned());
    }
    match identity.check_tokens() {
        Err(error) => ProbeResult::Unhealthy(error.to_string()),
        Ok(age) if age > OLD => {
            let days = age.as_secs() / 86_400;
            ProbeResult::Degraded(format!("the same key signs tokens for {days} days: run `muster signing rotate`"))
        }
        Ok(_) => ProbeResult::Healthy,
    }
}

/// Checks that the actor answers at once, has a short mailbox, and that its sessions match the stored ones.
async fn check_sessions(identity: &Identity, tree: &Tree, store: &StoreHandle) -> ProbeResult {
    let listing = identity.users(PageParams { limit: 1, after: None });
    match tokio::time::timeout(SECOND, listing).await {
        Err(_) => {
            return ProbeResult::Unhealthy("the registry of users and sessions did not respond within 1 s".to_owned());
        }
        Ok(Err(error)) => return ProbeResult::Unhealthy(error.to_string()),
        Ok(Ok(_)) => {}
    }
    let waiting: usize =
        tree.snapshot().iter().filter(|actor| is_identity_actor(&actor.path)).map(|it| it.mailbox_depth).sum();
    if waiting > WAITING {
        return ProbeResult::Degraded(format!("{waiting} messages wait for the registry of users and sessions"));
    }
    let before = identity.live_sessions();
    if before > COUNTED {
        return ProbeResult::Healthy;
    }
    let stored = store.entries(StoreTree::Sessions, [], PageRequest::of(COUNTED)).take(COUNTED);
    match stored.collect::<Result<Vec<_>, _>>() {
        Err(error) => ProbeResult::Unhealthy(error.to_string()),
        // If a session began or ended in between, the two counts are of different moments.
        Ok(stored) if stored.len() != before && identity.live_sessions() == before => {
            ProbeResult::Degraded(format!("{before} sessions are live, but {} are stored", stored.len()))
        }
        Ok(_) => ProbeResult::Healthy,
    }
}

fn is_identity_actor(path: &str) -> bool {
    path == "identity/registry" || path.starts_with("identity/sessions/")
}
