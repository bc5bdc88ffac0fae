//! `muster keys`: API keys, in the data directory of a stopped server or on a running server.

use std::process::ExitCode;

use clap::{Subcommand, ValueEnum};
use muster_core::Millis;
use muster_identity::keys::{DEFAULT_GRACE_SECONDS, NewKey, PlanA, PlanB, Role, Scope};
use serde_json::{Value, json};

use crate::connection::{self, Authorities, TlsArgs};
use crate::{Environment, LocalServer, Settings, block_on, fail};

#[derive(Debug, clap::Args)]
pub(super) struct KeysArgs {
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
    command: KeysCommand,
}

/// Subcommands of `muster keys`.
#[derive(Debug, Subcommand)]
pub enum KeysCommand {
    /// Create a key and print it once.
    #[command(
        after_help = "Example:\n  muster keys create --name dashboard --scope chat --scope memory --plan-b pro --expires 2027-01-01T00:00:00Z"
    )]
    Create(CreateKeyArgs),
    /// List keys, newest first.
    #[command(after_help = "Example:\n  muster keys list --json")]
    List,
    /// Replace the secret of a key and print the new key once. The old one is accepted during a grace period.
    #[command(after_help = "Example:\n  muster keys rotate key_01JF… --grace 3600")]
    Rotate {
        /// Key id, from `muster keys list`.
        id: String,
        /// How long the old secret is accepted, in seconds; 0 revokes it at once.
        #[arg(long, value_name = "SECONDS", default_value_t = DEFAULT_GRACE_SECONDS, value_parser = clap::value_parser!(u64).range(..=2_592_000))]
        grace: u64,
    },
    /// Revoke a key permanently, with immediate effect.
    #[command(after_help = "Example:\n  muster keys revoke key_01JF…")]
    Revoke {
        /// Key id, from `muster keys list`.
        id: String,
    },
}

/// Arguments of `muster keys create`.
#[derive(Debug, clap::Args)]
pub struct CreateKeyArgs {
    /// Name that says what the key is for.
    #[arg(long)]
    name: String,
    /// Owner of the key.
    #[arg(long, default_value = "operator")]
    owner: String,
    /// Scope that the key may use; repeat for several.
    #[arg(long = "scope", required = true, value_enum)]
    scopes: Vec<ScopeArg>,
    /// Role of the key's bearer; repeat for several.
    #[arg(long = "role", value_enum)]
    roles: Vec<RoleArg>,
    /// Rate-limit plan for interface A.
    #[arg(long, value_enum, default_value = "free")]
    plan_a: PlanAArg,
    /// Rate-limit plan for interface B.
    #[arg(long, value_enum, default_value = "free")]
    plan_b: PlanBArg,
    /// Budget per calendar month, in USD.
    #[arg(long, value_name = "USD")]
    budget: Option<f64>,
    /// Expiry time, RFC 3339.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    expires: Option<Millis>,
}

fn parse_time(text: &str) -> Result<Millis, String> {
    Millis::parse_rfc3339(text).ok_or_else(|| "must be an RFC 3339 time, such as 2027-01-01T00:00:00Z".to_owned())
}

/// Declares an argument type with the same values as a type of key records.
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
    let result = match &args.server {
        Some(url) => block_on(remote(url, args.tls.ca.as_ref(), args.command, environment)),
        None => server.keys(&args.settings, args.command),
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
    command: KeysCommand,
    environment: &Environment,
) -> Result<Value, String> {
    let key = environment.require_api_key()?;
    let base = format!("{}/api/v1/keys", server.trim_end_matches('/'));
    let client = connection::client(authorities, reqwest::Client::builder)?;
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
    let reply = request.bearer_auth(key).send().await.map_err(|error| connection::unreachable(server, &error))?;
    let ok = reply.status().is_success();
    let text = reply.text().await.map_err(|error| connection::unreachable(server, &error))?;
    let response: Value =
        serde_json::from_str(&text).map_err(|_| format!("{server} is not a Muster server: {text}"))?;
    if ok { Ok(response) } else { Err(response.get("detail").map_or(text, Value::to_string)) }
}

fn print_plain(response: &Value) {
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
    match response.get("keys").and_then(Value::as_array) {
        Some(keys) => keys.iter().for_each(line),
        None => line(response),
    }
    if let Some(key) = response.get("key").and_then(Value::as_str) {
        println!("{key}\nThis is the complete key; it is shown only once.");
    }
}
