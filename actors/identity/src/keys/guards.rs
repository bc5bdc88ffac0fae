//! Which commands on keys need an approval (`key.grant`, `budget.raise`): a file of its own, because it decides about all
//! of them. Pure.

use super::messages::KeyIssuer;
use super::record::{KeyRecord, Scope};
use muster_core::guard::{GuardedAction, Need, Standing};

/// Returns whether a key administers the server: scope `admin` or any role.
fn administers(key: &KeyRecord) -> bool {
    key.scopes.contains(&Scope::Admin) || !key.roles.is_empty()
}

/// Returns the need of a new key, whose resource is its name.
pub(super) fn of_new(key: &KeyRecord) -> Option<Need> {
    administers(key).then(|| Need::new(GuardedAction::KeyGrant, &*key.name))
}

/// Returns the need of a change: of a key that administers before or after it, or of its monthly budget.
pub(super) fn of_change(before: &KeyRecord, after: &KeyRecord, standing: &Standing) -> Option<Need> {
    let percentage = raised(before.budget_usd, after.budget_usd, standing);
    if administers(before) || administers(after) {
        return Some(Need::new(GuardedAction::KeyGrant, &*after.id).raising_to(percentage.unwrap_or_default()));
    }
    percentage.map(|percentage| Need::new(GuardedAction::BudgetRaise, &*after.id).raising_to(percentage))
}

/// Returns the need of a rotation by another than the key itself, who receives the new secret.
pub(super) fn of_rotation(key: &KeyRecord, issuer: &KeyIssuer) -> Option<Need> {
    let by_another = !matches!(issuer, KeyIssuer::Key(by) if by.id == key.id);
    (by_another && administers(key)).then(|| Need::new(GuardedAction::KeyGrant, &*key.id))
}

/// Returns the new budget as a percentage of the present one if it is raised above the threshold. A removed budget is
/// raised without limit; one of nothing is raised from a cent.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to the range")]
fn raised(before: Option<f64>, after: Option<f64>, standing: &Standing) -> Option<u64> {
    const MOST: f64 = 1e9;
    let before = before?;
    #[allow(clippy::cast_precision_loss, reason = "a threshold is a small number")]
    let threshold = standing.threshold(GuardedAction::BudgetRaise) as f64;
    let after = after.unwrap_or(f64::INFINITY);
    (after > before && after > threshold).then(|| (after / before.max(0.01) * 100.0).min(MOST).ceil() as u64)
}

#[cfg(test)]
mod tests {
    use super::super::record::Role;
    use super::*;

    fn key(scopes: &[Scope], roles: &[Role], budget_usd: Option<f64>) -> KeyRecord {
        KeyRecord {
            scopes: scopes.to_vec(),
            roles: roles.to_vec(),
            budget_usd,
            ..KeyRecord::without_secret("key_1", "ci")
        }
    }

    #[test]
    fn keys_that_administer_and_budgets_above_100_usd_are_guarded() {
        let standing = Standing::default();
        let change = |before: &KeyRecord, after: &KeyRecord| {
            of_change(before, after, &standing).map(|need| (need.action.name(), need.budget_pct))
        };
        let plain = |budget| key(&[Scope::Chat], &[], budget);
        let admin = key(&[Scope::Admin], &[], None);
        let auditor = key(&[Scope::Agents], &[Role::Auditor], None);
        assert_eq!(of_new(&plain(None)), None);
        assert_eq!(of_new(&admin).unwrap().resource, "ci");
        assert!(of_new(&auditor).is_some());
        assert_eq!(change(&plain(None), &admin).unwrap().0, "key.grant");
        assert_eq!(change(&admin, &plain(None)).unwrap().0, "key.grant", "changed is guarded, whatever the change");
        for (before, after, expected) in [
            (Some(50.0), Some(100.0), None),
            (Some(50.0), Some(200.0), Some(("budget.raise", 400))),
            (Some(500.0), Some(200.0), None),
            (Some(50.0), None, Some(("budget.raise", 1_000_000_000))),
            (None, Some(200.0), None),
            (Some(0.0), Some(101.0), Some(("budget.raise", 1_010_000))),
        ] {
            assert_eq!(change(&plain(before), &plain(after)), expected, "{before:?} {after:?}");
        }
        assert!(of_rotation(&admin, &KeyIssuer::Key(std::sync::Arc::new(auditor.clone()))).is_none(), "the same id");
        let other = KeyRecord { id: "key_2".to_owned(), ..auditor };
        assert!(of_rotation(&admin, &KeyIssuer::Key(std::sync::Arc::new(other))).is_some());
    }
}
