//! Looking up models with short names, by short name and by reference.

use crate::open_models::open_models;
use crate::short_names::{ShortName, defaults};

pub(crate) fn all() -> impl Iterator<Item = &'static ShortName> {
    let open = open_models().iter().map(|model| &model.known);
    defaults().iter().chain(open)
}

/// The known model with this short name.
pub(crate) fn by_name(name: &str) -> Option<&'static ShortName> {
    all().find(|known| known.name == name)
}

/// The known model with this full reference.
pub(crate) fn by_reference(reference: &str) -> Option<&'static ShortName> {
    all().find(|known| known.reference == reference)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_models_are_found_by_name_and_reference() {
        for known in all() {
            assert_eq!(by_name(known.name), Some(known));
            assert_eq!(by_reference(known.reference), Some(known));
        }
    }
}
