//! The connection to a server: the SDK's calls, waited for, with a limit of time and with errors
//! that say what was tried. What is called is not known here.

use std::time::Duration;

use milvus::v2::error::Error as SdkError;
use milvus::v2::prelude::{ClientV2, ConnectConfig, RetryConfig, TelemetryConfig};
use tokio::runtime::Runtime;

use crate::address::MilvusAddress;
use crate::error::MilvusError;
use crate::token::Token;

/// How long a server may take to answer the first call.
const CONNECT: Duration = Duration::from_secs(5);

/// How long a query, a search or a batch may take.
pub(crate) const SHORT: Duration = Duration::from_secs(60);

/// How long an index may be built, or a collection loaded.
pub(crate) const LONG: Duration = Duration::from_secs(24 * 60 * 60);

/// How often a call is made again where the server is too busy or, for calls that change nothing,
/// does not answer. Each pause is longer than the one before, up to 3 s.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Patience {
    /// Somebody waits for an answer: two seconds.
    Search,
    /// Work that takes its time: 17 seconds, more than servers make a second flush wait.
    Push,
}

impl Patience {
    fn attempts(self) -> u32 {
        match self {
            Self::Search => 5,
            Self::Push => 10,
        }
    }
}

/// A server and the threads that wait for it. Calls from several threads are safe.
pub(crate) struct Connection {
    runtime: Runtime,
    client: ClientV2,
    address: MilvusAddress,
    token: Option<Token>,
}

impl Connection {
    /// Connects, with the server's token where it asks for one.
    ///
    /// # Errors
    /// [`MilvusError::TokenInPlainText`], before anything is sent; [`MilvusError::Unreachable`],
    /// [`MilvusError::Denied`].
    pub(crate) fn open(
        address: &MilvusAddress,
        token: Option<&Token>,
        patience: Patience,
    ) -> Result<Self, MilvusError> {
        if token.is_some_and(|token| !address.is_private() && !token.is_allowed_in_plain_text()) {
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
                    .max_attempts(patience.attempts())
                    .initial_backoff(Duration::from_millis(50)),
            )
            .telemetry(TelemetryConfig::new().enabled(false));
        if let Some(token) = token {
            config = config.token(token.text());
        }
        let client = runtime.block_on(ClientV2::new(&config)).map_err(|error| {
            match failed(address, token, "connect", &error) {
                MilvusError::Lost { server, reason, .. }
                | MilvusError::TimedOut { server, reason, .. }
                | MilvusError::Refused { server, reason, .. } => {
                    MilvusError::Unreachable { server, reason }
                }
                other => other,
            }
        })?;
        Ok(Self {
            runtime,
            client,
            address: address.clone(),
            token: token.cloned(),
        })
    }

    /// The collection's address.
    pub(crate) fn address(&self) -> &MilvusAddress {
        &self.address
    }

    /// The server, for people.
    pub(crate) fn server(&self) -> String {
        self.address.server()
    }

    /// The collection's name.
    pub(crate) fn collection(&self) -> &str {
        self.address.collection()
    }

    /// Waits for a call. `action` is what it does, as a verb.
    ///
    /// # Errors
    /// What the server says, or that it says nothing within `limit`.
    pub(crate) fn wait<T>(
        &self,
        action: &'static str,
        limit: Duration,
        call: impl AsyncFnOnce(&ClientV2) -> Result<T, SdkError>,
    ) -> Result<T, MilvusError> {
        let outcome = self
            .runtime
            .block_on(async { tokio::time::timeout(limit, call(&self.client)).await });
        match outcome {
            Ok(outcome) => {
                outcome.map_err(|error| failed(&self.address, self.token.as_ref(), action, &error))
            }
            Err(_) => Err(MilvusError::TimedOut {
                server: self.address.server(),
                action,
                reason: format!("no answer within {} s", limit.as_secs()),
            }),
        }
    }

    /// An answer that makes no sense.
    pub(crate) fn unreadable(&self, reason: &dyn std::fmt::Display) -> MilvusError {
        MilvusError::Unreadable {
            server: self.address.server(),
            reason: reason.to_string(),
        }
    }
}

/// The numbers of gRPC's status codes.
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
        Some(token) => token.blotted(reason),
        None => reason.to_owned(),
    };
    let reason = shown(&error.to_string());
    match error {
        SdkError::RetryExhausted { source, .. } => failed(address, token, action, source),
        SdkError::Timeout(_) => MilvusError::TimedOut {
            server,
            action,
            reason,
        },
        SdkError::Grpc(status) => {
            let reason = shown(status.message());
            match i32::from(status.code()) {
                code::DEADLINE_EXCEEDED => MilvusError::TimedOut {
                    server,
                    action,
                    reason,
                },
                code::PERMISSION_DENIED | code::UNAUTHENTICATED => MilvusError::Denied {
                    server,
                    action,
                    reason,
                },
                code::OUT_OF_RANGE => MilvusError::AnswerTooLarge {
                    server,
                    action,
                    reason,
                },
                code::UNIMPLEMENTED | code::RESOURCE_EXHAUSTED => MilvusError::Refused {
                    server,
                    action,
                    reason,
                },
                _ => MilvusError::Lost {
                    server,
                    action,
                    reason,
                },
            }
        }
        SdkError::Server(error) => MilvusError::Refused {
            server,
            action,
            reason: shown(error.reason()),
        },
        SdkError::MalformedResponse(_) | SdkError::Conversion(_) => {
            MilvusError::Unreadable { server, reason }
        }
        _ => MilvusError::Refused {
            server,
            action,
            reason,
        },
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpListener;

    use super::*;

    fn error_of(address: &str, token: &Token) -> MilvusError {
        let address = address.parse().unwrap();
        let opened = Connection::open(&address, Some(token), Patience::Search);
        opened.err().unwrap()
    }

    #[test]
    fn a_token_is_not_sent_in_plain_text_to_another_machine() {
        let token = Token::new("root:hunter2");
        // An address for documents, at which nothing answers.
        let error = error_of("milvus://192.0.2.1:19530/notes", &token);
        assert_eq!(error.kind(), "token_in_plain_text");
        assert!(!error.to_string().contains("hunter2"));
        assert!(error.remedy().unwrap().mentions("milvus+https://"));
        let allowed = token.allowed_in_plain_text(true);
        let error = error_of("milvus://192.0.2.1:19530/notes", &allowed);
        assert_eq!(error.kind(), "milvus_unreachable");
    }

    /// What the first bytes are that a server gets.
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
        // A record of TLS that holds a handshake, and the preface of HTTP/2.
        assert_eq!(first_bytes("milvus+https://")[..2], [0x16, 0x03]);
        assert_eq!(first_bytes("milvus://"), b"PRI");
    }
}
