//! An embedder that sees which words a text has, and nothing of what they mean.

use std::ops::Range;

use ken_model::embedder::{Embedder, EmbedderError};
use ken_model::encoder::Role;
use ken_route::digest_of;

/// Every word adds to one place of the vector, which has length 1.
#[derive(Clone, Copy)]
pub(crate) struct Wordy;

const DIMENSIONS: usize = 48;

impl Embedder for Wordy {
    fn fingerprint(&self) -> &str {
        "wordy"
    }

    fn dimensions(&self) -> usize {
        DIMENSIONS
    }

    fn max_tokens(&self) -> Option<usize> {
        None
    }

    fn embed(&self, texts: &[&str], _: Role) -> Result<Vec<Vec<f32>>, EmbedderError> {
        let each = texts.iter().map(|text| {
            let mut vector = [0.0_f32; DIMENSIONS];
            for word in text
                .split(|c: char| !c.is_alphanumeric())
                .filter(|word| !word.is_empty())
            {
                let place = digest_of(&word.to_lowercase()) as usize % DIMENSIONS;
                vector[place] += 1.0;
            }
            let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt().max(1e-6);
            vector.iter().map(|x| x / length).collect()
        });
        Ok(each.collect())
    }

    fn token_spans(&self, text: &str) -> Result<Vec<Range<usize>>, EmbedderError> {
        Ok(std::iter::once(0..text.len()).collect())
    }
}
