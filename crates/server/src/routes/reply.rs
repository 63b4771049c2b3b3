//! The reply of a handler, typed by the content of its body, so that it can be described.

use std::marker::PhantomData;

use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde_json::{Value, json};

use crate::wire::body;

/// A response with a `T` in its body.
pub(crate) struct Reply<T> {
    response: Response,
    content: PhantomData<fn() -> T>,
}

impl<T> From<Response> for Reply<T> {
    fn from(response: Response) -> Self {
        let content = PhantomData;
        Self { response, content }
    }
}

impl<T> IntoResponse for Reply<T> {
    fn into_response(self) -> Response {
        self.response
    }
}

impl<T: Serialize> Reply<T> {
    pub(crate) fn json(value: &T) -> Self {
        body::json(value).into()
    }

    /// With a status of its own.
    pub(crate) fn with_status(status: StatusCode, value: &T) -> Self {
        (status, body::json(value)).into_response().into()
    }
}

impl<T: Serialize> Reply<Lines<T>> {
    pub(crate) fn lines(values: impl Iterator<Item = T>) -> Self {
        body::json_lines(values).into()
    }
}

/// JSON Lines, each a `T`.
pub(crate) struct Lines<T>(PhantomData<T>);

/// A file as it is.
pub(crate) struct File;

/// Text that is not JSON.
pub(crate) struct Text;

/// What can be in the body of a response.
pub(crate) trait Content {
    /// The `content` of an OpenAPI response.
    fn described(schemas: &mut SchemaGenerator) -> Value;
}

impl<T: JsonSchema> Content for T {
    fn described(schemas: &mut SchemaGenerator) -> Value {
        json!({ "application/json": { "schema": schemas.subschema_for::<T>() } })
    }
}

impl<T: JsonSchema> Content for Lines<T> {
    fn described(schemas: &mut SchemaGenerator) -> Value {
        json!({ "application/jsonl": { "schema": schemas.subschema_for::<T>() } })
    }
}

impl Content for File {
    fn described(_: &mut SchemaGenerator) -> Value {
        json!({ "*/*": {} })
    }
}

impl Content for Text {
    fn described(_: &mut SchemaGenerator) -> Value {
        json!({ "text/plain": {} })
    }
}

/// Allows a file in a browser what its policy says, and pages of other origins nothing.
pub(super) fn secured(mut response: Response, policy: &'static str) -> Response {
    for (name, value) in [
        ("content-security-policy", policy),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        let value = HeaderValue::from_static(value);
        response.headers_mut().insert(name, value);
    }
    response
}
