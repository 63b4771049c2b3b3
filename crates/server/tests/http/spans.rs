//! Spans as a collector gets them: by OTLP over HTTP, at a socket of this machine.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ken_testing::{cases, has};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use serde_json::json;

use crate::fixture::{FRANCE, OIL, Running, wait_for};

/// The trace and the span of a client.
const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const SPAN: &str = "b7ad6b7169203331";

/// Paths and bodies of requests.
type Got = Arc<Mutex<Vec<(String, Vec<u8>)>>>;

/// A collector that keeps what it gets; a silent one takes connections and says nothing.
struct Collector {
    address: SocketAddr,
    got: Got,
}

impl Collector {
    fn start(is_silent: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let got = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&got);
        std::thread::spawn(move || {
            let mut silenced = Vec::new();
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                match is_silent {
                    true => silenced.push(stream),
                    false => while take(&mut stream, &kept).is_some() {},
                }
            }
        });
        Self { address, got }
    }

    /// All spans so far, and their senders.
    fn spans(&self) -> (Vec<Span>, Vec<String>) {
        let (mut spans, mut services) = (Vec::new(), Vec::new());
        for (path, body) in self.got.lock().unwrap().iter() {
            assert_eq!(path, "/v1/traces");
            let request = ExportTraceServiceRequest::decode(body.as_slice()).unwrap();
            for of_resource in request.resource_spans {
                let attributes = of_resource.resource.unwrap().attributes;
                let name = attributes
                    .iter()
                    .find(|attribute| attribute.key == "service.name");
                services.push(text_of(
                    &name.unwrap().value.clone().unwrap().value.unwrap(),
                ));
                for of_scope in of_resource.scope_spans {
                    assert_eq!(of_scope.scope.unwrap().name, "ken");
                    spans.extend(of_scope.spans);
                }
            }
        }
        (spans, services)
    }
}

/// Reads a request and answers it; `None` at the end of the connection.
fn take(stream: &mut TcpStream, got: &Got) -> Option<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let value = |name: &str| {
        let mut lines = head.lines().filter_map(|line| line.split_once(": "));
        let header = lines.find(|(own, _)| own.eq_ignore_ascii_case(name));
        header.map(|(_, value)| value.to_owned())
    };
    assert_eq!(
        value("content-type").as_deref(),
        Some("application/x-protobuf")
    );
    let mut body = vec![0; value("content-length").unwrap().parse().unwrap()];
    stream.read_exact(&mut body).unwrap();
    let path = head.split(' ').nth(1).unwrap().to_owned();
    got.lock().unwrap().push((path, body));
    stream
        .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
        .unwrap();
    Some(())
}

fn text_of(value: &Any) -> String {
    match value {
        Any::StringValue(text) => text.clone(),
        Any::IntValue(number) => number.to_string(),
        Any::DoubleValue(number) => number.to_string(),
        Any::BoolValue(truth) => truth.to_string(),
        Any::ArrayValue(all) => {
            let texts = all.values.iter();
            let texts = texts.map(|value| text_of(value.value.as_ref().unwrap()));
            texts.collect::<Vec<_>>().join(" ")
        }
        other => panic!("{other:?}"),
    }
}

/// The value of a span's attribute.
fn said(span: &Span, key: &str) -> Option<String> {
    let found = span
        .attributes
        .iter()
        .find(|attribute| attribute.key == key)?;
    Some(text_of(found.value.as_ref()?.value.as_ref()?))
}

fn named<'a>(spans: &'a [Span], name: &str) -> &'a Span {
    let names: Vec<&String> = spans.iter().map(|span| &span.name).collect();
    let mut found = spans.iter().filter(|span| span.name == name);
    let first = found.next();
    assert!(first.is_some() && found.next().is_none(), "{names:?}");
    first.unwrap()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_question_is_a_span_of_its_clients_trace_with_one_for_each_stage() {
    let collector = Collector::start(false);
    let server = Running::sending(collector.address, false);
    let parent = format!("00-{TRACE}-{SPAN}-01");
    let body = json!({"question": OIL, "ken": {"policy": "router@0.4"}});
    let refused = server.post("/v1/ken/ask", &body);
    assert_ne!(refused.status, 200);
    let body = json!({"question": OIL, "ken": {"policy": "uncertainty:perplexity@0.5"}});
    let response = server.post_as(&[("traceparent", &parent)], "/v1/ken/ask", &body);
    let answer = response.json();
    assert_eq!(answer["route"], "corpus", "{answer}");
    let id = answer["request_id"].as_str().unwrap();
    let trace = server.get(&format!("/v1/ken/traces/{id}")).json();
    server.chat("never", FRANCE, &json!({}));
    // Spans that were not sent before are sent at the end.
    drop(server);
    let (spans, services) = collector.spans();
    assert!(services.iter().all(|name| name == "ken"), "{services:?}");

    let whole = named(&spans, "chat ken/uncertainty:perplexity@0.5");
    assert_eq!(
        (
            hex(&whole.trace_id).as_str(),
            hex(&whole.parent_span_id).as_str()
        ),
        (TRACE, SPAN)
    );
    for (key, value) in cases![
        "gen_ai.operation.name" => "chat".to_owned();
        "gen_ai.provider.name" => "ken".to_owned();
        "gen_ai.request.model" => "ken/uncertainty:perplexity@0.5".to_owned();
        "gen_ai.response.id" => id.to_owned();
        "gen_ai.usage.input_tokens" => trace["prompt_tokens"].to_string();
        "gen_ai.usage.output_tokens" => trace["completion_tokens"].to_string();
        "gen_ai.response.finish_reasons" => "stop".to_owned();
        "ken.route" => "corpus".to_owned();
        "ken.threshold" => "0.5".to_owned();
        "ken.corpus" => "notes".to_owned();
        "ken.corpus.generation" => answer["corpus"]["generation"].to_string();
    ] {
        assert_eq!(said(whole, key), Some(value), "{key}");
    }
    let score: f64 = said(whole, "ken.score").unwrap().parse().unwrap();
    assert_eq!(Some(score), answer["score"].as_f64());
    let stages: Vec<&Span> = spans
        .iter()
        .filter(|span| span.parent_span_id == whole.span_id)
        .collect();
    let names: Vec<&str> = stages.iter().map(|span| span.name.as_str()).collect();
    assert_eq!(names, ["wait", "route", "retrieval notes", "generate"]);
    for stage in &stages {
        assert_eq!(stage.trace_id, whole.trace_id);
        assert!(stage.start_time_unix_nano >= whole.start_time_unix_nano);
        assert!(stage.end_time_unix_nano <= whole.end_time_unix_nano);
    }
    let retrieval = stages[2];
    assert_eq!(
        said(retrieval, "gen_ai.operation.name").unwrap(),
        "retrieval"
    );
    assert_eq!(said(retrieval, "gen_ai.data_source.id").unwrap(), "notes");
    assert_eq!(said(retrieval, "gen_ai.retrieval.top_k").unwrap(), "2");
    assert!(said(retrieval, "ken.search_ms").is_some());
    assert_eq!(said(stages[1], "ken.route").unwrap(), "corpus");

    let memory = named(&spans, "chat ken/never");
    assert!(memory.parent_span_id.is_empty() && memory.trace_id != whole.trace_id);
    assert_eq!(said(memory, "ken.route").unwrap(), "self");
    let failed = named(&spans, "chat ken/router@0.4");
    assert!(said(failed, "error.type").is_some());
    assert_eq!(failed.status.as_ref().unwrap().code, 2);
    let all = format!("{spans:?}");
    for text in [OIL, FRANCE, "Ida", "Paris", "changes it"] {
        assert!(!all.contains(text), "{text}");
    }
}

#[test]
fn questions_and_answers_are_in_spans_where_that_is_asked_for() {
    let collector = Collector::start(false);
    let server = Running::sending(collector.address, true);
    let body = json!({"question": OIL, "ken": {"policy": "always"}});
    let answer = server.post("/v1/ken/ask", &body).json();
    drop(server);
    let (spans, _) = collector.spans();
    let whole = named(&spans, "chat ken/always");
    let messages = |key: &str| -> serde_json::Value {
        serde_json::from_str(&said(whole, key).unwrap()).unwrap()
    };
    let asked = messages("gen_ai.input.messages");
    has!(asked[0], ["role"]: "user", ["parts"][0]["content"]: OIL);
    let answered = messages("gen_ai.output.messages");
    assert_eq!(answered[0]["parts"][0]["content"], answer["answer"]);
    let found = said(
        named(&spans, "retrieval notes"),
        "gen_ai.retrieval.documents",
    );
    assert!(found.as_ref().unwrap().contains("cars/oil.md"), "{found:?}");
    // Passages stay in the corpus.
    assert!(!format!("{spans:?}").contains("Ida changes it"));
}

#[test]
fn a_collector_that_is_gone_or_silent_holds_nobody_up() {
    let gone = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = gone.local_addr().unwrap();
    drop(gone);
    let server = Running::sending(address, false);
    let ask = |server: &Running| {
        let begun = Instant::now();
        let response = server.post("/v1/ken/ask", &json!({"question": FRANCE}));
        assert_eq!(response.status, 200);
        assert!(begun.elapsed() < Duration::from_secs(3));
    };
    ask(&server);
    let told = || {
        let log = server.log.lock().unwrap();
        let unsent = log.iter().filter(|entry| entry["event"] == "unsent");
        unsent.cloned().collect::<Vec<_>>()
    };
    wait_for("what was not sent", || !told().is_empty());
    assert_eq!(told()[0]["what"], "spans");
    let metrics = server.get("/metrics").text();
    let count = metrics
        .lines()
        .find_map(|line| line.strip_prefix("ken_spans_unsent_total "));
    assert!(count.unwrap().parse::<u64>().unwrap() >= 1);
    ask(&server);
    drop(server);

    let silent = Collector::start(true);
    let server = Running::sending(silent.address, false);
    (0..20).for_each(|_| ask(&server));
    let begun = Instant::now();
    drop(server);
    assert!(
        begun.elapsed() < Duration::from_secs(3),
        "{:?}",
        begun.elapsed()
    );
}
