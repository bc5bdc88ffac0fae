//! Factors between units, as the publications use them.

/// mg/dL of blood urea nitrogen in one mmol/L of urea.
pub(super) const BUN_MG_DL_PER_UREA_MMOL_L: f64 = 2.8;
/// mg/dL of glucose in one mmol/L.
pub(super) const GLUCOSE_MG_DL_PER_MMOL_L: f64 = 18.0;
/// mg/dL of cholesterol in one mmol/L.
pub(super) const CHOLESTEROL_MG_DL_PER_MMOL_L: f64 = 38.67;
/// mg/dL of triglycerides in one mmol/L.
pub(super) const TRIGLYCERIDES_MG_DL_PER_MMOL_L: f64 = 88.57;
/// mg/dL of creatinine in one µmol/L.
pub(super) const CREATININE_MG_DL_PER_UMOL_L: f64 = 1.0 / 88.42;
/// mg/dL of bilirubin in one µmol/L.
pub(super) const BILIRUBIN_MG_DL_PER_UMOL_L: f64 = 1.0 / 17.1;
