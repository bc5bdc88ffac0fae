//! Scenes: what is drawn, before it is placed. Read from words, or supplied as JSON.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Figures that one scene may list.
pub const MAX_FIGURES: usize = 16;
/// Pictures that one scene may draw, counts included.
pub const MAX_DRAWN: usize = 40;
/// Largest count of one figure.
pub const MAX_COUNT: u8 = 9;

/// A scene. Its JSON form refuses unknown fields.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scene {
    /// Where it is. `None`: chosen by the figures (fish: the sea; furniture: a room), else a meadow.
    #[serde(default)]
    pub setting: Option<Setting>,
    /// Time of day. `None`: by day.
    #[serde(default)]
    pub time: Option<TimeOfDay>,
    /// Weather. `None`: clear.
    #[serde(default)]
    pub weather: Option<Weather>,
    /// What is in it, at most [`MAX_FIGURES`], [`MAX_DRAWN`] with their counts.
    #[serde(default)]
    pub figures: Vec<Figure>,
}

/// Pictures of one kind in a scene.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// An emoji, or its English name in CLDR ("elephant").
    pub picture: String,
    /// How many, 1 to [`MAX_COUNT`].
    #[serde(default = "one")]
    pub count: u8,
    /// Colour to which its main hue is turned.
    #[serde(default)]
    pub colour: Option<Colour>,
    /// Place relative to another figure.
    #[serde(default)]
    pub relation: Option<Relation>,
}

const fn one() -> u8 {
    1
}

/// Place of a figure relative to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Relation {
    /// On which side of the other figure.
    pub place: Place,
    /// Index of the other figure in the scene's list. It must have no relation itself.
    pub to: usize,
}

macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($(#[$doc])* $variant),+ }

        impl $name {
            /// Every value.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word for it in JSON and in texts.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// The value of a word; `None` for another word.
            #[must_use]
            pub fn parse(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.word() == word)
            }
        }
    };
}

words! {
    /// Side of another figure.
    Place {
        /// Standing on it.
        On = "on",
        /// In front of its foot, small.
        Under = "under",
        /// Over it, not touching.
        Above = "above",
        /// Next to it.
        Beside = "beside",
        /// To its left.
        Left = "left",
        /// To its right.
        Right = "right",
        /// Partly hidden by it.
        Behind = "behind",
        /// Partly hiding it.
        Front = "front",
    }
}

words! {
    /// Where a scene is.
    Setting {
        /// Grass and hills.
        Meadow = "meadow",
        /// Grass, a path and trees far away.
        Park = "park",
        /// Rows of trees.
        Forest = "forest",
        /// Sand and the sea.
        Beach = "beach",
        /// Open water.
        Sea = "sea",
        /// Dunes.
        Desert = "desert",
        /// A skyline and a street.
        City = "city",
        /// Peaks.
        Mountains = "mountains",
        /// Snow-covered ground.
        Snow = "snow",
        /// Stars and a planet's ground.
        Space = "space",
        /// A wall and a floor.
        Indoor = "indoor",
    }
}

words! {
    /// Time of day.
    TimeOfDay {
        /// By day.
        Day = "day",
        /// By night.
        Night = "night",
        /// At sunrise.
        Sunrise = "sunrise",
        /// At sunset.
        Sunset = "sunset",
    }
}

words! {
    /// Weather.
    Weather {
        /// No cloud.
        Clear = "clear",
        /// Clouds.
        Cloudy = "cloudy",
        /// Rain.
        Rain = "rain",
        /// Snowfall.
        Snow = "snow",
        /// Fog.
        Fog = "fog",
        /// Rain and lightning.
        Storm = "storm",
    }
}

words! {
    /// Colours to which a picture can be turned.
    Colour {
        /// Red.
        Red = "red",
        /// Orange.
        Orange = "orange",
        /// Yellow.
        Yellow = "yellow",
        /// Green.
        Green = "green",
        /// Blue.
        Blue = "blue",
        /// Purple.
        Purple = "purple",
        /// Pink.
        Pink = "pink",
        /// Brown.
        Brown = "brown",
        /// Black.
        Black = "black",
        /// White.
        White = "white",
        /// Grey.
        Grey = "grey",
    }
}

/// Why a scene is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SceneError {
    /// Too many figures in the list.
    #[error("a scene lists {0} figures, at most {MAX_FIGURES} are drawn; list fewer")]
    Figures(usize),
    /// Too many pictures, counts included.
    #[error("a scene asks for {0} pictures, counts included, at most {MAX_DRAWN} are drawn; lower the counts")]
    Drawn(usize),
    /// A count that is not 1 to 9.
    #[error("figure {figure} has the count {count}; it must be 1 to {MAX_COUNT}")]
    Count {
        /// Index of the figure.
        figure: usize,
        /// Its count.
        count: u8,
    },
    /// Not the name of a picture that can be drawn.
    #[error("figure {figure}: `{picture}` is no picture that can be drawn; use an emoji or its English CLDR name")]
    Picture {
        /// Index of the figure.
        figure: usize,
        /// What was given, at most 64 characters.
        picture: String,
    },
    /// A relation to itself, to a figure that is not there, or to one that has a relation itself.
    #[error("figure {0} relates to a figure that is itself, is missing, or has a relation of its own")]
    Relation(usize),
}

impl Scene {
    /// Whether nothing at all is in it, so that a poster of the words is drawn instead.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.figures.is_empty() && self.setting.is_none() && self.time.is_none() && self.weather.is_none()
    }

    /// Checks the bounds of numbers and relations; whether pictures exist is checked where they are known.
    ///
    /// # Errors
    /// The first bound that is exceeded.
    pub fn check(&self) -> Result<(), SceneError> {
        if self.figures.len() > MAX_FIGURES {
            return Err(SceneError::Figures(self.figures.len()));
        }
        for (index, figure) in self.figures.iter().enumerate() {
            if !(1..=MAX_COUNT).contains(&figure.count) {
                return Err(SceneError::Count { figure: index, count: figure.count });
            }
            let target = figure.relation.map(|relation| (relation.to, self.figures.get(relation.to)));
            let sound = match target {
                None => true,
                Some((to, Some(other))) => to != index && other.relation.is_none(),
                Some((_, None)) => false,
            };
            if !sound {
                return Err(SceneError::Relation(index));
            }
        }
        let drawn = self.figures.iter().map(|figure| usize::from(figure.count)).sum();
        if drawn > MAX_DRAWN { Err(SceneError::Drawn(drawn)) } else { Ok(()) }
    }

    /// The JSON schema of a scene, for a chat model that plans one.
    #[must_use]
    pub fn schema() -> Value {
        let of = |words: Vec<&str>| json!({"enum": words.into_iter().map(Value::from).chain([Value::Null]).collect::<Vec<_>>()});
        let place: Vec<_> = Place::ALL.iter().map(|place| place.word()).collect();
        json!({
            "type": "object", "additionalProperties": false,
            "properties": {
                "setting": of(Setting::ALL.iter().map(|value| value.word()).collect()),
                "time": of(TimeOfDay::ALL.iter().map(|value| value.word()).collect()),
                "weather": of(Weather::ALL.iter().map(|value| value.word()).collect()),
                "figures": {"type": "array", "maxItems": MAX_FIGURES, "items": {
                    "type": "object", "additionalProperties": false, "required": ["picture"],
                    "properties": {
                        "picture": {"type": "string", "maxLength": 64, "description": "an emoji, or its English CLDR name"},
                        "count": {"type": "integer", "minimum": 1, "maximum": MAX_COUNT},
                        "colour": of(Colour::ALL.iter().map(|value| value.word()).collect()),
                        "relation": {"type": ["object", "null"], "additionalProperties": false,
                            "required": ["place", "to"],
                            "properties": {"place": {"enum": place}, "to": {"type": "integer", "minimum": 0}}}
                    }}}
            }
        })
    }
}
