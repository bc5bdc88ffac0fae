use super::*;

#[tokio::test]
async fn only_a_key_in_its_own_header_is_admitted() {
    let muster = Muster::start(UNLIMITED);
    let body = json!({ "message": MILD });
    let bearer = muster.client().post(CHAT, &body).await;
    assert_eq!((bearer.status, bearer.json()["error"]["code"].as_str()), (401, Some("unauthorized")));
    assert!(bearer.header("www-authenticate").unwrap().starts_with("ApiKey"), "{:?}", bearer.headers);
    let none = muster.client().without_key().post(CHAT, &body).await;
    assert_eq!(none.status, 401);
    let unknown = Medical::of(&muster).with(support::UNKNOWN_KEY).post(CHAT, &body).await;
    assert_eq!(unknown.status, 401);
    // The header of this interface is no credential elsewhere.
    for path in ["/api/models", "/v1/models", "/api/v1/agents"] {
        assert_eq!(Medical::of(&muster).get(path).await.status, 401, "{path}");
    }
    assert_eq!(Medical::of(&muster).post(CHAT, &body).await.status, 200);
}

#[tokio::test]
async fn scope_and_plan_are_needed() {
    let muster = Muster::start(UNLIMITED);
    let medical = Medical::of(&muster);
    let other =
        muster.client().make_key(&json!({ "name": "c", "owner": "c", "scopes": ["chat"], "plan_a": "pro" })).await;
    let refused = medical.with(&other).post(CHAT, &json!({ "message": MILD })).await;
    assert_eq!((refused.status, refused.json()["error"]["code"].as_str()), (403, Some("forbidden")));
    assert!(refused.json()["error"]["message"].as_str().unwrap().contains("medical"));

    let starter = medical.with(&key(&muster, json!({ "plan_a": "starter" })).await);
    let refused = starter.post(CHAT, &json!({ "message": MILD })).await;
    assert_eq!((refused.status, refused.json()["error"]["code"].as_str()), (403, Some("plan_required")));
    let lookup = json!({ "symptoms": [MILD], "specialty": "ent" });
    assert_eq!(starter.post(PROTOCOLS, &lookup).await.status, 200, "the lookup needs no plan");
    assert_eq!(starter.get(PROTOCOLS).await.status, 200);
}

#[tokio::test]
async fn every_response_is_marked_as_not_to_be_stored() {
    let muster = Muster::start(UNLIMITED);
    let medical = Medical::of(&muster);
    for answered in [
        medical.get(PROTOCOLS).await,
        medical.post(CHAT, &json!({ "message": MILD })).await,
        medical.post(CHAT, &json!({})).await,
        medical.with("nonsense").post(CHAT, &json!({})).await,
        medical.get(&format!("{CONVERSATIONS}/con_00000000000000000000000000")).await,
    ] {
        assert_eq!(answered.header("cache-control"), Some("no-store"), "{}", answered.text);
        assert_eq!(answered.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answered.header("x-muster-ruleset").map(str::len), Some(16));
        assert_eq!(answered.header("strict-transport-security"), None, "only with TLS");
    }
    let idempotent = |body: Value| {
        let request = medical.post_request(CHAT, &body).header("idempotency-key", "one");
        async move { answer(request).await }
    };
    let first = idempotent(json!({ "message": MILD })).await;
    let second = idempotent(json!({ "message": GRAVE })).await;
    assert_eq!((first.status, second.status), (200, 200), "a key of an answer is ignored: nothing is stored for it");
    assert_eq!(second.header("idempotency-replayed"), None);
    assert_eq!(rank(&second.json()), 4);
}

#[tokio::test]
async fn under_tls_browsers_are_told_to_stay_with_it() {
    let muster = Muster::start_under_tls(UNLIMITED);
    let answered = Medical::of(&muster).get(PROTOCOLS).await;
    assert_eq!(answered.header("strict-transport-security"), Some("max-age=31536000"));
}

#[tokio::test]
async fn sixty_requests_a_minute_are_admitted() {
    let muster = Muster::start("");
    let medical = Medical::of(&muster).with(&key(&muster, json!({})).await);
    let first = medical.get(PROTOCOLS).await;
    assert_eq!((first.number("x-ratelimit-limit"), first.number("x-ratelimit-remaining")), (Some(60), Some(59)));
    for _ in 0..59 {
        assert_eq!(medical.post(CHAT, &json!({})).await.status, 400, "a bad request counts too");
    }
    let refused = medical.post(CHAT, &json!({ "message": MILD })).await;
    assert_eq!((refused.status, refused.json()["error"]["code"].as_str()), (429, Some("rate_limit_exceeded")));
    assert!(refused.number("retry-after").is_some_and(|seconds| (1..=60).contains(&seconds)));
    assert_eq!(refused.number("x-ratelimit-remaining"), Some(0));
}

#[tokio::test]
async fn unknown_paths_and_methods_are_refused_in_the_dialect() {
    let muster = Muster::start(UNLIMITED);
    let medical = Medical::of(&muster);
    let missing = medical.get("/api/medical/none").await;
    assert_eq!((missing.status, missing.json()["success"].as_bool()), (404, Some(false)));
    let method = medical.get(CHAT).await;
    assert_eq!((method.status, method.header("allow")), (405, Some("POST")));
    let kind = answer(medical.request(Method::POST, CHAT).header("content-type", "text/plain").body("{}")).await;
    assert_eq!(kind.status, 415, "{}", kind.text);
}
