//! `muster users`: user accounts, in the data directory of a stopped server or on a running server.

use std::process::ExitCode;

use clap::{Subcommand, ValueEnum};
use muster_core::principal::{Permission, UserRole};
use reqwest::Method;
use serde_json::{Value, json};

use crate::connection::TlsArgs;
use crate::session::UserClient;
use crate::{Environment, LocalServer, Settings, block_on, fail, prompt};

#[derive(Debug, clap::Args)]
pub(super) struct UsersArgs {
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
    command: UsersCommand,
}

/// Subcommands of `muster users`.
#[derive(Debug, Subcommand)]
pub enum UsersCommand {
    /// List users, newest first.
    #[command(after_help = "Example:\n  muster users list --json")]
    List,
    /// Create a user. The password is prompted for, or read from standard input.
    #[command(
        after_help = "Examples:\n  muster users create --email ann@example.org --role operator\n  muster users --remote create --email bob@example.org --role viewer --grant firmware:read < password.txt"
    )]
    Create(CreateUserArgs),
    /// Change the role of a user.
    #[command(after_help = "Example:\n  muster users role ann@example.org incident_commander")]
    Role {
        /// User id or e-mail.
        user: String,
        /// The new role.
        #[arg(value_enum)]
        role: RoleArg,
    },
    /// Disable a user and end all sessions.
    #[command(after_help = "Example:\n  muster users disable ann@example.org")]
    Disable {
        /// User id or e-mail.
        user: String,
    },
    /// Enable a disabled user.
    #[command(after_help = "Example:\n  muster users enable ann@example.org")]
    Enable {
        /// User id or e-mail.
        user: String,
    },
    /// Set a new password, prompted for or read from standard input, and end all sessions.
    #[command(after_help = "Example:\n  muster users password ann@example.org < password.txt")]
    Password {
        /// User id or e-mail.
        user: String,
    },
    /// Delete a user and end all sessions.
    #[command(after_help = "Example:\n  muster users delete ann@example.org")]
    Delete {
        /// User id or e-mail.
        user: String,
    },
}

/// Arguments of `muster users create`.
#[derive(Debug, clap::Args)]
pub struct CreateUserArgs {
    /// E-mail address, used to log in.
    #[arg(long)]
    pub email: String,
    /// Role, which determines the permissions.
    #[arg(long, value_enum)]
    pub role: RoleArg,
    /// Display name.
    #[arg(long, default_value = "")]
    pub name: String,
    /// Additional permission, `<resource>:<action>`; repeat for several.
    #[arg(long = "grant", value_parser = parse_permission)]
    pub grants: Vec<Permission>,
}

fn parse_permission(text: &str) -> Result<Permission, String> {
    Permission::parse(text).ok_or_else(|| {
        format!("must be one of {}", Permission::ALL.iter().map(|known| known.name()).collect::<Vec<_>>().join(", "))
    })
}

/// A role as an argument.
#[derive(Debug, Clone, Copy)]
pub struct RoleArg(pub UserRole);

impl ValueEnum for RoleArg {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [RoleArg; UserRole::ALL.len()] = {
            let mut all = [RoleArg(UserRole::Viewer); UserRole::ALL.len()];
            let mut n = 0;
            #[allow(clippy::indexing_slicing, reason = "checked when this is compiled")]
            while n < all.len() {
                all[n] = RoleArg(UserRole::ALL[n]);
                n += 1;
            }
            all
        };
        &ALL
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        Some(clap::builder::PossibleValue::new(self.0.name()))
    }
}

pub(super) fn run(args: UsersArgs, environment: &Environment, server: &impl LocalServer) -> ExitCode {
    let result = if args.remote {
        block_on(remote(args.command, &args.tls, environment))
    } else {
        server.users(&args.settings, args.command)
    };
    match result {
        Ok(response) if args.json => println!("{response}"),
        Ok(response) => print_plain(&response),
        Err(error) => return fail(&error),
    }
    ExitCode::SUCCESS
}

/// Runs the command on the server of the stored login.
async fn remote(command: UsersCommand, tls: &TlsArgs, environment: &Environment) -> Result<Value, String> {
    let client = &UserClient::open(environment, tls)?;
    let data = |response: Value| response.get("data").cloned().unwrap_or(response);
    let patch = |user: String, patch: Value| async move {
        let path = format!("/api/v1/users/{}", id_of(client, user).await?);
        client.call(Method::PATCH, &path, Some(&patch), Some("*")).await.map(data)
    };
    match command {
        UsersCommand::List => Ok(json!({ "users": all_users(client).await?, "next_cursor": null })),
        UsersCommand::Create(CreateUserArgs { email, role, name, grants }) => {
            let password = prompt::read_password("password").await?;
            let body = json!({ "email": email, "role": role.0, "name": name, "grants": grants, "password": password });
            client.call(Method::POST, "/api/v1/users", Some(&body), None).await.map(data)
        }
        UsersCommand::Role { user, role } => patch(user, json!({ "role": role.0 })).await,
        UsersCommand::Disable { user } => patch(user, json!({ "disabled": true })).await,
        UsersCommand::Enable { user } => patch(user, json!({ "disabled": false })).await,
        UsersCommand::Password { user } => {
            let path = format!("/api/v1/users/{}/password", id_of(client, user).await?);
            let body = json!({ "password": prompt::read_password("new password").await? });
            client.call(Method::POST, &path, Some(&body), None).await
        }
        UsersCommand::Delete { user } => {
            let path = format!("/api/v1/users/{}", id_of(client, user).await?);
            client.call(Method::DELETE, &path, None, Some("*")).await
        }
    }
}

async fn all_users(client: &UserClient) -> Result<Vec<Value>, String> {
    let (mut all, mut path) = (Vec::new(), "/api/v1/users?limit=200".to_owned());
    loop {
        let response = client.call(Method::GET, &path, None, None).await?;
        let users = response.pointer("/data/users").and_then(Value::as_array).cloned().unwrap_or_default();
        all.extend(users);
        match response.pointer("/data/next_cursor").and_then(Value::as_str) {
            Some(next) => path = format!("/api/v1/users?limit=200&cursor={next}"),
            None => return Ok(all),
        }
    }
}

async fn id_of(client: &UserClient, name: String) -> Result<String, String> {
    if !name.contains('@') {
        return Ok(name);
    }
    let is = |user: &&Value| {
        user.get("email").and_then(Value::as_str).is_some_and(|email| email.eq_ignore_ascii_case(&name))
    };
    let found = all_users(client).await?.iter().find(is).and_then(|user| user.get("id")?.as_str().map(str::to_owned));
    found.ok_or_else(|| format!("no user has the e-mail {name}: see `muster users --remote list`"))
}

fn print_plain(response: &Value) {
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).unwrap_or("-").to_owned();
    let line = |user: &Value| {
        let state = if user.get("disabled").and_then(Value::as_bool) == Some(true) { "disabled" } else { "active" };
        println!("{}  {state:8}  {:18}  {}", text(user, "id"), text(user, "role"), text(user, "email"));
    };
    match (response.get("users").and_then(Value::as_array), response.get("message")) {
        (Some(users), _) => users.iter().for_each(line),
        (None, Some(_)) => println!("{}", text(response, "message")),
        (None, None) => line(response),
    }
}
