use serde_json::json;

use muster_engine::prelude::*;

fn run(input: Value) -> Value {
    crate::FAMILY.run(182, input, &Context::default()).unwrap()
}

fn storm() -> Value {
    json!({
        "identifier": "A1", "sender": "ops@example.org", "sent": "2026-05-01T10:00:00+00:00", "status": "Actual",
        "msgType": "Alert", "scope": "Public", "code": ["IPAWSv1.0"],
        "info": [{
            "category": ["Met"], "event": "Storm <& flood>", "urgency": "Immediate", "severity": "Severe",
            "certainty": "Observed", "expires": "2026-05-01T12:00:00+00:00",
            "eventCode": [{ "valueName": "SAME", "value": "SVR" }],
            "area": [{
                "areaDesc": "Coast", "circle": "59,10.5 5", "polygon": ["59,10 60,10 60,11 59,10"],
                "geocode": [{ "valueName": "SAME", "value": "006109" }],
            }],
        }],
    })
}

#[test]
fn what_is_built_is_read_back() {
    let built = run(json!({ "alert": storm(), "profile": "ipaws" }));
    assert_eq!(built["valid"], true, "{built:#}");
    assert_eq!(built["active"], true);
    let read = run(json!({ "xml": built["xml"] }));
    assert_eq!(read["alert"], built["alert"]);
    assert_eq!(read["alert"]["info"][0]["event"], "Storm <& flood>");
    assert_eq!(run(json!({ "alert": read["alert"] }))["xml"], built["xml"]);
}

#[test]
fn areas_are_rings_of_longitude_and_latitude() {
    let built = run(json!({ "alert": storm() }));
    let geometry = &built["areas"]["features"][0]["geometry"];
    assert_eq!(geometry["type"], "MultiPolygon");
    assert_eq!(geometry["coordinates"][0][0][0], json!([10.0, 59.0]));
    let circle = geometry["coordinates"][1][0].as_array().unwrap();
    assert_eq!(circle.len(), 65);
    assert_eq!(circle[0], circle[64]);
}

#[test]
fn each_rule_has_a_document_that_breaks_it() {
    let broken = |path: &str, change: &dyn Fn(&mut Value)| {
        let mut alert = storm();
        change(&mut alert);
        let output = run(json!({ "alert": alert, "profile": "ipaws" }));
        assert_eq!(output["valid"], false, "{path}");
        assert_eq!(output["problems"][0]["path"], path, "{output:#}");
    };
    broken("alert/colour", &|alert| alert["colour"] = json!("red"));
    broken("alert/sent", &|alert| alert["sent"] = json!("2026-05-01T10:00:00Z"));
    broken("alert/references", &|alert| alert["msgType"] = json!("Cancel"));
    broken("alert/references", &|alert| alert["references"] = json!(["ops@example.org,A1,2026-05-01T10:00:00+00:00"]));
    broken("alert/references", &|alert| alert["references"] = json!("o@example.org,A0,2026-05-02T10:00:00+00:00"));
    broken("alert/code", &|alert| alert["code"] = json!([]));
    broken("alert/info[1]/expires", &|alert| alert["info"][0]["expires"] = json!("2026-05-01T10:00:00+00:00"));
    broken("alert/info[1]/onset", &|alert| alert["info"][0]["onset"] = json!("2026-05-01T13:00:00+00:00"));
    broken("alert/info[1]/area[1]/geocode", &|alert| {
        alert["info"][0]["area"][0]["geocode"][0]["value"] = json!("6109")
    });
    broken("alert/info[1]/eventCode", &|alert| alert["info"][0]["eventCode"] = json!([]));
    broken("alert/info[1]/event", &|alert| alert["info"][0]["event"] = json!({}));
}

#[test]
fn an_alert_is_found_within_its_envelope() {
    let built = run(json!({ "alert": storm() }));
    let alert = built["xml"].as_str().unwrap().split_once("<alert").unwrap().1;
    let envelope =
        format!("<EDXLDistribution><embeddedXMLContent><alert{alert}</embeddedXMLContent></EDXLDistribution>");
    assert_eq!(run(json!({ "xml": envelope, "profile": "edxl" }))["valid"], true);
    assert_eq!(run(json!({ "xml": envelope }))["valid"], false);
}
