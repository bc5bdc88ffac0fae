//! The HTTP server: binding, serving and draining.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use actix_cors::Cors;
use actix_http::HttpService;
use actix_service::map_config;
use actix_web::dev::{AppConfig, Server as ActixServer, ServerHandle, ServiceFactory, ServiceRequest, ServiceResponse};
use actix_web::middleware::from_fn;
use actix_web::rt::net::TcpStream;
use actix_web::{App as ActixApp, HttpServer, web};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::app::App;
use crate::config::{Lane, Server as Settings};
use crate::http;
use crate::respond::respond;
use crate::tls::Certificate;
use crate::ws::{Shard, SocketHandle, upgrades};

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
        let http = match (&certificate, app.live().config.feed.lane) {
            (None, Lane::Direct) => direct(&app, &settings, listener)?,
            (certificate, _) => plain(&app, &settings, listener, certificate.as_ref())?,
        };
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

/// Serves all connections through actix-web, with TLS or without.
fn plain(
    app: &web::Data<App>,
    settings: &Settings,
    listener: TcpListener,
    certificate: Option<&Arc<Certificate>>,
) -> io::Result<ActixServer> {
    let (shared, origins) = (app.clone(), settings.cors_origins.clone());
    let mut server = HttpServer::new(move || routes(&shared, &shared.sockets.shard(), &origins))
        .on_connect(|connection, data| {
            SocketHandle::keep(connection, data);
            connection.downcast_ref::<TcpStream>().into_iter().for_each(at_once);
        })
        // A client that disconnects cancels its upstream call at once, even while nothing can be written to it.
        .h1_allow_half_closed(false)
        .max_connections(settings.max_connections)
        .client_request_timeout(HEAD_WITHIN)
        .client_disconnect_timeout(DISCONNECT_WITHIN)
        .shutdown_timeout(settings.shutdown_grace_seconds)
        .disable_signals();
    if settings.workers > 0 {
        server = server.workers(settings.workers);
    }
    let server = match certificate {
        Some(certificate) => {
            let config = certificate.server_config().map_err(io::Error::other)?;
            server.tcp_nodelay(true).listen_rustls_0_23(listener, config)?
        }
        None => server.listen(listener)?,
    };
    Ok(server.run())
}

/// Serves connections without TLS; live sockets are taken over by the feed.
fn direct(app: &web::Data<App>, settings: &Settings, listener: TcpListener) -> io::Result<ActixServer> {
    let (shared, origins) = (app.clone(), settings.cors_origins.clone());
    let address = listener.local_addr()?;
    let mut server = ActixServer::build()
        .max_concurrent_connections(settings.max_connections)
        .shutdown_timeout(settings.shutdown_grace_seconds)
        .disable_signals();
    if settings.workers > 0 {
        server = server.workers(settings.workers);
    }
    let stopping = server.graceful_shutdown_signal();
    let server = server.listen("http", listener, move || {
        let shard = shared.sockets.shard();
        let stopping = stopping.clone();
        let routes = || map_config(routes(&shared, &shard, &origins), |()| AppConfig::default());
        HttpService::build()
            .graceful_shutdown_signal(move || {
                let stopping = stopping.clone();
                async move { stopping.notified().await }
            })
            .client_request_timeout(HEAD_WITHIN)
            .client_disconnect_timeout(DISCONNECT_WITHIN)
            .h1_allow_half_closed(false)
            .local_addr(address)
            .on_connect_ext(|connection: &TcpStream, data| {
                SocketHandle::keep(connection, data);
                at_once(connection);
            })
            .upgrade(upgrades(routes(), Rc::clone(&shard)))
            .finish(routes())
            .tcp()
    })?;
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
        if let Err(error) = app.reload().await {
            tracing::error!(%error, "settings not reloaded: everything stays as it was");
        }
    }
}

/// Handles preflight requests of the configured origins; by default none, so only pages of the same origin may call.
fn cors(origins: &[String]) -> Cors {
    let mut cors = Cors::default().allow_any_method().allow_any_header().expose_any_header().max_age(600);
    for origin in origins {
        cors = cors.allowed_origin(origin);
    }
    cors
}
