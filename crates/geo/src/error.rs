//! Errors of geometries.

/// Kinds of [`GeometryError`].
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum GeometryErrorKind {
    /// A longitude is out of range.
    #[error("longitude {0} is not within -180 to 180 (positions are longitude, latitude)")]
    Longitude(f64),
    /// A latitude is out of range.
    #[error("latitude {0} is not within -90 to 90 (positions are longitude, latitude)")]
    Latitude(f64),
    /// An altitude is not finite.
    #[error("altitude {0} is not a finite number of metres")]
    Altitude(f64),
    /// A radius is out of range.
    #[error("radius_m {0} must be greater than 0 and at most half of the Earth's circumference, 20015115")]
    Radius(f64),
    /// A bounding box is malformed.
    #[error("the box must be west, south, east, north, with south <= north")]
    Box,
    /// A polygon has no ring.
    #[error("a polygon must have at least one ring")]
    NoRing,
    /// The geometry contains nothing.
    #[error("the geometry is empty")]
    Empty,
    /// A ring has too few positions.
    #[error("a ring must have at least 4 positions, the last equal to the first; it has {0}")]
    TooShort(usize),
    /// The last position of a ring does not equal its first.
    #[error("the ring is not closed: its last position must equal its first")]
    NotClosed,
    /// A ring encloses no area.
    #[error("the ring encloses nothing: it has fewer than 3 distinct positions, or retraces its own edge")]
    Degenerate,
    /// A ring intersects itself.
    #[error("the ring crosses or touches itself")]
    SelfIntersecting,
    /// A ring winds around the globe more than once.
    #[error("the ring winds around the globe more than once")]
    Winding,
    /// Too many edges are close to each other to be compared.
    #[error("too many edges run close to each other: simplify the geometry, or send it in several requests")]
    TooComplex,
    /// The rings of a polygon cross.
    #[error("the rings of the polygon cross")]
    RingsCross,
    /// A hole is outside of its polygon.
    #[error("the hole is not inside its polygon")]
    HoleOutside,
    /// The geometry has more than [`MAX_VERTICES`](crate::MAX_VERTICES) positions.
    #[error("more than {max} positions: simplify it", max = crate::MAX_VERTICES)]
    TooManyVertices,
    /// The geometry has more than [`MAX_MEMBERS`](crate::MAX_MEMBERS) members.
    #[error("more than {max} members", max = crate::MAX_MEMBERS)]
    TooManyMembers,
    /// A collection contains a collection.
    #[error("a GeometryCollection must not contain another one (RFC 7946, 3.1.8)")]
    Nested,
}

/// Describes why a geometry is invalid.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{at}: {kind}")]
pub struct GeometryError {
    /// Path of the invalid part within the geometry's object, such as `coordinates[0][3]`.
    pub at: String,
    /// What is wrong.
    pub kind: GeometryErrorKind,
}

impl GeometryError {
    pub(crate) fn new(at: impl Into<String>, kind: GeometryErrorKind) -> Self {
        Self { at: at.into(), kind }
    }
}
