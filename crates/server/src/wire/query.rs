//! The query of an address.

use super::refusal::Refusal;

/// Its names and values, decoded.
pub(crate) fn pairs(query: Option<&str>) -> form_urlencoded::Parse<'_> {
    form_urlencoded::parse(query.unwrap_or_default().as_bytes())
}

/// A parameter that is not known; those that are, in words.
pub(crate) fn unknown(name: &str, known: &str) -> Refusal {
    let message = format!("there is no parameter {name:?}; known are {known}");
    Refusal::bad("unknown_parameter", message).of(name)
}
