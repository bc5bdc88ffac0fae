//! The current user and its sessions.

use actix_web::{HttpRequest, HttpResponse, web};
use muster_core::{Error, Kind, Millis};
use muster_identity::By;

use super::body::{LogoutBody, Me, PasswordBody, SessionBody, SessionList};
use crate::app::App;
use crate::envelope::{self, Data, MessageBody};
use crate::error::HttpError;
use crate::error::sets::{BodyErrors, Disaster, NotFound, SessionBodyErrors, SessionErrors};
use crate::guard::{AnyPerson, Guarded, Sent, person_of};

/// Log out
///
/// Closes the session of a token, which revokes the token: the caller's own, or with the permission `sessions:revoke`
/// any. A token that is unknown or has expired is a success too (RFC 7009).
#[utoipa::path(post, path = "/api/v1/auth/logout", tag = "auth", operation_id = "logout", request_body = LogoutBody,
    responses((status = 200, description = "The session is closed", body = MessageBody), BodyErrors<Disaster>))]
pub async fn logout(
    request: Sent<AnyPerson, LogoutBody>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    app.identity.logout(&person_of(&http)?, &request.body.token).await?;
    Ok(envelope::message("logged out"))
}

/// Close all own sessions
///
/// Closes every session of the caller, including the one of this request.
#[utoipa::path(post, path = "/api/v1/auth/logout-all", tag = "auth", operation_id = "logout_all",
    responses((status = 200, description = "The sessions are closed", body = MessageBody), SessionErrors<Disaster>))]
pub async fn logout_all(
    _guard: Guarded<AnyPerson>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let person = person_of(&http)?;
    let user_id = person.user_id.to_string();
    let ended = app.identity.end_sessions(By::Person(person), user_id).await?;
    Ok(envelope::message(format!("{ended} sessions ended")))
}

/// Change the own password
///
/// Sets a new password. Every session of the caller ends, including the one of this request. A wrong current password
/// counts as a failed login.
#[utoipa::path(post, path = "/api/v1/auth/password", tag = "auth", operation_id = "change_password", request_body = PasswordBody,
    responses((status = 200, description = "The password is changed", body = MessageBody), SessionBodyErrors<Disaster>))]
pub async fn password(
    request: Sent<AnyPerson, PasswordBody>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let PasswordBody { current_password, new_password } = request.body;
    app.identity.change_password(&person_of(&http)?, current_password, new_password).await?;
    Ok(envelope::message("password changed: log in again"))
}

/// Get the current user
///
/// Returns the account of the caller as it is now, which may differ from the claims of the token.
#[utoipa::path(get, path = "/api/v1/auth/me", tag = "auth", operation_id = "get_current_user",
    responses((status = 200, description = "The account of the caller", body = Data<Me>), SessionErrors<Disaster>))]
pub async fn me(_guard: Guarded<AnyPerson>, http: HttpRequest, app: web::Data<App>) -> Result<HttpResponse, HttpError> {
    let person = person_of(&http)?;
    let gone = || Error::new(Kind::Unauthenticated, "the person of this session is gone");
    let user = app.identity.user(&person.user_id).await?.ok_or_else(gone)?;
    Ok(envelope::data(Me {
        id: user.id.clone(),
        email: user.email.clone(),
        role: user.role.name(),
        permissions: user.permissions().names(),
        created_at: user.created_at.rfc3339(),
        last_login: user.last_login.map(Millis::rfc3339),
    }))
}

/// List the own sessions
///
/// Returns the active sessions of the caller, newest first.
#[utoipa::path(get, path = "/api/v1/auth/sessions", tag = "auth", operation_id = "list_sessions",
    responses((status = 200, description = "The sessions", body = Data<SessionList>), SessionErrors<Disaster>))]
pub async fn list(
    _guard: Guarded<AnyPerson>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let person = person_of(&http)?;
    let found = app.identity.sessions(person.user_id.to_string()).await?;
    let sessions = found.into_iter().map(|session| SessionBody::of(session, &person.session_id)).collect();
    Ok(envelope::data(SessionList { sessions, next_cursor: None }))
}

/// Close a session
///
/// Closes a session: one of the caller, or with the permission `sessions:revoke` any; that of an `admin` or `super_admin`
/// only a `super_admin` closes. When this returns, the session and its live connections have ended.
#[utoipa::path(delete, path = "/api/v1/auth/sessions/{sid}", tag = "auth", operation_id = "end_session",
    params(("sid" = String, Path)),
    responses((status = 200, description = "The session is closed", body = MessageBody), SessionErrors<Disaster>,
        NotFound<Disaster>))]
pub async fn end(
    _guard: Guarded<AnyPerson>,
    sid: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    app.identity.end_session(&person_of(&http)?, sid.into_inner()).await?;
    Ok(envelope::message("session ended"))
}
