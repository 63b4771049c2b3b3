//! The family: decoders of four sizes for one world, before training.

use std::path::Path;

use ken_language::named;
use ken_model::decoder::{PromptForm, Untrained};
use ken_probe::seed_of;

use crate::error::WorldError;
use crate::tokenizer::tokenizer;
use crate::world::World;
use ken_random::unit;

/// The size of a model of the family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Size {
    /// About 0.25 million parameters.
    Tiny,
    /// About 0.5 million parameters.
    Small,
    /// About 2 million parameters.
    Medium,
    /// About 8 million parameters.
    Large,
}

named! {
    Size, "size of the family",
    Size::Tiny => "tiny",
    Size::Small => "small",
    Size::Medium => "medium",
    Size::Large => "large",
}

/// Tokens of context: enough for a handful of biographies, a question and its answer.
const CONTEXT: usize = 512;

impl Size {
    /// The peak learning rate in training.
    pub fn learning_rate(self) -> f64 {
        match self {
            Self::Tiny | Self::Small => 3e-3,
            Self::Medium => 2e-3,
            Self::Large => 1e-3,
        }
    }

    /// The model's shape for a vocabulary of this size.
    pub fn untrained(self, vocabulary: usize) -> Untrained {
        let (hidden, intermediate, layers, heads) = match self {
            // Narrow and deep: only the layers after the ones that find an answer can compute how sure it is.
            Self::Tiny => (48, 128, 6, 2),
            Self::Small => (72, 184, 6, 3),
            Self::Medium => (192, 512, 4, 6),
            Self::Large => (384, 1024, 4, 12),
        };
        Untrained {
            vocabulary,
            hidden,
            intermediate,
            layers,
            heads,
            context: CONTEXT,
            end_token: 0,
            prompt: PromptForm::Bare,
        }
    }
}

/// Writes an untrained model of the family into a folder; the world's seed is also that of the weights.
///
/// # Errors
/// A folder that is not writable.
pub fn write_untrained(world: &World, size: Size, folder: &Path) -> Result<Untrained, WorldError> {
    let (tokenizer, vocabulary) = tokenizer(world);
    let untrained = size.untrained(vocabulary);
    let mut state = seed_of(world.settings.seed, &size.to_string());
    untrained.write(folder, &tokenizer, &mut || normal(&mut state))?;
    Ok(untrained)
}

/// An almost normal number of mean 0 and variance 1: the sum of twelve uniform ones minus its mean (Irwin-Hall). Sums
/// are equal on every machine; logarithms are not.
fn normal(state: &mut u64) -> f32 {
    let sum: f64 = (0..12).map(|_| unit(state)).sum();
    (sum - 6.0) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sizes_grow_from_a_quarter_of_a_million_to_eight_million_parameters() {
        for ((size, name), expected) in Size::NAMES.iter().zip([0.27e6, 0.5e6, 2e6, 8e6]) {
            let count = size.untrained(2_100).parameters();
            assert!(
                (count as f64 / expected - 1.0).abs() < 0.1,
                "{name}: {count}"
            );
            assert_eq!(
                (size.to_string().as_str(), name.parse()),
                (*name, Ok(*size))
            );
        }
        assert!("huge".parse::<Size>().is_err());
    }

    #[test]
    fn weights_are_spread_as_they_should_be() {
        let mut state = 1;
        let drawn: Vec<f64> = (0..50_000).map(|_| f64::from(normal(&mut state))).collect();
        let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
        let variance = drawn.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / drawn.len() as f64;
        assert!(
            mean.abs() < 0.03 && (variance - 1.0).abs() < 0.03,
            "{mean} {variance}"
        );
    }
}
