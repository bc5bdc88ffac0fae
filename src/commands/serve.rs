//! Runs the server in this process, for `muster serve`.

use std::time::Duration;

use muster_cli::ServeArgs;
use muster_identity::FIRST_EMAIL;
use muster_identity::keys::Token;
use muster_models::ModelStatus;

use super::load;
use crate::app::{App, InitialCredentials};
use crate::config::{self, Config, Source};
use crate::no_core_dumps;
use crate::server::Server;
use crate::telemetry;

pub(super) fn run(args: &ServeArgs) -> Result<(), String> {
    config::become_bounded();
    let (config, source) = load(&args.settings, args.listen).map_err(|error| error.to_string())?;
    config.check_reachable().map_err(|error| error.to_string())?;
    let log = telemetry::start_logs(&config.log).map_err(|error| error.to_string())?;
    no_core_dumps::forbid();
    let bootstrap = config::bootstrap_key().map(|text| Token::parse(&text)).transpose();
    let bootstrap = bootstrap.map_err(|error| format!("MUSTER_BOOTSTRAP_KEY: {error}"))?;
    let first = InitialCredentials {
        key: bootstrap,
        password: config::admin_password().map(|password| password.0),
        accept_rollback: args.accept_rollback.clone(),
    };
    let served = actix_rt::System::new().block_on(serve(config, source, first));
    log.flush_all();
    served
}

async fn serve(config: Config, source: Source, first: InitialCredentials) -> Result<(), String> {
    let app = Box::pin(App::start(config, source, first)).await.map_err(|error| error.to_string())?;
    let (first_key, first_password) = (app.first_key.clone(), app.first_password.clone());
    let server = Server::bind(app).map_err(|error| error.to_string())?;
    let url = server.url();
    // Scripts wait for this line, so it is printed first.
    println!("listening on {url}");
    if let Some(key) = &first_key {
        // Printed at once: the key is stored nowhere, and the model may take a while to load.
        println!("first API key, shown this once: {key}");
    }
    if let Some(password) = &first_password {
        println!("first administrator, shown this once: {FIRST_EMAIL} with the password {password}");
    }
    let app = server.shared();
    let recorded = app.clone();
    actix_rt::spawn(async move { recorded.record_start().await });
    actix_rt::spawn(async move { welcome(&app, &url, first_key.as_deref()).await });
    server.run().await.map_err(|error| error.to_string())
}

/// Logs the state of the embedded model once it is known, then prints a call to try if there is a new API key.
async fn welcome(app: &App, url: &str, first_key: Option<&str>) {
    if matches!(app.model.status(), ModelStatus::Loading { .. }) {
        tracing::info!("the embedded model is loading; {url}/api/health/ready reports when it is ready");
    }
    let mut looks = tokio::time::interval(Duration::from_millis(100));
    loop {
        looks.tick().await;
        match app.model.status() {
            ModelStatus::Loading { .. } => continue,
            // Where a provider answers, or the model is switched off, nothing is amiss.
            ModelStatus::Absent { .. } if app.live().config.llm.model == "none" => {
                tracing::info!("the embedded model is switched off");
            }
            ModelStatus::Absent { mend } if app.live().remote_providers() > 0 => {
                tracing::info!(%mend, "the embedded model is not installed; the providers answer");
            }
            ModelStatus::Absent { mend } => tracing::warn!(%mend, "the embedded model is not installed"),
            ModelStatus::Failed { why, mend } => tracing::error!(%why, %mend, "the embedded model failed"),
            ModelStatus::Ready => tracing::info!("the embedded model is ready"),
        }
        break;
    }
    let Some(key) = first_key else { return };
    println!("try it:\n");
    println!("curl -N {url}/v1/chat/completions \\");
    println!("  -H 'Authorization: Bearer {key}' -H 'Content-Type: application/json' \\");
    println!(
        "  -d '{{\"model\": \"default\", \"stream\": true, \"temperature\": 0, \"messages\": [{{\"role\": \"user\", \"content\": \"What is the capital of Australia?\"}}]}}'\n"
    );
}
