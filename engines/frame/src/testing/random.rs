//! Random inputs, valid and invalid: an output or a named failure, never a panic.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::{errors, run, validator};
use crate::grammar::Field;
use crate::sample::{Dice, any, inside, text};
use crate::{Engine, Failure, FamilyEngines};

/// Valid inputs for each engine, and as many invalid ones.
const EACH: usize = 500;
/// Time limit per input in a debug build on a busy machine, far above the need.
const LONG: Duration = Duration::from_secs(20);

fn dice(engine: &Engine, salt: u64) -> Dice {
    Dice::new((u64::from(engine.number) << 8) | salt)
}

/// A valid input with one or two values replaced by arbitrary ones.
fn outside(dice: &mut Dice, fields: &[Field]) -> Value {
    let mut input = inside(dice, fields);
    for _ in 0..1 + dice.below(2) {
        let name = if dice.below(8) == 0 {
            text(dice)
        } else {
            dice.one(fields).map(|field| field.name.clone()).unwrap_or_default()
        };
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
