//! User administration.

mod body;

use actix_web::{HttpRequest, HttpResponse, web};
use muster_core::{Error, Kind};
use muster_identity::{By, Given as Made, NewUser};
use utoipa::OpenApi;

pub use body::UserBody;
use body::{NewUserBody, PasswordBody, UserList, UserPatchBody};

use crate::app::App;
use crate::ask::{self, PageQuery};
use crate::envelope::{self, Data, Given, Said};
use crate::error::{ErrorDisaster, HttpError};
use crate::guard::{Guarded, Queried, Sent, UsersRead, UsersWrite, by_of};
use crate::route::resource;

/// The routes of this room.
pub fn routes(config: &mut web::ServiceConfig) {
    config
        .service(resource!("/api/v1/users", get => list, post => create))
        .service(resource!("/api/v1/users/{id}", get => get, patch => patch, delete => delete))
        .service(resource!("/api/v1/users/{id}/password", post => password));
}

/// Their description.
#[derive(OpenApi, Debug)]
#[openapi(paths(list, create, get, patch, delete, password))]
pub struct Api;

/// Everybody, newest first. Needs `users:read`.
#[utoipa::path(get, path = "/api/v1/users", tag = "users", operation_id = "list_users", params(PageQuery),
    security(("token" = [])),
    responses((status = 200, body = Data<UserList>), (status = 400, body = ErrorDisaster),
        (status = 401, body = ErrorDisaster), (status = 403, body = ErrorDisaster),
        (status = 429, body = ErrorDisaster), (status = 503, body = ErrorDisaster)))]
async fn list(request: Queried<UsersRead, PageQuery>, app: web::Data<App>) -> Result<HttpResponse, HttpError> {
    let page = app.identity.users(request.query.into()).await?;
    Ok(envelope::list("users", &page.map(|user| UserBody::from(&*user))))
}

/// Makes a person. Needs `users:write`, which gives every role but `admin` and `super_admin`: those only a super_admin
/// gives. Single `grants` need that the caller has them too.
#[utoipa::path(post, path = "/api/v1/users", tag = "users", operation_id = "create_user", request_body = NewUserBody,
    params(("Idempotency-Key" = Option<String>, Header, description = "Up to 255 visible ASCII characters")),
    security(("token" = [])),
    responses((status = 201, body = Data<UserBody>), (status = 400, body = ErrorDisaster),
        (status = 401, body = ErrorDisaster), (status = 403, body = ErrorDisaster),
        (status = 409, body = ErrorDisaster), (status = 413, body = ErrorDisaster),
        (status = 415, body = ErrorDisaster), (status = 429, body = ErrorDisaster),
        (status = 503, body = ErrorDisaster)))]
async fn create(
    request: Sent<UsersWrite, NewUserBody>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let by = by_of(&http)?;
    let idempotency = ask::idempotency(&http, by.id(), &request.sent)?;
    let NewUserBody { email, password, name, role, grants } = request.body;
    let new = NewUser { email, name: name.unwrap_or_default(), role, grants: grants.unwrap_or_default() };
    let made = app.identity.create_user(by, new, password, idempotency).await?;
    let given = Given::again_if(made.given == Made::Before);
    Ok(envelope::created(UserBody::from(&*made.user), given))
}

/// One person, with its version as ETag. Needs `users:read`.
#[utoipa::path(get, path = "/api/v1/users/{id}", tag = "users", operation_id = "get_user",
    params(("id" = String, Path)), security(("token" = [])),
    responses((status = 200, body = Data<UserBody>), (status = 401, body = ErrorDisaster),
        (status = 403, body = ErrorDisaster), (status = 404, body = ErrorDisaster),
        (status = 429, body = ErrorDisaster), (status = 503, body = ErrorDisaster)))]
async fn get(
    _guard: Guarded<UsersRead>,
    id: web::Path<String>,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let id = id.into_inner();
    let nobody = || Error::new(Kind::NotFound, format!("nobody has the id {id}"));
    let user = app.identity.user(&id).await?.ok_or_else(nobody)?;
    Ok(envelope::record(user.version, UserBody::from(&*user)))
}

/// Changes a person. What the person may do changes at once, for open sessions and sockets too; a disabled person's
/// sessions end. Needs `users:write`, and the right to give both what the person has and what it is to have: every role
/// but `admin` and `super_admin`, which only a super_admin gives or takes, and single `grants` that the caller has too.
/// Nobody raises oneself, and the last active super_admin stays.
#[utoipa::path(patch, path = "/api/v1/users/{id}", tag = "users", operation_id = "patch_user",
    request_body = UserPatchBody,
    params(("id" = String, Path), ("If-Match" = String, Header, description = "The version that was read, or *")),
    security(("token" = [])),
    responses((status = 200, body = Data<UserBody>), (status = 400, body = ErrorDisaster),
        (status = 401, body = ErrorDisaster), (status = 403, body = ErrorDisaster),
        (status = 404, body = ErrorDisaster), (status = 409, body = ErrorDisaster),
        (status = 412, body = ErrorDisaster), (status = 413, body = ErrorDisaster),
        (status = 415, body = ErrorDisaster), (status = 428, body = ErrorDisaster),
        (status = 429, body = ErrorDisaster), (status = 503, body = ErrorDisaster)))]
async fn patch(
    request: Sent<UsersWrite, UserPatchBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let (by, if_match) = (by_of(&http)?, ask::if_match(&http)?);
    let user = app.identity.patch_user(by, id.into_inner(), request.body.into(), if_match).await?;
    Ok(envelope::record(user.version, UserBody::from(&*user)))
}

/// Removes a person; its sessions end. Needs `users:write`; of an `admin` or `super_admin`, to be a super_admin.
#[utoipa::path(delete, path = "/api/v1/users/{id}", tag = "users", operation_id = "delete_user",
    params(("id" = String, Path), ("If-Match" = String, Header, description = "The version that was read, or *")),
    security(("token" = [])),
    responses((status = 200, body = Said), (status = 400, body = ErrorDisaster), (status = 401, body = ErrorDisaster),
        (status = 403, body = ErrorDisaster), (status = 404, body = ErrorDisaster),
        (status = 409, body = ErrorDisaster), (status = 412, body = ErrorDisaster),
        (status = 428, body = ErrorDisaster), (status = 429, body = ErrorDisaster),
        (status = 503, body = ErrorDisaster)))]
async fn delete(
    _guard: Guarded<UsersWrite>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let (by, if_match): (By, _) = (by_of(&http)?, ask::if_match(&http)?);
    app.identity.delete_user(by, id.into_inner(), if_match).await?;
    Ok(envelope::said("user deleted"))
}

/// Gives a person another password; its sessions end. Needs `users:write`; of an `admin` or
/// `super_admin`, to be a super_admin; and every single grant that the person has.
#[utoipa::path(post, path = "/api/v1/users/{id}/password", tag = "users", operation_id = "reset_password",
    request_body = PasswordBody, params(("id" = String, Path)), security(("token" = [])),
    responses((status = 200, body = Said), (status = 400, body = ErrorDisaster), (status = 401, body = ErrorDisaster),
        (status = 403, body = ErrorDisaster), (status = 404, body = ErrorDisaster),
        (status = 413, body = ErrorDisaster), (status = 415, body = ErrorDisaster),
        (status = 429, body = ErrorDisaster), (status = 503, body = ErrorDisaster)))]
async fn password(
    request: Sent<UsersWrite, PasswordBody>,
    id: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    app.identity.reset_password(by_of(&http)?, id.into_inner(), request.body.password).await?;
    Ok(envelope::said("password reset: every session of this user has ended"))
}
