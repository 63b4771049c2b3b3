//! AdamW (Loshchilov and Hutter 2019) and the gradient norm.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use candle_core::{DType, Tensor, Var};
use rayon::prelude::*;

use crate::error::TrainError;
use crate::ops::{is_slice, widest, with_slices};

/// The decay of the running mean of a gradient.
const FIRST_DECAY: f64 = 0.9;
/// The decay of the running mean of its square.
const SECOND_DECAY: f64 = 0.999;
const EPSILON: f64 = 1e-8;

/// A step of AdamW.
pub(crate) struct Step {
    /// Counted from 1.
    pub(crate) number: usize,
    pub(crate) learning_rate: f64,
    /// Decoupled weight decay of matrices; vectors are not decayed.
    pub(crate) weight_decay: f64,
    /// Gradients are first scaled by this.
    pub(crate) factor: f64,
}

/// The running means of a parameter's gradient and of its square.
#[derive(Debug, Clone)]
pub(crate) struct Moments {
    pub(crate) first: Tensor,
    pub(crate) second: Tensor,
}

/// Gradients by the name of their parameter.
pub(crate) type Gradients = BTreeMap<String, Tensor>;

/// The Euclidean norm of all gradients together.
pub(crate) fn norm(gradients: &Gradients) -> Result<f64, TrainError> {
    let mut squares = 0.0;
    for gradient in gradients.values() {
        let square = gradient.sqr()?.sum_all()?.to_dtype(DType::F64)?;
        squares += square.to_scalar::<f64>()?;
    }
    Ok(squares.sqrt())
}

impl Step {
    /// Takes the step.
    pub(crate) fn take(
        &self,
        variables: &BTreeMap<String, Var>,
        moments: &mut BTreeMap<String, Moments>,
        gradients: &Gradients,
    ) -> Result<(), TrainError> {
        for (name, gradient) in gradients {
            let Some(variable) = variables.get(name) else {
                continue;
            };
            let moments = match moments.entry(name.clone()) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => new.insert(Moments {
                    first: gradient.zeros_like()?,
                    second: gradient.zeros_like()?,
                }),
            };
            let update = Update {
                rate: self.learning_rate,
                first_bias: 1.0 - FIRST_DECAY.powi(self.number as i32),
                second_bias: 1.0 - SECOND_DECAY.powi(self.number as i32),
                shrink: if variable.rank() > 1 {
                    1.0 - self.learning_rate * self.weight_decay
                } else {
                    1.0
                },
                factor: self.factor,
            };
            match is_slice(gradient) {
                true => update.slices(variable, moments, gradient)?,
                false => update.tensors(variable, moments, gradient)?,
            }
        }
        Ok(())
    }
}

/// The update of one parameter.
struct Update {
    rate: f64,
    first_bias: f64,
    second_bias: f64,
    shrink: f64,
    factor: f64,
}

impl Update {
    /// With candle's operations.
    fn tensors(
        &self,
        variable: &Var,
        moments: &mut Moments,
        gradient: &Tensor,
    ) -> Result<(), TrainError> {
        let gradient = (gradient * self.factor)?;
        moments.first = ((&moments.first * FIRST_DECAY)? + (&gradient * (1.0 - FIRST_DECAY))?)?;
        moments.second =
            ((&moments.second * SECOND_DECAY)? + (gradient.sqr()? * (1.0 - SECOND_DECAY))?)?;
        let root = ((&moments.second / self.second_bias)?.sqrt()? + EPSILON)?;
        let change = ((&moments.first * (self.rate / self.first_bias))? / root)?;
        variable.set(&((variable.as_tensor() * self.shrink)? - change)?)?;
        Ok(())
    }

    /// In one pass over plain slices.
    fn slices(
        &self,
        variable: &Var,
        moments: &mut Moments,
        gradient: &Tensor,
    ) -> Result<(), TrainError> {
        /// Numbers per parallel task.
        const TASK: usize = 1 << 13;
        let shape = variable.shape().clone();
        let device = variable.device().clone();
        let all = [
            variable.as_tensor(),
            &moments.first,
            &moments.second,
            gradient,
        ];
        let [mut weights, mut first, mut second, gradient] =
            with_slices(all, |all| Ok(all.map(<[f32]>::to_vec)))?;
        let (a, b) = (FIRST_DECAY as f32, SECOND_DECAY as f32);
        let epsilon = EPSILON as f32;
        let rate = (self.rate / self.first_bias) as f32;
        let root_bias = (1.0 / self.second_bias.sqrt()) as f32;
        let (shrink, factor) = (self.shrink as f32, self.factor as f32);
        weights
            .par_chunks_mut(TASK)
            .zip(first.par_chunks_mut(TASK))
            .zip(second.par_chunks_mut(TASK))
            .zip(gradient.par_chunks(TASK))
            .for_each(|(((weights, first), second), gradient)| {
                widest!({
                    let state = weights.iter_mut().zip(first).zip(second);
                    for (((w, m), v), g) in state.zip(gradient) {
                        let g = g * factor;
                        *m = a * *m + (1.0 - a) * g;
                        *v = b * *v + (1.0 - b) * g * g;
                        *w = *w * shrink - rate * *m / (v.sqrt() * root_bias + epsilon);
                    }
                });
            });
        moments.first = Tensor::from_vec(first, shape.clone(), &device)?;
        moments.second = Tensor::from_vec(second, shape.clone(), &device)?;
        variable.set(&Tensor::from_vec(weights, shape, &device)?)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use candle_core::Device;

    /// Slices in 32 bits and tensors in 64 agree with each other and with the formula.
    #[test]
    fn both_paths_agree() {
        let start = [0.5f64, -1.0, 2.0, 0.25, -0.75, 1.5];
        let given = [
            [0.1f64, -0.2, 0.3, 0.0, 1.0, -2.0],
            [0.2, 0.1, -0.3, 0.5, 1.0, 2.0],
        ];
        let mut plain = start;
        let (mut m, mut v) = ([0.0; 6], [0.0; 6]);
        for (t, g) in given.iter().enumerate() {
            for i in 0..6 {
                let g = g[i] * 0.5;
                m[i] = 0.9 * m[i] + 0.1 * g;
                v[i] = 0.999 * v[i] + 0.001 * g * g;
                let mean = m[i] / (1.0 - 0.9f64.powi(t as i32 + 1));
                let square = v[i] / (1.0 - 0.999f64.powi(t as i32 + 1));
                plain[i] -= 0.01 * 0.1 * plain[i] + 0.01 * mean / (square.sqrt() + 1e-8);
            }
        }
        for dtype in [DType::F32, DType::F64] {
            let tensor = |numbers: &[f64]| {
                let tensor = Tensor::from_slice(numbers, (2, 3), &Device::Cpu).unwrap();
                tensor.to_dtype(dtype).unwrap()
            };
            let variable = Var::from_tensor(&tensor(&start)).unwrap();
            let variables = BTreeMap::from([("x".to_owned(), variable.clone())]);
            let mut moments = BTreeMap::new();
            for (t, g) in given.iter().enumerate() {
                let gradients = BTreeMap::from([("x".to_owned(), tensor(g))]);
                let step = Step {
                    number: t + 1,
                    learning_rate: 0.01,
                    weight_decay: 0.1,
                    factor: 0.5,
                };
                step.take(&variables, &mut moments, &gradients).unwrap();
            }
            let got = variable.to_dtype(DType::F64).unwrap();
            let got: Vec<f64> = got.flatten_all().unwrap().to_vec1().unwrap();
            for (got, expected) in got.iter().zip(plain) {
                assert!((got - expected).abs() < 1e-6, "{dtype:?}: {got} {expected}");
            }
        }
    }
}
