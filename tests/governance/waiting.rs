//! What waits in a state of its own: rollouts and extreme alerts, decided on their own routes and on those of approvals.

use serde_json::{Value, json};

use super::council::{APPROVALS, Council, Person, SETTINGS, code, refused};
use crate::support::client::{Answer, Client, answer};
use crate::support::device::Unit;
use crate::support::server::Muster;

const JOBS: &str = "/api/v1/firmware/jobs";

/// Rollouts to more than one device are guarded. The settings are the policy until there is a quorum.
fn settings(veto: &str) -> String {
    let [before, _] = SETTINGS.split("veto").collect::<Vec<_>>()[..] else { panic!("settings without a veto") };
    format!("{before}veto = '''{veto}'''\n[governance.guards.\"firmware.rollout\"]\nover = 1\n")
}

const NO_VETO: &str = "permit (principal, action, resource);";

/// A server with a quorum and two devices of the group `sirens`.
async fn rollout_server(veto: &str) -> (Muster, Council, [Unit; 2]) {
    let muster = Muster::start(&settings(veto));
    let council = Council::constitute(&muster.client()).await;
    let people = &council.requester.client;
    let group = || json!({ "groups": ["sirens"] });
    let units = [Unit::register(people, group()).await, Unit::register(people, group()).await];
    (muster, council, units)
}

fn reboot() -> Value {
    json!({ "name": "restart the sirens", "kind": "reboot", "target": { "group": "sirens" } })
}

fn data(answer: &Answer) -> Value {
    answer.json()["data"].clone()
}

/// Creates the rollout: returns the identifiers of the job and of its approval.
async fn waiting_job(council: &Council) -> (String, String) {
    let made = council.requester.client.post(JOBS, &reboot()).await;
    assert_eq!((made.status, &data(&made)["state"]), (201, &json!("pending_approval")), "{}", made.text);
    let text = |name: &str| data(&made)[name].as_str().unwrap_or_else(|| panic!("no {name}: {}", made.text)).to_owned();
    (text("id"), text("approval_id"))
}

async fn job(council: &Council, id: &str) -> Value {
    data(&council.requester.client.get(&format!("{JOBS}/{id}")).await)
}

/// A decision on the route of what waits: without the member `decision`, which that route says itself.
async fn own_route(person: &Person, path: &str, approval: &str, decision: &str, role: &str) -> Answer {
    let mut body = person.decision(&person.approval(approval).await, decision, role);
    let members = body.as_object_mut().unwrap();
    members.remove("decision");
    if decision == "break_glass" {
        members.remove("role");
    }
    members.insert("note".to_owned(), json!("read"));
    if path.contains("alerts") && !path.ends_with("reject") {
        members.remove("note");
    }
    person.client.post(path, &body).await
}

#[tokio::test]
async fn a_rollout_waits_for_its_approval_and_the_last_decision_starts_it() {
    let (_muster, council, _units) = rollout_server(NO_VETO).await;
    let (id, approval) = waiting_job(&council).await;
    let record = council.requester.approval(&approval).await;
    assert_eq!((&record["action"], &record["resource"]), (&json!("firmware.rollout"), &json!(id)));
    assert_eq!((&record["state"], &record["risk"]), (&json!("pending"), &json!("high")));
    assert_eq!(record["payload"]["body"], reboot());
    assert_eq!(record["payload"]["facts"]["devices"], 2, "{record}");

    let approve = format!("{JOBS}/{id}/approve");
    let plain = council.security.client.post(&approve, &json!({})).await;
    assert_eq!((plain.status, &plain.json()["error"]["details"][0]["loc"]), (400, &json!(["body", "role"])));
    let unsigned = council.security.client.post(&approve, &json!({ "role": "security" })).await;
    assert_eq!(code(&unsigned), refused(400, "signature_required"), "{}", unsigned.text);
    let own = own_route(&council.requester, &approve, &approval, "approve", "security").await;
    assert_eq!(code(&own), refused(403, "self_approval"), "{}", own.text);
    let stranger = own_route(&council.admin, &approve, &approval, "approve", "security").await;
    assert_eq!(stranger.status, 403, "{}", stranger.text);
    let reject = own_route(&council.security, &approve, &approval, "reject", "security").await;
    assert_eq!(code(&reject), refused(403, "signature_invalid"), "a signature of another decision: {}", reject.text);

    let first = own_route(&council.security, &approve, &approval, "approve", "security").await;
    assert_eq!((first.status, &data(&first)["state"]), (200, &json!("pending_approval")), "{}", first.text);
    let twice = own_route(&council.security, &approve, &approval, "approve", "security").await;
    assert!(matches!(twice.status, 403 | 409), "{}", twice.text);
    let last = council.operations.decide(&approval, "approve", "operations").await;
    assert_eq!((last.status, &last.json()["state"]), (200, &json!("executed")), "{}", last.text);
    let state = job(&council, &id).await["state"].clone();
    assert!(matches!(state.as_str(), Some("scheduled" | "rolling_out")), "{state}");
    let names: Vec<_> =
        job(&council, &id).await["approvals"].as_array().unwrap().iter().map(|a| a["user"].clone()).collect();
    assert_eq!(names, [json!(council.security.id), json!(council.operations.id)]);
    let used = council.requester.execute(JOBS, &reboot(), &approval).await;
    assert_eq!(used.status, 409, "the approval is of that job: {}", used.text);
    let repeated = council.requester.client.post_request(JOBS, &reboot()).header("Idempotency-Key", "once");
    let (first, again) = (answer(repeated.try_clone().unwrap()).await, answer(repeated).await);
    assert_eq!((first.status, data(&first)["id"].clone()), (201, data(&again)["id"].clone()), "{}", again.text);
    let open = council.requester.client.get(&format!("{APPROVALS}?state=pending")).await.json();
    assert_eq!(open["approvals"].as_array().unwrap().len(), 1, "a repeated request opens nothing: {open}");
}

#[tokio::test]
async fn a_rollout_and_its_approval_end_together() {
    let (_muster, council, _units) = rollout_server(NO_VETO).await;
    let (denied, approval) = waiting_job(&council).await;
    let deny = format!("{JOBS}/{denied}/deny");
    let answered = own_route(&council.operations, &deny, &approval, "reject", "operations").await;
    assert_eq!((answered.status, &data(&answered)["state"]), (200, &json!("denied")), "{}", answered.text);
    assert_eq!(council.requester.approval(&approval).await["state"], "rejected");
    let late = council.security.decide(&approval, "approve", "security").await;
    assert_eq!(late.status, 409, "{}", late.text);

    let (canceled, approval) = waiting_job(&council).await;
    let cancel = council.requester.client.post(&format!("{JOBS}/{canceled}/cancel"), &json!({})).await;
    assert_eq!((cancel.status, &data(&cancel)["state"]), (200, &json!("canceled")), "{}", cancel.text);
    assert_eq!(council.requester.approval(&approval).await["state"], "cancelled");

    let (ended, approval) = waiting_job(&council).await;
    let body = json!({ "reason": "not today" });
    let cancelled = council.requester.client.post(&format!("{APPROVALS}/{approval}/cancel"), &body).await;
    assert_eq!(cancelled.status, 200, "{}", cancelled.text);
    let ended = job(&council, &ended).await;
    assert_eq!(ended["state"], "canceled", "{ended}");
    assert!(ended["end_reason"].as_str().unwrap().contains("is cancelled"), "{ended}");

    let (revoked, approval) = waiting_job(&council).await;
    assert_eq!(council.security.decide(&approval, "approve", "security").await.status, 200);
    let path = format!("{APPROVALS}/{approval}/decisions/mine");
    let withdrawn = answer(council.security.client.request(reqwest::Method::DELETE, &path)).await;
    let state = withdrawn.json()["state"].as_str().unwrap_or_default().to_owned();
    let job_state = job(&council, &revoked).await["state"].clone();
    let together = [("pending", "pending_approval"), ("revoked", "canceled")];
    assert!(together.iter().any(|(one, other)| state == *one && job_state == **other), "{state} {job_state}");
}

#[tokio::test]
async fn before_there_is_a_quorum_a_rollout_waits_as_its_own_rules_say() {
    let muster = Muster::start(&format!("{}[firmware]\napprovals = 1\n", settings(NO_VETO)));
    let admin = Person::admin(&muster.client()).await;
    for _ in 0..2 {
        Unit::register(&admin.client, json!({ "groups": ["sirens"] })).await;
    }
    let made = admin.client.post(JOBS, &reboot()).await;
    let job = data(&made);
    assert_eq!((&job["state"], &job["approval_id"]), (&json!("pending_approval"), &json!(null)), "{}", made.text);
}

/// Reports an incident of extreme severity with further members, and triages it.
async fn incident(client: &Client, more: Value) -> String {
    let mut body = json!({ "title": "Flood at the Rhine", "kind": "flood", "severity": "Extreme", "urgency": "Expected",
        "certainty": "Observed", "area_desc": "Mainz", "status": "Actual",
        "geometry": { "type": "Polygon", "coordinates": [[[8.2, 49.9], [8.4, 49.9], [8.4, 50.1], [8.2, 49.9]]] } });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let made = client.post("/api/v1/incidents", &body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let path = format!("/api/v1/incidents/{}", data(&made)["id"].as_str().unwrap());
    let got = answer(client.post_request(&format!("{path}/triage"), &json!({})).header("if-match", "*")).await;
    assert_eq!(got.status, 200, "{}", got.text);
    path
}

/// Proposes an alert: returns its path and its approval.
async fn proposal(person: &Person, incident: &str) -> (String, String) {
    let made = person.client.post(&format!("{incident}/alerts"), &json!({ "instruction": "Leave the quay." })).await;
    assert_eq!((made.status, &data(&made)["state"]), (202, &json!("pending_second")), "{}", made.text);
    let text = |name: &str| data(&made)[name].as_str().unwrap_or_else(|| panic!("no {name}: {}", made.text)).to_owned();
    (format!("/api/v1/alerts/{}", text("id")), text("approval_id"))
}

#[tokio::test]
async fn an_extreme_alert_is_published_by_its_quorum() {
    let (_muster, council, _units) = rollout_server(NO_VETO).await;
    let path = incident(&council.requester.client, json!({})).await;
    let (alert, approval) = proposal(&council.requester, &path).await;
    let record = council.requester.approval(&approval).await;
    assert_eq!((&record["action"], &record["risk"]), (&json!("alert.broadcast"), &json!("critical")), "{record}");
    assert_eq!(record["payload"]["facts"]["urgency"], "Expected", "{record}");

    let confirm = format!("{alert}/confirm");
    let plain = council.security.client.post(&confirm, &json!({})).await;
    assert_eq!((plain.status, &plain.json()["error"]["details"][0]["loc"]), (400, &json!(["body", "role"])));
    let first = own_route(&council.security, &confirm, &approval, "approve", "security").await;
    assert_eq!((first.status, &data(&first)["state"]), (200, &json!("pending_second")), "{}", first.text);

    // A new text is another thing to approve: the decision on the earlier one is void.
    let edited = council.requester.patch(&alert, &json!({ "instruction": "Go to the school." })).await;
    assert_eq!(edited.status, 200, "{}", edited.text);
    let second = data(&edited)["approval_id"].as_str().unwrap().to_owned();
    assert_ne!(second, approval);
    assert_eq!(council.requester.approval(&approval).await["state"], "cancelled");
    let old = council.operations.decide(&approval, "approve", "operations").await;
    assert_eq!(old.status, 409, "{}", old.text);
    assert_eq!(council.operations.decide(&second, "approve", "operations").await.status, 200);
    let last = own_route(&council.security, &confirm, &second, "approve", "security").await;
    assert_eq!((last.status, &data(&last)["state"]), (200, &json!("published")), "{}", last.text);
    assert_eq!(council.requester.approval(&second).await["state"], "executed");

    // What ends the warning broadcasts no danger: two people, as before.
    let over = json!({ "note": "the water falls" });
    let ended = council.requester.client.post(&format!("{alert}/cancel"), &over).await;
    assert_eq!((ended.status, &data(&ended)["approval_id"]), (202, &json!(null)), "{}", ended.text);
}

#[tokio::test]
async fn an_immediate_alert_breaks_the_glass_and_a_rejected_one_is_never_published() {
    let (_muster, council, _units) = rollout_server(NO_VETO).await;
    let path = incident(&council.requester.client, json!({ "urgency": "Immediate" })).await;
    let (alert, approval) = proposal(&council.requester, &path).await;
    let reject = format!("{alert}/reject");
    let rejected = own_route(&council.operations, &reject, &approval, "reject", "operations").await;
    assert_eq!((rejected.status, &data(&rejected)["state"]), (200, &json!("rejected")), "{}", rejected.text);
    assert_eq!(council.requester.approval(&approval).await["state"], "rejected");

    let (alert, approval) = proposal(&council.requester, &path).await;
    let withdrawn = council.requester.client.post(&format!("{alert}/reject"), &json!({ "note": "a typo" })).await;
    assert_eq!((withdrawn.status, &data(&withdrawn)["state"]), (200, &json!("withdrawn")), "{}", withdrawn.text);
    assert_eq!(council.requester.approval(&approval).await["state"], "cancelled");

    let (alert, approval) = proposal(&council.requester, &path).await;
    let confirm = format!("{alert}/confirm");
    let first = own_route(&council.security, &confirm, &approval, "break_glass", "super_admin").await;
    assert_eq!((first.status, &data(&first)["state"]), (200, &json!("pending_second")), "{}", first.text);
    let second = own_route(&council.operations, &confirm, &approval, "break_glass", "super_admin").await;
    assert_eq!((second.status, &data(&second)["state"]), (200, &json!("published")), "{}", second.text);
    let record = council.requester.approval(&approval).await;
    assert_eq!(record["state"], "executed", "{record}");
    assert!(record["break_glass"]["review_due_at"].is_string(), "{record}");
}

#[tokio::test]
async fn no_rollout_is_opened_or_started_on_devices_of_a_critical_incident() {
    let veto = "permit (principal, action, resource);\n\
        @id(\"incident\") forbid (principal, action, resource) when { context.critical_incident };";
    let (_muster, council, units) = rollout_server(veto).await;
    let (id, approval) = waiting_job(&council).await;
    assert_eq!(council.security.decide(&approval, "approve", "security").await.status, 200);
    let path = incident(&council.requester.client, json!({ "device_ids": [units[1].id] })).await;
    let refusal = council.requester.client.post(JOBS, &reboot()).await;
    assert_eq!(code(&refusal), refused(403, "risk_veto"), "{}", refusal.text);
    assert_eq!(refusal.json()["error"]["details"]["rules"], json!(["incident"]), "{}", refusal.text);
    let last = council.operations.decide(&approval, "approve", "operations").await;
    assert_eq!((last.status, &last.json()["state"]), (200, &json!("vetoed")), "{}", last.text);
    let ended = job(&council, &id).await;
    assert_eq!(ended["state"], "denied", "{ended}");
    assert!(ended["end_reason"].as_str().unwrap().contains("vetoed by incident"), "{ended}");

    let over = answer(
        council
            .requester
            .client
            .post_request(&format!("{path}/false-alarm"), &json!({ "note": "no flood" }))
            .header("if-match", "*"),
    );
    let over = over.await;
    assert_eq!(over.status, 200, "{}", over.text);
    waiting_job(&council).await;
}
