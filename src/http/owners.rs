//! Budgets of owners, set at run time in place of those of the settings.

use actix_web::{HttpRequest, web};
use muster_identity::keys::KeyIssuer;
use muster_limits::ledger::{Budget, nanos_of_usd};
use muster_request::Request;
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::chat::payer;
use crate::error::HttpError;
use crate::error::sets::{Agent, CallErrors, WriteErrors};
use crate::guard::{Admin, Guarded, Sent, SuperAdmin, caller_of};
use crate::month_budget::MonthBudget;

/// The budget of an owner.
#[derive(Debug, Request)]
#[request(example = { "budget_usd": 300.0 })]
pub struct OwnerBudgetBody {
    /// Budget of all keys of the owner for a calendar month, in USD. Null returns to the settings.
    #[request(range = 0.0..=1e12)]
    budget_usd: Option<Option<f64>>,
}

/// An owner with a budget.
#[derive(Debug, Serialize, ToSchema)]
pub struct OwnerBody {
    pub owner: String,
    pub budget_usd: Option<f64>,
    /// Where the budget comes from: `api` or `settings`.
    pub source: &'static str,
    /// State of the budget this month.
    pub budget: MonthBudget,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct OwnerList {
    pub owners: Vec<OwnerBody>,
}

async fn body(app: &App, owner: String) -> Result<OwnerBody, HttpError> {
    let usd = payer::owner_budget(&app.keys, &app.live().config.budget, &owner);
    let budget = app.ledger.budget(Budget::Owner, &owner, usd.map(nanos_of_usd)).await?;
    let source = if app.keys.owner_budget(&owner).is_some() { "api" } else { "settings" };
    Ok(OwnerBody { owner, budget_usd: usd, source, budget: budget.into() })
}

/// Largest number of owners in a list.
const MAX_LISTED: usize = 1_000;

/// List budgets of owners
///
/// Returns the owners that have a budget of their own, by name, at most 1,000: set here, or in `[budget] owners` of the
/// settings. All others have `per_owner_usd` of the settings, or none.
#[utoipa::path(get, path = "/api/v1/owners", tag = "keys", operation_id = "list_owner_budgets",
    responses((status = 200, description = "The owners", body = OwnerList), CallErrors<Agent>))]
pub async fn list(_guard: Guarded<Admin>, app: web::Data<App>) -> Result<web::Json<OwnerList>, HttpError> {
    let mut names = app.live().config.budget.owners.clone();
    names.extend(app.keys.owner_budgets());
    let mut owners = Vec::new();
    for owner in names.into_keys().take(MAX_LISTED) {
        owners.push(body(&app, owner).await?);
    }
    Ok(web::Json(OwnerList { owners }))
}

/// Set the budget of an owner
///
/// Sets the budget that all keys of an owner share, from the next call on. It replaces that of the settings, to which null
/// returns.
#[utoipa::path(put, path = "/api/v1/owners/{owner}", tag = "keys", operation_id = "set_owner_budget",
    request_body = OwnerBudgetBody, params(("owner" = String, Path)),
    responses((status = 200, description = "The owner", body = OwnerBody), WriteErrors<Agent>))]
pub async fn set(
    request: Sent<SuperAdmin, OwnerBudgetBody>,
    owner: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<web::Json<OwnerBody>, HttpError> {
    let issuer = KeyIssuer::Key(caller_of(&http)?.key);
    let Some(budget_usd) = request.body.budget_usd else {
        let message = "is required: a number of USD, or null to return to the settings";
        let error = muster_core::Error::field(muster_core::Kind::Invalid, &["body", "budget_usd"], message, ().into());
        return Err(HttpError(error));
    };
    let owner = app.keys.set_owner_budget(owner.into_inner(), budget_usd, issuer).await?;
    Ok(web::Json(body(&app, owner.owner).await?))
}
