use jiff::civil::date;
use proptest::prelude::*;
use unicode_normalization::UnicodeNormalization;

use super::*;

fn clock() -> Clock {
    // A Friday.
    Clock { now: Some("2026-05-01T10:00:00Z".parse().unwrap()), zone: TimeZone::UTC }
}

fn of(text: &str) -> Vec<(String, String)> {
    find(text, &clock())
        .into_iter()
        .map(|fact| {
            let value = match &fact.value {
                Value::Number(value) | Value::People(value) => value.to_string(),
                Value::Quantity { value, unit } | Value::Duration { value, unit } => format!("{value} {}", unit.id),
                Value::Money { value, currency } => format!("{value} {currency}"),
                Value::Date(date) => date.to_string(),
                Value::Moment(moment) => moment.to_string(),
                Value::Clock { hour, minute } => format!("{hour:02}:{minute:02}"),
                Value::Place(place) => format!("{:.4},{:.4}", place.lat, place.lon),
                Value::Phone(text) | Value::Email(text) | Value::Url(text) => text.clone(),
            };
            let sure = if fact.ambiguous { "?" } else { "" };
            (text[fact.start..fact.end].to_owned(), format!("{}{sure} {value}", fact.value.kind()))
        })
        .collect()
}

fn check(text: &str, expected: &[(&str, &str)]) {
    let expected: Vec<_> = expected.iter().map(|(text, value)| ((*text).to_owned(), (*value).to_owned())).collect();
    assert_eq!(of(text), expected, "{text}");
}

#[test]
fn numbers_with_units() {
    check("3.5 tonnes of rice", &[("3.5 tonnes", "quantity 3.5 t")]);
    check("wind 25 km/h, gusts of 40 knots", &[("25 km/h", "quantity 25 km/h"), ("40 knots", "quantity 40 kn")]);
    check("-5 °C and 41°F", &[("-5 °C", "quantity -5 degC"), ("41°F", "quantity 41 degF")]);
    check("1,250 m2 or 0.125 ha", &[("1,250 m2", "quantity 1250 m2"), ("0.125 ha", "quantity 0.125 ha")]);
    check("12 cubic metres per second", &[("12 cubic metres per second", "quantity 12 m3/s")]);
    check("80% of 1.2 million litres", &[("80%", "quantity 80 %"), ("1.2 million litres", "quantity 1200000 L")]);
    check("1.234,5 kg; 1'234.5 kg", &[("1.234,5 kg", "quantity 1234.5 kg"), ("1'234.5 kg", "quantity 1234.5 kg")]);
    check("for 3 days", &[("3 days", "duration 3 d")]);
    check("٣٥ km", &[("٣٥ km", "quantity 35 km")]);
    check("5 MW is not 5 mW", &[("5 MW", "quantity 5 MW"), ("5", "number 5")]);
    check("40 miles an hour", &[("40 miles an hour", "quantity 40 mph")]);
}

#[test]
fn a_preposition_or_article_is_no_unit() {
    check("version 5 in use", &[("5", "number 5")]);
    check("room 5 A man came", &[("5", "number 5")]);
    check("one man", &[("one man", "people 1")]);
    check("no one came", &[]);
}

#[test]
fn money() {
    check(
        "$5 million, EUR 1,200 and 30 euros",
        &[("$5 million", "money 5000000 USD"), ("EUR 1,200", "money 1200 EUR"), ("30 euros", "money 30 EUR")],
    );
}

#[test]
fn people_in_digits_and_words() {
    check("About 120 people", &[("120 people", "people 120")]);
    check("two hundred and fifty evacuees", &[("two hundred and fifty evacuees", "people 250")]);
    check("twenty-one injured children", &[("twenty-one injured children", "people 21")]);
    check("a dozen missing", &[("a dozen missing", "people 12")]);
    check("3 niños y 12 personas", &[("3 niños", "people 3"), ("12 personas", "people 12")]);
    check("12k residents", &[("12k residents", "people 12000")]);
    check("17.000 Personen", &[("17.000 Personen", "people 17000")]);
    check("225 deaths, 1.250 injured", &[("225 deaths", "people 225"), ("1.250 injured", "people 1250")]);
}

#[test]
fn days_that_are_written_out() {
    for text in
        ["2 May 2026", "May 2, 2026", "2nd of May 2026", "2026-05-02", "02.05.2026", "2. Mai 2026", "2 de mayo de 2026"]
    {
        check(text, &[(text, "date 2026-05-02")]);
    }
    check("on 13/05/2026", &[("13/05/2026", "date 2026-05-13")]);
    check("on 05/13/2026", &[("05/13/2026", "date 2026-05-13")]);
    check("on 05/06/2026", &[("05/06/2026", "date? 2026-06-05")]);
    check("31 February 2026", &[("31", "number 31"), ("2026", "number 2026")]);
    check("12 août", &[("12 août", "date 2026-08-12")]);
    check("you may 5 times", &[("5", "number 5")]);
}

#[test]
fn times_and_moments() {
    check("meet on 2 May 2026 at 14:30;", &[("2 May 2026 at 14:30", "date 2026-05-02T14:30:00Z")]);
    check("2026-05-02T14:30:00+02:00", &[("2026-05-02T14:30:00+02:00", "date 2026-05-02T12:30:00Z")]);
    check("at 2:30 pm tomorrow", &[("2:30 pm tomorrow", "date 2026-05-02T14:30:00Z")]);
    check("12 am or 12 p.m.", &[("12 am", "time 00:00"), ("12 p.m.", "time 12:00")]);
    check("0600 UTC", &[("0600 UTC", "time 06:00")]);
    check("14h30 and noon", &[("14h30", "time 14:30"), ("noon", "time 12:00")]);
    check("score 25:61", &[("25", "number 25"), ("61", "number 61")]);
}

#[test]
fn days_that_depend_on_today() {
    check("today", &[("today", "date 2026-05-01")]);
    check("in 3 days", &[("in 3 days", "date 2026-05-04")]);
    check("2 hours ago", &[("2 hours ago", "date 2026-05-01T08:00:00Z")]);
    check("on Friday", &[("Friday", "date 2026-05-08")]);
    check("last Monday", &[("last Monday", "date 2026-04-27")]);
    check("the day after tomorrow", &[("the day after tomorrow", "date 2026-05-03")]);
    check("vor 2 Tagen", &[("vor 2 Tagen", "date 2026-04-29")]);
    assert_eq!(find("tomorrow, 2 May", &Clock::default()).len(), 1, "a number only");
}

#[test]
fn zones_move_moments() {
    let clock = Clock { zone: TimeZone::get("Asia/Tokyo").unwrap(), ..clock() };
    let found = find("tomorrow at 9 am", &clock);
    assert_eq!(found[0].value, Value::Moment("2026-05-02T00:00:00Z".parse().unwrap()));
}

#[test]
fn contacts() {
    check("call +44 20 7031 3000.", &[("+44 20 7031 3000", "phone +442070313000")]);
    check(
        "write to a.b@example.org, see https://example.org/a_(b)?x=1.",
        &[
            ("a.b@example.org", "email a.b@example.org"),
            ("https://example.org/a_(b)?x=1", "url https://example.org/a_(b)?x=1"),
        ],
    );
}

#[test]
fn positions() {
    for text in ["48.8584, 2.2945", "48.8584° N, 2.2945° E", "48°51'30.24\"N 2°17'40.2\"E", "N 48.8584 E 2.2945"] {
        check(text, &[(text, "coordinates 48.8584,2.2945")]);
    }
    check("-33.8568; 151.2153", &[("-33.8568; 151.2153", "coordinates -33.8568,151.2153")]);
    check("prices 98.50, 200.75", &[("98.50", "number 98.5"), ("200.75", "number 200.75")]);
}

#[test]
fn right_to_left_text_and_emoji_keep_offsets() {
    check("👨‍👩‍👧 120 people מים 3 km", &[("120 people", "people 120"), ("3 km", "quantity 3 km")]);
    let found = find("e\u{301}te\u{301}: 12 aou\u{302}t 2026", &clock());
    assert_eq!(found[0].value, Value::Date(date(2026, 8, 12)));
}

#[test]
fn long_runs_of_one_character_end() {
    for letter in ["1", "a", ".", "+", " ", "1,", "1.", "@", "a@", "°", "\u{301}", "1 ", "one ", "(", "-", "n 1"] {
        let text = letter.repeat((1 << 16) / letter.len());
        assert!(find(&text, &clock()).len() <= text.len());
    }
}

proptest! {
    #[test]
    fn facts_are_in_order_and_within_the_text(text in "[a-z0-9 .,:/°+'@\u{300}-\u{302}é一🙂-]{0,80}|\\PC{0,60}") {
        let mut end = 0;
        for fact in find(&text, &clock()) {
            prop_assert!(fact.start >= end && fact.end > fact.start);
            prop_assert!(text.get(fact.start..fact.end).is_some());
            end = fact.end;
        }
    }

    #[test]
    fn composed_and_decomposed_texts_have_the_same_facts(text in "(12 |3[.]5 |août |mañana |März |niños |°C |élan |2026 |km ){0,12}") {
        let values = |text: &str| find(text, &clock()).into_iter().map(|fact| fact.value).collect::<Vec<_>>();
        let (nfc, nfd): (String, String) = (text.nfc().collect(), text.nfd().collect());
        prop_assert_eq!(values(&nfc), values(&nfd));
    }
}
