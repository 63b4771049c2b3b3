//! The metrics, for Prometheus. Labels take few values, whatever clients ask for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use ken_policy::LossTest;

use crate::service::gate::Load;
use crate::service::watch::{Drift, Standing, Test};
use crate::wire::ken::CorpusState;

/// Names with their values.
type Labels<const N: usize> = [(&'static str, String); N];

type Counters<const N: usize> = Family<Labels<N>, Counter>;
type Gauges<const N: usize> = Family<Labels<N>, Gauge>;
type Decimal = Gauge<f64, AtomicU64>;

/// A metric is its help, field, type, initial value, and name, with the unit if it has one. They are written in this
/// order.
macro_rules! metrics {
    ($($(#[doc = $help:literal])+ $field:ident: $kind:ty = $begin:expr, $name:literal $($unit:ident)?;)*) => {
        /// All metrics.
        pub(crate) struct Metrics {
            registry: Registry,
            $($field: $kind,)*
        }

        impl Metrics {
            pub(crate) fn new() -> Self {
                let mut registry = Registry::with_prefix("ken");
                $(
                    let $field: $kind = $begin;
                    let (help, metric) = (concat!($($help),+).trim_start(), $field.clone());
                    metrics!(registry, $name, help, metric $(, $unit)?);
                )*
                Self { registry, $($field),* }
            }
        }
    };
    ($registry:ident, $name:literal, $help:ident, $metric:ident) => {
        $registry.register($name, $help, $metric)
    };
    ($registry:ident, $name:literal, $help:ident, $metric:ident, $unit:ident) => {
        $registry.register_with_unit($name, $help, Unit::$unit, $metric)
    };
}

metrics! {
    /// Responses, by route and status
    requests: Counters<2> = Family::default(), "requests";
    /// Questions answered, by policy and by where the knowledge came from
    answers: Counters<2> = Family::default(), "answers";
    /// Of these, those whose answer is withheld since nothing vouches for it, by policy
    withheld: Counters<1> = Family::default(), "withheld";
    /// Of these, those of which a signal that was to decide cannot tell, by policy
    cannot_tell: Counters<1> = Family::default(), "cannot_tell";
    /// Tokens that the language model read (prompt) and wrote (completion), by policy
    tokens: Counters<2> = Family::default(), "tokens";
    /// Questions not answered, by the code of the error
    failures: Counters<1> = Family::default(), "failures";
    /// Changes of corpora that are over, by what they did and how they ended
    jobs: Counters<2> = Family::default(), "jobs";
    /// Questions drawn to watch the guarantee, by what came of them
    watched: Counters<1> = Family::default(), "watched";
    /// Drawn questions that a judge is asked about, by what it says
    judged: Counters<1> = Family::default(), "judged";
    /// What could not be written to the server's folder, by what it was
    unwritten: Counters<1> = Family::default(), "unwritten";
    /// Requests to the collector of spans that failed
    unsent: Counter = Counter::default(), "spans_unsent";
    /// What was said of answers, by the rating; none where only right answers were given
    feedback: Counters<1> = Family::default(), "feedback";
    /// 1 for how the guarantee of a policy stands, 0 for how it does not
    standings: Gauges<2> = Family::default(), "guarantee";
    /// Evidence that more is lost, or wrong, than guaranteed, by test; it is taken to be so at 60,
    /// and where errors are promised at 40
    evidence: Family<Labels<1>, Decimal> = Family::default(), "guarantee_evidence";
    /// 1 where what a policy measures is distributed otherwise than at calibration
    drift: Gauges<1> = Family::default(), "guarantee_drift";
    /// Evidence for that; at 20 it is taken to be so
    drift_evidence: Family<Labels<1>, Decimal> = Family::default(), "guarantee_drift_evidence";
    /// Time to the first piece of an answer, waiting included
    first_token: Histogram = histogram(), "first_token" Seconds;
    /// Time to a whole answer, waiting included
    answered: Histogram = histogram(), "answer" Seconds;
    /// Time of each stage of answering
    stages: Family<Labels<1>, Histogram> = Family::new_with_constructor(histogram), "stage" Seconds;
    /// The generation of each corpus
    generations: Gauges<1> = Family::default(), "corpus_generation";
    /// Questions that wait
    waiting: Gauge = Gauge::default(), "waiting";
    /// Questions being answered
    working: Gauge = Gauge::default(), "working";
    /// What waits for a place, by gate
    gates_waiting: Gauges<1> = Family::default(), "gate_waiting";
    /// Places that are taken, by gate
    gates_working: Gauges<1> = Family::default(), "gate_working";
}

/// The metric of a family with these labels.
fn of<M: Clone, const N: usize>(
    family: &Family<Labels<N>, M>,
    labels: [(&'static str, &str); N],
) -> M {
    let labels = labels.map(|(name, value)| (name, value.to_owned()));
    family.get_or_create(&labels).clone()
}

/// The format of metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    OpenMetrics,
    /// Prometheus's text format, which is older.
    Text,
}

impl Format {
    /// Chooses what a client accepts with the higher weight (RFC 9110, 12.5.1).
    pub(crate) fn accepted(accept: &str) -> Self {
        let weight = |kind: &str| {
            let ranges = accept.split(',').filter_map(|range| {
                let mut parts = range.split(';').map(str::trim);
                let is_kind = parts.next()?.eq_ignore_ascii_case(kind);
                let given = parts.find_map(|part| part.strip_prefix("q="));
                let weight = given.map_or(Some(1.0), |weight| weight.parse::<f32>().ok())?;
                is_kind.then_some(weight)
            });
            ranges.fold(0.0_f32, f32::max)
        };
        match weight("text/plain") > weight("application/openmetrics-text") {
            true => Self::Text,
            false => Self::OpenMetrics,
        }
    }

    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

/// Upper bounds in seconds: each 2.5 or 2 times the one before.
const SECONDS: [f64; 14] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0,
];

fn histogram() -> Histogram {
    Histogram::new(SECONDS)
}

impl Metrics {
    /// Counts a response.
    pub(crate) fn request(&self, route: &str, status: u16) {
        let status = status.to_string();
        of(&self.requests, [("route", route), ("status", &status)]).inc();
    }

    /// Counts an answer: its policy's kind, its source, tokens read and written, and times.
    pub(crate) fn answer(
        &self,
        policy: &'static str,
        source: &str,
        tokens: [usize; 2],
        took: Duration,
        stages: &BTreeMap<String, f64>,
    ) {
        of(&self.answers, [("policy", policy), ("source", source)]).inc();
        for (kind, count) in ["prompt", "completion"].into_iter().zip(tokens) {
            of(&self.tokens, [("kind", kind), ("policy", policy)]).inc_by(count as u64);
        }
        self.answered.observe(took.as_secs_f64());
        for (stage, ms) in stages.iter().filter(|(stage, _)| *stage != "total") {
            of(&self.stages, [("stage", stage)]).observe(ms / 1000.0);
        }
    }

    pub(crate) fn withheld(&self, policy: &'static str) {
        of(&self.withheld, [("policy", policy)]).inc();
    }

    /// Counts a question for which a signal that was to decide cannot tell.
    pub(crate) fn cannot_tell(&self, policy: &'static str) {
        of(&self.cannot_tell, [("policy", policy)]).inc();
    }

    pub(crate) fn failure(&self, code: &'static str) {
        of(&self.failures, [("code", code)]).inc();
    }

    pub(crate) fn job(&self, kind: &'static str, status: &'static str) {
        of(&self.jobs, [("kind", kind), ("status", status)]).inc();
    }

    /// Counts a question that was drawn to watch the guarantee.
    pub(crate) fn watched(&self, outcome: &'static str) {
        of(&self.watched, [("outcome", outcome)]).inc();
    }

    /// Counts a judge's verdict: `lost` or `kept`, `wrong` or `right`, and `cannot_tell`, `dropped` or `failed` if it
    /// gives none.
    pub(crate) fn judged(&self, verdict: &'static str) {
        of(&self.judged, [("verdict", verdict)]).inc();
    }

    /// Counts what could not be written.
    pub(crate) fn unwritten(&self, what: &'static str) {
        of(&self.unwritten, [("what", what)]).inc();
    }

    pub(crate) fn unsent(&self) {
        self.unsent.inc();
    }

    pub(crate) fn feedback(&self, rating: &'static str) {
        of(&self.feedback, [("rating", rating)]).inc();
    }

    /// Records the standing of a guarantee, and the state of its tests.
    pub(crate) fn guarantee(&self, policy: &str, standing: Standing, tests: &[(Test, LossTest)]) {
        for other in Standing::ALL {
            let labels = [("policy", policy), ("standing", other.name())];
            of(&self.standings, labels).set(i64::from(other == standing));
        }
        for (test, state) in tests {
            of(&self.evidence, [("test", test.name())]).set(state.evidence());
        }
    }

    /// Records how the scores of a policy compare with those of calibration.
    pub(crate) fn drift(&self, policy: &str, drift: &Drift) {
        let labels = [("policy", policy)];
        of(&self.drift, labels).set(i64::from(drift.after.is_some()));
        of(&self.drift_evidence, labels).set(drift.test.evidence());
    }

    /// Records the time until an answer began.
    pub(crate) fn began(&self, after: Duration) {
        self.first_token.observe(after.as_secs_f64());
    }

    /// Records which state of a corpus is served.
    pub(crate) fn corpus(&self, state: &CorpusState) {
        let generation = i64::try_from(state.generation).unwrap_or(i64::MAX);
        of(&self.generations, [("corpus", &state.name)]).set(generation);
    }

    /// All metrics as text, with the load of all gates, of which the first is that of questions.
    pub(crate) fn text(&self, gates: &[(&'static str, Load)], format: Format) -> String {
        let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        if let Some((_, answers)) = gates.first() {
            self.waiting.set(number(answers.waiting));
            self.working.set(number(answers.working));
        }
        for (gate, load) in gates {
            let labels = [("gate", *gate)];
            of(&self.gates_waiting, labels).set(number(load.waiting));
            of(&self.gates_working, labels).set(number(load.working));
        }
        let mut text = String::new();
        // Writing to a string never fails.
        let _ = encode(&mut text, &self.registry);
        match format {
            Format::OpenMetrics => text,
            Format::Text => plain(&text),
        }
    }
}

/// Turns OpenMetrics into Prometheus's text format, which describes a counter by the name of its samples, and ends
/// with the text.
fn plain(open: &str) -> String {
    let described = |line: &str| {
        let (name, kind) = line.strip_prefix("# TYPE ")?.split_once(' ')?;
        (kind == "counter").then(|| name.to_owned())
    };
    let counters: BTreeSet<String> = open.lines().filter_map(described).collect();
    let mut text = String::with_capacity(open.len());
    for line in open.lines() {
        let mut words = line.splitn(4, ' ');
        match [words.next(), words.next(), words.next(), words.next()] {
            [Some("#"), Some("EOF" | "UNIT"), ..] => continue,
            [Some("#"), Some(what), Some(name), Some(rest)] if counters.contains(name) => {
                text.push_str(&format!("# {what} {name}_total {rest}"));
            }
            _ => text.push_str(line),
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_is_told() {
        let metrics = Metrics::new();
        metrics.request("/v1/models", 200);
        metrics.request("/v1/models", 200);
        let stages = BTreeMap::from([("search".to_owned(), 2.0), ("total".to_owned(), 9.0)]);
        let took = Duration::from_millis(9);
        metrics.answer("never", "self", [5, 2], took, &stages);
        metrics.failure("queue_full");
        metrics.began(took);
        let load = |waiting| Load {
            working: 1,
            places: 4,
            waiting,
            queue: Some(8),
        };
        let gates = [("answers", load(3)), ("embeddings", load(5))];
        let text = metrics.text(&gates, Format::OpenMetrics);
        for line in [
            "ken_requests_total{route=\"/v1/models\",status=\"200\"} 2",
            "ken_answers_total{policy=\"never\",source=\"self\"} 1",
            "ken_tokens_total{kind=\"prompt\",policy=\"never\"} 5",
            "ken_failures_total{code=\"queue_full\"} 1",
            "ken_first_token_seconds_count 1",
            "ken_stage_seconds_count{stage=\"search\"} 1",
            "ken_waiting 3",
            "ken_working 1",
            "ken_gate_waiting{gate=\"answers\"} 3",
            "ken_gate_waiting{gate=\"embeddings\"} 5",
            "ken_gate_working{gate=\"embeddings\"} 1",
            "# TYPE ken_requests counter",
            "# EOF",
        ] {
            assert!(text.lines().any(|one| one == line), "{line} in\n{text}");
        }
        assert!(!text.contains("stage=\"total\""));
        let plain = metrics.text(&gates, Format::Text);
        for line in [
            "# TYPE ken_requests_total counter",
            "ken_requests_total{route=\"/v1/models\",status=\"200\"} 2",
            "# TYPE ken_stage_seconds histogram",
            "ken_waiting 3",
        ] {
            assert!(plain.lines().any(|one| one == line), "{line} in\n{plain}");
        }
        assert!(plain.contains("# HELP ken_requests_total Responses, by route"));
        assert!(!plain.contains("# EOF") && !plain.contains("# UNIT"));
    }

    #[test]
    fn a_client_gets_the_format_that_it_accepts() {
        for (accept, format) in [
            ("", Format::OpenMetrics),
            ("*/*", Format::OpenMetrics),
            ("text/plain;version=0.0.4", Format::Text),
            (
                "application/openmetrics-text;version=1.0.0,text/plain;q=0.5",
                Format::OpenMetrics,
            ),
            (
                "application/openmetrics-text; q=0.1, text/plain; version=0.0.4",
                Format::Text,
            ),
            ("application/openmetrics-text;q=0,text/plain", Format::Text),
        ] {
            assert_eq!(Format::accepted(accept), format, "{accept}");
        }
    }
}
