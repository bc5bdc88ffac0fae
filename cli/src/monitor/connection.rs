//! The WebSocket connection to the server, authorized by an API key or the stored login.

use std::time::Duration;

use futures::{SinkExt, StreamExt};
use muster_auth::dpop::sign_proof;
use muster_core::Clock;
use reqwest::{Client, Method, StatusCode, Upgraded};
use serde_json::{Value, json};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::protocol::Role;

use super::model::{ENDED, text};
use crate::connection::{self, Authorities};
use crate::session::UserClient;

const PATH: &str = "/api/q62/dashboard/agents";
const PROTOCOL: &str = "muster.v1.json";
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Time without a frame after which the connection counts as lost. The server sends a heartbeat every 25 s.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(60);

/// What authorizes the connection.
pub(super) enum Credential {
    /// An API key with the scope `agents`, or an access token that is not bound to a key; and the authorities to trust
    /// in the place of those of this machine.
    Bearer(String, Option<Authorities>),
    Login(Box<UserClient>),
}

/// Why a connection ended or could not be established.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Disconnect {
    /// The connection was lost. Another attempt may succeed.
    Lost(String),
    /// The token has expired or the server requests it: reconnect at once.
    Reconnect(String),
    /// The server rejects the connection. Another attempt would fail too.
    Rejected(String),
}

/// An established connection.
pub(super) struct Connection {
    socket: WebSocketStream<Upgraded>,
}

impl Connection {
    /// Connects to a server.
    ///
    /// # Errors
    /// The connection cannot be established.
    pub(super) async fn open(server: &str, credential: &Credential) -> Result<Self, Disconnect> {
        let opened = tokio::time::timeout(CONNECT_TIMEOUT, open_socket(server, credential)).await;
        opened.unwrap_or_else(|_| Err(Disconnect::Lost(format!("{server} does not answer"))))
    }

    /// Returns the next frame. Heartbeats are answered and skipped.
    ///
    /// # Errors
    /// The connection ended.
    pub(super) async fn frame(&mut self) -> Result<Value, Disconnect> {
        let broken = |why: &str| Err(Disconnect::Lost(why.to_owned()));
        loop {
            match tokio::time::timeout(SILENCE_TIMEOUT, self.socket.next()).await {
                Err(_) => return broken("the server is silent"),
                Ok(None) => return broken("the connection ended"),
                Ok(Some(Err(error))) => return broken(&error.to_string()),
                Ok(Some(Ok(Message::Text(text)))) if text.as_str() == "{}" => self.send(&json!({})).await?,
                Ok(Some(Ok(Message::Text(text)))) => {
                    return serde_json::from_str(&text).or_else(|_| broken("the server sent a frame that is not JSON"));
                }
                Ok(Some(Ok(Message::Close(close)))) => {
                    let close = close.map(|close| (u16::from(close.code), close.reason.to_string()));
                    return Err(ended(close));
                }
                Ok(Some(Ok(_))) => {}
            }
        }
    }

    /// Sends a frame.
    ///
    /// # Errors
    /// The connection ended.
    pub(super) async fn send(&mut self, frame: &Value) -> Result<(), Disconnect> {
        let sent = self.socket.send(Message::text(frame.to_string())).await;
        sent.map_err(|error| Disconnect::Lost(error.to_string()))
    }
}

/// Maps a close frame to what the client should do, by the table of close codes of the protocol.
fn ended(close: Option<(u16, String)>) -> Disconnect {
    match close {
        None => Disconnect::Lost("the server closed the connection".to_owned()),
        Some((code, reason)) => {
            let why = format!("the server closed the connection: {reason} ({code})");
            match code {
                4001..=4011 => Disconnect::Rejected(why),
                4200..=4203 => Disconnect::Reconnect(why),
                _ => Disconnect::Lost(why),
            }
        }
    }
}

/// Builds a client for these credentials. WebSockets need HTTP/1.1.
fn http_client(credential: &Credential) -> Result<Client, Disconnect> {
    let authorities = match credential {
        Credential::Bearer(_, authorities) => authorities.clone(),
        Credential::Login(client) => client.authorities().map_err(Disconnect::Rejected)?,
    };
    let http = connection::client(authorities.as_ref(), || Client::builder().http1_only());
    http.map_err(Disconnect::Rejected)
}

/// Returns the tasks that ended last, newest first.
///
/// # Errors
/// The server does not answer, or rejects the request.
pub(super) async fn ended_tasks(server: &str, credential: &Credential, most: usize) -> Result<Vec<Value>, Disconnect> {
    let path = format!("/api/v1/tasks?status={}&limit={most}", ENDED.join(","));
    let body = call(server, credential, Method::GET, &path, None).await.map_err(Disconnect::Lost)?;
    Ok(body.get("tasks").and_then(Value::as_array).cloned().unwrap_or_default())
}

/// Returns the ids of the agents.
///
/// # Errors
/// The server does not answer, or rejects the request.
pub(super) async fn agent_ids(server: &str, credential: &Credential) -> Result<Vec<String>, String> {
    let body = call(server, credential, Method::GET, "/api/v1/agents", None).await?;
    let agents = body.get("agents").and_then(Value::as_array).into_iter().flatten();
    Ok(agents.filter_map(|agent| agent.get("id")?.as_str().map(str::to_owned)).collect())
}

/// Begins a task of an agent; returns the task's id.
///
/// # Errors
/// The server does not answer, or refuses the task.
pub(super) async fn begin(server: &str, credential: &Credential, agent: &str, task: &str) -> Result<String, String> {
    if !agent.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
        return Err("an id has letters, digits and dashes only".to_owned());
    }
    let path = format!("/api/v1/agents/{agent}/run");
    let body = call(server, credential, Method::POST, &path, Some(&json!({ "task": task }))).await?;
    Ok(text(&body, "task_id"))
}

/// Calls a route; returns its JSON.
async fn call(
    server: &str,
    credential: &Credential,
    method: Method,
    path: &str,
    body: Option<&Value>,
) -> Result<Value, String> {
    let token = match credential {
        Credential::Login(client) => return client.call(method, path, body, None).await,
        Credential::Bearer(token, _) => token,
    };
    let client = http_client(credential).map_err(super::message)?;
    let mut request = client.request(method, format!("{server}{path}")).bearer_auth(token).timeout(CONNECT_TIMEOUT);
    if let Some(body) = body {
        request = request.header("content-type", "application/json").body(body.to_string());
    }
    let broken = |error: reqwest::Error| connection::unreachable(server, &error);
    let answer = request.send().await.map_err(broken)?;
    let status = answer.status();
    let body: Value = serde_json::from_str(&answer.text().await.map_err(broken)?).unwrap_or_default();
    if status.is_success() { Ok(body) } else { Err(refusal(server, status, &body)) }
}

/// Returns why a server refuses a request.
fn refusal(server: &str, status: StatusCode, body: &Value) -> String {
    let message = body.get("detail").or_else(|| body.get("message")).and_then(Value::as_str);
    message.map_or_else(|| format!("{server} answered {status}"), str::to_owned)
}

async fn open_socket(server: &str, credential: &Credential) -> Result<Connection, Disconnect> {
    let url = format!("{server}{PATH}");
    let broken = |error: reqwest::Error| Disconnect::Lost(connection::unreachable(server, &error));
    let http = http_client(credential)?;
    let mut request = http
        .get(&url)
        .header("connection", "Upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", generate_key())
        .header("sec-websocket-protocol", PROTOCOL);
    for (name, value) in authorization(server, &url, credential).await.map_err(Disconnect::Rejected)? {
        request = request.header(name, value);
    }
    let answer = request.send().await.map_err(broken)?;
    match answer.status() {
        StatusCode::SWITCHING_PROTOCOLS => {
            let stream = answer.upgrade().await.map_err(broken)?;
            Ok(Connection { socket: WebSocketStream::from_raw_socket(stream, Role::Client, None).await })
        }
        status => {
            let body = answer.text().await.unwrap_or_default();
            let body: Value = serde_json::from_str(&body).unwrap_or_default();
            let why = refusal(server, status, &body);
            let again = status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error();
            Err(if again { Disconnect::Lost(why) } else { Disconnect::Rejected(why) })
        }
    }
}

async fn authorization(
    server: &str,
    url: &str,
    credential: &Credential,
) -> Result<Vec<(&'static str, String)>, String> {
    let client = match credential {
        Credential::Bearer(token, _) => return Ok(vec![("authorization", format!("Bearer {token}"))]),
        Credential::Login(client) => client,
    };
    // This call refreshes an expired token.
    client.call(Method::GET, "/api/v1/auth/me", None, None).await?;
    let (token, key) =
        client.token_for(server)?.ok_or_else(|| format!("not logged in at {server}: run `muster login`"))?;
    let now = Clock::system().now().seconds();
    let proof = sign_proof(&key, "GET", url, Some(&token), None, now).map_err(|error| error.to_string())?;
    Ok(vec![("authorization", format!("DPoP {token}")), ("dpop", proof)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_close_code_determines_whether_to_reconnect() {
        let of = |code: u16| ended(Some((code, "why".to_owned())));
        for code in [4001, 4003, 4004, 4009, 4011] {
            assert!(matches!(of(code), Disconnect::Rejected(_)), "{code}");
        }
        for code in [1012, 4100, 4101, 4102, 4103] {
            assert!(matches!(of(code), Disconnect::Lost(_)), "{code}");
        }
        assert!(matches!(of(4200), Disconnect::Reconnect(_)) && matches!(of(4203), Disconnect::Reconnect(_)));
        assert!(matches!(ended(None), Disconnect::Lost(_)));
    }
}
