use crate::{Language, detect};

/// Article 1 of the Universal Declaration of Human Rights (ohchr.org).
const ARTICLE_1: &[(Language, &str)] = &[
    (
        Language::English,
        "All human beings are born free and equal in dignity and rights. They are endowed with reason and conscience and should act towards one another in a spirit of brotherhood.",
    ),
    (
        Language::German,
        "Alle Menschen sind frei und gleich an Würde und Rechten geboren. Sie sind mit Vernunft und Gewissen begabt und sollen einander im Geist der Brüderlichkeit begegnen.",
    ),
    (
        Language::French,
        "Tous les êtres humains naissent libres et égaux en dignité et en droits. Ils sont doués de raison et de conscience et doivent agir les uns envers les autres dans un esprit de fraternité.",
    ),
    (
        Language::Spanish,
        "Todos los seres humanos nacen libres e iguales en dignidad y derechos y, dotados como están de razón y conciencia, deben comportarse fraternalmente los unos con los otros.",
    ),
    (
        Language::Italian,
        "Tutti gli esseri umani nascono liberi ed eguali in dignità e diritti. Essi sono dotati di ragione e di coscienza e devono agire gli uni verso gli altri in spirito di fratellanza.",
    ),
    (
        Language::Russian,
        "Все люди рождаются свободными и равными в своем достоинстве и правах. Они наделены разумом и совестью и должны поступать в отношении друг друга в духе братства.",
    ),
    (Language::Greek, "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα."),
    (
        Language::Finnish,
        "Kaikki ihmiset syntyvät vapaina ja tasavertaisina arvoltaan ja oikeuksiltaan. Heille on annettu järki ja omatunto, ja heidän on toimittava toisiaan kohtaan veljeyden hengessä.",
    ),
    (
        Language::Other,
        "人人生而自由,在尊严和权利上一律平等。他们赋有理性和良心,并应以兄弟关系的精神相对待。人人有资格享受本宣言所载的一切权利和自由",
    ),
    (
        Language::Other,
        "Всі люди народжуються вільними і рівними у своїй гідності та правах. Вони наділені розумом і совістю і повинні діяти у відношенні один до одного в дусі братерства.",
    ),
];

#[test]
fn language_of_a_sentence_is_detected() {
    for (language, text) in ARTICLE_1 {
        let default = if *language == Language::English { Language::German } else { Language::English };
        assert_eq!(detect(text, default), *language, "{text}");
    }
}

#[test]
fn short_texts_get_the_default_language() {
    for text in ["", "42", "Hotel Adler", "user.theme", "pizza margherita", "🦀", "Tokyo, 12:30", "build failed: E0308"]
    {
        assert_eq!(detect(text, Language::English), Language::English, "{text}");
        assert_eq!(detect(text, Language::Swedish), Language::Swedish, "{text}");
    }
}
