//! The address of a folder of documents on the web.

use std::str::FromStr;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// The characters that are escaped: all but the unreserved ones of RFC 3986 and the slash.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'/');

/// The address of a folder, to which the paths of documents are added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseUrl(String);

/// A text that is not the address of a folder on the web.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, ken_diagnostic::Diagnostic)]
#[error("{given:?} is no address on the web")]
#[diagnostic(
    kind = "no_base_url",
    remedy = "write it with its scheme, e.g. https://docs.example.org/manuals/"
)]
pub struct BaseUrlError {
    /// The given text.
    pub given: String,
}

impl FromStr for BaseUrl {
    type Err = BaseUrlError;

    fn from_str(given: &str) -> Result<Self, Self::Err> {
        let host = ["https://", "http://"]
            .iter()
            .find_map(|scheme| given.strip_prefix(scheme))
            .map(|rest| rest.split('/').next().unwrap_or_default());
        let is_address = host.is_some_and(|host| !host.is_empty())
            && !given.contains(|c: char| c.is_whitespace() || c.is_control() || "?#".contains(c));
        match is_address {
            true => Ok(Self(given.trim_end_matches('/').to_owned())),
            false => Err(BaseUrlError {
                given: given.to_owned(),
            }),
        }
    }
}

impl BaseUrl {
    /// The address of a document by its path below the folder.
    pub(crate) fn of(&self, path: &str) -> String {
        format!("{}/{}", self.0, utf8_percent_encode(path, ESCAPED))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_added() {
        let base: BaseUrl = "https://a.example/m//".parse().unwrap();
        assert_eq!(
            base.of("b c/é#.pdf"),
            "https://a.example/m/b%20c/%C3%A9%23.pdf"
        );
        for bad in [
            "",
            "a.example",
            "https://",
            "ftp://a",
            "http:///x",
            "https://a/?q",
            "https://a b",
        ] {
            assert!(bad.parse::<BaseUrl>().is_err(), "{bad}");
        }
    }
}
