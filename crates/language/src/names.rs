//! Names of enum values, as people write them.

/// A text that names no value of an enum.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{received:?} is no {what}; there are {known}")]
pub struct UnknownName {
    /// The text.
    pub received: String,
    /// What it should name.
    pub what: &'static str,
    /// The valid names.
    pub known: String,
}

/// Gives each value of an enum its name: `Display` writes it and `FromStr` reads it.
#[macro_export]
macro_rules! named {
    ($type:ty, $what:literal, $($value:path => $name:literal,)+) => {
        impl $type {
            /// Every value with its name.
            pub(crate) const NAMES: &'static [(Self, &'static str)] = &[$(($value, $name)),+];
        }

        impl ::std::fmt::Display for $type {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(match self {
                    $($value => $name,)+
                })
            }
        }

        impl ::std::str::FromStr for $type {
            type Err = $crate::UnknownName;

            fn from_str(name: &str) -> ::std::result::Result<Self, Self::Err> {
                match Self::NAMES.iter().find(|(_, known)| *known == name) {
                    Some((value, _)) => Ok(*value),
                    None => Err($crate::UnknownName {
                        received: name.to_owned(),
                        what: $what,
                        known: [$($name),+].join(", "),
                    }),
                }
            }
        }
    };
}

#[cfg(test)]
mod tests {
    #[derive(Debug, Clone, Copy, PartialEq)]
    enum Door {
        Front,
        Back,
    }

    named! {
        Door, "door",
        Door::Front => "front",
        Door::Back => "back",
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        for (value, name) in Door::NAMES {
            assert_eq!(
                (name.parse(), value.to_string().as_str()),
                (Ok(*value), *name)
            );
        }
        let unknown = "side".parse::<Door>().unwrap_err().to_string();
        assert_eq!(unknown, "\"side\" is no door; there are front, back");
    }
}
