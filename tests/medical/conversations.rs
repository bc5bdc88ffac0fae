use super::*;

const KEPT: &str = "[limits]\nmedical = \"unlimited\"\n[medical]\nkeep_hours = 24\nmax_conversations = 2\n";

fn path(id: &str) -> String {
    format!("{CONVERSATIONS}/{id}")
}

#[tokio::test]
async fn by_default_nothing_is_kept_and_a_request_for_it_is_refused() {
    let muster = Muster::start(UNLIMITED);
    let medical = Medical::of(&muster);
    let refused = medical.post(CHAT, &json!({ "message": MILD, "conversationId": "new" })).await;
    let error = &refused.json()["error"];
    assert_eq!((refused.status, error["field"].as_str()), (400, Some("conversationId")), "{}", refused.text);
    assert!(error["message"].as_str().unwrap().contains("previous"));
    assert_eq!(medical.get(&path("con_00000000000000000000000000")).await.status, 404);
}

#[tokio::test]
async fn a_conversation_joins_what_was_said_before() {
    let muster = Muster::start(KEPT);
    let medical = Medical::of(&muster);
    let alone = medical.chat(json!({ "message": "it came on suddenly, I am vomiting" })).await;
    assert!(alone["conversationId"].is_null(), "without conversationId nothing is kept");

    let first = medical
        .chat(json!({ "message": "I have the worst headache", "conversationId": "new",
        "vitalSigns": { "systolic": 85, "heartRate": 135, "respiratoryRate": 26 } }))
        .await;
    let id = first["conversationId"].as_str().unwrap().to_owned();
    assert!(id.starts_with("con_") && first["conversation"]["turns"] == 1, "{first}");
    let second = medical.chat(json!({ "message": "it came on suddenly, I am vomiting", "conversationId": id })).await;
    assert_eq!((second["conversationId"].as_str(), &second["conversation"]["turns"]), (Some(id.as_str()), &json!(2)));
    assert!(rank(&second) >= rank(&first) && rank(&second) > rank(&alone), "{}", second["triage"]);

    let read = medical.get(&path(&id)).await;
    assert_eq!(read.status, 200, "{}", read.text);
    let read = read.json();
    assert_eq!(
        (&read["turns"][0]["message"], read["turns"].as_array().unwrap().len()),
        (&json!("I have the worst headache"), 2)
    );
    assert_eq!(read["turns"][1]["response"], second["response"]);
    assert_eq!((&read["breakGlass"], &read["extracted"]["values"]["systolic"]), (&json!(false), &json!([85.0, 85.0])));
}

#[tokio::test]
async fn a_stream_is_kept_too() {
    let muster = Muster::start(KEPT);
    let medical = Medical::of(&muster);
    let mut events = medical.stream(&json!({ "message": MILD, "conversationId": "new", "stream": true })).await;
    let done = events.rest().await.pop().unwrap().json();
    let id = done["conversationId"].as_str().unwrap();
    assert_eq!(medical.get(&path(id)).await.json()["turns"][0]["message"], MILD);
}

#[tokio::test]
async fn another_key_finds_nothing() {
    let muster = Muster::start(KEPT);
    let medical = Medical::of(&muster);
    let id = medical.chat(json!({ "message": MILD, "conversationId": "new" })).await["conversationId"].clone();
    let id = id.as_str().unwrap();
    let other = medical.with(&key(&muster, json!({})).await);
    assert_eq!(other.get(&path(id)).await.status, 404);
    assert_eq!(answer(other.request(Method::DELETE, &path(id))).await.status, 404);
    assert_eq!(other.post(CHAT, &json!({ "message": MILD, "conversationId": id })).await.status, 404);

    assert_eq!(answer(medical.request(Method::DELETE, &path(id))).await.status, 200);
    assert_eq!(medical.get(&path(id)).await.status, 404);
}

#[tokio::test]
async fn a_key_keeps_a_bounded_number() {
    let muster = Muster::start(KEPT);
    let medical = Medical::of(&muster);
    let new = json!({ "message": MILD, "conversationId": "new" });
    medical.chat(new.clone()).await;
    medical.chat(new.clone()).await;
    let refused = medical.post(CHAT, &new).await;
    assert_eq!((refused.status, refused.json()["error"]["code"].as_str()), (429, Some("conversation_quota")));
}

#[tokio::test]
async fn breaking_the_glass_needs_its_role_and_a_reason_and_is_told() {
    let muster = Muster::start(KEPT);
    let operator = Medical::of(&muster);
    let owner = operator.with(&key(&muster, json!({})).await);
    let id = owner.chat(json!({ "message": MILD, "conversationId": "new" })).await["conversationId"].clone();
    let id = id.as_str().unwrap();
    let reason = "the clinic cannot be reached";
    let by = |medical: &Medical, reason: &str| {
        let request = medical.request(Method::GET, &path(id)).header("x-break-glass", reason);
        async move { answer(request).await }
    };
    let stranger = operator.with(&key(&muster, json!({})).await);
    let refused = by(&stranger, reason).await;
    assert_eq!((refused.status, refused.json()["error"]["code"].as_str()), (403, Some("permission_denied")));
    let security = operator.with(&key(&muster, json!({ "roles": ["security"] })).await);
    assert_eq!(security.get(&path(id)).await.status, 404, "the role alone opens nothing");
    for bad in ["too short", &"x".repeat(501)] {
        assert_eq!(by(&security, bad).await.status, 400, "{bad}");
    }
    let opened = by(&security, reason).await;
    assert_eq!((opened.status, &opened.json()["breakGlass"]), (200, &json!(true)), "{}", opened.text);
    assert_eq!(opened.json()["turns"][0]["message"], MILD);

    let entries = muster.client().get("/api/v1/audit?action=medical_break_glass").await.json()["entries"].clone();
    assert_eq!(entries.as_array().unwrap().len(), 1, "{entries}");
    assert_eq!((&entries[0]["resource"], &entries[0]["details"]["reason"]), (&json!(id), &json!(reason)));
    assert!(!entries.to_string().contains("hearing"), "nothing clinical");

    let told = owner.chat(json!({ "message": MILD })).await;
    assert_eq!((&told["notices"][0]["conversationId"], &told["notices"][0]["reason"]), (&json!(id), &json!(reason)));
    assert_eq!(told["notices"][0]["by"], entries[0]["actor"]);
    assert!(owner.chat(json!({ "message": MILD })).await["notices"].is_null(), "told once");
    let own = by(&owner, reason).await;
    assert_eq!(own.status, 403, "an owner without the role needs no reason");
}
