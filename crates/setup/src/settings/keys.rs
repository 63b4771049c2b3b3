//! The table `[keys]` of the settings: which server may get the key in which variable. It holds names of variables
//! and never a key, so settings can be shown.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Serialize, Serializer};

use super::address::CorpusAddress;

/// The prefix of values that name a variable.
const VARIABLE: &str = "env:";

/// The value for a server that gets no key.
const NO_KEY: &str = "none";

/// Where a server's key comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    /// From the variable of this name.
    Variable(String),
    /// It gets none, whatever `KEN_API_KEY`, `KEN_MILVUS_TOKEN` and `KEN_SEARCH_KEY` say.
    NoKey,
}

impl fmt::Display for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "{VARIABLE}{name}"),
            Self::NoKey => f.write_str(NO_KEY),
        }
    }
}

impl Serialize for KeySource {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Servers with their keys, by origin: scheme, host and port.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Keys(BTreeMap<String, KeySource>);

impl Keys {
    /// Where the key of a server comes from, if the table says.
    pub fn of(&self, origin: &str) -> Option<&KeySource> {
        self.0.get(origin)
    }

    /// Reads the table. No message shows a value, which may be a key that somebody wrote there.
    pub(super) fn read(value: &toml::Value) -> Result<Self, String> {
        let table = value.as_table().ok_or_else(|| {
            "a table is expected, as [keys] with lines \"https://HOST\" = \"env:NAME\"".to_owned()
        })?;
        let mut keys = BTreeMap::new();
        for (server, source) in table {
            let source = source.as_str().and_then(source_of).ok_or_else(|| {
                format!(
                    "the value of `{}` must be \"env:NAME\", the variable that holds the key, or \
                     \"none\"; keys themselves do not belong into this file",
                    ken_http::without_secrets(server)
                )
            })?;
            keys.insert(origin_of(server)?, source);
        }
        Ok(Self(keys))
    }
}

fn source_of(text: &str) -> Option<KeySource> {
    if text == NO_KEY {
        return Some(KeySource::NoKey);
    }
    let name = text.strip_prefix(VARIABLE)?;
    let fits = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let begins = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    (begins && name.chars().all(fits)).then(|| KeySource::Variable(name.to_owned()))
}

/// The origin that a line of the table names. Anything beyond an origin is refused, since people would expect a path
/// to matter.
fn origin_of(server: &str) -> Result<String, String> {
    let form = "it must be https://HOST[:PORT], http://HOST:PORT, milvus://HOST:PORT, \
                milvus+https://HOST:PORT or postgres://HOST:PORT";
    let shown = ken_http::without_secrets(server);
    let server = server.strip_suffix('/').unwrap_or(server);
    let (_, host) = server
        .split_once("://")
        .ok_or_else(|| format!("`{shown}`: {form}"))?;
    if host.contains(['/', '?', '#']) {
        return Err(format!("`{shown}` has more than scheme, host and port"));
    }
    if CorpusAddress::has_scheme(server) {
        // A collection of Milvus, or a table in a database.
        let mut addresses = ["any", "any/any"].into_iter().filter_map(|path| {
            let address: CorpusAddress = format!("{server}/{path}").parse().ok()?;
            address.origin()
        });
        return addresses.next().ok_or_else(|| format!("`{shown}`: {form}"));
    }
    ken_model::remote::origin(server).map_err(|_| format!("`{shown}`: {form}"))
}

#[cfg(test)]
mod tests {
    use ken_testing::cases;

    use super::*;

    fn read(text: &str) -> Result<Keys, String> {
        let table: toml::Table = toml::from_str(text).unwrap();
        Keys::read(&table["keys"])
    }

    #[test]
    fn a_server_is_known_by_scheme_host_and_port() {
        let keys = read(
            "[keys]\n\"https://API.example.org:443/\" = \"env:A_KEY\"\n\
             \"http://127.0.0.1:8000\" = \"none\"\n\"milvus+https://box\" = \"env:M\"\n\
             \"postgres://box\" = \"env:P\"\n",
        )
        .unwrap();
        let of = |origin: &str| keys.of(origin).map(ToString::to_string);
        assert_eq!(of("https://api.example.org").as_deref(), Some("env:A_KEY"));
        assert_eq!(of("http://api.example.org"), None);
        assert_eq!(of("https://api.example.org:8443"), None);
        assert_eq!(of("http://127.0.0.1:8000").as_deref(), Some("none"));
        assert_eq!(of("milvus+https://box:19530").as_deref(), Some("env:M"));
        assert_eq!(of("milvus://box:19530"), None);
        assert_eq!(of("postgres://box:5432").as_deref(), Some("env:P"));
    }

    #[test]
    fn what_is_wrong_is_told_without_the_value() {
        for (text, expected) in cases![
            "keys = \"sk-secret\"" => "a table is expected";
            "[keys]\n\"https://h\" = \"sk-secret\"" => "`https://h` must be";
            "[keys]\n\"https://h\" = \"env:sk-secret\"" => "env:NAME";
            "[keys]\n\"https://h\" = \"env:\"" => "env:NAME";
            "[keys]\n\"https://h\" = 7" => "env:NAME";
            "[keys]\nhost = \"env:A\"" => "`host`: it must be https://";
            "[keys]\n\"https://h/v1\" = \"env:A\"" => "more than scheme";
            "[keys]\n\"ftp://h\" = \"env:A\"" => "it must be";
            "[keys]\n\"https://u:secret@h\" = \"env:A\"" => "`h`: it must be";
            "[keys]\n\"milvus://h:port\" = \"env:A\"" => "it must be";
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
