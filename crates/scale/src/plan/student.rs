//! Student's t distribution with whole degrees of freedom.

use std::f64::consts::FRAC_2_PI;

/// The t that 95% of the values are nearer to 0 than.
pub(super) fn within_95_percent(freedom: usize) -> f64 {
    let (mut low, mut high) = (0.0, 16.0);
    // 64 halvings leave no more than the last bit; one degree of freedom, the widest, gives 12.7.
    for _ in 0..64 {
        let middle = f64::midpoint(low, high);
        match within(middle, freedom) < 0.95 {
            true => low = middle,
            false => high = middle,
        }
    }
    high
}

/// The probability of a value between -t and t, by the finite series of Abramowitz and Stegun, 26.7.3 and 26.7.4.
fn within(t: f64, freedom: usize) -> f64 {
    let angle = (t / (freedom as f64).sqrt()).atan();
    let (sine, cosine) = angle.sin_cos();
    let is_odd = freedom % 2 == 1;
    let first = if is_odd { cosine } else { 1.0 };
    // Each term is the one before times cos²θ (k − 1) / k, with k = 3, 5, … for odd degrees and 2, 4, … for even ones.
    let factors = (2..freedom.saturating_sub(1)).filter(|k| (k % 2 == 1) == is_odd);
    let terms = factors.scan(first, |term, k| {
        *term *= cosine * cosine * (k - 1) as f64 / k as f64;
        Some(*term)
    });
    let series = if freedom == 1 {
        0.0
    } else {
        first + terms.sum::<f64>()
    };
    match is_odd {
        true => FRAC_2_PI * (angle + sine * series),
        false => sine * series,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn quantiles_are_those_of_scipy() {
        let fixture = include_str!("../../tests/fixtures/prediction_interval.json");
        let mut fixture: serde_json::Value = serde_json::from_str(fixture).unwrap();
        let expected = fixture["within_95_percent"].take();
        let expected: BTreeMap<usize, f64> = serde_json::from_value(expected).unwrap();
        assert!(expected.len() >= 8);
        for (freedom, expected) in expected {
            let t = within_95_percent(freedom);
            assert!(
                (t / expected - 1.0).abs() < 1e-12,
                "{freedom}: {t}, {expected}"
            );
        }
    }
}
