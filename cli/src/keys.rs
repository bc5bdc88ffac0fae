//! `muster keys`: on the data folder while the server is stopped, or through a running server.

use std::process::ExitCode;

use clap::{Subcommand, ValueEnum};
use muster_core::Millis;
use muster_identity::keys::{DEFAULT_GRACE_SECONDS, NewKey, PlanA, PlanB, Role, Scope};
use serde_json::{Value, json};

use crate::{Environment, LocalServer, Settings, block_on, fail, install_tls};

#[derive(Debug, clap::Args)]
pub(super) struct KeysArgs {
    #[command(flatten)]
    settings: Settings,
    /// A running server, asked with the key in MUSTER_API_KEY; without it the data folder itself.
    #[arg(long, value_name = "URL", global = true)]
    server: Option<String>,
    /// Say it as JSON.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: KeysCommand,
}

/// Subcommands of `muster keys`.
#[derive(Debug, Subcommand)]
pub enum KeysCommand {
    /// Make a key and show it once.
    #[command(
        after_help = "Example:\n  muster keys create --name dashboard --scope chat --scope memory --plan-b pro --expires 2027-01-01T00:00:00Z"
    )]
    Create(CreateKeyArgs),
    /// List keys, newest first.
    #[command(after_help = "Example:\n  muster keys list --json")]
    List,
    /// Give a key a new secret and show it once; the old one is taken for a grace period yet.
    #[command(after_help = "Example:\n  muster keys rotate key_01JF… --grace 3600")]
    Rotate {
        /// The key's id, from `muster keys list`.
        id: String,
        /// How long the old secret is taken yet, in seconds; 0 ends it at once.
        #[arg(long, value_name = "SECONDS", default_value_t = DEFAULT_GRACE_SECONDS, value_parser = clap::value_parser!(u64).range(..=2_592_000))]
        grace: u64,
    },
    /// End a key at once and for ever.
    #[command(after_help = "Example:\n  muster keys revoke key_01JF…")]
    Revoke {
        /// The key's id, from `muster keys list`.
        id: String,
    },
}

/// Arguments of `muster keys create`.
#[derive(Debug, clap::Args)]
pub struct CreateKeyArgs {
    /// What it is for.
    #[arg(long)]
    name: String,
    /// Whose it is.
    #[arg(long, default_value = "operator")]
    owner: String,
    /// What it may call; give it once for each.
    #[arg(long = "scope", required = true, value_enum)]
    scopes: Vec<ScopeArg>,
    /// What its bearer may decide; give it once for each.
    #[arg(long = "role", value_enum)]
    roles: Vec<RoleArg>,
    /// Plan of interface A.
    #[arg(long, value_enum, default_value = "free")]
    plan_a: PlanAArg,
    /// Plan of interface B.
    #[arg(long, value_enum, default_value = "free")]
    plan_b: PlanBArg,
    /// Budget of a calendar month, in USD.
    #[arg(long, value_name = "USD")]
    budget: Option<f64>,
    /// When it ends, RFC 3339.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    expires: Option<Millis>,
}

fn parse_time(text: &str) -> Result<Millis, String> {
    Millis::parse_rfc3339(text).ok_or_else(|| "must be an RFC 3339 time, such as 2027-01-01T00:00:00Z".to_owned())
}

/// Mirrors an enum of the key records as words of the command line.
macro_rules! words {
    ($($arg:ident => $real:ident: $($word:ident),+;)*) => {$(
        #[derive(Debug, Clone, Copy, ValueEnum)]
        #[value(rename_all = "snake_case")]
        enum $arg { $($word),+ }
        impl From<$arg> for $real {
            fn from(arg: $arg) -> Self {
                match arg { $($arg::$word => Self::$word),+ }
            }
        }
    )*};
}

words! {
    ScopeArg => Scope: Agents, Chat, Memory, Engines, Admin, Medical, Metrics;
    RoleArg => Role: SuperAdmin, Auditor, Security, Operations;
    PlanAArg => PlanA: Free, Starter, Pro, Enterprise;
    PlanBArg => PlanB: Free, Pro, Enterprise;
}

impl From<CreateKeyArgs> for NewKey {
    fn from(args: CreateKeyArgs) -> Self {
        Self {
            name: args.name,
            owner: args.owner,
            plan_a: args.plan_a.into(),
            plan_b: args.plan_b.into(),
            scopes: args.scopes.into_iter().map(Scope::from).collect(),
            roles: args.roles.into_iter().map(Role::from).collect(),
            limits: None,
            budget_usd: args.budget,
            expires_at: args.expires,
        }
    }
}

pub(super) fn run(args: KeysArgs, environment: &Environment, server: &impl LocalServer) -> ExitCode {
    let done = match &args.server {
        Some(url) => block_on(remote(url, args.command, environment)),
        None => server.keys(&args.settings, args.command),
    };
    match done {
        Ok(said) if args.json => println!("{said}"),
        Ok(said) => print_plain(&said),
        Err(error) => return fail(&error),
    }
    ExitCode::SUCCESS
}

/// Asks a running server.
async fn remote(server: &str, command: KeysCommand, environment: &Environment) -> Result<Value, String> {
    let key = environment.require_api_key()?;
    let base = format!("{}/api/v1/keys", server.trim_end_matches('/'));
    install_tls();
    let client = reqwest::Client::new();
    let request = match command {
        KeysCommand::Create(args) => {
            let new = NewKey::from(args);
            let body = json!({
                "name": new.name, "owner": new.owner, "plan_a": new.plan_a, "plan_b": new.plan_b, "scopes": new.scopes,
                "roles": new.roles, "budget_usd": new.budget_usd, "expires_at": new.expires_at.map(Millis::rfc3339),
            });
            client.post(base).header("content-type", "application/json").body(body.to_string())
        }
        KeysCommand::List => client.get(format!("{base}?limit=200")),
        KeysCommand::Rotate { id, grace } => {
            let body = json!({ "grace_seconds": grace }).to_string();
            client.post(format!("{base}/{id}/rotate")).header("content-type", "application/json").body(body)
        }
        KeysCommand::Revoke { id } => client.delete(format!("{base}/{id}")),
    };
    let answer = request.bearer_auth(key).send().await.map_err(|error| format!("{server} does not answer: {error}"))?;
    let ok = answer.status().is_success();
    let text = answer.text().await.map_err(|error| error.to_string())?;
    let said: Value = serde_json::from_str(&text).map_err(|_| format!("{server} is no Muster server: {text}"))?;
    if ok { Ok(said) } else { Err(said.get("detail").map_or(text, Value::to_string)) }
}

fn print_plain(said: &Value) {
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).unwrap_or("-").to_owned();
    let line = |key: &Value| {
        let scopes: Vec<_> =
            key.get("scopes").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        let state = if key.get("revoked_at").is_some_and(|at| !at.is_null()) { "revoked" } else { "active" };
        println!(
            "{}  {state:7}  {}…  {}  [{}]",
            text(key, "id"),
            text(key, "prefix"),
            text(key, "name"),
            scopes.join(" ")
        );
    };
    match said.get("keys").and_then(Value::as_array) {
        Some(keys) => keys.iter().for_each(line),
        None => line(said),
    }
    if let Some(key) = said.get("key").and_then(Value::as_str) {
        println!("{key}\nThis is the whole key; it is shown this once.");
    }
}
