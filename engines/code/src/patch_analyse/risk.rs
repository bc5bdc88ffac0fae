//! Review risk of a patch.

use super::Changed;
use super::danger::{Danger, Grade};

/// Upper bounds of changed lines for the usual size labels.
const SIZES: [(usize, &str); 5] = [(10, "XS"), (50, "S"), (250, "M"), (500, "L"), (1_000, "XL")];
/// Number of changed lines at which the size factor reaches 1.
const FULL: f64 = 1_000.0;
/// Weights of size, spread and sensitive paths, chosen for this engine.
const WEIGHTS: [f64; 3] = [0.4, 0.2, 0.4];
/// Maximum number of dangerous lines that are reasons of their own.
const MAX_DANGERS: usize = 100;
/// Maximum number of files named in one reason.
const MAX_NAMED: usize = 20;

/// Returns the risk, 0 to 1, and its reasons, dangerous lines first.
///
/// Each dangerous line fills a share of what is left to 1 (noisy-OR, Pearl 1988): one critical line alone makes it 0.9,
/// however small the patch is.
pub(super) fn weigh(files: &[Changed], sensitive: &[String], dangers: &[Danger]) -> (f64, Vec<String>) {
    let churn: usize = files.iter().map(Changed::churn).sum();
    let patterns: Vec<String> =
        sensitive.iter().map(|pattern| pattern.to_lowercase()).filter(|pattern| !pattern.is_empty()).collect();
    let touched = |file: &Changed| patterns.iter().any(|pattern| file.path.to_lowercase().contains(pattern));
    let named = names(files.iter().filter(|file| touched(file)));

    let size = ((churn as f64).ln_1p() / FULL.ln_1p()).min(1.0);
    let spread = entropy(files);
    let guarded = f64::from(u8::from(!named.is_empty()));
    let shape = (WEIGHTS[0] * size + WEIGHTS[1] * spread + WEIGHTS[2] * guarded).clamp(0.0, 1.0);
    let safe: f64 = dangers.iter().map(|danger| 1.0 - danger.grade.weight()).product();
    let risk = 1.0 - (1.0 - shape) * safe;

    let class = SIZES.iter().find(|(most, _)| churn <= *most).map_or("XXL", |(_, class)| class);
    let mut reasons: Vec<String> = dangers.iter().take(MAX_DANGERS).map(Danger::reason).collect();
    if dangers.len() > MAX_DANGERS {
        let rest = dangers.get(MAX_DANGERS..).unwrap_or_default();
        let worst = rest.first().map_or("low", |danger| Grade::name(danger.grade));
        reasons.push(format!("{} more dangerous lines, the worst {worst}", rest.len()));
    }
    reasons.push(format!("size {class}: {churn} changed lines in {} files", files.len()));
    let mut add_reason = |what: &str, files: String| {
        if !files.is_empty() {
            reasons.push(format!("{what}: {files}"));
        }
    };
    add_reason("sensitive paths", named);
    add_reason("deleted files", names(files.iter().filter(|file| file.kind == "deleted")));
    add_reason("binary files, whose content is not included", names(files.iter().filter(|file| file.binary)));
    add_reason("files made executable", names(files.iter().filter(|file| file.executable)));
    if files.len() > 1 {
        let mut order: Vec<&Changed> = files.iter().collect();
        order.sort_by_key(|file| (!touched(file), kind_of(&file.path), usize::MAX - file.churn()));
        add_reason("review order", names(order.into_iter()));
        reasons.push(format!("spread over files (normalised entropy): {spread:.2}"));
    }
    (risk.clamp(0.0, 1.0), reasons)
}

/// Normalised static entropy of a change (Hassan 2009, section 3): `-sum(p log_n p)`, `p` is a file's share of the
/// changed lines, `n` the number of changed files.
pub(super) fn entropy(files: &[Changed]) -> f64 {
    let total: usize = files.iter().map(Changed::churn).sum();
    let shares: Vec<f64> =
        files.iter().map(Changed::churn).filter(|&churn| churn > 0).map(|churn| churn as f64 / total as f64).collect();
    if shares.len() < 2 {
        return 0.0;
    }
    let base = (shares.len() as f64).ln();
    shares.iter().map(|share| -share * share.ln() / base).sum::<f64>().clamp(0.0, 1.0)
}

/// Review order: code, then tests, then documentation, then generated files.
fn kind_of(path: &str) -> u8 {
    let path = path.to_lowercase();
    let (name, ends) =
        (path.rsplit('/').next().unwrap_or_default(), |ends: &[&str]| ends.iter().any(|end| path.ends_with(end)));
    if ends(&[".lock", "-lock.json", "-lock.yaml", "go.sum", ".min.js", ".snap"]) || path.contains("vendor/") {
        3
    } else if ends(&[".md", ".rst", ".txt", ".adoc"]) {
        2
    } else {
        u8::from(path.contains("tests/") || path.contains("test/") || name.contains("test") || name.contains("spec."))
    }
}

fn names<'f>(files: impl Iterator<Item = &'f Changed>) -> String {
    let all: Vec<&str> = files.map(|file| file.path.as_str()).collect();
    let listed: Vec<&str> = all.iter().copied().take(MAX_NAMED).collect();
    let more = all.len().saturating_sub(MAX_NAMED);
    if more > 0 { format!("{} and {more} more", listed.join(", ")) } else { listed.join(", ") }
}
