//! The HTTP server: binding, serving and draining.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use actix_cors::Cors;
use actix_http::body::BoxBody;
use actix_http::{HttpServiceBuilder, Request, Response};
use actix_server::GracefulShutdownSignal;
use actix_service::{Service, map_config};
use actix_web::dev::{AppConfig, Server as ActixServer, ServerHandle, ServiceFactory, ServiceRequest, ServiceResponse};
use actix_web::middleware::from_fn;
use actix_web::rt::net::TcpStream;
use actix_web::{App as ActixApp, web};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::app::App;
use crate::config::Server as Settings;
use crate::connections::{Activities, Bounded, Connections};
use crate::guard::expect_continue;
use crate::http;
use crate::respond::respond;
use crate::tls::Certificate;
use crate::ws::{ServerStream, Shard, SocketHandle, upgrades};

/// A bound server. It accepts connections from its creation.
pub struct Server {
    app: web::Data<App>,
    address: SocketAddr,
    http: ActixServer,
    certificate: Option<Arc<Certificate>>,
    /// SIGTERM and SIGINT. Handlers are installed before the address is announced, because readers of it may send one.
    signals: [Signal; 2],
    /// SIGHUP: reloads the settings.
    hangup: Signal,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Server {
    /// Binds the configured address.
    ///
    /// # Errors
    /// The address cannot be bound, or a signal handler cannot be installed.
    pub fn bind(app: App) -> io::Result<Self> {
        let settings = app.live().config.server.clone();
        let certificate = Certificate::read(&settings.tls).map_err(io::Error::other)?;
        let listener = TcpListener::bind(settings.listen).map_err(|error| {
            io::Error::new(error.kind(), format!("{}: {error}: set server.listen or --listen", settings.listen))
        })?;
        let address = listener.local_addr()?;
        // Set once, here only.
        let _ = app.certificate.set(certificate.clone());
        let app = web::Data::new(app);
        if let Some(otel) = &app.otel {
            otel.start(&app.clone().into_inner());
        }
        let http = serve_http(&app, &settings, listener, certificate.as_ref())?;
        let signals = [signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?];
        let hangup = signal(SignalKind::hangup())?;
        Ok(Self { app, address, http, certificate, signals, hangup })
    }

    /// Returns the bound address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the URL of the server.
    pub fn url(&self) -> String {
        format!("{}://{}", if self.certificate.is_some() { "https" } else { "http" }, self.address)
    }

    /// Returns the certificate, which can be reloaded; `None` if TLS is off.
    pub fn certificate(&self) -> Option<Arc<Certificate>> {
        self.certificate.clone()
    }

    /// Returns the application's state.
    pub fn shared(&self) -> web::Data<App> {
        self.app.clone()
    }

    /// Serves until its handle stops it, without handling signals.
    ///
    /// # Errors
    /// The accept loop failed.
    pub async fn serve(self) -> io::Result<()> {
        self.http.await
    }

    /// Returns a handle that stops the server.
    pub fn handle(&self) -> ServerHandle {
        self.http.handle()
    }

    /// Serves until SIGTERM or SIGINT, then drains: no new connections are accepted, running requests end within the
    /// grace period, and everything acknowledged is on disk. A second signal ends at once, and even then nothing
    /// acknowledged is lost.
    ///
    /// # Errors
    /// The accept loop failed.
    pub async fn run(self) -> io::Result<()> {
        let [mut terminate, mut interrupt] = self.signals;
        let (app, handle) = (self.app, self.http.handle());
        actix_web::rt::spawn(reload_at(self.hangup, app.clone()));
        let first = async {
            tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
            tracing::info!("draining");
            app.drain();
            // The accept loop stops at once; what it waits for is awaited below.
            drop(handle.stop(true));
            tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
        };
        let grace = app.live().config.server.shutdown_grace();
        let (served, grace) = tokio::select! {
            served = self.http => (served, grace),
            () = first => (Ok(()), Duration::ZERO),
        };
        app.stop_within(grace).await;
        tracing::info!("stopped");
        served
    }
}

/// Time for a client to send the head of a request.
const HEAD_WITHIN: Duration = Duration::from_secs(30);
/// Time for a client to read what is left when its connection ends.
const DISCONNECT_WITHIN: Duration = Duration::from_secs(1);

/// Builds the routes of a worker thread, with the thread's shard of the feed.
fn routes(
    app: &web::Data<App>,
    shard: &Rc<Shard>,
    origins: &[String],
) -> ActixApp<
    impl ServiceFactory<ServiceRequest, Config = (), Response = ServiceResponse, Error = actix_web::Error, InitError = ()>
    + use<>,
> {
    ActixApp::new()
        .app_data(app.clone())
        .app_data(Rc::clone(shard))
        .wrap(cors(origins))
        .wrap(from_fn(respond))
        .configure(http::routes)
}

/// Builds the services of a worker thread.
#[derive(Clone)]
struct WorkerFactory {
    app: web::Data<App>,
    connections: Connections,
    origins: Vec<String>,
    address: SocketAddr,
    secure: bool,
    stopping: GracefulShutdownSignal,
}

impl WorkerFactory {
    /// Returns the routes as a service of HTTP requests.
    fn routes(
        &self,
        shard: &Rc<Shard>,
    ) -> impl ServiceFactory<
        Request,
        Config = (),
        Response = ServiceResponse,
        Error = actix_web::Error,
        InitError = (),
        Service: Service<Request, Future: 'static>,
        Future: 'static,
    > + use<> {
        // The only constructor that can state that connections are under TLS; `HttpServer`, which states it itself,
        // cannot hand connections over.
        let config = AppConfig::__priv_test_new(self.secure, self.address.to_string(), self.address);
        map_config(routes(&self.app, shard, &self.origins), move |()| config.clone())
    }

    /// Returns a builder of the connections' service, which hands live sockets over to the feed.
    fn http<T: ServerStream, S>(&self, activities: &Activities) -> HttpServiceBuilder<T, S>
    where
        S: ServiceFactory<Request, Config = ()>,
        S::Error: Into<Response<BoxBody>> + 'static,
        S::InitError: std::fmt::Debug,
        <S::Service as Service<Request>>::Future: 'static,
    {
        let (stopping, activities) = (self.stopping.clone(), activities.clone());
        HttpServiceBuilder::default()
            .graceful_shutdown_signal(move || {
                let stopping = stopping.clone();
                async move { stopping.notified().await }
            })
            .client_request_timeout(HEAD_WITHIN)
            .client_disconnect_timeout(DISCONNECT_WITHIN)
            // A client that disconnects cancels its upstream call at once, even while nothing can be written to it.
            .h1_allow_half_closed(false)
            .local_addr(self.address)
            .on_connect_ext(move |connection: &T, data| {
                SocketHandle::attach(connection.tcp(), data);
                if let Some(activity) = activities.of(connection.tcp()) {
                    data.insert(activity);
                }
                at_once(connection.tcp());
            })
    }
}

/// Serves connections, with TLS or without; live sockets are taken over by the feed.
fn serve_http(
    app: &web::Data<App>,
    settings: &Settings,
    listener: TcpListener,
    certificate: Option<&Arc<Certificate>>,
) -> io::Result<ActixServer> {
    let mut server = ActixServer::build()
        .max_concurrent_connections(settings.max_connections)
        .shutdown_timeout(settings.shutdown_grace_seconds)
        .disable_signals();
    if settings.workers > 0 {
        server = server.workers(settings.workers);
    }
    let worker = WorkerFactory {
        app: app.clone(),
        connections: Connections::new(settings.connection_limits()),
        origins: settings.cors_origins.clone(),
        address: listener.local_addr()?,
        secure: certificate.is_some(),
        stopping: server.graceful_shutdown_signal(),
    };
    let server = match certificate {
        None => server.listen("http", listener, move || {
            let (shard, activities) = (worker.app.sockets.shard(), Activities::default());
            let upgrades = upgrades(worker.routes(&shard), Rc::clone(&shard));
            let http = worker.http(&activities).upgrade(upgrades).expect(expect_continue(worker.routes(&shard)));
            Bounded {
                inner: http.finish(worker.routes(&shard)).tcp(),
                connections: worker.connections.clone(),
                activities,
            }
        })?,
        Some(certificate) => {
            let tls = certificate.server_config().map_err(io::Error::other)?;
            server.listen("https", listener, move || {
                let (shard, activities) = (worker.app.sockets.shard(), Activities::default());
                let upgrades = upgrades(worker.routes(&shard), Rc::clone(&shard));
                let http = worker.http(&activities).upgrade(upgrades).expect(expect_continue(worker.routes(&shard)));
                let inner = http.finish(worker.routes(&shard)).rustls_0_23(tls.clone());
                Bounded { inner, connections: worker.connections.clone(), activities }
            })?
        }
    };
    Ok(server.run())
}

/// Disables Nagle's algorithm, which would delay the first token of a stream until the client's delayed
/// acknowledgement.
fn at_once(connection: &TcpStream) {
    // Fails only if the connection is already closed.
    let _ = connection.set_nodelay(true);
}

/// Reloads the settings at each SIGHUP.
async fn reload_at(mut hangup: Signal, app: web::Data<App>) {
    while hangup.recv().await.is_some() {
        if let Err(error) = app.reload_by("system").await {
            tracing::error!(%error, "settings not reloaded: everything stays as it was");
        }
    }
}

/// Response headers that pages of the permitted origins may read, besides those that every page may.
const EXPOSED: [&str; 33] = [
    "age",
    "anthropic-ratelimit-requests-limit",
    "anthropic-ratelimit-requests-remaining",
    "anthropic-ratelimit-requests-reset",
    "anthropic-ratelimit-tokens-limit",
    "anthropic-ratelimit-tokens-remaining",
    "anthropic-ratelimit-tokens-reset",
    "content-disposition",
    "content-range",
    "etag",
    "idempotency-replayed",
    "location",
    "ratelimit",
    "ratelimit-policy",
    "request-id",
    "retry-after",
    "upload-length",
    "upload-offset",
    "www-authenticate",
    "x-muster-cache",
    "x-muster-circuit",
    "x-muster-fallback",
    "x-muster-model",
    "x-muster-provider",
    "x-ratelimit-limit",
    "x-ratelimit-limit-requests",
    "x-ratelimit-limit-tokens",
    "x-ratelimit-remaining",
    "x-ratelimit-remaining-requests",
    "x-ratelimit-remaining-tokens",
    "x-ratelimit-reset",
    "x-ratelimit-reset-requests",
    "x-request-id",
];

/// Handles preflight requests of the configured origins; by default none, so only pages of the same origin may call.
/// Credentials of the browser, such as cookies, are never permitted: the API uses none.
fn cors(origins: &[String]) -> Cors {
    let cors = Cors::default().allow_any_method().allow_any_header().expose_headers(EXPOSED).max_age(600);
    if origins.iter().any(|origin| origin == "*") {
        return cors.allow_any_origin().send_wildcard();
    }
    origins.iter().fold(cors, |cors, origin| cors.allowed_origin(origin))
}
