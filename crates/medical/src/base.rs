//! The knowledge base: protocols with their red flags, self-care rules,
//! specialties and sources, parsed once from compiled-in data.

use crate::data;
use crate::rule::{Expr, parse};
use crate::text::{ConceptId, Lexicon};
use crate::triage::Level;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::OnceLock;

#[derive(Debug, thiserror::Error)]
#[error("{file}: {what}")]
pub struct BaseError {
    pub file: String,
    pub what: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewStatus {
    Unreviewed,
    Reviewed,
}

/// Who has looked at a record, and when it is to be looked at again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Review {
    pub status: ReviewStatus,
    #[serde(default)]
    pub by: Option<String>,
    #[serde(default)]
    pub on: Option<String>,
    pub due: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    pub id: String,
    pub org: String,
    pub title: String,
    pub year: u16,
    pub url: String,
    pub jurisdiction: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Population {
    pub min_age: Option<f64>,
    pub max_age: Option<f64>,
    pub sex: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleData {
    pub id: String,
    pub level: Level,
    pub when: String,
    pub message: String,
    pub source: String,
    pub locator: String,
    pub positive: Vec<String>,
    pub negative: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Criterion {
    pub id: String,
    pub when: String,
    pub weight: f64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Action {
    pub text: String,
    pub urgency: String,
    pub kind: String,
    pub strength: String,
    #[serde(default)]
    pub evidence: Option<String>,
    #[serde(default)]
    pub when: Option<String>,
    pub source: String,
    pub locator: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    pub text: String,
    #[serde(default)]
    pub when: Option<String>,
    pub source: String,
    pub locator: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Examples {
    pub positive: Vec<String>,
    pub negative: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProtocolData {
    pub id: String,
    pub version: String,
    pub title: String,
    pub specialty: String,
    pub also_specialties: Vec<String>,
    pub population: Population,
    pub needs: Vec<String>,
    pub scores: Vec<String>,
    pub asks_for: Vec<String>,
    pub differentials: Vec<String>,
    pub contraindications_none: bool,
    #[serde(default)]
    pub rules_of: Vec<String>,
    pub triggers: BTreeMap<String, f64>,
    pub history: BTreeMap<String, f64>,
    #[serde(default)]
    pub criteria: Vec<Criterion>,
    #[serde(default)]
    pub rules: Vec<RuleData>,
    pub actions: Vec<Action>,
    #[serde(default)]
    pub contraindications: Vec<Statement>,
    pub follow_up: Vec<Statement>,
    pub safety_net: Vec<Statement>,
    pub sources: Vec<Source>,
    pub examples: Examples,
    pub review: Review,
}

/// A red flag, ready to evaluate.
#[derive(Debug, Clone)]
pub struct Rule {
    pub id: String,
    /// The protocol that owns it; `everyone` for those of no protocol.
    pub protocol: String,
    pub level: Level,
    pub expr: Expr,
    pub message: String,
    pub source: String,
    pub locator: String,
    pub review: Review,
    pub positive: Vec<String>,
    pub negative: Vec<String>,
}

#[derive(Debug, Clone)]
pub struct Protocol {
    pub data: ProtocolData,
    pub triggers: Vec<(ConceptId, f64)>,
    pub history: Vec<(ConceptId, f64)>,
    pub needs: Vec<ConceptId>,
    pub criteria: Vec<(String, Expr, f64)>,
    /// Indices into `Base::rules`, its own and those of `rules_of`.
    pub rules: Vec<usize>,
}

/// What may be cared for at home, if nothing else is there.
#[derive(Debug, Clone)]
pub struct SelfCare {
    pub data: SelfCareData,
    pub requires: Vec<ConceptId>,
    pub allows: BTreeSet<ConceptId>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SelfCareData {
    pub id: String,
    pub title: String,
    /// Any of these must be present.
    pub requires: Vec<String>,
    /// Every other present concept must be one of these.
    pub allows: Vec<String>,
    /// Refused where a sentence says that it lasts longer, in weeks.
    pub most_weeks: f64,
    pub advice: Vec<String>,
    pub source: String,
    pub locator: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Specialty {
    pub id: String,
    pub name: String,
    pub aliases: Vec<String>,
    /// Concepts that suggest it where none was asked for.
    #[serde(default)]
    pub hints: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EveryoneFile {
    rules: Vec<RuleData>,
    sources: Vec<Source>,
    review: Review,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SelfCareFile {
    never_with: Vec<String>,
    min_age: f64,
    max_age: f64,
    rules: Vec<SelfCareData>,
    sources: Vec<Source>,
    review: Review,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SpecialtiesFile {
    specialties: Vec<Specialty>,
}

#[derive(Debug)]
pub struct Base {
    pub lexicon: Lexicon,
    pub rules: Vec<Rule>,
    pub protocols: Vec<Protocol>,
    pub sources: BTreeMap<String, Source>,
    pub self_care: Vec<SelfCare>,
    pub self_care_never_with: BTreeSet<ConceptId>,
    pub self_care_ages: (f64, f64),
    pub self_care_review: Review,
    pub specialties: Vec<Specialty>,
    pub phrases: crate::phrases::Phrases,
    pub cancer: crate::cancer::Base,
    aliases: HashMap<String, usize>,
}

/// The base, parsed when it is first asked for.
///
/// # Errors
/// A record of the compiled-in data is invalid.
pub fn shared() -> Result<&'static Base, &'static BaseError> {
    static SHARED: OnceLock<Result<Base, BaseError>> = OnceLock::new();
    SHARED.get_or_init(Base::load).as_ref()
}

/// The version of the data, shown as `kbVersion`.
pub const VERSION: &str = "2026.11";

fn fail(file: &str, what: impl ToString) -> BaseError {
    BaseError { file: file.to_owned(), what: what.to_string() }
}

impl Base {
    /// Parses the compiled-in data.
    pub fn load() -> Result<Self, BaseError> {
        Self::with_phrases(crate::phrases::Phrases::load().map_err(|e| fail("phrases", e))?)
    }

    /// Parses the compiled-in data, with these fixed sentences.
    pub(crate) fn with_phrases(phrases: crate::phrases::Phrases) -> Result<Self, BaseError> {
        let others: Vec<&str> = data::LEXICONS.iter().map(|(_, text)| *text).collect();
        let lexicon = Lexicon::parse(data::ENGLISH, &others).map_err(|e| fail("lexicon", e))?;
        let mut loader =
            Loader { lexicon: &lexicon, rules: Vec::new(), sources: BTreeMap::new(), by_protocol: HashMap::new() };
        let everyone: EveryoneFile = toml::from_str(data::EVERYONE).map_err(|e| fail("everyone.toml", e))?;
        loader.add_sources("everyone.toml", everyone.sources)?;
        for rule in everyone.rules {
            loader.add_rule("everyone", rule, &everyone.review)?;
        }
        let mut protocols = Vec::with_capacity(data::PROTOCOLS.len());
        for (id, text) in data::PROTOCOLS {
            let parsed: ProtocolData = toml::from_str(text).map_err(|e| fail(id, e))?;
            protocols.push(loader.protocol(id, parsed)?);
        }
        for protocol in &mut protocols {
            let owners = protocol.data.rules_of.iter().chain(std::iter::once(&protocol.data.id));
            protocol.rules = owners.flat_map(|o| loader.by_protocol.get(o).cloned().unwrap_or_default()).collect();
        }
        let file: SelfCareFile = toml::from_str(data::SELF_CARE).map_err(|e| fail("self_care.toml", e))?;
        loader.add_sources("self_care.toml", file.sources)?;
        let mut self_care = Vec::new();
        for rule in file.rules {
            self_care.push(loader.self_care(rule)?);
        }
        let never = loader.ids("self_care.toml", &file.never_with)?.into_iter().collect();
        let specialties: SpecialtiesFile =
            toml::from_str(data::SPECIALTIES).map_err(|e| fail("specialties.toml", e))?;

        let (rules, sources) = (loader.rules, loader.sources);
        let cancer = crate::cancer::Base::load(&lexicon).map_err(|e| fail("cancer", e))?;
        let mut base = Self {
            lexicon,
            rules,
            protocols,
            sources,
            self_care,
            self_care_never_with: never,
            self_care_ages: (file.min_age, file.max_age),
            self_care_review: file.review,
            specialties: specialties.specialties,
            phrases,
            cancer,
            aliases: HashMap::new(),
        };
        base.index_specialties()?;
        Ok(base)
    }

    fn index_specialties(&mut self) -> Result<(), BaseError> {
        for (i, s) in self.specialties.iter().enumerate() {
            for name in std::iter::once(&s.id).chain(&s.aliases) {
                self.aliases.insert(name.to_lowercase(), i);
            }
        }
        let known = |id: &String| self.specialties.iter().any(|s| &s.id == id);
        for p in &self.protocols {
            for s in std::iter::once(&p.data.specialty).chain(&p.data.also_specialties) {
                if !known(s) {
                    return Err(fail(&p.data.id, format!("the specialty {s} is unknown")));
                }
            }
        }
        Ok(())
    }

    /// A specialty by its id or an alias, in any case.
    #[must_use]
    pub fn specialty(&self, name: &str) -> Option<&Specialty> {
        let name = name.trim().to_lowercase().replace(' ', "-");
        let at = self.aliases.get(&name).or_else(|| self.aliases.get(&name.replace('-', " ")))?;
        self.specialties.get(*at)
    }

    #[must_use]
    pub fn protocol(&self, id: &str) -> Option<&Protocol> {
        self.protocols.iter().find(|p| p.data.id == id)
    }
}

struct Loader<'a> {
    lexicon: &'a Lexicon,
    rules: Vec<Rule>,
    sources: BTreeMap<String, Source>,
    by_protocol: HashMap<String, Vec<usize>>,
}

impl Loader<'_> {
    fn ids(&self, file: &str, names: &[String]) -> Result<Vec<ConceptId>, BaseError> {
        let id = |n: &String| self.lexicon.id(n).ok_or_else(|| fail(file, format!("the concept {n} is unknown")));
        names.iter().map(id).collect()
    }

    /// The same source may stand in several files, in the same words.
    fn add_sources(&mut self, _file: &str, sources: Vec<Source>) -> Result<(), BaseError> {
        for source in sources {
            self.sources.entry(source.id.clone()).or_insert(source);
        }
        Ok(())
    }

    fn add_rule(&mut self, protocol: &str, rule: RuleData, review: &Review) -> Result<(), BaseError> {
        if !self.sources.contains_key(&rule.source) {
            return Err(fail(&rule.id, format!("the source {} is unknown", rule.source)));
        }
        let expr = parse(&rule.when, self.lexicon).map_err(|e| fail(&rule.id, e))?;
        self.by_protocol.entry(protocol.to_owned()).or_default().push(self.rules.len());
        self.rules.push(Rule {
            id: rule.id,
            protocol: protocol.to_owned(),
            level: rule.level,
            expr,
            message: rule.message,
            source: rule.source,
            locator: rule.locator,
            review: review.clone(),
            positive: rule.positive,
            negative: rule.negative,
        });
        Ok(())
    }

    fn protocol(&mut self, file: &str, mut data: ProtocolData) -> Result<Protocol, BaseError> {
        if data.id != file {
            return Err(fail(file, format!("the id is {}", data.id)));
        }
        self.add_sources(file, data.sources.clone())?;
        for rule in std::mem::take(&mut data.rules) {
            self.add_rule(file, rule, &data.review)?;
        }
        let weighed = |map: &BTreeMap<String, f64>| {
            map.iter()
                .map(|(n, w)| match self.lexicon.id(n) {
                    Some(id) => Ok((id, *w)),
                    None => Err(fail(file, format!("the concept {n} is unknown"))),
                })
                .collect::<Result<Vec<_>, _>>()
        };
        let (triggers, history) = (weighed(&data.triggers)?, weighed(&data.history)?);
        let needs = self.ids(file, &data.needs)?;
        let mut criteria = Vec::new();
        for c in &data.criteria {
            criteria.push((c.id.clone(), parse(&c.when, self.lexicon).map_err(|e| fail(file, e))?, c.weight));
        }
        Ok(Protocol { data, triggers, history, needs, criteria, rules: Vec::new() })
    }

    fn self_care(&self, data: SelfCareData) -> Result<SelfCare, BaseError> {
        let requires = self.ids(&data.id, &data.requires)?;
        let mut allows: BTreeSet<_> = self.ids(&data.id, &data.allows)?.into_iter().collect();
        allows.extend(&requires);
        Ok(SelfCare { data, requires, allows })
    }
}
