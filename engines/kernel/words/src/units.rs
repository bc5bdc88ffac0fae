//! Units of measurement: how they are written, and conversion between those of one dimension.

use std::collections::HashMap;
use std::sync::LazyLock;

/// What a unit measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dimension {
    /// Metres.
    Length,
    /// Square metres.
    Area,
    /// Cubic metres.
    Volume,
    /// Kilograms.
    Mass,
    /// Seconds.
    Time,
    /// Metres a second.
    Speed,
    /// Kelvin.
    Temperature,
    /// Pascals.
    Pressure,
    /// Cubic metres a second.
    Flow,
    /// Watts.
    Power,
    /// Joules.
    Energy,
    /// Hertz.
    Frequency,
    /// Degrees.
    Angle,
    /// Shares: 1 is the whole.
    Ratio,
    /// Metres a second of depth, as of rain.
    Rate,
    /// Kilograms in a cubic metre.
    Concentration,
    /// Volts.
    Voltage,
    /// Amperes.
    Current,
    /// Coulombs.
    Charge,
    /// Bytes.
    Data,
    /// Sieverts.
    Dose,
    /// Decibels relative to a milliwatt.
    Level,
    /// Newtons.
    Force,
}

/// A unit.
#[derive(Debug, PartialEq)]
pub struct Unit {
    /// Its spelling in the engines' catalogue where it has one, else the usual symbol.
    pub id: &'static str,
    /// What it measures.
    pub dimension: Dimension,
    /// Size in the base unit of the dimension.
    pub factor: f64,
    /// Added after the factor: kelvins of zero.
    pub offset: f64,
    /// Symbols, in the case in which they are written.
    symbols: &'static [&'static str],
    /// Names in lower case without diacritics.
    names: &'static [&'static str],
}

const fn unit(
    id: &'static str,
    dimension: Dimension,
    factor: f64,
    symbols: &'static [&'static str],
    names: &'static [&'static str],
) -> Unit {
    Unit { id, dimension, factor, offset: 0.0, symbols, names }
}

const fn temperature(
    id: &'static str,
    factor: f64,
    offset: f64,
    symbols: &'static [&'static str],
    names: &'static [&'static str],
) -> Unit {
    Unit { id, dimension: Dimension::Temperature, factor, offset, symbols, names }
}

/// Factors are those of BIPM's SI Brochure (9th edition, 2019, tables 2 to 8) and NIST SP 811 (2008), appendix B.8.
/// A tonne is metric, a gallon, pint and short ton those of the USA unless they are called imperial or long.
static UNITS: &[Unit] = &[
    unit("mm", Dimension::Length, 1e-3, &["mm"], &["millimetre", "millimetres", "millimeter", "millimeters"]),
    unit("cm", Dimension::Length, 1e-2, &["cm"], &["centimetre", "centimetres", "centimeter", "centimeters"]),
    unit("m", Dimension::Length, 1.0, &["m"], &["metre", "metres", "meter", "meters", "metros", "metri"]),
    unit(
        "km",
        Dimension::Length,
        1e3,
        &["km", "KM", "Km"],
        &["kilometre", "kilometres", "kilometer", "kilometers", "kilometros", "kilometri", "km"],
    ),
    unit("in", Dimension::Length, 0.0254, &[], &["inch", "inches"]),
    unit("ft", Dimension::Length, 0.3048, &["ft"], &["foot", "feet", "ft"]),
    unit("yd", Dimension::Length, 0.9144, &["yd"], &["yard", "yards"]),
    unit("mi", Dimension::Length, 1_609.344, &["mi"], &["mile", "miles", "statute miles"]),
    unit("nmi", Dimension::Length, 1_852.0, &["nmi", "NM"], &["nautical mile", "nautical miles", "nm"]),
    unit(
        "m2",
        Dimension::Area,
        1.0,
        &["m2", "m²", "sqm"],
        &["square metre", "square metres", "square meter", "square meters", "sq m"],
    ),
    unit("ha", Dimension::Area, 1e4, &["ha"], &["hectare", "hectares", "hectareas", "hektar"]),
    unit(
        "km2",
        Dimension::Area,
        1e6,
        &["km2", "km²"],
        &["square kilometre", "square kilometres", "square kilometer", "square kilometers", "sq km"],
    ),
    unit("acre", Dimension::Area, 4_046.872_609_874_252, &[], &["acre", "acres"]),
    unit("ft2", Dimension::Area, 0.092_903_04, &["ft2", "ft²", "sqft"], &["square foot", "square feet", "sq ft"]),
    unit("mi2", Dimension::Area, 2_589_988.110_336, &["mi2", "mi²"], &["square mile", "square miles", "sq mi"]),
    unit("mL", Dimension::Volume, 1e-6, &["mL", "ml"], &["millilitre", "millilitres", "milliliter", "milliliters"]),
    unit("L", Dimension::Volume, 1e-3, &["L", "l"], &["litre", "litres", "liter", "liters", "litros", "litri"]),
    unit("m3", Dimension::Volume, 1.0, &["m3", "m³"], &["cubic metre", "cubic metres", "cubic meter", "cubic meters"]),
    unit("gal", Dimension::Volume, 3.785_411_784e-3, &["gal"], &["gallon", "gallons", "us gallon", "us gallons"]),
    unit("imp gal", Dimension::Volume, 4.546_09e-3, &[], &["imperial gallon", "imperial gallons"]),
    unit("bbl", Dimension::Volume, 0.158_987_294_928, &["bbl"], &["barrel", "barrels"]),
    unit("ug", Dimension::Mass, 1e-9, &["ug", "µg", "μg", "mcg"], &["microgram", "micrograms"]),
    unit("mg", Dimension::Mass, 1e-6, &["mg"], &["milligram", "milligrams"]),
    unit("g", Dimension::Mass, 1e-3, &["g"], &["gram", "grams", "gramme", "grammes", "gramm"]),
    unit(
        "kg",
        Dimension::Mass,
        1.0,
        &["kg", "Kg", "KG"],
        &["kilogram", "kilograms", "kilo", "kilos", "kilogramme", "kilogrammes"],
    ),
    unit(
        "t",
        Dimension::Mass,
        1e3,
        &["t"],
        &["tonne", "tonnes", "metric ton", "metric tons", "metric tonnes", "toneladas", "tonnen"],
    ),
    unit("lb", Dimension::Mass, 0.453_592_37, &["lb", "lbs"], &["pound", "pounds"]),
    unit("oz", Dimension::Mass, 0.028_349_523_125, &["oz"], &["ounce", "ounces"]),
    unit("short ton", Dimension::Mass, 907.184_74, &[], &["short ton", "short tons", "us ton", "us tons"]),
    unit("ms", Dimension::Time, 1e-3, &["ms"], &["millisecond", "milliseconds"]),
    unit("s", Dimension::Time, 1.0, &["s"], &["sec", "secs", "second", "seconds", "segundos", "secondes", "sekunden"]),
    unit("min", Dimension::Time, 60.0, &["min"], &["min", "mins", "minute", "minutes", "minutos", "minuten", "minuti"]),
    unit(
        "h",
        Dimension::Time,
        3_600.0,
        &["h"],
        &["hr", "hrs", "hour", "hours", "hora", "horas", "heure", "heures", "stunde", "stunden", "ore"],
    ),
    unit(
        "d",
        Dimension::Time,
        86_400.0,
        &["d"],
        &["day", "days", "dia", "dias", "jour", "jours", "tag", "tage", "tagen", "giorni"],
    ),
    unit("wk", Dimension::Time, 604_800.0, &[], &["week", "weeks", "semanas", "semaines", "wochen"]),
    unit("month", Dimension::Time, 2_629_746.0, &[], &["month", "months", "meses", "mois", "monate", "monaten"]),
    unit("yr", Dimension::Time, 31_556_952.0, &["yr", "yrs"], &["year", "years", "anos", "ans", "jahre", "jahren"]),
    unit(
        "m/s",
        Dimension::Speed,
        1.0,
        &["m/s", "mps"],
        &["metres per second", "meters per second", "metre per second", "meter per second", "m per second"],
    ),
    unit(
        "km/h",
        Dimension::Speed,
        1.0 / 3.6,
        &["km/h", "kph", "kmh", "km/hr"],
        &["kilometres per hour", "kilometers per hour", "kilometres an hour", "kilometers an hour", "km per hour"],
    ),
    unit("mph", Dimension::Speed, 0.447_04, &["mph", "mi/h"], &["miles per hour", "miles an hour", "mph"]),
    unit("kn", Dimension::Speed, 1_852.0 / 3_600.0, &["kn", "kt", "kts"], &["knot", "knots", "kts"]),
    unit("ft/s", Dimension::Speed, 0.3048, &["ft/s", "fps"], &["feet per second"]),
    temperature(
        "degC",
        1.0,
        273.15,
        &["°C", "℃", "degC"],
        &["degrees celsius", "degree celsius", "celsius", "degrees c", "deg c", "grad celsius", "grados celsius"],
    ),
    temperature(
        "degF",
        5.0 / 9.0,
        459.67 * 5.0 / 9.0,
        &["°F", "℉", "degF"],
        &["degrees fahrenheit", "degree fahrenheit", "fahrenheit", "degrees f", "deg f"],
    ),
    temperature("K", 1.0, 0.0, &["K"], &["kelvin", "kelvins"]),
    unit("Pa", Dimension::Pressure, 1.0, &["Pa"], &["pascal", "pascals"]),
    unit("hPa", Dimension::Pressure, 100.0, &["hPa"], &["hectopascal", "hectopascals"]),
    unit("kPa", Dimension::Pressure, 1e3, &["kPa"], &["kilopascal", "kilopascals"]),
    unit("mbar", Dimension::Pressure, 100.0, &["mbar", "mb"], &["millibar", "millibars"]),
    unit("bar", Dimension::Pressure, 1e5, &["bar"], &["bar", "bars"]),
    unit("psi", Dimension::Pressure, 6_894.757_293_168_361, &["psi"], &[]),
    unit("mmHg", Dimension::Pressure, 133.322_387_415, &["mmHg"], &["mm hg", "mmhg"]),
    unit("L/s", Dimension::Flow, 1e-3, &["L/s", "l/s"], &["litres per second", "liters per second"]),
    unit("L/min", Dimension::Flow, 1e-3 / 60.0, &["L/min", "l/min"], &["litres per minute", "liters per minute"]),
    unit(
        "m3/h",
        Dimension::Flow,
        1.0 / 3_600.0,
        &["m3/h", "m³/h"],
        &["cubic metres per hour", "cubic meters per hour"],
    ),
    unit(
        "m3/s",
        Dimension::Flow,
        1.0,
        &["m3/s", "m³/s", "cumecs"],
        &["cubic metres per second", "cubic meters per second", "cumecs"],
    ),
    unit("ft3/s", Dimension::Flow, 0.028_316_846_592, &["cfs", "ft3/s", "ft³/s"], &["cubic feet per second"]),
    unit("W", Dimension::Power, 1.0, &["W"], &["watt", "watts"]),
    unit("kW", Dimension::Power, 1e3, &["kW"], &["kilowatt", "kilowatts"]),
    unit("MW", Dimension::Power, 1e6, &["MW"], &["megawatt", "megawatts"]),
    unit("hp", Dimension::Power, 745.699_871_582_270_2, &["hp"], &["horsepower"]),
    unit("J", Dimension::Energy, 1.0, &["J"], &["joule", "joules"]),
    unit("kJ", Dimension::Energy, 1e3, &["kJ"], &["kilojoule", "kilojoules"]),
    unit(
        "kWh",
        Dimension::Energy,
        3.6e6,
        &["kWh", "KWh"],
        &["kilowatt hour", "kilowatt hours", "kilowatt-hours", "kwh"],
    ),
    unit("Wh", Dimension::Energy, 3.6e3, &["Wh"], &["watt hours"]),
    unit("kcal", Dimension::Energy, 4_184.0, &["kcal"], &["kilocalorie", "kilocalories"]),
    unit("Hz", Dimension::Frequency, 1.0, &["Hz"], &["hertz"]),
    unit("kHz", Dimension::Frequency, 1e3, &["kHz"], &["kilohertz"]),
    unit("MHz", Dimension::Frequency, 1e6, &["MHz", "Mhz"], &["megahertz", "mhz"]),
    unit("GHz", Dimension::Frequency, 1e9, &["GHz", "Ghz"], &["gigahertz", "ghz"]),
    unit("deg", Dimension::Angle, 1.0, &["°", "deg"], &["degree", "degrees", "deg"]),
    unit("rad", Dimension::Angle, 57.295_779_513_082_32, &["rad"], &["radian", "radians"]),
    unit(
        "%",
        Dimension::Ratio,
        0.01,
        &["%", "٪", "％"],
        &["percent", "per cent", "pct", "prozent", "por ciento", "pour cent"],
    ),
    unit("ppm", Dimension::Ratio, 1e-6, &["ppm"], &["parts per million"]),
    unit(
        "mm/h",
        Dimension::Rate,
        1e-3 / 3_600.0,
        &["mm/h", "mm/hr"],
        &["millimetres per hour", "millimeters per hour", "mm per hour", "mm an hour"],
    ),
    unit(
        "mm/d",
        Dimension::Rate,
        1e-3 / 86_400.0,
        &["mm/d", "mm/day"],
        &["millimetres per day", "millimeters per day", "mm per day", "mm a day"],
    ),
    unit(
        "mg/L",
        Dimension::Concentration,
        1e-3,
        &["mg/L", "mg/l"],
        &["milligrams per litre", "milligrams per liter", "mg per litre", "mg per liter"],
    ),
    unit(
        "ug/m3",
        Dimension::Concentration,
        1e-9,
        &["ug/m3", "µg/m3", "µg/m³", "μg/m3", "μg/m³"],
        &["micrograms per cubic metre", "micrograms per cubic meter"],
    ),
    unit("g/dL", Dimension::Concentration, 10.0, &["g/dL", "g/dl"], &["grams per decilitre", "grams per deciliter"]),
    unit(
        "kg/m3",
        Dimension::Concentration,
        1.0,
        &["kg/m3", "kg/m³"],
        &["kilograms per cubic metre", "kilograms per cubic meter"],
    ),
    unit("V", Dimension::Voltage, 1.0, &["V"], &["volt", "volts"]),
    unit("kV", Dimension::Voltage, 1e3, &["kV"], &["kilovolt", "kilovolts"]),
    unit("A", Dimension::Current, 1.0, &["A"], &["amp", "amps", "ampere", "amperes"]),
    unit("mA", Dimension::Current, 1e-3, &["mA"], &["milliamp", "milliamps"]),
    unit("Ah", Dimension::Charge, 3_600.0, &["Ah"], &["amp hours", "ampere hours"]),
    unit("bytes", Dimension::Data, 1.0, &["B"], &["byte", "bytes"]),
    unit("kB", Dimension::Data, 1e3, &["kB", "KB"], &["kilobyte", "kilobytes"]),
    unit("MB", Dimension::Data, 1e6, &["MB"], &["megabyte", "megabytes"]),
    unit("GB", Dimension::Data, 1e9, &["GB"], &["gigabyte", "gigabytes"]),
    unit("KiB", Dimension::Data, 1_024.0, &["KiB"], &["kibibyte", "kibibytes"]),
    unit("MiB", Dimension::Data, 1_048_576.0, &["MiB"], &["mebibyte", "mebibytes"]),
    unit("uSv", Dimension::Dose, 1e-6, &["uSv", "µSv", "μSv"], &["microsievert", "microsieverts"]),
    unit("mSv", Dimension::Dose, 1e-3, &["mSv"], &["millisievert", "millisieverts"]),
    unit("Sv", Dimension::Dose, 1.0, &["Sv"], &["sievert", "sieverts"]),
    unit("dBm", Dimension::Level, 1.0, &["dBm"], &["dbm"]),
    unit("N", Dimension::Force, 1.0, &[], &["newton", "newtons"]),
    unit("kN", Dimension::Force, 1e3, &["kN"], &["kilonewton", "kilonewtons"]),
];

/// Words of the longest name, with signs as words of their own.
pub(crate) const MAX_WORDS: usize = 5;

struct Table {
    symbols: HashMap<&'static str, &'static Unit>,
    names: HashMap<&'static str, &'static Unit>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut table = Table { symbols: HashMap::new(), names: HashMap::new() };
    for unit in UNITS {
        table.symbols.extend(unit.symbols.iter().map(|symbol| (*symbol, unit)));
        table.names.extend(unit.names.iter().map(|name| (*name, unit)));
    }
    table
});

/// Returns a unit by its symbol, in the case in which it is written, or by its name in lower case without diacritics.
pub fn find(symbol: &str, name: &str) -> Option<&'static Unit> {
    TABLE.symbols.get(symbol).or_else(|| TABLE.names.get(name)).copied()
}

/// Returns a unit by its id.
pub fn by_id(id: &str) -> Option<&'static Unit> {
    UNITS.iter().find(|unit| unit.id == id)
}

/// Converts a value; `None` if the units measure different things.
pub fn convert(value: f64, from: &Unit, to: &Unit) -> Option<f64> {
    if from.dimension != to.dimension {
        return None;
    }
    if from.id == to.id {
        return Some(value);
    }
    // A division by the larger factor keeps round numbers round: 3.5 t are 3500 kg, 250 m are 0.25 km.
    let base = value * from.factor + from.offset - to.offset;
    let converted = if to.factor < 1.0 { base * (1.0 / to.factor) } else { base / to.factor };
    // Twelve digits: more would show the rounding of the factors.
    let rounded = format!("{converted:.11e}").parse().ok();
    rounded.filter(|value: &f64| value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_spelling_is_that_of_one_unit() {
        let mut seen = HashMap::new();
        for unit in UNITS {
            for symbol in unit.symbols {
                assert_eq!(seen.insert(*symbol, unit.id), None, "{symbol}");
            }
        }
        let mut seen = HashMap::new();
        for unit in UNITS {
            for name in unit.names {
                assert_eq!(seen.insert(*name, unit.id), None, "{name}");
                assert!(name.split(' ').count() <= MAX_WORDS, "{name}");
            }
        }
    }

    /// NIST SP 811, appendix B.8.
    #[test]
    fn conversions() {
        for (value, from, to, expected) in [
            (10.0, "mph", "m/s", 4.4704),
            (32.0, "degF", "degC", 0.0),
            (212.0, "degF", "degC", 100.0),
            (3.5, "t", "kg", 3_500.0),
            (1.0, "acre", "ha", 0.404_687_260_987),
            (36.0, "km/h", "m/s", 10.0),
            (1.0, "kn", "km/h", 1.852),
            (29.0, "%", "ppm", 290_000.0),
        ] {
            let found = convert(value, by_id(from).unwrap(), by_id(to).unwrap()).unwrap();
            assert!((found - expected).abs() <= 1e-11 * expected.abs().max(1.0), "{value} {from}: {found} {to}");
        }
        assert_eq!(convert(1.0, by_id("m").unwrap(), by_id("s").unwrap()), None);
    }
}
