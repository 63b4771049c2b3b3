//! Limits on what an endpoint's response may claim, whatever was requested. The limits in bytes and
//! in time are settings; these are far above what any model has.

use serde_json::Value;

/// Tokens of a completion.
pub(super) const MAX_TOKENS: usize = 1 << 20;

/// The largest token count that is plausible, and the longest context.
pub(super) const MAX_COUNT: usize = 1 << 24;

/// Numbers of one embedding.
pub(super) const MAX_DIMENSIONS: usize = 1 << 14;

/// Bytes of a line of a stream, which holds an event.
pub(super) const MAX_LINE_BYTES: usize = 1 << 20;

/// Bytes of a model's name.
pub(super) const MAX_NAME_BYTES: usize = 256;

/// Bytes of an error response that are read.
pub(super) const ERROR_BODY_BYTES: u64 = 64 * 1024;

/// Log probabilities above 0 by no more than this are rounding errors.
const ROUNDING: f64 = 1e-3;

/// The token count at a JSON pointer into a response; `None` if there is none.
///
/// # Errors
/// A count above [`MAX_COUNT`], as a message.
pub(super) fn count(response: &Value, pointer: &str) -> Result<Option<usize>, String> {
    let Some(count) = response.pointer(pointer).and_then(Value::as_u64) else {
        return Ok(None);
    };
    match usize::try_from(count) {
        Ok(count) if count <= MAX_COUNT => Ok(Some(count)),
        _ => {
            let field = pointer.trim_start_matches('/').replace('/', ".");
            Err(format!(
                "its `{field}` is {count}, and {MAX_COUNT} is the most"
            ))
        }
    }
}

/// What services return instead of a log probability that they do not report; anything below it counts as this too.
const UNTOLD: f64 = -9999.0;

/// A log probability; `None` for anything else: not a number, infinite, above 0, or [`UNTOLD`].
pub(super) fn logprob(value: &Value) -> Option<f32> {
    let is_told = |&logprob: &f64| logprob <= ROUNDING && logprob > UNTOLD;
    let logprob = value.as_f64().filter(is_told)?;
    Some(logprob.min(0.0) as f32)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_log_probabilities_are_accepted() {
        for (value, expected) in [
            (json!(-0.5), Some(-0.5)),
            (json!(0), Some(0.0)),
            (json!(1e-9), Some(0.0)),
            (json!(0.5), None),
            (json!(-1e300), None),
            (json!(-9999.0), None),
            (json!(-9998.0), Some(-9998.0)),
            (json!(null), None),
            (json!("-1"), None),
        ] {
            assert_eq!(logprob(&value), expected, "{value}");
        }
    }

    #[test]
    fn implausible_counts_are_refused() {
        let count_of = |value: Value| count(&json!({"x": {"y": value}}), "/x/y");
        assert_eq!(count_of(json!(7)), Ok(Some(7)));
        assert_eq!(count_of(json!(-7)), Ok(None));
        assert_eq!(count_of(json!(MAX_COUNT)), Ok(Some(MAX_COUNT)));
        let error = count_of(json!(MAX_COUNT + 1)).unwrap_err();
        assert!(error.starts_with("its `x.y` is 16777217"), "{error}");
        assert!(count_of(json!(u64::MAX)).is_err());
        assert_eq!(count(&json!({"x": 1}), "/x/y"), Ok(None));
    }
}
