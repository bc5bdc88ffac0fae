//! The answer about cancer as the API description shows it (see `described.rs`).

#![allow(dead_code, reason = "describes answers as they are serialized")]

use utoipa::ToSchema;

use super::described::{MedicalAnswer, Review, TriageResult};

/// A fact that a rule used.
#[derive(Debug, ToSchema)]
pub struct CancerFact {
    /// Identifier of a concept, or a field of the request.
    concept: String,
    /// The words of the text, or the value.
    from: String,
}

/// A rule that is met, or missed by its age bound alone.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct CancerRecommendation {
    rule_id: String,
    action: String,
    /// `immediate`, `very_urgent_48h`, `suspected_cancer_pathway`, `urgent_2w`, `test_now`, `non_urgent`, `safety_net` or
    /// `screening`.
    timescale: String,
    /// `refer`, `offer`, `consider` or `advise`.
    strength: String,
    matched: Vec<CancerFact>,
    /// What it would still need.
    missing: Vec<String>,
    /// What the rule takes for granted and a clinician has to check.
    assumes: Vec<String>,
    cite: Vec<u32>,
    review: Review,
}

/// A cancer site with the rules that name it.
#[derive(Debug, ToSchema)]
pub struct CancerSite {
    site: String,
    /// `meets_referral_criteria`, `meets_test_criteria` or `noted_below_threshold`.
    status: String,
    /// The organ without which it does not apply, where that is not known.
    #[schema(required = false)]
    conditional: Option<String>,
    recommendations: Vec<CancerRecommendation>,
}

/// A published model. It has a value only with all inputs, inside its population.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct RiskModel {
    id: String,
    name: String,
    applicable: bool,
    reason: String,
    value: Option<f64>,
    unit: String,
    horizon_years: Option<f64>,
    missing_inputs: Vec<String>,
    band: Option<String>,
    cite: Vec<u32>,
    caveat: String,
    review: Review,
}

/// A screening recommendation that age, sex and risk factors meet.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct ScreeningRecommendation {
    rule_id: String,
    site: String,
    text: String,
    /// The grade of the issuing body.
    grade: String,
    matched: Vec<CancerFact>,
    missing: Vec<String>,
    #[schema(required = false)]
    conditional: Option<String>,
    cite: Vec<u32>,
    review: Review,
}

/// A risk factor as it was read.
#[derive(Debug, ToSchema)]
pub struct ReadRiskFactor {
    /// Such as `packYears` or `bmi`.
    field: String,
    /// A number or a boolean.
    value: serde_json::Value,
    from: String,
}

/// A question whose answer would change the result most.
#[derive(Debug, ToSchema)]
pub struct CancerFollowUpQuestion {
    id: String,
    text: String,
    /// Field of the request that takes the answer.
    field: String,
}

/// Measures of the pixels. They say how a picture was taken, never what it shows.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct ImageMeasures {
    /// Variance of the Laplacian of luma 0 to 255. Comparable only between pictures of one kind and size.
    sharpness: Option<f64>,
    /// Mean luma, 0 to 1.
    brightness: f64,
    /// Standard deviation of luma, 0 to 0.5.
    contrast: f64,
    /// Share of pixels that are entirely black or white.
    clipped_share: f64,
    /// Whether the picture is of one shade.
    blank: bool,
}

/// Codes of a DICOM header.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct DicomHeaderCodes {
    modality: Option<String>,
    body_part: Option<String>,
    photometric: Option<String>,
    burned_in_annotation: Option<bool>,
}

/// What the bytes of a picture show.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct ImageCheck {
    /// Position in the request, from 0.
    index: u32,
    sha256: String,
    /// `image/png`, `image/jpeg` or `application/dicom`.
    media_type: String,
    width: u32,
    height: u32,
    /// Bits of a sample.
    bit_depth: u32,
    frames: u32,
    /// Null for DICOM, whose pixels are not read.
    measured: Option<ImageMeasures>,
    /// Index of the first picture with the same bytes.
    #[schema(required = false)]
    duplicate_of: Option<u32>,
    #[schema(required = false)]
    dicom: Option<DicomHeaderCodes>,
    /// Kinds of metadata, never values: `gps`, `device`, `time`, `patient_tags`.
    metadata_found: Vec<String>,
    /// Whether it is not blank and has at least 128 pixels a side.
    usable: bool,
    /// `blank`, `small`, `several_frames`, `pixels_not_read`, `burned_in_annotation`, `identifying_metadata`,
    /// `metadata_not_read`, `duplicate`, `similar_to_0`.
    issues: Vec<String>,
    /// Always `not_interpreted`.
    interpretation: String,
    /// What an outside service wrote about it, where the operator has configured one and the request permits it.
    #[schema(required = false)]
    provider_findings: Option<ProviderFindings>,
}

/// What a provider's model wrote about a picture. It is quoted, and no other member depends on it.
#[derive(Debug, ToSchema)]
pub struct ProviderFindings {
    provider: String,
    model: String,
    text: String,
    /// Always false.
    verified: bool,
}

/// The answer about cancer.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct CancerDiagnosisAnswer {
    #[schema(inline)]
    #[serde(flatten)]
    common: MedicalAnswer,
    /// The most urgent rule met: `immediate`, `very_urgent`, `urgent`, `tests`, `routine`, `none_identified` or
    /// `insufficient_data`.
    concern_level: String,
    /// The triage, from `emergency` up.
    emergency: Option<TriageResult>,
    sites: Vec<CancerSite>,
    models: Vec<RiskModel>,
    screening: Vec<ScreeningRecommendation>,
    /// What was read of `riskFactors`.
    risk_factors: Vec<ReadRiskFactor>,
    /// Entries of `riskFactors` in which nothing was read.
    unread_risk_factors: Vec<String>,
    /// Always `No criteria met does not exclude cancer.`
    not_excluded: String,
    questions: Vec<CancerFollowUpQuestion>,
    images: Vec<ImageCheck>,
}
