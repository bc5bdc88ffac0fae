//! Whether the approvals cover every role by another person: a maximum matching in a bipartite graph.

use muster_core::guard::QuorumRole;

/// Returns for each role of the quorum whether a maximum matching covers it. An approval is by a unit: a person, or people
/// who count as one. No unit covers two roles.
///
/// The matching is found by augmenting paths, so that a unit with two roles takes the one that nobody else has.
pub(crate) fn covered(quorum: &[QuorumRole], approvals: &[(usize, QuorumRole)]) -> Vec<bool> {
    let units = approvals.iter().map(|(unit, _)| unit + 1).max().unwrap_or_default();
    let mut matching = Matching { quorum, approvals, role_of: vec![None; units] };
    for role in 0..quorum.len() {
        matching.augment(role, &mut vec![false; units]);
    }
    let mut covered = vec![false; quorum.len()];
    for role in matching.role_of.into_iter().flatten() {
        if let Some(covered) = covered.get_mut(role) {
            *covered = true;
        }
    }
    covered
}

struct Matching<'a> {
    quorum: &'a [QuorumRole],
    approvals: &'a [(usize, QuorumRole)],
    /// Index of the role that each unit covers.
    role_of: Vec<Option<usize>>,
}

impl Matching<'_> {
    /// Finds a unit for a role, moving others to roles that they cover as well. Returns whether it did.
    fn augment(&mut self, role: usize, visited: &mut [bool]) -> bool {
        let Some(wanted) = self.quorum.get(role) else { return false };
        for (unit, _) in self.approvals.iter().filter(|(_, of)| of == wanted) {
            match visited.get_mut(*unit) {
                Some(visited) if !*visited => *visited = true,
                _ => continue,
            }
            let present = self.role_of.get(*unit).copied().flatten();
            if present.is_none_or(|present| self.augment(present, visited)) {
                if let Some(place) = self.role_of.get_mut(*unit) {
                    *place = Some(role);
                }
                return true;
            }
        }
        false
    }
}
