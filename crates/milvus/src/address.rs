//! The address of a corpus in Milvus: `milvus://HOST:PORT/COLLECTION`, or `milvus+https://` for an encrypted
//! connection. Parsing one connects to nothing.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

const SCHEME: &str = "milvus://";

/// The scheme of connections encrypted by TLS.
const ENCRYPTED: &str = "milvus+https://";

/// The SDK takes a host whose name contains this for a directory of servers, and would send the token to whichever
/// server the directory names.
const GLOBAL_CLUSTER: &str = "global-cluster";

/// The port of addresses that give none.
const DEFAULT_PORT: u16 = 19530;

/// Milvus's own limit for the name of a collection.
const LONGEST_NAME: usize = 255;

/// A collection on a Milvus server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MilvusAddress {
    encrypted: bool,
    host: String,
    port: u16,
    collection: String,
}

/// The error for a malformed address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, ken_diagnostic::Diagnostic)]
#[error("{given:?} is no address of a collection: {reason}")]
#[diagnostic(
    kind = "bad_milvus_address",
    remedy = "write milvus://HOST:PORT/COLLECTION, as milvus://127.0.0.1:19530/notes is, or milvus+https://HOST:PORT/COLLECTION"
)]
pub struct AddressError {
    /// The text as written.
    pub given: String,
    /// What is wrong with it.
    pub reason: &'static str,
}

impl MilvusAddress {
    /// Whether a text has the scheme of such an address, valid or not.
    #[must_use]
    pub fn has_scheme(text: &str) -> bool {
        text.starts_with(SCHEME) || text.starts_with(ENCRYPTED)
    }

    /// The name of the collection.
    #[must_use]
    pub fn collection(&self) -> &str {
        &self.collection
    }

    /// The server that a token belongs to: scheme, host and port.
    #[must_use]
    pub fn origin(&self) -> String {
        let server = self.server().to_ascii_lowercase();
        format!("{}{server}", self.scheme())
    }

    fn scheme(&self) -> &'static str {
        if self.encrypted { ENCRYPTED } else { SCHEME }
    }

    /// Whether only this machine and the server can read what is sent.
    pub(crate) fn is_private(&self) -> bool {
        let host = self.host.trim_start_matches('[').trim_end_matches(']');
        let is_loopback = |address: IpAddr| address.is_loopback();
        self.encrypted
            || host.eq_ignore_ascii_case("localhost")
            || host.parse().is_ok_and(is_loopback)
    }

    /// The server, for people: `HOST:PORT`.
    pub(crate) fn server(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// The server as the SDK takes it.
    pub(crate) fn uri(&self) -> String {
        let scheme = if self.encrypted { "https" } else { "http" };
        format!("{scheme}://{}", self.server())
    }
}

impl fmt::Display for MilvusAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = self.scheme();
        write!(f, "{scheme}{}:{}/{}", self.host, self.port, self.collection)
    }
}

impl FromStr for MilvusAddress {
    type Err = AddressError;

    fn from_str(given: &str) -> Result<Self, AddressError> {
        let error = |reason| AddressError {
            given: without_password(given),
            reason,
        };
        let encrypted = given.starts_with(ENCRYPTED);
        let scheme = if encrypted { ENCRYPTED } else { SCHEME };
        let rest = given
            .strip_prefix(scheme)
            .ok_or_else(|| error("it starts with neither milvus:// nor milvus+https://"))?;
        let (server, collection) = rest
            .split_once('/')
            .ok_or_else(|| error("no collection is named after the server"))?;
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
        if host.to_ascii_lowercase().contains(GLOBAL_CLUSTER) {
            return Err(error(
                "the host of a global cluster redirects to its servers, which ken does not follow",
            ));
        }
        if !is_collection(collection) {
            return Err(error(
                "a collection's name has letters, digits and _ only, and does not start with a digit",
            ));
        }
        Ok(Self {
            encrypted,
            host: host.to_owned(),
            port,
            collection: collection.to_owned(),
        })
    }
}

/// The given text without anything that may be a password.
fn without_password(given: &str) -> String {
    match given.rsplit_once('@') {
        Some((_, host)) => format!("…@{host}"),
        None => given.to_owned(),
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
            "milvus+https://milvus.example.org:443/notes",
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
    fn an_encrypted_connection_has_its_own_scheme() {
        let address = |text: &str| text.parse::<MilvusAddress>().unwrap();
        let encrypted = address("milvus+https://Box/notes");
        assert_eq!(encrypted.uri(), "https://Box:19530");
        assert_eq!(encrypted.origin(), "milvus+https://box:19530");
        assert_eq!(address("milvus://box/notes").origin(), "milvus://box:19530");
        for (text, private) in [
            ("milvus+https://box/n", true),
            ("milvus://localhost/n", true),
            ("milvus://127.0.0.1:1/n", true),
            ("milvus://[::1]:1/n", true),
            ("milvus://box/n", false),
            ("milvus://10.0.0.1/n", false),
            ("milvus://localhost.example.org/n", false),
        ] {
            assert_eq!(address(text).is_private(), private, "{text}");
        }
    }

    #[test]
    fn a_password_in_an_address_is_not_shown() {
        let error = "milvus://root:hunter2@box/notes".parse::<MilvusAddress>();
        let error = error.unwrap_err().to_string();
        assert!(
            error.contains("box/notes") && !error.contains("hunter2"),
            "{error}"
        );
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
            "milvus+https://my-Global-Cluster.example.org/notes",
        ] {
            let error = text.parse::<MilvusAddress>().unwrap_err();
            assert!(error.to_string().contains(text), "{error}");
        }
    }
}
