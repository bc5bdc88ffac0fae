//! The derives, as a family's engine uses them.

use std::collections::BTreeMap;

use muster_engine::prelude::*;
use muster_engine::wire::{FromValue, MemberShape, Shape, ToValue};
use muster_engine::{Answered, Engine, Nature, call};
use serde_json::json;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
#[wire(case = "kebab")]
enum Class {
    Low,
    VeryHigh,
    #[wire(name = "N/A")]
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Input, Output)]
struct Row {
    r#type: String,
    speed_km_h: f64,
    max_tokens: Option<u32>,
}

#[derive(Debug, PartialEq, Input)]
struct Given {
    temperature_deg_c: f64,
    class: Class,
    rows: Vec<Row>,
    weights: BTreeMap<String, f64>,
    at: Option<LatLon>,
    time: Timestamp,
    pair: [i64; 2],
}

#[derive(Output)]
struct Found<'a> {
    name: &'a str,
    depth_m: Option<f64>,
    class: Class,
    rows: Vec<Row>,
    #[wire(skip)]
    #[allow(dead_code, reason = "it shows that a member can be left out")]
    order: usize,
}

fn row() -> Row {
    Row { r#type: "a".to_owned(), speed_km_h: 3.5, max_tokens: None }
}

#[test]
fn an_input_is_read_under_its_names_without_units() {
    let input = json!({
        "temperature": -10, "class": "very-high", "rows": [{ "type": "a", "speed": 3.5, "max_tokens": null }],
        "weights": { "x": 1.0 }, "at": { "lat": 1.0, "lon": 2.0 }, "time": "2026-11-21T03:00:00Z", "pair": [1, 2.0],
    });
    let expected = Given {
        temperature_deg_c: -10.0,
        class: Class::VeryHigh,
        rows: vec![row()],
        weights: BTreeMap::from([("x".to_owned(), 1.0)]),
        at: Some(LatLon { lat: 1.0, lon: 2.0 }),
        time: "2026-11-21T03:00:00Z".parse().unwrap(),
        pair: [1, 2],
    };
    assert_eq!(Given::from_value(input).unwrap(), expected);
}

#[test]
fn an_output_leaves_out_what_is_absent() {
    let found = Found { name: "x", depth_m: None, class: Class::Unknown, rows: vec![row()], order: 3 };
    let expected = json!({ "name": "x", "class": "N/A", "rows": [{ "type": "a", "speed": 3.5 }] });
    assert_eq!(found.to_value(), expected);
}

#[test]
fn a_shape_has_the_units_that_were_taken_off() {
    let member = |name, unit, optional, shape| MemberShape { name, unit, optional, shape };
    let expected = Shape::Record(vec![
        member("type", None, false, Shape::String),
        member("speed", Some("km_h"), false, Shape::Number),
        member("max_tokens", None, true, Shape::Integer),
    ]);
    assert_eq!(<Row as FromValue>::shape(), expected);
    assert_eq!(<Row as ToValue>::shape(), expected);
}

#[test]
fn words_have_their_texts() {
    assert_eq!(Class::ALL.map_words(), ["low", "very-high", "N/A"]);
    assert_eq!(Class::VeryHigh.word(), "very-high");
}

trait MapWords {
    fn map_words(&self) -> Vec<&'static str>;
}

impl MapWords for [(Class, &'static str)] {
    fn map_words(&self) -> Vec<&'static str> {
        self.iter().map(|(_, word)| *word).collect()
    }
}

#[test]
fn what_a_type_cannot_hold_is_a_problem_with_its_path() {
    let run = |rows: Value| call(|rows: Wrapped, _: &Context| Ok(rows), rows, &Context::default());
    let failed = run(json!({ "rows": [{ "type": "a", "speed": 1, "max_tokens": -1 }] }));
    let Err(Failure::Invalid { problems }) = failed else { panic!("{failed:?}") };
    assert_eq!(problems[0].loc, ["rows", "0", "max_tokens"]);
    assert!(run(json!({ "rows": [{ "type": "a", "speed": 1, "max_tokens": 3.0 }] })).is_ok());
    assert!(run(json!({ "rows": [{ "type": "a", "speed": 1, "max_tokens": 1e300 }] })).is_err());
}

#[derive(Input, Output)]
struct Wrapped {
    rows: Vec<Row>,
}

fn asks(_: Value, cx: &Context) -> Result<Value, Failure> {
    let embed = |text: &str| Need::Embed { texts: vec![text.to_owned()], model: "embedded".to_owned() };
    let Answer::Given(first) = cx.ask(embed("a"))? else { return Ok(json!("refused")) };
    let text = first.as_str().unwrap_or_default().to_owned();
    match cx.ask(embed(&text))? {
        Answer::Given(second) => Ok(second),
        Answer::Refused { why } => Ok(json!(why)),
    }
}

#[test]
fn an_engine_is_run_again_with_the_answers_to_its_needs() {
    let engine = Engine::bare(156, "asks", Nature::Model, asks);
    let mut answers: Vec<Answered> = Vec::new();
    let mut outcome = engine.run(json!({}), &Context::default());
    while let Err(Failure::Needs { need }) = outcome {
        let answer = Answer::Given(json!(format!("answer {}", answers.len())));
        answers.push(Answered { need, answer });
        outcome = engine.run(json!({}), &Context::default().with_answers(answers.clone()));
    }
    assert_eq!(outcome, Ok(json!("answer 1")));
    let Need::Embed { texts, .. } = &answers[1].need else { panic!() };
    assert_eq!(texts, &["answer 0"]);
    assert_eq!(engine.run(json!({}), &Context::default().refusing("no budget")), Ok(json!("refused")));
    answers[0].need = Need::Tasks { request: json!({}) };
    let changed = engine.run(json!({}), &Context::default().with_answers(answers));
    assert!(matches!(changed, Err(Failure::Internal { .. })), "{changed:?}");
}

#[test]
fn an_explanation_is_kept_only_on_request() {
    let explain = |cx: Context| {
        cx.step("slope", 0.5, "m/m");
        cx.assume("the ground is dry");
        cx.finish().1
    };
    assert_eq!(explain(Context::default()), None);
    let explained = explain(Context::default().with_explanation()).unwrap();
    assert_eq!(explained.steps[0].value, json!(0.5));
    assert_eq!(explained.assumptions, ["the ground is dry"]);
}
