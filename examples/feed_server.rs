//! The server for the feed's benchmarks, in this process, with a control port to publish by.
//!
//! Events published there take the usual path: publisher, hub, journal, one encoding, shards, sockets. A line
//! `COUNT SIZE` publishes this many events whose frames are SIZE bytes; `stats` answers
//! `{"connections":…,"evicted":…}`; `hash` answers with the milliseconds of one password hash.
//!
//! `cargo run --release --no-default-features --example feed_server -- PORT CONTROL_PORT FOLDER TRANSPORT [WORKERS]`
//!
//! TRANSPORT is `plain` or `tls`. With `tls`, FOLDER contains the certificate, `cert.pem`.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use actix_web::web::Data;
use muster::app::{App, InitialCredentials};
use muster::config::{self, Config, Source};
use muster::server::Server;
use muster_core::event::{Event, Publisher};
use muster_limits::Quota;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use serde_json::json;

/// Password of the first administrator.
const PASSWORD: &str = "feed-bench-first-administrator";
/// Length of a frame's envelope: channel, offset, name, time, identifier and the braces.
const ENVELOPE: usize = 168;

fn settings(port: u16, folder: &Path, transport: &str, workers: usize) -> Result<Config, String> {
    let tls = match transport {
        "plain" => String::new(),
        "tls" => certificate(folder).map_err(|error| format!("certificate: {error}"))?,
        other => return Err(format!("TRANSPORT {other}: must be `plain` or `tls`")),
    };
    let text = format!(
        "{tls}[server]\nlisten = \"127.0.0.1:{port}\"\nworkers = {workers}\nmax_connections = 25000\n\
         [llm]\nmodel = \"none\"\n[log]\nlevel = \"warn\"\n\
         [auth]\naccess_seconds = 86400\nlogins_per_address = 1000000\nlogins_per_minute = 1000000\n\
         [limits.agent]\nhealth = 10000000\n[feed]\nmax_per_person = 20000\n"
    );
    let mut config = config::parse(&text, "bench", std::iter::empty()).map_err(|error| error.to_string())?;
    config.store.path = folder.join("store");
    // All connections come from one address and one person here.
    let quotas = [&mut config.limits.login, &mut config.limits.unauthenticated, &mut config.limits.person];
    quotas.into_iter().for_each(|quota| *quota = Quota::Limited(10_000_000));
    Ok(config)
}

/// Writes a new certificate with its key into the folder; returns the settings that use them.
fn certificate(folder: &Path) -> Result<String, Box<dyn std::error::Error>> {
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(vec!["127.0.0.1".to_owned()])?;
    let (cert_path, key_path) = (folder.join("cert.pem"), folder.join("key.pem"));
    std::fs::create_dir_all(folder)?;
    std::fs::write(&cert_path, cert.pem())?;
    std::fs::write(&key_path, signing_key.serialize_pem())?;
    Ok(format!("[server.tls]\ncert = {cert_path:?}\nkey = {key_path:?}\n"))
}

fn event(app: &App, size: usize) -> Event {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    let fill = "x".repeat(size.saturating_sub(ENVELOPE));
    let data = json!({ "t": format!("{now:020}"), "d": fill });
    Event::new("incident.updated", app.clock.now(), vec!["incidents".to_owned()], &data)
}

fn obey(app: &App, publisher: &Publisher, line: &str, answer: &mut TcpStream) -> io::Result<()> {
    match line {
        "stats" => {
            let arguments = json!({ "connections": app.sockets.counts.total(), "evicted": app.sockets.evicted() });
            writeln!(answer, "{arguments}")
        }
        "hash" => {
            let (hasher, from) = (app.live().config.auth.hasher(), Instant::now());
            hasher.hash(PASSWORD).map_err(io::Error::other)?;
            writeln!(answer, "{}", from.elapsed().as_secs_f64() * 1e3)
        }
        line => {
            let mut numbers = line.split_whitespace().filter_map(|word| word.parse::<usize>().ok());
            if let (Some(count), Some(size)) = (numbers.next(), numbers.next()) {
                (0..count).for_each(|_| publisher.publish(vec![event(app, size)]));
            }
            Ok(())
        }
    }
}

fn control(port: u16, app: Data<App>) -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let app = app.clone();
            std::thread::spawn(move || {
                let Ok(read) = stream.try_clone() else { return };
                let publisher = app.feed.publisher();
                for line in BufReader::new(read).lines().map_while(Result::ok) {
                    if obey(&app, &publisher, line.trim(), &mut stream).is_err() {
                        return;
                    }
                }
            });
        }
    });
    Ok(())
}

async fn serve(config: Config, control_port: u16) -> Result<(), String> {
    let source = Source::fixed(&config);
    let first = InitialCredentials { key: None, password: Some(PASSWORD.to_owned()), ..InitialCredentials::default() };
    let app = Box::pin(App::start(config, source, first)).await.map_err(|error| error.to_string())?;
    let server = Server::bind(app).map_err(|error| error.to_string())?;
    control(control_port, server.shared()).map_err(|error| format!("control port: {error}"))?;
    println!("listening on {}", server.url());
    server.run().await.map_err(|error| error.to_string())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let parsed = |at: usize| arguments.get(at).and_then(|word| word.parse().ok());
    let (Some(port), Some(control_port), Some(folder), Some(transport)) =
        (parsed(0), parsed(1), arguments.get(2), arguments.get(3))
    else {
        eprintln!("usage: feed_server PORT CONTROL_PORT FOLDER plain|tls [WORKERS]");
        return ExitCode::from(2);
    };
    let workers = arguments.get(4).and_then(|word| word.parse().ok()).unwrap_or(1);
    let served = settings(port, Path::new(folder), transport, workers)
        .and_then(|config| actix_rt::System::new().block_on(serve(config, control_port)));
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("feed_server: {error}");
            ExitCode::FAILURE
        }
    }
}
