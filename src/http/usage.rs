//! The usage of keys from the ledger, by day, key and model.

use actix_web::{HttpRequest, web};
use muster_core::{Error, Kind, Millis};
use muster_identity::keys::{Role, Scope};
use muster_limits::ledger::{BudgetView, Day, Query, UsageRow, nanos_of_usd};
use muster_request::{Fields, Request};
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::error::HttpError;
use crate::error::sets::{Agent, ReadErrors};
use crate::guard::{Queried, Status, caller_of};

/// Default number of days.
const DEFAULT_DAYS: u32 = 30;

#[derive(Debug, Request)]
#[request(query)]
pub struct UsageQuery {
    /// First day, `YYYY-MM-DD` (UTC); 29 days before `to` by default.
    #[request(with = day, schema = String)]
    from: Option<Day>,
    /// Last day, `YYYY-MM-DD` (UTC); today by default.
    #[request(with = day, schema = String)]
    to: Option<Day>,
    /// Returns only the usage of this model.
    model: Option<String>,
    /// Identifier of another key, or `all`: requires the scope `admin` or the role `auditor`. By default the caller's
    /// own key.
    key: Option<String>,
}

/// Sums over calls.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct Sums {
    /// Number of calls, including failed and cancelled ones.
    pub requests: u64,
    pub failed: u64,
    /// Number of calls whose client disconnected.
    pub cancelled: u64,
    pub prompt_tokens: u64,
    pub completion_tokens: u64,
    /// Number of calls whose tokens were counted by this server because the provider reported no usage.
    pub estimated_requests: u64,
    pub cost_usd: f64,
    /// Number of calls of models whose price is unknown; their cost is not part of `cost_usd`.
    pub unpriced_requests: u64,
    /// Amount reserved for calls whose outcome was lost in a crash: charged to the budget in full, not part of
    /// `cost_usd`.
    pub unsettled_usd: f64,
}

/// The usage of one key and model on one day.
#[derive(Debug, Serialize, ToSchema)]
pub struct UsageDay {
    /// Day, `YYYY-MM-DD` (UTC).
    pub day: String,
    pub key_id: String,
    pub model: String,
    #[serde(flatten)]
    pub sums: Sums,
}

/// The state of a budget of the present calendar month (UTC).
#[derive(Debug, Serialize, ToSchema)]
pub struct MonthBudget {
    pub spent_usd: f64,
    /// Amount reserved for calls in progress, in USD.
    pub held_usd: f64,
    /// Monthly limit in USD; null if the key has no budget.
    pub limit_usd: Option<f64>,
    #[schema(value_type = String, format = DateTime)]
    pub resets_at: Millis,
}

/// The usage in a range of days.
#[derive(Debug, Serialize, ToSchema)]
pub struct UsageReport {
    pub from: String,
    pub to: String,
    pub usage: Vec<UsageDay>,
    pub total: Sums,
    /// Budget of the requested key; null for `all`.
    pub budget: Option<MonthBudget>,
    /// Budget of the key's owner, which all of the owner's keys share; null for `all`.
    pub owner_budget: Option<MonthBudget>,
}

fn usd(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

impl Sums {
    fn of<'a>(rows: impl Iterator<Item = &'a UsageRow>) -> Self {
        let (mut sums, mut cost, mut unsettled) = (Self::default(), 0_u64, 0_u64);
        for UsageRow { row, .. } in rows {
            sums.requests += row.requests;
            sums.failed += row.failed;
            sums.cancelled += row.cancelled;
            sums.prompt_tokens += row.prompt_tokens;
            sums.completion_tokens += row.completion_tokens;
            sums.estimated_requests += row.estimated_requests;
            sums.unpriced_requests += row.unpriced_requests;
            // Summed as integers, so that the total is exact.
            cost = cost.saturating_add(row.cost_nanos);
            unsettled = unsettled.saturating_add(row.unsettled_nanos);
        }
        Self { cost_usd: usd(cost), unsettled_usd: usd(unsettled), ..sums }
    }
}

impl From<BudgetView> for MonthBudget {
    fn from(view: BudgetView) -> Self {
        Self {
            spent_usd: usd(view.spent_nanos),
            held_usd: usd(view.held_nanos),
            limit_usd: view.limit_nanos.map(usd),
            resets_at: view.resets_at,
        }
    }
}

fn day(fields: &mut Fields<'_>, name: &str) -> Option<Day> {
    let day = Day::parse(&fields.string(name)?);
    if day.is_none() {
        fields.fail(name, "must be a day, YYYY-MM-DD");
    }
    day
}

/// Get the usage of an API key
///
/// Returns the requests, tokens and costs of a key by day and model, over all endpoints. A call is counted when it has
/// ended.
#[utoipa::path(get, path = "/api/v1/usage", tag = "keys", operation_id = "get_usage", params(UsageQuery),
    responses((status = 200, description = "The usage by day and model", body = UsageReport), ReadErrors<Agent>))]
pub async fn usage(
    request: Queried<Status, UsageQuery>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<web::Json<UsageReport>, HttpError> {
    let query = request.query;
    let key = caller_of(&http)?.key;
    let requested = query.key.as_deref().unwrap_or(&key.id);
    if requested != key.id && !key.has(Scope::Admin) && !key.roles.contains(&Role::Auditor) {
        let message = "another key's usage needs a key with the scope `admin` or the role `auditor`";
        return Err(HttpError::new(Kind::Forbidden, message));
    }
    let to = query.to.unwrap_or_else(|| Day::of(app.clock.now()));
    let from = query.from.unwrap_or_else(|| to.minus(DEFAULT_DAYS - 1));
    if from > to {
        return Err(HttpError(Error::field(
            Kind::Invalid,
            &["query", "from"],
            "lies after `to`",
            from.to_string().into(),
        )));
    }
    let of = Some(requested).filter(|requested| *requested != "all");
    let wanted = Query { key_id: of.map(str::to_owned), from_day: from, to_day: to, model: query.model.clone() };
    let rows = app.ledger.usage(wanted).await?;
    let (budget, owner_budget) = match of {
        None => (None, None),
        Some(id) => {
            let record = if id == key.id { Some(key.clone()) } else { app.keys.get(id.to_owned()).await? };
            let limit = record.as_ref().and_then(|record| record.budget_usd).map(nanos_of_usd);
            let budget = app.ledger.budgets(id, limit, "", None).await?.key;
            let owner = match &record {
                Some(record) => {
                    let limit = app.live().config.budget.of_owner(&record.owner).map(nanos_of_usd);
                    Some(app.ledger.owner_budget(&record.owner, limit).await?)
                }
                None => None,
            };
            (Some(budget.into()), owner.map(MonthBudget::from))
        }
    };
    Ok(web::Json(UsageReport {
        from: from.to_string(),
        to: to.to_string(),
        total: Sums::of(rows.iter()),
        usage: rows
            .into_iter()
            .map(|row| UsageDay {
                day: row.day.to_string(),
                sums: Sums::of(std::iter::once(&row)),
                key_id: row.key_id,
                model: row.model_id,
            })
            .collect(),
        budget,
        owner_budget,
    }))
}
