//! Currencies of ISO 4217 and their minor units (q126).

/// Codes with two decimals; `data/README.md` says from where.
const TWO: &str = include_str!("../data/currencies.txt");
const OTHERS: [(&str, u32); 26] = [
    ("BHD", 3),
    ("BIF", 0),
    ("CLF", 4),
    ("CLP", 0),
    ("DJF", 0),
    ("GNF", 0),
    ("IQD", 3),
    ("ISK", 0),
    ("JOD", 3),
    ("JPY", 0),
    ("KMF", 0),
    ("KRW", 0),
    ("KWD", 3),
    ("LYD", 3),
    ("OMR", 3),
    ("PYG", 0),
    ("RWF", 0),
    ("TND", 3),
    ("UGX", 0),
    ("UYI", 0),
    ("UYW", 4),
    ("VND", 0),
    ("VUV", 0),
    ("XAF", 0),
    ("XOF", 0),
    ("XPF", 0),
];

/// Returns the decimals of a currency; `None` for what is no currency or has no minor unit, such as gold.
pub(crate) fn minor_units(code: &str) -> Option<u32> {
    let other = OTHERS.iter().find(|(known, _)| *known == code).map(|(_, digits)| *digits);
    other.or_else(|| TWO.split_ascii_whitespace().any(|known| known == code).then_some(2))
}
