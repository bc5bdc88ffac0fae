//! The sentinels on one subject: `POST /api/q155/sentinel/orchestrate`.

use actix_web::{HttpRequest, HttpResponse, web};
use futures::stream::{self, StreamExt};
use muster_tasks::engine::EngineCaller;
use muster_tasks::sentinel::{Orchestration, SwarmEvent};
use serde_json::json;
use tokio::sync::mpsc;

use super::run::Input;
use super::stream::{event, is_wanted, open};
use crate::app::App;
use crate::error::HttpError;
use crate::guard::{EnginesRun, Sent, acting};

/// Runs the sentinels that apply to the subject and fuses their answers.
pub async fn orchestrate(
    request: Sent<EnginesRun, Input>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let input = request.body.0;
    let subject = input.get("subject").cloned().unwrap_or_default();
    let orchestration = Orchestration::read(input)?;
    let (caller, sentinels) = (EngineCaller::of(&acting(&http)?), app.agency.sentinels.clone());
    if !is_wanted(&http) {
        let answer = sentinels.orchestrate(orchestration, &subject, caller, |_| {}).await?;
        return Ok(HttpResponse::Ok().json(answer));
    }
    let start = event("start", &json!({ "sentinels": orchestration.applicable() }));
    // At most an event for each sentinel and finding, and those are bounded by what an engine lists.
    let (sender, receiver) = mpsc::unbounded_channel();
    let found = stream::unfold(receiver, |mut receiver| async {
        let event = match receiver.recv().await? {
            SwarmEvent::Finding(finding) => event("finding", &finding),
            SwarmEvent::Run(run) => event("run", &run),
        };
        Some((event, receiver))
    });
    let notify = move |happened| drop(sender.send(happened));
    let done = async move {
        let answer = sentinels.orchestrate(orchestration, &subject, caller, notify).await?;
        Ok(event("done", &answer))
    };
    Ok(open(&app, stream::iter([start]).chain(found), done))
}
