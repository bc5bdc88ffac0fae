//! What these routes take and give.

use muster_identity::{ClaimedClient, IssuedTokens, SessionRecord};
use muster_request::{Fields, Request};
use serde::Serialize;
use utoipa::ToSchema;

/// Who wants to log in.
#[derive(Request)]
#[request(example = { "email": "anna.berg@example.org", "password": "a long sentence is best" })]
pub struct LoginBody {
    pub email: String,
    /// At most 1,024 bytes, none of them NUL. Compared in Unicode's NFC.
    pub password: String,
    /// What the client says of itself: stored and shown, never trusted.
    #[request(nested)]
    pub device_info: Option<DeviceInfo>,
}

/// What a client says of itself.
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

/// Longest text kept of what a client says of itself, in characters.
const LONGEST_CLAIM: usize = 512;

/// What a client says of itself, cut to what is kept.
pub fn claim(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(LONGEST_CLAIM).collect()
}

/// A refresh token.
#[derive(Request)]
#[request(example = { "refresh_token": "eyJ0eXAiOiJydCtqd3QiLCJhbGciOiJFZERTQSJ9.e30.c2lnbmF0dXJl" })]
pub struct RefreshBody {
    pub refresh_token: String,
}

/// The token to revoke: of access or of refresh.
#[derive(Request)]
#[request(example = { "token": "eyJ0eXAiOiJhdCtqd3QiLCJhbGciOiJFZERTQSJ9.e30.c2lnbmF0dXJl" })]
pub struct LogoutBody {
    pub token: String,
}

/// A change of one's own password.
#[derive(Request)]
#[request(example = { "current_password": "a long sentence is best", "new_password": "another one is as good" })]
pub struct PasswordBody {
    pub current_password: String,
    /// 8 to 1,024 bytes, none of them NUL.
    pub new_password: String,
}

/// What a login and a refresh give.
#[derive(Debug, Serialize, ToSchema)]
pub struct Tokens {
    /// A JWT, good for 15 minutes.
    pub token: String,
    /// A JWT, good once, for `POST /api/v1/auth/refresh`.
    pub refresh_token: String,
    pub user: LoginUser,
}

/// A person, as a login tells.
#[derive(Debug, Serialize, ToSchema)]
pub struct LoginUser {
    pub id: String,
    pub email: String,
    pub role: &'static str,
    /// Each `<resource>:<action>`.
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
        Self { token: done.token, refresh_token: done.refresh_token, user }
    }
}

/// The current user.
#[derive(Debug, Serialize, ToSchema)]
pub struct Me {
    pub id: String,
    pub email: String,
    pub role: &'static str,
    /// Each `<resource>:<action>`.
    #[schema(value_type = Vec<String>)]
    pub permissions: Vec<&'static str>,
    pub created_at: String,
    pub last_login: Option<String>,
}

/// A live session.
#[derive(Debug, Serialize, ToSchema)]
pub struct SessionBody {
    pub id: String,
    /// Whether it is the one that asks.
    pub current: bool,
    pub created_at: String,
    pub last_used: String,
    /// As the server saw it at login.
    pub ip: Option<String>,
    pub user_agent: Option<String>,
    /// What the client said of itself at login.
    pub device_info: Option<ClaimedInfo>,
    /// The thumbprint of the device key that its tokens are bound to.
    pub jkt: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct ClaimedInfo {
    pub user_agent: Option<String>,
    pub ip_address: Option<String>,
}

impl SessionBody {
    pub fn of(session: SessionRecord, asking: &str) -> Self {
        let claimed =
            |claimed: ClaimedClient| ClaimedInfo { user_agent: claimed.user_agent, ip_address: claimed.ip_address };
        Self {
            current: session.id == asking,
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

/// Live sessions, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct SessionList {
    pub sessions: Vec<SessionBody>,
    /// Always null: a person has at most 64.
    pub next_cursor: Option<String>,
}
