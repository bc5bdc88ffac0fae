//! Elements of a prompt → scene: which count and colour belong to which noun, what is on what.

use super::concepts::Concept;
use super::kinds::{Kind, Kinds};
use super::reader::{Element, Meaning};
use super::scene::{Colour, Figure, MAX_COUNT, MAX_DRAWN, MAX_FIGURES, Place, Relation, Scene};
use super::warning::Warning;

/// Words that `unmatched` lists, at most.
const MAX_UNMATCHED: usize = 50;
/// Languages in which an adjective follows its noun.
const ADJECTIVE_LAST: &[&str] = &[
    "es", "pt", "fr", "it", "ca", "ro", "ar", "fa", "he", "id", "ms", "vi", "th", "sw", "sq", "cy", "ga", "km", "jv",
    "yo", "zu", "xh", "eu", "ha", "so",
];
/// Languages in which a number follows its noun.
const COUNT_LAST: &[&str] = &["ko", "th", "ja", "sw", "my", "km", "yo", "ha"];
/// Languages in which a negation follows its noun.
const NEGATION_LAST: &[&str] = &["ja", "ko", "hi"];

/// A scene as read from words.
#[derive(Debug)]
pub(super) struct Composition {
    pub(super) scene: Scene,
    pub(super) unmatched: Vec<String>,
    pub(super) warnings: Vec<Warning>,
}

/// What a noun of the prompt gets.
#[derive(Debug, Clone, Default)]
struct Noun {
    picture: u16,
    count: Option<u8>,
    colour: Option<Colour>,
    plural: bool,
    /// Place and index of the element that it relates to.
    relation: Option<(Place, usize)>,
}

/// Composes the scene of a prompt's elements.
pub(super) fn compose(elements: &[Element], language: &str) -> Composition {
    let mut composer = Composer {
        elements,
        adjective_last: ADJECTIVE_LAST.contains(&language),
        count_last: COUNT_LAST.contains(&language),
        negation_last: NEGATION_LAST.contains(&language),
        absent: vec![false; elements.len()],
        nouns: vec![None; elements.len()],
        composition: Composition { scene: Scene::default(), unmatched: Vec::new(), warnings: Vec::new() },
    };
    composer.find_absent();
    composer.find_nouns();
    composer.bind();
    composer.relate();
    composer.build();
    composer.composition
}

struct Composer<'a> {
    elements: &'a [Element],
    adjective_last: bool,
    count_last: bool,
    negation_last: bool,
    /// Whether an element is negated: it is neither drawn nor listed as missing.
    absent: Vec<bool>,
    /// The noun of each element that is one.
    nouns: Vec<Option<Noun>>,
    composition: Composition,
}

impl Composer<'_> {
    /// Negates the nearest thing on the language's side of each negation, and what stands between the two.
    fn find_absent(&mut self) {
        let negations = (0..self.elements.len()).filter(|index| self.is(*index, Concept::Negation));
        for index in negations.collect::<Vec<_>>() {
            let clause = self.elements.get(index).map(|element| element.clause);
            let is_thing = |at: usize| {
                self.elements.get(at).is_some_and(|element| match element.meaning {
                    Meaning::Concept(concept) => {
                        matches!(
                            concept,
                            Concept::Setting(_) | Concept::Time(_) | Concept::Weather(_) | Concept::Picture(_)
                        )
                    }
                    Meaning::Unknown => is_said(&element.raw),
                    Meaning::Picture { .. } | Meaning::ColourOrPicture(..) => true,
                })
            };
            let near = |at: &usize| self.elements.get(*at).map(|element| element.clause) == clause;
            let thing = if self.negation_last {
                (0..index).rev().take_while(near).find(|at| is_thing(*at))
            } else {
                (index + 1..self.elements.len()).take_while(near).find(|at| is_thing(*at))
            };
            let Some(thing) = thing else { continue };
            let between = self.absent.get_mut(index.min(thing)..=index.max(thing)).unwrap_or_default();
            between.fill(true);
        }
    }

    fn is(&self, index: usize, concept: Concept) -> bool {
        self.elements.get(index).is_some_and(|element| element.meaning == Meaning::Concept(concept))
    }

    fn is_absent(&self, index: usize) -> bool {
        self.absent.get(index) == Some(&true)
    }

    /// Nouns first; a colour that is also a picture is a noun unless a noun stands beside it.
    fn find_nouns(&mut self) {
        for (index, element) in
            self.elements.iter().enumerate().filter(|(index, _)| !self.absent.get(*index).is_some_and(|it| *it))
        {
            let picture = match element.meaning {
                Meaning::Picture { picture, plural } => Some((picture, plural)),
                Meaning::ColourOrPicture(_, picture) if !self.is_beside_noun(index) => Some((picture, false)),
                _ => None,
            };
            if let (Some((picture, plural)), Some(noun)) = (picture, self.nouns.get_mut(index)) {
                *noun = Some(Noun { picture, plural, ..Noun::default() });
            }
        }
    }

    fn is_beside_noun(&self, index: usize) -> bool {
        let is_noun = |index: Option<usize>| {
            index
                .and_then(|index| self.elements.get(index))
                .is_some_and(|element| matches!(element.meaning, Meaning::Picture { .. }))
        };
        is_noun(if self.adjective_last { index.checked_sub(1) } else { Some(index + 1) })
    }

    /// Gives counts and colours to the noun they belong to.
    fn bind(&mut self) {
        for index in 0..self.elements.len() {
            let Some(element) = self.elements.get(index).filter(|_| !self.is_absent(index)) else { continue };
            match element.meaning {
                Meaning::Concept(Concept::Count(count)) => {
                    let backwards = self.count_last && self.follows_noun(index) && !self.is_attribute(index);
                    let target = self.target(index, backwards);
                    if let Some(noun) = target.and_then(|target| self.nouns.get_mut(target)?.as_mut()) {
                        noun.count.get_or_insert(count);
                        if element.clamped {
                            self.warn(Warning::CountLimited);
                        }
                    } else if count > 1 || element.raw.chars().all(char::is_numeric) {
                        self.unmatched(index);
                    }
                }
                Meaning::Concept(Concept::Colour(colour)) => self.bind_colour(index, colour),
                Meaning::ColourOrPicture(colour, _) if self.nouns.get(index).is_some_and(Option::is_none) => {
                    self.bind_colour(index, colour);
                }
                Meaning::Unknown if is_said(&element.raw) => self.unmatched(index),
                Meaning::Concept(Concept::Vague | Concept::Negation) => self.unmatched(index),
                _ => {}
            }
        }
    }

    fn bind_colour(&mut self, index: usize, colour: Colour) {
        let target = self.target(index, self.adjective_last);
        let noun = target.and_then(|target| self.nouns.get_mut(target)?.as_mut());
        match noun.filter(|noun| noun.colour.is_none() && is_figure(noun.picture)) {
            Some(noun) => noun.colour = Some(colour),
            None => self.unmatched(index),
        }
    }

    /// Whether a count is joined to the noun after it (`三匹の猫`).
    fn is_attribute(&self, index: usize) -> bool {
        let after = self.elements.iter().skip(index + 1);
        let mut after = after.skip_while(|element| element.meaning == Meaning::Concept(Concept::Measure));
        after.next().is_some_and(|element| element.raw == "の")
    }

    /// Whether the element before, particles left out, is a noun.
    fn follows_noun(&self, index: usize) -> bool {
        let before = self.nouns.get(..index).unwrap_or_default().iter().zip(self.elements).rev();
        let mut before =
            before.skip_while(|(noun, element)| noun.is_none() && element.raw != "の" && is_particle(element));
        before.next().is_some_and(|(noun, _)| noun.is_some())
    }

    /// The noun of a count or colour: the nearest on the language's side, else the nearest on the other one.
    fn target(&self, index: usize, backwards: bool) -> Option<usize> {
        let clause = self.elements.get(index)?.clause;
        let forwards = || self.scan((index + 1)..self.elements.len(), clause);
        let back = || self.scan((0..index).rev(), clause);
        if backwards { back().or_else(forwards) } else { forwards().or_else(back) }
    }

    fn scan(&self, indices: impl Iterator<Item = usize>, clause: usize) -> Option<usize> {
        let mut unknown = 0;
        for index in indices {
            let element = self.elements.get(index).filter(|element| element.clause == clause)?;
            if self.nouns.get(index).is_some_and(Option::is_some) {
                return Some(index);
            }
            match element.meaning {
                Meaning::Unknown if is_said(&element.raw) => unknown += 1,
                Meaning::Concept(Concept::Relation(_) | Concept::Scenery | Concept::Setting(_)) => return None,
                _ => {}
            }
            if unknown > 2 {
                return None;
            }
        }
        None
    }

    /// `A on B`: a relation between the nouns on its two sides, where nothing else stands between.
    fn relate(&mut self) {
        for index in 0..self.elements.len() {
            let Some(Meaning::Concept(Concept::Relation(place))) =
                self.elements.get(index).map(|element| element.meaning)
            else {
                continue;
            };
            let before = self.figure_near((0..index).rev());
            let after = self.figure_near((index + 1)..self.elements.len());
            if let (Some(from), Some(to)) = (before, after) {
                let free = self.nouns.get(to).and_then(Option::as_ref).is_some_and(|noun| noun.relation.is_none());
                let fellow = self.fellow(from, to, place);
                for from in [Some(from), fellow].into_iter().flatten().filter(|_| free) {
                    if let Some(noun) = self.nouns.get_mut(from).and_then(Option::as_mut) {
                        noun.relation.get_or_insert((place, to));
                    }
                }
            }
        }
        self.break_chains();
    }

    /// The noun that "and" joins to one with a relation ("a cat and a dog under a tree"), where it has the size for it.
    fn fellow(&self, from: usize, to: usize, place: Place) -> Option<usize> {
        let joined = |index: &usize| {
            let element = self.elements.get(*index);
            element.is_some_and(|element| {
                matches!(element.meaning, Meaning::Concept(Concept::Stop | Concept::Count(_) | Concept::Colour(_)))
            })
        };
        let words: Vec<usize> = (0..from).rev().take_while(joined).collect();
        let and =
            words.iter().any(|index| self.elements.get(*index).is_some_and(|it| it.raw.eq_ignore_ascii_case("and")));
        let fellow = from.checked_sub(words.len() + 1).filter(|_| and)?;
        let height = |index: usize| {
            let noun = self.nouns.get(index).and_then(Option::as_ref)?;
            is_figure(noun.picture).then(|| Kinds::get().picture(noun.picture).map(|picture| picture.height))?
        };
        let fits = height(fellow)? < height(to)? * 0.7 || matches!(place, Place::Left | Place::Right | Place::Beside);
        fits.then_some(fellow)
    }

    /// A figure that something relates to has no relation itself: the first one of a chain stays.
    fn break_chains(&mut self) {
        let targets: Vec<usize> =
            self.nouns.iter().flatten().filter_map(|noun| noun.relation.map(|(_, to)| to)).collect();
        for target in targets {
            if let Some(noun) = self.nouns.get_mut(target).and_then(Option::as_mut) {
                noun.relation = None;
            }
        }
    }

    fn figure_near(&self, indices: impl Iterator<Item = usize>) -> Option<usize> {
        for index in indices {
            if let Some(noun) = self.nouns.get(index).and_then(Option::as_ref) {
                return is_figure(noun.picture).then_some(index);
            }
            let meaning = self.elements.get(index)?.meaning;
            if matches!(meaning, Meaning::Concept(Concept::Relation(_) | Concept::Setting(_) | Concept::Scenery)) {
                return None;
            }
        }
        None
    }

    fn build(&mut self) {
        let mut figure_of = vec![None; self.elements.len()];
        let mut drawn = 0;
        for index in 0..self.elements.len() {
            self.set_scene(index);
            let Some(noun) = self.nouns.get(index).cloned().flatten() else { continue };
            if self.set_by_picture(noun.picture) {
                continue;
            }
            let Some(picture) = Kinds::get().picture(noun.picture) else { continue };
            let count = noun.count.unwrap_or(if !noun.plural {
                1
            } else if picture.height <= 1.0 {
                3
            } else {
                2
            });
            let room = u8::try_from(MAX_DRAWN - drawn).unwrap_or(MAX_COUNT).min(count);
            if room == 0 {
                self.warn(Warning::FiguresLimited);
                self.unmatched(index);
                continue;
            }
            if room < count {
                self.warn(Warning::FiguresLimited);
            }
            let figure = Figure { picture: picture.emoji.to_owned(), count: room, colour: noun.colour, relation: None };
            match self.add(figure) {
                Some((place, added)) => {
                    drawn += usize::from(added);
                    if let Some(slot) = figure_of.get_mut(index) {
                        *slot = Some(place);
                    }
                }
                None => {
                    self.warn(Warning::FiguresLimited);
                    self.unmatched(index);
                }
            }
        }
        self.keep_relations(&figure_of);
    }

    /// Adds a figure, or its count to an equal one; returns its index and how many more are drawn.
    fn add(&mut self, figure: Figure) -> Option<(usize, u8)> {
        let figures = &mut self.composition.scene.figures;
        let same = figures.iter().position(|other| other.picture == figure.picture && other.colour == figure.colour);
        if let Some(index) = same {
            let other = figures.get_mut(index)?;
            let added = figure.count.min(MAX_COUNT - other.count);
            other.count += added;
            if added < figure.count {
                self.warn(Warning::CountLimited);
            }
            return Some((index, added));
        }
        if figures.len() >= MAX_FIGURES {
            return None;
        }
        let added = figure.count;
        figures.push(figure);
        Some((figures.len() - 1, added))
    }

    fn keep_relations(&mut self, figure_of: &[Option<usize>]) {
        let place = |index: usize| figure_of.get(index).copied().flatten();
        for (index, noun) in self.nouns.iter().enumerate() {
            let Some((side, to)) = noun.as_ref().and_then(|noun| noun.relation) else { continue };
            let (Some(from), Some(to)) = (place(index), place(to)) else { continue };
            let figures = &mut self.composition.scene.figures;
            let is_target = figures.iter().any(|figure| figure.relation.is_some_and(|relation| relation.to == from));
            let target_free = figures.get(to).is_some_and(|figure| figure.relation.is_none());
            if let Some(figure) = figures.get_mut(from).filter(|_| from != to && !is_target && target_free) {
                figure.relation = Some(Relation { place: side, to });
            }
        }
    }

    fn set_scene(&mut self, index: usize) {
        let Some(element) = self.elements.get(index).filter(|_| !self.is_absent(index)) else { return };
        let scene = &mut self.composition.scene;
        let kept = match element.meaning {
            Meaning::Concept(Concept::Setting(setting)) => *scene.setting.get_or_insert(setting) == setting,
            Meaning::Concept(Concept::Time(time)) => *scene.time.get_or_insert(time) == time,
            Meaning::Concept(Concept::Weather(weather)) => *scene.weather.get_or_insert(weather) == weather,
            _ => true,
        };
        if !kept {
            self.unmatched(index);
        }
    }

    /// Whether a picture stands for setting, time or weather, which are set by it, rather than for a figure.
    fn set_by_picture(&mut self, picture: u16) -> bool {
        let scene = &mut self.composition.scene;
        match Kinds::get().picture(picture).map(|picture| picture.kind) {
            Some(Kind::Setting(setting)) => drop(scene.setting.get_or_insert(setting)),
            Some(Kind::Time(time)) => drop(scene.time.get_or_insert(time)),
            Some(Kind::Weather(weather)) => drop(scene.weather.get_or_insert(weather)),
            _ => return false,
        }
        true
    }

    fn unmatched(&mut self, index: usize) {
        let Some(element) = self.elements.get(index) else { return };
        let raw: String = element.raw.chars().take(64).collect();
        let list = &mut self.composition.unmatched;
        if list.len() < MAX_UNMATCHED && !list.contains(&raw) {
            list.push(raw);
        }
    }

    fn warn(&mut self, warning: Warning) {
        if !self.composition.warnings.contains(&warning) {
            self.composition.warnings.push(warning);
        }
    }
}

fn is_figure(picture: u16) -> bool {
    let kind = Kinds::get().picture(picture).map(|picture| picture.kind);
    !matches!(kind, None | Some(Kind::Setting(_) | Kind::Time(_) | Kind::Weather(_)))
}

/// Particles between a noun and its number: function words, and short kana.
fn is_particle(element: &Element) -> bool {
    matches!(element.meaning, Meaning::Concept(Concept::Stop | Concept::Measure))
}

/// Whether an unknown word is worth listing: single letters and kana particles are not.
fn is_said(raw: &str) -> bool {
    let mut letters = raw.chars();
    match (letters.next(), letters.next()) {
        (Some(only), None) => {
            let is_letter = only.is_alphabetic() && u32::from(only) < 0x2e80;
            let is_kana = ('\u{3041}'..='\u{309f}').contains(&only);
            !is_letter && !is_kana
        }
        _ => true,
    }
}
