use serde_json::{Value, json};

use super::*;

fn run(input: Value) -> Value {
    crate::FAMILY.run(115, input, &Context::default()).unwrap()
}

fn parsed(value: &str) -> Value {
    run(json!({ "operation": "parse", "value": value }))
}

/// RFC 3339, section 5.8; by which the third is the same time as 1937-01-01T11:40:27.87Z.
#[test]
fn examples_of_rfc_3339() {
    assert_eq!(parsed("1985-04-12T23:20:50.52Z")["result"], "1985-04-12T23:20:50.52+00:00[UTC]");
    assert_eq!(parsed("1996-12-19T16:39:57-08:00")["result"], "1996-12-20T00:39:57+00:00[UTC]");
    assert_eq!(parsed("1937-01-01T12:00:27.87+00:20")["result"], "1937-01-01T11:40:27.87+00:00[UTC]");
}

/// RFC 9557: a zone that agrees with its offset, as in its examples; one that must agree and does not is refused
/// (section 3.4).
#[test]
fn examples_of_rfc_9557() {
    let kept = "1996-12-19T16:39:57-08:00[America/Los_Angeles]";
    assert_eq!(parsed(kept)["result"], kept);
    let wrong = json!({ "operation": "parse", "value": "2022-07-08T00:14:07+00:00[!Europe/Paris]" });
    assert!(matches!(crate::FAMILY.run(115, wrong, &Context::default()), Err(Failure::Invalid { .. })));
}

/// ISO 8601-1:2019: the first week has the year's first Thursday; the dates are Wikipedia's in "ISO week date".
#[test]
fn weeks_at_the_ends_of_years() {
    for (date, week) in [("2005-01-01", "2004-W53"), ("2008-12-29", "2009-W01"), ("2010-01-03", "2009-W53")] {
        assert_eq!(parsed(date)["iso_week"], week, "{date}");
    }
    assert_eq!(parsed("2009-W01-1")["result"], "2008-12-29T00:00:00+00:00[UTC]");
}

/// Python 3: `datetime.fromtimestamp(1000000000, timezone.utc)`; RFC 5322, appendix A.1.1.
#[test]
fn other_forms() {
    assert_eq!(parsed("1000000000")["result"], "2001-09-09T01:46:40+00:00[UTC]");
    assert_eq!(parsed("1000000000000")["epoch"], 1_000_000_000);
    assert_eq!(parsed("Fri, 21 Nov 1997 09:55:06 -0600")["result"], "1997-11-21T15:55:06+00:00[UTC]");
    assert_eq!(parsed("20261121")["result"], "2026-11-21T00:00:00+00:00[UTC]");
}

/// IANA tzdata: Europe/Paris jumps from 02:00 to 03:00 on 2026-03-29, and shows 02:30 twice on 2026-10-25.
#[test]
fn days_are_calendar_days_and_hours_elapsed_hours() {
    let add = |amount: &str| {
        run(json!({
            "operation": "add", "value": "2026-03-28T12:00", "timezone": "Europe/Paris", "amount": amount,
        }))
    };
    assert_eq!(add("P1D")["result"], "2026-03-29T12:00:00+02:00[Europe/Paris]");
    assert_eq!(add("PT24H")["result"], "2026-03-29T13:00:00+02:00[Europe/Paris]");
    assert_eq!(add("1 month 2 days")["result"], "2026-04-30T12:00:00+02:00[Europe/Paris]");
    for (local, result, warnings) in [
        ("2026-03-29T02:30", "2026-03-29T03:30:00+02:00[Europe/Paris]", 1),
        ("2026-10-25T02:30", "2026-10-25T02:30:00+02:00[Europe/Paris]", 1),
        ("2026-10-25T03:30", "2026-10-25T03:30:00+01:00[Europe/Paris]", 0),
    ] {
        let context = Context::default();
        let input = json!({ "operation": "parse", "value": local, "timezone": "Europe/Paris" });
        assert_eq!(crate::FAMILY.run(115, input, &context).unwrap()["result"], result);
        assert_eq!(context.into_warnings().len(), warnings, "{local}");
    }
}

/// Temporal's documentation of `add`: 31 January and a month is the last of February.
#[test]
fn months_end_where_the_month_ends() {
    let output = run(json!({ "operation": "add", "value": "2024-01-31", "amount": "P1M" }));
    assert_eq!(output["result"], "2024-02-29T00:00:00+00:00[UTC]");
    let output = run(json!({ "operation": "range", "value": "2023-01-31", "other": "2023-05-01", "amount": "P1M" }));
    let dates: Vec<&str> = output["result"].as_str().unwrap().lines().map(|line| &line[..10]).collect();
    assert_eq!(dates, ["2023-01-31", "2023-02-28", "2023-03-31", "2023-04-30"]);
}

/// Nine in the morning stays so on both sides of the change; the day of it has 23 hours.
#[test]
fn a_range_keeps_its_local_time() {
    let output = run(json!({
        "operation": "range", "value": "2026-03-28T09:00[Europe/Paris]", "other": "2026-03-31T09:00[Europe/Paris]",
        "amount": "P1D",
    }));
    let times: Vec<&str> = output["result"].as_str().unwrap().lines().map(|line| &line[11..22]).collect();
    assert_eq!(times, ["09:00:00+01", "09:00:00+02", "09:00:00+02"]);
    assert_eq!(output["duration"], "PT71H");
}

#[test]
fn a_difference_is_given_in_calendar_and_clock_units() {
    let input = |amount: Option<&str>| {
        json!({
            "operation": "difference", "value": "2026-01-15", "other": "2027-03-20T06:00", "amount": amount,
        })
    };
    // 31 - 15 + 334 days of 2026 and 78 of 2027 are 429 days: the dates' difference by hand.
    let output = run(input(None));
    assert_eq!((&output["result"], &output["duration"]), (&json!("P1Y2M5DT6H"), &json!("PT10302H")));
    assert_eq!(run(input(Some("days")))["result"], "P429DT6H");
}

/// NumPy 2: `busday_count` and `busday_offset` (rolled forward; backward for the last), the second with three holidays.
#[test]
fn business_days_match_numpy() {
    let count = |from: &str, to: &str, holidays: Value| {
        run(json!({ "operation": "business-days", "value": from, "other": to, "holidays": holidays }))["business_days"]
            .as_i64()
            .unwrap()
    };
    assert_eq!(count("2026-01-01", "2026-12-31", json!([])), 260);
    assert_eq!(count("2026-12-20", "2027-01-05", json!(["2026-12-25", "2027-01-01", "2026-12-26"])), 9);
    assert_eq!(count("2011-07-11", "2011-07-18", json!([])), 5);
    assert_eq!(count("2026-12-31", "2026-01-01", json!([])), -260);
    assert_eq!(count("2026-03-07", "2026-03-01", json!([])), -5);
    let offset = |from: &str, days: &str| {
        let input = json!({
            "operation": "add", "value": from, "amount": format!("{days} business days"), "holidays": ["2026-12-25"],
        });
        run(input)["result"].as_str().unwrap()[..10].to_owned()
    };
    assert_eq!(offset("2011-10-01", "0"), "2011-10-03");
    assert_eq!(offset("2011-10-01", "1"), "2011-10-04");
    assert_eq!(offset("2026-12-24", "3"), "2026-12-30");
    assert_eq!(offset("2011-10-01", "-1"), "2011-09-29");
}

#[test]
fn an_unreadable_time_is_rejected_with_the_accepted_forms() {
    for input in [
        json!({ "operation": "parse", "value": "next Tuesday" }),
        json!({ "operation": "convert", "value": "2026-01-01" }),
        json!({ "operation": "add", "value": "2026-01-01", "amount": "soon" }),
        json!({ "operation": "add", "value": "9999-12-01", "amount": "P1Y" }),
        json!({ "operation": "parse", "value": "2026-01-01", "timezone": "Mars/Olympus" }),
        json!({ "operation": "range", "value": "2026-01-01", "other": "2026-02-01", "amount": "-P1D" }),
    ] {
        assert!(
            matches!(crate::FAMILY.run(115, input.clone(), &Context::default()), Err(Failure::Invalid { .. })),
            "{input}"
        );
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(300))]

    /// Up to the ends of the calendar: read or refused.
    #[test]
    fn no_time_panics(
        operation in "parse|convert|add|difference|business-days|range",
        value in "-?[0-9]{1,14}|(0001|9999|-009999|2026)-(01|12|02)-(01|31|29)(T23:59:60|T02:30)?(Z|\\[Europe/Paris\\])?",
        other in "(0001|9999|-009999|2026)-(01|12)-(01|31)",
        amount in "-?P[0-9]{1,7}(Y|M|W|D)|-?[0-9]{1,6}( business days)?|PT[0-9]{1,9}S|days|years",
    ) {
        let input = json!({
            "operation": operation, "value": value, "other": other, "amount": amount, "to_timezone": "Asia/Kathmandu",
            "holidays": ["2026-12-25"],
        });
        let output = crate::FAMILY.run(115, input, &Context::default());
        proptest::prop_assert!(!matches!(output, Err(Failure::Internal { .. })), "{output:?}");
    }
}
