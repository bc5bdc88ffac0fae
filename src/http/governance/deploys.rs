//! What ran: starts that differ from the one before, and reloads.

use std::collections::BTreeMap;

use actix_web::web;
use muster_core::page::{Page, PageParams};
use muster_core::{Error, Millis};
use muster_governance::deploy::{Deploy, DeployEnd};
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::approved;
use crate::error::HttpError;
use crate::error::sets::{Agent, ReadErrors};
use crate::guard::{AuditRead, Queried};
use crate::parameters::PageQuery;

/// A deploy: a program with its settings, from a start or reload on.
#[derive(Debug, Serialize, ToSchema)]
pub struct DeployBody {
    /// Identifier, `dep_…`.
    pub id: String,
    #[schema(value_type = String, format = DateTime)]
    pub at: Millis,
    pub version: String,
    /// Commit that it was built from; null where the build did not say it.
    pub commit: Option<String>,
    /// SHA-256 of the program's file.
    pub binary_sha256: String,
    /// SHA-256 of the settings in effect, in canonical JSON, without secrets.
    pub config_sha256: String,
    /// Identifier of the governance policy in force when it began.
    pub policy: String,
    /// The deploy before it.
    pub previous: Option<String>,
    /// Approval of `deploy.release` for the hash of the program.
    pub approval: Option<String>,
    /// When it ended; for a killed one, when that was found out.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub ended_at: Option<Millis>,
    /// `clean` or `killed`; null while it runs.
    #[schema(value_type = Option<String>, example = "clean")]
    pub end: Option<&'static str>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct DeployList {
    pub deploys: Vec<DeployBody>,
    /// Cursor of the next page; null on the last page.
    pub next_cursor: Option<String>,
}

impl DeployBody {
    fn of(deploy: Deploy, releases: &BTreeMap<String, String>) -> Self {
        let Deploy { id, at, program, policy, previous, ended_at, end } = deploy;
        Self {
            approval: releases.get(&program.binary_sha256).cloned(),
            id,
            at,
            version: program.version,
            commit: program.commit,
            binary_sha256: program.binary_sha256,
            config_sha256: program.config_sha256,
            policy,
            previous,
            ended_at,
            end: end.map(DeployEnd::name),
        }
    }
}

/// Returns a page of deploys with their approvals.
pub(super) async fn page(app: &App, page: PageParams) -> Result<Page<DeployBody>, Error> {
    let deploys = app.oversight.deploys.list(page).await?;
    let releases = approved::releases(&app.governance).await?;
    Ok(deploys.map(|deploy| DeployBody::of(deploy, &releases)))
}

/// List deploys
///
/// Returns a page of what ran on this server, newest first. A start is recorded if it differs from the one before in its
/// program or settings, or if that one was killed; so is each reload of the settings. A deploy is approved in advance: open
/// an approval of `deploy.release` whose resource is the SHA-256 of the program's file.
#[utoipa::path(get, path = "/api/v1/governance/deploys", tag = "governance", operation_id = "list_deploys",
    params(PageQuery), responses((status = 200, description = "A page of deploys", body = DeployList), ReadErrors<Agent>))]
pub async fn list(
    request: Queried<AuditRead, PageQuery>,
    app: web::Data<App>,
) -> Result<web::Json<DeployList>, HttpError> {
    let Page { items, next } = page(&app, request.query.into()).await?;
    Ok(web::Json(DeployList { deploys: items, next_cursor: next }))
}
