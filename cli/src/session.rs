//! The stored login of the command line: a key of this device, and tokens that are bound to it (DPoP, RFC 9449).

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use muster_auth::PrivateKey;
use muster_auth::dpop::sign_proof;
use muster_core::Clock;
use reqwest::Method;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Environment;
use crate::connection::{self, Authorities, TlsArgs};

const KEY_FILE: &str = "device-key.json";
const SESSION_FILE: &str = "session.json";

/// A stored login.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Session {
    /// URL of the server, without a trailing slash.
    pub(super) server: String,
    token: String,
    refresh_token: String,
    /// Authorities that the server is trusted by, as PEM; absent where those of this machine are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ca: Option<String>,
}

/// A response of the server.
pub(super) struct ServerResponse {
    pub(super) status: u16,
    pub(super) body: Value,
}

/// A client that calls servers as the logged-in user, with the key of this device.
pub(super) struct UserClient {
    folder: PathBuf,
    key: PrivateKey,
    /// Authorities of the command line, in the place of those of the login.
    authorities: Option<Authorities>,
    http: OnceLock<reqwest::Client>,
}

/// The server of a call.
struct Peer<'a> {
    server: &'a str,
    /// Authorities of the stored login.
    ca: Option<&'a str>,
}

/// Writes a file that only its owner can read, whole or not at all.
fn write_secret(path: &Path, text: &str) -> Result<(), String> {
    let failed = |error: io::Error| format!("{}: {error}", path.display());
    let new = path.with_extension("new");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new).map_err(failed)?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
    fs::rename(&new, path).map_err(failed)
}

impl UserClient {
    /// Opens the folder of the login and reads the device key. A missing key is generated.
    ///
    /// # Errors
    /// There is no folder for settings, or the key cannot be read or written.
    pub(super) fn open(environment: &Environment, tls: &TlsArgs) -> Result<Self, String> {
        let base = environment.config_home.as_ref().ok_or("set HOME or XDG_CONFIG_HOME: the login is kept there")?;
        let folder = base.join("muster");
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder)
            .map_err(|error| format!("{}: {error}", folder.display()))?;
        let path = folder.join(KEY_FILE);
        let key = match fs::read_to_string(&path) {
            Ok(text) => {
                let jwk = serde_json::from_str(&text).map_err(|error| error.to_string());
                let key = jwk.and_then(|jwk: Value| PrivateKey::from_jwk(&jwk).map_err(|error| error.to_string()));
                key.map_err(|why| {
                    format!("{} is not a key ({why}): move it away, and a new one is generated", path.display())
                })?
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let key = PrivateKey::generate().map_err(|error| error.to_string())?;
                write_secret(&path, &key.to_jwk().expose().to_string())?;
                key
            }
            Err(error) => return Err(format!("{}: {error}", path.display())),
        };
        Ok(Self { folder, key, authorities: tls.ca.clone(), http: OnceLock::new() })
    }

    /// Returns the authorities to trust: those of the command line, else those of the stored login.
    pub(super) fn authorities(&self) -> Result<Option<Authorities>, String> {
        self.authorities_or(self.session()?.ca.as_deref())
    }

    fn authorities_or(&self, stored: Option<&str>) -> Result<Option<Authorities>, String> {
        match (&self.authorities, stored) {
            (Some(authorities), _) => Ok(Some(authorities.clone())),
            (None, Some(pem)) => Authorities::parse(pem.to_owned()).map(Some),
            (None, None) => Ok(None),
        }
    }

    fn http(&self, peer: &Peer<'_>) -> Result<&reqwest::Client, String> {
        if let Some(http) = self.http.get() {
            return Ok(http);
        }
        let authorities = self.authorities_or(peer.ca)?;
        let http = connection::client(authorities.as_ref(), reqwest::Client::builder)?;
        Ok(self.http.get_or_init(|| http))
    }

    /// Returns the thumbprint of the device key.
    pub(super) fn thumbprint(&self) -> String {
        self.key.public().thumbprint()
    }

    /// Signs a message with the device key; base64url.
    pub(super) fn sign(&self, message: &[u8]) -> String {
        URL_SAFE_NO_PAD.encode(self.key.sign(message))
    }

    /// Returns the stored login.
    pub(super) fn session(&self) -> Result<Session, String> {
        let path = self.folder.join(SESSION_FILE);
        let text = fs::read_to_string(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => "not logged in: run `muster login --server URL`".to_owned(),
            _ => format!("{}: {error}", path.display()),
        })?;
        serde_json::from_str(&text).map_err(|error| format!("{}: {error}: log in again", path.display()))
    }

    /// Returns the stored token for a server and the key it is bound to, or `None` if there is no login at that server.
    pub(super) fn token_for(&self, server: &str) -> Result<Option<(String, PrivateKey)>, String> {
        if !self.folder.join(SESSION_FILE).exists() {
            return Ok(None);
        }
        let session = self.session()?;
        let here = session.server == server.trim_end_matches('/');
        Ok(here.then(|| (session.token, self.key.clone())))
    }

    /// Ends the session on the server.
    pub(super) async fn log_out(&self, session: &Session) -> Result<(), String> {
        // The refresh token identifies the session even if the access token has expired and was replaced meanwhile.
        let body = serde_json::json!({ "token": session.refresh_token });
        self.call(Method::POST, "/api/v1/auth/logout", Some(&body), None).await.map(drop)
    }

    /// Deletes the stored login.
    pub(super) fn delete_session(&self) -> Result<(), String> {
        match fs::remove_file(self.folder.join(SESSION_FILE)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.to_string()),
            _ => Ok(()),
        }
    }

    /// Stores the tokens in the response to a login or a refresh.
    fn save_session(&self, peer: &Peer<'_>, response: &ServerResponse) -> Result<Session, String> {
        let server = peer.server;
        let token = |name: &str| {
            let token = response.body.pointer(&format!("/data/{name}")).and_then(Value::as_str);
            token
                .map(str::to_owned)
                .ok_or_else(|| format!("{server} is not a Muster server: its response has no {name}"))
        };
        let ca = self.authorities.as_ref().map(|authorities| authorities.pem.as_str()).or(peer.ca);
        let session = Session {
            server: server.to_owned(),
            token: token("token")?,
            refresh_token: token("refresh_token")?,
            ca: ca.map(str::to_owned),
        };
        let text = serde_json::to_string(&session).map_err(|error| error.to_string())?;
        write_secret(&self.folder.join(SESSION_FILE), &text)?;
        Ok(session)
    }

    /// Logs in and stores the tokens.
    pub(super) async fn log_in(&self, server: &str, email: &str, password: &str) -> Result<Session, String> {
        let peer = Peer { server: server.trim_end_matches('/'), ca: None };
        let info = serde_json::json!({ "user_agent": concat!("muster/", env!("CARGO_PKG_VERSION")) });
        let body = serde_json::json!({ "email": email, "password": password, "device_info": info });
        let response = self.send(&peer, Method::POST, "/api/v1/auth/cli/login", None, Some(&body), None).await?;
        if response.status != 200 {
            return Err(response.message());
        }
        self.save_session(&peer, &response)
    }

    /// Calls the API as the logged-in user and returns the body. An expired access token is refreshed once.
    ///
    /// # Errors
    /// The call fails, or the server rejects it; then the error is the server's message.
    pub(super) async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        if_match: Option<&str>,
    ) -> Result<Value, String> {
        let session = self.session()?;
        let (server, ca) = (session.server.clone(), session.ca.clone());
        let (peer, token) = (Peer { server: &server, ca: ca.as_deref() }, Some(session.token.as_str()));
        let mut response = self.send(&peer, method.clone(), path, token, body, if_match).await?;
        if response.status == 401 {
            let old = serde_json::json!({ "refresh_token": session.refresh_token });
            let refreshed = self.send(&peer, Method::POST, "/api/v1/auth/refresh", None, Some(&old), None).await?;
            if refreshed.status != 200 {
                return Err(format!("{}: run `muster login --server {server}`", refreshed.message()));
            }
            let session = self.save_session(&peer, &refreshed)?;
            response = self.send(&peer, method, path, Some(&session.token), body, if_match).await?;
        }
        if (200..300).contains(&response.status) { Ok(response.body) } else { Err(response.message()) }
    }

    async fn send(
        &self,
        peer: &Peer<'_>,
        method: Method,
        path: &str,
        token: Option<&str>,
        body: Option<&Value>,
        if_match: Option<&str>,
    ) -> Result<ServerResponse, String> {
        let server = peer.server;
        let (url, now) = (format!("{server}{path}"), Clock::system().now().seconds());
        let proof =
            sign_proof(&self.key, method.as_str(), &url, token, None, now).map_err(|error| error.to_string())?;
        let mut request = self.http(peer)?.request(method, &url).header("DPoP", proof);
        if let Some(token) = token {
            request = request.header("authorization", format!("DPoP {token}"));
        }
        if let Some(version) = if_match {
            request = request.header("if-match", version);
        }
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        let response = request.send().await.map_err(|error| connection::unreachable(server, &error))?;
        let status = response.status().as_u16();
        let text = response.text().await.map_err(|error| connection::unreachable(server, &error))?;
        let body = serde_json::from_str(&text).map_err(|_| format!("{server} is not a Muster server: {text:.200}"))?;
        Ok(ServerResponse { status, body })
    }
}

fn json_list(checks: &[Value]) -> String {
    let each = checks.iter().filter_map(|check| check.get("msg").and_then(Value::as_str));
    each.collect::<Vec<_>>().join("; ")
}

impl ServerResponse {
    /// Returns the message of an error response.
    fn message(&self) -> String {
        let text = |name: &str| self.body.get(name).and_then(Value::as_str);
        let checks = || self.body.get("detail").and_then(Value::as_array).map(|checks| json_list(checks));
        match (text("message").or_else(|| text("detail")), text("error_code")) {
            (Some(message), Some(code)) => format!("{message} ({code})"),
            (Some(message), None) => message.to_owned(),
            (None, _) => checks().unwrap_or_else(|| format!("rejected with status {}", self.status)),
        }
    }
}
