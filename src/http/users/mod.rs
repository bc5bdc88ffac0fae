//! User administration.

mod body;

use std::ops::ControlFlow;

use actix_web::{HttpRequest, HttpResponse, web};
use muster_core::{Error, Kind};
use muster_identity::{By, NewUser};

pub use body::UserBody;
use body::{NewUserBody, PasswordBody, UserList, UserPatchBody};

use crate::app::App;
use crate::envelope::{self, Data, IdempotencyReplay, MessageBody};
use crate::error::HttpError;
use crate::error::sets::{
    BodyErrors, CallErrors, Conflict, Disaster, Gone, NotFound, ReadErrors, VersionErrors, WriteErrors,
};
use crate::governance;
use crate::guard::{Guarded, Queried, Sent, UsersRead, UsersWrite, by_of};
use crate::parameters::{self, PageQuery};
use crate::route::operations;

operations! {
    list,
    create,
    get,
    patch,
    delete,
    password,
}

/// List users
///
/// Returns a page of user accounts, newest first.
#[utoipa::path(get, path = "/api/v1/users", tag = "users", operation_id = "list_users", params(PageQuery),
    responses((status = 200, description = "A page of users", body = Data<UserList>), ReadErrors<Disaster>))]
async fn list(request: Queried<UsersRead, PageQuery>, app: web::Data<App>) -> Result<HttpResponse, HttpError> {
    let page = app.identity.users(request.query.into()).await?;
    Ok(envelope::list("users", &page.map(|user| UserBody::from(&*user))))
}

/// Create a user
///
/// Creates a user account with a role. The roles `admin` and `super_admin` can only be assigned by a `super_admin`.
/// A caller can only grant permissions that the caller has.
#[utoipa::path(post, path = "/api/v1/users", tag = "users", operation_id = "create_user", request_body = NewUserBody,
    params(("Idempotency-Key" = Option<String>, Header, description = "Up to 255 visible ASCII characters")),
    responses((status = 201, description = "The new account", body = Data<UserBody>), WriteErrors<Disaster>, Gone<Disaster>))]
async fn create(
    request: Sent<UsersWrite, NewUserBody>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let by = by_of(&http)?;
    let idempotency = parameters::idempotency(&http, by.id(), &request.sent)?;
    let NewUserBody { email, password, name, role, grants } = request.body;
    let new = NewUser { email, name: name.unwrap_or_default(), role, grants: grants.unwrap_or_default() };
    let service = app.identity.clone();
    let run = move |permit| async move { service.create_user_permitted(by, new, password, idempotency, permit).await };
    let made = match governance::guarded(&app, &http, &request.sent, run).await? {
        ControlFlow::Break(opened) => return Ok(opened),
        ControlFlow::Continue(made) => made,
    };
    let replay = IdempotencyReplay::from(made.replayed);
    Ok(envelope::created(UserBody::from(&*made.user), replay))
}

/// Get a user
///
/// Returns one user account, with its version as `ETag`.
#[utoipa::path(get, path = "/api/v1/users/{id}", tag = "users", operation_id = "get_user", params(("id" = String, Path)),
    responses((status = 200, description = "The account", body = Data<UserBody>), CallErrors<Disaster>,
        NotFound<Disaster>))]
async fn get(
    _guard: Guarded<UsersRead>,
    id: web::Path<String>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let id = id.into_inner();
    let missing = || Error::new(Kind::NotFound, format!("there is no user with the id {id}"));
    let user = app.identity.user(&id).await?.filter(|user| user.service.is_none()).ok_or_else(missing)?;
    Ok(envelope::record(user.version, UserBody::from(&*user)))
}

/// Update a user
///
/// Changes a user account. A field that is left out keeps its value. New rights take effect at once, also for open
/// sessions and live connections; the sessions of a disabled user end.
///
/// The caller must be able to assign both the current and the new rights: any role but `admin` and `super_admin`, which
/// only a `super_admin` assigns or removes, and only `grants` that the caller has. Callers cannot raise their own
/// rights, and the last active `super_admin` cannot be removed.
#[utoipa::path(patch, path = "/api/v1/users/{id}", tag = "users", operation_id = "patch_user", request_body = UserPatchBody,
    params(("id" = String, Path), ("If-Match" = String, Header, description = "The version that was read, or *")),
    responses((status = 200, description = "The changed account", body = Data<UserBody>), WriteErrors<Disaster>,
        VersionErrors<Disaster>, NotFound<Disaster>, Gone<Disaster>))]
async fn patch(
    request: Sent<UsersWrite, UserPatchBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let (by, if_match) = (by_of(&http)?, parameters::if_match(&http)?);
    let (service, id, patch) = (app.identity.clone(), id.into_inner(), request.body.into());
    let run = move |permit| async move { service.patch_user_permitted(by, id, patch, if_match, permit).await };
    match governance::guarded(&app, &http, &request.sent, run).await? {
        ControlFlow::Break(opened) => Ok(opened),
        ControlFlow::Continue(user) => Ok(envelope::record(user.version, UserBody::from(&*user))),
    }
}

/// Delete a user
///
/// Deletes a user account and ends its sessions. An `admin` or `super_admin` can only be deleted by a `super_admin`.
#[utoipa::path(delete, path = "/api/v1/users/{id}", tag = "users", operation_id = "delete_user",
    params(("id" = String, Path), ("If-Match" = String, Header, description = "The version that was read, or *")),
    responses((status = 200, description = "The account is deleted", body = MessageBody), ReadErrors<Disaster>,
        VersionErrors<Disaster>, NotFound<Disaster>, Conflict<Disaster>))]
async fn delete(
    _guard: Guarded<UsersWrite>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let (by, if_match): (By, _) = (by_of(&http)?, parameters::if_match(&http)?);
    app.identity.delete_user(by, id.into_inner(), if_match).await?;
    Ok(envelope::message("user deleted"))
}

/// Reset a user's password
///
/// Sets a new password for a user and ends the sessions of that user. For an `admin` or `super_admin` the caller must
/// be a `super_admin`; the caller must have every single grant of the user.
#[utoipa::path(post, path = "/api/v1/users/{id}/password", tag = "users", operation_id = "reset_password",
    request_body = PasswordBody, params(("id" = String, Path)),
    responses((status = 200, description = "The password is changed", body = MessageBody), BodyErrors<Disaster>,
        NotFound<Disaster>))]
async fn password(
    request: Sent<UsersWrite, PasswordBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    app.identity.reset_password(by_of(&http)?, id.into_inner(), request.body.password).await?;
    Ok(envelope::message("password reset: every session of this user has ended"))
}
