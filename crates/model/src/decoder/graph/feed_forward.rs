//! The feed-forward layers of a block: one for all tokens, or experts, a few of which each token uses.

use rayon::prelude::*;

use crate::decoder::config::{Activation, DecoderConfig};
use crate::decoder::error::DecoderError;
use crate::decoder::files::weights::{Part, Weights};
use crate::decoder::graph::backend::Backend;

type Result<T> = std::result::Result<T, DecoderError>;

/// The feed-forward layers of a block.
pub(super) enum FeedForward<B: Backend> {
    One(Gated<B>),
    Experts(Mixture<B>),
}

/// A gated feed-forward layer.
pub(super) struct Gated<B: Backend> {
    gate_and_up: B::Matrix,
    down: B::Matrix,
}

/// Experts, and the router that chooses among them.
pub(super) struct Mixture<B: Backend> {
    router: B::Matrix,
    experts: Vec<Gated<B>>,
    used: usize,
    normalized: bool,
    hidden: usize,
}

impl<B: Backend> FeedForward<B> {
    pub(super) fn load(
        backend: &B,
        config: &DecoderConfig,
        weights: &Weights,
        layer: usize,
    ) -> Result<Self> {
        let gated = |gate_and_up: &[(Part, usize)], down: Part, width: usize| -> Result<Gated<B>> {
            let matrix = |parts: &[(Part, usize)], columns| {
                backend.matrix(weights.projection(config, layer, parts, columns)?)
            };
            Ok(Gated {
                gate_and_up: matrix(gate_and_up, config.hidden)?,
                down: matrix(&[(down, config.hidden)], width)?,
            })
        };
        if let Some(experts) = config.experts_in(layer) {
            let shape = [experts.count, config.hidden];
            let router = weights.matrix(config, layer, Part::Router, shape)?;
            let width = experts.intermediate;
            let load = |index| {
                let parts = [Part::ExpertGate(index), Part::ExpertUp(index)];
                gated(
                    &parts.map(|part| (part, width)),
                    Part::ExpertDown(index),
                    width,
                )
            };
            return Ok(Self::Experts(Mixture {
                router: backend.float_matrix(&router.dense()?)?,
                experts: (0..experts.count)
                    .into_par_iter()
                    .map(load)
                    .collect::<Result<_>>()?,
                used: experts.used,
                normalized: experts.normalized,
                hidden: config.hidden,
            }));
        }
        gated(&Part::of_gate(config), Part::Down, config.intermediate).map(Self::One)
    }

    /// Whether a projection satisfies a condition.
    pub(super) fn any_matrix(&self, condition: impl Fn(&B::Matrix) -> bool) -> bool {
        let of_layer = |gated: &Gated<B>| condition(&gated.gate_and_up) || condition(&gated.down);
        match self {
            Self::One(gated) => of_layer(gated),
            Self::Experts(mixture) => mixture.experts.iter().any(of_layer),
        }
    }

    /// # Shapes
    /// `x`: `[rows, hidden]`, normalized; returns the same.
    pub(super) fn forward(
        &self,
        backend: &B,
        x: &B::Rows,
        activation: Activation,
    ) -> Result<B::Rows> {
        match self {
            Self::One(gated) => gated.forward(backend, x, activation),
            Self::Experts(mixture) => mixture.forward(backend, x, activation),
        }
    }
}

impl<B: Backend> Gated<B> {
    fn forward(&self, backend: &B, x: &B::Rows, activation: Activation) -> Result<B::Rows> {
        let gate_and_up = backend.project(x, &self.gate_and_up)?;
        let gated = backend.gate(gate_and_up, activation)?;
        backend.project(&gated, &self.down)
    }
}

impl<B: Backend> Mixture<B> {
    /// Each expert computes the rows that use it together. Their outputs are added per row in the order of the
    /// experts, so that the result does not depend on the other rows.
    fn forward(&self, backend: &B, x: &B::Rows, activation: Activation) -> Result<B::Rows> {
        let logits = backend.download(backend.project(x, &self.router)?)?;
        let count = self.experts.len();
        let mut uses = vec![(Vec::new(), Vec::new()); count];
        for (row, logits) in logits.chunks(count).enumerate() {
            for (expert, weight) in chosen(logits, self.used, self.normalized) {
                let (rows, weights) = &mut uses[expert];
                rows.push(row);
                weights.push(weight);
            }
        }
        let numbers = logits.len() / count * self.hidden;
        let mut sum = backend.upload(vec![0.0; numbers], self.hidden)?;
        for (expert, (rows, weights)) in self.experts.iter().zip(&uses) {
            if !rows.is_empty() {
                let given = expert.forward(backend, &backend.select(x, rows)?, activation)?;
                sum = backend.add_rows(sum, rows, weights, &given)?;
            }
        }
        Ok(sum)
    }
}

/// The experts with the greatest logits and their weights: probabilities among all experts or, if normalized, among
/// the chosen ones.
fn chosen(logits: &[f32], used: usize, normalized: bool) -> Vec<(usize, f32)> {
    let mut experts: Vec<usize> = (0..logits.len()).collect();
    if used < experts.len() {
        experts.select_nth_unstable_by(used, |&a, &b| {
            logits[b].total_cmp(&logits[a]).then(a.cmp(&b))
        });
        if normalized {
            experts.truncate(used);
        }
    }
    let top = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let share = |&expert: &usize| (logits[expert] - top).exp();
    let total: f32 = experts.iter().map(share).sum();
    experts.truncate(used);
    experts
        .into_iter()
        .map(|expert| (expert, share(&expert) / total))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_logits_are_chosen_and_their_weights_are_probabilities() {
        let logits = [1.0_f32, 3.0, -1.0, 2.0];
        let all: f32 = logits.iter().map(|x| x.exp()).sum();
        let both = 3f32.exp() + 2f32.exp();
        for (normalized, total) in [(false, all), (true, both)] {
            let mut found = chosen(&logits, 2, normalized);
            found.sort_by_key(|&(expert, _)| expert);
            let [(1, first), (3, second)] = found[..] else {
                panic!("{found:?}");
            };
            assert!((first - 3f32.exp() / total).abs() < 1e-6);
            assert!((second - 2f32.exp() / total).abs() < 1e-6);
        }
        assert_eq!(chosen(&[0.0; 3], 3, true).len(), 3);
    }
}
