//! Random inputs inside the fields of an engine, the same for the same seed.

use serde_json::{Map, Value, json};

use crate::Engine;
use crate::grammar::{Field, Need, Prim, Range, Type};

/// Returns valid inputs of an engine without end.
pub fn inputs(engine: &Engine, seed: u64) -> impl Iterator<Item = Value> {
    let mut dice = Dice::new(seed);
    std::iter::repeat_with(move || inside(&mut dice, &engine.fields().inputs))
}

/// Random choices (SplitMix64).
#[derive(Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, most: usize) -> usize {
        (self.next() % most.max(1) as u64) as usize
    }

    /// Chooses one of a list; `None` of an empty one.
    pub(crate) fn one<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        of.get(self.below(of.len()))
    }

    fn float(&mut self) -> f64 {
        self.next() as f64 / u64::MAX as f64
    }
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

pub(crate) fn text(dice: &mut Dice) -> String {
    let words: Vec<&str> = (0..dice.below(4)).filter_map(|_| dice.one(&WORDS).copied()).collect();
    words.join(dice.one(&["", " ", "\n", ","]).copied().unwrap_or_default())
}

fn number(dice: &mut Dice, range: Range) -> f64 {
    let (least, most) = (range.least.unwrap_or(-1e3), range.most.unwrap_or(1e3).max(range.least.unwrap_or(-1e3)));
    match dice.below(4) {
        0 => least,
        1 => most.min(least + 100.0),
        _ => least + dice.float() * (most - least).min(1e3),
    }
}

pub(crate) fn any(dice: &mut Dice, depth: usize) -> Value {
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
        Type::Prim(Prim::Bytes) => json!(dice.one(&["", "AAEC", "/////w=="])),
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

pub(crate) fn inside(dice: &mut Dice, fields: &[Field]) -> Value {
    let mut object = Map::new();
    for field in fields {
        if field.need == Need::Required || dice.below(2) == 0 {
            object.insert(field.name.clone(), value(dice, &field.kind, field.range));
        }
    }
    Value::Object(object)
}
