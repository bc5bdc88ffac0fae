//! The login that the command line keeps: a key of this device, and tokens that are bound to it.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use muster_auth::PrivateKey;
use muster_auth::dpop::sign_proof;
use muster_core::Clock;
use reqwest::Method;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Environment, install_tls};

const KEY: &str = "device-key.json";
const SESSION: &str = "session.json";

/// What a login left here.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Session {
    /// Without a slash at the end.
    pub(super) server: String,
    token: String,
    refresh_token: String,
}

/// An answer of the server.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Value,
}

/// This device, as servers know it.
pub(super) struct Device {
    folder: PathBuf,
    key: PrivateKey,
    http: reqwest::Client,
}

/// Writes a file that only its owner can read, whole or not at all.
fn write_secret(path: &Path, text: &str) -> Result<(), String> {
    let wrong = |error: io::Error| format!("{}: {error}", path.display());
    let new = path.with_extension("new");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new).map_err(wrong)?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(wrong)?;
    fs::rename(&new, path).map_err(wrong)
}

impl Device {
    /// This device with its key, which is made where there is none yet.
    pub(super) fn open(environment: &Environment) -> Result<Self, String> {
        let base = environment.config_home.as_ref().ok_or("set HOME or XDG_CONFIG_HOME: the login is kept there")?;
        let folder = base.join("muster");
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder)
            .map_err(|error| format!("{}: {error}", folder.display()))?;
        let path = folder.join(KEY);
        let key = match fs::read_to_string(&path) {
            Ok(text) => {
                let jwk = serde_json::from_str(&text).map_err(|error| error.to_string());
                let key = jwk.and_then(|jwk: Value| PrivateKey::from_jwk(&jwk).map_err(|error| error.to_string()));
                key.map_err(|why| format!("{} is no key ({why}): move it away for a new one", path.display()))?
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let key = PrivateKey::generate().map_err(|error| error.to_string())?;
                write_secret(&path, &key.to_jwk().expose().to_string())?;
                key
            }
            Err(error) => return Err(format!("{}: {error}", path.display())),
        };
        install_tls();
        Ok(Self { folder, key, http: reqwest::Client::new() })
    }

    /// The thumbprint of the key.
    pub(super) fn thumbprint(&self) -> String {
        self.key.public().thumbprint()
    }

    /// The login that is kept.
    pub(super) fn session(&self) -> Result<Session, String> {
        let path = self.folder.join(SESSION);
        let text = fs::read_to_string(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => "nobody is logged in: run `muster login --server URL`".to_owned(),
            _ => format!("{}: {error}", path.display()),
        })?;
        serde_json::from_str(&text).map_err(|error| format!("{}: {error}: log in again", path.display()))
    }

    /// The token of the login at that server and the key that it is bound to; nothing where nobody is logged in there.
    pub(super) fn bound_to(&self, server: &str) -> Result<Option<(String, PrivateKey)>, String> {
        if !self.folder.join(SESSION).exists() {
            return Ok(None);
        }
        let session = self.session()?;
        let here = session.server == server.trim_end_matches('/');
        Ok(here.then(|| (session.token, self.key.clone())))
    }

    /// Ends the session at its server.
    pub(super) async fn end(&self, session: &Session) -> Result<(), String> {
        // The refresh token names the session also where the access token is over and was replaced meanwhile.
        let body = serde_json::json!({ "token": session.refresh_token });
        self.ask(Method::POST, "/api/v1/auth/logout", Some(&body), None).await.map(drop)
    }

    /// Forgets the login.
    pub(super) fn forget(&self) -> Result<(), String> {
        match fs::remove_file(self.folder.join(SESSION)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.to_string()),
            _ => Ok(()),
        }
    }

    /// Keeps the tokens of an answer to a login or a refresh.
    fn keep(&self, server: &str, answer: &Answer) -> Result<Session, String> {
        let token = |name: &str| {
            let token = answer.body.pointer(&format!("/data/{name}")).and_then(Value::as_str);
            token.map(str::to_owned).ok_or_else(|| format!("{server} is no Muster server: it gave no {name}"))
        };
        let session =
            Session { server: server.to_owned(), token: token("token")?, refresh_token: token("refresh_token")? };
        let text = serde_json::to_string(&session).map_err(|error| error.to_string())?;
        write_secret(&self.folder.join(SESSION), &text)?;
        Ok(session)
    }

    /// Logs in, and keeps the tokens.
    pub(super) async fn log_in(&self, server: &str, email: &str, password: &str) -> Result<Session, String> {
        let server = server.trim_end_matches('/');
        let info = serde_json::json!({ "user_agent": concat!("muster/", env!("CARGO_PKG_VERSION")) });
        let body = serde_json::json!({ "email": email, "password": password, "device_info": info });
        let answer = self.send(server, Method::POST, "/api/v1/auth/cli/login", None, Some(&body), None).await?;
        if answer.status != 200 {
            return Err(answer.message());
        }
        self.keep(server, &answer)
    }

    /// Asks as the person who is logged in; an access token that is over is refreshed.
    ///
    /// # Errors
    /// What the server refuses, in its words.
    pub(super) async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        if_match: Option<&str>,
    ) -> Result<Value, String> {
        let session = self.session()?;
        let (server, token) = (session.server.clone(), Some(session.token.as_str()));
        let mut answer = self.send(&server, method.clone(), path, token, body, if_match).await?;
        if answer.status == 401 {
            let old = serde_json::json!({ "refresh_token": session.refresh_token });
            let refreshed = self.send(&server, Method::POST, "/api/v1/auth/refresh", None, Some(&old), None).await?;
            if refreshed.status != 200 {
                return Err(format!("{}: run `muster login --server {server}`", refreshed.message()));
            }
            let session = self.keep(&server, &refreshed)?;
            answer = self.send(&server, method, path, Some(&session.token), body, if_match).await?;
        }
        if (200..300).contains(&answer.status) { Ok(answer.body) } else { Err(answer.message()) }
    }

    async fn send(
        &self,
        server: &str,
        method: Method,
        path: &str,
        token: Option<&str>,
        body: Option<&Value>,
        if_match: Option<&str>,
    ) -> Result<Answer, String> {
        let (url, now) = (format!("{server}{path}"), Clock::system().now().seconds());
        let proof =
            sign_proof(&self.key, method.as_str(), &url, token, None, now).map_err(|error| error.to_string())?;
        let mut request = self.http.request(method, &url).header("DPoP", proof);
        if let Some(token) = token {
            request = request.header("authorization", format!("DPoP {token}"));
        }
        if let Some(version) = if_match {
            request = request.header("if-match", version);
        }
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        let answer = request.send().await.map_err(|error| format!("{server} does not answer: {error}"))?;
        let status = answer.status().as_u16();
        let text = answer.text().await.map_err(|error| error.to_string())?;
        let body = serde_json::from_str(&text).map_err(|_| format!("{server} is no Muster server: {text:.200}"))?;
        Ok(Answer { status, body })
    }
}

impl Answer {
    /// What a refusal says.
    fn message(&self) -> String {
        let said = self.body.get("message").and_then(Value::as_str);
        said.map_or_else(|| format!("refused with status {}", self.status), str::to_owned)
    }
}
