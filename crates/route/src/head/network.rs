//! The function itself: a vector is standardized, taken through layers with tanh between them, and
//! the one number that comes out through the logistic function.

use serde::{Deserialize, Serialize};

/// How many products are summed side by side: as many as a vector unit takes at once.
const LANES: usize = 8;

/// A linear layer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Layer {
    /// `[outputs, inputs]`, row by row.
    pub weights: Vec<f32>,
    /// `[outputs]`.
    pub bias: Vec<f32>,
}

/// A vector in, a number in `[0, 1]` out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct Network {
    /// What is subtracted from each number of a vector: `[inputs]`.
    center: Vec<f32>,
    /// What the differences are multiplied by: `[inputs]`.
    scale: Vec<f32>,
    /// One, or two with tanh between them; the last has one output.
    layers: Vec<Layer>,
}

/// A network as it is written.
#[derive(Clone, Serialize, Deserialize)]
struct Parts {
    center: Vec<f32>,
    scale: Vec<f32>,
    layers: Vec<Layer>,
}

/// Why parts are no network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadNetwork {
    /// There are no layers, or more than two.
    #[error("it has {received} layers; 1 or 2 are expected")]
    Layers {
        /// How many there are.
        received: usize,
    },
    /// The sizes of two parts do not fit each other.
    #[error("the sizes of its parts do not fit")]
    Sizes,
    /// A number is infinite or none.
    #[error("a number in it is not finite")]
    NotFinite,
}

impl Network {
    /// Puts the parts together.
    ///
    /// # Errors
    /// [`BadNetwork`].
    pub fn new(center: Vec<f32>, scale: Vec<f32>, layers: Vec<Layer>) -> Result<Self, BadNetwork> {
        if !(1..=2).contains(&layers.len()) {
            return Err(BadNetwork::Layers {
                received: layers.len(),
            });
        }
        let mut width = center.len();
        for layer in &layers {
            if layer.bias.is_empty()
                || Some(layer.weights.len()) != width.checked_mul(layer.bias.len())
            {
                return Err(BadNetwork::Sizes);
            }
            width = layer.bias.len();
        }
        if width != 1 || center.is_empty() || scale.len() != center.len() {
            return Err(BadNetwork::Sizes);
        }
        let layers_numbers = layers
            .iter()
            .flat_map(|layer| layer.weights.iter().chain(&layer.bias));
        let mut numbers = center.iter().chain(&scale).chain(layers_numbers);
        if !numbers.all(|number| number.is_finite()) {
            return Err(BadNetwork::NotFinite);
        }
        Ok(Self {
            center,
            scale,
            layers,
        })
    }

    /// The length of the vectors that it takes.
    #[must_use]
    pub fn inputs(&self) -> usize {
        self.center.len()
    }

    /// Outputs of the first of two layers; 0 where there is one.
    #[must_use]
    pub fn hidden_units(&self) -> usize {
        match self.layers.as_slice() {
            [first, _] => first.bias.len(),
            _ => 0,
        }
    }

    /// The number for a vector. One that is not finite gives NaN.
    ///
    /// # Shapes
    /// `vector`: `[inputs]`.
    #[must_use]
    pub fn apply(&self, vector: &[f32]) -> f64 {
        let standardized = vector.iter().zip(&self.center).zip(&self.scale);
        let mut values: Vec<f32> = standardized
            .map(|((x, center), scale)| (x - center) * scale)
            .collect();
        let last = self.layers.len() - 1;
        for (depth, layer) in self.layers.iter().enumerate() {
            let rows = layer.weights.chunks_exact(values.len());
            let outputs = rows.zip(&layer.bias).map(|(row, bias)| {
                let sum = dot(row, &values) + bias;
                if depth < last { sum.tanh() } else { sum }
            });
            values = outputs.collect();
        }
        values
            .first()
            .map_or(f64::NAN, |&number| logistic(f64::from(number)))
    }
}

impl TryFrom<Parts> for Network {
    type Error = BadNetwork;

    fn try_from(parts: Parts) -> Result<Self, BadNetwork> {
        Self::new(parts.center, parts.scale, parts.layers)
    }
}

impl From<Network> for Parts {
    fn from(network: Network) -> Self {
        Self {
            center: network.center,
            scale: network.scale,
            layers: network.layers,
        }
    }
}

/// 1 / (1 + e^-x), without overflow.
#[must_use]
pub fn logistic(x: f64) -> f64 {
    let small = (-x.abs()).exp();
    if x >= 0.0 {
        1.0 / (1.0 + small)
    } else {
        small / (1.0 + small)
    }
}

/// The sum of products, in [`LANES`] sums that are added at the end.
fn dot(one: &[f32], other: &[f32]) -> f32 {
    let mut sums = [0.0_f32; LANES];
    let (ones, others) = (one.chunks_exact(LANES), other.chunks_exact(LANES));
    let rest: f32 = ones
        .remainder()
        .iter()
        .zip(others.remainder())
        .map(|(a, b)| a * b)
        .sum();
    for (ones, others) in ones.zip(others) {
        for (sum, (a, b)) in sums.iter_mut().zip(ones.iter().zip(others)) {
            *sum += a * b;
        }
    }
    rest + sums.iter().sum::<f32>()
}
