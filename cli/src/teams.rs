//! `muster teams`: teams of API keys, in the data directory of a stopped server or on a running server.

use std::process::ExitCode;

use clap::Subcommand;
use muster_identity::keys::{NewTeam, TeamPatch};
use reqwest::Method;
use serde_json::{Value, json};

use crate::connection::{Authorities, TlsArgs};
use crate::keys::{Api, Change, changes, or_none};
use crate::{Environment, LocalServer, Settings, block_on, fail};

#[derive(Debug, clap::Args)]
pub(super) struct TeamsArgs {
    #[command(flatten)]
    settings: Settings,
    /// URL of a running server, called with the API key in MUSTER_API_KEY [default: use the data directory].
    #[arg(long, value_name = "URL", global = true)]
    server: Option<String>,
    #[command(flatten)]
    tls: TlsArgs,
    /// Print the result as JSON.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: TeamsCommand,
}

/// Subcommands of `muster teams`.
#[derive(Debug, Subcommand)]
pub enum TeamsCommand {
    /// Create a team. `muster keys create --team` and `muster keys edit --team` put keys into it.
    #[command(
        after_help = "Example:\n  muster teams create --name research --budget 200 --model fast --model 'openai/*'"
    )]
    Create(CreateTeamArgs),
    /// List teams, newest first.
    #[command(after_help = "Example:\n  muster teams list --json")]
    List,
    /// Change a team, for all of its keys at once. What is not named stays.
    #[command(after_help = "Example:\n  muster teams edit team_01JF… --budget 500 --all-models")]
    Edit(EditTeamArgs),
    /// Delete a team without keys.
    #[command(after_help = "Example:\n  muster teams delete team_01JF…")]
    Delete {
        /// Team id, from `muster teams list`.
        id: String,
    },
}

/// Arguments of `muster teams create`.
#[derive(Debug, clap::Args)]
pub struct CreateTeamArgs {
    /// Name of the team, unique.
    #[arg(long)]
    name: String,
    /// Budget of all its keys per calendar month, in USD.
    #[arg(long, value_name = "USD")]
    budget: Option<f64>,
    /// Model that its keys may use: a model, an alias, a family, `provider/model` or `provider/*`; repeat for several
    /// [default: all].
    #[arg(long = "model", value_name = "MODEL")]
    models: Vec<String>,
    /// How long answers are cached and shared among its keys, in seconds [default: never].
    #[arg(long, value_name = "SECONDS")]
    cache: Option<u64>,
}

/// Arguments of `muster teams edit`.
#[derive(Debug, clap::Args)]
pub struct EditTeamArgs {
    /// Team id, from `muster teams list`.
    pub id: String,
    /// Name of the team, unique.
    #[arg(long)]
    name: Option<String>,
    /// Budget of all its keys per calendar month in USD, or `none`.
    #[arg(long, value_name = "USD|none", value_parser = or_none::<f64>)]
    budget: Option<Change<f64>>,
    /// Model that its keys may use, in place of the present ones; repeat for several.
    #[arg(long = "model", value_name = "MODEL")]
    models: Vec<String>,
    /// Allow all models.
    #[arg(long, conflicts_with = "models")]
    all_models: bool,
    /// How long answers are cached and shared among its keys, in seconds, or `none`.
    #[arg(long, value_name = "SECONDS|none", value_parser = or_none::<u64>)]
    cache: Option<Change<u64>>,
}

impl From<CreateTeamArgs> for NewTeam {
    fn from(CreateTeamArgs { name, budget, models, cache }: CreateTeamArgs) -> Self {
        Self { name, budget_usd: budget, models, cache_seconds: cache }
    }
}

impl From<EditTeamArgs> for TeamPatch {
    fn from(args: EditTeamArgs) -> Self {
        Self {
            name: args.name,
            budget_usd: args.budget.map(|change| change.0),
            models: if args.all_models { Some(Vec::new()) } else { Some(args.models).filter(|list| !list.is_empty()) },
            cache_seconds: args.cache.map(|change| change.0),
        }
    }
}

pub(super) fn run(args: TeamsArgs, environment: &Environment, server: &impl LocalServer) -> ExitCode {
    let result = match &args.server {
        Some(url) => block_on(remote(url, args.tls.ca.as_ref(), args.command, environment)),
        None => server.teams(&args.settings, args.command),
    };
    match result {
        Ok(response) if args.json => println!("{response}"),
        Ok(response) => print_plain(&response),
        Err(error) => return fail(&error),
    }
    ExitCode::SUCCESS
}

/// Runs the command on a running server.
async fn remote(
    server: &str,
    authorities: Option<&Authorities>,
    command: TeamsCommand,
    environment: &Environment,
) -> Result<Value, String> {
    let api = Api::new(server, authorities, environment)?;
    match command {
        TeamsCommand::Create(args) => {
            let new = NewTeam::from(args);
            let body = json!({
                "name": new.name, "budget_usd": new.budget_usd, "models": new.models, "cache_seconds": new.cache_seconds,
            });
            api.call(Method::POST, "/api/v1/teams", Some(body)).await
        }
        TeamsCommand::List => {
            let (mut teams, mut path) = (Vec::new(), "/api/v1/teams?limit=200".to_owned());
            loop {
                let page = api.call(Method::GET, &path, None).await?;
                teams.extend(page.get("teams").and_then(Value::as_array).cloned().unwrap_or_default());
                match page.get("next_cursor").and_then(Value::as_str) {
                    Some(next) => path = format!("/api/v1/teams?limit=200&cursor={next}"),
                    None => return Ok(json!({ "teams": teams, "next_cursor": null })),
                }
            }
        }
        TeamsCommand::Edit(args) => {
            let path = format!("/api/v1/teams/{}", args.id);
            let patch = TeamPatch::from(args);
            let body = changes!(patch, name, budget_usd, models, cache_seconds);
            api.call(Method::PATCH, &path, Some(body.into())).await
        }
        TeamsCommand::Delete { id } => api.call(Method::DELETE, &format!("/api/v1/teams/{id}"), None).await,
    }
}

fn print_plain(response: &Value) {
    let line = |team: &Value| {
        let text = |name: &str| team.get(name).and_then(Value::as_str).unwrap_or("-").to_owned();
        let budget = team.get("budget_usd").and_then(Value::as_f64);
        let budget = budget.map_or_else(|| "no budget".to_owned(), |usd| format!("{usd} USD a month"));
        let models = team.get("models").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        println!("{}  {}  {budget}  [{}]", text("id"), text("name"), models.collect::<Vec<_>>().join(" "));
    };
    match response.get("teams").and_then(Value::as_array) {
        Some(teams) => teams.iter().for_each(line),
        None => line(response),
    }
}
