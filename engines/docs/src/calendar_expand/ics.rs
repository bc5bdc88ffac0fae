//! iCalendar texts (RFC 5545).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use icalendar::parser::{Component, Property, read_calendar_simple, unfold};
use jiff::civil::{DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, Timestamp};
use muster_engine::prelude::*;
use muster_engine::stack;

use super::rule::{Rule, civil, date};
use super::{Found, Length, MAX_PROBLEMS, Series, short};

/// Longest text in bytes, and deepest nesting: an alarm in an event in a calendar is three.
const MAX_TEXT: usize = 1 << 20;
const MAX_DEPTH: usize = 10;
/// Most dates of RDATE and EXDATE of one event, and most of its rules.
const MAX_DATES: usize = 10_000;
const MAX_RULES: usize = 10;
/// The parser takes this much for a text of any length.
const STACK: usize = 16 << 20;

/// Reads the events of a text; what is left out is a problem.
pub(super) fn read(
    text: &str,
    zone: &TimeZone,
    cx: &Context,
    problems: &mut Vec<String>,
) -> Result<Vec<Series>, Failure> {
    if text.len() > MAX_TEXT {
        return Err(Failure::too_large(format!("ics is over {MAX_TEXT} bytes")));
    }
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    check_depth(text)?;
    let broken = |why: &str| Failure::invalid(&["ics"], format!("is no iCalendar text: {why}"));
    let unfolded = unfold(text.trim_start_matches('\u{feff}'));
    stack::on_stack(
        cx,
        STACK,
        || broken("its lines cannot be read"),
        || {
            let calendars = read_calendar_simple(&unfolded).map_err(|error| {
                let rest: String = error.input.lines().next().unwrap_or_default().chars().take(60).collect();
                broken(&format!("at `{rest}`"))
            })?;
            let mut reader = Reader { zone, problems, series: Vec::new(), moved: BTreeMap::new() };
            for calendar in &calendars {
                for event in calendar.components.iter().filter(|part| part.name == "VEVENT") {
                    reader.event(event);
                }
            }
            Ok(reader.finish())
        },
    )
}

fn check_depth(text: &str) -> Result<(), Failure> {
    let mut depth = 0_usize;
    for line in text.lines() {
        if line.starts_with("BEGIN:") {
            depth += 1;
        } else if line.starts_with("END:") {
            depth = depth.saturating_sub(1);
        }
        if depth > MAX_DEPTH {
            return Err(Failure::invalid(&["ics"], format!("is nested deeper than {MAX_DEPTH} components")));
        }
    }
    Ok(())
}

struct Reader<'a> {
    zone: &'a TimeZone,
    problems: &'a mut Vec<String>,
    /// With their identifiers.
    series: Vec<(String, Series)>,
    /// Occurrences that another event replaces, by identifier.
    moved: BTreeMap<String, BTreeSet<Timestamp>>,
}

impl Reader<'_> {
    fn event(&mut self, event: &Component<'_>) {
        let text = |name: &str| event.find_prop(name).map(|property| property.val.as_str().to_owned());
        let summary = short(&text("SUMMARY").unwrap_or_default());
        let name: String = summary.chars().take(40).collect();
        if let Err(why) = self.try_event(event, summary, text) {
            self.problems.push(format!("event `{name}`: {why}"));
        }
    }

    fn try_event(
        &mut self,
        event: &Component<'_>,
        summary: String,
        text: impl Fn(&str) -> Option<String>,
    ) -> Result<(), String> {
        let uid = text("UID").unwrap_or_default();
        let start = event.find_prop("DTSTART").ok_or("has no DTSTART")?;
        let (first, zone, whole_day) = self.moment(start, start.val.as_str())?;
        if let Some(replaced) = event.find_prop("RECURRENCE-ID") {
            let (local, its_zone, _) = self.moment(replaced, replaced.val.as_str())?;
            let at = its_zone.to_timestamp(local).map_err(|_| "RECURRENCE-ID is beyond the calendar")?;
            self.moved.entry(uid.clone()).or_default().insert(at);
        }
        if text("STATUS").is_some_and(|status| status.eq_ignore_ascii_case("CANCELLED")) {
            return Ok(());
        }
        let length = self.length(event, first, &zone, whole_day)?;
        let mut series = Series {
            summary,
            location: text("LOCATION").as_deref().map(short),
            first,
            zone,
            length,
            rules: Vec::new(),
            more: Vec::new(),
            except: BTreeSet::new(),
            transparent: text("TRANSP").is_some_and(|transparent| transparent.eq_ignore_ascii_case("TRANSPARENT")),
        };
        for property in &event.properties {
            match property.name.as_str() {
                "RRULE" if series.rules.len() < MAX_RULES => {
                    series.rules.push(Rule::parse(property.val.as_str()).map_err(|why| format!("its rule {why}"))?);
                }
                "RRULE" => return Err(format!("has more than {MAX_RULES} rules")),
                "EXDATE" => {
                    for (local, zone) in self.moments(property)? {
                        series.except.extend(zone.to_timestamp(local));
                    }
                }
                "RDATE" => {
                    for (local, zone) in self.moments(property)? {
                        let at = zone.to_timestamp(local).map_err(|_| "an RDATE is beyond the calendar")?;
                        series.more.push(series.zone.to_datetime(at));
                    }
                }
                _ => {}
            }
            if series.more.len().max(series.except.len()) > MAX_DATES {
                return Err(format!("has more than {MAX_DATES} dates"));
            }
        }
        if !series.more.is_empty() && series.rules.is_empty() {
            series.more.push(first);
        }
        self.series.push((uid, series));
        Ok(())
    }

    fn length(
        &mut self,
        event: &Component<'_>,
        first: DateTime,
        zone: &TimeZone,
        whole_day: bool,
    ) -> Result<Length, String> {
        if let Some(end) = event.find_prop("DTEND") {
            let (local, end_zone, _) = self.moment(end, end.val.as_str())?;
            let beyond = |_| "ends or begins beyond the calendar";
            let (start, end) =
                (zone.to_timestamp(first).map_err(beyond)?, end_zone.to_timestamp(local).map_err(beyond)?);
            if end < start {
                return Err("ends before it begins".to_owned());
            }
            if whole_day {
                return Ok(Length::Days(first.date().duration_until(local.date()).as_hours() / 24));
            }
            return Ok(Length::Exact(start.duration_until(end)));
        }
        if let Some(duration) = event.find_prop("DURATION") {
            let duration = duration.val.as_str();
            let span: Span = duration.parse().map_err(|_| "its DURATION is none such as PT1H or P1D".to_owned())?;
            let seconds = span.total((jiff::Unit::Second, jiff::SpanRelativeTo::days_are_24_hours()));
            let seconds = seconds.ok().filter(|seconds| (0.0..=3.2e9).contains(seconds));
            let seconds = seconds.ok_or("its DURATION is negative, in months, or over 100 years")? as i64;
            if whole_day && seconds % 86_400 == 0 {
                return Ok(Length::Days(seconds / 86_400));
            }
            return Ok(Length::Exact(SignedDuration::from_secs(seconds)));
        }
        Ok(if whole_day { Length::Days(1) } else { Length::Exact(SignedDuration::ZERO) })
    }

    fn moments(&mut self, property: &Property<'_>) -> Result<Vec<(DateTime, TimeZone)>, String> {
        // Of a period only its begin counts.
        let begin = |value: &str| value.split('/').next().unwrap_or_default().trim().to_owned();
        let values: Vec<String> = property.val.as_str().split(',').take(MAX_DATES + 1).map(begin).collect();
        values.iter().map(|value| self.moment(property, value).map(|(local, zone, _)| (local, zone))).collect()
    }

    /// A local time, its zone, and whether it is a date.
    fn moment(&mut self, property: &Property<'_>, value: &str) -> Result<(DateTime, TimeZone, bool), String> {
        let zone = self.zone_of(property);
        let wrong = || format!("{} is no time such as 19970902T090000Z", property.name.as_str());
        if let Some(utc) = value.strip_suffix('Z') {
            return Ok((civil(utc).ok_or_else(wrong)?, TimeZone::UTC, false));
        }
        if let Some(local) = civil(value) {
            return Ok((local, zone, false));
        }
        let day = date(value).ok_or_else(wrong)?;
        Ok((day.to_datetime(Time::midnight()), zone, true))
    }

    fn zone_of(&mut self, property: &Property<'_>) -> TimeZone {
        let named = property.params.iter().find(|parameter| parameter.key == "TZID");
        let Some(name) = named.and_then(|parameter| parameter.val.as_ref()) else { return self.zone.clone() };
        let name = name.as_str().trim_matches('"');
        TimeZone::get(name).unwrap_or_else(|_| {
            let name: String = name.chars().take(60).collect();
            let problem = format!("time zone `{name}` is none of the time-zone database: the call's zone is taken");
            if self.problems.len() <= MAX_PROBLEMS && !self.problems.contains(&problem) {
                self.problems.push(problem);
            }
            self.zone.clone()
        })
    }

    fn finish(mut self) -> Vec<Series> {
        for (uid, series) in &mut self.series {
            if let Some(moved) = self.moved.get(uid).filter(|_| !series.rules.is_empty() || !series.more.is_empty()) {
                series.except.extend(moved);
            }
        }
        self.series.into_iter().map(|(_, series)| series).collect()
    }
}

/// Writes the occurrences as events in UTC. Identifiers and stamps follow from them, so that the text does too.
pub(super) fn write(found: &[Found], series: &[Series]) -> String {
    let mut text = String::new();
    let mut line = |content: &str| folded(content, &mut text);
    line("BEGIN:VCALENDAR");
    line("VERSION:2.0");
    line("PRODID:-//Muster//calendar-expand//EN");
    for (at, found) in found.iter().enumerate() {
        let Some(series) = series.get(found.series) else { continue };
        line("BEGIN:VEVENT");
        line(&format!("UID:{}-{at}@muster.invalid", utc(found.start)));
        line(&format!("DTSTAMP:{}", utc(found.start)));
        line(&format!("DTSTART:{}", utc(found.start)));
        line(&format!("DTEND:{}", utc(found.end)));
        line(&format!("SUMMARY:{}", escaped(&series.summary)));
        if let Some(location) = &series.location {
            line(&format!("LOCATION:{}", escaped(location)));
        }
        if series.transparent {
            line("TRANSP:TRANSPARENT");
        }
        line("END:VEVENT");
    }
    line("END:VCALENDAR");
    text
}

fn utc(time: Timestamp) -> String {
    let local = TimeZone::UTC.to_datetime(time);
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write!(
        text,
        "{:04}{:02}{:02}T{:02}{:02}{:02}Z",
        local.year(),
        local.month(),
        local.day(),
        local.hour(),
        local.minute(),
        local.second()
    );
    text
}

/// Section 3.3.11; control characters have no place in a text.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.replace("\r\n", "\n").chars() {
        match c {
            '\\' | ';' | ',' => out.extend(['\\', c]),
            '\n' | '\r' => out.push_str("\\n"),
            c if c.is_control() && c != '\t' => {}
            c => out.push(c),
        }
    }
    out
}

/// Section 3.1: lines of at most 75 bytes, continued behind a blank.
fn folded(content: &str, out: &mut String) {
    let mut length = 0;
    for c in content.chars() {
        if length + c.len_utf8() > 75 {
            out.push_str("\r\n ");
            length = 1;
        }
        out.push(c);
        length += c.len_utf8();
    }
    out.push_str("\r\n");
}
