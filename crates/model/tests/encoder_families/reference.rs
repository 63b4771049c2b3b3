//! The forward pass of a BERT-family network in its plainest form, in f64, one number at a time, as a reference for
//! the encoder.

use crate::checkpoint::{EPSILON, HEADS, HIDDEN, LAYERS, Tensors};

type Rows = Vec<Vec<f64>>;

/// The final hidden state of each token.
pub(crate) fn hidden_states(tensors: &Tensors, ids: &[usize], first_position: usize) -> Rows {
    let row = |name: &str, number: usize| -> Vec<f64> {
        let (shape, values) = &tensors[&format!("embeddings.{name}.weight")];
        values[number * shape[1]..][..shape[1]]
            .iter()
            .map(|&x| f64::from(x))
            .collect()
    };
    let embed = |(at, &id): (usize, &usize)| {
        let mut sum = row("word_embeddings", id);
        add(&mut sum, &row("position_embeddings", first_position + at));
        add(&mut sum, &row("token_type_embeddings", 0));
        norm(tensors, "embeddings.LayerNorm", &sum)
    };
    let mut states: Rows = ids.iter().enumerate().map(embed).collect();
    for layer in 0..LAYERS {
        let name = |part: &str| format!("encoder.layer.{layer}.{part}");
        let project = |part: &str, rows: &Rows| -> Rows {
            rows.iter()
                .map(|row| linear(tensors, &name(part), row))
                .collect()
        };
        let query = project("attention.self.query", &states);
        let key = project("attention.self.key", &states);
        let value = project("attention.self.value", &states);
        let context = attention(&query, &key, &value);
        for (state, mut change) in states
            .iter_mut()
            .zip(project("attention.output.dense", &context))
        {
            add(&mut change, state);
            *state = norm(tensors, &name("attention.output.LayerNorm"), &change);
        }
        for state in &mut states {
            let wide = linear(tensors, &name("intermediate.dense"), state);
            let wide: Vec<f64> = wide.into_iter().map(gelu).collect();
            let mut change = linear(tensors, &name("output.dense"), &wide);
            add(&mut change, state);
            *state = norm(tensors, &name("output.LayerNorm"), &change);
        }
    }
    states
}

/// The mean of the rows.
pub(crate) fn mean(rows: &[Vec<f64>]) -> Vec<f64> {
    let mut mean = vec![0.0; HIDDEN];
    rows.iter().for_each(|row| add(&mut mean, row));
    mean.iter().map(|x| x / rows.len() as f64).collect()
}

/// The vector scaled to length 1.
pub(crate) fn normalized(vector: &[f64]) -> Vec<f64> {
    let length = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
    vector.iter().map(|x| x / length).collect()
}

fn add(to: &mut [f64], from: &[f64]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
}

fn linear(tensors: &Tensors, name: &str, row: &[f64]) -> Vec<f64> {
    let (shape, weight) = &tensors[&format!("{name}.weight")];
    let bias = &tensors[&format!("{name}.bias")].1;
    let output = |out: usize| {
        let products = (0..shape[1]).map(|at| f64::from(weight[out * shape[1] + at]) * row[at]);
        products.sum::<f64>() + f64::from(bias[out])
    };
    (0..shape[0]).map(output).collect()
}

fn norm(tensors: &Tensors, name: &str, row: &[f64]) -> Vec<f64> {
    let scale = &tensors[&format!("{name}.weight")].1;
    let shift = &tensors[&format!("{name}.bias")].1;
    let mean = row.iter().sum::<f64>() / row.len() as f64;
    let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / row.len() as f64;
    let one = |at: usize| {
        (row[at] - mean) / (variance + EPSILON).sqrt() * f64::from(scale[at]) + f64::from(shift[at])
    };
    (0..row.len()).map(one).collect()
}

fn attention(query: &Rows, key: &Rows, value: &Rows) -> Rows {
    let width = HIDDEN / HEADS;
    let mut context = vec![vec![0.0; HIDDEN]; query.len()];
    for head in 0..HEADS {
        let columns = head * width..(head + 1) * width;
        for (from, out) in context.iter_mut().enumerate() {
            let score = |to: usize| -> f64 {
                let products = columns.clone().map(|at| query[from][at] * key[to][at]);
                (products.sum::<f64>() / (width as f64).sqrt()).exp()
            };
            let scores: Vec<f64> = (0..key.len()).map(score).collect();
            let total: f64 = scores.iter().sum();
            for at in columns.clone() {
                out[at] = (0..key.len())
                    .map(|to| scores[to] / total * value[to][at])
                    .sum();
            }
        }
    }
    context
}

fn gelu(x: f64) -> f64 {
    0.5 * x * (1.0 + erf(x / 2f64.sqrt()))
}

/// The error function by its power series; beyond 5 it is 1 to f64's precision.
fn erf(z: f64) -> f64 {
    if z.abs() > 5.0 {
        return z.signum();
    }
    let (mut term, mut sum) = (z, z);
    for n in 1..200 {
        term *= -z * z / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    2.0 / std::f64::consts::PI.sqrt() * sum
}
