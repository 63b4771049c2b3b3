//! Upper bounds on a mean loss from a sample of losses in `[0, 1]`.

use statrs::distribution::{Binomial, DiscreteCDF};

/// The precision of a bound.
const PRECISION: f64 = 1e-6;

/// A valid p-value of the hypothesis that the mean loss is `risk` or more, if the losses of `questions` questions sum
/// to `lost`.
///
/// If every loss is 0 or 1 (`exact`), it is the binomial tail, else the smaller of the bounds of
/// Hoeffding and Bentkus (Bates et al. 2021, section 3.1.2).
pub(super) fn risk_p_value(lost: f64, questions: usize, risk: f64, exact: bool) -> f64 {
    if questions == 0 || risk.is_nan() || lost.is_nan() {
        return 1.0;
    }
    let n = questions as f64;
    // Sums of fractions may be slightly above a whole number.
    let whole = (lost - 1e-9).ceil().max(0.0) as u64;
    let tail = match Binomial::new(risk.clamp(0.0, 1.0), questions as u64) {
        Ok(binomial) => binomial.cdf(whole),
        Err(_) => 1.0,
    };
    if exact {
        return tail;
    }
    let bentkus = std::f64::consts::E * tail;
    let mean = (lost / n).min(risk);
    let hoeffding = (-n * divergence(mean, risk)).exp();
    bentkus.min(hoeffding).min(1.0)
}

/// The upper bound of the mean loss, which holds with probability `1 - delta`.
pub(super) fn risk_bound(lost: f64, questions: usize, delta: f64, exact: bool) -> f64 {
    if questions == 0 {
        return 1.0;
    }
    let (mut low, mut high) = (lost / questions as f64, 1.0);
    while high - low > PRECISION {
        let middle = f64::midpoint(low, high);
        if risk_p_value(lost, questions, middle, exact) <= delta {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

/// The Kullback-Leibler divergence of two Bernoulli distributions, in nats.
fn divergence(p: f64, q: f64) -> f64 {
    let part = |x: f64, y: f64| if x == 0.0 { 0.0 } else { x * (x / y).ln() };
    part(p, q) + part(1.0 - p, 1.0 - q)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_binomial_tail_is_scipys() {
        // scipy.stats.binom.cdf(k, n, p)
        for (k, n, p, expected) in [
            (0.0, 100, 0.02, 0.132_619_555_894_752_94),
            (3.0, 200, 0.05, 0.009_048_376_396_101_46),
            (40.0, 1000, 0.05, 0.080_636_573_256_691),
        ] {
            let p_value = risk_p_value(k, n, p, true);
            assert!((p_value - expected).abs() < 1e-9, "{k} {n} {p}: {p_value}");
        }
    }

    #[test]
    fn the_exact_bound_is_clopper_and_pearsons() {
        // scipy.stats.beta.ppf(1 - delta, k + 1, n - k)
        for (k, n, delta, expected) in [
            (0.0, 100, 0.05, 0.029_513_049_607_037_94),
            (5.0, 100, 0.1, 0.090_771_469_614_070_18),
        ] {
            let bound = risk_bound(k, n, delta, true);
            assert!((bound - expected).abs() < 1e-5, "{k} {n} {delta}: {bound}");
        }
    }

    #[test]
    fn a_p_value_is_a_probability_that_falls_with_the_risk() {
        for lost in [0.0, 0.4, 7.3, 50.0] {
            let mut last = 1.0;
            for step in 0..=100 {
                let p = risk_p_value(lost, 50, f64::from(step) / 100.0, false);
                assert!((0.0..=1.0).contains(&p), "{p}");
                assert!(p <= last + 1e-12, "{lost} {step}: {p} {last}");
                last = p;
            }
        }
        assert_eq!(risk_p_value(0.0, 0, 0.1, true), 1.0);
        assert_eq!(risk_p_value(f64::NAN, 10, 0.1, false), 1.0);
    }
}
