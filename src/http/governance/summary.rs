//! The summary of governance.

use actix_web::web;
use muster_core::guard::Risk;
use muster_core::page::PageParams;
use muster_limits::ledger::{Day, Dimension, Query};
use serde::Serialize;
use utoipa::ToSchema;

use super::compliance::{self, ControlCounts};
use super::deploys::{self, DeployBody};
use super::financials::nanos_of;
use crate::app::App;
use crate::error::HttpError;
use crate::error::sets::{Agent, CallErrors};
use crate::guard::{AuditRead, Guarded};

/// Number of deploys in the summary.
const DEPLOYS: usize = 5;
/// Number of days whose spending is summed up.
const SPENDING_DAYS: u32 = 30;

/// Pending approvals by risk.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct PendingByRisk {
    pub low: usize,
    pub medium: usize,
    pub high: usize,
    pub critical: usize,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct ApprovalSummary {
    pub pending: PendingByRisk,
    /// Reviews of break-glass that are due.
    pub reviews_due: usize,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct AuditSummary {
    /// Name of the log in its checkpoints.
    pub origin: String,
    /// Number of entries in the newest checkpoint.
    pub size: u64,
    /// Root of that checkpoint, base64.
    pub root: Option<String>,
    /// Number of entries that all witnesses have seen; null without witnesses.
    pub witnessed_size: Option<u64>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct FinancialSummary {
    /// Everything that was charged within the last 30 days, in USD.
    pub spent_usd: f64,
}

/// The state of governance.
#[derive(Debug, Serialize, ToSchema)]
pub struct GovernanceSummary {
    /// Identifier of the server.
    pub server: String,
    /// Whether each role of the quorum has had a decider of its own.
    pub constituted: bool,
    pub approvals: ApprovalSummary,
    pub audit: AuditSummary,
    pub financials: FinancialSummary,
    /// Number of controls by state.
    pub compliance: ControlCounts,
    /// The newest deploys.
    pub deploys: Vec<DeployBody>,
}

/// Get the state of governance
///
/// Returns pending approvals, the newest checkpoint of the audit log, spending, controls and deploys.
#[utoipa::path(get, path = "/api/v1/governance", tag = "governance", operation_id = "get_governance",
    responses((status = 200, description = "The state of governance", body = GovernanceSummary), CallErrors<Agent>))]
pub async fn get(_guard: Guarded<AuditRead>, app: web::Data<App>) -> Result<web::Json<GovernanceSummary>, HttpError> {
    let counts = app.governance.counts();
    let pending = |risk: Risk| counts.pending.get(risk as usize).copied().unwrap_or_default();
    let view = app.audit.view();
    let today = Day::of(app.clock.now());
    let query = Query {
        dimension: Dimension::Key,
        from_day: today.minus(SPENDING_DAYS - 1),
        to_day: today,
        ..Query::default()
    };
    let spent = nanos_of(app.ledger.usage(query).await?.iter());
    Ok(web::Json(GovernanceSummary {
        server: app.audit.keys().instance(),
        constituted: counts.constituted,
        approvals: ApprovalSummary {
            pending: PendingByRisk {
                low: pending(Risk::Low),
                medium: pending(Risk::Medium),
                high: pending(Risk::High),
                critical: pending(Risk::Critical),
            },
            reviews_due: counts.reviews_due,
        },
        audit: AuditSummary {
            origin: view.origin.clone(),
            size: view.signed_size(),
            root: view.signed.as_ref().map(|signed| signed.root.to_string()),
            witnessed_size: view.witnessed_size(),
        },
        financials: FinancialSummary { spent_usd: spent as f64 / 1e9 },
        compliance: compliance::counts(&app).await?,
        deploys: deploys::page(&app, PageParams { limit: DEPLOYS, after: None }).await?.items,
    }))
}
