//! A route: its address, who may use it, what it takes and replies with, and its handler.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use axum::extract::Request;
use axum::http::Method;
use axum::response::{IntoResponse, Response};
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Value, json};

use super::call::{Call, JsonBody, Names, Shared, Upload};
use super::permission::Permission;
use super::reply::{Content, Reply};
use crate::service::work::broken;
use crate::wire::body::SentBody;
use crate::wire::query::Parameter;
use crate::wire::refusal::Refusal;

type Answer<'a> = Pin<Box<dyn Future<Output = Response> + Send + 'a>>;

/// A row of the table of routes.
#[derive(Clone)]
pub struct Route {
    /// The HTTP method.
    pub method: Method,
    /// With names in braces; `*` before the last one if it may hold slashes.
    pub path: &'static str,
    /// Who may use it.
    pub permission: Permission,
    /// Empty if OpenAPI's description leaves it out.
    pub(crate) summary: String,
    /// Its parameters in the query, if they are described.
    pub(crate) query: Vec<Parameter>,
    /// The `content` of its request, if it takes one.
    pub(crate) takes: fn(&mut SchemaGenerator) -> Option<Value>,
    /// The `content` of its response.
    pub(crate) replies: fn(&mut SchemaGenerator) -> Value,
    pub(super) handler: Arc<dyn Fn(Shared, Request) -> Answer<'static> + Send + Sync>,
}

impl Route {
    pub(super) fn new<P: Names, B: Taken, T: Content + 'static>(
        method: Method,
        path: &'static str,
        permission: Permission,
        summary: &str,
        handler: impl Handler<P, B, T>,
    ) -> Self {
        Self {
            method,
            path,
            permission,
            summary: summary.trim().to_owned(),
            query: Vec::new(),
            takes: B::described,
            replies: T::described,
            handler: Arc::new(move |shared, request| {
                Box::pin(async move {
                    let (parts, body) = request.into_parts();
                    let sent = SentBody::new(&parts, body);
                    let replied = async {
                        let call = Call::read(shared, parts, permission).await?;
                        handler.answer(call, sent).await
                    };
                    contained(replied).await.into_response()
                })
            }),
        }
    }
}

/// What an answer comes to, also where it panics: the client of a fault of the server's own gets its status, and the
/// connection goes on.
async fn contained<T>(answer: impl Future<Output = Result<T, Refusal>>) -> Result<T, Refusal> {
    let mut answer = std::pin::pin!(answer);
    std::future::poll_fn(|cx| {
        let polled = catch_unwind(AssertUnwindSafe(|| answer.as_mut().poll(cx)));
        polled.unwrap_or_else(|_| Poll::Ready(Err(broken())))
    })
    .await
}

/// A function that answers the requests of a route, given the call and, if the route takes one, the body.
pub(super) trait Handler<P, B, T>: Copy + Send + Sync + 'static {
    fn answer(
        self,
        call: Call<P>,
        sent: SentBody,
    ) -> impl Future<Output = Result<Reply<T>, Refusal>> + Send;
}

impl<P, T, F, A> Handler<P, (), T> for F
where
    F: Fn(Call<P>) -> A + Copy + Send + Sync + 'static,
    A: Future<Output = Result<Reply<T>, Refusal>> + Send,
{
    fn answer(self, call: Call<P>, _: SentBody) -> impl Future<Output = Result<Reply<T>, Refusal>> {
        self(call)
    }
}

impl<P, B, T, F, A> Handler<P, (B,), T> for F
where
    B: From<SentBody>,
    F: Fn(Call<P>, B) -> A + Copy + Send + Sync + 'static,
    A: Future<Output = Result<Reply<T>, Refusal>> + Send,
{
    fn answer(
        self,
        call: Call<P>,
        sent: SentBody,
    ) -> impl Future<Output = Result<Reply<T>, Refusal>> {
        self(call, sent.into())
    }
}

/// What a handler takes besides the call.
pub(super) trait Taken {
    /// The `content` of an OpenAPI request, if it takes one that is described.
    fn described(schemas: &mut SchemaGenerator) -> Option<Value>;
}

impl Taken for () {
    fn described(_: &mut SchemaGenerator) -> Option<Value> {
        None
    }
}

impl Taken for (SentBody,) {
    fn described(_: &mut SchemaGenerator) -> Option<Value> {
        None
    }
}

impl<T: JsonSchema> Taken for (JsonBody<T>,) {
    fn described(schemas: &mut SchemaGenerator) -> Option<Value> {
        Some(T::described(schemas))
    }
}

impl Taken for (Upload,) {
    fn described(_: &mut SchemaGenerator) -> Option<Value> {
        let file = json!({ "type": "string", "format": "binary" });
        let schema = json!({
            "type": "object",
            "properties": { "file": file, "purpose": { "type": "string" } },
            "required": ["file"],
        });
        Some(json!({ "multipart/form-data": { "schema": schema } }))
    }
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;

    use super::*;

    #[tokio::test]
    async fn a_panic_is_a_refusal() {
        let answered = async |panics: bool| {
            contained(async {
                assert!(!panics, "a fault of the server's own");
                Ok(())
            })
            .await
        };
        assert!(answered(false).await.is_ok());
        let refusal = answered(true).await.unwrap_err();
        assert_eq!(refusal.status, StatusCode::INTERNAL_SERVER_ERROR);
    }
}
