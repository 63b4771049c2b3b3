//! Comparing the fingerprints of models' files, which corpora, records and heads hold. The crate
//! that reads models computes them.

/// Hexadecimal digits of a fingerprint's second half.
pub const WHOLE_DIGITS: usize = 32;

/// Whether two fingerprints are of one model. They have the form `SAMPLED-WHOLE`: a hash of
/// samples, and one of all bytes. Earlier versions had the first half only, which is then all that
/// is compared. Any other text only equals itself.
#[must_use]
pub fn same_fingerprint(one: &str, other: &str) -> bool {
    one == other || is_first_half(one, other) || is_first_half(other, one)
}

/// Whether `short` is the first half of `long`, which has two.
fn is_first_half(short: &str, long: &str) -> bool {
    let is_hash = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    long.strip_prefix(short)
        .and_then(|rest| rest.strip_prefix('-'))
        .is_some_and(|whole| whole.len() == WHOLE_DIGITS && is_hash(whole))
        && matches!(short.len(), 32 | 64)
        && is_hash(short)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_first_half_stands_for_the_whole() {
        let (first, second) = ("0123456789abcdef".repeat(2), "fedcba9876543210".repeat(2));
        let both = format!("{first}-{second}");
        assert!(same_fingerprint(&both, &both));
        assert!(same_fingerprint(&both, &first) && same_fingerprint(&first, &both));
        assert!(!same_fingerprint(&both, &first[..31]));
        assert!(!same_fingerprint(&both, &second));
        assert!(!same_fingerprint(&both, &format!("{first}-{first}")));
        assert!(!same_fingerprint("model", "model-a"));
        assert!(same_fingerprint("model", "model"));
    }
}
