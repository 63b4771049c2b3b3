//! Messages: a JSON-RPC request in, its response out.

use std::sync::Arc;

use serde_json::{Value, json};

use super::tools;
use crate::routes::address::Addresses;
use crate::service::answering::Request;
use crate::service::served::Served;

/// The versions that are spoken, oldest first.
const VERSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

const INVALID_REQUEST: i64 = -32600;
const UNKNOWN_METHOD: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
const NO_JSON: i64 = -32700;

/// What an agent is told of the server.
const INSTRUCTIONS: &str = "Answers over the user's own documents. `knows` says whether the model behind \
`ask` knows an answer without them, so that a search can be skipped; `ask` decides that by itself.";

/// A message, read.
pub(crate) enum Message {
    /// It wants a response.
    Request {
        id: Value,
        method: String,
        params: Value,
    },
    /// It wants none.
    Notification { method: String, params: Value },
    /// It is none; with the response that says so.
    Broken(Value),
}

impl Message {
    pub(crate) fn read(bytes: &[u8]) -> Self {
        let Ok(message) = serde_json::from_slice::<Value>(bytes) else {
            return Self::Broken(error(&Value::Null, NO_JSON, "the message is not JSON"));
        };
        let id = message.get("id").cloned();
        let params = message.get("params").cloned().unwrap_or(Value::Null);
        match (message.get("method").and_then(Value::as_str), id) {
            (Some(method), Some(id)) if id.is_string() || id.is_number() => Self::Request {
                id,
                method: method.to_owned(),
                params,
            },
            (Some(method), None) => Self::Notification {
                method: method.to_owned(),
                params,
            },
            // A response: nothing was asked of the client.
            (None, Some(_)) if message.get("result").is_some() => Self::Notification {
                method: String::new(),
                params,
            },
            _ => Self::Broken(error(&Value::Null, INVALID_REQUEST, "this is no request")),
        }
    }
}

/// Serves a request.
pub(crate) async fn respond(
    served: &Arc<Served>,
    request: &Request,
    addresses: &Addresses,
    (id, method, params): (&Value, &str, &Value),
) -> Value {
    match method {
        "initialize" => result(id, &welcome(params)),
        "ping" => result(id, &json!({})),
        "tools/list" => result(id, &json!({ "tools": tools::described() })),
        "tools/call" => {
            let name = params
                .get("name")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let arguments = params
                .get("arguments")
                .cloned()
                .unwrap_or_else(|| json!({}));
            match tools::call(served, request, addresses, name, arguments).await {
                Some(called) => result(id, &called),
                None => error(id, INVALID_PARAMS, "there is no such tool"),
            }
        }
        _ => error(id, UNKNOWN_METHOD, "there is no such method"),
    }
}

/// The server, in the version that the client asks for where that is spoken.
fn welcome(params: &Value) -> Value {
    let asked = params.get("protocolVersion").and_then(Value::as_str);
    let [.., newest] = VERSIONS;
    let version = asked.filter(|asked| VERSIONS.contains(asked));
    json!({
        "protocolVersion": version.unwrap_or(newest),
        "capabilities": { "tools": {} },
        "serverInfo": { "name": "ken", "version": env!("CARGO_PKG_VERSION") },
        "instructions": INSTRUCTIONS,
    })
}

fn result(id: &Value, result: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

fn error(id: &Value, code: i64, message: &str) -> Value {
    let error = json!({ "code": code, "message": message });
    json!({ "jsonrpc": "2.0", "id": id, "error": error })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_told_apart() {
        let kind = |text: &str| match Message::read(text.as_bytes()) {
            Message::Request { method, .. } => format!("request {method}"),
            Message::Notification { method, .. } => format!("notification {method}"),
            Message::Broken(response) => response["error"]["code"].to_string(),
        };
        assert_eq!(kind(r#"{"id": 1, "method": "ping"}"#), "request ping");
        assert_eq!(
            kind(r#"{"method": "notifications/x"}"#),
            "notification notifications/x"
        );
        assert_eq!(kind(r#"{"id": 1, "result": {}}"#), "notification ");
        for (broken, code) in [
            ("{", "-32700"),
            ("[]", "-32600"),
            ("7", "-32600"),
            ("{}", "-32600"),
        ] {
            assert_eq!(kind(broken), code, "{broken}");
        }
        assert_eq!(kind(r#"{"id": [1], "method": "ping"}"#), "-32600");
    }

    #[test]
    fn a_version_that_is_not_spoken_gets_the_newest() {
        let version =
            |asked: Value| welcome(&json!({ "protocolVersion": asked }))["protocolVersion"].clone();
        assert_eq!(version(json!("2025-03-26")), "2025-03-26");
        assert_eq!(version(json!("2026-07-28")), VERSIONS[3]);
        assert_eq!(version(json!(3)), VERSIONS[3]);
    }
}
