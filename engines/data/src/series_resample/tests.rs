use serde_json::{Value, json};

use super::*;

fn points(of: &[(&str, f64)]) -> Value {
    of.iter().map(|(time, value)| json!({ "time": time, "value": value })).collect()
}

fn irregular() -> Value {
    points(&[
        ("2026-01-01T03:30:00Z", 9.0),
        ("2026-01-01T00:05:00Z", 1.0),
        ("2026-01-01T00:20:00Z", 3.0),
        ("2026-01-01T01:10:00Z", 5.0),
        ("2026-01-01T08:30:00Z", 4.0),
    ])
}

fn run(input: Value) -> (Value, Vec<String>) {
    let context = Context::default();
    let output = crate::FAMILY.run(118, input, &context).unwrap();
    (output, context.into_warnings())
}

/// pandas 2.3: `s.resample('1h')` with `mean().interpolate('linear')`, whose gap of four hours is filled where it may
/// be, and `mean().ffill()`.
#[test]
fn filled_as_pandas_fills() {
    let filled = |fill: &str, gap: i64| {
        let series = json!({ "s": irregular() });
        run(json!({ "series": series, "interval": "PT1H", "fill": fill, "max_gap": gap })).0["values"]["s"].clone()
    };
    assert_eq!(filled("linear", 4), json!([2.0, 5.0, 7.0, 9.0, 8.0, 7.0, 6.0, 5.0, 4.0]));
    assert_eq!(filled("previous", 4), json!([2.0, 5.0, 5.0, 9.0, 9.0, 9.0, 9.0, 9.0, 4.0]));
    // The gap of four is longer than three: left as it is.
    assert_eq!(filled("linear", 3), json!([2.0, 5.0, 7.0, 9.0, 4.0]));
}

/// pandas 2.3: the same series by `sum`, `min`, `last` and `count`, where it has points.
#[test]
fn aggregates_are_those_of_pandas() {
    let of = |aggregate: &str| {
        let series = json!({ "s": irregular() });
        run(json!({ "series": series, "interval": "PT1H", "aggregate": aggregate })).0["values"]["s"].clone()
    };
    assert_eq!(of("sum"), json!([4.0, 5.0, 9.0, 4.0]));
    assert_eq!(of("min"), json!([1.0, 5.0, 9.0, 4.0]));
    assert_eq!(of("last"), json!([3.0, 5.0, 9.0, 4.0]));
    assert_eq!(of("count"), json!([2.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0]));
}

/// pandas documentation of `DataFrame.resample`: nine minutes in bins of three sum to 3, 12 and 21.
#[test]
fn the_example_of_the_pandas_documentation() {
    let minutes: Vec<Value> =
        (0..9).map(|minute| json!({ "time": format!("2000-01-01T00:0{minute}:00Z"), "value": minute })).collect();
    let (output, _) = run(json!({ "series": { "s": minutes }, "interval": "PT3M", "aggregate": "sum" }));
    assert_eq!(output["values"]["s"], json!([3.0, 12.0, 21.0]));
    assert_eq!(output["times"], json!(["2000-01-01T00:00:00Z", "2000-01-01T00:03:00Z", "2000-01-01T00:06:00Z"]));
}

/// pandas 2.3: every six hours of UTC from 2026-03-27 in Europe/Paris, by day; every hour from 2026-03-28T22:10Z by
/// five hours, which are of the clock and not of the calendar.
#[test]
fn days_follow_the_zone_and_hours_the_elapsed_time() {
    let every = |start: &str, hours: i64, count: i64| -> Vec<Value> {
        let start: Timestamp = start.parse().unwrap();
        let at = |index: i64| start + jiff::SignedDuration::from_hours(hours * index);
        (0..count).map(|index| json!({ "time": at(index).to_string(), "value": index })).collect()
    };
    let series = json!({ "s": every("2026-03-27T00:00:00Z", 6, 20) });
    let (output, _) = run(json!({ "series": series, "interval": "P1D", "timezone": "Europe/Paris" }));
    assert_eq!(output["values"]["s"], json!([1.5, 5.5, 9.5, 13.5, 17.5]));
    assert_eq!(output["times"][3], "2026-03-30T00:00:00+02:00");
    let series = json!({ "s": every("2026-03-28T22:10:00Z", 1, 12) });
    let by_five = json!({ "series": series, "interval": "PT5H", "timezone": "Europe/Paris", "aggregate": "sum" });
    let (output, _) = run(by_five);
    let times = ["2026-03-28T20:00:00+01:00", "2026-03-29T01:00:00+01:00", "2026-03-29T07:00:00+02:00"];
    assert_eq!((&output["times"], &output["values"]["s"]), (&json!(times), &json!([1.0, 20.0, 45.0])));
}

#[test]
fn months_and_weeks_begin_on_calendar_boundaries() {
    let first = |interval: &str| {
        let series = json!({ "s": points(&[("2026-11-21T12:00:00Z", 1.0)]) });
        run(json!({ "series": series, "interval": interval })).0["times"][0].clone()
    };
    assert_eq!(first("P1M"), "2026-11-01T00:00:00Z");
    assert_eq!(first("P1W"), "2026-11-16T00:00:00Z");
    assert_eq!(first("P1Y"), "2026-01-01T00:00:00Z");
    assert_eq!(first("PT7H"), "2026-11-21T07:00:00Z");
}

#[test]
fn gaps_are_reported_and_series_aligned() {
    let series = json!({
        "a": points(&[("2026-01-01T00:00:00Z", 1.0), ("2026-01-01T01:00:00Z", 2.0), ("2026-01-01T02:00:00Z", 3.0)]),
        "b": points(&[("2026-01-01T01:30:00Z", 7.0)]),
        "none": [],
    });
    let (output, warnings) = run(json!({ "series": series, "interval": "PT1H" }));
    assert_eq!(output["times"], json!(["2026-01-01T01:00:00Z"]));
    assert_eq!(output["values"], json!({ "a": [2.0], "b": [7.0], "none": [] }));
    assert_eq!(output["completeness"], json!({ "a": 1.0, "b": 1.0 / 3.0, "none": 0.0 }));
    assert_eq!(
        output["gaps"][0],
        json!({ "series": "b", "start": "2026-01-01T00:00:00Z", "end": "2026-01-01T01:00:00Z" })
    );
    assert_eq!(warnings.len(), 1);
}

#[test]
fn impossible_operations_are_rejected() {
    let run = |interval: &str, last: &str| {
        let series = json!({ "s": points(&[("2026-01-01T00:00:00Z", 1.0), (last, 1.0)]) });
        crate::FAMILY.run(118, json!({ "series": series, "interval": interval }), &Context::default())
    };
    for interval in ["", "PT0S", "-P1D", "hourly"] {
        assert!(matches!(run(interval, "2026-01-02T00:00:00Z"), Err(Failure::Invalid { .. })), "{interval}");
    }
    assert!(matches!(run("PT1S", "2126-01-02T00:00:00Z"), Err(Failure::TooLarge { .. })));
}
