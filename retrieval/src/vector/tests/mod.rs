use crate::vector::VectorIndex;
use crate::{DocNo, Filter};

#[test]
fn the_nearest_comes_first() {
    let mut index = VectorIndex::new(2);
    for (doc, vector) in [[1.0, 0.0], [0.6, 0.8], [0.0, 1.0], [-1.0, 0.0]].iter().enumerate() {
        index.insert(DocNo(doc as u32), vector).unwrap();
    }
    let found = index.search(&[2.0, 0.0], Filter::All, 3);
    assert_eq!(found.iter().map(|(doc, _)| doc.0).collect::<Vec<_>>(), [0, 1, 2]);
    assert!((found[1].1 - 0.6).abs() < 1e-4);
}
