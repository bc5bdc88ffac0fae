//! The current user and its sessions.

use actix_web::{HttpRequest, HttpResponse, web};
use muster_core::{Error, Kind, Millis};
use muster_identity::By;

use super::body::{LogoutBody, Me, PasswordBody, SessionBody, SessionList};
use crate::app::App;
use crate::envelope::{self, Data, Said};
use crate::error::{ErrorDisaster, HttpError};
use crate::guard::{AnyPerson, Guarded, Sent, peer, person_of};

/// Closes the session of a token, and so revokes the token. It is one's own, or anybody's with `sessions:revoke`. A
/// token that is unknown or has expired needs no revoking: that is a success too (RFC 7009).
#[utoipa::path(post, path = "/api/v1/auth/logout", tag = "auth", request_body = LogoutBody,
    security(("token" = [])),
    responses((status = 200, body = Said), (status = 400, body = ErrorDisaster), (status = 401, body = ErrorDisaster),
        (status = 403, body = ErrorDisaster), (status = 413, body = ErrorDisaster),
        (status = 415, body = ErrorDisaster), (status = 429, body = ErrorDisaster),
        (status = 503, body = ErrorDisaster)))]
pub async fn logout(
    request: Sent<AnyPerson, LogoutBody>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    app.identity.logout(&person_of(&http)?, &request.body.token).await?;
    Ok(envelope::said("logged out"))
}

/// Closes every session of one's own, this one too.
#[utoipa::path(post, path = "/api/v1/auth/logout-all", tag = "auth", security(("token" = [])),
    responses((status = 200, body = Said), (status = 401, body = ErrorDisaster), (status = 429, body = ErrorDisaster),
        (status = 503, body = ErrorDisaster)))]
pub async fn logout_all(
    _guard: Guarded<AnyPerson>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let person = person_of(&http)?;
    let user_id = person.user_id.to_string();
    let ended = app.identity.end_all(By::Person(person), user_id).await?;
    Ok(envelope::said(format!("{ended} sessions ended")))
}

/// Changes one's own password. Every session ends, this one too. A wrong present password counts as a failed login.
#[utoipa::path(post, path = "/api/v1/auth/password", tag = "auth", request_body = PasswordBody,
    operation_id = "change_password", security(("token" = [])),
    responses((status = 200, body = Said), (status = 400, body = ErrorDisaster), (status = 401, body = ErrorDisaster),
        (status = 413, body = ErrorDisaster), (status = 415, body = ErrorDisaster),
        (status = 429, body = ErrorDisaster), (status = 503, body = ErrorDisaster)))]
pub async fn password(
    request: Sent<AnyPerson, PasswordBody>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let PasswordBody { current_password, new_password } = request.body;
    app.identity.change_password(&person_of(&http)?, peer(&http), current_password, new_password).await?;
    Ok(envelope::said("password changed: log in again"))
}

/// The current user, as it stands now, whatever the token says.
#[utoipa::path(get, path = "/api/v1/auth/me", tag = "auth", security(("token" = [])),
    responses((status = 200, body = Data<Me>), (status = 401, body = ErrorDisaster),
        (status = 429, body = ErrorDisaster), (status = 503, body = ErrorDisaster)))]
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

/// One's own live sessions, newest first.
#[utoipa::path(get, path = "/api/v1/auth/sessions", tag = "auth", operation_id = "list_sessions",
    security(("token" = [])),
    responses((status = 200, body = Data<SessionList>), (status = 401, body = ErrorDisaster),
        (status = 429, body = ErrorDisaster), (status = 503, body = ErrorDisaster)))]
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

/// Closes a session: one's own, or anybody's with `sessions:revoke`. It is over, for its sockets too, when this is
/// answered.
#[utoipa::path(delete, path = "/api/v1/auth/sessions/{sid}", tag = "auth", operation_id = "end_session",
    params(("sid" = String, Path)), security(("token" = [])),
    responses((status = 200, body = Said), (status = 401, body = ErrorDisaster), (status = 404, body = ErrorDisaster),
        (status = 429, body = ErrorDisaster), (status = 503, body = ErrorDisaster)))]
pub async fn end(
    _guard: Guarded<AnyPerson>,
    sid: web::Path<String>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    app.identity.end_session(&person_of(&http)?, sid.into_inner()).await?;
    Ok(envelope::said("session ended"))
}
