//! The concepts, and the words of each language for them.

use super::matcher::{Matcher, Misspelt};
use super::normal::{Sentence, words};
use super::pattern::{Umlauts, expand};
use super::trie::Trie;
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
struct Cues {
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

/// Rows of normalised words, by their first word; a word may be a stem, and
/// after the first `_` stands for any one word ("hace _ años").
#[derive(Debug, Clone, Default)]
pub struct Phrases {
    exact: HashMap<String, Vec<Vec<String>>>,
    stems: Vec<Vec<String>>,
}

impl Phrases {
    pub fn new(list: &[String]) -> Self {
        let mut phrases = Self::default();
        for phrase in list {
            let row: Vec<String> = phrase.split_whitespace().flat_map(starred).collect();
            match row.first() {
                Some(first) if first.ends_with('*') => phrases.stems.push(row),
                Some(first) => phrases.exact.entry(first.clone()).or_default().push(row),
                None => {}
            }
        }
        for rows in phrases.exact.values_mut().chain(std::iter::once(&mut phrases.stems)) {
            rows.sort_by_key(|row| std::cmp::Reverse(row.len()));
        }
        phrases
    }

    /// The length of the longest phrase that begins at this word.
    pub fn at(&self, sentence: &Sentence, at: usize) -> Option<usize> {
        let fits = |row: &&Vec<String>| row.iter().enumerate().all(|(i, w)| is_word(w, sentence.word(at + i)));
        let exact = self.exact.get(sentence.word(at)).into_iter().flatten().find(fits);
        let stem = self.stems.iter().find(fits);
        exact.into_iter().chain(stem).map(Vec::len).max()
    }

    /// Whether a phrase begins at any word.
    pub fn anywhere(&self, sentence: &Sentence) -> bool {
        (0..sentence.tokens.len()).any(|at| self.at(sentence, at).is_some())
    }

    pub fn is_empty(&self) -> bool {
        self.exact.is_empty() && self.stems.is_empty()
    }
}

/// The normalised words of a blank-free part; a star stays at the last.
fn starred(part: &str) -> Vec<String> {
    if part == "_" {
        return vec![part.to_owned()];
    }
    let mut row = words(part.trim_end_matches('*'));
    if part.ends_with('*')
        && let Some(last) = row.last_mut()
    {
        last.push('*');
    }
    row
}

fn is_word(pattern: &str, word: &str) -> bool {
    if pattern == "_" {
        return !word.is_empty();
    }
    match pattern.strip_suffix('*') {
        Some(stem) => word.starts_with(stem),
        None => pattern == word,
    }
}

#[derive(Debug, Clone)]
pub struct Language {
    pub code: String,
    pub matcher: Matcher,
    pub before: Phrases,
    pub ends: Phrases,
    pub behind: Phrases,
    pub near: Phrases,
    pub skips: Phrases,
    pub closes: Phrases,
    pub sudden: Phrases,
    pub severe: Phrases,
    pub mild: Phrases,
    pub past: Phrases,
    pub asked: Phrases,
    pub family: Phrases,
    pub relatives: Phrases,
    pub had: Phrases,
    pub now: Phrases,
    pub concepts: usize,
}

impl Language {
    /// How many words of the sentence begin a denial.
    pub fn denials_in(&self, s: &Sentence) -> usize {
        let denials = [&self.before, &self.behind, &self.near];
        (0..s.tokens.len()).filter(|&at| denials.iter().any(|phrases| phrases.at(s, at).is_some())).count()
    }
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
    cues: Cues,
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
        let cues = Cues::default();
        let mut languages = vec![language(&file.language, &file.negation, &cues, matcher, concepts.len())];
        let mut health_words = file.health;
        for other in others {
            let (language, health) = read_other(other, &ids)?;
            languages.push(language);
            health_words.extend(health.iter().flat_map(|word| starred(word)));
        }
        let mut health = Trie::default();
        for word in &health_words {
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

fn language(code: &str, negation: &Negation, cues: &Cues, matcher: Matcher, concepts: usize) -> Language {
    Language {
        code: code.to_owned(),
        matcher,
        before: Phrases::new(&negation.before),
        ends: Phrases::new(&negation.ends),
        behind: Phrases::new(&negation.behind),
        near: Phrases::new(&negation.near),
        skips: Phrases::new(&negation.skips),
        closes: Phrases::new(&negation.closes),
        sudden: Phrases::new(&cues.sudden),
        severe: Phrases::new(&cues.severe),
        mild: Phrases::new(&cues.mild),
        past: Phrases::new(&cues.past),
        asked: Phrases::new(&cues.asked),
        family: Phrases::new(&cues.family),
        relatives: Phrases::new(&cues.relatives),
        had: Phrases::new(&cues.had),
        now: Phrases::new(&cues.now),
        concepts,
    }
}

fn read_other(text: &str, ids: &HashMap<String, ConceptId>) -> Result<(Language, Vec<String>), LexiconError> {
    let file: OtherFile =
        toml::from_str(text).map_err(|e| LexiconError { language: "?".to_owned(), what: e.to_string() })?;
    let fail = |what: String| LexiconError { language: file.language.clone(), what };
    let umlauts = if file.language == "de" { Umlauts::FoldedOrSpelt } else { Umlauts::Folded };
    // A letter more makes a Turkish verb its denial; the other two have short words.
    let exact = matches!(file.language.as_str(), "tr" | "ar" | "zh");
    let mut matcher =
        Matcher::of_language(blockers(&file.negation), if exact { Misspelt::NotRead } else { Misspelt::Read });
    for (id, patterns) in &file.concepts {
        let concept = ids.get(id).copied().ok_or_else(|| fail(format!("the concept {id} is unknown")))?;
        for pattern in patterns {
            for normalised in expand(pattern, umlauts).map_err(|e| fail(format!("{id}: {e}")))? {
                matcher.add(concept, &normalised).map_err(|e| fail(format!("{id}: {e}")))?;
            }
        }
    }
    matcher.finish();
    Ok((language(&file.language, &file.negation, &file.cues, matcher, file.concepts.len()), file.health))
}

/// The denials and contrasts that are one word.
fn blockers(negation: &Negation) -> HashSet<String> {
    let all = negation.before.iter().chain(&negation.near).chain(&negation.ends).chain(&negation.blocks);
    all.filter_map(|phrase| <[String; 1]>::try_from(words(phrase)).ok()).map(|[word]| word).collect()
}
