//! Replaces spans in a build without them: there are none, and naming a collector is an error.
#![cfg_attr(feature = "otel", allow(dead_code))]

use super::{Destination, QuestionSpan, SpansError};

pub(crate) enum Spans {}

impl Spans {
    /// None.
    ///
    /// # Errors
    /// A named collector. OpenTelemetry's variables are ignored: they are meant for any program.
    pub(crate) fn open(
        to: Destination<'_>,
        _unsent: impl Fn(&str, bool) + Send + Sync + 'static,
    ) -> Result<Option<Self>, SpansError> {
        match to.endpoint {
            None => Ok(None),
            Some(endpoint) => Err(SpansError::BuiltWithoutOtel {
                endpoint: endpoint.to_owned(),
            }),
        }
    }

    pub(crate) fn take(&self, _: &QuestionSpan<'_>) {
        match *self {}
    }

    pub(crate) fn end(&self) {
        match *self {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collector_is_refused() {
        let to = |endpoint| Destination {
            endpoint,
            content: false,
            gets_headers: true,
        };
        assert!(Spans::open(to(None), |_, _| {}).unwrap().is_none());
        let refused = Spans::open(to(Some("http://box:4318")), |_, _| {});
        let error = refused.err().unwrap();
        assert_eq!(error.kind(), "built_without_otel");
        assert!(error.remedy().unwrap().mentions("`otel`"));
    }
}
