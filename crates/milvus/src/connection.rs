//! The connection to a server: the SDK's calls, waited for, with a limit of time and with errors
//! that say what was tried. What is called is not known here.

use std::time::Duration;

use milvus::v2::error::Error as SdkError;
use milvus::v2::prelude::{ClientV2, ConnectConfig, RetryConfig, TelemetryConfig};
use tokio::runtime::Runtime;

use crate::address::MilvusAddress;
use crate::error::MilvusError;

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
}

impl Connection {
    /// Connects, with the server's token where it asks for one.
    ///
    /// # Errors
    /// [`MilvusError::Unreachable`], [`MilvusError::Denied`].
    pub(crate) fn open(
        address: &MilvusAddress,
        token: Option<&str>,
        patience: Patience,
    ) -> Result<Self, MilvusError> {
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
            config = config.token(token);
        }
        let client = runtime.block_on(ClientV2::new(&config)).map_err(|error| {
            match failed(address, "connect", &error) {
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
            Ok(outcome) => outcome.map_err(|error| failed(&self.address, action, &error)),
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

fn failed(address: &MilvusAddress, action: &'static str, error: &SdkError) -> MilvusError {
    let server = address.server();
    let reason = error.to_string();
    match error {
        SdkError::RetryExhausted { source, .. } => failed(address, action, source),
        SdkError::Timeout(_) => MilvusError::TimedOut {
            server,
            action,
            reason,
        },
        SdkError::Grpc(status) => {
            let reason = status.message().to_owned();
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
            reason: error.reason().to_owned(),
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
