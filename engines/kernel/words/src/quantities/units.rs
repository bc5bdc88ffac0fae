//! Units of measurement: their symbols, how people write them, and conversion.

/// What a unit measures. Units of one dimension convert into each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dimension {
    /// Length.
    Length,
    /// Area.
    Area,
    /// Volume.
    Volume,
    /// Mass.
    Mass,
    /// Time up to weeks.
    Time,
    /// Months and years.
    Calendar,
    /// Speed.
    Speed,
    /// Temperature.
    Temperature,
    /// Pressure, also of blood.
    Pressure,
    /// Volume per time.
    Flow,
    /// Depth of rain per time.
    RainRate,
    /// Frequency of waves.
    Frequency,
    /// Cells in a volume of blood.
    CellCount,
    /// Activity of an enzyme in a volume.
    Enzyme,
    /// Events per time.
    Rate,
    /// Angle.
    Angle,
    /// Percentage.
    Percent,
    /// Power.
    Power,
    /// Energy.
    Energy,
    /// Power over one milliwatt.
    PowerLevel,
    /// Electric potential.
    Voltage,
    /// Dose of radiation.
    Dose,
    /// Dose of radiation per time.
    DoseRate,
    /// Activity of a radioactive source.
    Activity,
    /// Mass per time.
    MassRate,
    /// Mass per volume.
    MassConcentration,
    /// Amount of substance per volume.
    MolarConcentration,
    /// Moment magnitude of an earthquake.
    Magnitude,
}

/// A unit.
#[derive(Debug, PartialEq)]
pub struct Unit {
    /// Symbol, as the catalogue of engines writes it.
    pub symbol: &'static str,
    /// What it measures.
    pub dimension: Dimension,
    /// Value of one unit in the dimension's base unit.
    factor: f64,
    /// Value of zero in the dimension's base unit, in base units.
    offset: f64,
    /// How texts write it after a number. One that consists of letters is matched with its case if it is a symbol.
    pub(super) spellings: &'static [&'static str],
}

macro_rules! units {
    ($($dimension:ident: $($symbol:literal $factor:literal $(+ $offset:literal)? [$($spelling:literal),* $(,)?]),* ;)*) => {
        pub(super) static UNITS: &[Unit] = &[$($(Unit {
            symbol: $symbol,
            dimension: Dimension::$dimension,
            factor: $factor,
            offset: 0.0 $(+ $offset)?,
            spellings: &[$($spelling),*],
        }),*),*];
    };
}

// Factors: BIPM, The International System of Units, 9th edition; NIST Special Publication 811, appendix B.
units! {
    Length:
        "m" 1.0 ["m", "metre", "metres", "meter", "meters"],
        "km" 1000.0 ["km", "kilometre", "kilometres", "kilometer", "kilometers"],
        "cm" 0.01 ["cm", "centimetre", "centimetres", "centimeter", "centimeters"],
        "mm" 0.001 ["mm", "millimetre", "millimetres", "millimeter", "millimeters"],
        "ft" 0.3048 ["ft", "feet", "foot"],
        "in" 0.0254 ["inch", "inches"],
        "yd" 0.9144 ["yd", "yard", "yards"],
        "mi" 1609.344 ["mi", "mile", "miles"],
        "nmi" 1852.0 ["nmi", "NM", "nautical mile", "nautical miles"];
    Area:
        "m2" 1.0 ["m2", "m²", "m^2", "sq m", "square metre", "square metres", "square meter", "square meters"],
        "km2" 1e6 ["km2", "km²", "km^2", "sq km", "square kilometre", "square kilometres", "square kilometer", "square kilometers"],
        "ha" 1e4 ["ha", "hectare", "hectares"],
        "acre" 4046.8564224 ["acre", "acres"],
        "mi2" 2589988.110336 ["mi2", "mi²", "sq mi", "square mile", "square miles"];
    Volume:
        "m3" 1.0 ["m3", "m³", "m^3", "cubic metre", "cubic metres", "cubic meter", "cubic meters"],
        "km3" 1e9 ["km3", "km³", "km^3", "cubic kilometres", "cubic kilometers"],
        "L" 0.001 ["L", "l", "litre", "litres", "liter", "liters"],
        "mL" 1e-6 ["mL", "ml", "millilitre", "millilitres", "milliliter", "milliliters"];
    Mass:
        "kg" 1.0 ["kg", "kilogram", "kilograms", "kilo", "kilos"],
        "g" 0.001 ["g", "gram", "grams"],
        "mg" 1e-6 ["mg", "milligram", "milligrams"],
        "ug" 1e-9 ["ug", "µg", "μg", "mcg", "microgram", "micrograms"],
        "t" 1000.0 ["t", "tonne", "tonnes"],
        "lb" 0.45359237 ["lb", "lbs", "pound", "pounds"];
    Time:
        "s" 1.0 ["s", "sec", "secs", "second", "seconds"],
        "ms" 0.001 ["ms", "millisecond", "milliseconds"],
        "min" 60.0 ["min", "mins", "minute", "minutes"],
        "h" 3600.0 ["h", "hr", "hrs", "hour", "hours"],
        "d" 86400.0 ["d", "day", "days"],
        "week" 604800.0 ["week", "weeks"];
    Calendar:
        "month" 1.0 ["month", "months", "mo"],
        "yr" 12.0 ["yr", "yrs", "year", "years", "years old", "year old", "y/o", "yo"];
    Speed:
        "m/s" 1.0 ["m/s", "mps", "m s-1", "metres per second", "meters per second"],
        "km/h" 0.2777777777777778 ["km/h", "kmh", "kph", "km/hr", "km per hour", "kilometres per hour", "kilometers per hour"],
        "mph" 0.44704 ["mph", "miles per hour"],
        "kt" 0.5144444444444445 ["kt", "kts", "kn", "knot", "knots"],
        "cm/s" 0.01 ["cm/s"],
        "m/min" 0.016666666666666666 ["m/min"],
        "ft/s" 0.3048 ["ft/s", "fps"];
    Temperature:
        "degC" 1.0 + 273.15 ["°C", "° C", "℃", "degC", "deg C", "C", "degrees C", "degrees Celsius", "Celsius", "celsius"],
        "degF" 0.5555555555555556 + 255.3722222222222 ["°F", "° F", "℉", "degF", "deg F", "F", "degrees F", "degrees Fahrenheit", "Fahrenheit", "fahrenheit"],
        "K" 1.0 ["K", "kelvin"];
    Pressure:
        "Pa" 1.0 ["Pa", "pascal", "pascals"],
        "hPa" 100.0 ["hPa", "hpa", "hectopascal", "hectopascals", "mb", "mbar", "millibar", "millibars"],
        "kPa" 1000.0 ["kPa", "kpa", "kilopascal", "kilopascals"],
        "bar" 100000.0 ["bar"],
        "psi" 6894.757293168361 ["psi"],
        "mmHg" 133.322387415 ["mmHg", "mm Hg", "mmhg"],
        "inHg" 3386.389 ["inHg"];
    Flow:
        "m3/s" 1.0 ["m3/s", "m³/s", "m^3/s", "cumecs", "cubic metres per second", "cubic meters per second"],
        "L/s" 0.001 ["L/s", "l/s", "litres per second", "liters per second"];
    RainRate:
        "mm/h" 1.0 ["mm/h", "mm/hr", "mm per hour"],
        "mm/d" 0.041666666666666664 ["mm/d", "mm/day", "mm per day"],
        "in/h" 25.4 ["in/h", "in/hr", "inches per hour"];
    Frequency:
        "Hz" 1.0 ["Hz", "hertz"],
        "kHz" 1e3 ["kHz"],
        "MHz" 1e6 ["MHz"],
        "GHz" 1e9 ["GHz"];
    Rate:
        "1/s" 1.0 ["/s", "per second", "a second"],
        "1/min" 0.016666666666666666 ["/min", "per minute", "a minute", "bpm", "breaths per minute", "beats per minute", "breaths/min", "beats/min"],
        "1/h" 0.0002777777777777778 ["/h", "/hr", "per hour", "an hour"];
    Angle:
        "deg" 1.0 ["°", "deg", "degree", "degrees"],
        "rad" 57.29577951308232 ["rad", "radian", "radians"];
    Percent:
        "%" 1.0 ["%", "percent", "per cent", "pct"];
    Power:
        "W" 1.0 ["W", "watt", "watts"],
        "kW" 1e3 ["kW", "kilowatt", "kilowatts"],
        "MW" 1e6 ["MW", "megawatt", "megawatts"];
    Energy:
        "J" 1.0 ["J", "joule", "joules"],
        "MJ" 1e6 ["MJ", "megajoule", "megajoules"],
        "kWh" 3.6e6 ["kWh", "kilowatt hours", "kilowatt-hours"];
    PowerLevel:
        "dBm" 1.0 ["dBm"];
    Voltage:
        "V" 1.0 ["V", "volt", "volts"],
        "kV" 1e3 ["kV"];
    Dose:
        "mSv" 1.0 ["mSv", "millisievert", "millisieverts"],
        "Sv" 1e3 ["Sv"],
        "uSv" 1e-3 ["uSv", "µSv", "μSv"];
    DoseRate:
        "mSv/h" 1.0 ["mSv/h", "mSv/hr"],
        "uSv/h" 1e-3 ["uSv/h", "µSv/h", "μSv/h", "uSv/hr", "µSv/hr"],
        "Sv/h" 1e3 ["Sv/h", "Sv/hr"];
    Activity:
        "Bq" 1.0 ["Bq"],
        "MBq" 1e6 ["MBq"],
        "GBq" 1e9 ["GBq"],
        "TBq" 1e12 ["TBq"],
        "Ci" 3.7e10 ["Ci", "curie", "curies"];
    MassRate:
        "g/s" 1.0 ["g/s", "grams per second"],
        "kg/s" 1e3 ["kg/s", "kilograms per second"],
        "kg/min" 16.666666666666668 ["kg/min", "kilograms per minute"],
        "kg/h" 0.2777777777777778 ["kg/h", "kg/hr", "kilograms per hour"];
    MassConcentration:
        "mg/L" 1.0 ["mg/L", "mg/l", "milligrams per litre", "milligrams per liter"],
        "ug/m3" 1e-6 ["ug/m3", "µg/m3", "µg/m³", "μg/m3", "μg/m³"],
        "mg/dL" 10.0 ["mg/dL", "mg/dl"],
        "g/dL" 1e4 ["g/dL", "g/dl"],
        "g/L" 1e3 ["g/L", "g/l"],
        "ng/mL" 1e-3 ["ng/mL", "ng/ml"];
    MolarConcentration:
        "mmol/L" 1.0 ["mmol/L", "mmol/l"],
        "umol/L" 1e-3 ["umol/L", "µmol/L", "μmol/L", "umol/l", "µmol/l", "μmol/l"];
    CellCount:
        "1e9/L" 1.0 ["x10^9/L", "x 10^9/L", "×10^9/L", "× 10^9/L", "×10⁹/L", "× 10⁹/L", "x10⁹/L", "x10e9/L", "10^9/L", "10⁹/L", "G/L", "K/uL", "K/µL", "K/μL", "/nL"];
    Enzyme:
        "U/L" 1.0 ["U/L", "IU/L", "U/l"];
    Magnitude:
        "Mw" 1.0 ["Mw"];
}

/// Returns the unit with this symbol.
pub fn unit(symbol: &str) -> Option<&'static Unit> {
    UNITS.iter().find(|unit| unit.symbol == symbol)
}

/// Returns the other units of a dimension.
pub fn alternatives(of: &Unit) -> impl Iterator<Item = &'static Unit> {
    let (dimension, symbol) = (of.dimension, of.symbol);
    UNITS.iter().filter(move |unit| unit.dimension == dimension && unit.symbol != symbol)
}

/// Converts a value; `None` between dimensions. Twelve significant digits are kept, so that 30 km/h to km/h through
/// m/s stays 30.
pub fn convert(value: f64, from: &Unit, to: &Unit) -> Option<f64> {
    if from.symbol == to.symbol {
        return Some(value);
    }
    if from.dimension != to.dimension {
        return None;
    }
    let converted = (value * from.factor + from.offset - to.offset) / to.factor;
    if converted == 0.0 || !converted.is_finite() {
        return Some(converted);
    }
    // Zero Celsius in Fahrenheit is a difference of large numbers: digits count from the larger of the terms.
    let size = converted.abs().max((to.offset / to.factor).abs());
    let scale = 10f64.powi(11 - size.log10().floor() as i32);
    let rounded = (converted * scale).round() / scale;
    Some(if rounded.is_finite() { rounded } else { converted })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(value: f64, from: &str, to: &str) -> Option<f64> {
        convert(value, unit(from).unwrap(), unit(to).unwrap())
    }

    /// Exact by definition, or NIST SP 811.
    #[test]
    fn units_convert() {
        for (value, from, to, wanted) in [
            (1.0, "mi", "km", 1.609344),
            (1.0, "nmi", "km", 1.852),
            (32.0, "degF", "degC", 0.0),
            (212.0, "degF", "degC", 100.0),
            (101.3, "degF", "degC", 38.5),
            (0.0, "degC", "K", 273.15),
            (29.92, "inHg", "hPa", 1013.20758880),
            (36.0, "km/h", "m/s", 10.0),
            (100.0, "kt", "m/s", 51.4444444444),
            (1.0, "g/dL", "mg/dL", 1000.0),
            (250.0, "ha", "km2", 2.5),
            (2.0, "yr", "month", 24.0),
            (30.0, "km/h", "km/h", 30.0),
        ] {
            let found = of(value, from, to).unwrap();
            assert!((found - wanted).abs() <= 1e-9 * wanted.abs().max(1.0), "{value} {from} = {found} {to}");
        }
        assert_eq!(of(1.0, "m", "s"), None);
        assert_eq!(of(1.0, "yr", "d"), None, "years differ in length");
    }

    #[test]
    fn symbols_and_spellings_are_unique() {
        let mut seen = std::collections::HashSet::new();
        for unit in UNITS {
            assert!(seen.insert(unit.symbol), "{}", unit.symbol);
        }
        let mut seen = std::collections::HashSet::new();
        for spelling in UNITS.iter().flat_map(|unit| unit.spellings) {
            assert!(seen.insert(*spelling), "{spelling}");
        }
    }
}
