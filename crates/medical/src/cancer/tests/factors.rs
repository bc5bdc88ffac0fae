//! The reader of risk factors: what it reads, what it leaves, hostile text.

use crate::cancer::factors::RiskFactors;
use proptest::prelude::*;

fn read(entries: &[&str]) -> RiskFactors {
    RiskFactors::of(&entries.iter().map(|e| (*e).to_owned()).collect::<Vec<_>>())
}

#[test]
fn amounts_and_durations_of_smoking_are_read() {
    let f = read(&["20/day for 30 years", "quit 10 years ago"]);
    assert_eq!((f.cigarettes_per_day, f.years_smoked, f.years_quit), (Some(20.0), Some(30.0), Some(10.0)));
    assert_eq!((f.pack_years(), f.smoke_free_years()), (Some(30.0), Some(10.0)));
    let f = read(&["He smoked 1 pack of cigarettes daily for 40 years but quit 5 years ago"]);
    assert_eq!((f.cigarettes_per_day, f.years_smoked, f.years_quit), (Some(20.0), Some(40.0), Some(5.0)));
    let f = read(&["smokes 15 cigarettes a day"]);
    assert_eq!((f.cigarettes_per_day, f.current_smoker), (Some(15.0), Some(true)));
}

#[test]
fn pack_years_leave_the_amount_a_day_missing() {
    let f = read(&["30 pack years"]);
    assert_eq!((f.pack_years(), f.cigarettes_per_day, f.years_smoked), (Some(30.0), None, None));
    assert_eq!(f.ever_smoked(), Some(true));
}

#[test]
fn never_and_former_are_told_apart() {
    assert_eq!(read(&["never smoked"]).ever_smoked(), Some(false));
    assert_eq!(read(&["non-smoker"]).ever_smoked(), Some(false));
    let ex = read(&["ex-smoker"]);
    assert_eq!((ex.ever_smoked(), ex.current_smoker), (Some(true), Some(false)));
    assert_eq!(read(&["no longer smokes, stopped 3 years ago"]).years_quit, Some(3.0));
    assert_eq!(read(&["hypertension"]).ever_smoked(), None);
}

#[test]
fn relatives_are_counted_and_denials_are_zero() {
    assert_eq!(read(&["mother breast cancer"]).breast_relatives, Some(1));
    assert_eq!(read(&["two sisters with breast cancer"]).breast_relatives, Some(2));
    assert_eq!(read(&["mother and sister had breast cancer"]).breast_relatives, Some(2));
    assert_eq!(read(&["no family history of breast cancer"]).breast_relatives, Some(0));
    assert_eq!(read(&["aunt breast cancer"]).breast_relatives, None);
    assert_eq!(read(&["father died of lung cancer"]).family_lung, Some(true));
    assert_eq!(read(&["mother breast cancer"]).personal_cancer, None);
}

#[test]
fn reproductive_factors_are_read() {
    let f = read(&["menarche 12", "first birth 25", "biopsy 1"]);
    assert_eq!((f.menarche, f.first_birth, f.biopsies), (Some(12.0), Some(25.0), Some(1.0)));
    let f = read(&["nulliparous", "no breast biopsies", "first period at age 13"]);
    assert_eq!((f.menarche, f.first_birth, f.biopsies), (Some(13.0), Some(98.0), Some(0.0)));
    assert_eq!(read(&["skin biopsy 2"]).biopsies, None);
}

#[test]
fn the_rest_is_read_or_named_as_unread() {
    let f = read(&["BMI: 27.5", "COPD", "worked with asbestos", "education level 4", "Black", "likes jazz"]);
    assert_eq!((f.bmi, f.copd, f.asbestos, f.education_level), (Some(27.5), Some(true), true, Some(4.0)));
    assert_eq!((f.race, f.race_code), (Some("black"), Some(2.0)));
    assert_eq!(f.unread, ["likes jazz"]);
    assert!(f.read.iter().any(|r| r.field == "bmi" && r.from == "BMI: 27.5"));
    assert_eq!(read(&["no COPD"]).copd, Some(false));
    assert_eq!(read(&["white patch in the mouth"]).race, None);
    assert_eq!(read(&["previous bowel cancer"]).personal_cancer, Some(true));
    assert_eq!(read(&["worried about cancer"]).personal_cancer, None);
}

#[test]
fn findings_of_a_nodule_are_read() {
    let f = read(&["solitary solid nodule of 15 mm, spiculated, right upper lobe"]);
    assert_eq!((f.nodule_mm, f.nodule_count, f.nodule_type), (Some(15.0), Some(1.0), Some("solid")));
    assert_eq!((f.spiculated, f.upper_lobe), (Some(true), Some(true)));
    assert_eq!(read(&["nodule 1.2cm"]).nodule_mm, Some(12.0));
    assert_eq!(read(&["dermoscopy A2 B4 C3 D2"]).dermoscopy, [Some(2.0), Some(4.0), Some(3.0), Some(2.0)]);
}

#[test]
fn impossible_numbers_are_not_read() {
    let f = read(&["BMI 900", "menarche 70", "999999999999/day", "smoked for 1e308 years", "biopsy -1"]);
    assert_eq!((f.bmi, f.menarche, f.cigarettes_per_day, f.years_smoked), (None, None, None, None));
}

#[test]
fn reading_is_bounded_in_entries_and_length() {
    let long = vec!["mother breast cancer ".repeat(5_000); 500];
    let f = RiskFactors::of(&long);
    assert!(f.breast_relatives.is_some_and(|n| n <= 20));
    assert!(f.read.iter().all(|r| r.from.chars().count() <= 120));
    assert!(RiskFactors::of(&vec!["zzz".to_owned(); 500]).unread.len() <= 50);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_without_panic(entries in proptest::collection::vec(".{0,320}", 0..6)) {
        let f = RiskFactors::of(&entries);
        prop_assert!(f.read.iter().all(|r| r.from.chars().count() <= 120));
        let _ = f.features(60.0, None, None);
    }

    #[test]
    fn words_of_risk_in_any_order_stay_in_bounds(
        words in proptest::collection::vec(
            prop_oneof![
                Just("smoked"), Just("quit"), Just("20/day"), Just("for"), Just("years"), Just("ago"), Just("pack"),
                Just("mother"), Just("breast"), Just("cancer"), Just("no"), Just("biopsy"), Just("BMI"), Just("-3"),
                Just("1e9"), Just("99999"), Just("nodule"), Just("mm"), Just("upper"), Just("lobe"), Just("first"),
                Just("birth"), Just("education"), Just("dermoscopy"), Just("a9"), Just("٣"), Just("½"), Just("\u{200b}"),
            ],
            0..40,
        )
    ) {
        let f = RiskFactors::of(&[words.join(" ")]);
        prop_assert!(f.bmi.is_none_or(|b| (10.0..=80.0).contains(&b)));
        prop_assert!(f.cigarettes_per_day.is_none_or(|c| c > 0.0 && c <= 200.0));
        prop_assert!(f.years_quit.is_none_or(|y| (0.0..=110.0).contains(&y)));
        prop_assert!(f.breast_relatives.is_none_or(|n| n <= 20));
    }
}
