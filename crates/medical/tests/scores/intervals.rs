use muster_medical::score::{Input, InputKind, Inputs, Need, Score, all, evaluate, inputs};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// A value of the input that it accepts.
fn accepted(input: &Input) -> BoxedStrategy<muster_medical::score::Value> {
    match input.kind {
        InputKind::Number { low, high } => {
            // Half of the values near what patients have, where most limits are.
            let near = (low + (high - low) * 0.4).min(high);
            prop_oneof![low..=high, low..=near, Just(low), Just(high)].prop_map(Into::into).boxed()
        }
        InputKind::Whole { low, high } => (low as i64..=high as i64).prop_map(|whole| (whole as f64).into()).boxed(),
        InputKind::Flag => any::<bool>().prop_map(Into::into).boxed(),
        InputKind::Choice(words) => {
            let words: Vec<String> =
                words.iter().filter(|(_, code)| *code >= 0.0).map(|(word, _)| (*word).to_owned()).collect();
            proptest::sample::select(words).prop_map(Into::into).boxed()
        }
    }
}

/// Whole inputs of a score, and for each required one its turn to arrive.
fn arrivals(
    id: &'static str,
) -> impl Strategy<Value = (Inputs, Vec<(u32, &'static str, muster_medical::score::Value)>)> {
    let declared = inputs(id).unwrap();
    let context: Vec<_> = declared
        .iter()
        .filter(|input| input.need == Need::Optional)
        .map(|input| proptest::option::of(accepted(input)).prop_map(|value| (input.name, value)))
        .collect();
    let required: Vec<_> = declared
        .iter()
        .filter(|input| input.need == Need::Required)
        .map(|input| (any::<u32>(), Just(input.name), accepted(input)))
        .collect();
    (context, required).prop_map(|(context, required)| {
        let mut inputs = Inputs::default();
        for (name, value) in context {
            if let Some(value) = value {
                inputs.set(name, value);
            }
        }
        (inputs, required)
    })
}

fn bounds(score: &Score) -> (f64, f64) {
    (score.min.unwrap_or(f64::NEG_INFINITY), score.max.unwrap_or(f64::INFINITY))
}

/// Lets the inputs arrive one by one and checks each step against the last.
fn check(
    id: &'static str,
    mut known: Inputs,
    mut arriving: Vec<(u32, &str, muster_medical::score::Value)>,
) -> Result<(), TestCaseError> {
    arriving.sort_by_key(|(turn, ..)| *turn);
    let mut steps = vec![evaluate(id, &known).unwrap()];
    for (_, name, value) in arriving {
        known.set(name, value);
        steps.push(evaluate(id, &known).unwrap());
    }
    for pair in steps.windows(2) {
        let [before, after] = pair else { unreachable!() };
        if after.status == "not_applicable" {
            return Ok(());
        }
        let ((low, high), (lower, higher)) = (bounds(before), bounds(after));
        // Where a formula has neither value nor bounds, it says so.
        if after.min.is_some() {
            prop_assert!(low <= lower && higher <= high, "{id}: {low}..{high} became {lower}..{higher}");
        }
        for band in &after.possible_bands {
            let possible = before.possible_bands.is_empty() || before.possible_bands.contains(band);
            prop_assert!(possible, "{id}: {band} was not possible in {:?}", before.possible_bands);
        }
    }
    let last = steps.last().unwrap();
    prop_assert!(last.missing.is_empty(), "{id}: {:?} missing", last.missing);
    if let Some(value) = last.value {
        prop_assert_eq!(last.status, "complete");
        for step in steps.iter().filter(|step| step.status != "not_applicable") {
            let (low, high) = bounds(step);
            prop_assert!(low <= value && value <= high, "{id}: {value} is outside {low}..{high}");
        }
    }
    Ok(())
}

#[test]
fn bounds_hold_every_completion_and_only_shrink() {
    for id in all() {
        let mut runner = TestRunner::new(Config { cases: 96, failure_persistence: None, ..Config::default() });
        runner.run(&arrivals(id), |(known, arriving)| check(id, known, arriving)).unwrap();
    }
}

#[test]
fn every_score_with_all_inputs_has_a_value_or_says_why_not() {
    for id in all() {
        let mut runner = TestRunner::new(Config { cases: 32, failure_persistence: None, ..Config::default() });
        runner
            .run(&arrivals(id), |(mut known, arriving)| {
                for (_, name, value) in arriving {
                    known.set(name, value);
                }
                let score = evaluate(id, &known).unwrap();
                prop_assert!(score.value.is_some() || score.reason.is_some(), "{id} {known:?}");
                prop_assert!(score.value.is_none_or(f64::is_finite));
                prop_assert_eq!(score.value.is_some(), score.status == "complete");
                Ok(())
            })
            .unwrap();
    }
}

#[test]
fn news2_of_four_usual_signs_is_between_0_and_8() {
    let mut known = Inputs::default();
    known.set("respiratory_rate", 16.0).set("systolic_mmhg", 120.0).set("heart_rate_bpm", 72.0);
    known.set("temperature_c", 36.8);
    let score = evaluate("news2", &known).unwrap();
    assert_eq!((score.value, score.min, score.max), (None, Some(0.0), Some(8.0)));
    assert_eq!((score.band, score.status), (None, "partial"));
    assert_eq!(score.possible_bands, ["low", "low-medium", "medium", "high"]);
    assert_eq!(score.missing, ["spo2_percent", "supplemental_oxygen", "acvpu"]);
}

#[test]
fn meld_without_a_value_has_bounds_by_its_clamped_inputs() {
    let mut known = Inputs::default();
    known.set("bilirubin_mg_dl", 2.9).set("inr", 2.6).set("creatinine_mg_dl", 3.6);
    known.set("albumin_g_dl", 2.1).set("sex", "female").set("dialysis", false);
    let score = evaluate("meld_3_0", &known).unwrap();
    // Sodium 137 gives 33; sodium 125 adds 0.82 * 12 - 0.24 * 12 * ln 2.9 = 6.8, cut at 40.
    assert_eq!((score.value, score.min, score.max), (None, Some(33.0), Some(40.0)));
    let nothing = evaluate("meld_3_0", &Inputs::default()).unwrap();
    assert_eq!((nothing.min, nothing.max, nothing.status), (Some(6.0), Some(40.0), "insufficient"));
}

#[test]
fn an_untestable_component_of_the_coma_scale_leaves_an_interval() {
    let mut known = Inputs::default();
    known.set("eye_opening", "spontaneous").set("verbal_response", "not_testable").set("motor_response", "localising");
    let score = evaluate("gcs", &known).unwrap();
    assert_eq!((score.value, score.min, score.max), (None, Some(10.0), Some(14.0)));
    assert_eq!(score.status, "partial");
    assert!(score.reason.unwrap().contains("not testable"));
}
