//! Documents read and refused. The examples are those of the standard's Appendix A, shortened in their prose.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test's helpers may fail it")]

use muster_cap::{
    Category, Certainty, Circle, MAX_BYTES, MsgType, Polygon, ResponseType, Scope, Severity, Status, Urgency, parse,
};

/// Appendix A.2.
const THUNDERSTORM: &str = r#"<?xml version = "1.0" encoding = "UTF-8"?>
<alert xmlns = "urn:oasis:names:tc:emergency:cap:1.2">
  <identifier>KSTO1055887203</identifier>
  <sender>KSTO@NWS.NOAA.GOV</sender>
  <sent>2003-06-17T14:57:00-07:00</sent>
  <status>Actual</status>
  <msgType>Alert</msgType>
  <scope>Public</scope>
  <info>
    <category>Met</category>
    <event>SEVERE THUNDERSTORM</event>
    <responseType>Shelter</responseType>
    <urgency>Immediate</urgency>
    <severity>Severe</severity>
    <certainty>Observed</certainty>
    <eventCode>
      <valueName>SAME</valueName>
      <value>SVR</value>
    </eventCode>
    <expires>2003-06-17T16:00:00-07:00</expires>
    <senderName>NATIONAL WEATHER SERVICE SACRAMENTO CA</senderName>
    <headline>SEVERE THUNDERSTORM WARNING</headline>
    <instruction>TAKE COVER IN A SUBSTANTIAL SHELTER UNTIL THE STORM PASSES.</instruction>
    <contact>BARUFFALDI/JUSKIE</contact>
    <area>
      <areaDesc>EXTREME NORTH CENTRAL TUOLUMNE COUNTY IN CALIFORNIA</areaDesc>
      <polygon>38.47,-120.14 38.34,-119.95 38.52,-119.74 38.62,-119.89 38.47,-120.14</polygon>
      <geocode>
        <valueName>SAME</valueName>
        <value>006109</value>
      </geocode>
    </area>
  </info>
</alert>"#;

/// Appendix A.3.
const EARTHQUAKE: &str = r#"<alert xmlns = "urn:oasis:names:tc:emergency:cap:1.2">
  <identifier>TRI13970876.2</identifier>
  <sender>trinet@caltech.edu</sender>
  <sent>2003-06-11T20:56:00-07:00</sent>
  <status>Actual</status>
  <msgType>Update</msgType>
  <scope>Public</scope>
  <references>trinet@caltech.edu,TRI13970876.1,2003-06-11T20:30:00-07:00</references>
  <info>
    <category>Geo</category>
    <event>Earthquake</event>
    <urgency>Past</urgency>
    <severity>Minor</severity>
    <certainty>Observed</certainty>
    <web>http://www.trinet.org/scsn/scsn.html</web>
    <parameter><valueName>EventID</valueName><value>13970876</value></parameter>
    <area>
      <areaDesc>1 mi. WSW of Imperial, CA; 31 mi. W of Yuma, AZ</areaDesc>
      <circle>32.9525,-115.5527 0</circle>
    </area>
  </info>
</alert>"#;

/// The earthquake with a piece replaced; the piece must be there.
fn altered(from: &str, to: &str) -> String {
    assert!(EARTHQUAKE.contains(from), "{from}");
    EARTHQUAKE.replacen(from, to, 1)
}

fn refused(document: &str, place: &str) {
    let error = parse(document.as_bytes()).unwrap_err();
    assert_eq!(error.place, place, "{error}");
}

#[test]
fn the_standards_thunderstorm_is_read() {
    let alert = parse(THUNDERSTORM.as_bytes()).unwrap();
    assert_eq!((alert.status, alert.msg_type, alert.scope), (Status::Actual, MsgType::Alert, Scope::Public));
    let [info] = &alert.infos[..] else { unreachable!("one info") };
    assert_eq!(
        (info.urgency, info.severity, info.certainty),
        (Urgency::Immediate, Severity::Severe, Certainty::Observed)
    );
    assert_eq!((&info.categories[..], &info.response_types[..]), (&[Category::Met][..], &[ResponseType::Shelter][..]));
    assert_eq!(info.language, "en-US", "the standard's default");
    assert_eq!((info.event_codes[0].name.as_str(), info.event_codes[0].value.as_str()), ("SAME", "SVR"));
    let area = &info.areas[0];
    let corner = (38.47, -120.14);
    let ring = vec![corner, (38.34, -119.95), (38.52, -119.74), (38.62, -119.89), corner];
    assert_eq!(area.polygons, [Polygon(ring)], "latitude first");
    assert_eq!(area.geocodes[0].value, "006109");
    assert_eq!(parse(alert.to_xml().unwrap().as_bytes()).unwrap(), alert);
}

#[test]
fn the_standards_update_names_the_alert_before() {
    let alert = parse(EARTHQUAKE.as_bytes()).unwrap();
    let [before] = &alert.references[..] else { unreachable!("one reference") };
    assert_eq!((before.sender.as_str(), before.identifier.as_str()), ("trinet@caltech.edu", "TRI13970876.1"));
    assert_eq!(before.sent.as_str(), "2003-06-11T20:30:00-07:00");
    let circle = Circle { latitude: 32.9525, longitude: -115.5527, radius_km: 0.0 };
    assert_eq!(alert.infos[0].areas[0].circles, [circle]);
    assert_eq!(parse(alert.to_xml().unwrap().as_bytes()).unwrap(), alert);
}

#[test]
fn forerunners_are_read_by_todays_names() {
    let old = altered("urn:oasis:names:tc:emergency:cap:1.2", "http://www.incident.com/cap/1.0");
    let old = old.replace("<certainty>Observed", "<certainty>Very Likely");
    assert_eq!(parse(old.as_bytes()).unwrap().infos[0].certainty, Certainty::Likely);
    refused(&altered("emergency:cap:1.2", "emergency:cap:9.9"), "document");
}

#[test]
fn a_signature_and_other_strangers_are_passed_over() {
    let signature = "<ds:Signature xmlns:ds=\"http://www.w3.org/2000/09/xmldsig#\"><ds:status>Test</ds:status></ds:Signature></alert>";
    let signed = parse(altered("</alert>", signature).as_bytes()).unwrap();
    assert_eq!(signed, parse(EARTHQUAKE.as_bytes()).unwrap());
}

#[test]
fn prefixes_and_entities_of_xml_itself_are_read() {
    let prefixed = EARTHQUAKE.replace("</", "</cap:").replace('<', "<cap:").replace("<cap:/cap:", "</cap:");
    let prefixed = prefixed.replace("xmlns =", "xmlns:cap =").replace("Earthquake", "A &amp; B &#x41;<![CDATA[ < ]]>");
    assert_eq!(parse(prefixed.as_bytes()).unwrap().infos[0].event, "A & B A <");
}

#[test]
fn a49_entities_are_never_expanded() {
    let external =
        format!("<!DOCTYPE alert [<!ENTITY x SYSTEM \"file:///etc/passwd\">]>{}", altered("Earthquake", "&x;"));
    refused(&external, "document");
    let laughs = (1..10).fold("<!ENTITY l0 \"lol\">".to_owned(), |all, n| {
        format!("{all}<!ENTITY l{n} \"{}\">", format!("&l{};", n - 1).repeat(10))
    });
    refused(&format!("<!DOCTYPE alert [{laughs}]>{}", altered("Earthquake", "&l9;")), "document");
    refused(&altered("Earthquake", "&unknown;"), "document");
}

#[test]
fn a49_shapes_that_are_none_are_refused_by_their_place() {
    let circle = "<circle>32.9525,-115.5527 0</circle>";
    let area = |shape: &str| altered(circle, shape);
    let place = "alert/info[1]/area[1]";
    refused(&area("<polygon>1,1 1,2 1,1</polygon>"), &format!("{place}/polygon[1]"));
    refused(&area("<polygon>1,1 1,2 2,2 2,1</polygon>"), &format!("{place}/polygon[1]"));
    refused(
        &area("<polygon>-120.1,38.4 -119.9,38.3 -119.7,38.5 -120.1,38.4</polygon>"),
        &format!("{place}/polygon[1]"),
    );
    refused(&area("<polygon>1,1 1,x 2,2 1,1</polygon>"), &format!("{place}/polygon[1]"));
    refused(&area("<polygon>1,1 1,NaN 2,2 1,1</polygon>"), &format!("{place}/polygon[1]"));
    refused(&area("<circle>1,1</circle>"), &format!("{place}/circle[1]"));
    refused(&area("<circle>1,1 -5</circle>"), &format!("{place}/circle[1]"));
    refused(&area("<circle>115,33 5</circle>"), &format!("{place}/circle[1]"));
}

#[test]
fn a49_messages_that_break_a_rule_are_refused_by_their_place() {
    let references = "<references>trinet@caltech.edu,TRI13970876.1,2003-06-11T20:30:00-07:00</references>";
    refused(&altered(references, ""), "alert/references");
    refused(&altered(references, "<references>trinet@caltech.edu,TRI1</references>"), "alert/references");
    refused(&altered("20:56:00-07:00", "20:56:00Z"), "alert/sent");
    refused(&altered("TRI13970876.2", "TRI 2"), "alert/identifier");
    refused(&altered("trinet@caltech.edu</sender>", "a,b</sender>"), "alert/sender");
    refused(&altered("<scope>Public", "<scope>Restricted"), "alert/restriction");
    refused(&altered("<scope>Public", "<scope>Private"), "alert/addresses");
    refused(&altered("<urgency>Past", "<urgency>past"), "alert/info[1]/urgency");
    refused(&altered("<category>Geo</category>", ""), "alert/info[1]/category");
    refused(&altered("<status>Actual</status>", "<status>Actual</status><status>Test</status>"), "alert/status");
}

#[test]
fn a49_what_is_too_large_too_deep_or_broken_is_refused() {
    let large = altered("Earthquake", &"x".repeat(10 << 20));
    assert!(large.len() > MAX_BYTES);
    refused(&large, "document");
    refused(&altered("Earthquake", &format!("{}{}", "<a>".repeat(100), "</a>".repeat(100))), "document");
    refused(&altered("Earthquake", &"<a/>".repeat(60_000)), "document");
    refused("", "document");
    refused("<alert", "document");
    refused("<html/>", "document");
    assert!(parse(&[0xff, 0xfe, 0x00]).is_err());
    for cut in (0..EARTHQUAKE.len() - 8).step_by(7) {
        assert!(parse(&EARTHQUAKE.as_bytes()[..cut]).is_err(), "cut at {cut}");
    }
}
