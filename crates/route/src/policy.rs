//! The policies by name.

use std::fmt;
use std::str::FromStr;

/// How it is decided whether a question retrieves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Policy {
    /// Every question retrieves.
    Always,
    /// No question retrieves.
    Never,
    /// The model is asked whether it needs to look the question up (the prompting baseline of
    /// KBM, section 4.1).
    Prompt,
}

impl Policy {
    /// Every policy, in the order in which reports show them.
    pub const ALL: [Self; 3] = [Self::Never, Self::Always, Self::Prompt];

    /// Whether [`Policy::choose`] needs the model's judgment of the question.
    #[must_use]
    pub fn needs_self_judgment(self) -> bool {
        match self {
            Self::Prompt => true,
            Self::Always | Self::Never => false,
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Always => "always",
            Self::Never => "never",
            Self::Prompt => "prompt",
        })
    }
}

/// A name that no policy has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown policy `{name}` (always, never and prompt are known)")]
pub struct UnknownPolicy {
    /// The name given.
    pub name: String,
}

impl FromStr for Policy {
    type Err = UnknownPolicy;

    fn from_str(name: &str) -> Result<Self, UnknownPolicy> {
        Self::ALL
            .into_iter()
            .find(|policy| policy.to_string() == name)
            .ok_or_else(|| UnknownPolicy {
                name: name.to_owned(),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for policy in Policy::ALL {
            assert_eq!(policy.to_string().parse(), Ok(policy));
        }
        let error = "sometimes".parse::<Policy>().unwrap_err();
        assert!(error.to_string().contains("`sometimes`"));
    }
}
