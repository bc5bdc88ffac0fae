//! The concepts, and the words of each language for them.

use super::matcher::Matcher;
use super::normal::{Sentence, words};
use super::trie::Trie;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

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
}

/// Rows of normalised words, by their first word.
#[derive(Debug, Clone, Default)]
pub struct Phrases(HashMap<String, Vec<Vec<String>>>);

impl Phrases {
    pub fn new(list: &[String]) -> Self {
        let mut map: HashMap<String, Vec<Vec<String>>> = HashMap::new();
        for phrase in list {
            let row = words(phrase);
            if let Some(first) = row.first() {
                map.entry(first.clone()).or_default().push(row);
            }
        }
        for rows in map.values_mut() {
            rows.sort_by_key(|row| std::cmp::Reverse(row.len()));
        }
        Self(map)
    }

    /// The length of the longest phrase that begins at this word.
    pub fn at(&self, sentence: &Sentence, at: usize) -> Option<usize> {
        let rows = self.0.get(sentence.word(at))?;
        rows.iter().find(|row| row.iter().enumerate().all(|(i, w)| sentence.word(at + i) == w)).map(Vec::len)
    }
}

#[derive(Debug, Clone)]
pub struct Language {
    pub code: String,
    pub matcher: Matcher,
    pub before: Phrases,
    pub ends: Phrases,
    pub behind: Phrases,
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
    negation: Negation,
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
        let mut matcher = Matcher::default();
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
        matcher.finish();
        let mut languages = vec![language(&file.language, &file.negation, matcher, concepts.len())];
        for other in others {
            languages.push(read_other(other, &ids)?);
        }
        let mut health = Trie::default();
        for word in &file.health {
            match word.strip_suffix('*') {
                Some(stem) => health.insert(stem, true, 0),
                None => health.insert(word, false, 0),
            }
        }
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

fn language(code: &str, negation: &Negation, matcher: Matcher, concepts: usize) -> Language {
    Language {
        code: code.to_owned(),
        matcher,
        before: Phrases::new(&negation.before),
        ends: Phrases::new(&negation.ends),
        behind: Phrases::new(&negation.behind),
        concepts,
    }
}

fn read_other(text: &str, ids: &HashMap<String, ConceptId>) -> Result<Language, LexiconError> {
    let file: OtherFile =
        toml::from_str(text).map_err(|e| LexiconError { language: "?".to_owned(), what: e.to_string() })?;
    let fail = |what: String| LexiconError { language: file.language.clone(), what };
    let mut matcher = Matcher::default();
    for (id, patterns) in &file.concepts {
        let concept = ids.get(id).copied().ok_or_else(|| fail(format!("the concept {id} is unknown")))?;
        for pattern in patterns {
            matcher.add(concept, pattern).map_err(|e| fail(format!("{id}: {e}")))?;
        }
    }
    matcher.finish();
    Ok(language(&file.language, &file.negation, matcher, file.concepts.len()))
}
