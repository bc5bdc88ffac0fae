use super::Graph;
use crate::vector::vectors::Vectors;

impl Graph {
    /// Invariants between slices of work, checked by the tests.
    pub fn check(&self, vectors: &Vectors) {
        let twins: Vec<(u32, u32)> = self.twins.slots().collect();
        for slot in (0..vectors.slots() as u32).filter(|slot| vectors.doc(*slot).is_some()) {
            let twin = twins.iter().any(|(twin, _)| *twin == slot);
            let places = [self.pending.contains(slot), twin, self.layers.level(slot).is_some()];
            assert_eq!(places.into_iter().filter(|place| *place).count(), 1, "slot {slot} has one place: {places:?}");
        }
        for (twin, node) in twins {
            assert!(self.layers.level(node).is_some() && vectors.doc(twin).is_some());
            assert_eq!(vectors.get(twin), vectors.get(node), "twins are equal");
        }
        let nodes = self.layers.nodes();
        for node in &nodes {
            assert_eq!(self.dead.contains(*node), !self.holds(*node, vectors), "node {node} is counted");
            for level in 0..=self.layers.level(*node).unwrap() {
                let mut links = self.layers.links(*node, level).to_vec();
                assert!(links.iter().all(|link| link != node && self.layers.level(*link) >= Some(level)));
                links.sort_unstable();
                links.dedup();
                assert_eq!(links.len(), self.layers.links(*node, level).len(), "no link twice");
            }
        }
        let held = nodes.iter().any(|node| self.holds(*node, vectors));
        assert!(self.layers.entry().map_or(!held, |entry| self.layers.level(entry).is_some()), "there is a way in");
    }
}
