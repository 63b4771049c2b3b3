//! Raised text, which a line of plain text shows no more.

/// Whether raised text changes the number before it, so that a sign must set them apart: 10⁶ is not 106.
pub(crate) fn changes_number(before: &str, raised: &str) -> bool {
    raised.starts_with(|c: char| c.is_ascii_digit() || "+-−".contains(c))
        && before.ends_with(|c: char| c.is_ascii_digit())
}
