//! `muster keys`, `muster users`, `muster service-accounts` and `muster signing` on the data folder, with the actors that the server runs.

use std::sync::Arc;
use std::time::Duration;

use actix_rt::Arbiter;
use muster_cli::{
    CreateUserArgs, KeysCommand, ServiceAccountsCommand, SigningCommand, TeamsCommand, UsersCommand, read_password,
};
use muster_core::guard::StandingReader;
use muster_core::page::PageParams;
use muster_core::precondition::IfMatch;
use muster_core::supervise::Tree;
use muster_core::{Clock, Error};
use muster_identity::keys::{KeyActorOptions, KeyIssuer, KeyRecord, Keys, TeamRecord};
use muster_identity::{By, Identity, NewUser, ServiceAccountPatch, UserPatch, UserRecord};
use serde_json::{Value, json};

use crate::app;
use crate::config::Config;
use crate::http::auth::KeyChange;
use crate::http::keys::{CreatedKey, KeyBody};
use crate::http::service_accounts::{IssuedSecretBody, ServiceAccountBody};
use crate::http::teams::TeamBody;
use crate::http::users::UserBody;

/// Runs a subcommand of `muster keys`.
pub(super) async fn keys(config: &Config, command: KeysCommand) -> Result<Value, String> {
    with_keys(config, |keys| async move { on_keys(&keys, command).await }).await
}

/// Runs a subcommand of `muster teams`.
pub(super) async fn teams(config: &Config, command: TeamsCommand) -> Result<Value, String> {
    with_keys(config, |keys| async move { on_teams(&keys, command).await.map_err(|error| error.to_string()) }).await
}

/// Starts the key actor on the data folder, runs `work` and stops it.
async fn with_keys<F, Fut>(config: &Config, work: F) -> Result<Value, String>
where
    F: FnOnce(Keys) -> Fut,
    Fut: Future<Output = Result<Value, String>>,
{
    let hint = "is the server running? Then use --server http://127.0.0.1:8080, with an admin key in MUSTER_API_KEY";
    let store = app::open_store(config).map_err(|error| format!("{error}; {hint}"))?;
    let clock = Clock::system();
    let tree = Tree::new(Arbiter::current(), clock.clone());
    let options = KeyActorOptions { store: Arc::clone(&store) as _, clock, standing: StandingReader::unconstituted() };
    let keys = Keys::start(&tree.group("keys"), Arbiter::current(), options);
    keys.up().await;
    let done = work(keys).await;
    tree.stop().await;
    store.close();
    done
}

async fn on_keys(keys: &Keys, command: KeysCommand) -> Result<Value, String> {
    let body = |record: &KeyRecord| json!(KeyBody::from(record));
    match command {
        KeysCommand::Create(args) => {
            let made = keys.create(args.into(), KeyIssuer::Operator, None).await.map_err(|error| error.to_string())?;
            Ok(json!(CreatedKey { record: KeyBody::from(&*made.record), key: made.key.reveal() }))
        }
        KeysCommand::List => {
            let (mut all, mut after) = (Vec::new(), None);
            loop {
                let page = keys.list(200, after).await.map_err(|error| error.to_string())?;
                all.extend(page.keys.iter().map(|record| body(record)));
                after = page.next;
                if after.is_none() {
                    return Ok(json!({ "keys": all, "next_cursor": null }));
                }
            }
        }
        KeysCommand::Edit(args) => {
            let id = args.id.clone();
            let edited = keys.edit(id, (*args).into(), KeyIssuer::Operator, IfMatch::Any).await;
            edited.map(|record| body(&record)).map_err(|error| error.to_string())
        }
        KeysCommand::Rotate { id, grace } => {
            let grace = Duration::from_secs(grace);
            let made = keys.rotate(id, KeyIssuer::Operator, grace).await.map_err(|error| error.to_string())?;
            Ok(json!(CreatedKey { record: KeyBody::from(&*made.record), key: made.key.reveal() }))
        }
        KeysCommand::Revoke { id } => {
            keys.revoke(id, KeyIssuer::Operator).await.map(|record| body(&record)).map_err(|error| error.to_string())
        }
    }
}

async fn on_teams(keys: &Keys, command: TeamsCommand) -> Result<Value, Error> {
    let body = |team: &TeamRecord| json!(TeamBody::from(team));
    match command {
        TeamsCommand::Create(args) => {
            keys.create_team(args.into(), KeyIssuer::Operator, None).await.map(|(team, _)| body(&team))
        }
        TeamsCommand::List => {
            let teams: Vec<_> = keys.teams(usize::MAX, None).iter().map(|team| body(team)).collect();
            Ok(json!({ "teams": teams, "next_cursor": null }))
        }
        TeamsCommand::Edit(args) => {
            let id = args.id.clone();
            keys.edit_team(id, args.into(), KeyIssuer::Operator, IfMatch::Any).await.map(|team| body(&team))
        }
        TeamsCommand::Delete { id } => {
            keys.delete_team(id, KeyIssuer::Operator, IfMatch::Any).await.map(|team| body(&team))
        }
    }
}

/// Runs a subcommand of `muster users`.
pub(super) async fn users(config: &Config, command: UsersCommand) -> Result<Value, String> {
    with_identity(config, |identity| async move { on_users(&identity, command).await }).await
}

/// Runs a subcommand of `muster service-accounts`.
pub(super) async fn service_accounts(config: &Config, command: ServiceAccountsCommand) -> Result<Value, String> {
    let run = |identity: Identity| async move {
        on_service_accounts(&identity, command).await.map_err(|error: muster_core::Error| error.to_string())
    };
    with_identity(config, run).await
}

async fn on_service_accounts(
    identity: &Identity,
    command: ServiceAccountsCommand,
) -> Result<Value, muster_core::Error> {
    let body = |account: &UserRecord| json!(ServiceAccountBody::from(account));
    let patched = |id: String, disabled: bool| async move {
        let patch = ServiceAccountPatch { disabled: Some(disabled), ..ServiceAccountPatch::default() };
        identity.patch_service_account(By::System, id, patch, IfMatch::Any).await
    };
    match command {
        ServiceAccountsCommand::List => {
            let (mut all, mut after) = (Vec::new(), None);
            loop {
                let page = identity.service_accounts(PageParams { limit: 200, after }).await?;
                all.extend(page.items.iter().map(|account| body(account)));
                after = page.next;
                if after.is_none() {
                    return Ok(json!({ "service_accounts": all, "next_cursor": null }));
                }
            }
        }
        ServiceAccountsCommand::Create(args) => {
            let issued = identity.create_service_account(By::System, args.into(), None).await?;
            Ok(json!(IssuedSecretBody::from(issued)))
        }
        ServiceAccountsCommand::Rotate { id, grace } => {
            let issued = identity.rotate_service_account(By::System, id, Duration::from_secs(grace)).await?;
            Ok(json!(IssuedSecretBody::from(issued)))
        }
        ServiceAccountsCommand::Disable { id } => patched(id, true).await.map(|account| body(&account)),
        ServiceAccountsCommand::Enable { id } => patched(id, false).await.map(|account| body(&account)),
        ServiceAccountsCommand::Revoke { id } => {
            identity.delete_service_account(By::System, id).await?;
            Ok(json!({ "message": "service account revoked" }))
        }
    }
}

/// Runs a subcommand of `muster signing`.
pub(super) async fn signing(config: &Config, command: SigningCommand) -> Result<Value, String> {
    with_identity(config, |identity| async move {
        match command {
            SigningCommand::List => identity.jwks().map_err(|error| error.to_string()),
            SigningCommand::Rotate => {
                let changes = identity.rotate_keys(By::System).await.map_err(|error| error.to_string())?;
                Ok(json!({ "changes": changes.into_iter().map(KeyChange::from).collect::<Vec<_>>() }))
            }
        }
    })
    .await
}

/// Starts the identity actors on the data folder, runs `work` and stops them.
async fn with_identity<F, Fut, T>(config: &Config, work: F) -> Result<T, String>
where
    F: FnOnce(Identity) -> Fut,
    Fut: Future<Output = Result<T, String>>,
{
    let hint = "is the server running? Then log in with `muster login --server http://127.0.0.1:8080` and use --remote";
    let store = app::open_store(config).map_err(|error| format!("{error}; {hint}"))?;
    let clock = Clock::system();
    let tree = Tree::new(Arbiter::current(), clock.clone());
    let options = app::identity_options(config, &clock);
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

async fn on_users(identity: &Identity, command: UsersCommand) -> Result<Value, String> {
    let by = By::System;
    let text = |error: muster_core::Error| error.to_string();
    let body = |user: &UserRecord| json!(UserBody::from(user));
    let patched = |name: String, patch: UserPatch| async move {
        let user = found(identity, &name).await?;
        identity.patch_user(By::System, user.id.clone(), patch, IfMatch::Any).await.map_err(|error| error.to_string())
    };
    match command {
        UsersCommand::List => {
            let (mut all, mut after) = (Vec::new(), None);
            loop {
                let page = identity.users(PageParams { limit: 200, after }).await.map_err(text)?;
                all.extend(page.items.iter().map(|user| body(user)));
                after = page.next;
                if after.is_none() {
                    return Ok(json!({ "users": all, "next_cursor": null }));
                }
            }
        }
        UsersCommand::Create(CreateUserArgs { email, role, name, grants }) => {
            let new = NewUser { email, name, role: role.0, grants };
            let made = identity.create_user(by, new, read_password("password").await?, None).await.map_err(text)?;
            Ok(body(&made.user))
        }
        UsersCommand::Role { user, role } => {
            patched(user, UserPatch { role: Some(role.0), ..UserPatch::default() }).await.map(|user| body(&user))
        }
        UsersCommand::Disable { user } => {
            patched(user, UserPatch { disabled: Some(true), ..UserPatch::default() }).await.map(|user| body(&user))
        }
        UsersCommand::Enable { user } => {
            patched(user, UserPatch { disabled: Some(false), ..UserPatch::default() }).await.map(|user| body(&user))
        }
        UsersCommand::Password { user } => {
            let user = found(identity, &user).await?;
            let password = read_password("new password").await?;
            identity.reset_password(by, user.id.clone(), password).await.map(|user| body(&user)).map_err(text)
        }
        UsersCommand::Delete { user } => {
            let user = found(identity, &user).await?;
            identity.delete_user(by, user.id.clone(), IfMatch::Any).await.map_err(text)?;
            Ok(body(&user))
        }
    }
}

async fn found(identity: &Identity, name: &str) -> Result<Arc<UserRecord>, String> {
    let user = identity.user(name).await.map_err(|error| error.to_string())?;
    user.ok_or_else(|| format!("no user has the id or e-mail {name}: see `muster users list`"))
}
