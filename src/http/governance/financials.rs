//! Spending: rows of the ledger, budgets, and the daily closes with their entries of the audit log.

use std::collections::BTreeMap;

use actix_web::web;
use muster_core::page::PageParams;
use muster_core::{Error, Kind, Millis};
use muster_governance::financials::CLOSE_ACTION;
use muster_limits::ledger::{Budget, Day, Dimension, Query, UsageRow, nanos_of_usd};
use muster_request::{Fields, Request};
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::error::HttpError;
use crate::error::sets::{Agent, ReadErrors};
use crate::guard::{AuditRead, Queried};
use crate::month_budget::MonthBudget;
use crate::usage_sums::{Sums, day};

/// Default number of days.
const DEFAULT_DAYS: u32 = 30;
/// Number of keys that are looked through for budgets.
const MAX_KEYS: usize = 10_000;
/// Largest number of budgets of a kind in the response.
const MAX_BUDGETS: usize = 200;

/// A range of days, and what rows are sums of.
#[derive(Debug, Request)]
#[request(query)]
pub struct FinancialsQuery {
    /// First day, `YYYY-MM-DD` (UTC); 29 days before `to` by default.
    #[request(with = day, schema = String)]
    from: Option<Day>,
    /// Last day, `YYYY-MM-DD` (UTC); today by default.
    #[request(with = day, schema = String)]
    to: Option<Day>,
    /// What the rows are sums of: one of `day` and `month`, one of `key` and `owner`, and `model`, separated by commas. By
    /// default `day`.
    #[request(with = groups, schema = String)]
    group_by: Option<Groups>,
}

/// What rows are grouped by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Groups {
    day: bool,
    month: bool,
    key: bool,
    owner: bool,
    model: bool,
}

fn groups(fields: &mut Fields<'_>, name: &str) -> Option<Groups> {
    let mut groups = Groups::default();
    for part in fields.string(name)?.split(',').map(str::trim) {
        match part {
            "day" => groups.day = true,
            "month" => groups.month = true,
            "key" => groups.key = true,
            "owner" => groups.owner = true,
            "model" => groups.model = true,
            _ => {
                fields.fail(name, "must be of `day`, `month`, `key`, `owner` and `model`, with commas");
                return None;
            }
        }
    }
    if (groups.day && groups.month) || (groups.key && groups.owner) {
        fields.fail(name, "takes one of `day` and `month`, and one of `key` and `owner`");
        return None;
    }
    Some(groups)
}

/// The spending of one group.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct FinancialRow {
    /// Day, `YYYY-MM-DD` (UTC), if grouped by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub day: Option<String>,
    /// Month, `YYYY-MM`, if grouped by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub month: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(flatten)]
    pub sums: Sums,
    /// Everything that was charged, `cost_usd` and `unsettled_usd`, in billionths of a US dollar.
    pub nanos: u64,
}

/// The state of a budget of the present month.
#[derive(Debug, Serialize, ToSchema)]
pub struct BudgetBody {
    /// `key`, `owner`, `team` or `model`.
    #[schema(value_type = String, example = "key")]
    pub kind: &'static str,
    pub id: String,
    #[serde(flatten)]
    pub budget: MonthBudget,
}

/// The close of a day.
#[derive(Debug, Serialize, ToSchema)]
pub struct CloseBody {
    /// `YYYY-MM-DD` (UTC).
    pub day: String,
    /// Everything that was charged, in billionths of a US dollar.
    pub nanos: u64,
    /// Number of rows of keys and models.
    pub rows: u64,
    /// SHA-256 of the rows: a line `[key,model,requests,cost_nanos,unsettled_nanos]` in JSON for each, sorted.
    pub sha256: String,
    /// Number of its entry in the audit log.
    pub seq: Option<u64>,
    #[schema(value_type = String, format = DateTime)]
    pub at: Millis,
    /// Whether the ledger of the day is still as it was closed.
    pub matches: bool,
}

/// The spending in a range of days.
#[derive(Debug, Serialize, ToSchema)]
pub struct Financials {
    pub from: String,
    pub to: String,
    pub rows: Vec<FinancialRow>,
    /// Sums over all rows.
    pub total: Sums,
    /// Everything that was charged, in billionths of a US dollar.
    pub total_nanos: u64,
    /// Budgets of keys, owners, teams and models that have a limit, at most 200 of each, for the present month.
    pub budgets: Vec<BudgetBody>,
    /// Closes of the days in the range, oldest first. A day is closed ten minutes after its end, once nothing can be charged
    /// to it any more.
    pub closes: Vec<CloseBody>,
}

/// Returns everything that was charged for rows, in billionths of a US dollar.
pub(super) fn nanos_of<'a>(rows: impl Iterator<Item = &'a UsageRow>) -> u64 {
    rows.fold(0_u64, |sum, row| sum.saturating_add(row.row.cost_nanos).saturating_add(row.row.unsettled_nanos))
}

/// Day or month, key or owner, and model of a group, as far as it is grouped by them.
type Group<'a> = (Option<String>, Option<&'a str>, Option<&'a str>);

fn grouped(rows: &[UsageRow], groups: Groups) -> Vec<FinancialRow> {
    let mut by_group = BTreeMap::<Group<'_>, Vec<&UsageRow>>::new();
    for row in rows {
        let day = row.day.to_string();
        let span = match (groups.day, groups.month) {
            (true, _) => Some(day),
            (_, true) => Some(day.get(..7).unwrap_or(&day).to_owned()),
            _ => None,
        };
        let subject = (groups.key || groups.owner).then_some(row.subject.as_str());
        by_group.entry((span, subject, groups.model.then_some(row.model_id.as_str()))).or_default().push(row);
    }
    let row = |((span, subject, model), rows): (Group<'_>, Vec<&UsageRow>)| {
        let subject = subject.map(str::to_owned);
        FinancialRow {
            day: span.clone().filter(|_| groups.day),
            month: span.filter(|_| groups.month),
            key_id: subject.clone().filter(|_| groups.key),
            owner: subject.filter(|_| groups.owner),
            model: model.map(str::to_owned),
            nanos: nanos_of(rows.iter().copied()),
            sums: Sums::of(rows.into_iter()),
        }
    };
    by_group.into_iter().map(row).collect()
}

/// Returns the state of every budget that has a limit.
async fn budgets(app: &App) -> Result<Vec<BudgetBody>, Error> {
    let mut limits: Vec<(Budget, &'static str, String, f64)> = Vec::new();
    let keys = app.keys.list(MAX_KEYS, None).await?.keys;
    let of_keys = keys.iter().filter(|key| key.revoked_at.is_none());
    limits.extend(
        of_keys.filter_map(|key| Some((Budget::Key, "key", key.id.clone(), key.budget_usd?))).take(MAX_BUDGETS),
    );
    let live = app.live();
    let settings = &live.config.budget;
    let mut owners = settings.owners.clone();
    owners.extend(app.keys.owner_budgets());
    limits.extend(owners.into_iter().map(|(owner, usd)| (Budget::Owner, "owner", owner, usd)).take(MAX_BUDGETS));
    let teams = app.keys.teams(MAX_BUDGETS, None);
    limits.extend(teams.iter().filter_map(|team| Some((Budget::Team, "team", team.id.clone(), team.budget_usd?))));
    limits.extend(
        settings.models.iter().map(|(model, usd)| (Budget::Model, "model", model.clone(), *usd)).take(MAX_BUDGETS),
    );
    let mut budgets = Vec::with_capacity(limits.len());
    for (budget, kind, id, usd) in limits {
        let state = app.ledger.budget(budget, &id, Some(nanos_of_usd(usd))).await?;
        budgets.push(BudgetBody { kind, id, budget: state.into() });
    }
    Ok(budgets)
}

/// Returns the closes of a range of days, each with the number of its entry.
async fn closes(app: &App, from: Day, to: Day) -> Result<Vec<CloseBody>, Error> {
    let states = app.oversight.closes.list(&from.to_string(), &to.to_string()).await?;
    let mut seqs = BTreeMap::new();
    // A close is written after its day.
    if let Some(first) = states.first() {
        let filter = muster_audit::AuditFilter {
            action: Some(CLOSE_ACTION.to_owned()),
            from: Some(first.close.at),
            ..muster_audit::AuditFilter::default()
        };
        let mut after = None;
        loop {
            let page = app.audit.list(filter.clone(), PageParams { limit: 200, after }).await?;
            seqs.extend(page.items.into_iter().map(|entry| (entry.entry.id, entry.seq)));
            after = page.next;
            // The log has one entry a day.
            if after.is_none() || seqs.len() > 1_000 {
                break;
            }
        }
    }
    let body = |state: muster_governance::financials::CloseState| CloseBody {
        seq: seqs.get(&state.close.entry).copied(),
        day: state.close.day,
        nanos: state.close.totals.nanos,
        rows: state.close.totals.rows,
        sha256: state.close.totals.sha256,
        at: state.close.at,
        matches: state.matches,
    };
    Ok(states.into_iter().map(body).collect())
}

/// Get spending
///
/// Returns the spending of all keys by day, month, key, owner and model, the budgets, and the daily closes. A close is an
/// entry of the audit log with the sum and the hash of the day's rows; `matches` says whether the ledger is still like that.
#[utoipa::path(get, path = "/api/v1/governance/financials", tag = "governance", operation_id = "get_financials",
    params(FinancialsQuery), responses((status = 200, description = "The spending", body = Financials), ReadErrors<Agent>))]
pub async fn get(
    request: Queried<AuditRead, FinancialsQuery>,
    app: web::Data<App>,
) -> Result<web::Json<Financials>, HttpError> {
    let FinancialsQuery { from, to, group_by } = request.query;
    let to = to.unwrap_or_else(|| Day::of(app.clock.now()));
    let from = from.unwrap_or_else(|| to.minus(DEFAULT_DAYS - 1));
    if from > to {
        let value = from.to_string().into();
        return Err(HttpError(Error::field(Kind::Invalid, &["query", "from"], "lies after `to`", value)));
    }
    let groups = group_by.unwrap_or(Groups { day: true, ..Groups::default() });
    let query = |dimension| Query { dimension, from_day: from, to_day: to, ..Query::default() };
    // Calls without an owner are in no row of an owner: the total is that of the keys.
    let of_keys = app.ledger.usage(query(Dimension::Key)).await?;
    let rows = match groups.owner {
        true => grouped(&app.ledger.usage(query(Dimension::Owner)).await?, groups),
        false => grouped(&of_keys, groups),
    };
    Ok(web::Json(Financials {
        from: from.to_string(),
        to: to.to_string(),
        rows,
        total: Sums::of(of_keys.iter()),
        total_nanos: nanos_of(of_keys.iter()),
        budgets: budgets(&app).await?,
        closes: closes(&app, from, to).await?,
    }))
}
