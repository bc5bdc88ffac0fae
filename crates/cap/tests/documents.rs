//! Parsing of valid and invalid documents. The valid examples are those of the standard's Appendix A, with shortened
//! prose.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test's helpers may fail it")]

use muster_cap::{
    Category, Certainty, Circle, MAX_BYTES, MsgType, Polygon, ResponseType, Scope, Severity, Status, Urgency, parse,
};

/// Example of Appendix A.2.
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

/// Example of Appendix A.3.
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

/// Returns the earthquake example with one passage replaced; fails if the passage does not occur.
fn altered(from: &str, to: &str) -> String {
    assert!(EARTHQUAKE.contains(from), "{from}");
    EARTHQUAKE.replacen(from, to, 1)
}

fn assert_rejected(document: &str, place: &str) {
    let error = parse(document.as_bytes()).unwrap_err();
    assert_eq!(error.place, place, "{error}");
}

#[test]
fn the_thunderstorm_example_is_parsed() {
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
fn the_update_example_references_the_earlier_alert() {
    let alert = parse(EARTHQUAKE.as_bytes()).unwrap();
    let [before] = &alert.references[..] else { unreachable!("one reference") };
    assert_eq!((before.sender.as_str(), before.identifier.as_str()), ("trinet@caltech.edu", "TRI13970876.1"));
    assert_eq!(before.sent.as_str(), "2003-06-11T20:30:00-07:00");
    let circle = Circle { latitude: 32.9525, longitude: -115.5527, radius_km: 0.0 };
    assert_eq!(alert.infos[0].areas[0].circles, [circle]);
    assert_eq!(parse(alert.to_xml().unwrap().as_bytes()).unwrap(), alert);
}

#[test]
fn earlier_versions_are_parsed_with_current_names() {
    let old = altered("urn:oasis:names:tc:emergency:cap:1.2", "http://www.incident.com/cap/1.0");
    let old = old.replace("<certainty>Observed", "<certainty>Very Likely");
    assert_eq!(parse(old.as_bytes()).unwrap().infos[0].certainty, Certainty::Likely);
    assert_rejected(&altered("emergency:cap:1.2", "emergency:cap:9.9"), "document");
}

#[test]
fn elements_of_other_namespaces_are_skipped() {
    let signature = "<ds:Signature xmlns:ds=\"http://www.w3.org/2000/09/xmldsig#\"><ds:status>Test</ds:status></ds:Signature></alert>";
    let signed = parse(altered("</alert>", signature).as_bytes()).unwrap();
    assert_eq!(signed, parse(EARTHQUAKE.as_bytes()).unwrap());
}

#[test]
fn namespace_prefixes_and_predefined_entities_are_supported() {
    let prefixed = EARTHQUAKE.replace("</", "</cap:").replace('<', "<cap:").replace("<cap:/cap:", "</cap:");
    let prefixed = prefixed.replace("xmlns =", "xmlns:cap =").replace("Earthquake", "A &amp; B &#x41;<![CDATA[ < ]]>");
    assert_eq!(parse(prefixed.as_bytes()).unwrap().infos[0].event, "A & B A <");
}

#[test]
fn a49_entities_are_never_expanded() {
    let external =
        format!("<!DOCTYPE alert [<!ENTITY x SYSTEM \"file:///etc/passwd\">]>{}", altered("Earthquake", "&x;"));
    assert_rejected(&external, "document");
    let laughs = (1..10).fold("<!ENTITY l0 \"lol\">".to_owned(), |all, n| {
        format!("{all}<!ENTITY l{n} \"{}\">", format!("&l{};", n - 1).repeat(10))
    });
    assert_rejected(&format!("<!DOCTYPE alert [{laughs}]>{}", altered("Earthquake", "&l9;")), "document");
    assert_rejected(&altered("Earthquake", "&unknown;"), "document");
}

#[test]
fn a49_invalid_shapes_are_rejected_with_their_path() {
    let circle = "<circle>32.9525,-115.5527 0</circle>";
    let area = |shape: &str| altered(circle, shape);
    let place = "alert/info[1]/area[1]";
    assert_rejected(&area("<polygon>1,1 1,2 1,1</polygon>"), &format!("{place}/polygon[1]"));
    assert_rejected(&area("<polygon>1,1 1,2 2,2 2,1</polygon>"), &format!("{place}/polygon[1]"));
    assert_rejected(
        &area("<polygon>-120.1,38.4 -119.9,38.3 -119.7,38.5 -120.1,38.4</polygon>"),
        &format!("{place}/polygon[1]"),
    );
    assert_rejected(&area("<polygon>1,1 1,x 2,2 1,1</polygon>"), &format!("{place}/polygon[1]"));
    assert_rejected(&area("<polygon>1,1 1,NaN 2,2 1,1</polygon>"), &format!("{place}/polygon[1]"));
    assert_rejected(&area("<circle>1,1</circle>"), &format!("{place}/circle[1]"));
    assert_rejected(&area("<circle>1,1 -5</circle>"), &format!("{place}/circle[1]"));
    assert_rejected(&area("<circle>115,33 5</circle>"), &format!("{place}/circle[1]"));
}

#[test]
fn a49_messages_that_violate_a_rule_are_rejected_with_the_path() {
    let references = "<references>trinet@caltech.edu,TRI13970876.1,2003-06-11T20:30:00-07:00</references>";
    assert_rejected(&altered(references, ""), "alert/references");
    assert_rejected(&altered(references, "<references>trinet@caltech.edu,TRI1</references>"), "alert/references");
    assert_rejected(&altered("20:56:00-07:00", "20:56:00Z"), "alert/sent");
    assert_rejected(&altered("TRI13970876.2", "TRI 2"), "alert/identifier");
    assert_rejected(&altered("trinet@caltech.edu</sender>", "a,b</sender>"), "alert/sender");
    assert_rejected(&altered("<scope>Public", "<scope>Restricted"), "alert/restriction");
    assert_rejected(&altered("<scope>Public", "<scope>Private"), "alert/addresses");
    assert_rejected(&altered("<urgency>Past", "<urgency>past"), "alert/info[1]/urgency");
    assert_rejected(&altered("<category>Geo</category>", ""), "alert/info[1]/category");
    assert_rejected(
        &altered("<status>Actual</status>", "<status>Actual</status><status>Test</status>"),
        "alert/status",
    );
}

#[test]
fn a49_documents_too_large_too_deep_or_malformed_are_rejected() {
    let large = altered("Earthquake", &"x".repeat(10 << 20));
    assert!(large.len() > MAX_BYTES);
    assert_rejected(&large, "document");
    assert_rejected(&altered("Earthquake", &format!("{}{}", "<a>".repeat(100), "</a>".repeat(100))), "document");
    assert_rejected(&altered("Earthquake", &"<a/>".repeat(60_000)), "document");
    assert_rejected("", "document");
    assert_rejected("<alert", "document");
    assert_rejected("<html/>", "document");
    assert!(parse(&[0xff, 0xfe, 0x00]).is_err());
    for cut in (0..EARTHQUAKE.len() - 8).step_by(7) {
        assert!(parse(&EARTHQUAKE.as_bytes()[..cut]).is_err(), "cut at {cut}");
    }
}
