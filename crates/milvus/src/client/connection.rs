//! The connection to a server: blocks on the SDK's calls, limits their time, and reports errors that say what was
//! tried. It does not know which calls there are.

use std::sync::Arc;
use std::time::Duration;

use milvus::v2::error::Error as SdkError;
use milvus::v2::prelude::{
    ClientV2, ConnectConfig, QueryRequestBuilder, QueryResponse, ResultRow, RetryConfig,
    TelemetryConfig,
};
use tokio::runtime::Runtime;

use crate::address::MilvusAddress;
use crate::error::{Failure, MilvusError};
use crate::token::Token;

/// How long a server may take to answer the first call.
const CONNECT: Duration = Duration::from_secs(5);

/// How long a query, a search or a batch may take.
pub(crate) const SHORT: Duration = Duration::from_secs(60);

/// How long building an index or loading a collection may take.
pub(crate) const LONG: Duration = Duration::from_secs(24 * 60 * 60);

/// How often a call is tried if the server is too busy or, for calls that change nothing, does not answer. The
/// backoff grows up to 3 s: a search gives up after two seconds, since a person may be waiting for it.
pub(crate) const SEARCH_ATTEMPTS: u32 = 5;
/// A push gives up after 17 seconds, more than servers delay a second flush.
pub(crate) const PUSH_ATTEMPTS: u32 = 10;

/// A server and the threads that wait for it. It may be called from several threads.
#[derive(Clone)]
pub(crate) struct Connection {
    runtime: Arc<Runtime>,
    client: ClientV2,
    /// The collection's address.
    pub(crate) address: MilvusAddress,
    /// The collection, by the name in the address or another one.
    collection: String,
    token: Option<Token>,
    /// The most time that any call may take.
    longest: Duration,
}

impl Connection {
    /// Connects, with a token where the server requires one.
    ///
    /// # Errors
    /// [`MilvusError::TokenInPlainText`], before anything is sent; [`MilvusError::Unreachable`],
    /// [`Failure::Denied`].
    pub(crate) fn open(
        address: &MilvusAddress,
        token: Option<&Token>,
        attempts: u32,
    ) -> Result<Self, MilvusError> {
        if token.is_some_and(|token| !address.is_private() && !token.in_plain_text) {
            return Err(MilvusError::TokenInPlainText {
                server: address.server(),
            });
        }
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("milvus")
            .enable_all()
            .build()
            .map_err(|source| MilvusError::Runtime { source })?;
        let mut config = ConnectConfig::new()
            .uri(address.uri())
            .connect_timeout(CONNECT)
            .retry(
                RetryConfig::new()
                    .max_attempts(attempts)
                    .initial_backoff(Duration::from_millis(50)),
            )
            .telemetry(TelemetryConfig::new().enabled(false));
        if let Some(token) = token {
            config = config.token(token.text.as_str());
        }
        let client = runtime.block_on(ClientV2::new(&config)).map_err(|error| {
            match failed(address, token, "connect", &error) {
                MilvusError::Call {
                    failure: Failure::Lost | Failure::TimedOut | Failure::Refused,
                    server,
                    reason,
                    ..
                } => MilvusError::Unreachable { server, reason },
                other => other,
            }
        })?;
        Ok(Self {
            runtime: Arc::new(runtime),
            client,
            collection: address.collection().to_owned(),
            address: address.clone(),
            token: token.cloned(),
            longest: LONG,
        })
    }

    pub(crate) fn collection(&self) -> &str {
        &self.collection
    }

    /// A collection of another name on this server.
    pub(crate) fn at(&self, collection: &str) -> Self {
        Self {
            collection: collection.to_owned(),
            ..self.clone()
        }
    }

    /// This connection for calls of which none may take longer.
    pub(crate) fn within(&self, longest: Duration) -> Self {
        Self {
            longest,
            ..self.clone()
        }
    }

    /// Blocks on a call. `action` is what it does, as a verb.
    ///
    /// The server's error, or a timeout after `limit`.
    pub(crate) fn wait<T>(
        &self,
        action: &'static str,
        limit: Duration,
        call: impl AsyncFnOnce(&ClientV2) -> Result<T, SdkError>,
    ) -> Result<T, MilvusError> {
        let limit = limit.min(self.longest);
        let outcome = self
            .runtime
            .block_on(async { tokio::time::timeout(limit, call(&self.client)).await });
        match outcome {
            Ok(outcome) => {
                outcome.map_err(|error| failed(&self.address, self.token.as_ref(), action, &error))
            }
            Err(_) => Err(MilvusError::Call {
                failure: Failure::TimedOut,
                server: self.address.server(),
                action,
                reason: format!("no answer within {} s", limit.as_secs()),
            }),
        }
    }

    pub(crate) fn query(
        &self,
        action: &'static str,
        limit: Duration,
        request: QueryRequestBuilder,
    ) -> Result<QueryResponse, MilvusError> {
        let request = request.collection_name(self.collection()).build();
        self.wait(action, limit, async |client| client.query(request?).await)
    }

    /// The rows that a query finds, each as `read` reads it.
    pub(crate) fn rows<T, C: FromIterator<T>>(
        &self,
        action: &'static str,
        request: QueryRequestBuilder,
        read: impl Fn(&ResultRow<'_>) -> Result<T, String>,
    ) -> Result<C, MilvusError> {
        let response = self.query(action, SHORT, request)?;
        let rows = response.results().rows();
        let rows = rows.map_err(|error| self.unreadable(&error))?;
        rows.map(|row| read(&row).map_err(|reason| self.unreadable(&reason)))
            .collect()
    }

    /// The error for an answer that cannot be parsed.
    pub(crate) fn unreadable(&self, reason: &dyn std::fmt::Display) -> MilvusError {
        MilvusError::Unreadable {
            server: self.address.server(),
            reason: reason.to_string(),
        }
    }
}

/// A text of a row.
pub(crate) fn text(row: &ResultRow<'_>, name: &str) -> Result<String, String> {
    let text = row.get_str(name).map(str::to_owned);
    text.map_err(|error| error.to_string())
}

/// The result of a call about the collection, as [`Connection::wait`] returns it. The request's builder names no
/// collection yet.
macro_rules! call {
    ($action:literal within $limit:ident, $connection:expr => $method:ident($builder:expr)) => {{
        let connection: &$crate::client::connection::Connection = $connection;
        let request = $builder.collection_name(connection.collection()).build();
        connection.wait($action, $limit, async |client| {
            client.$method(request?).await
        })
    }};
}
pub(crate) use call;

/// gRPC status codes.
mod code {
    pub(super) const DEADLINE_EXCEEDED: i32 = 4;
    pub(super) const PERMISSION_DENIED: i32 = 7;
    pub(super) const RESOURCE_EXHAUSTED: i32 = 8;
    pub(super) const OUT_OF_RANGE: i32 = 11;
    pub(super) const UNIMPLEMENTED: i32 = 12;
    pub(super) const UNAUTHENTICATED: i32 = 16;
}

fn failed(
    address: &MilvusAddress,
    token: Option<&Token>,
    action: &'static str,
    error: &SdkError,
) -> MilvusError {
    let server = address.server();
    let shown = |reason: &str| match token {
        Some(token) => token.redacted(reason),
        None => reason.to_owned(),
    };
    let (failure, reason) = match error {
        SdkError::RetryExhausted { source, .. } => return failed(address, token, action, source),
        SdkError::MalformedResponse(_) | SdkError::Conversion(_) => {
            let reason = shown(&error.to_string());
            return MilvusError::Unreadable { server, reason };
        }
        SdkError::Grpc(status) => {
            let failure = match i32::from(status.code()) {
                code::DEADLINE_EXCEEDED => Failure::TimedOut,
                code::PERMISSION_DENIED | code::UNAUTHENTICATED => Failure::Denied,
                code::OUT_OF_RANGE => Failure::AnswerTooLarge,
                code::UNIMPLEMENTED | code::RESOURCE_EXHAUSTED => Failure::Refused,
                _ => Failure::Lost,
            };
            (failure, shown(status.message()))
        }
        SdkError::Server(error) => (Failure::Refused, shown(error.reason())),
        SdkError::Timeout(_) => (Failure::TimedOut, shown(&error.to_string())),
        _ => (Failure::Refused, shown(&error.to_string())),
    };
    MilvusError::Call {
        failure,
        server,
        action,
        reason,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpListener;

    use super::*;

    fn error_of(address: &str, token: &Token) -> MilvusError {
        let address = address.parse().unwrap();
        let opened = Connection::open(&address, Some(token), SEARCH_ATTEMPTS);
        opened.err().unwrap()
    }

    #[test]
    fn a_token_is_not_sent_in_plain_text_to_another_machine() {
        let token = Token::new("root:hunter2");
        // An address reserved for documentation, where nothing answers.
        let error = error_of("milvus://192.0.2.1:19530/notes", &token);
        assert_eq!(error.kind(), "token_in_plain_text");
        assert!(!error.to_string().contains("hunter2"));
        assert!(error.remedy().unwrap().mentions("milvus+https://"));
        let allowed = token.allowed_in_plain_text(true);
        let error = error_of("milvus://192.0.2.1:19530/notes", &allowed);
        assert_eq!(error.kind(), "milvus_unreachable");
    }

    /// The first bytes that a server receives.
    fn first_bytes(scheme: &str) -> Vec<u8> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("{scheme}{}/notes", listener.local_addr().unwrap());
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut bytes = vec![0; 3];
            stream.read_exact(&mut bytes).unwrap();
            bytes
        });
        error_of(&address, &Token::new("root:hunter2"));
        server.join().unwrap()
    }

    #[test]
    fn an_encrypted_connection_begins_with_a_handshake() {
        // A TLS handshake record, and the HTTP/2 preface.
        assert_eq!(first_bytes("milvus+https://")[..2], [0x16, 0x03]);
        assert_eq!(first_bytes("milvus://"), b"PRI");
    }
}
