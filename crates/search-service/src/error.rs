//! The errors of search services, with the remedy beside the message.

use ken_diagnostic::{Remedy, remedy};
use ken_http::{BadCertificates, BadProxy, UntrustedCertificate};
use ken_index::{IndexError, Mode};

/// A search service could not be used. No message holds a key.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
#[allow(missing_docs)] // the messages say what variants and fields are
pub enum ServiceError {
    /// Refused before connecting: others could read the key.
    #[error("the key is not sent to {server}: the connection is not encrypted")]
    #[diagnostic(
        kind = "search_key_in_plain_text",
        remedy = "use https:// (for PostgreSQL sslmode=verify-full), or a tunnel that ends on this machine; where the network is yours, <allow_plaintext_keys> sends it all the same"
    )]
    KeyInPlainText { server: String },
    #[error("the key for {server} holds characters that no HTTP header can carry")]
    #[diagnostic(
        kind = "bad_search_key",
        remedy = "check the variable that holds it for line breaks and spaces"
    )]
    BadKey { server: String },
    #[error("{address} cannot be used: this program was built without PostgreSQL")]
    #[diagnostic(
        kind = "built_without_postgres",
        remedy = "build ken with its client: <BuildWithPostgres>"
    )]
    NoPostgres { address: String },
    #[error(transparent)]
    Certificates(#[from] BadCertificates),
    #[error(transparent)]
    Proxy(#[from] BadProxy),
    #[error(transparent)]
    UntrustedCertificate(#[from] UntrustedCertificate),
    #[error("no search service answers at {server}: {reason}")]
    #[diagnostic(
        kind = "search_service_unreachable",
        remedy = "check that it runs, its host and its port, and the proxy"
    )]
    Unreachable { server: String, reason: String },
    #[error("{server} did not answer the search within {seconds} s")]
    #[diagnostic(
        kind = "search_service_timeout",
        remedy = "the service may be busy: try again, or look at its log"
    )]
    Timeout { server: String, seconds: u64 },
    #[error("{address} answered with HTTP status {status}: {message}")]
    #[diagnostic(kind = "search_service_status", remedy = after_status(*status))]
    Status {
        address: String,
        status: u16,
        message: String,
    },
    #[error("the database at {address} refused: {message}")]
    #[diagnostic(
        kind = "database_refused",
        remedy = "check the names of the user, the database, the table and the columns in the address, its rights, and its password in <search_key>"
    )]
    Database { address: String, message: String },
    #[error("{address} did not answer as {expected} does")]
    #[diagnostic(
        kind = "not_this_search_service",
        remedy = "check the beginning of the address, which says what kind of service it is, and its path"
    )]
    OtherService {
        address: String,
        expected: &'static str,
    },
    #[error("what {address} found has no text; its fields are {fields}")]
    #[diagnostic(
        kind = "search_result_without_text",
        remedy = "name the field of the text at the end of the address: ?text=NAME"
    )]
    NoText { address: String, fields: String },
    #[error("the field {field:?} of what {address} found is not {expected}")]
    #[diagnostic(
        kind = "search_result_of_other_type",
        remedy = "name another field at the end of the address: ?id=NAME&title=NAME&text=NAME"
    )]
    WrongType {
        address: String,
        field: String,
        expected: &'static str,
    },
    #[error(
        "{address} has vectors of {found} dimensions, and the embedder of the settings makes {expected}"
    )]
    #[diagnostic(
        kind = "other_dimensions",
        remedy = "set the embedder that made the vectors there: <embedder> REFERENCE"
    )]
    OtherDimensions {
        address: String,
        found: usize,
        expected: usize,
    },
    #[error("{address} has no field of vectors of this name; there are: {names}")]
    #[diagnostic(
        kind = "vector_field_missing",
        remedy = "name the one to search at the end of the address: ?vector=NAME"
    )]
    NoVectors { address: String, names: String },
    #[error("{address} cannot be searched in mode {mode}")]
    #[diagnostic(kind = "mode_not_offered", remedy = other_mode(*mode))]
    Mode { address: String, mode: Mode },
    #[error("{address} cannot filter by {condition}")]
    #[diagnostic(
        kind = "filter_not_offered",
        remedy = "leave the condition out, or state it as the service knows it; the reference lists what each can do"
    )]
    Filter { address: String, condition: String },
    #[error(transparent)]
    Query(Box<IndexError>),
}

impl From<IndexError> for ServiceError {
    fn from(error: IndexError) -> Self {
        Self::Query(Box::new(error))
    }
}

fn after_status(status: u16) -> Remedy {
    match status {
        401 | 403 => {
            remedy!("give the service's key in <search_key>, or name its variable in <keys>")
        }
        404 => remedy!("check the path of the address: it may name what is not there"),
        429 | 500.. => remedy!("the service is busy or fails: look at its log, and try again"),
        _ => remedy!("check the names of fields in the address, and what the message says"),
    }
}

fn other_mode(mode: Mode) -> Remedy {
    match mode {
        Mode::Dense => remedy!(
            "name the field of the vectors at the end of the address, ?vector=NAME, where the service takes vectors; or leave the mode at its default, which is all that the service can do"
        ),
        _ => remedy!("leave the mode at its default, which is all that the service can do"),
    }
}
