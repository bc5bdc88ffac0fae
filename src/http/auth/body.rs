//! Requests and responses of authentication.

use muster_identity::{ClaimedClient, IssuedTokens, SessionRecord};
use muster_request::{Fields, Request};
use serde::Serialize;
use utoipa::ToSchema;

/// The credentials of a login.
#[derive(Request)]
#[request(example = { "email": "anna.berg@example.org", "password": "a long sentence is best" })]
pub struct LoginBody {
    pub email: String,
    /// At most 1,024 bytes without NUL. Compared in Unicode normalization form NFC.
    pub password: String,
    /// Description of the client by itself. It is stored and returned with the session, but never trusted.
    #[request(nested)]
    pub device_info: Option<DeviceInfo>,
}

/// A client's description of itself.
#[derive(Debug, Request)]
#[request(into = ClaimedClient)]
pub struct DeviceInfo {
    #[request(with = claimed)]
    user_agent: Option<String>,
    #[request(with = claimed)]
    ip_address: Option<String>,
}

fn claimed(fields: &mut Fields<'_>, name: &str) -> Option<String> {
    fields.string(name).map(|text| claim(&text))
}

/// Maximum length of a stored description, in characters.
const LONGEST_CLAIM: usize = 512;

/// Shortens a client's description of itself to the stored length.
pub fn claim(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(LONGEST_CLAIM).collect()
}

/// A refresh token.
#[derive(Request)]
#[request(example = { "refresh_token": "eyJ0eXAiOiJydCtqd3QiLCJhbGciOiJFZERTQSJ9.e30.c2lnbmF0dXJl" })]
pub struct RefreshBody {
    pub refresh_token: String,
}

/// Access or refresh token of the session to close.
#[derive(Request)]
#[request(example = { "token": "eyJ0eXAiOiJhdCtqd3QiLCJhbGciOiJFZERTQSJ9.e30.c2lnbmF0dXJl" })]
pub struct LogoutBody {
    pub token: String,
}

/// The current and the new password of the caller.
#[derive(Request)]
#[request(example = { "current_password": "a long sentence is best", "new_password": "another one is as good" })]
pub struct PasswordBody {
    pub current_password: String,
    /// 8 to 1,024 bytes without NUL.
    pub new_password: String,
}

/// The credentials of a service account.
#[derive(Request)]
#[request(example = {
    "service_account": "svc_01M81Q6Q7V0000G6T3S0QH4G3K", "secret": "mss_5Q7v1hKk3mF0cXqYt8rZ2bN6pLw9sJ4dG1aEoUiVxTM"
})]
pub struct ServiceLoginBody {
    /// Identifier of the service account.
    pub service_account: String,
    /// At most 200 characters.
    #[request(chars = 1..=200)]
    pub secret: String,
}

/// The tokens of a session.
#[derive(Debug, Serialize, ToSchema)]
pub struct Tokens {
    /// Access token, a JWT valid for `expires_in` seconds.
    pub token: String,
    /// Lifetime of the access token when it was issued, in seconds (`auth.access_seconds`; less if the session ends
    /// sooner).
    pub expires_in: u64,
    /// Refresh token, a JWT for a single use with `POST /api/v1/auth/refresh`.
    pub refresh_token: String,
    pub user: LoginUser,
}

/// The account in the response to a login.
#[derive(Debug, Serialize, ToSchema)]
pub struct LoginUser {
    pub id: String,
    /// E-mail address; of a service account its name at `service.invalid`, where no mail arrives.
    pub email: String,
    pub role: &'static str,
    /// Permissions, each `<resource>:<action>`.
    #[schema(value_type = Vec<String>)]
    pub permissions: Vec<&'static str>,
}

impl From<IssuedTokens> for Tokens {
    fn from(done: IssuedTokens) -> Self {
        let user = LoginUser {
            id: done.user.id.clone(),
            email: done.user.email.clone(),
            role: done.user.role.name(),
            permissions: done.user.permissions().names(),
        };
        Self { token: done.token, expires_in: done.expires_in, refresh_token: done.refresh_token, user }
    }
}

/// The current user.
#[derive(Debug, Serialize, ToSchema)]
pub struct Me {
    pub id: String,
    pub email: String,
    pub role: &'static str,
    /// Permissions, each `<resource>:<action>`.
    #[schema(value_type = Vec<String>)]
    pub permissions: Vec<&'static str>,
    pub created_at: String,
    pub last_login: Option<String>,
}

/// An active session.
#[derive(Debug, Serialize, ToSchema)]
pub struct SessionBody {
    pub id: String,
    /// Whether it is the session of this request.
    pub current: bool,
    pub created_at: String,
    pub last_used: String,
    /// Client address at login, as seen by the server.
    pub ip: Option<String>,
    pub user_agent: Option<String>,
    /// Description that the client sent at login.
    pub device_info: Option<ClaimedInfo>,
    /// Thumbprint of the key that the session's tokens are bound to.
    pub jkt: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct ClaimedInfo {
    pub user_agent: Option<String>,
    pub ip_address: Option<String>,
}

impl SessionBody {
    pub fn of(session: SessionRecord, current_session: &str) -> Self {
        let claimed =
            |claimed: ClaimedClient| ClaimedInfo { user_agent: claimed.user_agent, ip_address: claimed.ip_address };
        Self {
            current: session.id == current_session,
            id: session.id,
            created_at: session.created_at.rfc3339(),
            last_used: session.last_used.rfc3339(),
            ip: session.ip,
            user_agent: session.user_agent,
            device_info: session.claimed.map(claimed),
            jkt: session.jkt,
        }
    }
}

/// The active sessions, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct SessionList {
    pub sessions: Vec<SessionBody>,
    /// Always null: a user has at most 64 sessions.
    pub next_cursor: Option<String>,
}
