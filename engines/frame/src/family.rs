//! Families of engines, and the registration of a family's engines.

use std::sync::OnceLock;

use serde::Serialize;
use serde_json::Value;

use crate::catalogue;
use crate::context::Context;
use crate::engine::Engine;
use crate::failure::Failure;
use crate::vector::Vector;
use crate::wire::Shape;

macro_rules! families {
    ($($family:ident = $name:literal $first:literal..=$last:literal, $meaning:literal;)*) => {
        /// Engine families, in the catalogue's order.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Family {
            $(#[doc = $meaning] $family,)*
        }

        impl Family {
            /// All families.
            pub const ALL: [Self; 15] = [$(Self::$family),*];

            /// Returns the name of the family.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$family => $name),*
                }
            }

            /// Returns the family with this name.
            pub fn of_name(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|family| family.name() == name)
            }

            /// Returns the family in whose numbers this is.
            pub const fn of_number(number: u16) -> Option<Self> {
                match number {
                    $($first..=$last => Some(Self::$family),)*
                    _ => None,
                }
            }
        }
    };
}

families! {
    Geo = "geo" 1..=20, "Places, shapes, grids, terrain.";
    Hazard = "hazard" 21..=46, "Weather and hazards.";
    Network = "network" 47..=56, "Networks and graphs.";
    Platform = "platform" 57..=62, "Operation of the platform.";
    Logistics = "logistics" 63..=82, "Emergency logistics and operations research.";
    Stats = "stats" 83..=104, "Statistics and time series.";
    Data = "data" 105..=121, "Tables, documents and series.";
    Finance = "finance" 122..=130, "Finance and cost.";
    Security = "security" 131..=155, "Defensive security checks.";
    Llm = "llm" 156..=166, "Language models, retrieval, translation.";
    Text = "text" 167..=186, "Text.";
    Code = "code" 187..=202, "Source code.";
    Crypto = "crypto" 203..=213, "Cryptography and encodings.";
    Medical = "medical" 214..=236, "Medical scores and public health.";
    Docs = "docs" 237..=247, "Documents and media.";
}

/// The engines of a family in this build.
#[derive(Debug)]
pub struct FamilyEngines {
    /// Name of the family.
    name: &'static str,
    /// The catalogue's file, as TOML.
    catalogue: &'static str,
    /// The reference vectors, as a JSON array.
    vectors: &'static str,
    functions: &'static [Registration],
    engines: OnceLock<Vec<Engine>>,
    read_vectors: OnceLock<Vec<Vector>>,
}

/// The function of an engine.
#[derive(Debug, Clone, Copy)]
pub struct Registration {
    /// Number of the engine.
    pub number: u16,
    /// Name of its module: the catalogue's id with `_` for `-`.
    pub module: &'static str,
    /// Its function on a validated input.
    pub function: fn(Value, &Context) -> Result<Value, Failure>,
    /// Shapes of input and output.
    pub shapes: fn() -> (Shape, Shape),
}

impl FamilyEngines {
    /// Registers a family; called by [`family!`](crate::family!).
    pub const fn new(
        name: &'static str,
        catalogue: &'static str,
        vectors: &'static str,
        functions: &'static [Registration],
    ) -> Self {
        Self { name, catalogue, vectors, functions, engines: OnceLock::new(), read_vectors: OnceLock::new() }
    }

    /// Returns the name of the family.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns what is registered.
    pub fn registrations(&self) -> &'static [Registration] {
        self.functions
    }

    /// Whether an engine with this number is registered; does not read the catalogue.
    pub fn has(&self, number: u16) -> bool {
        self.functions.iter().any(|registration| registration.number == number)
    }

    /// Returns the engines that are built, by number. The catalogue is read on the first call.
    pub fn engines(&'static self) -> &'static [Engine] {
        self.engines.get_or_init(|| catalogue::engines(self.catalogue, self.functions).unwrap_or_default())
    }

    /// Returns the engine with this number.
    pub fn by_number(&'static self, number: u16) -> Option<&'static Engine> {
        self.engines().iter().find(|engine| engine.number == number)
    }

    /// Validates the input and runs the engine with this number.
    ///
    /// # Errors
    /// Those of the engine, or `Internal` if it is not registered.
    pub fn run(&'static self, number: u16, input: Value, context: &Context) -> Result<Value, Failure> {
        let engine = self.by_number(number);
        let engine = engine.ok_or_else(|| Failure::internal(format!("q{number} is not in {}", self.name)))?;
        engine.run(input, context)
    }

    /// Returns the text of the catalogue.
    pub fn catalogue(&self) -> &'static str {
        self.catalogue
    }

    /// Returns the reference vector of an engine. The vectors are read on the first call.
    pub fn vector(&'static self, engine: &Engine) -> Option<&'static Vector> {
        let vectors = self.read_vectors.get_or_init(|| serde_json::from_str(self.vectors).unwrap_or_default());
        vectors.iter().find(|vector| vector.engine == engine.id)
    }
}

/// Registers the engines of a family: `family!("hazard"; 21 heat_stress, 22 cold_stress)`. Each module has the function
/// `run(input: Input, cx: &Context) -> Result<Output, Failure>`. Defines the static `FAMILY`.
#[macro_export]
macro_rules! family {
    ($name:literal; $($number:literal $module:ident),* $(,)?) => {
        /// The engines of this family in this build.
        pub static FAMILY: $crate::FamilyEngines = $crate::FamilyEngines::new(
            $name,
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../catalogue/", $name, ".toml")),
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../catalogue/vectors/", $name, ".json")),
            &[$($crate::Registration {
                number: $number,
                module: stringify!($module),
                function: |input, context| $crate::call($module::run, input, context),
                shapes: || $crate::shapes($module::run),
            }),*],
        );
    };
}
