//! What `#[derive(Request)]` generates: readers that report every failed check, schemas, parameters and examples.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod description;

use std::collections::BTreeMap;

use muster_request::{FieldFailure, Fields, Rejection, Request};
use proptest::prelude::*;
use serde_json::{Value, json};
use utoipa::openapi::path::{Parameter, ParameterIn};
use utoipa::{IntoParams, PartialSchema, ToSchema};

#[derive(Debug, Clone, Copy, PartialEq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
enum Direction {
    Up,
    Down,
}

/// A point of a route.
#[derive(Debug, PartialEq, Request)]
struct Waypoint {
    #[request(range = -90.0..=90.0)]
    lat: f64,
    #[request(nested)]
    label: Option<Label>,
}

/// A text with its language.
#[derive(Debug, PartialEq, Request)]
struct Label {
    #[request(chars = 1..=5)]
    text: String,
}

/// Members that several requests have.
#[derive(Debug, PartialEq, Request)]
struct Audit {
    /// Why it is done.
    #[request(chars = ..=10, example = "storm")]
    reason: Option<String>,
    #[request(range = 0..=MOST_RETRIES)]
    retries: u32,
}

const MOST_RETRIES: u32 = 5;
const DEFAULT_LIMIT: u32 = 50;

/// A route that is to be taken.
#[derive(Debug, PartialEq, Request)]
#[request(schema = RoutePlan, check = up_needs_a_speed)]
struct Route {
    /// How it is called.
    #[request(rename = "type", chars = 1..=5, no_nul, example = "boat")]
    kind: String,
    #[request(range = 1..=60, default = DEFAULT_LIMIT, example = 7)]
    speed: u32,
    #[request(list, items = 1..=60)]
    points: Option<Vec<Waypoint>>,
    #[request(flatten)]
    audit: Audit,
    #[request(schema = String)]
    direction: Option<Direction>,
    #[request(check = even)]
    crew: Option<u8>,
    #[request(not_null)]
    tags: Option<Vec<String>>,
    area: Option<Option<String>>,
    #[request(items = ..=1, message = "must be one text at most")]
    notes: Option<Vec<String>>,
    #[request(with = one_or_many, schema = String)]
    stop: Option<Vec<String>>,
    #[request(with = is_fast, using = speed + kind, hidden, default)]
    fast: bool,
    #[request(default = true)]
    active: bool,
    data: Option<Value>,
}

fn even(number: &u8) -> Result<(), String> {
    if number.is_multiple_of(2) { Ok(()) } else { Err(format!("{number} is odd")) }
}

fn one_or_many(fields: &mut Fields<'_>, name: &str) -> Option<Vec<String>> {
    match fields.value(name)? {
        Value::String(text) => Some(vec![text.clone()]),
        _ => fields.choice(name),
    }
}

fn is_fast(_: &mut Fields<'_>, _: &str, speed: &u32, kind: &Option<String>) -> Option<bool> {
    Some(*speed > 30 && kind.is_some())
}

fn up_needs_a_speed(fields: &mut Fields<'_>) {
    if fields.value("direction").is_some_and(|direction| direction == "up") && fields.value("speed").is_none() {
        fields.fail("direction", "up needs a speed");
    }
}

/// An audited call, whose reason must be sent.
#[derive(Debug, PartialEq, Request)]
#[request(required = reason, into = Call)]
struct CallRequest {
    #[request(flatten)]
    audit: Audit,
    number: Option<u16>,
}

#[derive(Debug, PartialEq)]
struct Call {
    audit: Audit,
    number: Option<u16>,
}

/// A list of routes.
#[derive(Debug, PartialEq, Request)]
#[request(query)]
struct RouteQuery {
    /// Only of this direction.
    #[request(schema = String)]
    direction: Option<Direction>,
    #[request(with = commas, default, schema = String)]
    states: Vec<String>,
    #[request(range = -1.5..=1.5)]
    tilt: Option<f64>,
    active: Option<bool>,
    #[request(flatten)]
    page: PageQuery,
}

#[derive(Debug, PartialEq, Request)]
#[request(query)]
struct PageQuery {
    #[request(range = 1..=200, default = 50)]
    limit: usize,
    cursor: Option<String>,
}

#[derive(Debug, PartialEq, Request)]
#[request(query, last, skip_empty)]
struct LenientQuery {
    q: String,
    #[request(range = 1..=9)]
    limit: Option<u8>,
}

/// Members of every kind that holds others.
#[derive(Debug, PartialEq, Request)]
#[request(example = { "alpha": 3 })]
struct Deep {
    alpha: Option<i64>,
    #[request(nested)]
    inner: Option<Inner>,
    #[request(list)]
    inners: Option<Vec<Inner>>,
    #[request(schema = Object)]
    policy: Option<Policy>,
    #[request(schema = Object)]
    target: Option<Target>,
    #[request(with = by_hand)]
    hand: Option<bool>,
    notes: Option<serde_json::Map<String, Value>>,
}

#[derive(Debug, PartialEq, Request)]
struct Inner {
    bravo: Option<bool>,
}

#[derive(Debug, PartialEq, serde::Deserialize)]
#[serde(default)]
#[derive(Default)]
struct Policy {
    stages: Vec<Stage>,
    retries: u32,
}

#[derive(Debug, PartialEq, serde::Deserialize)]
struct Stage {
    percent: u8,
    soak_s: Option<u32>,
}

#[derive(Debug, PartialEq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
enum Target {
    Group(String),
    Query(Policy),
    Circle { radius_m: f64 },
}

fn by_hand(fields: &mut Fields<'_>, name: &str) -> Option<bool> {
    fields
        .object(name, |hand| {
            hand.only(&["left"]);
            hand.bool("left")
        })
        .flatten()
}

/// As others define it.
#[derive(Debug, PartialEq, Request)]
#[request(open, example = { "a": 3 })]
struct Open {
    a: Option<i64>,
    #[request(nested)]
    inner: Option<Inner>,
    #[request(schema = Object)]
    policy: Option<Policy>,
    #[request(with = by_hand)]
    hand: Option<bool>,
}

fn commas(fields: &mut Fields<'_>, name: &str) -> Option<Vec<String>> {
    Some(fields.texts(name).flat_map(|text| text.split(',')).map(str::to_owned).collect())
}

fn failures(rejection: &Rejection) -> Vec<(&'static str, String, &str)> {
    let one = |field: &FieldFailure| (field.kind, field.loc.join("."));
    rejection.fields.iter().map(|field| (one(field).0, one(field).1, field.msg.as_str())).collect()
}

fn refused(body: Value) -> Rejection {
    Route::from_json(&body).unwrap_err()
}

fn query(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|&(name, text)| (name.to_owned(), text.to_owned())).collect()
}

/// The least that a route needs, and one more member.
fn with(name: &str, value: Value) -> Value {
    let mut body = json!({ "type": "boat", "retries": 0 });
    body.as_object_mut().unwrap().insert(name.to_owned(), value);
    body
}

#[test]
fn defaults_fill_what_is_left_out() {
    let expected = Route {
        kind: "boat".to_owned(),
        speed: 50,
        points: None,
        audit: Audit { reason: None, retries: 2 },
        direction: None,
        crew: None,
        tags: None,
        area: None,
        notes: None,
        stop: None,
        fast: true,
        active: true,
        data: None,
    };
    assert_eq!(Route::from_json(&json!({ "type": "boat", "retries": 2 })), Ok(expected));
}

#[test]
fn every_failed_check_is_reported_at_once() {
    let body = json!({
        "type": 7, "speed": 61, "points": [{ "lat": 91 }, 3, { "label": { "text": "" } }], "reason": "far too long",
        "direction": "left", "crew": 3, "tags": null, "notes": ["a", "b"], "stop": 4, "active": "yes",
    });
    let rejection = refused(body);
    assert_eq!(rejection.message, "type: must be a string");
    assert!(!rejection.unsupported);
    let expected = [
        ("type_error", "body.type", "must be a string"),
        ("value_error", "body.speed", "must be 1 to 60"),
        ("value_error", "body.points.0.lat", "must be -90 to 90"),
        ("type_error", "body.points.1", "must be an object"),
        ("missing", "body.points.2.lat", "is required"),
        ("value_error", "body.points.2.label.text", "must be 1 to 5 characters"),
        ("value_error", "body.reason", "must be at most 10 characters"),
        ("missing", "body.retries", "is required"),
        ("value_error", "body.direction", "unknown variant `left`, expected `up` or `down`"),
        ("value_error", "body.crew", "3 is odd"),
        ("value_error", "body.tags", "must not be null: leave it out, or send an empty one"),
        ("value_error", "body.notes", "must be one text at most"),
        ("value_error", "body.stop", "invalid type: integer `4`, expected a sequence"),
        ("type_error", "body.active", "must be true or false"),
    ];
    let expected: Vec<_> = expected.map(|(kind, loc, msg)| (kind, loc.to_owned(), msg)).into();
    assert_eq!(failures(&rejection), expected);
}

#[test]
fn each_bound_refuses_what_is_beyond_it() {
    for (name, value, msg) in [
        ("type", json!(""), "must be 1 to 5 characters"),
        ("type", json!("canoes"), "must be 1 to 5 characters"),
        ("type", json!("a\0"), "must be 1 to 5 characters"),
        ("speed", json!(0), "must be 1 to 60"),
        ("speed", json!(1.5), "must be a whole number"),
        ("retries", json!(6), "must be 0 to 5"),
        ("reason", json!("eleven char"), "must be at most 10 characters"),
        ("notes", json!(["a", "b"]), "must be one text at most"),
        ("points", json!([]), "must be 1 to 60"),
        ("points", json!(vec![json!({}); 61]), "must be 1 to 60"),
        ("crew", json!(1), "1 is odd"),
        ("crew", json!(256), "must be 0 to 255"),
        ("direction", json!("up"), "up needs a speed"),
    ] {
        let error = refused(with(name, value.clone()));
        let messages: Vec<&str> = error.fields.iter().map(|field| field.msg.as_str()).collect();
        assert_eq!(messages, [msg], "{name}: {value}");
    }
}

#[test]
fn null_is_left_out_cleared_or_refused() {
    let read = |area: Value| Route::from_json(&with("area", area)).map(|route| route.area);
    assert_eq!(read(json!("delta")), Ok(Some(Some("delta".to_owned()))));
    assert_eq!(read(Value::Null), Ok(Some(None)));
    assert_eq!(Route::from_json(&with("crew", Value::Null)).map(|route| (route.area, route.crew)), Ok((None, None)));
    assert_eq!(failures(&refused(with("type", Value::Null))), [("missing", "body.type".to_owned(), "is required")]);
    assert_eq!(refused(with("tags", Value::Null)).fields[0].loc, ["body", "tags"]);
}

#[test]
fn a_body_is_an_object() {
    let error = refused(json!([1]));
    assert_eq!(failures(&error), [("type_error", "body".to_owned(), "must be an object")]);
    assert_eq!(error.message, "the body must be a JSON object");
}

#[test]
fn what_was_sent_is_shortened() {
    let error = refused(with("crew", json!("x".repeat(1000))));
    assert_eq!(error.fields[0].input.as_str().map(|text| text.chars().count()), Some(201));
    assert_eq!(refused(with("crew", json!(vec![0; 1000]))).fields[0].input, Value::Null);
}

#[test]
fn at_most_fifty_failures_are_reported() {
    let points = vec![json!({}); 60];
    assert_eq!(refused(with("points", points.into())).fields.len(), 50);
}

#[test]
fn unknown_members_are_refused_at_every_depth_with_the_nearest_name() {
    let error = refused(with("retreis", json!(1)));
    assert_eq!(error.message, "unknown field `retreis`: did you mean `retries`?");
    assert_eq!((error.fields[0].kind, &error.fields[0].input), ("extra_forbidden", &json!(1)));
    for (sent, at, msg) in [
        (json!({ "alhpa": 1 }), "alhpa", "unknown field `alhpa`: did you mean `alpha`?"),
        (json!({ "alpha": 1, "x": null }), "x", ""),
        (json!({ "inner": { "brvo": true } }), "inner.brvo", "unknown field `brvo`: did you mean `bravo`?"),
        (json!({ "inners": [{}, { "x": true }] }), "inners.1.x", "unknown field `x`: only `bravo` is known"),
        (json!({ "policy": { "retires": 1 } }), "policy.retires", "unknown field `retires`: did you mean `retries`?"),
        (
            json!({ "policy": { "stages": [{ "percent": 1 }, { "percent": 2, "soak": 3 }] } }),
            "policy.stages.1.soak",
            "unknown field `soak`: did you mean `soak_s`?",
        ),
        (json!({ "target": { "query": { "stage": [] } } }), "target.query.stage", ""),
        (
            json!({ "target": { "group": "g", "gruop": "h" } }),
            "target.gruop",
            "unknown field `gruop`: did you mean `group`?",
        ),
        (json!({ "target": { "circle": { "radius_m": 1, "radius": 2 } } }), "target.circle.radius", ""),
        (json!({ "hand": { "right": true } }), "hand.right", "unknown field `right`: only `left` is known"),
    ] {
        let error = Deep::from_json(&sent).unwrap_err();
        let failed = failures(&error);
        assert_eq!((failed[0].0, failed[0].1.as_str()), ("extra_forbidden", format!("body.{at}").as_str()), "{sent}");
        assert!(msg.is_empty() || failed[0].2 == msg, "{failed:?}");
        let nested = at.rsplit_once('.').map(|(before, _)| format!("{before}: ")).unwrap_or_default();
        assert_eq!(error.message, format!("{nested}{}", failed[0].2));
    }
    let free = json!({ "notes": { "anything": { "goes": 1 } }, "target": { "group": "g" }, "policy": {}, "inner": {} });
    assert!(Deep::from_json(&free).is_ok());
    let error = Deep::from_json(&json!({ "target": { "gruop": "g" } })).unwrap_err();
    let msg = "unknown variant `gruop`, expected one of `group`, `query`, `circle`: did you mean `group`?";
    assert_eq!(failures(&error), [("value_error", "body.target".to_owned(), msg)]);
}

#[test]
fn an_unknown_member_is_named_before_what_is_missing() {
    let error = refused(json!({ "tpye": "boat", "retries": 0, "speeed": 3 }));
    assert_eq!(error.message, "unknown field `speeed`: did you mean `speed`?");
    let kinds: Vec<_> = failures(&error).into_iter().map(|(kind, loc, _)| (kind, loc)).collect();
    let expected = [
        ("extra_forbidden", "body.speeed".to_owned()),
        ("extra_forbidden", "body.tpye".to_owned()),
        ("missing", "body.type".to_owned()),
    ];
    assert_eq!(kinds, expected);
}

#[test]
fn an_open_request_ignores_them_at_every_depth() {
    let sent = json!({ "a": 1, "b": 2, "inner": { "x": 1 }, "policy": { "x": 1 }, "hand": { "x": 1 } });
    assert!(Open::from_json(&sent).is_ok());
}

#[test]
fn unknown_members_are_bounded() {
    let many: serde_json::Map<String, Value> =
        (0..100_000).map(|n| (format!("{n}{}", "x".repeat(100)), json!(n))).collect();
    let error = Open::from_json(&json!({ "policy": 3, "inner": many.clone() })).unwrap_err();
    assert_eq!(error.fields.len(), 1);
    let error = Deep::from_json(&Value::Object(many.clone())).unwrap_err();
    assert_eq!(error.fields.len(), 50);
    assert!(error.fields.iter().all(|field| field.loc[1].chars().count() <= 65 && field.msg.len() < 300));
    assert_eq!(Deep::from_json(&json!({ "policy": many })).unwrap_err().fields.len(), 50);
    let pairs: Vec<_> = (0..20_000).map(|n| (format!("p{n}"), String::new())).collect();
    assert_eq!(RouteQuery::from_query(&pairs).unwrap_err().fields.len(), 50);
}

#[test]
fn an_unknown_parameter_is_refused_even_if_it_is_empty_or_repeated() {
    let error = RouteQuery::from_query(&query(&[("directoin", "up"), ("directoin", "down"), ("z", "")])).unwrap_err();
    assert_eq!(error.message, "unknown query parameter `directoin`: did you mean `direction`?");
    let places: Vec<_> = failures(&error).into_iter().map(|(kind, loc, _)| (kind, loc)).collect();
    assert_eq!(places, [("extra_forbidden", "query.directoin".to_owned()), ("extra_forbidden", "query.z".to_owned())]);
    let error = LenientQuery::from_query(&query(&[("q", "pump"), ("limt", "")])).unwrap_err();
    assert_eq!(error.message, "unknown query parameter `limt`: did you mean `limit`?");
}

#[test]
fn only_an_open_request_is_described_as_open() {
    let schema = serde_json::to_value(Deep::schema()).unwrap();
    assert_eq!(schema["additionalProperties"], false);
    let policy = &schema["properties"]["policy"];
    assert_eq!((&policy["type"], &policy["additionalProperties"]), (&json!(["object", "null"]), &json!(false)));
    let stage = &policy["properties"]["stages"]["items"];
    assert_eq!((&stage["required"], &stage["additionalProperties"]), (&json!(["percent"]), &json!(false)));
    assert_eq!(stage["properties"]["soak_s"]["format"], "int32");
    let forms = schema["properties"]["target"]["oneOf"][0]["oneOf"].as_array().unwrap();
    assert_eq!(forms.len(), 3);
    assert!(serde_json::to_value(Open::schema()).unwrap().get("additionalProperties").is_none());
}

#[test]
fn a_query_is_read_from_texts() {
    let sent =
        query(&[("direction", "down"), ("states", "a,b"), ("states", "c"), ("tilt", "-0.5"), ("active", "true")]);
    let expected = RouteQuery {
        direction: Some(Direction::Down),
        states: vec!["a".to_owned(), "b".to_owned(), "c".to_owned()],
        tilt: Some(-0.5),
        active: Some(true),
        page: PageQuery { limit: 50, cursor: None },
    };
    assert_eq!(RouteQuery::from_query(&sent), Ok(expected));
}

#[test]
fn every_failed_parameter_is_reported_at_once() {
    let sent = query(&[
        ("direction", "left"),
        ("tilt", "NaN"),
        ("active", "1"),
        ("limit", "0"),
        ("cursor", "a"),
        ("cursor", "b"),
    ]);
    let error = RouteQuery::from_query(&sent).unwrap_err();
    let wrong = |name: &str, msg| ("value_error", format!("query.{name}"), msg);
    assert_eq!(
        failures(&error),
        [
            wrong("direction", "unknown variant `left`, expected `up` or `down`"),
            wrong("tilt", "must be -1.5 to 1.5"),
            wrong("active", "must be true or false"),
            wrong("limit", "must be 1 to 200"),
            wrong("cursor", "must be sent once"),
        ]
    );
    assert_eq!(error.fields[3].input, "0");
}

#[test]
fn of_a_lenient_query_the_last_value_counts_and_an_empty_one_is_left_out() {
    let sent = query(&[("limit", "5"), ("limit", "7"), ("q", "pump")]);
    assert_eq!(LenientQuery::from_query(&sent), Ok(LenientQuery { q: "pump".to_owned(), limit: Some(7) }));
    let sent = query(&[("limit", "5"), ("limit", ""), ("q", "")]);
    let error = LenientQuery::from_query(&sent).unwrap_err();
    assert_eq!(failures(&error), [("missing", "query.q".to_owned(), "is required")]);
}
