//! The query of an address.

use super::refusal::Refusal;

/// A parameter, as it is described.
#[derive(Clone, Copy)]
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    /// Its JSON type.
    pub(crate) kind: &'static str,
    pub(crate) description: &'static str,
}

impl Parameter {
    pub(crate) const fn new(
        name: &'static str,
        kind: &'static str,
        description: &'static str,
    ) -> Self {
        Self {
            name,
            kind,
            description,
        }
    }
}

/// The names and values in a query, decoded.
pub(crate) fn pairs(query: Option<&str>) -> form_urlencoded::Parse<'_> {
    form_urlencoded::parse(query.unwrap_or_default().as_bytes())
}

/// The refusal of an unknown parameter; `known` names the others.
pub(crate) fn unknown(name: &str, known: &str) -> Refusal {
    let message = format!("there is no parameter {name:?}; known are {known}");
    Refusal::bad("unknown_parameter", message).of(name)
}
