//! The floor that the gateway is measured against: the same HTTP server and client, and nothing between them.
//!
//! `cargo run --release --example bare_relay -- 127.0.0.1:9101 http://127.0.0.1:9100`

use std::process::ExitCode;

use actix_web::rt::net::TcpStream;
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};

/// Passes a request on and streams its answer back.
async fn relay(
    request: HttpRequest,
    body: web::Bytes,
    client: web::Data<reqwest::Client>,
    base: web::Data<String>,
) -> HttpResponse {
    let sent = client
        .post(format!("{}{}", base.as_str(), request.path()))
        .header("content-type", "application/json")
        .body(body)
        .send();
    match sent.await {
        Err(error) => HttpResponse::BadGateway().body(error.to_string()),
        Ok(answer) => {
            let status = actix_web::http::StatusCode::from_u16(answer.status().as_u16()).unwrap_or_default();
            let kind = answer.headers().get("content-type").and_then(|value| value.to_str().ok()).unwrap_or_default();
            HttpResponse::build(status).content_type(kind.to_owned()).streaming(answer.bytes_stream())
        }
    }
}

#[actix_web::main]
async fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let (Some(listen), Some(base)) = (args.next(), args.next()) else {
        eprintln!("usage: bare_relay ADDR:PORT UPSTREAM_URL");
        return ExitCode::from(2);
    };
    muster_providers::install_tls();
    let client = reqwest::Client::builder().no_proxy().tls_certs_only([]).pool_max_idle_per_host(512).build();
    let Ok(client) = client else {
        eprintln!("no HTTP client");
        return ExitCode::FAILURE;
    };
    let (client, base) = (web::Data::new(client), web::Data::new(base));
    let server = HttpServer::new(move || {
        App::new()
            .app_data(client.clone())
            .app_data(base.clone())
            .app_data(web::PayloadConfig::new(24 << 20))
            .default_service(web::to(relay))
    })
    .on_connect(|connection, _| {
        if let Some(stream) = connection.downcast_ref::<TcpStream>() {
            let _ = stream.set_nodelay(true);
        }
    });
    match server.bind(&listen) {
        Ok(server) => match server.run().await {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{error}");
                ExitCode::FAILURE
            }
        },
        Err(error) => {
            eprintln!("{listen}: {error}");
            ExitCode::FAILURE
        }
    }
}
