//! The usage of keys from the ledger, by day and model, and by key, owner, team, provider or tag.

use std::collections::BTreeMap;
use std::sync::Arc;

use actix_web::{HttpRequest, web};
use muster_core::{Error, Kind};
use muster_identity::keys::{KeyRecord, Role, Scope};
use muster_limits::ledger::{Budget, Day, Dimension, Query, UsageRow, nanos_of_usd};
use muster_request::{Fields, Request};
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::chat::payer;
use crate::error::HttpError;
use crate::error::sets::{Agent, ReadErrors};
use crate::guard::{Queried, Status, caller_of};
use crate::month_budget::MonthBudget;
use crate::usage_sums::{Sums, day};

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
    /// own key; with an owner, team or provider all keys.
    key: Option<String>,
    /// Returns only the usage of the keys of this owner.
    owner: Option<String>,
    /// Returns only the usage of the keys of this team.
    team: Option<String>,
    /// Returns only the usage at this provider.
    provider: Option<String>,
    /// Returns only the usage of requests with this tag.
    tag: Option<String>,
    /// What the rows are sums of: `day`, `model`, and one of `key`, `owner`, `team`, `provider` and `tag`, separated by commas.
    /// By default `day,key,model`.
    #[request(with = groups, schema = String)]
    group_by: Option<Groups>,
}

/// What rows are grouped by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Groups {
    day: bool,
    model: bool,
    dimension: Option<Dimension>,
}

fn groups(fields: &mut Fields<'_>, name: &str) -> Option<Groups> {
    let mut groups = Groups::default();
    for part in fields.string(name)?.split(',').map(str::trim) {
        let dimension = match part {
            "day" => {
                groups.day = true;
                continue;
            }
            "model" => {
                groups.model = true;
                continue;
            }
            "key" => Dimension::Key,
            "owner" => Dimension::Owner,
            "team" => Dimension::Team,
            "provider" => Dimension::Provider,
            "tag" => Dimension::Tag,
            _ => {
                fields
                    .fail(name, "must be of `day`, `model`, `key`, `owner`, `team`, `provider` and `tag`, with commas");
                return None;
            }
        };
        if groups.dimension.is_some_and(|first| first != dimension) {
            fields.fail(name, ONE_DIMENSION);
            return None;
        }
        groups.dimension = Some(dimension);
    }
    Some(groups)
}

const ONE_DIMENSION: &str = "usage is kept by key, owner, team, provider or tag, not by two of these: name one of them";

/// The usage of one group: by default of one key and model on one day.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct UsageDay {
    /// Day, `YYYY-MM-DD` (UTC), if grouped by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub day: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// A tag; `other` are those beyond the first 100 of a key and day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(flatten)]
    pub sums: Sums,
}

/// The usage in a range of days.
#[derive(Debug, Serialize, ToSchema)]
pub struct UsageReport {
    pub from: String,
    pub to: String,
    pub usage: Vec<UsageDay>,
    /// Sums over all rows; a request with several tags is in the row of each of them.
    pub total: Sums,
    /// Budget of the requested key; null for `all`.
    pub budget: Option<MonthBudget>,
    /// Budget of the requested owner, or of the key's owner, which all of the owner's keys share; null for `all`.
    pub owner_budget: Option<MonthBudget>,
    /// Budget of the requested team, or of the key's team; null for `all` and without a team.
    pub team_budget: Option<MonthBudget>,
}

/// Which usage is requested.
struct Requested {
    dimension: Dimension,
    /// `None` for all keys.
    key: Option<String>,
    subject: Option<String>,
}

impl Requested {
    fn of(query: &UsageQuery, own: &KeyRecord) -> Result<Self, HttpError> {
        let filters = [
            (Dimension::Owner, &query.owner),
            (Dimension::Team, &query.team),
            (Dimension::Provider, &query.provider),
            (Dimension::Tag, &query.tag),
        ];
        let mut named = filters.into_iter().filter_map(|(dimension, subject)| Some((dimension, subject.clone()?)));
        let (first, second) = (named.next(), named.next());
        let grouped = query.group_by.and_then(|groups| groups.dimension);
        let dimension = grouped.or(first.as_ref().map(|(dimension, _)| *dimension)).unwrap_or_default();
        let apart = first.as_ref().is_some_and(|(filtered, _)| *filtered != dimension);
        let keyed = query.key.is_some() && !matches!(dimension, Dimension::Key | Dimension::Tag);
        if second.is_some() || apart || keyed {
            return Err(HttpError(Error::field(Kind::Invalid, &["query", "group_by"], ONE_DIMENSION, ().into())));
        }
        let key = match (dimension, query.key.as_deref()) {
            (Dimension::Owner | Dimension::Team | Dimension::Provider, _) | (_, Some("all")) => None,
            (Dimension::Key | Dimension::Tag, Some(key)) => Some(key.to_owned()),
            (Dimension::Key | Dimension::Tag, None) => Some(own.id.clone()),
        };
        let others = key.as_ref() != Some(&own.id);
        if others && !own.has(Scope::Admin) && !own.roles.contains(&Role::Auditor) {
            let message = "the usage of other keys needs a key with the scope `admin` or the role `auditor`";
            return Err(HttpError::new(Kind::Forbidden, message));
        }
        Ok(Self { dimension, key, subject: first.map(|(_, subject)| subject) })
    }
}

/// Day, subject and model of a group, as far as it is grouped by them.
type Group<'a> = (Option<Day>, Option<&'a str>, Option<&'a str>);

/// Sums up rows by group, in the order of day, subject and model.
fn grouped(rows: &[UsageRow], dimension: Dimension, groups: Groups) -> Vec<UsageDay> {
    let mut by_group = BTreeMap::<Group<'_>, Vec<&UsageRow>>::new();
    for row in rows {
        let subject = groups.dimension.map(|_| row.subject.as_str());
        let group = (groups.day.then_some(row.day), subject, groups.model.then_some(row.model_id.as_str()));
        by_group.entry(group).or_default().push(row);
    }
    let row = |((day, subject, model), rows): (Group<'_>, Vec<&UsageRow>)| {
        let (subject, text) = (subject.map(str::to_owned), |text: &str| text.to_owned());
        let mut row = UsageDay {
            day: day.map(|day| day.to_string()),
            model: model.map(text),
            sums: Sums::of(rows.into_iter()),
            ..UsageDay::default()
        };
        match dimension {
            Dimension::Key => row.key_id = subject,
            Dimension::Owner => row.owner = subject,
            Dimension::Team => row.team = subject,
            Dimension::Provider => row.provider = subject,
            Dimension::Tag => row.tag = subject,
        }
        row
    };
    by_group.into_iter().map(row).collect()
}

/// The budgets of a key, of its owner and of its team.
#[derive(Default)]
struct MonthBudgets {
    key: Option<MonthBudget>,
    owner: Option<MonthBudget>,
    team: Option<MonthBudget>,
}

async fn budgets(app: &App, requested: &Requested, own: &Arc<KeyRecord>) -> Result<MonthBudgets, HttpError> {
    let mut budgets = MonthBudgets::default();
    let (mut owner, mut team) = match (requested.dimension, &requested.subject) {
        (Dimension::Owner, Some(owner)) => (Some(owner.clone()), None),
        (Dimension::Team, Some(team)) => (None, Some(team.clone())),
        _ => (None, None),
    };
    if let Some(id) = &requested.key {
        let record = if *id == own.id { Some(Arc::clone(own)) } else { app.keys.get(id.clone()).await? };
        let limit = record.as_ref().and_then(|record| record.budget_usd).map(nanos_of_usd);
        budgets.key = Some(app.ledger.budget(Budget::Key, id, limit).await?.into());
        owner = record.as_ref().map(|record| record.owner.clone());
        team = record.and_then(|record| record.team.clone());
    }
    if let Some(owner) = owner {
        let limit = payer::owner_budget(&app.keys, &app.live().config.budget, &owner).map(nanos_of_usd);
        budgets.owner = Some(app.ledger.budget(Budget::Owner, &owner, limit).await?.into());
    }
    if let Some(team) = team {
        let limit = app.keys.team(&team).and_then(|team| team.budget_usd).map(nanos_of_usd);
        budgets.team = Some(app.ledger.budget(Budget::Team, &team, limit).await?.into());
    }
    Ok(budgets)
}

/// Get usage and cost
///
/// Returns the requests, tokens and costs over all endpoints: of the caller's own key by day and model, or of all keys by
/// key, owner, team, provider or tag. A call is counted when it has ended, under the owner and team of its key at that time.
#[utoipa::path(get, path = "/api/v1/usage", tag = "keys", operation_id = "get_usage", params(UsageQuery),
    responses((status = 200, description = "The usage by day and model", body = UsageReport), ReadErrors<Agent>))]
pub async fn usage(
    request: Queried<Status, UsageQuery>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<web::Json<UsageReport>, HttpError> {
    let query = request.query;
    let key = caller_of(&http)?.key;
    let requested = Requested::of(&query, &key)?;
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
    let wanted = Query {
        dimension: requested.dimension,
        key_id: requested.key.clone(),
        subject: requested.subject.clone(),
        from_day: from,
        to_day: to,
        model: query.model,
    };
    let rows = app.ledger.usage(wanted).await?;
    let all = Groups { day: true, model: true, dimension: Some(requested.dimension) };
    let MonthBudgets { key: budget, owner: owner_budget, team: team_budget } = budgets(&app, &requested, &key).await?;
    Ok(web::Json(UsageReport {
        from: from.to_string(),
        to: to.to_string(),
        total: Sums::of(rows.iter()),
        usage: grouped(&rows, requested.dimension, query.group_by.unwrap_or(all)),
        budget,
        owner_budget,
        team_budget,
    }))
}
