//! Tests of sketches. They need the data files of the media manifest and fail without them.

mod colours;
mod errors;
mod hostile;
mod pictures;
mod placing;
mod prompts;
mod scenes;

use std::sync::LazyLock;

use super::{Plan, Sketcher};

/// Reads a data file of the cache folder.
pub(super) fn data(name: &str) -> Vec<u8> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models-cache/").to_owned() + name;
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}; run `make models` first"))
}

pub(super) static SKETCHER: LazyLock<Sketcher> =
    LazyLock::new(|| Sketcher::open(&data("pictures.json"), &data("picture-names.json")).unwrap());

pub(super) fn plan(text: &str) -> Plan {
    SKETCHER.plan(text, None).unwrap()
}

/// A scene's figures as `2 red 🚗`, in order.
pub(super) fn figures(plan: &Plan) -> Vec<String> {
    let figure = |figure: &super::Figure| {
        let colour = figure.colour.map(|colour| format!("{} ", colour.word())).unwrap_or_default();
        format!("{} {colour}{}", figure.count, figure.picture)
    };
    plan.scene.figures.iter().map(figure).collect()
}
