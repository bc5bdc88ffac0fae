//! What is wrong with a geometry, and where.

/// What is wrong.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum Wrong {
    #[error("longitude {0} is not within -180 to 180 (positions are longitude, latitude)")]
    Longitude(f64),
    #[error("latitude {0} is not within -90 to 90 (positions are longitude, latitude)")]
    Latitude(f64),
    #[error("altitude {0} is not a finite number of metres")]
    Altitude(f64),
    #[error("radius_m {0} is not more than 0 and at most half around the globe, 20015115")]
    Radius(f64),
    #[error("west, south, east, north with south at most north is needed")]
    Box,
    #[error("a polygon needs a ring")]
    NoRing,
    #[error("nothing is in it")]
    Empty,
    #[error("a ring needs at least 4 positions, the last like the first; it has {0}")]
    TooShort(usize),
    #[error("the ring is not closed: its last position must be like its first")]
    Open,
    #[error("the ring encloses nothing: it has fewer than 3 positions that differ, or returns on its own edge")]
    Flat,
    #[error("the ring crosses or touches itself")]
    SelfIntersecting,
    #[error("the ring winds around the globe more than once")]
    Winding,
    #[error("too many edges run close along each other to be looked at: simplify it, or cut it into several polygons")]
    Intricate,
    #[error("the rings cross")]
    RingsCross,
    #[error("the hole is not inside its polygon")]
    HoleOutside,
    #[error("more than {max} positions: simplify it", max = crate::MAX_VERTICES)]
    TooManyVertices,
    #[error("more than {max} members", max = crate::MAX_MEMBERS)]
    TooManyMembers,
    #[error("a collection within a collection (RFC 7946, 3.1.8)")]
    Nested,
}

/// A geometry that is refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{at}: {wrong}")]
pub struct GeometryError {
    /// The place, such as `coordinates[0][3]`, from the geometry's own object on.
    pub at: String,
    pub wrong: Wrong,
}

impl GeometryError {
    pub(crate) fn new(at: impl Into<String>, wrong: Wrong) -> Self {
        Self { at: at.into(), wrong }
    }
}
