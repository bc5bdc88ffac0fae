//! The answers of the medical interface as the API description shows them. They are serialized by the medical crate, which
//! knows nothing of descriptions.

#![allow(dead_code, reason = "describes answers as they are serialized")]

use utoipa::ToSchema;

use crate::schema::AnyObject;

/// A cited source.
#[derive(Debug, ToSchema)]
pub struct Citation {
    /// Number by which statements refer to it in `cite`.
    n: u32,
    id: String,
    /// Who published it.
    org: String,
    title: String,
    year: u16,
    url: String,
    /// Section or recommendation.
    locator: String,
    jurisdiction: String,
}

/// Who has reviewed a record, and when it is due again.
#[derive(Debug, ToSchema)]
pub struct Review {
    /// `unreviewed` or `reviewed`.
    status: String,
    by: Option<String>,
    on: Option<String>,
    due: String,
}

/// What made a rule fire.
#[derive(Debug, ToSchema)]
pub struct Because {
    /// Identifier of a concept, or a field of the request.
    concept: String,
    /// The words of the text, or the value.
    from: String,
}

/// A red flag that fired.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct FiredRule {
    rule_id: String,
    protocol_id: String,
    level: Level,
    message: String,
    because: Vec<Because>,
    cite: Vec<u32>,
    review: Review,
}

/// Level of care, lowest first.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum Level {
    SelfCare,
    Consultation,
    #[schema(rename = "consultation_24")]
    Consultation24,
    Emergency,
    EmergencyAmbulance,
}

/// The highest fired red flag. It is a lower bound: nothing that is added lowers it.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct TriageResult {
    /// Null where nothing could be assessed.
    level: Option<Level>,
    label: Option<String>,
    call_to_action: String,
    /// `red_flags`, `none_fired`, `self_care_rule`, `not_assessed` or `not_medical`.
    basis: String,
    fired_by: Vec<FiredRule>,
}

/// A recognised concept.
#[derive(Debug, ToSchema)]
pub struct Recognised {
    concept: String,
    label: String,
    from: String,
    #[schema(required = false)]
    onset: Option<String>,
    #[schema(required = false)]
    severity: Option<String>,
    #[schema(required = false)]
    weeks: Option<f64>,
}

/// What was recognised in the text. Send it as `previous` to join it to the next message.
#[derive(Debug, ToSchema)]
pub struct ExtractedFacts {
    present: Vec<Recognised>,
    /// Denied.
    absent: Vec<Recognised>,
    past: Vec<Recognised>,
    family: Vec<Recognised>,
    /// Values of the text by field.
    vitals: AnyObject,
    labs: AnyObject,
}

#[derive(Debug, ToSchema)]
pub struct ScoreSource {
    id: String,
    title: String,
    year: u16,
    url: String,
}

/// A score as an interval over all that the missing inputs may be.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct ScoreResult {
    id: String,
    name: String,
    /// Engine that computes it on its own, such as `q214`.
    engine: Option<String>,
    /// Only with every input.
    value: Option<f64>,
    min: Option<f64>,
    max: Option<f64>,
    unit: String,
    /// Only where both ends share it.
    band: Option<String>,
    possible_bands: Vec<String>,
    /// `complete`, `partial`, `insufficient` or `not_applicable`.
    status: String,
    reason: Option<String>,
    used: Vec<String>,
    missing: Vec<String>,
    source: ScoreSource,
    cite: Vec<u32>,
    caveat: Option<String>,
}

/// A conversion or an assumption.
#[derive(Debug, ToSchema)]
pub struct NormalisedValue {
    field: String,
    given: String,
    read: String,
    why: String,
}

#[derive(Debug, ToSchema)]
pub struct AnswerLanguage {
    requested: String,
    answered: String,
    /// Whether fixed lines are English because the asked language has none.
    fallback: bool,
    /// `none` or `machine`.
    translation: String,
    /// Whether a lexicon of the text's language was there.
    understood: bool,
}

#[derive(Debug, ToSchema)]
pub struct RuleEngine {
    /// Always `rules`.
    kind: String,
    /// Hash of the data, as in the header `X-Muster-Ruleset`.
    ruleset: String,
}

/// What every answer has.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct MedicalAnswer {
    /// Always true.
    success: bool,
    request_id: String,
    /// RFC 3339, UTC.
    timestamp: String,
    kb_version: String,
    triage: TriageResult,
    extracted: ExtractedFacts,
    /// Sentences in which nothing was recognised.
    unrecognised: Vec<String>,
    scores: Vec<ScoreResult>,
    citations: Vec<Citation>,
    normalised: Vec<NormalisedValue>,
    warnings: Vec<String>,
    /// Members of the request that no field has.
    ignored: Vec<String>,
    language: AnswerLanguage,
    review: Review,
    engine: RuleEngine,
    intended_use: String,
}

#[derive(Debug, ToSchema)]
pub struct MatchedConcept {
    concept: String,
    from: String,
    weight: f64,
}

#[derive(Debug, ToSchema)]
pub struct ProtocolMatch {
    /// 0 to 100: match strength, not probability.
    score: f64,
    meaning: String,
    matched: Vec<MatchedConcept>,
    denied: Vec<String>,
    unknown: Vec<String>,
}

#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct ProtocolRedFlag {
    rule_id: String,
    level: Level,
    message: String,
    fired: bool,
    cite: Vec<u32>,
}

#[derive(Debug, ToSchema)]
pub struct ProtocolAction {
    order: u32,
    text: String,
    /// `immediate`, `10min`, `30min`, `1h`, `3h`, `4h`, `6h`, `8h`, `12h`, `24h`, `48h` or `routine`.
    urgency: String,
    /// `assess`, `monitor`, `investigate`, `treat`, `refer` or `safety_net`.
    kind: String,
    /// `recommend`, `consider` or `avoid`.
    strength: String,
    /// The guideline's own grade.
    evidence: Option<String>,
    when: Option<String>,
    cite: Vec<u32>,
}

#[derive(Debug, ToSchema)]
pub struct ClinicalStatement {
    text: String,
    #[schema(required = false)]
    when: Option<String>,
    cite: Vec<u32>,
}

#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct MatchingProtocol {
    id: String,
    version: String,
    title: String,
    specialty: String,
    /// Highest level of its fired red flags.
    urgency: Option<Level>,
    r#match: ProtocolMatch,
    red_flags: Vec<ProtocolRedFlag>,
    /// Empty for the public.
    actions: Vec<ProtocolAction>,
    contraindications: Vec<ClinicalStatement>,
    follow_up: Vec<ClinicalStatement>,
    safety_net: Vec<ClinicalStatement>,
    score_ids: Vec<String>,
    missing_inputs: Vec<String>,
    differentials: Vec<String>,
    review: Review,
}

#[derive(Debug, ToSchema)]
pub struct VitalSignAssessment {
    field: String,
    value: f64,
    unit: String,
    /// `low`, `normal`, `high` or `critical`.
    status: String,
    cite: Vec<u32>,
}

#[derive(Debug, ToSchema)]
pub struct HookSource {
    label: String,
    #[schema(required = false)]
    url: Option<String>,
}

/// A card of CDS Hooks 2.0.
#[derive(Debug, ToSchema)]
pub struct HookCard {
    uuid: String,
    /// Less than 140 characters.
    summary: String,
    detail: String,
    /// `info`, `warning` or `critical`.
    indicator: String,
    source: HookSource,
}

/// The answer to a lookup.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct ProtocolAnswer {
    #[schema(inline)]
    #[serde(flatten)]
    common: MedicalAnswer,
    specialty: String,
    protocols: Vec<MatchingProtocol>,
    vital_assessment: Vec<VitalSignAssessment>,
    cards: Vec<HookCard>,
}

#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct ConsideredProtocol {
    protocol_id: String,
    title: String,
    match_score: f64,
    why: String,
    cite: Vec<u32>,
}

/// A question whose answer could raise the level.
#[derive(Debug, ToSchema)]
pub struct FollowUpQuestion {
    id: String,
    text: String,
    /// Field of the request that takes the answer.
    field: String,
}

#[derive(Debug, ToSchema)]
pub struct ConsultedSpecialty {
    id: String,
    inferred: bool,
}

#[derive(Debug, ToSchema)]
pub struct ConsultationTokens {
    prompt: u32,
    completion: u32,
    total: u32,
}

#[derive(Debug, ToSchema)]
pub struct ConsultationPhrasing {
    /// `rules` or `model`: who wrote the explanation. All else is of the rules.
    by: String,
    /// Provider that phrased or translated.
    #[schema(required = false)]
    provider: Option<String>,
    /// Checks that a model's text failed: `call_dropped`, `uncited`, `unknown_citation`, `number`, `drug`, `dose`,
    /// `condition`, `reassurance`, `level`, `instructions` or `form`. The rules' text stands in then.
    rejected: Vec<String>,
}

/// The conversation that an answer was kept in.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct KeptConversation {
    /// RFC 3339, UTC. It ends then unless it goes on.
    ends_at: String,
    turns: u32,
}

/// Somebody else has read one of your conversations.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct AccessNotice {
    conversation_id: String,
    /// RFC 3339, UTC.
    at: String,
    /// Identifier of the key that read it.
    by: String,
    /// The reason that was given.
    reason: String,
}

/// The answer to a consultation.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct ConsultationAnswer {
    #[schema(inline)]
    #[serde(flatten)]
    common: MedicalAnswer,
    /// The call to action first, then what was understood, what may fit, what to do, what would change this, questions,
    /// limits.
    response: String,
    specialty: Option<ConsultedSpecialty>,
    considerations: Vec<ConsideredProtocol>,
    /// At most three.
    questions: Vec<FollowUpQuestion>,
    self_care: Vec<ClinicalStatement>,
    safety_net: Vec<ClinicalStatement>,
    /// `clinical-rules`, or the model that phrased.
    model: String,
    tokens: ConsultationTokens,
    phrasing: ConsultationPhrasing,
    /// The English response, where a provider has translated its body.
    #[schema(required = false)]
    response_original: Option<String>,
    /// The conversation that this was kept in.
    #[schema(required = false)]
    conversation_id: Option<String>,
    #[schema(required = false)]
    conversation: Option<KeptConversation>,
    /// Readings of your conversations by others since the last answer, each told once.
    #[schema(required = false)]
    notices: Vec<AccessNotice>,
}
