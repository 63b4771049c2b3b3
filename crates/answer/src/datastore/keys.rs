//! Residual streams as keys.

/// The mean of vectors; empty of none.
///
/// # Shapes
/// `vectors`: `[vectors][dimensions]`; returns `[dimensions]`.
#[must_use]
pub fn mean_of(vectors: &[Vec<f32>]) -> Vec<f32> {
    let dimensions = vectors.first().map_or(0, Vec::len);
    let mut sums = vec![0.0_f64; dimensions];
    for vector in vectors {
        for (sum, number) in sums.iter_mut().zip(vector) {
            *sum += f64::from(*number);
        }
    }
    let count = vectors.len().max(1) as f64;
    sums.into_iter().map(|sum| (sum / count) as f32).collect()
}

/// A vector less the mean, at length 1; the states of one model have much in common that says
/// nothing.
///
/// # Shapes
/// `vector`, `center`: `[dimensions]`; returns the same.
pub(super) fn normalized(vector: &[f32], center: &[f32]) -> Vec<f32> {
    let apart: Vec<f32> = vector
        .iter()
        .zip(center)
        .map(|(x, mean)| x - mean)
        .collect();
    let square: f64 = apart.iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
    let length = square.sqrt();
    if length == 0.0 {
        return apart;
    }
    let scale = 1.0 / length;
    apart
        .into_iter()
        .map(|x| (f64::from(x) * scale) as f32)
        .collect()
}
