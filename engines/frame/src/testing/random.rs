//! Random inputs, valid and invalid: an output or a named failure, never a panic.

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::{errors, run, validator};
use crate::grammar::{Field, Need, Prim, Range, Type};
use crate::{Engine, Failure, FamilyEngines};

/// Valid inputs for each engine, and as many invalid ones.
const EACH: usize = 500;
/// Time limit per input in a debug build on a busy machine, far above the need.
const LONG: Duration = Duration::from_secs(20);

/// Random choices (SplitMix64).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, most: usize) -> usize {
        (self.next() % most.max(1) as u64) as usize
    }

    fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    fn float(&mut self) -> f64 {
        self.next() as f64 / u64::MAX as f64
    }
}

fn dice(engine: &Engine, salt: u64) -> Dice {
    Dice((u64::from(engine.number) << 8) | salt)
}

const WORDS: [&str; 16] = [
    "",
    "a",
    "id",
    "Oslo",
    "1",
    "-3.5",
    "2026-11-21",
    "2026-11-21T03:00:00Z",
    "SELECT * FROM t",
    "{\"a\":[1,null]}",
    "<a href=\"x\">b</a>",
    "fn f(x: u8) -> u8 { x }",
    "ä€😀\u{0}\u{202e}",
    "../../etc/passwd",
    "a,b\n1,\"2\n",
    "((((((((",
];

fn text(dice: &mut Dice) -> String {
    (0..dice.below(4)).map(|_| *dice.one(&WORDS)).collect::<Vec<_>>().join(*dice.one(&["", " ", "\n", ","]))
}

fn number(dice: &mut Dice, range: Range) -> f64 {
    let (least, most) = (range.least.unwrap_or(-1e3), range.most.unwrap_or(1e3).max(range.least.unwrap_or(-1e3)));
    match dice.below(4) {
        0 => least,
        1 => most.min(least + 100.0),
        _ => least + dice.float() * (most - least).min(1e3),
    }
}

fn any(dice: &mut Dice, depth: usize) -> Value {
    match dice.below(if depth > 2 { 5 } else { 7 }) {
        0 => Value::Null,
        1 => json!(dice.below(2) == 0),
        2 => json!(number(dice, Range::default())),
        3 => json!(dice.below(100)),
        4 => json!(text(dice)),
        5 => (0..dice.below(4)).map(|_| any(dice, depth + 1)).collect(),
        _ => Value::Object((0..dice.below(4)).map(|_| (text(dice), any(dice, depth + 1))).collect()),
    }
}

fn value(dice: &mut Dice, kind: &Type, range: Range) -> Value {
    let within = Range::default();
    match kind {
        Type::Prim(Prim::Number) => json!(number(dice, range)),
        Type::Prim(Prim::Integer) => json!(number(dice, range) as i64),
        Type::Prim(Prim::Boolean) => json!(dice.below(2) == 0),
        Type::Prim(Prim::String) => json!(text(dice)),
        Type::Prim(Prim::Any) => any(dice, 0),
        Type::Prim(Prim::Datetime) => json!(format!("2026-0{}-11T0{}:00:00Z", 1 + dice.below(9), dice.below(10))),
        Type::Prim(Prim::Date) => json!(format!("2026-0{}-11", 1 + dice.below(9))),
        Type::Prim(Prim::Bytes) => json!(*dice.one(&["", "AAEC", "/////w=="])),
        Type::Prim(Prim::LatLon) => json!({ "lat": 180.0 * dice.float() - 90.0, "lon": 360.0 * dice.float() - 180.0 }),
        Type::Prim(Prim::Bbox) => json!([0, 0, dice.float(), dice.float()]),
        Type::Prim(Prim::Geometry) => json!({ "type": "Point", "coordinates": [dice.float(), dice.float()] }),
        Type::Prim(Prim::FeatureCollection) => json!({ "type": "FeatureCollection", "features": [] }),
        Type::Prim(Prim::Finding) => json!({ "rule": text(dice), "severity": "low", "message": text(dice) }),
        Type::Enum(values) => json!(dice.one(values)),
        Type::Array(item) => (0..dice.below(5)).map(|_| value(dice, item, range)).collect(),
        Type::Map(item) => Value::Object((0..dice.below(4)).map(|_| (text(dice), value(dice, item, within))).collect()),
        Type::Record(members) => {
            let mut object = Map::new();
            for member in members {
                if !member.optional || dice.below(2) == 0 {
                    object.insert(member.name.clone(), value(dice, &member.kind, within));
                }
            }
            Value::Object(object)
        }
    }
}

fn inside(dice: &mut Dice, fields: &[Field]) -> Value {
    let mut object = Map::new();
    for field in fields {
        if field.need == Need::Required || dice.below(2) == 0 {
            object.insert(field.name.clone(), value(dice, &field.kind, field.range));
        }
    }
    Value::Object(object)
}

/// A valid input with one or two values replaced by arbitrary ones.
fn outside(dice: &mut Dice, fields: &[Field]) -> Value {
    let mut input = inside(dice, fields);
    for _ in 0..1 + dice.below(2) {
        let name = if dice.below(8) == 0 { text(dice) } else { dice.one(fields).name.clone() };
        input[&name] = any(dice, 0);
    }
    if dice.below(10) == 0 { any(dice, 0) } else { input }
}

fn tried(engine: &Engine, input: Value) -> Result<Value, Failure> {
    let (input_text, begun) = (input.to_string(), Instant::now());
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(engine, input)));
    assert!(begun.elapsed() < LONG, "{} takes {:?} for {input_text}", engine.id, begun.elapsed());
    outcome.unwrap_or_else(|_| panic!("{} panics at {input_text}", engine.id))
}

/// Returns a valid random input of an engine; the same for the same `seed`.
pub fn random_input(engine: &Engine, seed: u64) -> Value {
    inside(&mut Dice(seed.wrapping_mul(0x2545_f491_4f6c_dd1d)), &engine.fields().inputs)
}

/// Fails if an engine panics, takes long, gives an output outside its schema or takes an input outside its schema.
pub fn random_inputs_end(family: &'static FamilyEngines) {
    for engine in family.engines() {
        let (takes, gives) = (validator(&engine.input_schema()), validator(&engine.output_schema()));
        let mut random = dice(engine, 7);
        for _ in 0..EACH {
            let input = inside(&mut random, &engine.fields().inputs);
            let refused = engine.accept(input.clone());
            assert!(refused.is_ok() && takes.is_valid(&input), "{} refuses {input}: {refused:?}", engine.id);
            match tried(engine, input.clone()) {
                Ok(output) => {
                    let errors = errors(&gives, &output);
                    assert!(errors.is_empty(), "{} for {input}: {errors:?}", engine.id);
                }
                Err(Failure::Internal { message }) => panic!("{} fails for {input}: {message}", engine.id),
                Err(_) => {}
            }
        }
        let mut random = dice(engine, 8);
        for _ in 0..EACH {
            let input = outside(&mut random, &engine.fields().inputs);
            let (valid, outcome) = (takes.is_valid(&input), tried(engine, input.clone()));
            if !valid {
                // `null` counts as absent for an optional field; elsewhere it is rejected.
                let named = |failure: &Failure| matches!(failure, Failure::Invalid { .. });
                assert!(
                    outcome.as_ref().is_err_and(named) || has_null(&input),
                    "{} takes {input}: {outcome:?}",
                    engine.id
                );
            }
        }
    }
}

fn has_null(input: &Value) -> bool {
    match input {
        Value::Null => true,
        Value::Array(items) => items.iter().any(has_null),
        Value::Object(object) => object.values().any(has_null),
        _ => false,
    }
}
