//! The public face: prompts and scenes → pictures.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use super::art::{Art, Drawings};
use super::backdrop::{self, Stage};
use super::choose::read_best;
use super::compose::compose;
use super::fold::{hash, is_invisible};
use super::kinds::{Kind, Kinds, Picture};
use super::layout::{self, Block, Layer, Layout, Measure};
use super::names::Names;
use super::poster;
use super::raster::Canvas;
use super::rng::Rng;
use super::scene::{Colour, Figure, Scene, SceneError, Setting, TimeOfDay, Weather};
use super::size::{Quality, Size};
use super::tokens::tokenize;
use super::warning::Warning;
use super::weather;

/// Characters of a prompt, at most.
pub const MAX_PROMPT: usize = 1_000;

/// Why no picture was drawn.
#[derive(Debug, thiserror::Error)]
pub enum SketchError {
    /// The file of drawings is missing, cut off or of another form.
    #[error("the drawings cannot be read ({0}); fetch pictures.json again")]
    Pictures(#[source] serde_json::Error),
    /// The file of drawings gives an impossible size.
    #[error("the drawings have a side of {0}; fetch pictures.json again")]
    PictureSize(f32),
    /// The file of drawings has none that can be used.
    #[error("the file of drawings has none of the known pictures; fetch pictures.json again")]
    NoPictures,
    /// The file of names is missing, cut off or of another form.
    #[error("the pictures' names cannot be read ({0}); fetch picture-names.json again")]
    Names(#[source] serde_json::Error),
    /// The file of names has no language.
    #[error("the file of the pictures' names has no language; fetch picture-names.json again")]
    NoNames,
    /// A prompt without a visible character.
    #[error("the prompt has no visible character; describe what to draw")]
    EmptyPrompt,
    /// A prompt that is too long.
    #[error("the prompt has {0} characters, at most {MAX_PROMPT} are read; shorten it")]
    LongPrompt(usize),
    /// A scene that breaks a bound.
    #[error(transparent)]
    Scene(#[from] SceneError),
    /// One drawing of the file is not valid SVG.
    #[error("the drawing of {0} is broken; fetch pictures.json again")]
    Drawing(String),
    /// A layer could not be drawn: a defect of the program.
    #[error("a layer of the picture could not be drawn: {0}")]
    Render(String),
    /// No memory for the canvas.
    #[error("there is no memory for the canvas")]
    Memory,
    /// The PNG could not be written: a defect of the program.
    #[error("the picture could not be encoded: {0}")]
    Encode(String),
}

/// What is asked for.
#[derive(Debug, Clone, Default)]
pub struct Prompt<'a> {
    /// Words in any language, at most [`MAX_PROMPT`] characters.
    pub text: &'a str,
    /// Code of the text's language, if known; else the language is taken in which most of it is understood.
    pub language: Option<&'a str>,
    /// Size of the picture.
    pub size: Size,
    /// Quality of the picture.
    pub quality: Quality,
    /// Seed of everything that varies. `None`: made from the text.
    pub seed: Option<u64>,
}

/// A picture and what it shows.
#[derive(Debug, Clone)]
pub struct Drawing {
    /// PNG, 8 bits RGB, with the text field `procedural illustration`.
    pub png: Vec<u8>,
    /// What was drawn, in English.
    pub revised_prompt: String,
    /// Words that were not drawn, as the prompt writes them, at most 50.
    pub unmatched: Vec<String>,
    /// What else is not as asked.
    pub warnings: Vec<Warning>,
    /// The seed that gives this picture again.
    pub seed: u64,
    /// Code of the language in which the prompt was read; empty where a scene was supplied.
    pub language: String,
}

/// A prompt as it was understood, before anything is drawn.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The scene; empty where nothing was matched.
    pub scene: Scene,
    /// Words that were not matched.
    pub unmatched: Vec<String>,
    /// What is not as asked.
    pub warnings: Vec<Warning>,
    /// Code of the language in which the prompt was read.
    pub language: String,
}

/// Draws pictures from words. Holds the drawings and names; languages are parsed when first needed.
#[derive(Debug)]
pub struct Sketcher {
    drawings: Drawings,
    names: Names,
    english: BTreeMap<u16, String>,
}

impl Sketcher {
    /// Reads the two data files: drawings (`pictures.json`) and their names (`picture-names.json`).
    ///
    /// # Errors
    /// A file of another form, cut off, or without content.
    pub fn open(pictures: &[u8], names: &[u8]) -> Result<Self, SketchError> {
        let drawings = Drawings::open(pictures)?;
        let names = Names::open(names).map_err(SketchError::Names)?;
        if names.is_empty() {
            return Err(SketchError::NoNames);
        }
        let english = names.english().map_err(SketchError::Names)?;
        Ok(Self { drawings, names, english })
    }

    /// Codes of the languages whose words are understood.
    pub fn languages(&self) -> impl Iterator<Item = &str> {
        self.names.codes()
    }

    /// Parses the names of all languages now, so that no later prompt waits for it.
    pub fn warm(&self) {
        for code in self.names.codes() {
            self.names.language(code);
        }
    }

    /// Reads a prompt without drawing it.
    ///
    /// # Errors
    /// A prompt that is empty or too long.
    pub fn plan(&self, text: &str, language: Option<&str>) -> Result<Plan, SketchError> {
        let length = text.chars().count();
        if length > MAX_PROMPT {
            return Err(SketchError::LongPrompt(length));
        }
        if text.chars().all(|c| c.is_whitespace() || is_invisible(c)) {
            return Err(SketchError::EmptyPrompt);
        }
        let tokens = tokenize(text);
        let Some((language, reading)) = read_best(&self.names, &tokens, language) else {
            return Err(SketchError::NoNames);
        };
        let composition = compose(&reading.elements, &language.code);
        let (scene, unmatched, warnings) = (composition.scene, composition.unmatched, composition.warnings);
        Ok(Plan { scene, unmatched, warnings, language: language.code.clone() })
    }

    /// Draws a prompt.
    ///
    /// # Errors
    /// A prompt that is empty or too long, or a broken drawing.
    pub fn draw(&self, prompt: &Prompt<'_>) -> Result<Drawing, SketchError> {
        let plan = self.plan(prompt.text, prompt.language)?;
        // Numbers of JSON are exact up to 2^53 in most clients.
        let seed = prompt.seed.unwrap_or_else(|| hash(prompt.text.as_bytes()) >> 11);
        if !plan.scene.is_empty() {
            let drawn = self.render(&plan.scene, prompt.size, prompt.quality, seed)?;
            return Ok(Drawing {
                unmatched: plan.unmatched,
                warnings: plan.warnings,
                language: plan.language,
                ..drawn
            });
        }
        let mut canvas = Canvas::new(prompt.size, prompt.quality)?;
        let mut warnings = plan.warnings;
        let poster = poster::draw(&mut canvas, prompt.text, prompt.size, &mut Rng::new(seed))?;
        warnings.extend(poster.warnings);
        Ok(Drawing {
            png: canvas.png(prompt.size)?,
            revised_prompt: poster.about.to_owned(),
            unmatched: plan.unmatched,
            warnings,
            seed,
            language: plan.language,
        })
    }

    /// Draws a scene that was supplied, by a chat model for instance, in place of words.
    ///
    /// # Errors
    /// A scene that breaks a bound or names a picture that cannot be drawn.
    pub fn render(&self, scene: &Scene, size: Size, quality: Quality, seed: u64) -> Result<Drawing, SketchError> {
        scene.check()?;
        let cast = self.cast(scene)?;
        let (stage, layout) = arrange(scene, &cast, size, seed);
        let mut canvas = Canvas::new(size, quality)?;
        let mut rng = Rng::new(seed ^ 0x5ce2_e001);
        canvas.svg(&backdrop::svg(&stage, &mut rng))?;
        for (blocks, shadows) in
            [(&layout.sky, false), (&layout.back, true), (&layout.front, true), (&layout.flyers, false)]
        {
            paint(&mut canvas, blocks, &cast, shadows.then(|| shadow_colour(&stage)));
        }
        if let Some(overlay) = weather::svg(&stage, &mut rng) {
            canvas.svg(&overlay)?;
        }
        Ok(Drawing {
            png: canvas.png(size)?,
            revised_prompt: self.describe(scene, &cast, &stage),
            unmatched: Vec::new(),
            warnings: Vec::new(),
            seed,
            language: String::new(),
        })
    }

    /// Finds and parses the drawing of each figure.
    fn cast(&self, scene: &Scene) -> Result<Vec<Actor>, SketchError> {
        let mut trees: HashMap<(u16, Option<Colour>), std::rc::Rc<Art>> = HashMap::new();
        let mut cast = Vec::new();
        for (index, figure) in scene.figures.iter().enumerate() {
            let unknown = || SceneError::Picture { figure: index, picture: figure.picture.chars().take(64).collect() };
            let picture = self.picture(figure).ok_or_else(unknown)?;
            let kind = Kinds::get().picture(picture).copied().ok_or_else(unknown)?;
            let art = match trees.get(&(picture, figure.colour)) {
                Some(art) => std::rc::Rc::clone(art),
                None => {
                    let drawn = Kinds::get().body(picture).filter(|body| self.drawings.has(*body)).unwrap_or(picture);
                    std::rc::Rc::new(self.drawings.art(drawn, &kind, figure.colour)?)
                }
            };
            trees.insert((picture, figure.colour), std::rc::Rc::clone(&art));
            cast.push(Actor { index: picture, picture: kind, art });
        }
        Ok(cast)
    }

    fn picture(&self, figure: &Figure) -> Option<u16> {
        let named = || {
            self.english
                .iter()
                .find(|(_, name)| name.eq_ignore_ascii_case(figure.picture.trim()))
                .map(|(index, _)| *index)
        };
        let picture = Kinds::get().find(figure.picture.trim()).or_else(named)?;
        let is_figure =
            !matches!(Kinds::get().picture(picture)?.kind, Kind::Setting(_) | Kind::Time(_) | Kind::Weather(_));
        (is_figure && self.drawings.has(picture)).then_some(picture)
    }

    /// One English sentence of what a scene shows.
    fn describe(&self, scene: &Scene, cast: &[Actor], stage: &Stage) -> String {
        let mut out = "Flat illustration".to_owned();
        for (index, (figure, actor)) in scene.figures.iter().zip(cast).enumerate() {
            let name = |actor: &Actor| {
                self.english.get(&actor.index).cloned().unwrap_or_else(|| actor.picture.emoji.to_owned())
            };
            let colour = figure.colour.map(|colour| format!("{} ", colour.word())).unwrap_or_default();
            let _ = write!(out, "{} {} × {colour}{}", if index == 0 { ":" } else { "," }, figure.count, name(actor));
            if let Some((relation, other)) =
                figure.relation.and_then(|relation| Some((relation, cast.get(relation.to)?)))
            {
                let _ = write!(out, " ({} the {})", preposition(relation.place), name(other));
            }
        }
        let _ = write!(
            out,
            "; setting: {}; time: {}; weather: {}.",
            stage.setting.word(),
            stage.time.word(),
            stage.weather.word()
        );
        out
    }
}

const fn preposition(place: super::scene::Place) -> &'static str {
    use super::scene::Place;
    match place {
        Place::Left => "left of",
        Place::Right => "right of",
        Place::Front => "in front of",
        _ => place.word(),
    }
}

/// A figure's picture with its drawing.
#[derive(Debug)]
struct Actor {
    index: u16,
    picture: Picture,
    art: std::rc::Rc<Art>,
}

/// Decides where and when a scene is, and places its figures.
fn arrange(scene: &Scene, cast: &[Actor], size: Size, seed: u64) -> (Stage, Layout) {
    let has = |kind: Kind| cast.iter().any(|actor| actor.picture.kind == kind);
    let setting = scene.setting.unwrap_or_else(|| {
        if has(Kind::Sea) {
            Setting::Sea
        } else if has(Kind::Furniture)
            && !has(Kind::Back)
            && !has(Kind::Sun)
            && !has(Kind::Moon)
            && scene.weather.is_none()
        {
            Setting::Indoor
        } else {
            Setting::Meadow
        }
    });
    let time = scene.time.unwrap_or(if has(Kind::Moon) && !has(Kind::Sun) { TimeOfDay::Night } else { TimeOfDay::Day });
    let stage = Stage {
        setting,
        time,
        weather: scene.weather.unwrap_or(Weather::Clear),
        width: size.width() as f32,
        height: size.height() as f32,
        draws_light: !has(Kind::Sun) && !has(Kind::Moon),
    };
    let measures: Vec<Measure> = cast.iter().map(measure).collect();
    let layout = layout::place(scene, &measures, (stage.width, stage.height), stage.ground(), &mut Rng::new(seed));
    (stage, layout)
}

/// A figure's size by the table of kinds: what is painted fills the height, wide pictures are as large by area.
fn measure(actor: &Actor) -> Measure {
    let aspect = actor.art.bounds.width / actor.art.bounds.height.max(0.01);
    let square =
        actor.art.size.min(actor.art.bounds.height.max(actor.art.bounds.width)) / actor.art.bounds.height.max(0.01);
    // A long picture (a bus, a fish) is lower than a square one of the same size.
    let height = actor.picture.height / square.clamp(1.0, 3.0).sqrt();
    Measure { width: height * aspect, height, layer: Layer::of(actor.picture.kind) }
}

fn shadow_colour(stage: &Stage) -> [u8; 4] {
    match (stage.setting, stage.time) {
        (Setting::Sea, _) => [255, 255, 255, 70],
        (_, TimeOfDay::Night) => [0, 0, 0, 90],
        _ => [20, 30, 40, 60],
    }
}

fn paint(canvas: &mut Canvas, blocks: &[Block], cast: &[Actor], shadow: Option<[u8; 4]>) {
    let sprites = || blocks.iter().flat_map(|block| &block.sprites);
    if let Some(colour) = shadow {
        for sprite in sprites().filter(|sprite| sprite.grounded) {
            canvas.shadow(sprite.area, colour);
        }
    }
    for sprite in sprites() {
        if let Some(actor) = cast.get(sprite.figure) {
            canvas.art(&actor.art, sprite.area);
        }
    }
}

#[cfg(test)]
impl Sketcher {
    /// Where figures would be drawn.
    pub(super) fn layout(&self, scene: &Scene, size: Size, seed: u64) -> Result<Layout, SketchError> {
        scene.check()?;
        let cast = self.cast(scene)?;
        Ok(arrange(scene, &cast, size, seed).1)
    }
}
