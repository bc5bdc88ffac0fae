//! The sentinels on one subject: `POST /api/q155/sentinel/orchestrate`.

use std::time::Duration;

use actix_web::{HttpRequest, HttpResponse, web};
use bytes::{Bytes, BytesMut};
use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream;
use muster_core::Error;
use muster_tasks::engine::EngineCaller;
use muster_tasks::sentinel::{Orchestrated, Orchestration, SwarmEvent};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::{Interval, interval};

use super::run::Input;
use super::stream::{is_wanted, sent};
use crate::app::App;
use crate::error::{Dialect, HttpError, body as error_body};
use crate::guard::{EnginesRun, Sent, acting};
use crate::sse::frame;

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
    let mut first = BytesMut::new();
    frame(Some("start"), &json!({ "sentinels": orchestration.applicable() }), &mut first);
    // At most an event for each sentinel and finding, and those are bounded by what an engine lists.
    let (sender, events) = mpsc::unbounded_channel();
    let notify = move |event| drop(sender.send(event));
    let answer = async move { sentinels.orchestrate(orchestration, &subject, caller, notify).await };
    let mut idle = interval(Duration::from_millis(app.live().config.chain.keep_alive_ms.max(1)));
    // The first tick is due after the interval, not at once.
    idle.reset();
    let state = Events { app, first: Some(first.freeze()), answer: Some(answer.boxed()), events, idle };
    Ok(sent(stream::unfold(state, |mut state| async move { Some((state.next().await?, state)) })))
}

/// An orchestration whose events are being sent.
struct Events {
    app: web::Data<App>,
    /// The event before all others, until it is sent.
    first: Option<Bytes>,
    /// `None` once the last event was sent.
    answer: Option<BoxFuture<'static, Result<Orchestrated, Error>>>,
    events: mpsc::UnboundedReceiver<SwarmEvent>,
    idle: Interval,
}

impl Events {
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        let answer = self.answer.as_mut()?;
        let mut out = BytesMut::new();
        tokio::select! {
            biased;
            Some(event) = self.events.recv() => write(&event, &mut out),
            answer = answer => {
                self.answer = None;
                while let Ok(event) = self.events.try_recv() {
                    write(&event, &mut out);
                }
                match answer {
                    Ok(answer) => frame(Some("done"), &answer, &mut out),
                    Err(error) => {
                        frame(Some("error"), &error_body(&error, Dialect::Agent, self.app.clock.now()), &mut out);
                    }
                }
            }
            _ = self.idle.tick() => out.extend_from_slice(b": keep-alive\n\n"),
        }
        self.idle.reset();
        Some(out.freeze())
    }
}

fn write(event: &SwarmEvent, out: &mut BytesMut) {
    match event {
        SwarmEvent::Finding(finding) => frame(Some("finding"), finding, out),
        SwarmEvent::Run(run) => frame(Some("run"), run, out),
    }
}
