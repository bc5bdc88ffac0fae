//! What each picture is and how large it is drawn: the table kinds.txt.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::scene::{Setting, TimeOfDay, Weather};

/// What a picture is, which decides where it is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Not drawn as a picture: the scene is set there.
    Setting(Setting),
    /// Not drawn as a picture: the scene is at that time.
    Time(TimeOfDay),
    /// Not drawn as a picture: the scene has that weather.
    Weather(Weather),
    Sun,
    Moon,
    /// In the sky, standing still.
    Sky,
    /// Birds, insects, aircraft.
    Flyer,
    /// Swims; sets the scene at sea.
    Sea,
    /// Back row: buildings and trees.
    Back,
    /// Sets the scene in a room.
    Furniture,
    /// Everything else, in the front row.
    Front,
}

/// One picture of the table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Picture {
    /// The emoji without variation selectors.
    pub(super) emoji: &'static str,
    pub(super) kind: Kind,
    /// Height where a grown person is 1.25.
    pub(super) height: f32,
    /// A person, whose skin keeps its colour.
    pub(super) is_person: bool,
    /// Found by its name only: its keywords are verbs or moods.
    pub(super) by_name_only: bool,
}

/// People whose picture is a face, and the picture of one like them from head to foot.
const BODIES: [(&str, &str); 6] =
    [("👩", "🧍‍♀"), ("👨", "🧍‍♂"), ("🧑", "🧍"), ("👧", "🧍‍♀"), ("👦", "🧍‍♂"), ("🧒", "🧍")];

/// All pictures that can be drawn, in order of preference.
#[derive(Debug)]
pub(super) struct Kinds {
    pictures: Vec<Picture>,
    by_emoji: HashMap<&'static str, u16>,
}

impl Kinds {
    /// The table, parsed once.
    pub(super) fn get() -> &'static Self {
        static TABLE: OnceLock<Kinds> = OnceLock::new();
        TABLE.get_or_init(|| Self::parse(include_str!("kinds.txt")))
    }

    fn parse(text: &'static str) -> Self {
        let mut pictures = Vec::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let mut words = line.split(' ');
            let (Some(kind), Some(height)) = (words.next(), words.next().and_then(|height| height.parse().ok())) else {
                continue;
            };
            let Some(class) = class(kind) else { continue };
            let by_name_only = matches!(kind, "face" | "activity");
            let is_person = matches!(kind, "person" | "role" | "activity");
            pictures.extend(words.map(|emoji| Picture { emoji, kind: class, height, is_person, by_name_only }));
        }
        let by_emoji = pictures.iter().zip(0..).map(|(picture, index)| (picture.emoji, index)).collect();
        Self { pictures, by_emoji }
    }

    pub(super) fn picture(&self, index: u16) -> Option<&Picture> {
        self.pictures.get(usize::from(index))
    }

    /// The picture that is drawn from head to foot for one that is a face only.
    pub(super) fn body(&self, index: u16) -> Option<u16> {
        let emoji = self.picture(index)?.emoji;
        self.find(BODIES.iter().find(|(face, _)| *face == emoji)?.1)
    }

    /// The picture of an emoji, with or without variation selectors and skin tones.
    pub(super) fn find(&self, emoji: &str) -> Option<u16> {
        self.by_emoji.get(emoji).copied().or_else(|| {
            let bare: String =
                emoji.chars().filter(|c| !matches!(c, '\u{fe0e}' | '\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}')).collect();
            self.by_emoji.get(bare.as_str()).copied()
        })
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (u16, &Picture)> {
        (0..).zip(&self.pictures)
    }
}

fn class(word: &str) -> Option<Kind> {
    if let Some((family, value)) = word.split_once(':') {
        return match family {
            "setting" => Setting::parse(value).map(Kind::Setting),
            "time" => TimeOfDay::parse(value).map(Kind::Time),
            "weather" => Weather::parse(value).map(Kind::Weather),
            _ => None,
        };
    }
    Some(match word {
        "sun" => Kind::Sun,
        "moon" => Kind::Moon,
        "sky" => Kind::Sky,
        "bird" | "insect" | "aircraft" => Kind::Flyer,
        "sea" | "boat" => Kind::Sea,
        "building" | "tall" | "tree" => Kind::Back,
        "furniture" => Kind::Furniture,
        "animal" | "face" | "waterfowl" | "shore" | "person" | "role" | "activity" | "vehicle" | "plant" | "food"
        | "object" => Kind::Front,
        _ => return None,
    })
}
