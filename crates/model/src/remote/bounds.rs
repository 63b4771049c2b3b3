//! What no answer of an endpoint may exceed, whatever was asked for. The bounds in bytes and in time
//! are settings; these are far above what any model has.

use serde_json::Value;

/// The most tokens that a continuation may have.
pub(super) const MOST_TOKENS: usize = 1 << 20;

/// The largest count of tokens that is believed, and the longest context.
pub(super) const LARGEST_COUNT: usize = 1 << 24;

/// The most numbers of one embedding.
pub(super) const MOST_DIMENSIONS: usize = 1 << 14;

/// The longest line of a stream, which holds an event.
pub(super) const LINE_BYTES: usize = 1 << 20;

/// The longest name of a model.
pub(super) const NAME_BYTES: usize = 256;

/// How much of a refusal is read.
pub(super) const REFUSAL_BYTES: u64 = 64 * 1024;

/// Log probabilities above 0 that are taken for rounding.
const ROUNDING: f64 = 1e-3;

/// A count that nothing could have.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Absurd {
    pub(super) field: &'static str,
    pub(super) count: u64,
}

/// A count of tokens, where the field holds one.
pub(super) fn count(field: &'static str, value: Option<&Value>) -> Result<Option<usize>, Absurd> {
    let Some(count) = value.and_then(Value::as_u64) else {
        return Ok(None);
    };
    match usize::try_from(count) {
        Ok(few) if few <= LARGEST_COUNT => Ok(Some(few)),
        _ => Err(Absurd { field, count }),
    }
}

/// A log probability; `None` for what is none: not a number, infinite, or above 0.
pub(super) fn logprob(value: &Value) -> Option<f32> {
    let logprob = value.as_f64().filter(|&logprob| logprob <= ROUNDING)?;
    Some(logprob.min(0.0) as f32).filter(|logprob| logprob.is_finite())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_log_probabilities_are_taken() {
        for (value, expected) in [
            (json!(-0.5), Some(-0.5)),
            (json!(0), Some(0.0)),
            (json!(1e-9), Some(0.0)),
            (json!(0.5), None),
            (json!(-1e300), None),
            (json!(null), None),
            (json!("-1"), None),
        ] {
            assert_eq!(logprob(&value), expected, "{value}");
        }
    }

    #[test]
    fn counts_that_nothing_has_are_absurd() {
        let told = |value: Value| count("x", Some(&value));
        assert_eq!(told(json!(7)), Ok(Some(7)));
        assert_eq!(told(json!(-7)), Ok(None));
        assert_eq!(told(json!(LARGEST_COUNT)), Ok(Some(LARGEST_COUNT)));
        assert!(told(json!(LARGEST_COUNT + 1)).is_err());
        assert!(told(json!(u64::MAX)).is_err());
        assert_eq!(count("x", None), Ok(None));
    }
}
