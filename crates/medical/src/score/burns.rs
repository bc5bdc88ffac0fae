//! Fluids and outcome of burns.

use super::Source;
use super::definition::{AGE, Definition, Input, Outcome, flag, number};
use super::interval::{below, itself, points};

const AREA: Input = number("tbsa_percent", 0.0, 100.0);
const WEIGHT: Input = number("weight_kg", 0.5, 400.0);

pub(super) const SCORES: &[Definition] = &[
    Definition {
        id: "parkland_24h",
        name: "Parkland formula, fluid of the first 24 h",
        engine: Some("q218"),
        unit: "mL",
        decimals: 0,
        source: Source {
            id: "baxter-1968",
            title: "Baxter CR, Shires T. Physiological response to crystalloid resuscitation of severe burns. \
                    Ann N Y Acad Sci 150",
            year: 1968,
            url: "https://doi.org/10.1111/j.1749-6632.1968.tb14738.x",
        },
        inputs: &[WEIGHT, AREA],
        caveat: Some("Half in the first 8 h from the burn; titrate to urine output. Children also need maintenance."),
        compute: |k| Outcome::formula((|| Some(4.0 * k.num("weight_kg")? * k.num("tbsa_percent")?))()),
    },
    Definition {
        id: "modified_brooke_24h",
        name: "Modified Brooke formula, fluid of the first 24 h",
        engine: Some("q218"),
        unit: "mL",
        decimals: 0,
        source: Source {
            id: "pruitt-1978",
            title: "Pruitt BA. Fluid and electrolyte replacement in the burned patient. Surg Clin North Am 58",
            year: 1978,
            url: "https://www.surgical.theclinics.com/",
        },
        inputs: &[WEIGHT, AREA],
        caveat: Some("Half in the first 8 h from the burn; titrate to urine output."),
        compute: |k| Outcome::formula((|| Some(2.0 * k.num("weight_kg")? * k.num("tbsa_percent")?))()),
    },
    Definition {
        id: "revised_baux",
        name: "Revised Baux score",
        engine: Some("q218"),
        unit: "points",
        decimals: 0,
        source: Source {
            id: "osler-2010",
            title: "Osler T, Glance LG, Hosmer DW. Simplified estimates of the probability of death after burn injuries. \
                    J Trauma 68",
            year: 2010,
            url: "https://doi.org/10.1097/TA.0b013e3181c453b3",
        },
        inputs: &[AGE, AREA, flag("inhalation_injury")],
        caveat: Some("Derived in adults of a burns registry: no limit for care in one patient."),
        compute: |k| {
            let outcome = Outcome::sum([
                ("age", itself(k.age(), 0.0, 120.0)),
                ("tbsa", itself(k.num("tbsa_percent"), 0.0, 100.0)),
                ("inhalation", points(k.flag("inhalation_injury"), 17.0)),
            ]);
            let child = below(k.age(), 18.0) == Some(true);
            Outcome { caveat: child.then_some("Overstates the risk of children."), ..outcome }
        },
    },
];
