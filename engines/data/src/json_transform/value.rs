//! Converts between JSON and jaq's values.

use jaq_json::{Map, Num, Val};
use serde_json::{Number, Value};

pub fn of_json(value: &Value) -> Val {
    match value {
        Value::Null => Val::Null,
        Value::Bool(truth) => Val::Bool(*truth),
        Value::Number(number) => Val::Num(match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => Num::from_integral(number),
            (None, Some(number)) => Num::from_integral(number),
            _ => Num::Float(number.as_f64().unwrap_or_default()),
        }),
        Value::String(text) => Val::from(text.clone()),
        Value::Array(items) => items.iter().map(of_json).collect(),
        Value::Object(object) => {
            let entries: Map = object.iter().map(|(key, value)| (Val::from(key.clone()), of_json(value))).collect();
            Val::obj(entries)
        }
    }
}

pub fn to_json(value: &Val) -> Value {
    match value {
        Val::Null => Value::Null,
        Val::Bool(truth) => Value::Bool(*truth),
        Val::Num(number) => to_number(number),
        Val::TStr(text) | Val::BStr(text) => String::from_utf8_lossy(text).into(),
        Val::Arr(items) => items.iter().map(to_json).collect(),
        Val::Obj(object) => object.iter().map(|(key, value)| (to_key(key), to_json(value))).collect(),
    }
}

fn to_key(key: &Val) -> String {
    match to_json(key) {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// jq writes a whole number without a point, NaN as null, infinity as the greatest number.
fn to_number(number: &Num) -> Value {
    let float = match number {
        Num::Int(number) => return (*number as i64).into(),
        Num::BigInt(number) => match (i64::try_from(&**number), u64::try_from(&**number)) {
            (Ok(number), _) => return number.into(),
            (_, Ok(number)) => return number.into(),
            _ => number.to_string().parse().unwrap_or(f64::NAN),
        },
        Num::Float(number) => *number,
        Num::Dec(number) => number.parse().unwrap_or(f64::NAN),
    };
    if float.is_nan() {
        return Value::Null;
    }
    let float = float.clamp(f64::MIN, f64::MAX);
    if float.fract() == 0.0 && float.abs() < 2_f64.powi(53) {
        return (float as i64).into();
    }
    Number::from_f64(float).map_or(Value::Null, Value::Number)
}
