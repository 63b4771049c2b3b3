//! Axes: their range, and where numbers stand on them.

/// An axis with its range.
#[derive(Debug, Clone)]
pub(crate) struct Axis<'a> {
    pub(super) name: &'a str,
    pub(super) low: f64,
    high: f64,
    /// Where numbers stand.
    pub(super) ticks: Vec<f64>,
}

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
        Self::between(name, low - margin, high + margin)
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
        axis
    }

    fn between(name: &'a str, low: f64, high: f64) -> Self {
        let ticks = (0..=4).map(|step| low + f64::from(step) / 4.0 * (high - low));
        Self {
            name,
            low,
            high,
            ticks: ticks.collect(),
        }
    }

    /// Where a value lies, from 0 to 1.
    pub(super) fn place(&self, value: f64) -> f64 {
        ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    /// A number on it.
    pub(super) fn told(&self, value: f64) -> String {
        let whole = self.ticks.iter().all(|tick| tick.fract() == 0.0);
        match whole || self.high - self.low > 20.0 {
            true => format!("{value:.0}"),
            false => format!("{value:.2}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_have_an_axis_too() {
        let axis = Axis::around("y", &[0.2, 0.2]);
        assert_eq!(axis.place(0.2), 0.5);
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
}
