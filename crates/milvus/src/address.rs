//! Where a corpus is in Milvus: `milvus://HOST:PORT/COLLECTION`. Only the name; nothing is
//! connected here.

use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;

/// What an address begins with.
const SCHEME: &str = "milvus://";

/// The port of a Milvus server where none is named.
const DEFAULT_PORT: u16 = 19530;

/// The longest name of a collection that Milvus takes.
const LONGEST_NAME: usize = 255;

/// A collection on a Milvus server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MilvusAddress {
    host: String,
    port: u16,
    collection: String,
}

/// An address was written wrongly.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} is no address of a collection: {reason}")]
pub struct AddressError {
    /// What was written.
    pub given: String,
    /// What is wrong with it.
    pub reason: &'static str,
}

impl AddressError {
    /// A short stable name of the kind of error.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        "bad_milvus_address"
    }

    /// The remedy.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        Some("write milvus://HOST:PORT/COLLECTION, as milvus://127.0.0.1:19530/notes is".to_owned())
    }
}

impl MilvusAddress {
    /// Whether a text is meant as such an address, right or wrong.
    #[must_use]
    pub fn is_meant_by(text: &str) -> bool {
        text.starts_with(SCHEME)
    }

    /// The name of the collection.
    #[must_use]
    pub fn collection(&self) -> &str {
        &self.collection
    }

    /// The server, for people: `HOST:PORT`.
    pub(crate) fn server(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// The server as the SDK wants it.
    pub(crate) fn uri(&self) -> String {
        format!("http://{}", self.server())
    }
}

impl fmt::Display for MilvusAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}:{}/{}", self.host, self.port, self.collection)
    }
}

impl FromStr for MilvusAddress {
    type Err = AddressError;

    fn from_str(given: &str) -> Result<Self, AddressError> {
        let error = |reason| AddressError {
            given: given.to_owned(),
            reason,
        };
        let rest = given
            .strip_prefix(SCHEME)
            .ok_or_else(|| error("it does not begin with milvus://"))?;
        let (server, collection) = rest
            .split_once('/')
            .ok_or_else(|| error("no collection is named behind the server"))?;
        let (host, port) = match server.rsplit_once(':') {
            // The colons of a bare IPv6 address are within brackets.
            Some((host, port)) if !port.ends_with(']') => {
                let port = port.parse().ok().filter(|&port| port > 0);
                (host, port.ok_or_else(|| error("the port is no number"))?)
            }
            _ => (server, DEFAULT_PORT),
        };
        if !is_host(host) {
            return Err(error("the host is neither a name nor an IP address"));
        }
        if !is_collection(collection) {
            return Err(error(
                "a collection's name has letters, digits and _ only, and does not begin with a digit",
            ));
        }
        Ok(Self {
            host: host.to_owned(),
            port,
            collection: collection.to_owned(),
        })
    }
}

fn is_host(host: &str) -> bool {
    if let Some(inside) = host.strip_prefix('[') {
        let inside = inside.strip_suffix(']');
        return inside.is_some_and(|inside| inside.parse::<Ipv6Addr>().is_ok());
    }
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    !host.is_empty() && host.chars().all(allowed)
}

fn is_collection(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.len() <= LONGEST_NAME
        && !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_written() {
        for text in [
            "milvus://127.0.0.1:19530/notes",
            "milvus://milvus.example.org:1/n_1",
            "milvus://[::1]:19530/_n",
        ] {
            let address: MilvusAddress = text.parse().unwrap();
            assert_eq!(address.to_string(), text);
        }
        let address: MilvusAddress = "milvus://box/notes".parse().unwrap();
        assert_eq!(address.to_string(), "milvus://box:19530/notes");
        let address: MilvusAddress = "milvus://[::1]/notes".parse().unwrap();
        assert_eq!(address.uri(), "http://[::1]:19530");
    }

    #[test]
    fn what_is_no_address_is_refused_with_a_reason() {
        for text in [
            "notes.ken",
            "milvus://",
            "milvus://box:19530",
            "milvus://box:19530/",
            "milvus://box:port/notes",
            "milvus://box:0/notes",
            "milvus://:19530/notes",
            "milvus://[::g]:19530/notes",
            "milvus://a b:19530/notes",
            "milvus://box:19530/no tes",
            "milvus://box:19530/1notes",
            "milvus://box:19530/a/b",
        ] {
            let error = text.parse::<MilvusAddress>().unwrap_err();
            assert!(error.to_string().contains(text), "{error}");
        }
    }
}
