//! Approvals that stand for something outside of a request: releases of the program, exceptions of controls.

use std::collections::BTreeMap;

use muster_core::Error;
use muster_core::page::PageParams;
use muster_governance::{ApprovalFilter, ApprovalState, Governance, GovernanceCaller};

/// Action of the approval of a release. Its resource is the SHA-256 of the program's file.
const RELEASE: &str = "deploy.release";
/// Pages of approvals that are read.
const MAX_PAGES: usize = 20;
const PAGE: usize = 200;

/// Returns the approvals of releases, by the hash of the program.
pub(crate) async fn releases(governance: &Governance) -> Result<BTreeMap<String, String>, Error> {
    by_resource(governance, RELEASE).await
}

/// Returns the newest approval of each resource that was given for an action: one that is approved, or was executed.
pub(crate) async fn by_resource(governance: &Governance, action: &str) -> Result<BTreeMap<String, String>, Error> {
    let filter = ApprovalFilter { action: Some(action.to_owned()), ..ApprovalFilter::default() };
    let (mut found, mut after) = (BTreeMap::new(), None);
    for _ in 0..MAX_PAGES {
        let page =
            governance.approvals(GovernanceCaller::system(), filter.clone(), PageParams { limit: PAGE, after }).await?;
        for view in page.items {
            if matches!(view.state, ApprovalState::Approved | ApprovalState::Executed) {
                found.entry(view.record.resource.clone()).or_insert_with(|| view.record.id.clone());
            }
        }
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    Ok(found)
}
