//! What is counted, for Prometheus. Labels take few values, whatever clients ask for.

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

/// All metrics.
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<Labels<2>, Counter>,
    answers: Family<Labels<2>, Counter>,
    withheld: Family<Labels<1>, Counter>,
    cannot_tell: Family<Labels<1>, Counter>,
    tokens: Family<Labels<2>, Counter>,
    failures: Family<Labels<1>, Counter>,
    jobs: Family<Labels<2>, Counter>,
    watched: Family<Labels<1>, Counter>,
    judged: Family<Labels<1>, Counter>,
    unwritten: Family<Labels<1>, Counter>,
    unsent: Counter,
    feedback: Family<Labels<1>, Counter>,
    standings: Family<Labels<2>, Gauge>,
    evidence: Family<Labels<1>, Gauge<f64, AtomicU64>>,
    drift: Family<Labels<1>, Gauge>,
    drift_evidence: Family<Labels<1>, Gauge<f64, AtomicU64>>,
    first_token: Histogram,
    answered: Histogram,
    stages: Family<Labels<1>, Histogram>,
    generations: Family<Labels<1>, Gauge>,
    waiting: Gauge,
    working: Gauge,
    gates_waiting: Family<Labels<1>, Gauge>,
    gates_working: Family<Labels<1>, Gauge>,
}

/// How metrics are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    OpenMetrics,
    /// Prometheus's text format, which is older.
    Text,
}

impl Format {
    /// By what a client accepts.
    pub(crate) fn accepted(accept: &str) -> Self {
        match accept.contains("text/plain") && !accept.contains("application/openmetrics-text") {
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
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix("ken");
        let (requests, answers) = (Family::default(), Family::default());
        let (withheld, cannot_tell) = (Family::default(), Family::default());
        let (tokens, failures) = (Family::default(), Family::default());
        let (jobs, watched) = (Family::default(), Family::default());
        let (unwritten, feedback) = (Family::default(), Family::default());
        let (unsent, judged) = (Counter::default(), Family::default());
        let (drift, drift_evidence) = (Family::default(), Family::default());
        let (standings, evidence) = (Family::default(), Family::default());
        let (first_token, answered) = (histogram(), histogram());
        let stages = Family::new_with_constructor(histogram as fn() -> Histogram);
        let generations = Family::default();
        let (waiting, working) = (Gauge::default(), Gauge::default());
        let (gates_waiting, gates_working) = (Family::default(), Family::default());
        registry.register(
            "requests",
            "Responses, by route and status",
            requests.clone(),
        );
        let help = "Questions answered, by policy and by where the knowledge came from";
        registry.register("answers", help, answers.clone());
        let help =
            "Of these, those whose answer is withheld since nothing vouches for it, by policy";
        registry.register("withheld", help, withheld.clone());
        let help = "Of these, those of which a signal that was to decide cannot tell, by policy";
        registry.register("cannot_tell", help, cannot_tell.clone());
        let help = "Tokens that the language model read (prompt) and wrote (completion), by policy";
        registry.register("tokens", help, tokens.clone());
        let help = "Questions not answered, by the code of the error";
        registry.register("failures", help, failures.clone());
        let help = "Changes of corpora that are over, by what they did and how they ended";
        registry.register("jobs", help, jobs.clone());
        let help = "Questions drawn to watch the guarantee, by what came of them";
        registry.register("watched", help, watched.clone());
        let help = "Drawn questions that a judge is asked about, by what it says";
        registry.register("judged", help, judged.clone());
        let help = "What could not be written to the server's folder, by what it was";
        registry.register("unwritten", help, unwritten.clone());
        let help = "Requests to the collector of spans that failed";
        registry.register("spans_unsent", help, unsent.clone());
        let help =
            "What was said of answers, by the rating; none where only right answers were given";
        registry.register("feedback", help, feedback.clone());
        let help = "1 for how the guarantee of a policy stands, 0 for how it does not";
        registry.register("guarantee", help, standings.clone());
        let help = "Evidence that more is lost, or wrong, than guaranteed, by test; it is taken to be so at 60, \
                    and where errors are promised at 40";
        registry.register("guarantee_evidence", help, evidence.clone());
        let help = "1 where what a policy measures is distributed otherwise than at calibration";
        registry.register("guarantee_drift", help, drift.clone());
        let help = "Evidence for that; at 20 it is taken to be so";
        registry.register("guarantee_drift_evidence", help, drift_evidence.clone());
        let help = "Time to the first piece of an answer, waiting included";
        registry.register_with_unit("first_token", help, Unit::Seconds, first_token.clone());
        let help = "Time to a whole answer, waiting included";
        registry.register_with_unit("answer", help, Unit::Seconds, answered.clone());
        let help = "Time of each stage of answering";
        registry.register_with_unit("stage", help, Unit::Seconds, stages.clone());
        let help = "The generation of each corpus";
        registry.register("corpus_generation", help, generations.clone());
        registry.register("waiting", "Questions that wait", waiting.clone());
        registry.register("working", "Questions being answered", working.clone());
        let help = "What waits for a place, by gate";
        registry.register("gate_waiting", help, gates_waiting.clone());
        let help = "Places that are taken, by gate";
        registry.register("gate_working", help, gates_working.clone());
        Self {
            registry,
            requests,
            answers,
            withheld,
            cannot_tell,
            tokens,
            failures,
            jobs,
            watched,
            judged,
            unwritten,
            unsent,
            feedback,
            standings,
            evidence,
            drift,
            drift_evidence,
            first_token,
            answered,
            stages,
            generations,
            waiting,
            working,
            gates_waiting,
            gates_working,
        }
    }

    /// Counts a response.
    pub(crate) fn request(&self, route: &str, status: u16) {
        let labels = [("route", route.to_owned()), ("status", status.to_string())];
        self.requests.get_or_create(&labels).inc();
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
        let labels = [("policy", policy.to_owned()), ("source", source.to_owned())];
        self.answers.get_or_create(&labels).inc();
        for (kind, count) in ["prompt", "completion"].into_iter().zip(tokens) {
            let labels = [("kind", kind.to_owned()), ("policy", policy.to_owned())];
            self.tokens.get_or_create(&labels).inc_by(count as u64);
        }
        self.answered.observe(took.as_secs_f64());
        for (stage, ms) in stages.iter().filter(|(stage, _)| *stage != "total") {
            let stage = [("stage", stage.clone())];
            self.stages.get_or_create(&stage).observe(ms / 1000.0);
        }
    }

    /// Counts an answer that is withheld.
    pub(crate) fn withheld(&self, policy: &'static str) {
        let labels = [("policy", policy.to_owned())];
        self.withheld.get_or_create(&labels).inc();
    }

    /// Counts a question of which a signal that was to decide cannot tell.
    pub(crate) fn cannot_tell(&self, policy: &'static str) {
        let labels = [("policy", policy.to_owned())];
        self.cannot_tell.get_or_create(&labels).inc();
    }

    /// Counts a question that was not answered.
    pub(crate) fn failure(&self, code: &'static str) {
        let labels = [("code", code.to_owned())];
        self.failures.get_or_create(&labels).inc();
    }

    /// Counts a change of a corpus.
    pub(crate) fn job(&self, kind: &'static str, status: &'static str) {
        let labels = [("kind", kind.to_owned()), ("status", status.to_owned())];
        self.jobs.get_or_create(&labels).inc();
    }

    /// Counts a question that was drawn to watch the guarantee.
    pub(crate) fn watched(&self, outcome: &'static str) {
        let labels = [("outcome", outcome.to_owned())];
        self.watched.get_or_create(&labels).inc();
    }

    /// Counts what a judge says: `lost` or `kept`, `wrong` or `right`, and `cannot_tell`, `dropped` or
    /// `failed` where it says nothing.
    pub(crate) fn judged(&self, verdict: &'static str) {
        let labels = [("verdict", verdict.to_owned())];
        self.judged.get_or_create(&labels).inc();
    }

    /// Counts what could not be written.
    pub(crate) fn unwritten(&self, what: &'static str) {
        let labels = [("what", what.to_owned())];
        self.unwritten.get_or_create(&labels).inc();
    }

    /// Counts a request to the collector of spans that failed.
    pub(crate) fn unsent(&self) {
        self.unsent.inc();
    }

    /// Counts what was said of an answer.
    pub(crate) fn feedback(&self, rating: &'static str) {
        let labels = [("rating", rating.to_owned())];
        self.feedback.get_or_create(&labels).inc();
    }

    /// Notes how a guarantee stands, and what its tests say.
    pub(crate) fn guarantee(&self, policy: &str, standing: Standing, tests: &[(Test, LossTest)]) {
        for other in Standing::ALL {
            let labels = [
                ("policy", policy.to_owned()),
                ("standing", other.name().to_owned()),
            ];
            let is_so = i64::from(other == standing);
            self.standings.get_or_create(&labels).set(is_so);
        }
        for (test, state) in tests {
            let labels = [("test", test.name().to_owned())];
            self.evidence.get_or_create(&labels).set(state.evidence());
        }
    }

    /// Notes how the scores of a policy compare with those of calibration.
    pub(crate) fn drift(&self, policy: &str, drift: &Drift) {
        let labels = [("policy", policy.to_owned())];
        let is_so = i64::from(drift.after.is_some());
        self.drift.get_or_create(&labels).set(is_so);
        let evidence = drift.test.evidence();
        self.drift_evidence.get_or_create(&labels).set(evidence);
    }

    /// Notes when an answer began.
    pub(crate) fn began(&self, after: Duration) {
        self.first_token.observe(after.as_secs_f64());
    }

    /// Notes which state of a corpus is served.
    pub(crate) fn corpus(&self, state: &CorpusState) {
        let labels = [("corpus", state.name.clone())];
        let generation = i64::try_from(state.generation).unwrap_or(i64::MAX);
        self.generations.get_or_create(&labels).set(generation);
    }

    /// All of it as text, with how all gates are; the first is that of questions.
    pub(crate) fn text(&self, gates: &[(&'static str, Load)], format: Format) -> String {
        let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        if let Some((_, answers)) = gates.first() {
            self.waiting.set(number(answers.waiting));
            self.working.set(number(answers.working));
        }
        for (gate, load) in gates {
            let labels = [("gate", (*gate).to_owned())];
            let waiting = self.gates_waiting.get_or_create(&labels);
            waiting.set(number(load.waiting));
            let working = self.gates_working.get_or_create(&labels);
            working.set(number(load.working));
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

/// OpenMetrics as Prometheus's text format, in which a counter is described by the name of its samples, and whose
/// end is the end of the text.
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
        ] {
            assert_eq!(Format::accepted(accept), format, "{accept}");
        }
    }
}
