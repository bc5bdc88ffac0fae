//! Dates and times, absolute and relative to the time of writing.

#[cfg(test)]
use jiff::civil::date;
use jiff::civil::{Date, Weekday};
use jiff::tz::{Offset, TimeZone};
use jiff::{Span, Timestamp, ToSpan, Zoned};

use super::lexer::Token;
use super::{Clock, Fact, Value, numbers};

/// A reading of a day, the tokens it takes, and whether another reading fits.
struct Day {
    date: Date,
    used: usize,
    ambiguous: bool,
}

/// Reads a date, a time, or both, at the begin of the tokens; also returns the tokens that it takes.
pub(super) fn read(tokens: &[Token<'_>], clock: &Clock) -> Option<(Fact, usize)> {
    let today = clock.now.map(|now| now.to_zoned(clock.zone.clone()));
    if let Some((moment, used)) = relative(tokens, today.as_ref()) {
        return fact(tokens, used, moment, false);
    }
    if let Some(day) = day(tokens, today.as_ref()) {
        let (separators, rest) = joiner(tokens.get(day.used..).unwrap_or_default());
        if let Some((hour, minute, zone, used)) = time(rest) {
            let moment = moment(day.date, hour, minute, zone, clock)?;
            return fact(tokens, day.used + separators + used, Value::Moment(moment), day.ambiguous);
        }
        return fact(tokens, day.used, Value::Date(day.date), day.ambiguous);
    }
    let (hour, minute, zone, used) = time(tokens)?;
    let (separators, rest) = joiner(tokens.get(used..).unwrap_or_default());
    if let Some(day) = day(rest, today.as_ref()) {
        let moment = moment(day.date, hour, minute, zone, clock)?;
        return fact(tokens, used + separators + day.used, Value::Moment(moment), day.ambiguous);
    }
    fact(tokens, used, Value::Clock { hour, minute }, false)
}

fn fact(tokens: &[Token<'_>], used: usize, value: Value, ambiguous: bool) -> Option<(Fact, usize)> {
    let (first, last) = (tokens.first()?, tokens.get(used.checked_sub(1)?)?);
    Some((Fact { start: first.start, end: last.end, value, ambiguous }, used))
}

fn moment(day: Date, hour: i8, minute: i8, zone: Option<Offset>, clock: &Clock) -> Option<Timestamp> {
    let zone = zone.map_or_else(|| clock.zone.clone(), TimeZone::fixed);
    Some(day.at(hour, minute, 0, 0).to_zoned(zone).ok()?.timestamp())
}

/// What may stand between a date and a time: "at", "on", a comma, "T".
fn joiner<'t, 'a>(tokens: &'t [Token<'a>]) -> (usize, &'t [Token<'a>]) {
    let joins = |token: &&Token<'_>| {
        !token.apart
            && (token.is(",")
                || matches!(token.folded.as_str(), "at" | "on" | "um" | "a" | "las" | "alle" | "the" | "t"))
    };
    let count = tokens.iter().take(3).take_while(joins).count();
    match tokens.get(count) {
        Some(next) if !next.apart => (count, tokens.get(count..).unwrap_or_default()),
        _ => (0, &[]),
    }
}

/// A day that is written out, or one relative to `today`.
fn day(tokens: &[Token<'_>], today: Option<&Zoned>) -> Option<Day> {
    iso(tokens).or_else(|| written(tokens, today)).or_else(|| numeric(tokens)).or_else(|| named(tokens, today?))
}

fn on(year: i64, month: u32, day: u32) -> Option<Date> {
    let (year, month, day) = (i16::try_from(year).ok()?, i8::try_from(month).ok()?, i8::try_from(day).ok()?);
    if !(1..=9999).contains(&year) {
        return None;
    }
    Date::new(year, month, day).ok()
}

/// Digits of a token that touches the one before.
fn touching(tokens: &[Token<'_>], at: usize) -> Option<(u32, usize)> {
    tokens.get(at).filter(|token| !token.spaced).and_then(Token::digits)
}

fn sign(tokens: &[Token<'_>], at: usize, sign: &str) -> bool {
    tokens.get(at).is_some_and(|token| !token.spaced && token.is(sign))
}

/// 2026-05-02; a `T` and the time follow as a word of their own.
fn iso(tokens: &[Token<'_>]) -> Option<Day> {
    let (year, 4) = tokens.first()?.digits()? else { return None };
    if !sign(tokens, 1, "-") || !sign(tokens, 3, "-") {
        return None;
    }
    let ((month, 2), (day, 2)) = (touching(tokens, 2)?, touching(tokens, 4)?) else { return None };
    Some(Day { date: on(year.into(), month, day)?, used: 5, ambiguous: false })
}

/// 13/05/2026, 02.05.2026: the day first where one reading is possible only, or where points separate; a date whose parts
/// can be both is ambiguous and read with the day first.
fn numeric(tokens: &[Token<'_>]) -> Option<Day> {
    let (first, 1 | 2) = tokens.first()?.digits()? else { return None };
    let (second, year, used, points) = match pointed(tokens) {
        Some((second, year)) => (second, year, 3, true),
        None => {
            let separator = ["/", "-"].into_iter().find(|separator| sign(tokens, 1, separator))?;
            let ((second, 1 | 2), (year, 4)) = (touching(tokens, 2)?, touching(tokens, 4)?) else { return None };
            if !sign(tokens, 3, separator) {
                return None;
            }
            (second, year, 5, false)
        }
    };
    let (day_first, month_first) = (on(year.into(), second, first), on(year.into(), first, second));
    let (date, ambiguous) = match (day_first, month_first) {
        (Some(date), Some(other)) => (date, !points && date != other),
        (Some(date), None) => (date, false),
        (None, Some(date)) if !points => (date, false),
        _ => return None,
    };
    Some(Day { date, used, ambiguous })
}

/// Month and year of "02.05.2026", which the lexer takes apart as "02", ".", "05.2026".
fn pointed(tokens: &[Token<'_>]) -> Option<(u32, u32)> {
    let rest = tokens.get(2).filter(|token| !token.spaced && token.number.is_some())?;
    let (month, year) = rest.text.split_once('.').filter(|_| sign(tokens, 1, "."))?;
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let fits = (1..=2).contains(&month.len()) && year.len() == 4 && digits(month) && digits(year);
    fits.then_some(())?;
    Some((month.parse().ok()?, year.parse().ok()?))
}

/// Month of a folded name in English, German, French, Spanish, Portuguese or Italian.
fn month(word: &str) -> Option<u32> {
    const MONTHS: [&[&str]; 12] = [
        &["january", "jan", "januar", "janvier", "enero", "janeiro", "gennaio"],
        &["february", "feb", "februar", "fevrier", "febrero", "fevereiro", "febbraio"],
        &["march", "mar", "marz", "mars", "marzo", "marco"],
        &["april", "apr", "avril", "abril", "aprile"],
        &["may", "mai", "mayo", "maio", "maggio"],
        &["june", "jun", "juni", "juin", "junio", "junho", "giugno"],
        &["july", "jul", "juli", "juillet", "julio", "julho", "luglio"],
        &["august", "aug", "aout", "agosto"],
        &["september", "sep", "sept", "septembre", "septiembre", "setembro", "settembre"],
        &["october", "oct", "oktober", "okt", "octobre", "octubre", "outubro", "ottobre"],
        &["november", "nov", "novembre", "noviembre", "novembro"],
        &["december", "dec", "dezember", "dez", "decembre", "diciembre", "dezembro", "dicembre"],
    ];
    (1..).zip(MONTHS).find(|(_, names)| names.contains(&word)).map(|(month, _)| month)
}

fn is_small(token: &Token<'_>, words: &[&str]) -> bool {
    !token.apart && words.contains(&token.folded.as_str())
}

/// "2 May 2026", "2nd of May", "May 2, 2026", "2 de mayo de 2026", "2. Mai 2026". Without a year the reading that is
/// nearest to today is taken.
fn written(tokens: &[Token<'_>], today: Option<&Zoned>) -> Option<Day> {
    let first = tokens.first()?;
    let near = |at: usize| tokens.get(at).filter(|token| !token.apart);
    if let Some((day, 1 | 2)) = first.digits() {
        let mut at = 1;
        if near(at)
            .is_some_and(|token| !token.spaced && (token.is(".") || is_small(token, &["st", "nd", "rd", "th", "er"])))
        {
            at += 1;
        }
        if near(at).is_some_and(|token| is_small(token, &["of", "de", "di"])) {
            at += 1;
        }
        let month = month(&near(at)?.folded)?;
        at += 1;
        return with_year(tokens, at, month, day, today);
    }
    let month = month(&first.folded)?;
    // "may 5" is a date only with a capital.
    if first.text.starts_with(char::is_lowercase) {
        return None;
    }
    let mut at = 1;
    if near(at).is_some_and(|token| token.is(".") && !token.spaced) {
        at += 1;
    }
    let (day, 1 | 2) = near(at)?.digits()? else { return None };
    at += 1;
    if near(at).is_some_and(|token| !token.spaced && is_small(token, &["st", "nd", "rd", "th"])) {
        at += 1;
    }
    with_year(tokens, at, month, day, today)
}

fn with_year(tokens: &[Token<'_>], at: usize, month: u32, day: u32, today: Option<&Zoned>) -> Option<Day> {
    let near = |at: usize| tokens.get(at).filter(|token| !token.apart);
    let skip = usize::from(near(at).is_some_and(|token| token.is(",") || is_small(token, &["de", "del", "of"])));
    if let Some((year, 4)) = near(at + skip).and_then(Token::digits)
        && let Some(date) = on(year.into(), month, day)
    {
        return Some(Day { date, used: at + skip + 1, ambiguous: false });
    }
    let today = today?.date();
    let years = [-1, 0, 1].map(|more| i64::from(today.year()) + more);
    let dates = years.into_iter().filter_map(|year| on(year, month, day));
    let date = dates.min_by_key(|date| today.until(*date).map_or(i32::MAX, |span| span.get_days().abs()))?;
    Some(Day { date, used: at, ambiguous: false })
}

fn weekday(word: &str) -> Option<Weekday> {
    Some(match word {
        "monday" | "montag" | "lundi" | "lunes" => Weekday::Monday,
        "tuesday" | "dienstag" | "mardi" | "martes" => Weekday::Tuesday,
        "wednesday" | "mittwoch" | "mercredi" | "miercoles" => Weekday::Wednesday,
        "thursday" | "donnerstag" | "jeudi" | "jueves" => Weekday::Thursday,
        "friday" | "freitag" | "vendredi" | "viernes" => Weekday::Friday,
        "saturday" | "samstag" | "samedi" | "sabado" => Weekday::Saturday,
        "sunday" | "sonntag" | "dimanche" | "domingo" => Weekday::Sunday,
        _ => return None,
    })
}

/// "today", "the day after tomorrow", "next Monday", "last Friday", "Monday": the coming one.
fn named(tokens: &[Token<'_>], today: &Zoned) -> Option<Day> {
    let word = |at: usize| tokens.get(at).filter(|token| at == 0 || !token.apart).map_or("", |token| &token.folded);
    let now = today.date();
    let shifted = |days: i64, used: usize| {
        Some(Day { date: now.checked_add(Span::new().try_days(days).ok()?).ok()?, used, ambiguous: false })
    };
    match word(0) {
        "today" | "tonight" | "heute" | "hoy" | "oggi" | "hoje" => return shifted(0, 1),
        "tomorrow" | "demain" | "manana" | "domani" | "amanha" => return shifted(1, 1),
        "yesterday" | "gestern" | "hier" | "ayer" | "ieri" | "ontem" => return shifted(-1, 1),
        "ubermorgen" => return shifted(2, 1),
        "vorgestern" => return shifted(-2, 1),
        "the" if (word(1), word(2), word(3)) == ("day", "after", "tomorrow") => return shifted(2, 4),
        "the" if (word(1), word(2), word(3)) == ("day", "before", "yesterday") => return shifted(-2, 4),
        _ => {}
    }
    let (which, at) = match word(0) {
        which @ ("next" | "last" | "this" | "coming" | "past") => (which, 1),
        _ => ("", 0),
    };
    // "sunday roast", "black friday": a name without capital or with another word before is still a day.
    let wanted = weekday(word(at))?;
    let date = match which {
        "last" | "past" => now.nth_weekday(-1, wanted).ok()?,
        _ => now.nth_weekday(1, wanted).ok()?,
    };
    Some(Day { date, used: at + 1, ambiguous: which == "next" })
}

/// "now", "in 3 days", "2 hours ago", "vor 3 Tagen", "hace 2 horas".
fn relative(tokens: &[Token<'_>], today: Option<&Zoned>) -> Option<(Value, usize)> {
    let today = today?;
    let word = |at: usize| tokens.get(at).filter(|token| at == 0 || !token.apart).map_or("", |token| &token.folded);
    let before = matches!(word(0), "in" | "vor" | "hace" | "within");
    let skip = usize::from(before);
    let (count, used) = match word(skip) {
        "a" | "an" => (1.0, 1),
        _ => numbers::at(tokens.get(skip..)?).map(|(value, used, _)| (value, used))?,
    };
    let at = skip + used;
    let unit = word(at);
    let past = match (word(0), word(at + 1)) {
        ("in", _) => false,
        ("vor" | "hace", _) => true,
        (_, "ago") => true,
        (_, "later" | "hence") if !before => false,
        _ => return None,
    };
    let used = at + if before { 1 } else { 2 };
    if count.fract() != 0.0 || !(0.0..=100_000.0).contains(&count) {
        return None;
    }
    let count = if past { -(count as i64) } else { count as i64 };
    let (span, day): (Span, bool) = match unit {
        "minute" | "minutes" | "mins" | "min" | "minuten" | "minutos" => (count.minutes(), false),
        "hour" | "hours" | "hrs" | "stunden" | "stunde" | "horas" | "hora" => (count.hours(), false),
        "day" | "days" | "tagen" | "tag" | "dias" | "dia" => (count.days(), true),
        "week" | "weeks" | "wochen" | "woche" | "semanas" | "semana" => (count.weeks(), true),
        "month" | "months" | "monaten" | "monat" | "meses" | "mes" => (count.months(), true),
        "year" | "years" | "jahren" | "jahr" | "anos" | "ano" => (Span::new().try_years(count).ok()?, true),
        _ => return None,
    };
    let then = today.checked_add(span).ok()?;
    Some((if day { Value::Date(then.date()) } else { Value::Moment(then.timestamp()) }, used))
}

/// A time of day: hours, minutes, offset and the tokens it takes. "14:30", "2:30 pm", "2 p.m.", "14h30", "noon",
/// "0600 UTC", "14:30:05+02:00".
fn time(tokens: &[Token<'_>]) -> Option<(i8, i8, Option<Offset>, usize)> {
    let first = tokens.first()?;
    match first.folded.as_str() {
        "noon" | "midday" => return Some((12, 0, None, 1)),
        "midnight" => return Some((0, 0, None, 1)),
        _ => {}
    }
    let (hour, count) = first.digits()?;
    let mut at = 1;
    let mut minute = 0;
    let mut clear = false;
    if count <= 2 && (sign(tokens, 1, ":") || tokens.get(1).is_some_and(|token| !token.spaced && token.folded == "h")) {
        let (minutes, 2) = touching(tokens, 2)? else { return None };
        minute = minutes;
        (at, clear) = (3, true);
        if sign(tokens, at, ":") && matches!(touching(tokens, at + 1), Some((0..=60, 2))) {
            at += 2;
        }
    } else if count <= 2
        && let Some(minutes) =
            tokens.get(1).filter(|token| !token.spaced).and_then(|token| token.text.strip_prefix('h'))
        && minutes.len() == 2
    {
        minute = minutes.parse().ok()?;
        (at, clear) = (2, true);
    }
    let mut hour = hour;
    if let Some((noon, used)) =
        half(tokens.get(at..).unwrap_or_default()).filter(|_| count <= 2 && (1..=12).contains(&hour))
    {
        hour = hour % 12 + noon;
        (at, clear) = (at + used, true);
    }
    let zone = zone(tokens.get(at..).unwrap_or_default());
    // "0600 UTC" and "1430Z": four digits need their zone.
    if !clear && count == 4 && zone.is_some() && first.text.len() == 4 {
        (hour, minute, clear) = (hour / 100, hour % 100, true);
    }
    if !clear || hour > 23 || minute > 59 {
        return None;
    }
    let (zone, used) = zone.map_or((None, 0), |(zone, used)| (Some(zone), used));
    Some((i8::try_from(hour).ok()?, i8::try_from(minute).ok()?, zone, at + used))
}

/// Hours that "am" and "pm" add.
fn half(tokens: &[Token<'_>]) -> Option<(u32, usize)> {
    let first = tokens.first().filter(|token| !token.apart)?;
    match first.folded.as_str() {
        "am" => Some((0, 1)),
        "pm" => Some((12, 1)),
        // "p.m."
        "a" | "p"
            if sign(tokens, 1, ".") && tokens.get(2).is_some_and(|token| token.folded == "m" && !token.spaced) =>
        {
            let end = usize::from(sign(tokens, 3, "."));
            Some((if first.folded == "p" { 12 } else { 0 }, 3 + end))
        }
        _ => None,
    }
}

fn zone(tokens: &[Token<'_>]) -> Option<(Offset, usize)> {
    let first = tokens.first().filter(|token| !token.apart)?;
    if matches!(first.text, "UTC" | "GMT" | "Z") {
        return Some((Offset::UTC, 1));
    }
    let west = first.is("-");
    if !(west || first.is("+")) || first.spaced {
        return None;
    }
    let (hours, 2) = touching(tokens, 1)? else { return None };
    let (minutes, 2) = touching(tokens, 3).filter(|_| sign(tokens, 2, ":"))? else { return None };
    let seconds = i32::try_from(hours * 3_600 + minutes * 60).ok()?;
    Some((Offset::from_seconds(if west { -seconds } else { seconds }).ok()?, 4))
}

#[cfg(test)]
#[test]
fn the_nearest_year_is_taken() {
    let today = date(2026, 1, 5).at(12, 0, 0, 0).to_zoned(TimeZone::UTC).unwrap();
    let text = "28 December";
    let tokens = super::lexer::tokens(text, &[]);
    assert_eq!(written(&tokens, Some(&today)).unwrap().date, date(2025, 12, 28));
}
