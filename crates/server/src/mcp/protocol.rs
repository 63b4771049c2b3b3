//! Messages: a JSON-RPC request in, its response out.

use std::sync::Arc;

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::progress::{Progress, Tell};
use super::{resources, tools};
use crate::routes::address::Addresses;
use crate::service::answers::Request;
use crate::service::resources::Served;
use crate::wire::refusal::Refusal;

/// The versions that the server speaks, oldest first.
const VERSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

const INVALID_REQUEST: i64 = -32600;
const UNKNOWN_METHOD: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
const FAILED: i64 = -32603;
const UNKNOWN_RESOURCE: i64 = -32002;
const NO_JSON: i64 = -32700;

/// The most messages of a batch.
const MOST_MESSAGES: usize = 64;

/// The server's title, for people.
const TITLE: &str = "ken: your documents, and what the model knows";

/// What agents learn about the server.
const INSTRUCTIONS: &str = "Answers over the user's own documents. `knows` says whether the model behind \
`ask` knows an answer without them, so that a search can be skipped; `ask` decides that by itself.";

/// A parsed message.
pub(crate) enum Message {
    /// It wants a response.
    Request {
        id: Value,
        method: String,
        params: Value,
    },
    /// It wants none.
    Notification { method: String, params: Value },
    /// An invalid message; with the response that says so.
    Broken(Value),
}

/// What a client sends at once.
pub(crate) enum Sent {
    One(Message),
    /// Several messages, which clients of 2025-03-26 may send.
    Batch(Vec<Message>),
}

impl Sent {
    pub(crate) fn read(bytes: &[u8]) -> Self {
        match serde_json::from_slice(bytes) {
            Err(_) => Self::One(Message::broken(NO_JSON, "the message is not JSON")),
            Ok(Value::Array(all)) if all.len() > MOST_MESSAGES => {
                let why = format!("a batch has at most {MOST_MESSAGES} messages");
                Self::One(Message::broken(INVALID_REQUEST, &why))
            }
            Ok(Value::Array(all)) if !all.is_empty() => {
                Self::Batch(all.iter().map(Message::of).collect())
            }
            Ok(message) => Self::One(Message::of(&message)),
        }
    }
}

impl Message {
    fn broken(code: i64, why: &str) -> Self {
        Self::Broken(error(&Value::Null, code, why))
    }

    fn of(message: &Value) -> Self {
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
            // A response, although the server asked the client for nothing.
            (None, Some(_)) if message.get("result").or(message.get("error")).is_some() => {
                Self::Notification {
                    method: String::new(),
                    params,
                }
            }
            _ => Self::broken(INVALID_REQUEST, "this is no request"),
        }
    }
}

/// The response to a message of more than `most` bytes, which is not read.
pub(crate) fn too_long(most: usize) -> Value {
    let message = format!("the message has more than {most} bytes");
    error(&Value::Null, INVALID_REQUEST, &message)
}

/// Serves a request. Meanwhile `tell` receives its progress messages.
pub(crate) async fn respond(
    served: &Arc<Served>,
    request: &Request,
    addresses: &Addresses,
    (id, method, params): (&Value, &str, &Value),
    tell: Option<&Tell>,
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
                .filter(|arguments| !arguments.is_null())
                .cloned()
                .unwrap_or_else(|| json!({}));
            let progress = Progress::of(params, tell);
            let call = tools::call(served, request, addresses, (name, arguments), &progress);
            match call.await {
                Some(called) => result(id, &called),
                None => {
                    let message = format!("there is no tool {name:?}: `tools/list` names all");
                    outcome(id, Err(Refusal::bad("unknown_tool", message)))
                }
            }
        }
        "resources/list" => outcome(id, resources::list(served, request, params).await),
        "resources/read" => outcome(id, resources::read(served, request, params).await),
        "resources/templates/list" => result(id, &resources::templates()),
        _ => error(id, UNKNOWN_METHOD, "there is no such method"),
    }
}

/// Checks that the server speaks a version that a client names.
pub(crate) fn check_version(named: &str) -> Result<(), Value> {
    if VERSIONS.contains(&named) {
        Ok(())
    } else {
        let known = VERSIONS.join(", ");
        let why = format!("MCP-Protocol-Version names none of {known}");
        Err(error(&Value::Null, INVALID_REQUEST, &why))
    }
}

/// Introduces the server, in the version that the client asks for if the server speaks it.
fn welcome(params: &Value) -> Value {
    let asked = params.get("protocolVersion").and_then(Value::as_str);
    let [.., newest] = VERSIONS;
    let version = asked.filter(|asked| VERSIONS.contains(asked));
    json!({
        "protocolVersion": version.unwrap_or(newest),
        "capabilities": { "tools": {}, "resources": {} },
        "serverInfo": { "name": "ken", "title": TITLE, "version": env!("CARGO_PKG_VERSION") },
        "instructions": INSTRUCTIONS,
    })
}

fn result(id: &Value, result: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

/// The response with a result, or with a refusal as an error of the protocol.
fn outcome(id: &Value, outcome: Result<Value, Refusal>) -> Value {
    let refusal = match outcome {
        Ok(value) => return result(id, &value),
        Err(refusal) => refusal,
    };
    let code = match refusal.status {
        StatusCode::NOT_FOUND => UNKNOWN_RESOURCE,
        status if status.is_server_error() => FAILED,
        _ => INVALID_PARAMS,
    };
    error(
        id,
        code,
        &format!("{}: {}", refusal.code(), refusal.message()),
    )
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
        fn kind_of(message: &Message) -> String {
            match message {
                Message::Request { method, .. } => format!("request {method}"),
                Message::Notification { method, .. } => format!("notification {method}"),
                Message::Broken(response) => response["error"]["code"].to_string(),
            }
        }
        let kind = |text: &str| match Sent::read(text.as_bytes()) {
            Sent::One(message) => kind_of(&message),
            Sent::Batch(messages) => {
                let kinds: Vec<String> = messages.iter().map(kind_of).collect();
                kinds.join(", ")
            }
        };
        assert_eq!(kind(r#"{"id": 1, "method": "ping"}"#), "request ping");
        assert_eq!(
            kind(r#"{"method": "notifications/x"}"#),
            "notification notifications/x"
        );
        assert_eq!(kind(r#"{"id": 1, "result": {}}"#), "notification ");
        assert_eq!(kind(r#"{"id": 1, "error": {}}"#), "notification ");
        assert_eq!(
            kind(r#"[{"id": 1, "method": "ping"}, 7]"#),
            "request ping, -32600"
        );
        let many = vec!["7"; MOST_MESSAGES + 1].join(",");
        assert_eq!(kind(&format!("[{many}]")), "-32600");
        assert_eq!(kind("\u{7f}\u{ff}"), "-32700");
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
