//! The network of a head: standardization, one or two linear layers with tanh between them, and the
//! logistic function.

use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul};

use serde::{Deserialize, Serialize};

/// A linear layer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Layer {
    /// `[outputs, inputs]`, row by row.
    pub weights: Vec<f32>,
    /// `[outputs]`.
    pub bias: Vec<f32>,
}

/// A function from a vector to a number in `[0, 1]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parts")]
pub struct Network {
    /// The means subtracted from a vector: `[inputs]`.
    center: Vec<f32>,
    /// The factors applied after that: `[inputs]`.
    scale: Vec<f32>,
    /// One, or two with tanh between them; the last has one output.
    layers: Vec<Layer>,
}

/// A network before it is checked.
#[derive(Deserialize)]
struct Parts {
    center: Vec<f32>,
    scale: Vec<f32>,
    layers: Vec<Layer>,
}

/// Why parts do not form a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum BadNetwork {
    #[error("it has {received} layers; 1 or 2 are expected")]
    Layers { received: usize },
    #[error("the sizes of its parts do not fit")]
    Sizes,
    #[error("a number in it is not finite")]
    NotFinite,
}

impl Network {
    /// Assembles a network.
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

    /// The length of its input vectors.
    pub fn inputs(&self) -> usize {
        self.center.len()
    }

    /// The output for a vector; NaN if the vector is not finite.
    ///
    /// # Shapes
    /// `vector`: `[inputs]`.
    pub fn apply(&self, vector: &[f32]) -> f64 {
        // Infinity would come out of tanh, or of the logistic function, as a number.
        if !vector.iter().all(|number| number.is_finite()) {
            return f64::NAN;
        }
        let standardized = vector.iter().zip(&self.center).zip(&self.scale);
        let mut values: Vec<f32> = standardized
            .map(|((x, center), scale)| (x - center) * scale)
            .collect();
        let last = self.layers.len() - 1;
        for (depth, layer) in self.layers.iter().enumerate() {
            let rows = layer.weights.chunks_exact(values.len());
            let outputs = rows.zip(&layer.bias).map(|(row, bias)| {
                let sum = dot::<8, _>(row, &values) + bias;
                if depth < last { sum.tanh() } else { sum }
            });
            values = outputs.collect();
        }
        let output = values.first().copied().unwrap_or(f32::NAN);
        logistic(f64::from(output))
    }
}

impl TryFrom<Parts> for Network {
    type Error = BadNetwork;

    fn try_from(parts: Parts) -> Result<Self, BadNetwork> {
        Self::new(parts.center, parts.scale, parts.layers)
    }
}

/// 1 / (1 + e^-x), without overflow.
pub fn logistic(x: f64) -> f64 {
    let small = (-x.abs()).exp();
    if x >= 0.0 {
        1.0 / (1.0 + small)
    } else {
        small / (1.0 + small)
    }
}

/// The dot product of vectors of the same length, summed in `LANES` lanes, as vector units do.
pub fn dot<const LANES: usize, T>(left: &[T], right: &[T]) -> T
where
    T: Copy + Default + Mul<Output = T> + Add<Output = T> + AddAssign + Sum,
{
    let mut sums = [T::default(); LANES];
    let (left, right) = (left.chunks_exact(LANES), right.chunks_exact(LANES));
    let rest = left.remainder().iter().zip(right.remainder());
    let rest: T = rest.map(|(&a, &b)| a * b).sum();
    for (left, right) in left.zip(right) {
        for (sum, (&a, &b)) in sums.iter_mut().zip(left.iter().zip(right)) {
            *sum += a * b;
        }
    }
    rest + sums.into_iter().sum()
}
