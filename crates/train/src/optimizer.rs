//! AdamW (Loshchilov and Hutter 2019) and the gradient norm.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use candle_core::{DType, Tensor, Var};
use rayon::prelude::*;

use crate::error::TrainError;
use crate::ops::{is_slice, widest, with_slices};

/// The hyperparameters of AdamW.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct AdamW {
    pub(crate) first_decay: f64,
    pub(crate) second_decay: f64,
    pub(crate) epsilon: f64,
    /// Decoupled weight decay of matrices; vectors are not decayed.
    pub(crate) weight_decay: f64,
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

impl AdamW {
    /// One step. `step` counts from 1; gradients are first scaled by `factor`.
    pub(crate) fn step(
        &self,
        variables: &BTreeMap<String, Var>,
        moments: &mut BTreeMap<String, Moments>,
        gradients: &Gradients,
        learning_rate: f64,
        step: usize,
        factor: f64,
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
                rule: *self,
                rate: learning_rate,
                first_bias: 1.0 - self.first_decay.powi(step as i32),
                second_bias: 1.0 - self.second_decay.powi(step as i32),
                shrink: if variable.rank() > 1 {
                    1.0 - learning_rate * self.weight_decay
                } else {
                    1.0
                },
                factor,
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
    rule: AdamW,
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
        let AdamW {
            first_decay,
            second_decay,
            epsilon,
            ..
        } = self.rule;
        let gradient = (gradient * self.factor)?;
        moments.first = ((&moments.first * first_decay)? + (&gradient * (1.0 - first_decay))?)?;
        moments.second =
            ((&moments.second * second_decay)? + (gradient.sqr()? * (1.0 - second_decay))?)?;
        let root = ((&moments.second / self.second_bias)?.sqrt()? + epsilon)?;
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
        let (a, b) = (self.rule.first_decay as f32, self.rule.second_decay as f32);
        let epsilon = self.rule.epsilon as f32;
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
        let rule = AdamW {
            first_decay: 0.9,
            second_decay: 0.99,
            epsilon: 1e-8,
            weight_decay: 0.1,
        };
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
                v[i] = 0.99 * v[i] + 0.01 * g * g;
                let mean = m[i] / (1.0 - 0.9f64.powi(t as i32 + 1));
                let square = v[i] / (1.0 - 0.99f64.powi(t as i32 + 1));
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
                rule.step(&variables, &mut moments, &gradients, 0.01, t + 1, 0.5)
                    .unwrap();
            }
            let got = variable.to_dtype(DType::F64).unwrap();
            let got: Vec<f64> = got.flatten_all().unwrap().to_vec1().unwrap();
            for (got, expected) in got.iter().zip(plain) {
                assert!((got - expected).abs() < 1e-6, "{dtype:?}: {got} {expected}");
            }
        }
    }
}
