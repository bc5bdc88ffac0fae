use super::*;
use muster_clinical::Knowledge;
use muster_medical::base::Base;

/// Waits until health shows a state of the module; returns why it has it.
async fn shows(muster: &Muster, status: &str) -> String {
    let mut health = muster.app.health.changes();
    let shown = health.wait_for(|report| report.modules["medical-knowledge"].status.name() == status);
    let report = shown.await.unwrap();
    report.modules["medical-knowledge"].why.clone().unwrap_or_default()
}

fn planted(change: impl FnOnce(&mut Base)) -> Knowledge {
    let mut base = Base::load().unwrap();
    change(&mut base);
    let ruleset = Knowledge::load().unwrap().ruleset().to_owned();
    Knowledge::of(Box::leak(Box::new(base)), ruleset)
}

#[tokio::test]
async fn the_status_has_the_fields_of_the_interface() {
    let muster = Muster::start(UNLIMITED);
    let medical = Medical::of(&muster);
    let status = medical.get(PROTOCOLS).await.json();
    assert_eq!(status["status"], "operational", "{status}");
    let names: Vec<&String> = status["capabilities"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["cancerDiagnosis", "clinicalCDSS", "medicalAI", "multiLanguage"]);
    assert!(status["capabilities"].as_object().unwrap().values().all(Value::is_boolean));
    assert_eq!(
        (&status["capabilities"]["clinicalCDSS"], &status["capabilities"]["medicalAI"]),
        (&json!(true), &json!(true))
    );
    assert!(status["uptime"].as_str().unwrap().ends_with('%') && status["latency"].as_str().unwrap().ends_with("ms"));
    let details = &status["details"];
    assert_eq!((details["phrasing"].as_str(), details["keepHours"].as_u64()), (Some("rules"), Some(0)));
    assert!(details["imageModel"].is_null() && details["specialties"] == 54, "{details}");
    for _ in 0..3 {
        medical.chat(json!({ "message": MILD })).await;
    }
    assert_eq!(medical.get(PROTOCOLS).await.json()["details"]["latency"]["samples"], 3);
}

#[tokio::test]
async fn a_planted_fault_closes_the_interface_until_it_is_mended() {
    let muster = Muster::start(UNLIMITED);
    let medical = Medical::of(&muster);
    shows(&muster, "healthy").await;
    muster.app.medical.replace_knowledge(planted(|base| {
        for rule in &mut base.rules {
            rule.positive.push("my garden is green".to_owned());
        }
    }));
    assert!(muster.app.medical.test().await.is_err());
    let why = shows(&muster, "unhealthy").await;
    assert!(why.contains("does not fire on its example"), "{why}");
    let refused = medical.post(CHAT, &json!({ "message": MILD })).await;
    assert_eq!((refused.status, refused.json()["error"]["code"].as_str()), (503, Some("service_unavailable")));
    assert!(refused.number("retry-after").is_some());
    let status = medical.get(PROTOCOLS).await.json();
    assert_eq!(status["status"], "unavailable");
    assert!(status["capabilities"].as_object().unwrap().values().all(|capable| *capable == json!(false)), "{status}");
    let metrics = muster.client().get("/metrics").await.text;
    assert!(metrics.contains("muster_medical_self_test_failures_total"), "{metrics}");

    muster.app.medical.replace_knowledge(Knowledge::load().unwrap());
    muster.app.medical.test().await.unwrap();
    shows(&muster, "healthy").await;
    assert_eq!(medical.post(CHAT, &json!({ "message": MILD })).await.status, 200);
}

#[tokio::test]
async fn data_that_differs_from_its_hash_closes_the_interface() {
    let muster = Muster::start(UNLIMITED);
    let base = muster_medical::shared().unwrap();
    muster.app.medical.replace_knowledge(Knowledge::of(base, "0123456789abcdef".to_owned()));
    assert!(muster.app.medical.test().await.is_err());
    assert!(shows(&muster, "unhealthy").await.contains("the data differs"));
}

#[tokio::test]
async fn past_a_review_date_the_interface_is_degraded_and_answers() {
    let muster = Muster::start(UNLIMITED);
    muster.app.medical.replace_knowledge(planted(|base| base.protocols[0].data.review.due = "2020-01-01".to_owned()));
    muster.app.medical.test().await.unwrap();
    let why = shows(&muster, "degraded").await;
    assert!(why.contains("review of 1 records is overdue"), "{why}");
    let medical = Medical::of(&muster);
    let status = medical.get(PROTOCOLS).await.json();
    assert_eq!((&status["status"], &status["details"]["overdue"]), (&json!("degraded"), &json!(1)));
    assert_eq!(medical.post(CHAT, &json!({ "message": MILD })).await.status, 200);
}
