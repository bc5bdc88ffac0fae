//! The server's WebSocket transport as an echo server, for the Autobahn testsuite (`make conformance`).
//!
//! Handshake, takeover of the socket, reader, shard and writer are those of the server. Only the protocol above them is
//! replaced: each text message is sent back. Limits that the suite's large and many messages would exceed are raised.
//!
//! `cargo run --example ws_echo -- PORT FOLDER`

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use actix_http::HttpService;
use actix_server::Server;
use actix_service::map_config;
use actix_web::dev::AppConfig;
use actix_web::{App as ActixApp, HttpRequest, web};
use muster::app::{App, InitialCredentials};
use muster::config::{self, Source};
use muster::ws::protocol::{Endpoint, ProtocolOptions, Rate};
use muster::ws::{Shard, Sockets, shard_of, upgrade, upgrades};

/// The suite's largest message is 16 MiB.
const MAX_MESSAGE: usize = (16 << 20) + 1;

fn options(app: &App) -> muster::ws::SocketOptions {
    let mut options = app.sockets.options.clone();
    let (hour, unlimited) = (Duration::from_secs(3600), Rate { per_second: 1_000_000, burst: 1_000_000 });
    options.protocol = ProtocolOptions {
        connect_within: hour,
        heartbeat: hour,
        max_frame: MAX_MESSAGE,
        commands: unlimited,
        frames: unlimited,
        ..options.protocol
    };
    options
}

async fn accept(request: HttpRequest) -> Result<actix_web::HttpResponse, actix_web::Error> {
    let shard = shard_of(&request).map_err(actix_web::error::ErrorInternalServerError)?;
    upgrade((shard, Endpoint::Echo), &request, "").await.map_err(actix_web::error::ErrorBadRequest)
}

fn routes(
    shard: &Rc<Shard>,
) -> ActixApp<
    impl actix_service::ServiceFactory<
        actix_web::dev::ServiceRequest,
        Config = (),
        Response = actix_web::dev::ServiceResponse,
        Error = actix_web::Error,
        InitError = (),
    > + use<>,
> {
    ActixApp::new().app_data(Rc::clone(shard)).default_service(web::to(accept))
}

async fn serve(port: u16, folder: &Path) -> Result<(), String> {
    let text = "[llm]\nmodel = \"none\"\n[log]\nlevel = \"warn\"\n";
    let mut config = config::parse(text, "echo", std::iter::empty()).map_err(|error| error.to_string())?;
    config.store.path = folder.join("store");
    let source = Source::fixed(&config);
    let first = InitialCredentials {
        key: None,
        password: Some("ws-echo-first-administrator".to_owned()),
        ..InitialCredentials::default()
    };
    let app = Box::pin(App::start(config, source, first)).await.map_err(|error| error.to_string())?;
    let admission = Arc::clone(&app.sockets.admission);
    let sockets = Sockets::new(app.feed.clone(), app.clock.clone(), admission, options(&app));
    listen(port, sockets).map_err(|error| error.to_string())?.await.map_err(|error| error.to_string())
}

fn listen(port: u16, sockets: Arc<Sockets>) -> io::Result<Server> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    let address = listener.local_addr()?;
    println!("listening on ws://{address}");
    let server = Server::build().workers(1).listen("echo", listener, move || {
        let shard = sockets.shard();
        let service = || {
            let config = AppConfig::__priv_test_new(false, address.to_string(), address);
            map_config(routes(&shard), move |()| config.clone())
        };
        HttpService::build().upgrade(upgrades(service(), Rc::clone(&shard))).finish(service()).tcp()
    })?;
    Ok(server.run())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (Some(port), Some(folder)) = (arguments.first().and_then(|word| word.parse().ok()), arguments.get(1)) else {
        eprintln!("usage: ws_echo PORT FOLDER");
        return ExitCode::from(2);
    };
    match actix_rt::System::new().block_on(serve(port, Path::new(folder))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ws_echo: {error}");
            ExitCode::FAILURE
        }
    }
}
