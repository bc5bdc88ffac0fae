//! What prompts in many languages are read as. The expected pictures are the emoji of the words, by their meaning.

use crate::sketch::{Place, Setting, TimeOfDay, Warning, Weather};

use super::{SKETCHER, figures, plan};

/// Prompt, language, figures, words that are not drawn.
const CASES: &[(&str, &str, &[&str], &[&str])] = &[
    ("an elephant and a mouse", "en", &["1 🐘", "1 🐁"], &[]),
    ("three red cars beside a house", "en", &["3 red 🚗", "1 🏠"], &[]),
    ("two cats", "en", &["2 🐈"], &[]),
    ("a hot dog and a pizza", "en", &["1 🌭", "1 🍕"], &[]),
    ("a running dog", "en", &["1 🐕"], &["running"]),
    ("a quixotic penguin", "en", &["1 🐧"], &["quixotic"]),
    ("the bicycle is green", "en", &["1 green 🚲"], &[]),
    ("7 butterflies", "en", &["7 🦋"], &[]),
    ("an orange and an orange car", "en", &["1 🍊", "1 orange 🚗"], &[]),
    ("a black cat", "en", &["1 🐈‍⬛"], &[]),
    ("um elefante azul e duas galinhas", "pt", &["1 blue 🐘", "2 🐔"], &[]),
    ("três árvores e uma casa vermelha", "pt", &["3 🌳", "1 red 🏠"], &[]),
    ("dos perros negros y una bicicleta", "es", &["2 black 🐕", "1 🚲"], &[]),
    ("cuatro manzanas verdes", "es", &["4 🍏"], &[]),
    ("un cheval blanc et trois fleurs rouges", "fr", &["1 white 🐎", "3 red 🌷"], &[]),
    ("deux éléphants et une girafe", "fr", &["2 🐘", "1 🦒"], &[]),
    ("ein roter Elefant und zwei Katzen", "de", &["1 red 🐘", "2 🐈"], &[]),
    ("fünf gelbe Autos", "de", &["5 yellow 🚗"], &[]),
    ("un gatto nero e due cavalli", "it", &["1 🐈‍⬛", "2 🐎"], &[]),
    ("три красные машины и собака", "ru", &["3 red 🚗", "1 🐕"], &[]),
    ("белая лошадь и слон", "ru", &["1 white 🐎", "1 🐘"], &[]),
    ("三只猫和一辆红色的汽车", "zh", &["3 🐈", "1 red 🚗"], &[]),
    ("两头大象", "zh", &["2 🐘"], &[]),
    ("一个蓝色的机器人", "zh", &["1 blue 🤖"], &[]),
    ("二匹の犬と赤い車", "ja", &["2 🐕", "1 red 🚗"], &[]),
    ("猫が三匹と象", "ja", &["3 🐈", "1 🐘"], &[]),
    ("고양이 세 마리와 빨간 자동차", "ko", &["3 🐈", "1 red 🚗"], &[]),
    ("코끼리와 토끼", "ko", &["1 🐘", "1 🐇"], &[]),
    ("سيارة حمراء وثلاثة أرانب", "ar", &["1 red 🚗", "3 🐇"], &[]),
    ("فيل وقطة", "ar", &["1 🐘", "1 🐈"], &[]),
    ("दो हाथी और एक लाल कार", "hi", &["2 🐘", "1 red 🚗"], &[]),
    ("bir fil ve iki kedi", "tr", &["1 🐘", "2 🐈"], &[]),
    ("dwa słonie i kot", "pl", &["2 🐘", "1 🐈"], &[]),
    ("ช้างสองตัว", "th", &["2 🐘"], &[]),
    ("dua gajah dan seekor kucing", "id", &["2 🐘", "1 🐈"], &[]),
    ("tembo na simba", "sw", &["1 🐘", "1 🦁"], &[]),
    ("ένας ελέφαντας και μια γάτα", "el", &["1 🐘", "1 🐈"], &[]),
    ("слон і кіт", "uk", &["1 🐘", "1 🐈"], &[]),
    ("een olifant en twee paarden", "nl", &["1 🐘", "2 🐎"], &[]),
    ("فیل و گربه", "fa", &["1 🐘", "1 🐈"], &[]),
    ("פיל וחתול", "he", &["1 🐘", "1 🐈"], &[]),
    ("🐘🐘 🐁", "en", &["2 🐘", "1 🐁"], &[]),
    ("a green red violet elephant", "en", &["1 green 🐘"], &["red", "violet"]),
    ("punainen hevonen", "fi", &["1 red 🐎"], &[]),
    ("blå häst", "sv", &["1 blue 🐎"], &[]),
    ("piros elefánt", "hu", &["1 red 🐘"], &[]),
    ("μπλε ποδήλατο", "el", &["1 blue 🚲"], &[]),
    ("червоний слон", "uk", &["1 red 🐘"], &[]),
    ("فیل قرمز", "fa", &["1 red 🐘"], &[]),
    ("voi màu đỏ", "vi", &["1 red 🐘"], &[]),
    ("লাল হাতি", "bn", &["1 red 🐘"], &[]),
    ("ช้างสีแดง", "th", &["1 red 🐘"], &[]),
    ("three cats and two dogs under a tree", "en", &["3 🐈", "2 🐕", "1 🌳"], &[]),
    ("桜と三匹の猫", "ja", &["1 🌸", "3 🐈"], &[]),
    ("an astronaut riding a horse", "en", &["1 🧑‍🚀", "1 🐎"], &["riding"]),
    ("a girl walks her dog", "en", &["1 👧", "1 🐕"], &["walks"]),
    ("happiness", "en", &[], &["happiness"]),
    ("สวัสดีปรัชญา", "th", &[], &["สวัสดีปรัชญา"]),
    ("a house without trees", "en", &["1 🏠"], &[]),
    ("una casa sin árboles", "es", &["1 🏠"], &[]),
    ("ein Haus ohne rote Autos und eine Katze", "de", &["1 🏠", "1 🐈"], &[]),
    ("有房子没有树", "zh", &["1 🏠"], &[]),
];

#[test]
fn words_that_only_name_a_colour_draw_nothing() {
    for text in ["green", "red and blue", "蓝色", "verde", "rouge", "grün", "黒い", "أخضر", "фиолетовый", "зелёный"]
    {
        let plan = plan(text);
        assert_eq!(figures(&plan), [""; 0], "{text}");
        assert!(!plan.unmatched.is_empty(), "{text}");
    }
    assert_eq!(figures(&plan("rose")), ["1 🌹"]);
}

#[test]
fn a_negated_setting_or_weather_is_not_set() {
    let scene = plan("a dog on the beach with no rain").scene;
    assert_eq!((scene.setting, scene.weather), (Some(Setting::Beach), None));
    assert_eq!(scene.figures.len(), 1);
}

#[test]
fn what_and_joins_goes_under_the_same_tree() {
    let plan = plan("three cats and two dogs under a tree at night");
    let relations: Vec<_> = plan.scene.figures.iter().map(|figure| figure.relation).collect();
    let under = Some(crate::sketch::Relation { place: Place::Under, to: 2 });
    assert_eq!(relations, [under, under, None]);
}

#[test]
fn the_things_of_a_prompt_are_drawn_or_listed() {
    let mut wrong = Vec::new();
    for (text, language, expected, unmatched) in CASES {
        let plan = plan(text);
        let found = figures(&plan);
        if plan.language != *language || found != *expected || plan.unmatched != *unmatched {
            wrong.push(format!("{text}: {} {found:?} {:?}", plan.language, plan.unmatched));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), CASES.len(), wrong.join("\n"));
}

#[test]
fn setting_time_and_weather_are_read_in_every_main_language() {
    let cases = [
        ("a camel in the desert at night", Some(Setting::Desert), Some(TimeOfDay::Night), None),
        ("um gato na praia ao pôr do sol", Some(Setting::Beach), Some(TimeOfDay::Sunset), None),
        ("un perro en la ciudad con lluvia", Some(Setting::City), None, Some(Weather::Rain)),
        ("un renard dans la forêt sous la neige", Some(Setting::Forest), None, Some(Weather::Snow)),
        ("ein Schiff auf dem Meer im Sturm", Some(Setting::Sea), None, Some(Weather::Storm)),
        ("медведь в лесу ночью", Some(Setting::Forest), Some(TimeOfDay::Night), None),
        ("沙漠里的骆驼", Some(Setting::Desert), None, None),
        ("雨の夜の街と猫", Some(Setting::City), Some(TimeOfDay::Night), Some(Weather::Rain)),
        ("جمل في الصحراء عند الغروب", Some(Setting::Desert), Some(TimeOfDay::Sunset), None),
        ("जंगल में हाथी", Some(Setting::Forest), None, None),
        ("лошадь под дождём", None, None, Some(Weather::Rain)),
        ("a dog in the park on a sunny morning", Some(Setting::Park), Some(TimeOfDay::Sunrise), Some(Weather::Clear)),
        ("a lighthouse in fog at sunrise", None, Some(TimeOfDay::Sunrise), Some(Weather::Fog)),
    ];
    for (text, setting, time, weather) in cases {
        let scene = plan(text).scene;
        assert_eq!((scene.setting, scene.time, scene.weather), (setting, time, weather), "{text}");
    }
}

#[test]
fn english_relations_are_kept() {
    let cases = [
        ("a cat on a chair", Some((Place::On, 1))),
        ("a dog under a tree", Some((Place::Under, 1))),
        ("a mouse to the left of an elephant", Some((Place::Left, 1))),
        ("a bird above a house", Some((Place::Above, 1))),
        ("a cat on the beach beside the sea", None),
    ];
    for (text, expected) in cases {
        let plan = plan(text);
        let relation = plan.scene.figures[0].relation.map(|relation| (relation.place, relation.to));
        assert_eq!(relation, expected, "{text}: {:?}", figures(&plan));
    }
}

#[test]
fn symbols_flags_clock_faces_and_verbs_are_not_drawn() {
    for text in ["🇧🇷 🏁", "🕒 🕧", "running", "♻ ⚠"] {
        let plan = plan(text);
        assert!(figures(&plan).is_empty(), "{text}: {:?}", figures(&plan));
        assert!(!plan.unmatched.is_empty(), "{text}");
    }
}

#[test]
fn a_count_above_nine_is_nine_and_warned_of() {
    let plan = plan("25 elephants");
    assert_eq!(figures(&plan), ["9 🐘"]);
    assert_eq!(plan.warnings, [Warning::CountLimited]);
}

#[test]
fn a_named_language_is_the_one_that_is_read() {
    // "gift" is poison in German and a present in English.
    let german = SKETCHER.plan("gift", Some("de-AT")).unwrap();
    let english = SKETCHER.plan("gift", Some("en")).unwrap();
    assert_eq!(german.language, "de");
    assert!(!figures(&german).contains(&"1 🎁".to_owned()));
    assert_eq!(figures(&english), ["1 🎁"]);
}
