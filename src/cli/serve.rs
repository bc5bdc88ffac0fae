//! `muster serve`.

use std::process::ExitCode;

use muster_actors::keys::Token;
use muster_models::Status;

use super::{ServeArgs, fail};
use crate::app::App;
use crate::config::{self, Config, Source};
use crate::server::Server;
use crate::telemetry;

pub(super) fn run(args: &ServeArgs) -> ExitCode {
    let (mut config, source) = match args.settings.load() {
        Ok(loaded) => loaded,
        Err(error) => return fail(&error),
    };
    if let Some(listen) = args.listen {
        config.server.listen = listen;
    }
    if let Err(error) = telemetry::start_logs(&config.log) {
        return fail(&error);
    }
    let bootstrap = match config::bootstrap_key().map(|text| Token::parse(&text)).transpose() {
        Ok(bootstrap) => bootstrap,
        Err(error) => return fail(&format!("MUSTER_BOOTSTRAP_KEY: {error}")),
    };
    match actix_rt::System::new().block_on(serve(config, source, bootstrap)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error),
    }
}

async fn serve(config: Config, source: Source, bootstrap: Option<Token>) -> Result<(), String> {
    let app = App::start(config, source, bootstrap).await.map_err(|error| error.to_string())?;
    let first_key = app.first_key.clone();
    let model = app.model.status();
    let server = Server::bind(app).map_err(|error| error.to_string())?;
    // Scripts wait for this line; it comes first and alone.
    println!("listening on http://{}", server.address());
    welcome(&format!("http://{}", server.address()), first_key.as_deref(), &model);
    server.run().await.map_err(|error| error.to_string())
}

/// What a new user needs next: the first key and a call to paste. The key is shown this once.
fn welcome(url: &str, first_key: Option<&str>, model: &Status) {
    match model {
        Status::Absent { mend } => tracing::warn!(%mend, "the embedded model is not installed"),
        Status::Loading { .. } => {
            tracing::info!("the embedded model is loading; {url}/api/health/ready tells when it is ready")
        }
        Status::Ready | Status::Failed { .. } => {}
    }
    let Some(key) = first_key else { return };
    println!("first API key, shown this once: {key}");
    println!("try it:\n");
    println!("curl -N --retry 20 --retry-delay 1 {url}/v1/chat/completions \\");
    println!("  -H 'Authorization: Bearer {key}' -H 'Content-Type: application/json' \\");
    println!(
        "  -d '{{\"model\": \"default\", \"stream\": true, \"messages\": [{{\"role\": \"user\", \"content\": \"What is the capital of Australia?\"}}]}}'\n"
    );
}
