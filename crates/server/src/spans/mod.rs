//! Questions as spans for an OpenTelemetry collector, by OpenTelemetry's conventions for generative AI: one for each
//! question, and below it one for each stage, made of the question's trace. A thread of its own sends them out of a
//! bounded queue, so a collector that is slow or gone costs spans and nothing else. In a build without the feature
//! `otel` there is nothing but the error that says so.
#![cfg_attr(not(feature = "otel"), allow(dead_code))]

#[cfg(feature = "otel")]
mod attributes;
#[cfg(feature = "otel")]
mod client;
#[cfg(feature = "otel")]
mod exporter;
mod not_built;
#[cfg(feature = "otel")]
mod stages;

use std::collections::HashMap;

use axum::http::HeaderMap;

#[cfg(feature = "otel")]
pub(crate) use self::exporter::Spans;
#[cfg(not(feature = "otel"))]
pub(crate) use self::not_built::Spans;
use crate::wire::ken::Trace;

/// The longest header that is read as the context of a trace.
const LONGEST_CONTEXT: usize = 512;

/// Why there are no spans.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, ken_diagnostic::Diagnostic)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum SpansError {
    #[error("spans cannot be sent to {endpoint}: this build has no OpenTelemetry")]
    #[diagnostic(remedy = "build with the feature `otel`, or leave <otlp_endpoint> out")]
    BuiltWithoutOtel { endpoint: String },
    #[error("spans cannot be sent to {endpoint}: {reason}")]
    #[diagnostic(
        remedy = "name a collector's address by <otlp_endpoint> or OTEL_EXPORTER_OTLP_ENDPOINT, such as http://127.0.0.1:4318"
    )]
    OtlpEndpoint { endpoint: String, reason: String },
}

/// Where spans go, and what they hold.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Destination<'a> {
    /// The collector; if none is named, OpenTelemetry's variables say.
    pub(crate) endpoint: Option<&'a str>,
    /// Whether spans hold questions and answers.
    pub(crate) content: bool,
    /// Whether the collector gets the headers in OpenTelemetry's variables, which include keys.
    pub(crate) gets_headers: bool,
}

/// A client's span that a question belongs to, as its headers name it (W3C Trace Context).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Parent(HashMap<String, String>);

impl Parent {
    /// The span that the headers of a request name.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let pairs = ["traceparent", "tracestate"]
            .into_iter()
            .filter_map(|name| {
                let value = headers.get(name)?.to_str().ok()?;
                (value.len() <= LONGEST_CONTEXT).then(|| (name.to_owned(), value.to_owned()))
            });
        Self(pairs.collect())
    }
}

/// A question that is just over.
pub(crate) struct QuestionSpan<'a> {
    /// As in the header `x-request-id`.
    pub(crate) request_id: &'a str,
    pub(crate) parent: &'a Parent,
    /// The model that was asked for.
    pub(crate) model: &'a str,
    /// How long it took, waiting included.
    pub(crate) took: std::time::Duration,
    pub(crate) outcome: Outcome<'a>,
}

/// The outcome of a question.
pub(crate) enum Outcome<'a> {
    Answered {
        text: &'a str,
        truncated: bool,
        /// Tokens read and written by all calls.
        tokens: [usize; 2],
        /// How many passages were to be found.
        k: usize,
        /// With all that was retrieved.
        trace: &'a Trace,
    },
    /// The code of the error.
    Failed(&'static str),
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn a_parent_is_what_headers_of_bounded_length_say() {
        let mut headers = HeaderMap::new();
        assert_eq!(Parent::of(&headers), Parent::default());
        headers.insert("traceparent", HeaderValue::from_static("00-ab-cd-01"));
        let long = HeaderValue::from_str(&"x".repeat(LONGEST_CONTEXT + 1)).unwrap();
        headers.insert("tracestate", long);
        let parent = Parent::of(&headers);
        let expected = ("traceparent".to_owned(), "00-ab-cd-01".to_owned());
        assert_eq!(parent, Parent([expected].into()));
    }
}
