use super::Graph;
use crate::vector::vectors::Vectors;

impl Graph {
    /// Checks the invariants that hold between slices of work.
    pub fn check(&self, vectors: &Vectors) {
        let duplicates: Vec<(u32, u32)> = self.duplicates.slots().collect();
        for slot in (0..vectors.slots() as u32).filter(|slot| vectors.doc(*slot).is_some()) {
            let duplicate = duplicates.iter().any(|(duplicate, _)| *duplicate == slot);
            let places = [self.pending.contains(slot), duplicate, self.layers.level(slot).is_some()];
            assert_eq!(places.into_iter().filter(|place| *place).count(), 1, "slot {slot} has one place: {places:?}");
        }
        for (duplicate, node) in duplicates {
            assert!(self.layers.level(node).is_some() && vectors.doc(duplicate).is_some());
            assert_eq!(vectors.get(duplicate), vectors.get(node), "duplicates equal their node");
        }
        let nodes = self.layers.nodes();
        for node in &nodes {
            assert_eq!(self.dead.contains(*node), !self.leads_to_live(*node, vectors), "node {node} is counted");
            for level in 0..=self.layers.level(*node).unwrap() {
                let mut links = self.layers.links(*node, level).to_vec();
                assert!(links.iter().all(|link| link != node && self.layers.level(*link) >= Some(level)));
                links.sort_unstable();
                links.dedup();
                assert_eq!(links.len(), self.layers.links(*node, level).len(), "no link twice");
            }
        }
        let live = nodes.iter().any(|node| self.leads_to_live(*node, vectors));
        assert!(
            self.layers.entry().map_or(!live, |entry| self.layers.level(entry).is_some()),
            "the graph has an entry point"
        );
    }
}
