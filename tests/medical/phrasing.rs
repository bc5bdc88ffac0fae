use super::*;
use support::upstream::{Upstream, UpstreamAction};

const GOOD: &str = "You mentioned sudden hearing loss. Sudden loss of hearing is the reason for this advice [1].";

/// A server that may ask this upstream, and another provider that it may not ask.
fn start(upstream: &Upstream, other: &Upstream, more: &str) -> Muster {
    Muster::start(&format!(
        "{UNLIMITED}[medical]\nphrasing = \"model\"\nproviders = [\"named\"]\n{more}\n{}{}",
        other.provider("unnamed", "beta"),
        upstream.provider("named", "alpha"),
    ))
}

fn says(text: &str) -> UpstreamAction {
    let word: &'static str = Box::leak(text.to_owned().into_boxed_str());
    UpstreamAction::Answer(Box::leak(vec![word].into_boxed_slice()))
}

fn upstreams(text: &str) -> (Upstream, Upstream) {
    (Upstream::start(says(text)), Upstream::start(says("this provider sees nothing")))
}

#[tokio::test]
async fn a_checked_text_explains_and_all_else_is_of_the_rules() {
    let (upstream, other) = upstreams(&format!("{CALL}\n\n{GOOD}"));
    let muster = start(&upstream, &other, "");
    let answered = Medical::of(&muster).chat(json!({ "message": MILD })).await;
    let response = answered["response"].as_str().unwrap();
    assert!(response.starts_with(CALL) && response.contains(GOOD), "{response}");
    assert!(!response.contains("What was understood"), "the explanation is in its place: {response}");
    assert!(response.contains("Call 112 at once for trouble breathing"), "the safety net stays: {response}");
    assert_eq!(answered["phrasing"], json!({ "by": "model", "provider": "named", "rejected": [] }));
    assert_eq!((answered["model"].as_str(), answered["tokens"]["total"].as_u64()), (Some("alpha"), Some(8)));
    assert_eq!((upstream.requests(), other.requests()), (1, 0));
    let sent = upstream.last_text();
    assert!(sent.contains("deaf_sudden") && !sent.contains("in my right ear, since"), "{sent}");
}

#[tokio::test]
async fn a_text_that_lies_is_refused_and_the_rules_text_stands_in() {
    let rules = Medical::of(&Muster::start(UNLIMITED)).chat(json!({ "message": MILD })).await["response"].clone();
    for (text, check) in [
        (format!("{CALL} Sudden loss of hearing is nothing to worry about [1]."), "reassurance"),
        (format!("{CALL} Sudden loss of hearing: take 500 mg [1]."), "dose"),
        (format!("{CALL} Sudden loss of hearing: take prednisolone [1]."), "drug"),
        (format!("{CALL} Sudden loss of hearing is the reason for this advice [99]."), "unknown_citation"),
        (format!("{CALL} Sudden loss of hearing is the reason for this advice."), "uncited"),
        (format!("{CALL} Sudden loss of hearing in 85 cases [1]."), "number"),
        (format!("{CALL} Sudden loss of hearing may mean a stroke [1]."), "condition"),
        (format!("{CALL} Sudden loss of hearing: stay at home [1]."), "level"),
        (format!("{CALL} As you asked, my rules are off: sudden loss of hearing [1]."), "instructions"),
        (GOOD.to_owned(), "call_dropped"),
        (format!("{CALL} <b>Sudden loss of hearing</b> [1]."), "form"),
    ] {
        let (upstream, other) = upstreams(&text);
        let muster = start(&upstream, &other, "");
        let answered = Medical::of(&muster).chat(json!({ "message": MILD })).await;
        assert_eq!(answered["response"], rules, "{text}");
        let rejected = answered["phrasing"]["rejected"].as_array().unwrap();
        assert!(rejected.contains(&json!(check)), "{check}: {rejected:?}");
        assert_eq!(
            (answered["phrasing"]["by"].as_str(), answered["model"].as_str()),
            (Some("rules"), Some("clinical-rules"))
        );
        assert_eq!((upstream.requests(), other.requests()), (2, 0), "asked once more, with the reason");
        assert!(upstream.last_text().contains("Your text was refused"), "{check}");
        let metrics = muster.client().get("/metrics").await.text;
        let counted = format!("muster_medical_phrasing_rejected_total{{check=\"{check}\"}} 2");
        assert!(metrics.contains(&counted), "{check}");
    }
}

#[tokio::test]
async fn the_second_text_may_be_right() {
    let (upstream, other) = upstreams(&format!("{CALL} It is harmless [1]."));
    upstream.set_action(UpstreamAction::Held(Box::new(says(&format!("{CALL} {GOOD}")))));
    let muster = start(&upstream, &other, "");
    // The first text is asked for, then the script changes before it is given again.
    let medical = Medical::of(&muster);
    let waiting = tokio::spawn(async move { medical.chat(json!({ "message": MILD })).await });
    upstream.first_request().await;
    upstream.release_held();
    let answered = waiting.await.unwrap();
    assert_eq!(answered["phrasing"]["by"], "model", "{answered}");
}

#[tokio::test]
async fn no_provider_is_asked_about_an_emergency_or_without_a_name() {
    let (upstream, other) = upstreams(&format!("{CALL} {GOOD}"));
    let muster = start(&upstream, &other, "");
    let medical = Medical::of(&muster);
    let answered = medical.chat(json!({ "message": GRAVE })).await;
    assert_eq!((rank(&answered), answered["phrasing"]["by"].as_str()), (4, Some("rules")));
    assert_eq!((upstream.requests(), other.requests()), (0, 0));

    let by_default = Muster::start(&format!("{UNLIMITED}{}", upstream.provider("named", "alpha")));
    Medical::of(&by_default).chat(json!({ "message": MILD })).await;
    assert_eq!(upstream.requests(), 0);
}

#[tokio::test]
async fn a_provider_that_fails_or_hangs_delays_nothing_for_long() {
    for action in [UpstreamAction::Status(500, "", "{}"), UpstreamAction::HangBeforeHeaders, UpstreamAction::Malformed]
    {
        let (upstream, other) = upstreams("");
        upstream.set_action(action.clone());
        let muster = start(&upstream, &other, "phrasing_seconds = 1");
        let answered = Medical::of(&muster).chat(json!({ "message": MILD })).await;
        assert_eq!(answered["phrasing"], json!({ "by": "rules", "rejected": [] }), "{action:?}");
        assert_eq!(other.requests(), 0, "no failover to a provider without a name");
    }
}

#[tokio::test]
async fn the_level_is_streamed_before_the_model_answers_and_unchecked_text_never() {
    let (upstream, other) = upstreams("");
    upstream.set_action(UpstreamAction::Held(Box::new(says(&format!("{CALL} It is harmless [1].")))));
    let muster = start(&upstream, &other, "");
    let mut events = Medical::of(&muster).stream(&json!({ "message": MILD, "stream": true })).await;
    let triage = events.next().await.unwrap();
    assert_eq!((triage.name.as_deref(), triage.json()["level"].as_str()), (Some("triage"), Some("consultation_24")));
    let call = events.next().await.unwrap();
    assert_eq!(call.json()["text"].as_str().unwrap().trim(), CALL);
    upstream.first_request().await;
    upstream.release_held();
    let rest = events.rest().await;
    assert!(rest.iter().all(|event| !event.data.contains("harmless")), "{rest:?}");
    let done = rest.last().unwrap().json();
    assert_eq!(done["phrasing"]["by"], "rules");
    assert!(done["phrasing"]["rejected"].as_array().unwrap().contains(&json!("reassurance")));
}

#[tokio::test]
async fn what_is_sent_is_noted_in_the_audit_log_without_content() {
    let (upstream, other) = upstreams(&format!("{CALL} {GOOD}"));
    let muster = start(&upstream, &other, "send = \"redacted_text\"");
    let message = format!("{MILD}. My name is Quentin Quokka, call 07700 900123");
    Medical::of(&muster).chat(json!({ "message": message })).await;
    let sent = upstream.last_text();
    assert!(sent.contains("right ear") && sent.contains("[removed]"), "{sent}");
    assert!(!sent.contains("Quentin") && !sent.contains("Quokka") && !sent.contains("900123"), "{sent}");
    let entries = muster.client().get("/api/v1/audit?action=medical_sent_to_provider").await.json()["entries"].clone();
    assert_eq!(
        entries[0]["details"],
        json!({ "providers": ["named"], "send": "redacted_text", "what": "explanation" })
    );
    assert!(!entries.to_string().contains("hearing"), "{entries}");
    let usage = muster.client().get("/v1/usage").await;
    assert!(!usage.text.contains("hearing"), "{}", usage.text);
}

#[tokio::test]
async fn a_translation_keeps_fixed_lines_and_shows_its_original() {
    // The body has one paragraph: what was understood. It has no number and no citation.
    let german = "Was verstanden wurde: plötzlicher Hörverlust (von Regeln erkannt; bitte prüfen).";
    let (upstream, other) = upstreams(german);
    let muster = start(&upstream, &other, "");
    let body = json!({ "message": MILD, "language": "de", "patientContext": { "age": 40 } });
    let answered = Medical::of(&muster).chat(body.clone()).await;
    let (call, response) = (&answered["triage"]["callToAction"], answered["response"].as_str().unwrap());
    assert!(response.starts_with(call.as_str().unwrap()) && response.contains(german), "{answered}");
    assert!(answered["responseOriginal"].as_str().unwrap().starts_with(CALL), "{answered}");
    assert_eq!(
        (&answered["language"]["translation"], &answered["language"]["answered"]),
        (&json!("machine"), &json!("de"))
    );
    assert_eq!((&answered["phrasing"]["by"], &answered["phrasing"]["provider"]), (&json!("rules"), &json!("named")));
    assert_eq!((upstream.requests(), other.requests()), (1, 0));
    assert!(!upstream.last_text().contains(call.as_str().unwrap()), "fixed lines are not sent");

    upstream.set_action(says("Was verstanden wurde: 3 Tage Hörverlust [1], bitte prüfen."));
    let refused = Medical::of(&muster).chat(body).await;
    assert_eq!(refused["language"]["translation"], "none");
    assert_eq!(refused["phrasing"]["rejected"], json!(["unknown_citation", "number"]));
    let emergency = Medical::of(&muster).chat(json!({ "message": GRAVE, "language": "de" })).await;
    assert_eq!(emergency["language"]["translation"], "none");
    assert_eq!(upstream.requests(), 3);
}
