//! The spans themselves, and their way to the collector: OpenTelemetry's SDK batches them on a thread of its own and
//! drops those for which its queue has no room.

use std::time::{Duration, SystemTime};

use ken_http::without_secrets;
use opentelemetry::propagation::TextMapPropagator;
use opentelemetry::trace::{
    Span as _, SpanBuilder, SpanKind, Status, TraceContextExt, Tracer as _, TracerProvider as _,
};
use opentelemetry::{Context, InstrumentationScope, KeyValue};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};
use url::Url;

use super::client::Client;
use super::{Destination, Outcome, Parent, QuestionSpan, SpansError, attributes, stages};

/// The path of spans at a collector.
const TRACES: &str = "v1/traces";

/// How long sending the last spans may take when the server ends.
const LAST_WITHIN: Duration = Duration::from_millis(500);

/// Turns answered and failed questions into spans.
pub(crate) struct Spans {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
    content: bool,
}

impl Spans {
    /// Spans for the named collector, or the one that OpenTelemetry's variables name; `None` if there is neither.
    /// `unsent` receives why a request failed, and whether it is the first failure since a success.
    ///
    /// # Errors
    /// An invalid endpoint, or settings of OpenTelemetry that cannot be followed.
    pub(crate) fn open(
        to: Destination<'_>,
        unsent: impl Fn(&str, bool) + Send + Sync + 'static,
    ) -> Result<Option<Self>, SpansError> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let Some(endpoint) = endpoint(to.endpoint, variable) else {
            return Ok(None);
        };
        let refused = |reason: String| SpansError::OtlpEndpoint {
            endpoint: without_secrets(&endpoint).to_owned(),
            reason,
        };
        let url = Url::parse(&endpoint).map_err(|error| refused(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(refused("it is no address of HTTP".to_owned()));
        }
        let client = Client::new(&url, to.gets_headers, unsent).map_err(refused)?;
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(client)
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(url.as_str())
            .build()
            .map_err(|error| refused(error.to_string()))?;
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_resource(resource(variable))
            .build();
        let scope = InstrumentationScope::builder("ken").with_version(env!("CARGO_PKG_VERSION"));
        Ok(Some(Self {
            tracer: provider.tracer_with_scope(scope.build()),
            provider,
            content: to.content,
        }))
    }

    /// Takes a question that is over, without waiting.
    pub(crate) fn take(&self, asked: &QuestionSpan<'_>) {
        let ended = SystemTime::now();
        let began = ended.checked_sub(asked.took).unwrap_or(ended);
        let builder = SpanBuilder::from_name(attributes::name(asked))
            .with_kind(SpanKind::Server)
            .with_start_time(began)
            .with_attributes(attributes::of_question(asked, self.content));
        let mut whole = self
            .tracer
            .build_with_context(builder, &context(asked.parent));
        match asked.outcome {
            Outcome::Failed(code) => whole.set_status(Status::error(code)),
            Outcome::Answered { trace, k, .. } => {
                let within = Context::new().with_remote_span_context(whole.span_context().clone());
                for timed in stages::timed(&trace.timing_ms) {
                    let pairs = attributes::of_stage(&timed, trace, k, self.content);
                    let builder =
                        SpanBuilder::from_name(attributes::stage_name(timed.stage, trace))
                            .with_kind(SpanKind::Internal)
                            .with_start_time(began + timed.begins)
                            .with_attributes(pairs);
                    let mut stage = self.tracer.build_with_context(builder, &within);
                    stage.end_with_timestamp(began + timed.ends);
                }
            }
        }
        whole.end_with_timestamp(ended);
    }

    /// Sends the remaining spans, for as long as the server's shutdown may wait.
    pub(crate) fn end(&self) {
        // What cannot be sent by then is lost, as with a collector that is gone.
        let _ = self.provider.shutdown_with_timeout(LAST_WITHIN);
    }
}

/// Where spans go: the setting takes precedence over the variable for spans, and that over the general one.
fn endpoint(set: Option<&str>, variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    let below = |base: &str| format!("{}/{TRACES}", base.trim_end_matches('/'));
    if let Some(set) = set {
        return Some(below(set));
    }
    if variable("OTEL_SDK_DISABLED").is_some_and(|pairs| pairs.eq_ignore_ascii_case("true")) {
        return None;
    }
    let of_all = || variable("OTEL_EXPORTER_OTLP_ENDPOINT").map(|base| below(&base));
    variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT").or_else(of_all)
}

/// The sender: `ken`, unless OpenTelemetry's variables say otherwise.
fn resource(variable: impl Fn(&str) -> Option<String>) -> Resource {
    let attributes = variable("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
    let is_named = variable("OTEL_SERVICE_NAME").is_some() || attributes.contains("service.name=");
    let builder = Resource::builder()
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")));
    match is_named {
        true => builder.build(),
        false => builder.with_service_name("ken").build(),
    }
}

/// The context that a client's headers name; empty if they name none or a malformed one.
fn context(parent: &Parent) -> Context {
    TraceContextPropagator::new().extract_with_context(&Context::new(), &parent.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_setting_stands_over_the_variables_and_one_of_these_over_the_other() {
        let of = |set: Option<&str>, given: &[(&str, &str)]| {
            let find = |name: &str| given.iter().find(|(own, _)| *own == name);
            endpoint(set, |name| find(name).map(|(_, value)| (*value).to_owned()))
        };
        let all = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a:4318/");
        let traces = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://b/spans");
        assert_eq!(of(None, &[]), None);
        assert_eq!(of(None, &[all]).as_deref(), Some("http://a:4318/v1/traces"));
        assert_eq!(of(None, &[all, traces]).as_deref(), Some("http://b/spans"));
        let set = of(Some("http://c:4318"), &[all, traces]);
        assert_eq!(set.as_deref(), Some("http://c:4318/v1/traces"));
        assert_eq!(of(None, &[all, ("OTEL_SDK_DISABLED", "true")]), None);
    }

    #[test]
    fn what_is_no_address_is_refused_without_its_password() {
        for bad in ["collector", "ftp://user:secret@box"] {
            let to = Destination {
                endpoint: Some(bad),
                content: false,
                gets_headers: true,
            };
            let error = Spans::open(to, |_, _| {}).err().unwrap();
            assert_eq!(error.kind(), "otlp_endpoint");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }

    #[test]
    fn only_a_context_as_it_is_written_is_a_parent() {
        let parent = |traceparent: &str| {
            let parent = Parent([("traceparent".to_owned(), traceparent.to_owned())].into());
            context(&parent).span().span_context().is_valid()
        };
        assert!(parent(
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        ));
        for bad in ["", "00-0-0-01", "ff-x", "00-é"] {
            assert!(!parent(bad), "{bad}");
        }
    }
}
