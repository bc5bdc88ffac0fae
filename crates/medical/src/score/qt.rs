//! QT interval corrected for heart rate.

use super::Source;
use super::definition::{Definition, Input, Outcome, number};
use super::known::Known;

const INPUTS: &[Input] = &[number("qt_ms", 100.0, 1000.0), number("heart_rate_bpm", 20.0, 350.0)];

const fn qtc(id: &'static str, name: &'static str, source: Source, compute: fn(&Known) -> Outcome) -> Definition {
    Definition {
        id,
        name,
        engine: Some("q228"),
        unit: "ms",
        decimals: 2,
        source,
        inputs: INPUTS,
        caveat: Some("Corrections part at rates under 60 or over 100; bundle branch block and pacing lengthen QT."),
        compute,
    }
}

pub(super) const SCORES: &[Definition] = &[
    qtc(
        "qtc_bazett",
        "QTc, Bazett",
        Source {
            id: "bazett-1920",
            title: "Bazett HC. An analysis of the time-relations of electrocardiograms. Heart 7",
            year: 1920,
            url: "https://doi.org/10.1111/j.1542-474X.1997.tb00325.x",
        },
        |k| corrected(k, |qt, rate| qt / (60.0 / rate).sqrt()),
    ),
    qtc(
        "qtc_fridericia",
        "QTc, Fridericia",
        Source {
            id: "fridericia-1920",
            title: "Fridericia LS. Die Systolendauer im Elektrokardiogramm. Acta Med Scand 53",
            year: 1920,
            url: "https://doi.org/10.1111/j.0954-6820.1920.tb18266.x",
        },
        |k| corrected(k, |qt, rate| qt / (60.0 / rate).cbrt()),
    ),
    qtc(
        "qtc_framingham",
        "QTc, Framingham",
        Source {
            id: "sagie-1992",
            title: "Sagie A et al. An improved method for adjusting the QT interval for heart rate. Am J Cardiol 70",
            year: 1992,
            url: "https://doi.org/10.1016/0002-9149(92)90562-D",
        },
        |k| corrected(k, |qt, rate| qt + 154.0 * (1.0 - 60.0 / rate)),
    ),
    qtc(
        "qtc_hodges",
        "QTc, Hodges",
        Source {
            id: "hodges-1983",
            title: "Hodges M, Salerno D, Erlien D. Bazett's QT correction reviewed. J Am Coll Cardiol 1:694",
            year: 1983,
            url: "https://www.jacc.org/journal/jacc",
        },
        |k| corrected(k, |qt, rate| qt + 1.75 * (rate - 60.0)),
    ),
];

fn corrected(k: &Known, formula: fn(f64, f64) -> f64) -> Outcome {
    let value = || Some(formula(k.num("qt_ms")?, k.num("heart_rate_bpm")?));
    Outcome::formula(value()).bands(&[(0.0, "under 500"), (500.0, "500 or more")])
}
