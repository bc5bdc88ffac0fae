//! Approvals of responses: opens them as the server, and does what people approved.

use muster_core::guard::Risk;
use muster_core::ids::{IdKind, new_id};
use muster_core::precondition::IfMatch;
use muster_core::{Error, Kind};
use muster_geo::{Geometry, Point};
use muster_governance::{
    ApprovalAct, ApprovalFilter, ApprovalState, ApprovalView, GovernanceCaller, NewApproval, Outcome,
};
use muster_identity::By;
use muster_identity::keys::KeyIssuer;
use muster_network::device::DeviceAction;
use muster_network::incident::{IncidentEdit, IncidentKind, NewReport};
use muster_tasks::task::{Control, Requester, Verb};
use serde_json::Value;

use super::SentinelResponses;
use crate::approved::newest;
use crate::config::ResponseAction;

/// Approvals of a state that are read.
const MAX_READ: usize = 1_000;

impl SentinelResponses {
    /// Opens the approval of a response, unless one of this action and resource is open already. `found` is what deciders
    /// must know.
    pub(super) async fn request(
        &self,
        action: ResponseAction,
        resource: &str,
        found: Value,
        reason: String,
    ) -> Result<(), Error> {
        for state in [ApprovalState::Pending, ApprovalState::Approved] {
            let same = |view: &ApprovalView| view.record.action == action.name() && view.record.resource == resource;
            if self.opened(state).await?.iter().any(same) {
                return Ok(());
            }
        }
        let new = NewApproval {
            action: action.name().to_owned(),
            resource: resource.to_owned(),
            risk: risk(action),
            reason,
            payload: Some(found),
            blast: 1,
            budget_pct: 0,
            amid_critical_incident: false,
            expires_in_seconds: NewApproval::DEFAULT_SECONDS,
        };
        self.0.governance.open(GovernanceCaller::system(), new, None).await.map(drop)
    }

    /// Does what was approved. The approval is executed first, which checks quorum and veto anew: where the server stops in
    /// between, nothing is done twice, and the audit log shows that the action itself is missing.
    pub(super) async fn carry_out_approved(&self) -> Result<(), Error> {
        for approval in self.opened(ApprovalState::Approved).await? {
            let Some(action) = ResponseAction::approved(&approval.record.action) else { continue };
            let (id, resource) = (approval.record.id.clone(), approval.record.resource.clone());
            let execute = ApprovalAct::Execute(Outcome::Ok, Some("the server does it now".to_owned()));
            let done = match self.0.governance.act(GovernanceCaller::system(), id, execute).await {
                Ok(_) => self.carry_out(action, &approval).await,
                Err(error) => Err(error),
            };
            let action = action.name();
            match done {
                Ok(()) => tracing::warn!(action, resource, "an approved response was given"),
                // It is so already, or has ended meanwhile.
                Err(error) if matches!(error.kind, Kind::Conflict | Kind::NotFound) => {
                    tracing::info!(action, resource, %error, "there is nothing left to do");
                }
                Err(error) => {
                    tracing::error!(action, resource, %error, "an approved response failed: do it by hand");
                }
            }
        }
        Ok(())
    }

    /// Returns the server's own approvals in a state, newest first.
    async fn opened(&self, state: ApprovalState) -> Result<Vec<ApprovalView>, Error> {
        let requester = Some(GovernanceCaller::system().id().to_owned());
        let filter = ApprovalFilter { state: Some(state), requester, ..ApprovalFilter::default() };
        newest(&self.0.governance, &filter, MAX_READ).await
    }

    async fn carry_out(&self, action: ResponseAction, approval: &ApprovalView) -> Result<(), Error> {
        let (resource, reason) = (approval.record.resource.clone(), approval.record.reason.clone());
        match action {
            ResponseAction::TaskPause => Ok(()),
            ResponseAction::TaskKill => {
                let request_id = new_id(IdKind::Request);
                let control = Control { verb: Verb::Kill, request_id, if_seq: None, reason: Some(reason) };
                self.0.tasks.control(&resource, control, &Requester::of(By::System)).await.map(drop)
            }
            ResponseAction::KeyRevoke => self.0.keys.revoke(resource, KeyIssuer::Operator).await.map(drop),
            ResponseAction::SessionRevoke => self.0.identity.end_sessions(By::System, resource).await.map(drop),
            ResponseAction::DeviceQuarantine => {
                let quarantine = DeviceAction::Quarantine;
                let devices = &self.0.devices;
                devices.apply_action(resource, quarantine, Some(reason), By::System, IfMatch::Any).await.map(drop)
            }
            ResponseAction::IncidentReport => {
                let device = self.0.devices.get(&resource).await?;
                let position = device.location.map(|point| (point.lat, point.lon));
                self.0.incidents.report(By::System, None, report(&resource, position, reason)).await.map(drop)
            }
        }
    }
}

const fn risk(action: ResponseAction) -> Risk {
    match action {
        ResponseAction::KeyRevoke | ResponseAction::DeviceQuarantine => Risk::High,
        _ => Risk::Medium,
    }
}

fn title(device: &str) -> String {
    format!("Readings of {device} are implausible")
}

/// Further reports of the same device attach to the open incident.
fn report(device: &str, position: Option<(f64, f64)>, reason: String) -> NewReport {
    let fields = IncidentEdit {
        title: Some(title(device)),
        summary: Some(reason),
        kind: Some(IncidentKind::Infrastructure),
        geometry: position.map(|(lat, lon)| Some(Geometry::Point(Point::new(lon, lat)))),
        device_ids: Some(vec![device.to_owned()]),
        ..IncidentEdit::default()
    };
    NewReport { fields, dedup_key: Some(format!("sentinel:{device}")), ..NewReport::default() }
}
