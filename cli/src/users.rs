//! `muster users`: on the data folder while the server is stopped, or through a running server.

use std::process::ExitCode;

use clap::{Subcommand, ValueEnum};
use muster_core::principal::{Permission, UserRole};
use reqwest::Method;
use serde_json::{Value, json};

use crate::session::Device;
use crate::{Environment, LocalServer, Settings, block_on, fail, prompt};

#[derive(Debug, clap::Args)]
pub(super) struct UsersArgs {
    #[command(flatten)]
    settings: Settings,
    /// Through the running server that `muster login` was made to; without it the data folder itself.
    #[arg(long, global = true)]
    remote: bool,
    /// Say it as JSON.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: UsersCommand,
}

/// Subcommands of `muster users`.
#[derive(Debug, Subcommand)]
pub enum UsersCommand {
    /// List people, newest first.
    #[command(after_help = "Example:\n  muster users list --json")]
    List,
    /// Make a person. The password is asked for, or read from standard input.
    #[command(
        after_help = "Examples:\n  muster users create --email ann@example.org --role operator\n  muster users --remote create --email bob@example.org --role viewer --grant firmware:read < password.txt"
    )]
    Create(CreateUserArgs),
    /// Give a person another role.
    #[command(after_help = "Example:\n  muster users role ann@example.org incident_commander")]
    Role {
        /// The person's id or e-mail.
        user: String,
        #[arg(value_enum)]
        role: RoleArg,
    },
    /// Keep a person out; open sessions end.
    #[command(after_help = "Example:\n  muster users disable ann@example.org")]
    Disable {
        /// The person's id or e-mail.
        user: String,
    },
    /// Let a person in again.
    #[command(after_help = "Example:\n  muster users enable ann@example.org")]
    Enable {
        /// The person's id or e-mail.
        user: String,
    },
    /// Give a person another password, asked for or read from standard input; open sessions end.
    #[command(after_help = "Example:\n  muster users password ann@example.org < password.txt")]
    Password {
        /// The person's id or e-mail.
        user: String,
    },
    /// Remove a person; open sessions end.
    #[command(after_help = "Example:\n  muster users delete ann@example.org")]
    Delete {
        /// The person's id or e-mail.
        user: String,
    },
}

/// Arguments of `muster users create`.
#[derive(Debug, clap::Args)]
pub struct CreateUserArgs {
    #[arg(long)]
    pub email: String,
    #[arg(long, value_enum)]
    pub role: RoleArg,
    #[arg(long, default_value = "")]
    pub name: String,
    /// A permission besides those of the role, `<resource>:<action>`; give it once for each.
    #[arg(long = "grant", value_parser = parse_permission)]
    pub grants: Vec<Permission>,
}

fn parse_permission(text: &str) -> Result<Permission, String> {
    Permission::parse(text).ok_or_else(|| {
        format!("must be one of {}", Permission::ALL.iter().map(|known| known.name()).collect::<Vec<_>>().join(", "))
    })
}

/// The roles as words of the command line.
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
    let done = if args.remote {
        block_on(remote(args.command, environment))
    } else {
        server.users(&args.settings, args.command)
    };
    match done {
        Ok(said) if args.json => println!("{said}"),
        Ok(said) => print_plain(&said),
        Err(error) => return fail(&error),
    }
    ExitCode::SUCCESS
}

/// Asks the server that `muster login` was made to.
async fn remote(command: UsersCommand, environment: &Environment) -> Result<Value, String> {
    let device = &Device::open(environment)?;
    let data = |said: Value| said.get("data").cloned().unwrap_or(said);
    let patch = |user: String, patch: Value| async move {
        let path = format!("/api/v1/users/{}", id_of(device, user).await?);
        device.ask(Method::PATCH, &path, Some(&patch), Some("*")).await.map(data)
    };
    match command {
        UsersCommand::List => Ok(json!({ "users": all(device).await?, "next_cursor": null })),
        UsersCommand::Create(CreateUserArgs { email, role, name, grants }) => {
            let password = prompt::read_password("password")?;
            let body = json!({ "email": email, "role": role.0, "name": name, "grants": grants, "password": password });
            device.ask(Method::POST, "/api/v1/users", Some(&body), None).await.map(data)
        }
        UsersCommand::Role { user, role } => patch(user, json!({ "role": role.0 })).await,
        UsersCommand::Disable { user } => patch(user, json!({ "disabled": true })).await,
        UsersCommand::Enable { user } => patch(user, json!({ "disabled": false })).await,
        UsersCommand::Password { user } => {
            let path = format!("/api/v1/users/{}/password", id_of(device, user).await?);
            let body = json!({ "password": prompt::read_password("new password")? });
            device.ask(Method::POST, &path, Some(&body), None).await
        }
        UsersCommand::Delete { user } => {
            let path = format!("/api/v1/users/{}", id_of(device, user).await?);
            device.ask(Method::DELETE, &path, None, Some("*")).await
        }
    }
}

async fn all(device: &Device) -> Result<Vec<Value>, String> {
    let (mut all, mut path) = (Vec::new(), "/api/v1/users?limit=200".to_owned());
    loop {
        let said = device.ask(Method::GET, &path, None, None).await?;
        let users = said.pointer("/data/users").and_then(Value::as_array).cloned().unwrap_or_default();
        all.extend(users);
        match said.pointer("/data/next_cursor").and_then(Value::as_str) {
            Some(next) => path = format!("/api/v1/users?limit=200&cursor={next}"),
            None => return Ok(all),
        }
    }
}

async fn id_of(device: &Device, name: String) -> Result<String, String> {
    if !name.contains('@') {
        return Ok(name);
    }
    let is = |user: &&Value| {
        user.get("email").and_then(Value::as_str).is_some_and(|email| email.eq_ignore_ascii_case(&name))
    };
    let found = all(device).await?.iter().find(is).and_then(|user| user.get("id")?.as_str().map(str::to_owned));
    found.ok_or_else(|| format!("nobody has the e-mail {name}: see `muster users --remote list`"))
}

fn print_plain(said: &Value) {
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).unwrap_or("-").to_owned();
    let line = |user: &Value| {
        let state = if user.get("disabled").and_then(Value::as_bool) == Some(true) { "disabled" } else { "active" };
        println!("{}  {state:8}  {:18}  {}", text(user, "id"), text(user, "role"), text(user, "email"));
    };
    match (said.get("users").and_then(Value::as_array), said.get("message")) {
        (Some(users), _) => users.iter().for_each(line),
        (None, Some(_)) => println!("{}", text(said, "message")),
        (None, None) => line(said),
    }
}
