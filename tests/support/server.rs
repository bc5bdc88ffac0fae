//! The server in this process, on a separate thread, with access to its supervision tree.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::mpsc;
use std::thread::JoinHandle;

use actix_web::dev::ServerHandle;
use actix_web::web::Data;
use muster::app::{App, InitialCredentials};
use muster::config::{self, EmbeddingModel, Source};
use muster::server::Server;
use muster_core::supervise::Tree;
use muster_identity::keys::Token;
use muster_limits::Quota;
use serde_json::json;
use tempfile::TempDir;
use tokio::net::TcpStream;

use super::client::Client;
use super::socket::{Transport, with_timeout};
use super::tls::SelfSigned;
use super::{EMAIL, KEY, PASSWORD};

/// A running server; it is stopped on drop.
pub struct Muster {
    pub address: SocketAddr,
    pub tree: Tree,
    pub data: TempDir,
    /// The server's state, to publish events and to inspect.
    pub app: Data<App>,
    handle: ServerHandle,
    kill_model: Box<dyn Fn() + Send>,
    /// Its certificate, if it serves under TLS.
    certificate: Option<SelfSigned>,
    thread: Option<JoinHandle<()>>,
}

impl Muster {
    /// Starts with these settings in addition to the tests' own (no embedded model unless they configure one).
    pub fn start(settings: &str) -> Self {
        Self::start_in(tempfile::tempdir().unwrap(), settings)
    }

    /// Starts under TLS, with a certificate that the clients made here trust.
    pub fn start_under_tls(settings: &str) -> Self {
        let data = tempfile::tempdir().unwrap();
        let (certificate, tls) = SelfSigned::write(data.path());
        let mut server = Self::start_in(data, &format!("{settings}\n{tls}"));
        server.certificate = Some(certificate);
        server
    }

    /// Starts on a data folder that may hold something.
    pub fn start_in(data: TempDir, settings: &str) -> Self {
        let mut config = parse(settings);
        config.server.listen = "127.0.0.1:0".parse().unwrap();
        config.server.workers = 2;
        config.store.path = data.path().join("store");
        let (sender, receiver) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            actix_rt::System::new().block_on(async move {
                let source = Source::fixed(&config);
                let key = Some(Token::parse(KEY).unwrap());
                let credentials =
                    InitialCredentials { key, password: Some(PASSWORD.to_owned()), ..InitialCredentials::default() };
                let app = Box::pin(App::start(config, source, credentials)).await.unwrap();
                let server = Server::bind(app).unwrap();
                let app = server.shared();
                let killed = app.clone();
                let kill = Box::new(move || killed.inject_model_panic()) as Box<dyn Fn() + Send>;
                sender.send((server.address(), server.handle(), app.tree.clone(), app.clone(), kill)).unwrap();
                server.serve().await.unwrap();
                app.stop().await;
            });
        });
        let (address, handle, tree, app, kill_model) = receiver.recv().expect("the server started");
        Self { address, tree, data, app, handle, kill_model, certificate: None, thread: Some(thread) }
    }

    /// A client with the first key.
    pub fn client(&self) -> Client {
        let client = match &self.certificate {
            Some(certificate) => Client::trusting(self.url(), &certificate.pem),
            None => Client::new(self.url()),
        };
        client.with(KEY)
    }

    /// The URL of the server.
    pub fn url(&self) -> String {
        format!("{}://{}", if self.certificate.is_some() { "https" } else { "http" }, self.address)
    }

    /// A new connection, under TLS if the server is.
    pub async fn connect(&self) -> Box<dyn Transport> {
        self.secure(TcpStream::connect(self.address).await.unwrap()).await
    }

    /// A connection that stands, under TLS if the server is.
    pub async fn secure(&self, stream: TcpStream) -> Box<dyn Transport> {
        match &self.certificate {
            Some(certificate) => Box::new(with_timeout(certificate.connect(stream)).await),
            None => Box::new(stream),
        }
    }

    /// A client with the token of the first administrator, who has all permissions.
    pub async fn admin(&self) -> Client {
        self.login(EMAIL, PASSWORD).await
    }

    /// A client with the token of a user's login.
    pub async fn login(&self, email: &str, password: &str) -> Client {
        self.client().without_key().login(email, password).await.0
    }

    /// Creates a user with that role and returns a client logged in as it. The e-mail is `<name>@example.org`.
    pub async fn person(&self, name: &str, role: &str) -> Client {
        let email = format!("{name}@example.org");
        let body = json!({ "email": email, "password": PASSWORD, "name": name, "role": role });
        let made = self.admin().await.post("/api/v1/users", &body).await;
        assert_eq!(made.status, 201, "{}", made.text);
        self.login(&email, PASSWORD).await
    }

    /// Kills the embedded model's thread.
    pub fn kill_model(&self) {
        (self.kill_model)();
    }

    /// Stops the server and returns its data folder.
    pub fn stop(mut self) -> TempDir {
        self.end();
        std::mem::replace(&mut self.data, tempfile::tempdir().unwrap())
    }

    fn end(&mut self) {
        // Not graceful: that would wait for the clients' idle connections.
        drop(self.handle.stop(false));
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

impl Drop for Muster {
    fn drop(&mut self) {
        self.end();
    }
}

fn parse(settings: &str) -> config::Config {
    let mut config = config::parse(settings, "test", std::iter::empty()).unwrap();
    config.engines.program = env!("CARGO_BIN_EXE_muster").into();
    // Every test connects from one address, and hashes in a build without optimisation.
    if !settings.contains("logins_per_address") {
        config.auth.logins_per_address = 10_000;
        config.auth.logins_per_minute = 10_000;
    }
    if !settings.contains("login =") {
        config.limits.login = Quota::Unlimited;
    }
    if !settings.contains("argon2") {
        config.auth.argon2_memory_kib = 64;
    }
    if settings.contains("keep_hours") {
        config.medical.key = Some(config::Secret("a passphrase of these tests".to_owned()));
    }
    if !settings.contains("[llm]") {
        config.llm.model = "none".to_owned();
    }
    // Reading it is a fifth of a start.
    if !settings.contains("[llm]") && !settings.contains("[embeddings]") {
        config.embeddings.model = EmbeddingModel::None;
    }
    config
}

/// Settings for the tests' small model, if it has been fetched.
pub fn small_model() -> Option<String> {
    let folder =
        std::env::var("MUSTER_MODELS_DIR").unwrap_or_else(|_| format!("{}/models-cache", env!("CARGO_MANIFEST_DIR")));
    let fetched = std::fs::read_dir(Path::new(&folder)).is_ok_and(|mut files| {
        files.any(|file| file.is_ok_and(|file| file.file_name().to_string_lossy().contains("SmolLM2")))
    });
    if !fetched {
        eprintln!("skipped: run `muster models pull small`");
    }
    fetched.then(|| format!("[llm]\nmodel = \"small\"\ncache = \"{folder}\"\n"))
}
