//! Property tests: any alert that is written is parsed back unchanged.

#![allow(clippy::unwrap_used, reason = "a test's helpers may fail it")]

use muster_cap::{
    Alert, Area, CapTime, Category, Certainty, Circle, Info, MsgType, NamedValue, Polygon, Reference, Resource,
    ResponseType, Scope, Severity, Status, Urgency, parse,
};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;

/// Any text that XML can represent and that neither starts nor ends with white space.
fn text() -> impl Strategy<Value = String> {
    "[ -~äßЖ漢😀\n\t\r]{1,24}".prop_map(|text| text.trim().to_owned()).prop_filter("not empty", |text| !text.is_empty())
}

fn name() -> impl Strategy<Value = String> {
    "[!-%'-+\\--;=-~äЖ]{1,16}"
}

fn time() -> impl Strategy<Value = CapTime> {
    (0u64..4_000_000_000, -14i32..=14, select(vec![0, 30, 45])).prop_map(|(seconds, hours, minutes)| {
        let utc = CapTime::utc(seconds * 1000);
        let sign = if hours < 0 { '-' } else { '+' };
        let local = utc.as_str().strip_suffix("-00:00").unwrap();
        CapTime::parse(&format!("{local}{sign}{:02}:{minutes:02}", hours.abs())).unwrap()
    })
}

fn named() -> impl Strategy<Value = NamedValue> {
    (text(), text()).prop_map(|(name, value)| NamedValue { name, value })
}

fn position() -> impl Strategy<Value = (f64, f64)> {
    (-90.0..=90.0, -180.0..=180.0)
}

fn area() -> impl Strategy<Value = Area> {
    let polygon = vec(position(), 3..6).prop_map(|mut ring| {
        ring.extend(ring.first().copied());
        Polygon(ring)
    });
    let circle = (position(), 0.0..20_000.0).prop_map(|((latitude, longitude), radius_km)| Circle {
        latitude,
        longitude,
        radius_km,
    });
    let height = of((-100.0..60_000.0f64, of(0.0..60_000.0f64)));
    (text(), vec(polygon, 0..3), vec(circle, 0..3), vec(named(), 0..2), height).prop_map(
        |(description, polygons, circles, geocodes, height)| Area {
            polygons,
            circles,
            geocodes,
            altitude: height.map(|(altitude, _)| altitude),
            ceiling: height.and_then(|(_, ceiling)| ceiling),
            ..Area::new(description)
        },
    )
}

fn resource() -> impl Strategy<Value = Resource> {
    (text(), text(), of(any::<u64>()), of(text()), of(text()), of(text())).prop_map(
        |(description, mime_type, size, uri, deref_uri, digest)| Resource {
            description,
            mime_type,
            size,
            uri,
            deref_uri,
            digest,
        },
    )
}

fn info() -> impl Strategy<Value = Info> {
    let what = (
        vec(select(Category::ALL), 1..3),
        text(),
        vec(select(ResponseType::ALL), 0..3),
        select(Urgency::ALL),
        select(Severity::ALL),
        select(Certainty::ALL),
    );
    let words = (text(), of(text()), of(text()), of(text()), of(text()), of(text()), of(text()), of(text()));
    let lists = (vec(named(), 0..2), vec(named(), 0..2), vec(resource(), 0..2), vec(area(), 0..3));
    (what, words, lists, (of(time()), of(time()), of(time()))).prop_map(|(what, words, lists, times)| Info {
        language: words.0,
        categories: what.0,
        event: what.1,
        response_types: what.2,
        urgency: what.3,
        severity: what.4,
        certainty: what.5,
        audience: words.1,
        event_codes: lists.0,
        effective: times.0,
        onset: times.1,
        expires: times.2,
        sender_name: words.2,
        headline: words.3,
        description: words.4,
        instruction: words.5,
        web: words.6,
        contact: words.7,
        parameters: lists.1,
        resources: lists.2,
        areas: lists.3,
    })
}

fn alert() -> impl Strategy<Value = Alert> {
    let reference =
        (name(), name(), time()).prop_map(|(sender, identifier, sent)| Reference { sender, identifier, sent });
    let listed = || vec(text().prop_map(|text| text.replace('"', "'")), 1..3);
    let head = (name(), name(), time(), select(Status::ALL), select(MsgType::ALL), select(Scope::ALL));
    let more = (of(text()), text(), listed(), vec(text(), 0..2), of(text()), listed());
    (head, more, vec(reference, 1..3), vec(info(), 0..3)).prop_map(|(head, more, references, infos)| Alert {
        identifier: head.0,
        sender: head.1,
        sent: head.2,
        status: head.3,
        msg_type: head.4,
        source: more.0,
        scope: head.5,
        restriction: (head.5 == Scope::Restricted).then_some(more.1),
        addresses: more.2,
        codes: more.3,
        note: more.4,
        references,
        incidents: more.5,
        infos,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a50_written_alerts_are_parsed_back_unchanged(alert in alert()) {
        let document = alert.to_xml().unwrap();
        prop_assert_eq!(parse(document.as_bytes()).unwrap(), alert);
    }

    #[test]
    fn a49_arbitrary_bytes_never_panic_the_parser(bytes in vec(any::<u8>(), 0..200)) {
        let _ = parse(&bytes);
    }
}

fn plain(msg_type: MsgType, identifier: &str, references: Vec<Reference>) -> Alert {
    Alert {
        identifier: identifier.into(),
        sender: "ops@muster.example".into(),
        sent: CapTime::parse("2026-01-01T00:00:00-00:00").unwrap(),
        status: Status::Actual,
        msg_type,
        source: None,
        scope: Scope::Public,
        restriction: None,
        addresses: Vec::new(),
        codes: Vec::new(),
        note: None,
        references,
        incidents: Vec::new(),
        infos: Vec::new(),
    }
}

#[test]
fn a50_each_value_of_each_enumeration_round_trips() {
    let mut info = Info::new(Category::Met, "Flood", Urgency::Past, Severity::Minor, Certainty::Likely);
    info.categories = Category::ALL.to_vec();
    info.response_types = ResponseType::ALL.to_vec();
    let mut alerts = Vec::new();
    for (urgency, (severity, certainty)) in Urgency::ALL.iter().zip(Severity::ALL.iter().zip(Certainty::ALL)) {
        let info = Info { urgency: *urgency, severity: *severity, certainty: *certainty, ..info.clone() };
        let mut alert = plain(MsgType::Alert, "one", Vec::new());
        alert.infos.push(info);
        alerts.push(alert);
    }
    for status in Status::ALL {
        alerts.push(Alert { status: *status, ..plain(MsgType::Alert, "one", Vec::new()) });
    }
    for alert in alerts {
        assert_eq!(parse(alert.to_xml().unwrap().as_bytes()).unwrap(), alert);
    }
}

#[test]
fn a50_several_languages_round_trip() {
    let info_in = |language: &str, event: &str| {
        let info = Info::new(Category::Met, event, Urgency::Expected, Severity::Severe, Certainty::Likely);
        Info { language: language.into(), ..info }
    };
    let mut alert = plain(MsgType::Alert, "flood", Vec::new());
    alert.infos = vec![info_in("en-US", "Flood"), info_in("de-DE", "Überschwemmung"), info_in("ja-JP", "洪水")];
    assert_eq!(parse(alert.to_xml().unwrap().as_bytes()).unwrap(), alert);
}

#[test]
fn a50_a_cancel_references_all_earlier_messages() {
    let first = plain(MsgType::Alert, "a", Vec::new());
    let update = plain(MsgType::Update, "b", vec![first.reference()]);
    let cancel = plain(MsgType::Cancel, "c", vec![first.reference(), update.reference()]);
    for alert in [&first, &update, &cancel] {
        assert_eq!(&parse(alert.to_xml().unwrap().as_bytes()).unwrap(), alert);
    }
    let read = parse(cancel.to_xml().unwrap().as_bytes()).unwrap();
    let named: Vec<_> = read.references.iter().map(|to| to.identifier.as_str()).collect();
    assert_eq!(named, ["a", "b"]);
}

#[test]
fn an_alert_that_violates_a_rule_is_not_written() {
    assert_eq!(plain(MsgType::Update, "b", Vec::new()).to_xml().unwrap_err().place, "alert/references");
}
