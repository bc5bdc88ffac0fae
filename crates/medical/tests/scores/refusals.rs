use super::{number, score};
use muster_medical::score::{InputKind, Inputs, all, evaluate, inputs};
use serde_json::json;

#[test]
fn an_implausible_number_counts_as_missing_and_is_named() {
    for wrong in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, 5000.0] {
        let mut known = Inputs::default();
        known.set("heart_rate_bpm", wrong);
        let score = evaluate("news2", &known).unwrap();
        assert_eq!((score.value, score.min, score.max), (None, Some(0.0), Some(20.0)), "{wrong}");
        assert!(score.used.is_empty(), "{wrong}");
        assert!(score.missing.contains(&"heart_rate_bpm".to_owned()), "{wrong}");
        assert!(score.reason.unwrap().contains("heart_rate_bpm"), "{wrong}");
    }
}

#[test]
fn no_score_takes_a_number_that_is_not_finite_or_far_outside() {
    for id in all() {
        for input in inputs(id).unwrap() {
            for wrong in [f64::NAN, f64::INFINITY, -1e12, 1e12] {
                let mut known = Inputs::default();
                known.set(input.name, wrong);
                let score = evaluate(id, &known).unwrap();
                let reason = score.reason.unwrap_or_default();
                assert!(reason.contains(input.name), "{id} {} {wrong}: {reason}", input.name);
                assert_eq!(score.value, None, "{id} {} {wrong}", input.name);
                assert!(known.iter().all(|(_, value)| number(value).is_some()));
            }
        }
    }
}

#[test]
fn a_word_of_no_list_and_a_flag_of_no_kind_are_refused() {
    let wrong = score("child_pugh", json!({"ascites": "enormous"}));
    assert!(wrong.reason.unwrap().contains("enormous"));
    let wrong = score("curb65", json!({"confusion": 1}));
    assert!(wrong.reason.unwrap().contains("neither true nor false"));
    let wrong = score("gcs_p", json!({"pupils_unreactive": 0.5}));
    assert!(wrong.reason.unwrap().contains("whole number"));
}

#[test]
fn a_score_outside_its_population_does_not_apply() {
    let outside = [
        ("news2", json!({"age_years": 15.0, "respiratory_rate": 30})),
        ("news2", json!({"pregnant": true, "respiratory_rate": 30})),
        ("ckd_epi_2021", json!({"age_years": 17, "sex": "male", "creatinine_mg_dl": 1.0})),
        ("ascvd_pce_2013", json!({"age_years": 39})),
        ("ascvd_pce_2013", json!({"age_years": 80})),
        ("score2", json!({"age_years": 70})),
        ("score2", json!({"age_years": 55, "diabetes": true})),
        ("score2_op", json!({"age_years": 69})),
        ("ldl_friedewald", json!({"triglycerides_mg_dl": 401})),
        ("mayo_nodule", json!({"diameter_mm": 31})),
        ("tube_cuffed", json!({"age_months": 6})),
    ];
    for (id, given) in outside {
        let score = score(id, given);
        assert_eq!((score.status, score.value, score.min, score.max), ("not_applicable", None, None, None), "{id}");
        assert!(score.reason.is_some() && score.band.is_none(), "{id}");
    }
}

#[test]
fn every_score_is_described_and_has_its_own_id() {
    let mut ids: Vec<_> = all().to_vec();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all().len());
    for id in all() {
        let score = evaluate(id, &Inputs::default()).unwrap();
        assert_eq!(score.id, *id);
        assert!(!score.name.is_empty() && !score.unit.is_empty(), "{id}");
        assert!((1900..=2026).contains(&score.source.year) && score.source.url.starts_with("https://"), "{id}");
        assert!(score.caveat.is_none_or(|caveat| caveat.chars().count() <= 200), "{id}");
        assert!(matches!(score.status, "insufficient"), "{id}: {}", score.status);
        let names: Vec<_> = inputs(id).unwrap().iter().map(|input| input.name).collect();
        assert!(names.iter().all(|name| names.iter().filter(|n| n == &name).count() == 1), "{id}");
    }
}

#[test]
fn a_choice_reads_its_codes_as_numbers() {
    for id in all() {
        for input in inputs(id).unwrap() {
            let InputKind::Choice(words) = input.kind else { continue };
            let (_, code) = words[0];
            let mut known = Inputs::default();
            known.set(input.name, code);
            let reason = evaluate(id, &known).unwrap().reason.unwrap_or_default();
            assert!(!reason.contains("was not used"), "{id} {}: {reason}", input.name);
        }
    }
}

#[test]
fn every_score_that_a_protocol_names_exists() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("data/protocols");
    let mut named = 0;
    for file in std::fs::read_dir(&folder).unwrap() {
        let path = file.unwrap().path();
        let protocol: toml::Table = std::fs::read_to_string(&path).unwrap().parse().unwrap();
        for id in protocol.get("scores").and_then(toml::Value::as_array).into_iter().flatten() {
            let id = id.as_str().unwrap();
            let score = evaluate(muster_medical::score_inputs::id(id), &Inputs::default());
            assert!(score.is_some(), "{} names {id}", path.display());
            named += 1;
        }
    }
    assert!(named > 0, "no protocol in {} names a score", folder.display());
}
