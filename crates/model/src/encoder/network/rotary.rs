//! Rotations of queries and keys by their positions.

use super::{Rotary, Stretch};
use crate::kernels::rotation::rotate_inlined;
use crate::kernels::wide::widest;

/// Cosines and sines of the positions of a text, each `[positions, half]`.
pub(super) struct Rotation {
    cosines: Vec<f32>,
    sines: Vec<f32>,
    half: usize,
}

impl Rotary {
    /// The rotations of a text of `length` tokens, with heads of this width, in a layer.
    pub(super) fn rotation(&self, layer: usize, length: usize, width: usize) -> Rotation {
        let local = self.local.as_ref().filter(|local| local.layers[layer]);
        let base = local.map_or_else(|| self.stretched(length, width), |local| local.base);
        let half = width / 2;
        let frequency = |index: usize| base.powf(-(index as f64) / half as f64);
        let frequencies: Vec<f64> = (0..half).map(frequency).collect();
        let turns = (0..length).flat_map(|position| {
            let turn = move |frequency: &f64| (position as f64 * frequency).sin_cos();
            frequencies.iter().map(turn)
        });
        let turns = turns.map(|(sine, cosine)| (sine as f32, cosine as f32));
        let (sines, cosines) = turns.unzip();
        Rotation {
            cosines,
            sines,
            half,
        }
    }

    /// Whether two layers have the same rotations.
    pub(super) fn is_shared(&self, one: usize, other: usize) -> bool {
        let local = self.local.as_ref();
        local.is_none_or(|local| local.layers[one] == local.layers[other])
    }

    /// How many tokens on each side a token attends to in a layer; `None` for all.
    pub(super) fn reach(&self, layer: usize) -> Option<usize> {
        let local = self.local.as_ref().filter(|local| local.layers[layer]);
        local.map(|local| local.reach)
    }

    /// The base for a text of this length ("dynamic NTK").
    fn stretched(&self, length: usize, width: usize) -> f64 {
        match self.stretch {
            Some(Stretch { factor, trained }) if length > trained && width > 2 => {
                let growth = factor * length as f64 / trained as f64 - (factor - 1.0);
                self.base * growth.powf(width as f64 / (width as f64 - 2.0))
            }
            _ => self.base,
        }
    }
}

impl Rotation {
    /// Rotates the heads of each row, the first half of a head against the second.
    ///
    /// # Shapes
    /// `rows`: `[positions, width]`, of which the first `rotated` columns are heads.
    pub(super) fn apply(&self, rows: &mut [f32], width: usize, rotated: usize) {
        let turns = self
            .cosines
            .chunks(self.half)
            .zip(self.sines.chunks(self.half));
        widest(
            #[inline(always)]
            || {
                for (row, (cosines, sines)) in rows.chunks_mut(width).zip(turns) {
                    for head in row[..rotated].chunks_mut(2 * self.half) {
                        rotate_inlined(head, cosines, sines);
                    }
                }
            },
        );
    }
}
