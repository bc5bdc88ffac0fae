//! q25: METAR, SPECI and TAF reports.

mod conditions;
mod time;
mod weather;

use muster_engine::prelude::*;

use conditions::Conditions;
use time::Calendar;

/// Input of the engine.
#[derive(Debug, Input)]
pub struct Input {
    report: String,
    reference_date: Option<Date>,
}

/// Output of the engine: of a TAF the conditions that it begins with.
#[derive(Debug, Default, Output)]
pub struct Output {
    station: String,
    time: Option<Timestamp>,
    wind: Option<Wind>,
    visibility_m: Option<f64>,
    ceiling_m: Option<f64>,
    temperature_deg_c: Option<f64>,
    dew_point_deg_c: Option<f64>,
    pressure_hpa: Option<f64>,
    weather: Vec<String>,
    flight_category: Option<FlightCategory>,
    trends: Vec<Value>,
}

/// Wind; without gusts `gust` is the speed, of a variable wind `direction` is 0.
#[derive(Debug, Clone, Copy, PartialEq, Output)]
pub struct Wind {
    direction_deg: f64,
    speed_m_s: f64,
    gust_m_s: f64,
}

/// Flight categories of the US Weather Service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Words)]
#[wire(case = "upper")]
pub enum FlightCategory {
    Lifr,
    Ifr,
    Mvfr,
    Vfr,
}

const MAX_CHARACTERS: usize = 10_000;
/// Groups of a report; longer ones are no report.
const MAX_GROUPS: usize = 1_000;
const MAX_UNREAD: usize = 10;

/// The groups of a report, read one after the other.
struct Groups<'a> {
    groups: Vec<&'a str>,
    at: usize,
}

impl<'a> Groups<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.groups.get(self.at).copied()
    }

    fn next(&mut self) -> Option<&'a str> {
        let group = self.peek();
        self.at += 1;
        group
    }

    fn take(&mut self, words: &[&str]) -> Option<&'a str> {
        self.peek().filter(|group| words.contains(group)).inspect(|_| self.at += 1)
    }
}

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    if input.report.len() > MAX_CHARACTERS {
        return Err(Failure::too_large(format!("a report has at most {MAX_CHARACTERS} bytes")));
    }
    let report = input.report.to_uppercase().replace('=', " ");
    let mut groups = Groups { groups: report.split_whitespace().take(MAX_GROUPS).collect(), at: 0 };
    let calendar = Calendar::new(input.reference_date);
    let kind = groups.take(&["METAR", "SPECI", "TAF"]).unwrap_or("METAR");
    while groups.take(&["AMD", "COR", "TAF", "METAR"]).is_some() {}
    let station = groups.next().filter(|group| is_station(group)).ok_or_else(|| {
        Failure::invalid(&["report"], "must begin with METAR, SPECI or TAF, or with the four letters of a station")
    })?;
    let time = groups.peek().and_then(time::day_and_time).ok_or_else(|| {
        Failure::invalid(&["report"], format!("after the station {station} the time must follow, such as 041651Z"))
    })?;
    groups.next();
    if calendar.is_none() {
        cx.warn("undated: a report has the day of the month only; give reference_date to get `time`");
    }
    let mut output = Output {
        station: station.to_owned(),
        time: calendar.and_then(|calendar| calendar.resolve(time)),
        ..Output::default()
    };
    if groups.take(&["NIL"]).is_some() {
        cx.warn("missing: the station sent no report (NIL)");
        return Ok(output);
    }
    groups.take(&["AUTO", "COR", "CNL"]);
    if kind == "TAF" {
        groups.peek().and_then(time::period).inspect(|_| groups.at += 1);
    }
    let mut unread = Vec::new();
    let conditions = body(&mut groups, &mut output, &mut unread, cx);
    while let Some(word) = groups.next() {
        if word == "RMK" {
            break;
        }
        let trend = trend(word, &mut groups, calendar, &mut unread, cx);
        output.trends.push(trend);
    }
    if !unread.is_empty() {
        let count = unread.len();
        unread.truncate(MAX_UNREAD);
        cx.warn(format!("unread: {count} groups were not understood: {}", unread.join(" ")));
    }
    output.flight_category = conditions.category();
    if output.flight_category.is_none() {
        cx.warn("undefined: without visibility and clouds there is no flight category");
    }
    output.wind = conditions.wind;
    output.visibility_m = conditions.visibility;
    output.ceiling_m = conditions.ceiling;
    output.weather = conditions.weather;
    Ok(output)
}

fn is_station(group: &str) -> bool {
    group.len() == 4
        && group.chars().all(|letter| letter.is_ascii_alphanumeric())
        && group.starts_with(|letter: char| letter.is_ascii_alphabetic())
}

/// Words that begin another part of the report.
fn begins_part(group: &str) -> bool {
    matches!(group, "RMK" | "NOSIG" | "BECMG" | "TEMPO" | "INTER")
        || (group.starts_with("PROB") && group.len() == 6)
        || time::from_group(group).is_some()
}

/// Reads the conditions up to the next part.
fn body(groups: &mut Groups<'_>, output: &mut Output, unread: &mut Vec<String>, cx: &Context) -> Conditions {
    let mut conditions = Conditions::default();
    while let Some(group) = groups.peek().filter(|group| !begins_part(group)) {
        groups.next();
        let known = conditions.read(group, groups, cx) || measured(group, output) || is_skipped(group, groups);
        if !known {
            unread.push(group.to_owned());
        }
    }
    conditions
}

/// Temperature, dew point and pressure.
fn measured(group: &str, output: &mut Output) -> bool {
    if let Some((temperature, dew_point)) = group.split_once('/').filter(|(first, _)| *first != "//")
        && let Some(temperature) = celsius(temperature)
    {
        output.temperature_deg_c = Some(temperature);
        output.dew_point_deg_c = celsius(dew_point);
        return true;
    }
    let pressure = match group.split_at_checked(1) {
        Some(("Q", digits)) if digits.len() == 4 => whole(digits),
        // Hundredths of an inch of mercury.
        Some(("A", digits)) if digits.len() == 4 => whole(digits).map(|value| value / 100.0 * 33.863_886_666_7),
        _ => None,
    };
    output.pressure_hpa = output.pressure_hpa.or(pressure);
    pressure.is_some()
}

fn celsius(text: &str) -> Option<f64> {
    let (sign, digits) = text.strip_prefix('M').map_or((1.0, text), |rest| (-1.0, rest));
    if digits.len() == 2 { whole(digits).map(|value| sign * value) } else { None }
}

/// A number of digits only.
fn whole(text: &str) -> Option<f64> {
    (!text.is_empty() && text.len() < 9 && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
}

/// Groups that the output has no member for: runway visual range, recent weather, wind shear, extreme temperatures,
/// missing values, colour states.
fn is_skipped(group: &str, groups: &mut Groups<'_>) -> bool {
    if group == "WS" {
        while groups.peek().is_some_and(|next| next == "ALL" || next == "RWY" || next.starts_with('R')) {
            groups.next();
        }
        return true;
    }
    let runway = group.starts_with('R') && group.contains('/');
    let shear = group.starts_with("WS") && group.contains('/');
    let extreme = (group.starts_with("TX") || group.starts_with("TN")) && group.contains('/');
    let missing = group.bytes().all(|byte| byte == b'/') || group == "Q////" || group == "A////";
    let colour = matches!(group, "BLU" | "WHT" | "GRN" | "YLO" | "AMB" | "RED" | "AUTO" | "COR" | "$");
    let recent = group.strip_prefix("RE").is_some_and(|rest| weather::describe(rest).is_some());
    runway || shear || extreme || missing || colour || recent
}

/// Reads a change group or forecast period that begins with `word`.
fn trend(
    word: &str,
    groups: &mut Groups<'_>,
    calendar: Option<Calendar>,
    unread: &mut Vec<String>,
    cx: &Context,
) -> Value {
    let mut trend = Map::new();
    let (mut kind, mut period) = (word.to_owned(), None);
    if let Some(percent) = word.strip_prefix("PROB").and_then(whole) {
        trend.insert("probability".to_owned(), (percent / 100.0).into());
        kind = groups.take(&["TEMPO"]).unwrap_or("PROB").to_owned();
    }
    if let Some(from) = time::from_group(word) {
        kind = "FM".to_owned();
        trend.insert("from".to_owned(), time_or_text(calendar, from, word));
    } else if let Some((from, to)) = groups.peek().and_then(time::period) {
        period = groups.next();
        trend.insert("from".to_owned(), time_or_text(calendar, from, period.unwrap_or_default()));
        trend.insert("to".to_owned(), time_or_text(calendar, to, period.unwrap_or_default()));
    }
    // In a METAR the times of a trend stand in groups of their own.
    for (prefix, name) in [("FM", "from"), ("TL", "to"), ("AT", "at")] {
        let hour = groups.peek().filter(|_| period.is_none()).and_then(|group| group.strip_prefix(prefix));
        if let Some(hour) = hour.filter(|hour| hour.len() == 4 && whole(hour).is_some()) {
            groups.next();
            trend.insert(name.to_owned(), format!("{hour}Z").into());
        }
    }
    let mut ignored = Output::default();
    let conditions = body(groups, &mut ignored, unread, cx);
    trend.insert("kind".to_owned(), kind.into());
    conditions.write(&mut trend);
    Value::Object(trend)
}

fn time_or_text(calendar: Option<Calendar>, at: time::DayTime, text: &str) -> Value {
    calendar.and_then(|calendar| calendar.resolve(at)).map_or_else(|| text.into(), |time| time.to_string().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(report: &str) -> Output {
        let date = Some(Date::new(2026, 11, 3).unwrap());
        run(Input { report: report.to_owned(), reference_date: date }, &Context::default()).unwrap()
    }

    #[test]
    fn a_report_of_the_icao_form_is_read() {
        let output = decode(
            "SPECI EGLL 041050Z 24015KMH 200V280 0800 R27L/1000U -SHRA FG BKN003 OVC010CB M01/M02 Q0995 TEMPO 3000 +TSRA",
        );
        assert_eq!(output.time.unwrap().to_string(), "2026-11-04T10:50:00Z");
        assert_eq!((output.temperature_deg_c, output.dew_point_deg_c), (Some(-1.0), Some(-2.0)));
        assert_eq!(output.visibility_m, Some(800.0));
        assert!((output.ceiling_m.unwrap() - 91.44).abs() < 1e-9);
        assert_eq!(output.weather, ["light rain showers", "fog"]);
        assert_eq!(output.flight_category, Some(FlightCategory::Lifr));
        assert_eq!(output.trends[0]["weather"][0], "thunderstorm with heavy rain");
    }

    #[test]
    fn a_forecast_has_its_periods() {
        let output = decode(
            "TAF KJFK 041730Z 0418/0524 18015G25KT P6SM SCT040 FM050200 21010KT 3SM BR OVC015 PROB30 0506/0509 1/2SM FG VV002",
        );
        assert_eq!(output.flight_category, Some(FlightCategory::Vfr));
        assert_eq!(output.trends.len(), 2);
        assert_eq!(output.trends[0]["from"], "2026-11-05T02:00:00Z");
        assert_eq!(output.trends[0]["flight_category"], "MVFR");
        assert_eq!(output.trends[1]["probability"], 0.3);
        assert_eq!(output.trends[1]["flight_category"], "LIFR");
    }

    #[test]
    fn what_is_no_report_is_refused() {
        for report in ["", "hello world", "METAR", "METAR KJFK", "METAR KJFK 999999Z"] {
            let input = Input { report: report.to_owned(), reference_date: None };
            assert!(matches!(run(input, &Context::default()), Err(Failure::Invalid { .. })), "{report}");
        }
    }
}
