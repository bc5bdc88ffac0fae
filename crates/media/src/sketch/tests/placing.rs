//! Where figures stand.

use proptest::prelude::*;

use crate::sketch::layout::{Area, Block};
use crate::sketch::{Figure, Place, Relation, Scene, Size};

use super::{SKETCHER, plan};

fn overlap(a: Area, b: Area) -> bool {
    let (left, right) = (a.x.max(b.x), (a.x + a.width).min(b.x + b.width));
    let (top, bottom) = (a.y.max(b.y), (a.y + a.height).min(b.y + b.height));
    right - left > 0.5 && bottom - top > 0.5
}

fn inside(block: &Block, size: Size) -> bool {
    let area = block.area;
    area.x >= 0.0
        && area.y >= 0.0
        && area.x + area.width <= size.width() as f32 + 0.5
        && area.y + area.height <= size.height() as f32 + 0.5
}

const PICTURES: [&str; 14] = ["🐘", "🐁", "🚗", "🚌", "👩", "🌷", "🐈", "🍎", "🐕", "⚽", "🦒", "🚲", "🏠", "🐦"];

fn any_scene() -> impl Strategy<Value = Scene> {
    let figure = (0..PICTURES.len(), 1_u8..=4, prop::option::of((0..Place::ALL.len(), Just(0_usize))));
    prop::collection::vec(figure, 1..10).prop_map(|drawn| {
        let figures = drawn.into_iter().enumerate().map(|(index, (picture, count, relation))| Figure {
            picture: PICTURES[picture].to_owned(),
            count,
            colour: None,
            relation: relation.filter(|_| index > 0).map(|(place, to)| Relation { place: Place::ALL[place], to }),
        });
        Scene { figures: figures.collect(), ..Scene::default() }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn nothing_in_the_front_row_overlaps(scene in any_scene(), seed in any::<u64>(), size in 0..3_usize) {
        let size = Size::ALL[size];
        let layout = SKETCHER.layout(&scene, size, seed).unwrap();
        for sprite in layout.front.iter().flat_map(|block| &block.sprites).filter(|sprite| sprite.grounded) {
            let foot = sprite.area.y + sprite.area.height;
            prop_assert!(foot >= size.height() as f32 * 0.6, "{sprite:?} stands in the air");
        }
        for (index, block) in layout.front.iter().enumerate() {
            prop_assert!(inside(block, size), "{:?}", block.area);
            for other in &layout.front[index + 1..] {
                prop_assert!(!overlap(block.area, other.area), "{:?} {:?}", block.area, other.area);
            }
        }
        let sprites: usize = [&layout.sky, &layout.back, &layout.front, &layout.flyers].into_iter().flatten().map(|block| block.sprites.len()).sum();
        let asked: usize = scene.figures.iter().map(|figure| usize::from(figure.count)).sum();
        prop_assert_eq!(sprites, asked);
    }
}

#[test]
fn an_elephant_is_larger_than_a_mouse() {
    let scene = plan("an elephant and a mouse").scene;
    let layout = SKETCHER.layout(&scene, Size::Square, 1).unwrap();
    let height = |figure: usize| {
        let sprites = layout.front.iter().flat_map(|block| &block.sprites);
        sprites.filter(|sprite| sprite.figure == figure).map(|sprite| sprite.area.height).fold(0.0, f32::max)
    };
    assert!(height(0) > 3.0 * height(1), "{} {}", height(0), height(1));
}

#[test]
fn figures_stand_where_the_words_say() {
    let areas = |text: &str| {
        let scene = plan(text).scene;
        let layout = SKETCHER.layout(&scene, Size::Square, 5).unwrap();
        let sprites: Vec<_> = [&layout.back, &layout.front, &layout.flyers]
            .into_iter()
            .flatten()
            .flat_map(|block| block.sprites.clone())
            .collect();
        let area = |figure: usize| sprites.iter().find(|sprite| sprite.figure == figure).unwrap().area;
        (area(0), area(1))
    };
    let (cat, chair) = areas("a cat on a chair");
    assert!(cat.y + cat.height < chair.y + chair.height * 0.2);
    let (mouse, elephant) = areas("a mouse to the left of an elephant");
    assert!(mouse.x + mouse.width <= elephant.x);
    let (cow, barn) = areas("a cow to the right of a house");
    assert!(cow.x >= barn.x + barn.width);
    let (dog, tree) = areas("a dog under a tree");
    assert!(dog.x >= tree.x - 1.0 && dog.x + dog.width <= tree.x + tree.width + 1.0 && dog.height < tree.height * 0.5);
}

#[test]
fn what_stands_under_the_same_tree_does_not_overlap() {
    let scene = plan("three cats and two dogs under a tree").scene;
    let layout = SKETCHER.layout(&scene, Size::Square, 1).unwrap();
    let sprites: Vec<_> =
        [&layout.back, &layout.front].into_iter().flatten().flat_map(|block| &block.sprites).collect();
    let animals: Vec<Area> = sprites.iter().filter(|sprite| sprite.figure < 2).map(|sprite| sprite.area).collect();
    let tree = sprites.iter().find(|sprite| sprite.figure == 2).unwrap().area;
    assert_eq!(animals.len(), 5);
    for (index, area) in animals.iter().enumerate() {
        assert!(area.x >= tree.x - 1.0 && area.x + area.width <= tree.x + tree.width + 1.0, "{area:?} under {tree:?}");
        assert!(animals[index + 1..].iter().all(|other| !overlap(*area, *other)), "{animals:?}");
    }
}
