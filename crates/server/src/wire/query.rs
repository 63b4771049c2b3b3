//! The query of an address.

use super::refusal::Refusal;

/// A parameter: its name, its JSON type, and its description.
#[derive(Clone, Copy)]
pub(crate) struct Parameter(
    pub(crate) &'static str,
    pub(crate) &'static str,
    pub(crate) &'static str,
);

/// The names and values in a query, decoded.
pub(crate) fn pairs(query: Option<&str>) -> form_urlencoded::Parse<'_> {
    form_urlencoded::parse(query.unwrap_or_default().as_bytes())
}

/// The refusal of an unknown parameter; `known` names the others.
pub(crate) fn unknown(name: &str, known: &str) -> Refusal {
    let message = format!("there is no parameter {name:?}; known are {known}");
    Refusal::bad("unknown_parameter", message).of(name)
}
