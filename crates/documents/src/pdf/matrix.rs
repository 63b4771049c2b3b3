//! Transformations of the plane.

use lopdf::{Document as Pdf, Object};

use super::font::number;

/// A transformation: `x' = a x + c y + e`, `y' = b x + d y + f`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Matrix(pub(super) [f32; 6]);

impl Matrix {
    pub(super) const IDENTITY: Self = Self([1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);

    /// The transformation of six numbers; the identity fills in missing ones.
    pub(super) fn read(pdf: &Pdf, numbers: &[Object]) -> Self {
        let mut matrix = Self::IDENTITY;
        for (place, object) in matrix.0.iter_mut().zip(numbers) {
            *place = number(pdf, object);
        }
        matrix
    }

    pub(super) fn shift(x: f32, y: f32) -> Self {
        Self([1.0, 0.0, 0.0, 1.0, x, y])
    }

    /// First `self`, then `other`.
    pub(super) fn then(self, other: Self) -> Self {
        let [a, b, c, d, e, f] = self.0;
        let [oa, ob, oc, od, oe, of] = other.0;
        Self([
            a * oa + b * oc,
            a * ob + b * od,
            c * oa + d * oc,
            c * ob + d * od,
            e * oa + f * oc + oe,
            e * ob + f * od + of,
        ])
    }

    /// The image of a point.
    pub(super) fn point(self, x: f32, y: f32) -> (f32, f32) {
        let [a, b, c, d, e, f] = self.0;
        (a * x + c * y + e, b * x + d * y + f)
    }
}
