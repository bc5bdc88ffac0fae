//! `muster service-accounts`: accounts of programs, in the data directory of a stopped server or on a running server.

use std::process::ExitCode;

use clap::{Subcommand, ValueEnum};
use muster_core::Millis;
use muster_core::principal::UserRole;
use muster_identity::NewServiceAccount;
use reqwest::Method;
use serde_json::{Value, json};

use crate::connection::TlsArgs;
use crate::session::UserClient;
use crate::{Environment, LocalServer, Settings, block_on, fail};

#[derive(Debug, clap::Args)]
pub(super) struct ServiceAccountsArgs {
    #[command(flatten)]
    settings: Settings,
    /// Use the running server of `muster login` [default: use the data directory].
    #[arg(long, global = true)]
    remote: bool,
    #[command(flatten)]
    tls: TlsArgs,
    /// Print the result as JSON.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: ServiceAccountsCommand,
}

/// Subcommands of `muster service-accounts`.
#[derive(Debug, Subcommand)]
pub enum ServiceAccountsCommand {
    /// List service accounts, newest first.
    #[command(after_help = "Example:\n  muster service-accounts list --json")]
    List,
    /// Create a service account and print its secret once.
    #[command(
        after_help = "Example:\n  muster service-accounts --remote create --name wall-dashboard --role viewer --expires 2027-01-01T00:00:00Z"
    )]
    Create(CreateServiceAccountArgs),
    /// Replace the secret and print the new one once. The old one is accepted during a grace period.
    #[command(after_help = "Example:\n  muster service-accounts rotate svc_01JF… --grace 3600")]
    Rotate {
        /// Account id, from `muster service-accounts list`.
        id: String,
        /// How long the old secret is accepted, in seconds; 0 revokes it at once and ends the sessions.
        #[arg(long, value_name = "SECONDS", default_value_t = 86_400, value_parser = clap::value_parser!(u64).range(..=2_592_000))]
        grace: u64,
    },
    /// Disable a service account and end its sessions.
    #[command(after_help = "Example:\n  muster service-accounts disable svc_01JF…")]
    Disable {
        /// Account id.
        id: String,
    },
    /// Enable a disabled service account.
    #[command(after_help = "Example:\n  muster service-accounts enable svc_01JF…")]
    Enable {
        /// Account id.
        id: String,
    },
    /// Delete a service account permanently and end its sessions.
    #[command(after_help = "Example:\n  muster service-accounts revoke svc_01JF…")]
    Revoke {
        /// Account id.
        id: String,
    },
}

/// Arguments of `muster service-accounts create`.
#[derive(Debug, clap::Args)]
pub struct CreateServiceAccountArgs {
    /// Unique name: lower-case letters, digits and hyphens.
    #[arg(long)]
    name: String,
    /// Role, which determines the permissions. `viewer` and `auditor` only read.
    #[arg(long, value_enum)]
    role: ServiceRoleArg,
    /// Expiry time, RFC 3339 [default: in one year].
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    expires: Option<Millis>,
}

impl From<CreateServiceAccountArgs> for NewServiceAccount {
    fn from(args: CreateServiceAccountArgs) -> Self {
        Self { name: args.name, role: args.role.0, expires_at: args.expires }
    }
}

fn parse_time(text: &str) -> Result<Millis, String> {
    Millis::parse_rfc3339(text).ok_or_else(|| "must be an RFC 3339 time, such as 2027-01-01T00:00:00Z".to_owned())
}

/// A role that a service account can have.
#[derive(Debug, Clone, Copy)]
struct ServiceRoleArg(UserRole);

impl ValueEnum for ServiceRoleArg {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [ServiceRoleArg; NewServiceAccount::ROLES.len()] = {
            let [one, two, three, four, five] = NewServiceAccount::ROLES;
            [
                ServiceRoleArg(one),
                ServiceRoleArg(two),
                ServiceRoleArg(three),
                ServiceRoleArg(four),
                ServiceRoleArg(five),
            ]
        };
        &ALL
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        Some(clap::builder::PossibleValue::new(self.0.name()))
    }
}

pub(super) fn run(args: ServiceAccountsArgs, environment: &Environment, server: &impl LocalServer) -> ExitCode {
    let result = if args.remote {
        block_on(remote(args.command, &args.tls, environment))
    } else {
        server.service_accounts(&args.settings, args.command)
    };
    match result {
        Ok(response) if args.json => println!("{response}"),
        Ok(response) => print_plain(&response),
        Err(error) => return fail(&error),
    }
    ExitCode::SUCCESS
}

/// Runs the command on the server of the stored login.
async fn remote(command: ServiceAccountsCommand, tls: &TlsArgs, environment: &Environment) -> Result<Value, String> {
    const PATH: &str = "/api/v1/service-accounts";
    let client = &UserClient::open(environment, tls)?;
    let data = |response: Value| response.get("data").cloned().unwrap_or(response);
    let patch = |id: String, patch: Value| async move {
        client.call(Method::PATCH, &format!("{PATH}/{id}"), Some(&patch), Some("*")).await.map(data)
    };
    match command {
        ServiceAccountsCommand::List => all(client, PATH).await,
        ServiceAccountsCommand::Create(args) => {
            let expires_at = args.expires.map(Millis::rfc3339);
            let body = json!({ "name": args.name, "role": args.role.0, "expires_at": expires_at });
            client.call(Method::POST, PATH, Some(&body), None).await.map(data)
        }
        ServiceAccountsCommand::Rotate { id, grace } => {
            let body = json!({ "grace_seconds": grace });
            client.call(Method::POST, &format!("{PATH}/{id}/rotate"), Some(&body), None).await.map(data)
        }
        ServiceAccountsCommand::Disable { id } => patch(id, json!({ "disabled": true })).await,
        ServiceAccountsCommand::Enable { id } => patch(id, json!({ "disabled": false })).await,
        ServiceAccountsCommand::Revoke { id } => client.call(Method::DELETE, &format!("{PATH}/{id}"), None, None).await,
    }
}

async fn all(client: &UserClient, path: &str) -> Result<Value, String> {
    let (mut all, mut page) = (Vec::new(), format!("{path}?limit=200"));
    loop {
        let response = client.call(Method::GET, &page, None, None).await?;
        all.extend(response.pointer("/data/service_accounts").and_then(Value::as_array).cloned().unwrap_or_default());
        match response.pointer("/data/next_cursor").and_then(Value::as_str) {
            Some(next) => page = format!("{path}?limit=200&cursor={next}"),
            None => return Ok(json!({ "service_accounts": all, "next_cursor": null })),
        }
    }
}

fn print_plain(response: &Value) {
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).unwrap_or("-").to_owned();
    let line = |account: &Value| {
        let state = if account.get("disabled").and_then(Value::as_bool) == Some(true) { "disabled" } else { "active" };
        let (id, role, expires) = (text(account, "id"), text(account, "role"), text(account, "expires_at"));
        println!("{id}  {state:8}  {role:16}  until {expires}  {}", text(account, "name"));
    };
    match (response.get("service_accounts").and_then(Value::as_array), response.get("message")) {
        (Some(accounts), _) => accounts.iter().for_each(line),
        (None, Some(_)) => println!("{}", text(response, "message")),
        (None, None) => {
            line(response);
            if response.get("secret").is_some() {
                println!("secret, shown this once: {}", text(response, "secret"));
            }
        }
    }
}
