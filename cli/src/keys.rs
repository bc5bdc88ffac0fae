//! `muster keys`: API keys, in the data directory of a stopped server or on a running server.

use std::process::ExitCode;

use clap::{Subcommand, ValueEnum};
use muster_core::Millis;
use muster_identity::keys::{DEFAULT_GRACE_SECONDS, KeyPatch, LimitOverride, NewKey, PlanA, PlanB, Role, Scope};
use reqwest::Method;
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
    /// Change a key, with immediate effect. What is not named stays.
    #[command(
        after_help = "Examples:\n  muster keys edit key_01JF… --budget 20 --model fast --model 'openai/*'\n  muster keys edit key_01JF… --team none --expires never --all-models"
    )]
    Edit(Box<EditKeyArgs>),
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
    /// Team that the key belongs to, from `muster teams list`.
    #[arg(long, value_name = "TEAM")]
    team: Option<String>,
    /// Model that the key may use: a model, an alias, a family, `provider/model` or `provider/*`; repeat for several [default:
    /// all].
    #[arg(long = "model", value_name = "MODEL")]
    models: Vec<String>,
    /// How long answers are cached, in seconds; 0 turns it off [default: what the team has].
    #[arg(long, value_name = "SECONDS")]
    cache: Option<u64>,
    /// Limit that replaces that of the plan, such as requests_per_minute=50; repeat for several.
    #[arg(long = "limit", value_name = "NAME=NUMBER", value_parser = parse_limit)]
    limits: Vec<(String, u64)>,
}

/// Arguments of `muster keys edit`.
#[derive(Debug, clap::Args)]
pub struct EditKeyArgs {
    /// Key id, from `muster keys list`.
    pub id: String,
    /// Name that says what the key is for.
    #[arg(long)]
    name: Option<String>,
    /// Owner of the key.
    #[arg(long)]
    owner: Option<String>,
    /// Scope that the key may use, in place of the present ones; repeat for several.
    #[arg(long = "scope", value_enum)]
    scopes: Vec<ScopeArg>,
    /// Role of the key's bearer, in place of the present ones; repeat for several.
    #[arg(long = "role", value_enum)]
    roles: Vec<RoleArg>,
    /// Rate-limit plan for interface A.
    #[arg(long, value_enum)]
    plan_a: Option<PlanAArg>,
    /// Rate-limit plan for interface B.
    #[arg(long, value_enum)]
    plan_b: Option<PlanBArg>,
    /// Budget per calendar month in USD, or `none`.
    #[arg(long, value_name = "USD|none", value_parser = or_none::<f64>)]
    budget: Option<Change<f64>>,
    /// Expiry time, RFC 3339, or `never`.
    #[arg(long, value_name = "TIME|never", value_parser = parse_expiry)]
    expires: Option<Change<Millis>>,
    /// Team that the key belongs to, or `none`.
    #[arg(long, value_name = "TEAM|none", value_parser = or_none::<String>)]
    team: Option<Change<String>>,
    /// Model that the key may use, in place of the present ones; repeat for several.
    #[arg(long = "model", value_name = "MODEL")]
    models: Vec<String>,
    /// Allow all models.
    #[arg(long, conflicts_with = "models")]
    all_models: bool,
    /// How long answers are cached, in seconds; 0 turns it off, `none` is what the team has.
    #[arg(long, value_name = "SECONDS|none", value_parser = or_none::<u64>)]
    cache: Option<Change<u64>>,
    /// Limit that replaces that of the plan, in place of the present ones; repeat for several.
    #[arg(long = "limit", value_name = "NAME=NUMBER", value_parser = parse_limit)]
    limits: Vec<(String, u64)>,
    /// Return to the limits of the plans.
    #[arg(long, conflicts_with = "limits")]
    no_limits: bool,
}

/// A new value, or that there is none from now on.
#[derive(Debug, Clone)]
pub struct Change<T>(pub Option<T>);

/// Parses a value, or `none`.
pub(super) fn or_none<T: std::str::FromStr>(text: &str) -> Result<Change<T>, String> {
    if text == "none" {
        return Ok(Change(None));
    }
    text.parse().map(|value| Change(Some(value))).map_err(|_| "must be a value, or `none`".to_owned())
}

fn parse_expiry(text: &str) -> Result<Change<Millis>, String> {
    if text == "never" { Ok(Change(None)) } else { parse_time(text).map(|at| Change(Some(at))) }
}

/// Names of the limits of a key.
const LIMITS: [&str; 5] =
    ["requests_per_minute", "requests_per_hour", "requests_per_day", "tokens_per_minute", "tokens_per_day"];

fn parse_limit(text: &str) -> Result<(String, u64), String> {
    let wrong = || format!("must be one of {}, `=` and a whole number", LIMITS.join(", "));
    let (name, number) = text.split_once('=').ok_or_else(wrong)?;
    let number = number.parse().map_err(|_| wrong())?;
    if LIMITS.contains(&name) { Ok((name.to_owned(), number)) } else { Err(wrong()) }
}

/// Returns limits of a key; `None` if there are none.
fn limits(list: &[(String, u64)]) -> Option<LimitOverride> {
    let members: serde_json::Map<_, _> = list.iter().map(|(name, number)| (name.clone(), json!(number))).collect();
    (!members.is_empty()).then(|| serde_json::from_value(members.into()).unwrap_or_default())
}

fn several<A, T: From<A>>(list: Vec<A>) -> Option<Vec<T>> {
    (!list.is_empty()).then(|| list.into_iter().map(T::from).collect())
}

impl From<EditKeyArgs> for KeyPatch {
    fn from(args: EditKeyArgs) -> Self {
        Self {
            name: args.name,
            owner: args.owner,
            plan_a: args.plan_a.map(PlanA::from),
            plan_b: args.plan_b.map(PlanB::from),
            scopes: several(args.scopes),
            roles: several(args.roles),
            limits: if args.no_limits { Some(None) } else { limits(&args.limits).map(Some) },
            budget_usd: args.budget.map(|change| change.0),
            expires_at: args.expires.map(|change| change.0),
            team: args.team.map(|change| change.0),
            models: if args.all_models { Some(Vec::new()) } else { several(args.models) },
            cache_seconds: args.cache.map(|change| change.0),
        }
    }
}

/// Returns an object of the members that are to change.
macro_rules! changes {
    ($patch:expr, $($member:ident),+) => {{
        let mut members = serde_json::Map::new();
        $(if let Some(value) = &$patch.$member {
            members.insert(stringify!($member).to_owned(), json!(value));
        })+
        members
    }};
}
pub(super) use changes;

fn patch_body(patch: &KeyPatch) -> Value {
    let mut members =
        changes!(patch, name, owner, plan_a, plan_b, scopes, roles, limits, budget_usd, team, models, cache_seconds);
    if let Some(expires_at) = patch.expires_at {
        members.insert("expires_at".to_owned(), json!(expires_at.map(Millis::rfc3339)));
    }
    members.into()
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
            limits: limits(&args.limits),
            budget_usd: args.budget,
            expires_at: args.expires,
            team: args.team,
            models: args.models,
            cache_seconds: args.cache,
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
    let api = Api::new(server, authorities, environment)?;
    match command {
        KeysCommand::Create(args) => {
            let new = NewKey::from(args);
            let body = json!({
                "name": new.name, "owner": new.owner, "plan_a": new.plan_a, "plan_b": new.plan_b, "scopes": new.scopes,
                "roles": new.roles, "budget_usd": new.budget_usd, "expires_at": new.expires_at.map(Millis::rfc3339),
                "limits": new.limits, "team": new.team, "models": new.models, "cache_seconds": new.cache_seconds,
            });
            api.call(Method::POST, "/api/v1/keys", Some(body)).await
        }
        KeysCommand::Edit(args) => {
            let path = format!("/api/v1/keys/{}", args.id);
            api.call(Method::PATCH, &path, Some(patch_body(&KeyPatch::from(*args)))).await
        }
        KeysCommand::List => api.call(Method::GET, "/api/v1/keys?limit=200", None).await,
        KeysCommand::Rotate { id, grace } => {
            let body = json!({ "grace_seconds": grace });
            api.call(Method::POST, &format!("/api/v1/keys/{id}/rotate"), Some(body)).await
        }
        KeysCommand::Revoke { id } => api.call(Method::DELETE, &format!("/api/v1/keys/{id}"), None).await,
    }
}

/// A running server, called with the API key of the environment.
pub(super) struct Api<'a> {
    server: &'a str,
    key: String,
    client: reqwest::Client,
}

impl<'a> Api<'a> {
    pub(super) fn new(
        server: &'a str,
        authorities: Option<&Authorities>,
        environment: &Environment,
    ) -> Result<Self, String> {
        let key = environment.require_api_key()?.to_owned();
        let client = connection::client(authorities, reqwest::Client::builder)?;
        Ok(Self { server, key, client })
    }

    /// Calls a route. Changes apply to whatever version is there.
    pub(super) async fn call(&self, method: Method, path: &str, body: Option<Value>) -> Result<Value, String> {
        let server = self.server;
        let changes = method == Method::PATCH || method == Method::DELETE;
        let mut request = self.client.request(method, format!("{}{path}", server.trim_end_matches('/')));
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        if changes {
            request = request.header("if-match", "*");
        }
        let reply = request.bearer_auth(&self.key).send().await;
        let reply = reply.map_err(|error| connection::unreachable(server, &error))?;
        let ok = reply.status().is_success();
        let text = reply.text().await.map_err(|error| connection::unreachable(server, &error))?;
        let response: Value =
            serde_json::from_str(&text).map_err(|_| format!("{server} is not a Muster server: {text}"))?;
        if ok { Ok(response) } else { Err(response.get("detail").map_or(text, Value::to_string)) }
    }
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
