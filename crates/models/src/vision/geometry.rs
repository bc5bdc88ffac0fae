//! Rectangles of lines of text, at any angle.

use super::{PixelBox, RgbImage, Rotation};

/// A rectangle around a line of text. Coordinates in pixels, y downwards; the centre of the first pixel is at 0.5.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LineBox {
    pub(super) center: [f32; 2],
    /// Direction of reading, of length 1.
    pub(super) along: [f32; 2],
    /// Extent along the direction of reading.
    pub(super) length: f32,
    /// Extent across it.
    pub(super) height: f32,
}

impl LineBox {
    /// Direction from the top of the letters to their feet.
    pub(super) fn down(&self) -> [f32; 2] {
        let [x, y] = self.along;
        [-y, x]
    }

    /// Point at these shares of length and height, from the top left as one reads: (0, 0) to (1, 1).
    pub(super) fn point(&self, along: f32, down: f32) -> [f32; 2] {
        let (along, down) = ((along - 0.5) * self.length, (down - 0.5) * self.height);
        let [[x, y], [ax, ay], [dx, dy]] = [self.center, self.along, self.down()];
        [x + ax * along + dx * down, y + ay * along + dy * down]
    }

    /// Corners, clockwise from the top left as one reads.
    pub(super) fn corners(&self) -> [[f32; 2]; 4] {
        [self.point(0.0, 0.0), self.point(1.0, 0.0), self.point(1.0, 1.0), self.point(0.0, 1.0)]
    }

    /// Whether it is a column rather than a line.
    pub(super) fn is_tall(&self) -> bool {
        self.height > 1.5 * self.length
    }

    /// Direction of reading in degrees clockwise from rightwards, −180 to 180.
    pub(super) fn angle(&self) -> f32 {
        let [x, y] = self.along;
        y.atan2(x).to_degrees()
    }

    /// The same rectangle, read in the direction that is rightwards once the picture has been turned.
    pub(super) fn read_after(self, rotation: Rotation) -> Self {
        let [x, y] = self.along;
        let (length, height) = (self.length, self.height);
        match rotation {
            Rotation::None => self,
            Rotation::Quarter => Self { along: [y, -x], length: height, height: length, ..self },
            Rotation::Half => Self { along: [-x, -y], ..self },
            Rotation::ThreeQuarters => Self { along: [-y, x], length: height, height: length, ..self },
        }
    }

    /// The rectangle of a turned picture, in the picture before the turn, which has this size.
    pub(super) fn before(self, rotation: Rotation, width: f32, height: f32) -> Self {
        let [x, y] = self.center;
        let [ax, ay] = self.along;
        let (center, along) = match rotation {
            Rotation::None => (self.center, self.along),
            Rotation::Quarter => ([y, height - x], [ay, -ax]),
            Rotation::Half => ([width - x, height - y], [-ax, -ay]),
            Rotation::ThreeQuarters => ([width - y, x], [-ay, ax]),
        };
        Self { center, along, ..self }
    }

    /// Part of the rectangle between two shares of its length.
    pub(super) fn part(&self, from: f32, to: f32) -> Self {
        Self { center: self.point(f32::midpoint(from, to), 0.5), length: self.length * (to - from), ..*self }
    }

    /// Axis-parallel rectangle around it, cut at the edges of the picture.
    pub(super) fn bounds(&self, image: RgbImage) -> PixelBox {
        let corners = self.corners();
        let range = |axis: fn(&[f32; 2]) -> f32, limit: u32| {
            let low = corners.iter().map(axis).fold(f32::INFINITY, f32::min);
            let high = corners.iter().map(axis).fold(f32::NEG_INFINITY, f32::max);
            (low.clamp(0.0, limit as f32), high.clamp(0.0, limit as f32))
        };
        let (left, right) = range(|[x, _]| *x, image.width);
        let (top, bottom) = range(|[_, y]| *y, image.height);
        PixelBox { x: left, y: top, width: right - left, height: bottom - top }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UPRIGHT: LineBox = LineBox { center: [30.0, 10.0], along: [1.0, 0.0], length: 40.0, height: 8.0 };

    #[test]
    fn corners_go_clockwise_from_the_top_left() {
        assert_eq!(UPRIGHT.corners(), [[10.0, 6.0], [50.0, 6.0], [50.0, 14.0], [10.0, 14.0]]);
        assert_eq!(UPRIGHT.part(0.25, 0.5).corners()[0], [20.0, 6.0]);
    }

    #[test]
    fn a_box_of_a_turned_picture_maps_back_to_where_it_was() {
        // In a picture of 100 x 50: the pixel (x, y) is at (50 - y, x) after a clockwise quarter turn.
        let found = LineBox { center: [50.0 - 10.0, 30.0], along: [1.0, 0.0], length: 8.0, height: 40.0 };
        let back = found.before(Rotation::Quarter, 100.0, 50.0);
        assert_eq!((back.center, back.along), ([30.0, 10.0], [0.0, -1.0]));
        assert!((back.angle() + 90.0).abs() < 1e-4);
        let half = UPRIGHT.before(Rotation::Half, 100.0, 50.0);
        assert_eq!((half.center, half.along), ([70.0, 40.0], [-1.0, -0.0]));
        let last = LineBox { center: [10.0, 70.0], ..found }.before(Rotation::ThreeQuarters, 100.0, 50.0);
        assert_eq!((last.center, last.along), ([30.0, 10.0], [-0.0, 1.0]));
    }

    #[test]
    fn reading_after_a_turn_keeps_the_place_and_changes_the_direction() {
        let read = UPRIGHT.read_after(Rotation::Quarter);
        assert_eq!((read.along, read.length, read.height), ([0.0, -1.0], 8.0, 40.0));
        let image = RgbImage { width: 100, height: 50, pixels: &[] };
        for rotation in [Rotation::None, Rotation::Quarter, Rotation::Half, Rotation::ThreeQuarters] {
            let expected = PixelBox { x: 10.0, y: 6.0, width: 40.0, height: 8.0 };
            assert_eq!(UPRIGHT.read_after(rotation).bounds(image), expected);
        }
    }

    #[test]
    fn bounds_are_cut_at_the_edges() {
        let image = RgbImage { width: 40, height: 12, pixels: &[] };
        assert_eq!(UPRIGHT.bounds(image), PixelBox { x: 10.0, y: 6.0, width: 30.0, height: 6.0 });
    }
}
