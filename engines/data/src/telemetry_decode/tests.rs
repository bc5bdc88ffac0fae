use serde_json::{Value, json};

use super::*;

fn run(input: Value) -> Value {
    crate::FAMILY.run(121, input, &Context::default()).unwrap()
}

fn reading(output: &Value, name: &str) -> Value {
    let readings = output["readings"].as_array().unwrap();
    readings.iter().find(|reading| reading["name"] == name).unwrap_or_else(|| panic!("no {name}: {output:#}")).clone()
}

fn near(found: &Value, expected: f64) {
    assert!((found.as_f64().unwrap() - expected).abs() < 1e-6, "{found} in place of {expected}");
}

/// gpsd, "NMEA Revealed": the sentences GGA and RMC of its examples, as their fields are explained there; the date is
/// that of the second, the time of each its own.
#[test]
fn sentences_of_gpsd() {
    let payload = "$GPGGA,123519,4807.038,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,*47\r\n\
                   $GPRMC,225446,A,4916.45,N,12311.12,W,000.5,054.7,191194,020.3,E*68\r\n\
                   $INMTW,17.9,C*1B\n$WIMWV,041.1,R,01.0,N,A*16";
    let output = run(json!({ "payload": payload }));
    assert_eq!((&output["errors"], &output["format"]), (&json!([]), &json!("nmea")));
    assert_eq!(reading(&output, "altitude")["value"], 545.4);
    assert_eq!(reading(&output, "altitude")["time"], "1994-11-19T12:35:19Z");
    assert_eq!(reading(&output, "satellites")["value"], 8);
    assert_eq!(reading(&output, "speed")["value"], 0.5);
    assert_eq!(reading(&output, "speed")["time"], "1994-11-19T22:54:46Z");
    assert_eq!(reading(&output, "water_temperature")["value"], 17.9);
    assert_eq!(
        (&reading(&output, "wind_speed")["value"], &reading(&output, "wind_speed")["unit"]),
        (&json!(1.0), &json!("kn"))
    );
    near(&output["position"]["lat"], 49.0 + 16.45 / 60.0);
    near(&output["position"]["lon"], -(123.0 + 11.12 / 60.0));
}

#[test]
fn a_wrong_checksum_is_reported_with_its_line() {
    let output =
        run(json!({ "payload": "\n$GPGGA,123519,4807.038,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,*48\n$X\nhello" }));
    assert_eq!(output["readings"], json!([]));
    assert_eq!(output["errors"][0], json!({ "line": 2, "message": "the checksum is 48, that of the contents 47" }));
    assert_eq!((&output["errors"][1]["line"], &output["errors"][2]["line"]), (&json!(3), &json!(4)));
    assert!(output.get("position").is_none());
}

/// pyais 3.3: `decode(…).asdict()` of the same sentences, which are those of its README and of gpsd's AIVDM page.
#[test]
fn position_reports_match_pyais() {
    let output = run(json!({ "payload": "!AIVDM,1,1,,B,15M67FC000G?ufbE`FepT@3n00Sa,0*5C" }));
    assert_eq!(output["format"], "ais");
    assert_eq!(reading(&output, "mmsi")["value"], 366_053_209);
    assert_eq!(reading(&output, "status")["value"], "restricted manoeuvrability");
    near(&reading(&output, "course")["value"], 219.3);
    near(&output["position"]["lat"], 37.802118);
    near(&output["position"]["lon"], -122.341618);
    let output = run(json!({ "payload": "!AIVDM,1,1,,A,B52K>;h00Fc>jpUlNV@ikwpUoP06,0*4C", "format": "ais" }));
    assert_eq!(reading(&output, "mmsi")["value"], 338_087_471);
    near(&reading(&output, "speed")["value"], 0.1);
    near(&output["position"]["lat"], 40.68454);
    // A heading of 511 is none.
    assert!(!output["readings"].as_array().unwrap().iter().any(|reading| reading["name"] == "heading"));
    let output = run(json!({ "payload": "\\c:1609841515*50\\!AIVDM,1,1,,A,13u?etPv2;0n:dDPwUM1U1Cb069D,0*24" }));
    assert_eq!(reading(&output, "second")["value"], 53.0);
    assert!((reading(&output, "turn")["value"].as_f64().unwrap() + 3.0).abs() < 0.5);
    // The tag block's time, as Unix time: 2021-01-05T10:11:55Z.
    assert_eq!(reading(&output, "mmsi")["time"], "2021-01-05T10:11:55Z");
}

/// pyais 3.3: a message of type 5 in two sentences.
#[test]
fn a_voyage_in_two_sentences() {
    let parts = [
        "!AIVDM,2,1,1,A,55?MbV02;H;s<HtKR20EHE:0@T4@Dn2222222216L961O5Gf0NSQEp6ClRp8,0*1C",
        "!AIVDM,2,2,1,A,88888888880,2*25",
    ];
    let output = run(json!({ "payload": parts.join("\n") }));
    for (name, value) in [
        ("mmsi", json!(351_759_000)),
        ("imo", json!(9_134_270)),
        ("call_sign", json!("3FOF8")),
        ("ship_name", json!("EVER DIADEM")),
        ("ship_type", json!(70)),
        ("to_bow", json!(225)),
        ("to_starboard", json!(31)),
        ("eta", json!("05-15T14:00Z")),
        ("draught", json!(12.2)),
        ("destination", json!("NEW YORK")),
    ] {
        assert_eq!(reading(&output, name)["value"], value, "{name}");
    }
    for part in parts {
        assert_eq!(run(json!({ "payload": part }))["errors"].as_array().unwrap().len(), 1);
    }
}

/// RFC 8428, section 5.1: the example of voltage and current with base fields, without its records between; resolved as
/// in section 4.6.
#[test]
fn base_fields_hold_for_the_records_after_them() {
    let pack = json!([
        { "bn": "urn:dev:ow:10e2073a0108006:", "bt": 1.276020076001e+09, "bu": "A", "bver": 5, "n": "voltage",
          "u": "V", "v": 120.1 },
        { "n": "current", "t": -5, "v": 1.2 },
        { "n": "current", "v": 1.7 },
    ]);
    let output = run(json!({ "payload": pack.to_string() }));
    assert_eq!(output["format"], "senml");
    let first = json!({
        "name": "urn:dev:ow:10e2073a0108006:voltage", "unit": "V", "value": 120.1, "time": "2010-06-08T18:01:16.001Z",
    });
    assert_eq!(output["readings"][0], first);
    assert_eq!(output["readings"][1]["unit"], "A");
    assert_eq!(output["readings"][1]["time"], "2010-06-08T18:01:11.001Z");
    assert_eq!(output["readings"][2]["time"], "2010-06-08T18:01:16.001Z");
}

/// RFC 8428, section 5.1: the example of several types of data; a position by its units, and section 4.4's fields that
/// must be understood, by hand.
#[test]
fn values_of_every_type() {
    let pack = json!([
        { "bn": "urn:dev:ow:10e2073a01080063:", "n": "temp", "u": "Cel", "v": 23.1 },
        { "n": "label", "vs": "Machine Room" },
        { "n": "open", "vb": false },
        { "n": "nfc-reader", "vd": "aGkgCg" },
        { "n": "lat", "u": "lat", "v": 60.0 },
        { "n": "lon", "u": "lon", "v": 24.5 },
        { "n": "energy", "u": "W", "s": 12 },
        { "n": "x", "v": 1, "odd_": 1 },
        { "n": "no value" },
    ]);
    let output = run(json!({ "payload": pack.to_string() }));
    assert_eq!(reading(&output, "urn:dev:ow:10e2073a01080063:label")["value"], "Machine Room");
    assert_eq!(reading(&output, "urn:dev:ow:10e2073a01080063:open")["value"], false);
    assert_eq!(reading(&output, "urn:dev:ow:10e2073a01080063:nfc-reader")["value"], "aGkgCg");
    assert_eq!(reading(&output, "urn:dev:ow:10e2073a01080063:energy:sum")["unit"], "Ws");
    assert_eq!(output["position"], json!({ "lat": 60.0, "lon": 24.5 }));
    let lines: Vec<&Value> = output["errors"].as_array().unwrap().iter().map(|error| &error["line"]).collect();
    assert_eq!(lines, [8, 9]);
}

/// The Cayenne LPP documentation's three examples, and two more as pycayennelpp 2.4 reads them.
#[test]
fn payloads_of_the_lpp_documentation() {
    let of = |payload: &str| run(json!({ "payload": payload, "format": "cayenne-lpp" }));
    let two = of("03 67 01 10 05 67 00 FF");
    assert_eq!(reading(&two, "temperature_3")["value"], 27.2);
    assert_eq!(reading(&two, "temperature_5")["value"], 25.5);
    let mixed = of("01 67 FF D7 06 71 04 D2 FB 2E 00 00");
    assert_eq!(reading(&mixed, "temperature_1")["value"], -4.1);
    assert_eq!(reading(&mixed, "accelerometer_6")["value"], json!({ "x": 1.234, "y": -1.234, "z": 0.0 }));
    let gps = run(json!({ "payload": "01 88 06 76 5F F2 96 0A 00 03 E8", "encoding": "hex" }));
    assert_eq!(gps["format"], "cayenne-lpp");
    assert_eq!(gps["position"], json!({ "lat": 42.3519, "lon": -87.9094 }));
    near(&reading(&gps, "gps_1")["value"]["alt"], 10.0);
    assert_eq!(reading(&of("0073292A"), "barometer_0")["value"], 1053.8);
    assert_eq!(reading(&of("016855"), "humidity_1")["value"], 42.5);
}

#[test]
fn payloads_that_are_cut_short_or_unknown() {
    let of = |payload: &str| run(json!({ "payload": payload, "format": "cayenne-lpp" }))["errors"].clone();
    assert_eq!(of("036701")[0]["message"], "channel 3: temperature has 2 bytes, there are 1");
    assert_eq!(of("03FF01").as_array().unwrap().len(), 1);
    assert_eq!(of("03").as_array().unwrap().len(), 1);
    for input in [
        json!({ "payload": "0", "format": "cayenne-lpp" }),
        json!({ "payload": "//8=", "encoding": "base64", "format": "nmea" }),
        json!({ "payload": "[", "format": "senml" }),
    ] {
        assert!(
            matches!(crate::FAMILY.run(121, input.clone(), &Context::default()), Err(Failure::Invalid { .. })),
            "{input}"
        );
    }
}

mod property {
    use proptest::prelude::*;

    use super::*;

    const KINDS: [&str; 20] = [
        "GGA", "RMC", "GLL", "GNS", "GSA", "GSV", "GST", "VTG", "ZDA", "HDT", "MTW", "MWV", "DPT", "DBK", "DBS", "VHW",
        "MDA", "TXT", "TTM", "BWC",
    ];

    fn summed(start: char, body: &str) -> String {
        format!("{start}{body}*{:02X}", body.bytes().fold(0, |sum, byte| sum ^ byte))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        /// Whatever is between the commas of a sentence whose checksum is right, it is decoded or reported as an error.
        #[test]
        fn every_sentence_is_decoded_or_reported(
            kind in prop::sample::select(&KINDS[..]),
            fields in prop::collection::vec("[0-9]{0,6}\\.?[0-9]{0,4}|-?[0-9]{1,12}|[A-Z]|[ -)+-~]{0,8}", 0..16),
        ) {
            let output = run(json!({ "payload": summed('$', &format!("GP{kind},{}", fields.join(","))) }));
            let reported = output["readings"].as_array().unwrap().len() + output["errors"].as_array().unwrap().len();
            prop_assert!(reported > 0, "{output}");
        }

        #[test]
        fn every_ais_sentence_is_decoded_or_reported(
            parts in prop::collection::vec(("[0-9]", "[0-9]", "[0-9]?", "[0-W`-w]{0,80}", "[0-7]"), 1..4),
        ) {
            let line = |(total, part, id, text, fill): &(String, String, String, String, String)| {
                summed('!', &format!("AIVDM,{total},{part},{id},A,{text},{fill}"))
            };
            let output = run(json!({ "payload": parts.iter().map(line).collect::<Vec<_>>().join("\n") }));
            let reported = output["readings"].as_array().unwrap().len() + output["errors"].as_array().unwrap().len();
            prop_assert!(reported > 0, "{output}");
        }

        #[test]
        fn all_bytes_are_read_as_lpp(bytes in prop::collection::vec(prop::sample::select(&[0_u8, 1, 2, 103, 104, 113, 136, 255][..]), 1..40)) {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            let output = run(json!({ "payload": hex, "format": "cayenne-lpp" }));
            let reported = output["readings"].as_array().unwrap().len() + output["errors"].as_array().unwrap().len();
            prop_assert!(reported > 0, "{output}");
        }
    }
}

/// pynmea2 1.19 of the same sentence: GLL as before NMEA 2.3, without a mode.
#[test]
fn an_older_sentence_without_its_last_field() {
    let gll = run(json!({ "payload": "$GPGLL,3224.3537,N,01402.1591,W,072453.70,A*18", "format": "nmea" }));
    near(&gll["position"]["lat"], 32.405_895);
    near(&gll["position"]["lon"], -14.035_985);
}
