//! Approvals that stand for something outside of a request: releases of the program, exceptions of controls, responses to
//! sentinels.

use std::collections::BTreeMap;

use muster_core::Error;
use muster_core::page::PageParams;
use muster_governance::{ApprovalFilter, ApprovalState, ApprovalView, Governance, GovernanceCaller};

/// Action of the approval of a release. Its resource is the SHA-256 of the program's file.
const RELEASE: &str = "deploy.release";
/// Approvals that are read for the newest of each resource.
const MAX_READ: usize = 4_000;
const PAGE: usize = 200;

/// Returns the approvals of releases, by the hash of the program.
pub(crate) async fn releases(governance: &Governance) -> Result<BTreeMap<String, String>, Error> {
    by_resource(governance, RELEASE).await
}

/// Returns the newest approval of each resource that was given for an action: one that is approved, or was executed.
pub(crate) async fn by_resource(governance: &Governance, action: &str) -> Result<BTreeMap<String, String>, Error> {
    let filter = ApprovalFilter { action: Some(action.to_owned()), ..ApprovalFilter::default() };
    let mut found = BTreeMap::new();
    for view in newest(governance, &filter, MAX_READ).await? {
        if matches!(view.state, ApprovalState::Approved | ApprovalState::Executed) {
            found.entry(view.record.resource.clone()).or_insert_with(|| view.record.id.clone());
        }
    }
    Ok(found)
}

/// Returns the approvals that a filter lets through, newest first. Pages are read until there are `most`.
pub(crate) async fn newest(
    governance: &Governance,
    filter: &ApprovalFilter,
    most: usize,
) -> Result<Vec<ApprovalView>, Error> {
    let (mut found, mut after) = (Vec::new(), None);
    while found.len() < most {
        let page = PageParams { limit: PAGE, after };
        let page = governance.approvals(GovernanceCaller::system(), filter.clone(), page).await?;
        found.extend(page.items);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    Ok(found)
}
