//! The address of a search service, such as `qdrant+http://127.0.0.1:6333/notes?text=body`: the kind of the service, its
//! URL, and the roles of its fields. Parsing connects to nothing.

use std::fmt;
use std::str::FromStr;

use ken_corpus::{FieldName, FieldNames};
use ken_http::without_secrets;
use percent_encoding::percent_decode_str;
use url::Url;

use crate::kind::Kind;

/// Parameters that name a field or a column.
const FIELDS: [&str; 3] = ["id", "title", "text"];

/// The mode of an encrypted connection to a server with a valid certificate, as libpq calls it.
const VERIFIED: &str = "verify-full";

/// A corpus behind a search service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceAddress {
    /// The address as shown, without secrets.
    shown: String,
    pub(crate) kind: Kind,
    /// The service's own URL, without parameters and without a slash at its end.
    pub(crate) url: Url,
    pub(crate) options: Options,
}

/// The parameters of an address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// The names of the fields with the id, the title and the text; the known ones if not given.
    pub(crate) names: FieldNames,
    /// The field of the text, if given.
    pub(crate) text: Option<String>,
    /// The field of the vectors.
    pub(crate) vector: Option<String>,
    /// The field that holds the metadata; if not given, all fields are metadata.
    pub(crate) metadata: Option<String>,
    /// How PostgreSQL cuts texts into words.
    pub(crate) language: Option<String>,
    /// The column of PostgreSQL with the words of a text.
    pub(crate) words: Option<String>,
    /// How PostgreSQL compares vectors.
    pub(crate) distance: Option<String>,
    /// Whether a connection to PostgreSQL is encrypted, and its certificate checked.
    sslmode: Option<String>,
}

/// A malformed address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, ken_diagnostic::Diagnostic)]
#[error("{given:?} is no address of a search service: {reason}")]
#[diagnostic(
    kind = "bad_search_address",
    remedy = "write KIND+http://HOST:PORT/PATH, as qdrant+http://127.0.0.1:6333/notes is, where KIND is vector-store, retrieve, elasticsearch, opensearch or qdrant; or postgres://USER@HOST/DATABASE/TABLE"
)]
pub struct ServiceAddressError {
    /// The given text, without secrets.
    pub given: String,
    /// Its fault.
    pub reason: String,
}

impl ServiceAddress {
    /// Whether a text looks like such an address, valid or not.
    pub fn has_scheme(text: &str) -> bool {
        Kind::of(text).is_some()
    }

    /// A name for it: the last part of its path.
    pub fn name(&self) -> String {
        let mut parts = self.url.path().rsplit('/');
        decoded(parts.next().unwrap_or_default())
    }

    /// The server to which a key belongs: scheme, host and port.
    pub fn origin(&self) -> String {
        match self.kind {
            Kind::Postgres => format!("postgres://{}", self.server()),
            _ => self.url.origin().ascii_serialization(),
        }
    }

    /// The server, for people: `HOST:PORT`.
    pub(crate) fn server(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        format!("{host}:{}", self.port())
    }

    pub(crate) fn port(&self) -> u16 {
        match self.kind {
            Kind::Postgres => self.url.port().unwrap_or(5432),
            _ => self.url.port_or_known_default().unwrap_or(80),
        }
    }

    /// Whether only this machine and the server can read the traffic.
    pub(crate) fn is_private(&self) -> bool {
        self.is_encrypted() || ken_http::is_loopback(&self.url)
    }

    /// Whether the connection is encrypted, to a server whose certificate is checked. A connection to PostgreSQL on another
    /// machine is, unless the address says otherwise.
    pub(crate) fn is_encrypted(&self) -> bool {
        match (self.kind, self.options.sslmode.as_deref()) {
            (Kind::Postgres, None) => !ken_http::is_loopback(&self.url),
            (Kind::Postgres, Some(mode)) => mode == VERIFIED,
            _ => self.url.scheme() == "https",
        }
    }
}

impl fmt::Display for ServiceAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl FromStr for ServiceAddress {
    type Err = ServiceAddressError;

    fn from_str(given: &str) -> Result<Self, ServiceAddressError> {
        let error = |reason: String| ServiceAddressError {
            given: shown(given),
            reason,
        };
        let (kind, rest) =
            Kind::of(given).ok_or_else(|| error("it names no kind of service".to_owned()))?;
        if given.contains(['\\', '#']) {
            return Err(error("it has a backslash or a #".to_owned()));
        }
        // The parser treats hosts of other schemes as opaque, and so misses loopback addresses and case.
        let as_http = rest
            .split_once("://")
            .map(|(_, rest)| format!("http://{rest}"));
        let as_http = as_http.filter(|_| kind == Kind::Postgres);
        let url = Url::parse(as_http.as_deref().unwrap_or(rest));
        let mut url = url.map_err(|reason| error(reason.to_string()))?;
        if url.password().is_some() || (kind != Kind::Postgres && !url.username().is_empty()) {
            return Err(error("it must not carry a password".to_owned()));
        }
        if url.host_str().is_none_or(str::is_empty) {
            return Err(error("it names no host".to_owned()));
        }
        let options = Options::read(&url, kind).map_err(error)?;
        url.set_query(None);
        let path = url.path().trim_end_matches('/').to_owned();
        if path.is_empty() {
            let reason = format!(
                "it ends after the server, and {} is expected there",
                kind.path()
            );
            return Err(error(reason));
        }
        if kind == Kind::Postgres && path.matches('/').count() != 2 {
            return Err(error(format!("its path has to be {}", kind.path())));
        }
        url.set_path(&match (kind, path.rsplit_once('/')) {
            (Kind::Qdrant, Some((before, name))) if !before.ends_with("/collections") => {
                format!("{before}/collections/{name}")
            }
            _ => path,
        });
        Ok(Self {
            shown: given.to_owned(),
            kind,
            url,
            options,
        })
    }
}

impl Options {
    fn read(url: &Url, kind: Kind) -> Result<Self, String> {
        let mut options = Self::default();
        let mut names: Vec<FieldName> = Vec::new();
        for (key, value) in url.query_pairs() {
            let value = value.into_owned();
            if value.is_empty() {
                return Err(format!("the parameter {key:?} has no value"));
            }
            let slot = match key.as_ref() {
                field if FIELDS.contains(&field) => {
                    if field == "text" {
                        options.text = Some(value.clone());
                    }
                    let name = format!("{field}={value}").parse();
                    names.push(name.map_err(|_| format!("{value:?} names no field"))?);
                    continue;
                }
                "vector" if kind.takes_vectors() => &mut options.vector,
                "metadata" => &mut options.metadata,
                "language" if kind == Kind::Postgres => &mut options.language,
                "words" if kind == Kind::Postgres => &mut options.words,
                "distance" if kind == Kind::Postgres => &mut options.distance,
                "sslmode" if kind == Kind::Postgres => {
                    if !["disable", VERIFIED].contains(&value.as_str()) {
                        return Err(format!("sslmode is {VERIFIED} or disable"));
                    }
                    &mut options.sslmode
                }
                other => return Err(format!("it has no parameter {other:?}")),
            };
            *slot = Some(value);
        }
        options.names = names.into_iter().collect();
        Ok(options)
    }
}

/// A part of a URL with its escapes resolved.
pub(crate) fn decoded(part: &str) -> String {
    percent_decode_str(part).decode_utf8_lossy().into_owned()
}

/// A malformed address, as a message may show it.
fn shown(given: &str) -> String {
    match given.contains('@') {
        true => without_secrets(given).to_owned(),
        false => given.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use ken_testing::cases;

    use super::*;

    fn read(text: &str) -> Result<ServiceAddress, ServiceAddressError> {
        text.parse()
    }

    #[test]
    fn addresses_are_read() {
        for (text, url, name, origin) in cases![
            "vector-store+https://API.example.org/v1/vector_stores/vs_1" =>
                "https://api.example.org/v1/vector_stores/vs_1", "vs_1", "https://api.example.org";
            "retrieve+http://127.0.0.1:8000/retrieve/" => "http://127.0.0.1:8000/retrieve", "retrieve",
                "http://127.0.0.1:8000";
            "qdrant+http://box:6333/notes?text=body&vector=dense" => "http://box:6333/collections/notes",
                "notes", "http://box:6333";
            "postgres://ken@Box/shop/public.docs?vector=embedding" => "http://ken@box/shop/public.docs",
                "public.docs", "postgres://box:5432";
        ] {
            let address = read(text).unwrap();
            assert_eq!(address.url.as_str(), url);
            assert_eq!(
                (address.name().as_str(), address.origin().as_str()),
                (name, origin)
            );
            assert_eq!(address.to_string(), text);
            assert!(ServiceAddress::has_scheme(text));
        }
        for text in [
            "notes.ken",
            "http://box/notes",
            "milvus://box:19530/notes",
            "qdrant+notes",
        ] {
            assert!(!ServiceAddress::has_scheme(text), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_told_without_a_secret() {
        for (text, expected) in cases![
            "qdrant+http://box:6333" => "it ends after the server";
            "qdrant+http://u:secret@box/notes" => "password";
            "qdrant+http://u@box/notes" => "password";
            "postgres://u:secret@box/shop/docs" => "password";
            "postgres://u@box/shop" => "DATABASE/TABLE";
            "qdrant+http://box/notes?secret=x&txt=body" => "no parameter \"secret\"";
            "retrieve+http://box/r?vector=v" => "no parameter \"vector\"";
            "qdrant+http://box/notes?text=" => "has no value";
            "qdrant+http://box:port/notes" => "port";
            "postgres://u@box/d/t?sslmode=require" => "verify-full or disable";
            "qdrant+http://box/notes?sslmode=disable" => "no parameter";
            r"qdrant+http://good\@evil/notes" => "backslash";
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
            assert!(!error.contains(":secret"), "{error}");
        }
    }
}
