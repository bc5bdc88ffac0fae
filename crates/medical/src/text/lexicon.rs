//! The concepts, and the words of each language for them.

use super::cues::{Cue, Cues, starred};
use super::matcher::{Matcher, MatcherBuilder, Misspelt};
use super::normal::{Sentence, words};
use super::pattern::{Umlauts, expand};
use super::trie::{Entry, Trie};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap, HashSet};

/// A concept's place in the lexicon; the bits of what is present are
/// numbered by it.
pub type ConceptId = u16;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Symptom,
    Sign,
    Condition,
    Exposure,
    Drug,
}

#[derive(Debug, Clone)]
pub struct Concept {
    pub id: String,
    pub label: String,
    pub kind: Kind,
    /// Concepts that the same words do not mean too: "pleuritic chest pain"
    /// is `pleuritic`, not `chest_pain`.
    pub narrows: Vec<ConceptId>,
}

#[derive(Debug, thiserror::Error)]
#[error("lexicon {language}: {what}")]
pub struct LexiconError {
    pub language: String,
    pub what: String,
}

/// Words that deny, by language.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Negation {
    /// Reach forward.
    #[serde(default)]
    pub before: Vec<String>,
    /// End the reach.
    #[serde(default)]
    pub ends: Vec<String>,
    /// Reach back to the item before them.
    #[serde(default)]
    pub behind: Vec<String>,
    /// Reach forward over two words only: they deny a verb or an adjective.
    #[serde(default)]
    pub near: Vec<String>,
    /// Rows with a denial in them that deny nothing: "does not go away".
    #[serde(default)]
    pub skips: Vec<String>,
    /// Join the items of a denied list: "or", "nor".
    #[serde(default)]
    pub closes: Vec<String>,
    /// Words that a pattern may not leap over, beside the denials.
    #[serde(default)]
    pub blocks: Vec<String>,
}

/// Words of a language that say how, when and of whom; `sudden`, `severe` and
/// `mild` may be stems.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct CueWords {
    #[serde(default)]
    sudden: Vec<String>,
    #[serde(default)]
    severe: Vec<String>,
    #[serde(default)]
    mild: Vec<String>,
    /// The clause is of the past: "years ago".
    #[serde(default)]
    past: Vec<String>,
    /// What follows is asked about or supposed: "signs of", "if I get".
    #[serde(default)]
    asked: Vec<String>,
    /// What follows is of a relative: "family history".
    #[serde(default)]
    family: Vec<String>,
    #[serde(default)]
    relatives: Vec<String>,
    /// Of a relative, with the word before: "died", "was diagnosed".
    #[serde(default)]
    had: Vec<String>,
    /// It is of today, whoever has it.
    #[serde(default)]
    now: Vec<String>,
}

#[derive(Debug, Clone)]
pub struct Language {
    pub code: String,
    pub matcher: Matcher,
    pub cues: Cues,
    pub concepts: usize,
}

#[derive(Debug, Clone)]
pub struct Lexicon {
    concepts: Vec<Concept>,
    ids: HashMap<String, ConceptId>,
    languages: Vec<Language>,
    health: Trie,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MainFile {
    language: String,
    #[serde(rename = "review")]
    _review: toml::Value,
    health: Vec<String>,
    negation: Negation,
    concepts: BTreeMap<String, MainConcept>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MainConcept {
    label: String,
    kind: Kind,
    #[serde(default)]
    narrows: Vec<String>,
    patterns: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OtherFile {
    language: String,
    #[serde(rename = "review")]
    _review: toml::Value,
    #[serde(default)]
    health: Vec<String>,
    negation: Negation,
    #[serde(default)]
    cues: CueWords,
    concepts: BTreeMap<String, Vec<String>>,
}

impl Lexicon {
    /// `main` is the English file, which defines the concepts; the others
    /// give words for some of them.
    pub fn parse(main: &str, others: &[&str]) -> Result<Self, LexiconError> {
        let fail = |language: &str, what: String| LexiconError { language: language.to_owned(), what };
        let file: MainFile = toml::from_str(main).map_err(|e| fail("en", e.to_string()))?;
        let mut ids = HashMap::new();
        for (i, id) in file.concepts.keys().enumerate() {
            let i = ConceptId::try_from(i).map_err(|_| fail("en", "too many concepts".to_owned()))?;
            ids.insert(id.clone(), i);
        }
        let mut concepts = Vec::with_capacity(ids.len());
        let mut matcher = MatcherBuilder::default();
        for (i, (id, concept)) in file.concepts.into_iter().enumerate() {
            for pattern in &concept.patterns {
                let i = ConceptId::try_from(i).unwrap_or(ConceptId::MAX);
                matcher.add(i, pattern).map_err(|e| fail("en", format!("{id}: {e}")))?;
            }
            let narrows = concept
                .narrows
                .iter()
                .map(|n| ids.get(n).copied().ok_or_else(|| fail("en", format!("{id} narrows the unknown {n}"))));
            let narrows = narrows.collect::<Result<_, _>>()?;
            concepts.push(Concept { id, label: concept.label, kind: concept.kind, narrows });
        }
        let cues = cues(&file.negation, &CueWords::default()).map_err(|e| fail("en", e))?;
        let english = Language { code: file.language, matcher: matcher.finish(), cues, concepts: concepts.len() };
        let mut languages = vec![english];
        let mut health_words = file.health;
        for other in others {
            let (language, health) = read_other(other, &ids)?;
            languages.push(language);
            health_words.extend(health.iter().flat_map(|word| starred(word)));
        }
        let health = Trie::new(health_words.iter().map(|word| Entry::new(word, 0)).collect());
        Ok(Self { concepts, ids, languages, health })
    }

    #[must_use]
    pub fn id(&self, name: &str) -> Option<ConceptId> {
        self.ids.get(name).copied()
    }

    #[must_use]
    pub fn concept(&self, id: ConceptId) -> Option<&Concept> {
        self.concepts.get(usize::from(id))
    }

    #[must_use]
    pub fn name(&self, id: ConceptId) -> &str {
        self.concept(id).map_or("", |c| c.id.as_str())
    }

    #[must_use]
    pub fn label(&self, id: ConceptId) -> &str {
        self.concept(id).map_or("", |c| c.label.as_str())
    }

    #[must_use]
    pub fn kind(&self, id: ConceptId) -> Kind {
        self.concept(id).map_or(Kind::Symptom, |c| c.kind)
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.concepts.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.concepts.is_empty()
    }

    pub fn concepts(&self) -> impl Iterator<Item = &Concept> {
        self.concepts.iter()
    }

    /// The languages of these codes, English always among them.
    pub fn languages<'a>(&'a self, codes: &'a [&str]) -> impl Iterator<Item = &'a Language> {
        self.languages.iter().filter(move |l| l.code == "en" || codes.contains(&l.code.as_str()))
    }

    /// The codes that have a lexicon.
    pub fn codes(&self) -> impl Iterator<Item = &str> {
        self.languages.iter().map(|l| l.code.as_str())
    }

    pub fn about_health(&self, sentence: &Sentence) -> bool {
        sentence.tokens.iter().any(|t| self.health.knows(&t.word))
    }
}

fn cues(negation: &Negation, words: &CueWords) -> Result<Cues, String> {
    Cues::new([
        (Cue::Before, &negation.before),
        (Cue::Ends, &negation.ends),
        (Cue::Behind, &negation.behind),
        (Cue::Near, &negation.near),
        (Cue::Skips, &negation.skips),
        (Cue::Closes, &negation.closes),
        (Cue::Sudden, &words.sudden),
        (Cue::Severe, &words.severe),
        (Cue::Mild, &words.mild),
        (Cue::Past, &words.past),
        (Cue::Asked, &words.asked),
        (Cue::Family, &words.family),
        (Cue::Relatives, &words.relatives),
        (Cue::Had, &words.had),
        (Cue::Now, &words.now),
    ])
}

fn read_other(text: &str, ids: &HashMap<String, ConceptId>) -> Result<(Language, Vec<String>), LexiconError> {
    let file: OtherFile =
        toml::from_str(text).map_err(|e| LexiconError { language: "?".to_owned(), what: e.to_string() })?;
    let fail = |what: String| LexiconError { language: file.language.clone(), what };
    let umlauts = if file.language == "de" { Umlauts::FoldedOrSpelt } else { Umlauts::Folded };
    // A letter more makes a Turkish verb its denial; the other two have short words.
    let exact = matches!(file.language.as_str(), "tr" | "ar" | "zh");
    let mut matcher =
        MatcherBuilder::of_language(blockers(&file.negation), if exact { Misspelt::NotRead } else { Misspelt::Read });
    for (id, patterns) in &file.concepts {
        let concept = ids.get(id).copied().ok_or_else(|| fail(format!("the concept {id} is unknown")))?;
        for pattern in patterns {
            for normalised in expand(pattern, umlauts).map_err(|e| fail(format!("{id}: {e}")))? {
                matcher.add(concept, &normalised).map_err(|e| fail(format!("{id}: {e}")))?;
            }
        }
    }
    let cues = cues(&file.negation, &file.cues).map_err(fail)?;
    let language = Language { matcher: matcher.finish(), cues, concepts: file.concepts.len(), code: file.language };
    Ok((language, file.health))
}

/// The denials and contrasts that are one word.
fn blockers(negation: &Negation) -> HashSet<String> {
    let all = negation.before.iter().chain(&negation.near).chain(&negation.ends).chain(&negation.blocks);
    all.filter_map(|phrase| <[String; 1]>::try_from(words(phrase)).ok()).map(|[word]| word).collect()
}
