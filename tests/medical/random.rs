//! Ten thousand random bodies: none fails the server, and each refusal is one of the interface's own.

use futures::StreamExt;

use super::*;
use crate::support::rng::SplitMix64;

const REQUESTS: u64 = 10_000;
const AT_ONCE: usize = 16;
const CANCER: &str = "/api/medical/cancer-diagnosis";
const SEED: u64 = 20_261_126;

/// Bodies that are accepted, of which members are replaced, added and left out.
fn accepted() -> [(&'static str, Value); 3] {
    let context = json!({ "age": 61, "sex": "female", "pregnant": false, "medicalHistory": ["asthma", "warfarin"] });
    let vitals = json!({ "systolic": 118, "diastolic": 74, "heartRate": 88, "respiratoryRate": 18, "temperature": 37.2,
        "spo2": 96, "supplementalOxygen": false, "consciousness": "A" });
    let labs = json!({ "troponin": 9, "troponinUnit": "ng/L", "creatinine": 88, "creatinineUnit": "µmol/L", "glucose": 5.5,
        "glucoseUnit": "mmol/L", "potassium": 4.1 });
    [
        (
            CHAT,
            json!({ "message": MILD, "patientContext": context, "vitalSigns": vitals, "labResults": labs, "language": "es",
            "previous": { "present": [{ "concept": "cough", "from": "cough" }] } }),
        ),
        (
            PROTOCOLS,
            json!({ "symptoms": ["chest pain", "no fever"], "specialty": "cardiology", "vitalSigns": vitals,
            "labResults": labs, "patientContext": context, "limit": 3 }),
        ),
        (
            CANCER,
            json!({ "patientAge": 61, "patientSex": "female", "symptoms": "breast lump for three weeks",
            "riskFactors": ["20/day for 30 years", "BMI 27"], "labs": { "fit": 12, "hb": 10.1 }, "organs": [] }),
        ),
    ]
}

const TEXTS: &[&str] = &[
    "",
    " ",
    "chest pain",
    "no",
    "denies",
    "\u{0}",
    "\u{202e}pain",
    "ﷺ",
    "🩸🩸🩸",
    "İ",
    "ß",
    "e\u{301}\u{301}\u{301}",
    "0",
    "-1",
    "1e309",
    "BP 1/1",
    "BP 999999999999/0",
    "age 999",
    "T 37,5",
    "5\u{a0}mg",
    "NaN",
    "null",
    "../../etc/passwd",
    "' OR 1=1 --",
    "{{7*7}}",
    "胸痛",
    "ألم في الصدر",
    "боль в груди",
    "A",
    "male",
    "ng/mL",
    "gastroenterology",
    "pt-BR",
    "data:image/png;base64,",
    "iVBORw0KGgo=",
];

fn text(random: &mut SplitMix64) -> String {
    let one = TEXTS[random.below(TEXTS.len() as u64)];
    match random.below(8) {
        0 => one.repeat(1 + random.below(400)),
        1 => (0..random.below(60)).filter_map(|_| char::from_u32(random.below(0x11_0000) as u32)).collect(),
        2 => format!("{one} {}", TEXTS[random.below(TEXTS.len() as u64)]),
        _ => one.to_owned(),
    }
}

fn number(random: &mut SplitMix64) -> Value {
    const EDGES: &[&str] = &[
        "0",
        "-0.0",
        "-1",
        "1",
        "38",
        "120",
        "1e308",
        "5e-324",
        "9007199254740993",
        "18446744073709551615",
        "-9223372036854775808",
        "0.1",
        "3.4028235e39",
    ];
    match random.below(2) {
        0 => serde_json::from_str(EDGES[random.below(EDGES.len() as u64)]).unwrap(),
        _ => json!(random.below(4_000) as f64 / 10.0),
    }
}

fn value(random: &mut SplitMix64, depth: u64) -> Value {
    match random.below(if depth == 0 { 5 } else { 7 }) {
        0 => Value::Null,
        1 => json!(random.below(2) == 0),
        2 => number(random),
        3 | 4 => json!(text(random)),
        5 => (0..random.below(5)).map(|_| value(random, depth - 1)).collect(),
        _ => (0..random.below(5))
            .map(|_| (text(random), value(random, depth - 1)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
    }
}

/// Replaces, adds or removes a member somewhere in a body.
fn change(body: &mut Value, random: &mut SplitMix64) {
    let Value::Object(members) = body else { return *body = value(random, 2) };
    let names: Vec<String> = members.keys().cloned().collect();
    let Some(name) = (!names.is_empty()).then(|| names[random.below(names.len() as u64)].clone()) else { return };
    match random.below(6) {
        0 => drop(members.remove(&name)),
        1 => drop(members.insert(text(random), value(random, 2))),
        2 | 3 if members[&name].is_object() => change(members.get_mut(&name).unwrap(), random),
        2 if members[&name].is_number() => members[&name] = number(random),
        _ => members[&name] = value(random, 3),
    }
}

/// A route, and the bytes of a body: mostly JSON, sometimes cut off or with a changed byte.
fn random_call(random: &mut SplitMix64) -> (&'static str, Vec<u8>) {
    let [chat, protocols, cancer] = accepted();
    let (path, mut body) = [chat, protocols, cancer][random.below(3)].clone();
    for _ in 0..=random.below(3) {
        change(&mut body, random);
    }
    let mut bytes = body.to_string().into_bytes();
    match random.below(16) {
        0 => bytes.truncate(random.below(bytes.len() as u64)),
        1 => {
            let at = random.below(bytes.len() as u64);
            bytes[at] = random.below(256) as u8;
        }
        _ => {}
    }
    (path, bytes)
}

#[tokio::test]
async fn ten_thousand_random_bodies_are_answered_or_refused() {
    let muster = Muster::start(UNLIMITED);
    let medical = Medical::of(&muster);
    let mut random = SplitMix64(SEED);
    let calls: Vec<_> = (0..REQUESTS).map(|_| random_call(&mut random)).collect();
    let answers = futures::stream::iter(calls).map(|(path, body)| {
        let request = medical.request(Method::POST, path).header("content-type", "application/json").body(body.clone());
        async move { (path, body, answer(request).await) }
    });
    let (mut accepted, mut refused) = (0, 0);
    let mut answers = answers.buffer_unordered(AT_ONCE);
    while let Some((path, body, answered)) = answers.next().await {
        let sent = String::from_utf8_lossy(&body);
        match answered.status {
            // A streamed answer has events in the place of one document.
            200 if answered.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream")) => {
                accepted += 1
            }
            200 => {
                accepted += 1;
                assert_eq!(answered.json()["success"], true, "{path} {sent}");
            }
            400 | 413 => {
                refused += 1;
                assert_eq!(answered.json()["success"], false, "{path} {sent}: {}", answered.text);
            }
            other => panic!("{other} for {path} {sent}: {}", answered.text),
        }
    }
    assert!(accepted > REQUESTS / 20 && refused > REQUESTS / 5, "{accepted} accepted, {refused} refused");
    assert_eq!(rank(&medical.chat(json!({ "message": GRAVE })).await), 4);
}
