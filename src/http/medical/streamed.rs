//! A consultation as a stream of server-sent events: `triage` at once, `delta` for text that is checked, then `done` with
//! the whole answer, or `error`.

use std::convert::Infallible;

use actix_web::http::header;
use actix_web::{HttpResponse, web};
use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use futures::stream::{once, unfold};
use muster_medical::answer::chat::{Paragraph, Part};
use serde_json::json;

use super::chat::{Draft, Keeping, finished};
use crate::app::App;
use crate::error::{Dialect, body as error_body};
use crate::medical::ProviderCalls;
use crate::sse::frame;

/// What is still to be done behind the first events.
type Rest = (web::Data<App>, Draft, Option<ProviderCalls>, Option<Keeping>);

/// Returns the response. The level and the call to action are there before any model is asked. Dropping it, as when the
/// client leaves, cancels the call of a provider.
pub fn response(
    app: web::Data<App>,
    draft: Draft,
    calls: Option<ProviderCalls>,
    keeping: Option<Keeping>,
) -> HttpResponse {
    let mut first = BytesMut::new();
    frame(Some("triage"), &draft.answer.common.triage, &mut first);
    let call = draft.answer.own.consultation.paragraphs.iter().take_while(|paragraph| paragraph.part == Part::Call);
    call.for_each(|paragraph| delta(paragraph, &mut first));
    let rest: Option<Rest> = Some((app, draft, calls, keeping));
    let rest = unfold(rest, |rest| async move {
        let bytes = ending(rest?).await;
        Some((Ok::<_, Infallible>(bytes), None))
    });
    let first = once(std::future::ready(Ok::<Bytes, Infallible>(first.freeze())));
    HttpResponse::Ok()
        .content_type("text/event-stream; charset=utf-8")
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .insert_header(("x-accel-buffering", "no"))
        .streaming(first.chain(Box::pin(rest)))
}

async fn ending((app, draft, calls, keeping): Rest) -> Bytes {
    let mut out = BytesMut::new();
    match finished(&app, draft, calls.as_ref(), keeping).await {
        Ok(answer) => {
            let paragraphs = &answer.own.consultation.paragraphs;
            let rest = paragraphs.iter().skip_while(|paragraph| paragraph.part == Part::Call);
            rest.for_each(|paragraph| delta(paragraph, &mut out));
            frame(Some("done"), &answer, &mut out);
        }
        Err(error) => frame(Some("error"), &error_body(&error.0, Dialect::Medical, app.clock.now()), &mut out),
    }
    out.freeze()
}

fn delta(paragraph: &Paragraph, out: &mut BytesMut) {
    frame(Some("delta"), &json!({ "text": format!("{}\n\n", paragraph.text) }), out);
}
