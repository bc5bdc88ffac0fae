//! Places in a text: what an engine found is what stands there.

use serde_json::{Map, Value};

use super::run;
use crate::FamilyEngines;

/// One sentence each, with numbers, days, places or units, in eleven scripts; some with emoji, joiners and marks.
const SENTENCES: [&str; 22] = [
    "The river rose 3.5 m in Köln on 3 March 2026 at 14:30, said Dr. O’Neil (NASA).",
    "Le niveau a dépassé 12,5 mètres à Besançon le 3 février 2026 ; évacuation immédiate.",
    "Am 3. März 2026 wurden in Düsseldorf 1.250 Häuser überflutet – über 4 Mio. € Schaden.",
    "El 5 de mayo de 2026 llovió 40 mm en Málaga; se cortó la A-7 por más de 3 horas.",
    "Em São Paulo choveu 80 mm às 18h30 do dia 4 de março de 2026.",
    "Nước dâng 2 m tại Đà Nẵng lúc 6 giờ sáng ngày 3 tháng 3 năm 2026.",
    "İstanbul’da 3 Mart 2026’da 45 kişi kurtarıldı; ısı −4,5 °C.",
    "W Łodzi i Gdańsku spadło 35 mm deszczu, wiatr 90 km/h.",
    "Ånger på Öland: 12 båtar saknas söder om Åhus.",
    "Στην Αθήνα έπεσαν 60 χιλιοστά βροχής στις 3 Μαρτίου 2026.",
    "В Йошкар-Оле ёлки сломаны, 3 марта 2026 г. без света 1 200 домов.",
    "У Києві 3 березня 2026 року евакуйовано 45 осіб.",
    "غمرت المياه مدينة الإسكندرية في ٣ مارس ٢٠٢٦ وأُجلي ٤٥ شخصًا.",
    "בתל אביב נמדדו 45 מ״מ גשם ב־3 במרץ 2026.",
    "दिल्ली में 3 मार्च 2026 को 45 लोग बचाए गए।",
    "ঢাকায় ৩ মার্চ ২০২৬ তারিখে ৪৫ জন উদ্ধার।",
    "กรุงเทพฯ ฝนตก 60 มม. เมื่อวันที่ 3 มีนาคม 2026",
    "東京で2026年3月3日に45人が救助され、がけ崩れは3か所。",
    "2026年3月3日，北京有45人获救，水位上涨3.5米。",
    "서울에서 2026년 3월 3일 45명이 구조되었다.",
    "Mail ops@example.org or call +49 30 1234567 👨‍👩‍👧‍👦 before 18:00 🚒.",
    "Zalgo: h̷̢͇e̶l̵p at 52.5200, 13.4050; see https://example.org/é?q=ü#ñ.",
];

/// Fails if what stands from `start` to `end` of a text is not what the engine says that it found there. `normal_forms`
/// gives the forms of a sentence to try, such as NFC and NFD; `input` makes the input of a text.
pub fn spans_hold(
    family: &'static FamilyEngines,
    number: u16,
    normal_forms: fn(&str) -> Vec<String>,
    input: fn(&str) -> Value,
) {
    let engine = family.engines().iter().find(|engine| engine.number == number).unwrap();
    let forms: Vec<Vec<String>> = SENTENCES.iter().map(|sentence| normal_forms(sentence)).collect();
    // All sentences together as well, so that places lie behind characters of other lengths.
    let count = forms.first().map_or(0, Vec::len);
    let joined = (0..count).map(|form| forms.iter().map(|of| of[form].as_str()).collect::<Vec<_>>().join("\n"));
    let (mut wrong, mut found) = (Vec::new(), 0);
    for text in forms.iter().flatten().cloned().chain(joined) {
        let output =
            run(engine, input(&text)).unwrap_or_else(|failure| panic!("{}: {failure:?} for {text}", engine.id));
        walk(&output, &mut |item| {
            found += 1;
            let at = |name: &str| item[name].as_u64().and_then(|at| usize::try_from(at).ok()).unwrap();
            if text.get(at("start")..at("end")) != item["text"].as_str() {
                wrong.push(format!("{} at {}..{} of {text:?}", item["text"], at("start"), at("end")));
            }
        });
    }
    assert!(found > SENTENCES.len() / 2, "{} finds {found} in all sentences", engine.id);
    assert!(wrong.is_empty(), "{}: {}", engine.id, wrong.join("\n"));
}

/// Calls `each` with the objects that have a place and a text.
fn walk(value: &Value, each: &mut impl FnMut(&Map<String, Value>)) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| walk(item, each)),
        Value::Object(members) => {
            if ["start", "end", "text"].iter().all(|name| members.contains_key(*name)) {
                each(members);
            }
            members.values().for_each(|value| walk(value, each));
        }
        _ => {}
    }
}
