//! The parts of a path, and what is said where they cannot be read.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use crate::wire::refusal::Refusal;

/// What stands for the names in a route's path.
pub(crate) struct Path<T>(pub(crate) T);

impl<T, S> FromRequestParts<S> for Path<T>
where
    axum::extract::Path<T>: FromRequestParts<S>,
    S: Send + Sync,
{
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let read = axum::extract::Path::from_request_parts(parts, state).await;
        // All names are texts, so nothing else can be wrong.
        let message = "the path is not UTF-8";
        read.map(|path| Self(path.0))
            .map_err(|_| Refusal::bad("invalid_path", message))
    }
}
