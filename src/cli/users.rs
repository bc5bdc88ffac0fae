//! `muster users`: on the data folder while the server is stopped, or through a running server.

use std::process::ExitCode;
use std::sync::Arc;

use actix_rt::Arbiter;
use clap::{Subcommand, ValueEnum};
use muster_core::Clock;
use muster_core::page::PageAsk;
use muster_core::precondition::IfMatch;
use muster_core::principal::{Permission, UserRole};
use muster_core::supervise::Tree;
use muster_identity::{By, Identity, NewUser, UserPatch, UserRecord};
use reqwest::Method;
use serde_json::{Value, json};

use super::session::Device;
use super::{Settings, fail, prompt};
use crate::app;
use crate::http::users::UserBody;

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

#[derive(Debug, Subcommand)]
enum UsersCommand {
    /// List people, newest first.
    #[command(after_help = "Example:\n  muster users list --json")]
    List,
    /// Make a person. The password is asked for, or read from standard input.
    #[command(
        after_help = "Examples:\n  muster users create --email ann@example.org --role operator\n  muster users --remote create --email bob@example.org --role viewer --grant firmware:read < password.txt"
    )]
    Create(CreateArgs),
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

#[derive(Debug, clap::Args)]
struct CreateArgs {
    #[arg(long)]
    email: String,
    #[arg(long, value_enum)]
    role: RoleArg,
    #[arg(long, default_value = "")]
    name: String,
    /// A permission besides those of the role, `<resource>:<action>`; give it once for each.
    #[arg(long = "grant", value_parser = parse_permission)]
    grants: Vec<Permission>,
}

fn parse_permission(text: &str) -> Result<Permission, String> {
    Permission::parse(text).ok_or_else(|| {
        format!("must be one of {}", Permission::ALL.iter().map(|known| known.name()).collect::<Vec<_>>().join(", "))
    })
}

/// The roles as words of the command line.
#[derive(Debug, Clone, Copy)]
struct RoleArg(UserRole);

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

pub(super) fn run(args: UsersArgs) -> ExitCode {
    let done = actix_rt::System::new().block_on(async {
        if args.remote { remote(args.command).await } else { local(&args.settings, args.command).await }
    });
    match done {
        Ok(said) if args.json => println!("{said}"),
        Ok(said) => print_plain(&said),
        Err(error) => return fail(&error),
    }
    ExitCode::SUCCESS
}

/// Works on the data folder itself, with the same actors that the server runs.
pub(super) async fn with_identity<F, Fut, T>(settings: &Settings, work: F) -> Result<T, String>
where
    F: FnOnce(Identity) -> Fut,
    Fut: Future<Output = Result<T, String>>,
{
    let (config, _) = settings.load().map_err(|error| error.to_string())?;
    let hint = "is the server running? Then log in with `muster login --server http://127.0.0.1:8080` and say --remote";
    let store = app::open_store(&config).map_err(|error| format!("{error}; {hint}"))?;
    let clock = Clock::system();
    let tree = Tree::new(Arbiter::current(), clock.clone());
    let options = app::identity_options(&config, &clock);
    let port = Arc::clone(&store) as _;
    let identity = Identity::start(&tree.group("identity"), Arbiter::current(), &port, options);
    let done = match identity {
        Ok(identity) => {
            identity.up().await;
            work(identity).await
        }
        Err(error) => Err(error.to_string()),
    };
    tree.stop().await;
    store.close();
    done
}

async fn local(settings: &Settings, command: UsersCommand) -> Result<Value, String> {
    with_identity(settings, |identity| async move { on_people(&identity, command).await }).await
}

async fn on_people(identity: &Identity, command: UsersCommand) -> Result<Value, String> {
    let by = By::System;
    let text = |error: muster_core::Error| error.to_string();
    let say = |user: &UserRecord| json!(UserBody::from(user));
    let patched = |name: String, patch: UserPatch| async move {
        let user = found(identity, &name).await?;
        identity.patch_user(By::System, user.id.clone(), patch, IfMatch::Any).await.map_err(|error| error.to_string())
    };
    match command {
        UsersCommand::List => {
            let (mut all, mut after) = (Vec::new(), None);
            loop {
                let page = identity.users(PageAsk { limit: 200, after }).await.map_err(text)?;
                all.extend(page.items.iter().map(|user| say(user)));
                after = page.next;
                if after.is_none() {
                    return Ok(json!({ "users": all, "next_cursor": null }));
                }
            }
        }
        UsersCommand::Create(CreateArgs { email, role, name, grants }) => {
            let new = NewUser { email, name, role: role.0, grants };
            let made = identity.create_user(by, new, prompt::password("password")?, None).await.map_err(text)?;
            Ok(say(&made.user))
        }
        UsersCommand::Role { user, role } => {
            patched(user, UserPatch { role: Some(role.0), ..UserPatch::default() }).await.map(|user| say(&user))
        }
        UsersCommand::Disable { user } => {
            patched(user, UserPatch { disabled: Some(true), ..UserPatch::default() }).await.map(|user| say(&user))
        }
        UsersCommand::Enable { user } => {
            patched(user, UserPatch { disabled: Some(false), ..UserPatch::default() }).await.map(|user| say(&user))
        }
        UsersCommand::Password { user } => {
            let user = found(identity, &user).await?;
            let password = prompt::password("new password")?;
            identity.reset_password(by, user.id.clone(), password).await.map(|user| say(&user)).map_err(text)
        }
        UsersCommand::Delete { user } => {
            let user = found(identity, &user).await?;
            identity.delete_user(by, user.id.clone(), IfMatch::Any).await.map_err(text)?;
            Ok(say(&user))
        }
    }
}

async fn found(identity: &Identity, name: &str) -> Result<Arc<UserRecord>, String> {
    let user = identity.user(name).await.map_err(|error| error.to_string())?;
    user.ok_or_else(|| format!("nobody has the id or e-mail {name}: see `muster users list`"))
}

/// Asks the server that `muster login` was made to.
async fn remote(command: UsersCommand) -> Result<Value, String> {
    let device = &Device::open()?;
    let data = |said: Value| said.get("data").cloned().unwrap_or(said);
    let patch = |user: String, patch: Value| async move {
        let path = format!("/api/v1/users/{}", id_of(device, user).await?);
        device.ask(Method::PATCH, &path, Some(&patch), Some("*")).await.map(data)
    };
    match command {
        UsersCommand::List => Ok(json!({ "users": all(device).await?, "next_cursor": null })),
        UsersCommand::Create(CreateArgs { email, role, name, grants }) => {
            let password = prompt::password("password")?;
            let body = json!({ "email": email, "role": role.0, "name": name, "grants": grants, "password": password });
            device.ask(Method::POST, "/api/v1/users", Some(&body), None).await.map(data)
        }
        UsersCommand::Role { user, role } => patch(user, json!({ "role": role.0 })).await,
        UsersCommand::Disable { user } => patch(user, json!({ "disabled": true })).await,
        UsersCommand::Enable { user } => patch(user, json!({ "disabled": false })).await,
        UsersCommand::Password { user } => {
            let path = format!("/api/v1/users/{}/password", id_of(device, user).await?);
            let body = json!({ "password": prompt::password("new password")? });
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
