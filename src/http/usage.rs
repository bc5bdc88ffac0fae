//! What keys have used: the ledger, by day, key and model.

use actix_web::{HttpRequest, web};
use muster_core::{Error, Kind, Millis};
use muster_identity::keys::{Role, Scope};
use muster_limits::ledger::{BudgetView, Day, Query, UsageRow, nanos_of_usd};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::app::App;
use crate::error::HttpError;
use crate::error::sets::{Agent, ReadErrors};
use crate::guard::{Guarded, Status, caller_of};

/// Days that are told where none are named.
const DEFAULT_DAYS: u32 = 30;

#[derive(Debug, Deserialize, IntoParams)]
pub struct UsageQuery {
    /// The first day, `YYYY-MM-DD` (UTC); by default 29 days before `to`.
    from: Option<String>,
    /// The last day; by default today.
    to: Option<String>,
    /// One model only.
    model: Option<String>,
    /// Another key's id, or `all`: for keys with the scope `admin` or the role `auditor`. By default the caller's own.
    key: Option<String>,
}

/// Sums over calls.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct Sums {
    /// All calls; those that failed or were cancelled are among them.
    pub requests: u64,
    pub failed: u64,
    /// Calls whose client went away.
    pub cancelled: u64,
    pub prompt_tokens: u64,
    pub completion_tokens: u64,
    /// Calls whose tokens were counted here, as the provider gave no figures.
    pub estimated_requests: u64,
    pub cost_usd: f64,
    /// Calls of models whose price is not known: nothing of them is in `cost_usd`.
    pub unpriced_requests: u64,
    /// Set aside for calls whose end was lost to a killed server: charged to the budget in full, not part of `cost_usd`.
    pub unsettled_usd: f64,
}

/// One day of one key and model.
#[derive(Debug, Serialize, ToSchema)]
pub struct UsageDay {
    /// `YYYY-MM-DD`, UTC.
    pub day: String,
    pub key_id: String,
    pub model: String,
    #[serde(flatten)]
    pub sums: Sums,
}

/// How a budget of this calendar month (UTC) stands.
#[derive(Debug, Serialize, ToSchema)]
pub struct MonthBudget {
    pub spent_usd: f64,
    /// Set aside for calls that run now.
    pub held_usd: f64,
    /// Null where the key has no budget.
    pub limit_usd: Option<f64>,
    #[schema(value_type = String, format = DateTime)]
    pub resets_at: Millis,
}

/// What was used.
#[derive(Debug, Serialize, ToSchema)]
pub struct UsageReport {
    pub from: String,
    pub to: String,
    pub usage: Vec<UsageDay>,
    pub total: Sums,
    /// Of the key asked for; null for `all`.
    pub budget: Option<MonthBudget>,
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
            // Summed as whole numbers, so that the total is the sum to the last digit.
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

fn day(name: &str, text: Option<&str>) -> Result<Option<Day>, Error> {
    let Some(text) = text else { return Ok(None) };
    let read = Day::parse(text);
    read.map(Some)
        .ok_or_else(|| Error::field(Kind::Invalid, &["query", name], "must be a day, YYYY-MM-DD", text.into()))
}

/// Get the usage of an API key
///
/// Returns the requests, tokens and costs of a key by day and model, over all endpoints. A call is counted when it has
/// ended.
#[utoipa::path(get, path = "/api/v1/usage", tag = "keys", operation_id = "get_usage", params(UsageQuery),
    responses((status = 200, description = "The usage by day and model", body = UsageReport), ReadErrors<Agent>))]
pub async fn usage(
    _guard: Guarded<Status>,
    http: HttpRequest,
    query: web::Query<UsageQuery>,
    app: web::Data<App>,
) -> Result<web::Json<UsageReport>, HttpError> {
    let key = caller_of(&http)?.key;
    let asked = query.key.as_deref().unwrap_or(&key.id);
    if asked != key.id && !key.has(Scope::Admin) && !key.roles.contains(&Role::Auditor) {
        let message = "another key's usage needs a key with the scope `admin` or the role `auditor`";
        return Err(HttpError::new(Kind::Forbidden, message));
    }
    let to = day("to", query.to.as_deref())?.unwrap_or_else(|| Day::of(app.clock.now()));
    let from = day("from", query.from.as_deref())?.unwrap_or_else(|| to.minus(DEFAULT_DAYS - 1));
    if from > to {
        return Err(HttpError(Error::field(
            Kind::Invalid,
            &["query", "from"],
            "lies after `to`",
            from.to_string().into(),
        )));
    }
    let of = Some(asked).filter(|asked| *asked != "all");
    let wanted = Query { key_id: of.map(str::to_owned), from_day: from, to_day: to, model: query.model.clone() };
    let rows = app.ledger.usage(wanted).await?;
    let budget = match of {
        None => None,
        Some(id) => {
            let record = if id == key.id { Some(key.clone()) } else { app.keys.get(id.to_owned()).await? };
            let limit = record.and_then(|record| record.budget_usd).map(nanos_of_usd);
            Some(app.ledger.budgets(id, limit, "", None).await?.key.into())
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
    }))
}
