//! Axes: their range, and where numbers stand on them.

/// An axis with its range.
#[derive(Debug, Clone)]
pub(crate) struct Axis<'a> {
    pub(super) name: &'a str,
    pub(super) low: f64,
    high: f64,
    /// Where numbers stand.
    pub(super) ticks: Vec<f64>,
    /// The digits behind the point of each.
    digits: usize,
}

/// About how many intervals an axis has.
const INTERVALS: f64 = 4.0;

impl<'a> Axis<'a> {
    /// From 0 to 1.
    pub(crate) fn share(name: &'a str) -> Self {
        Self::between(name, 0.0, 1.0)
    }

    /// As far as some values go, and a little farther.
    pub(crate) fn around(name: &'a str, values: &[f64]) -> Self {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if !(low.is_finite() && high.is_finite()) {
            return Self::share(name);
        }
        let margin = ((high - low) * 0.08).max(0.005);
        // Nothing that is never negative goes below zero.
        let least = if low >= 0.0 { 0.0 } else { f64::NEG_INFINITY };
        Self::between(name, (low - margin).max(least), high + margin)
    }

    /// Over corpus scales, with a number at each, or at some where there are many.
    pub(crate) fn scales(name: &'a str, scales: &[u32]) -> Self {
        let values: Vec<f64> = scales.iter().map(|&n| f64::from(n)).collect();
        let mut axis = Self::around(name, &values);
        let mut ticks = values;
        ticks.sort_by(f64::total_cmp);
        ticks.dedup();
        let every = ticks.len().div_ceil(14).max(1);
        axis.ticks = ticks.into_iter().step_by(every).collect();
        axis.digits = 0;
        axis
    }

    /// With a number at every multiple of a round step.
    fn between(name: &'a str, low: f64, high: f64) -> Self {
        let step = round_step((high - low) / INTERVALS);
        let (first, last) = ((low / step).ceil() as i64, (high / step).floor() as i64);
        Self {
            name,
            low,
            high,
            ticks: (first..=last).map(|number| number as f64 * step).collect(),
            digits: (-step.log10()).ceil().max(0.0) as usize,
        }
    }

    /// Where a value lies, from 0 to 1.
    pub(super) fn place(&self, value: f64) -> f64 {
        ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    /// A number on it.
    pub(super) fn told(&self, value: f64) -> String {
        format!("{value:.*}", self.digits)
    }
}

/// The number nearest to `step` that is 1, 2 or 5 times a power of ten.
fn round_step(step: f64) -> f64 {
    let power = 10_f64.powf(step.log10().floor());
    let distance = |round: &f64| (round * power / step).ln().abs();
    let rounds = [1.0, 2.0, 5.0, 10.0].into_iter();
    let nearest = rounds.min_by(|one, other| distance(one).total_cmp(&distance(other)));
    nearest.unwrap_or(1.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_have_an_axis_too() {
        let axis = Axis::around("y", &[0.2, 0.2]);
        assert!((axis.place(0.2) - 0.5).abs() < 1e-9);
        assert_eq!(Axis::around("y", &[]).place(1.0), 1.0);
    }

    #[test]
    fn scales_are_whole_numbers_and_not_too_many() {
        let axis = Axis::scales("n", &[0, 1, 12, 1]);
        let told: Vec<String> = axis.ticks.iter().map(|tick| axis.told(*tick)).collect();
        assert_eq!(told, ["0", "1", "12"]);
        let many: Vec<u32> = (0..100).collect();
        assert!(Axis::scales("n", &many).ticks.len() <= 14);
    }

    #[test]
    fn numbers_are_round_and_none_is_below_what_can_be() {
        let told = |values: &[f64]| {
            let axis = Axis::around("y", values);
            let told: Vec<String> = axis.ticks.iter().map(|tick| axis.told(*tick)).collect();
            told.join(" ")
        };
        assert_eq!(told(&[600.0, 14_000.0]), "0 5000 10000 15000");
        assert_eq!(told(&[0.15, 0.37]), "0.15 0.20 0.25 0.30 0.35");
        assert_eq!(told(&[-0.01, 0.02]), "-0.01 0.00 0.01 0.02");
        assert_eq!(told(&[0.0, 0.0]), "0.000 0.001 0.002 0.003 0.004 0.005");
    }
}
