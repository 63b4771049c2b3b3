//! A server whose model server is slow, silent, busy or broken: places come back whatever a request waits for,
//! requests to the model server are closed, and its failures reach clients by their names, in streams as well.

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ken_model::remote::{Endpoint, RemoteModel, RemoteSettings};
use ken_server::{Keys, Limits};
use ken_testing::{cases, says};
use serde_json::{Value, json};

use crate::client::{Response, connect, exchange, request};
use crate::fixture::{FOLLOW_UP, LIMITS, OIL, Running, chat, wait_for};
use crate::loopback::{Reply, Request, Server};

/// A text that its completions continue.
pub(crate) const PASSED: &str = "Once upon";

pub(crate) type Script = fn(&Request) -> Reply;

/// A server whose model server answers by a script.
pub(crate) struct Front {
    pub(crate) server: Running,
    pub(crate) upstream: Server,
    script: Arc<Mutex<Script>>,
}

impl Front {
    pub(crate) fn start(limits: Limits) -> Self {
        Self::locked(limits, &Keys::default())
    }

    /// For keys, if there are any.
    pub(crate) fn locked(limits: Limits, keys: &Keys) -> Self {
        let script: Arc<Mutex<Script>> = Arc::new(Mutex::new(answer));
        let told = Arc::clone(&script);
        let upstream = Server::start(move |request| match request.path.as_str() {
            "/v1/models" => Reply::json(&json!({"object": "list", "data": [{"id": "tiny"}]})),
            "/v1/chat/completions" => {
                let script = *told.lock().unwrap();
                script(request)
            }
            "/v1/completions" if request.body["prompt"] == PASSED => {
                let script = *told.lock().unwrap();
                script(request)
            }
            _ => Reply::refusal(404, "Not Found"),
        });
        let settings = RemoteSettings {
            backoff: Duration::from_millis(2),
            retries: 2,
            ..RemoteSettings::default()
        };
        let endpoint = Endpoint {
            settings,
            ..Endpoint::new(&upstream.url)
        };
        let model = RemoteModel::connect(endpoint).unwrap();
        Self {
            server: Running::over(model, limits, keys),
            upstream,
            script,
        }
    }

    pub(crate) fn says(&self, script: Script) {
        *self.script.lock().unwrap() = script;
    }

    fn asked(&self) -> usize {
        self.upstream.requests("completions").len()
    }

    fn is_idle(&self) -> bool {
        let metrics = self.server.get("/metrics").text();
        metrics.contains("ken_working 0\n")
    }

    fn ask(&self, request: &[u8]) -> Response {
        exchange(self.server.address, request)
    }

    /// Whether the next question is answered.
    fn answers(&self) {
        self.says(answer);
        let answered = self.server.chat("always", OIL, &json!({}));
        assert_eq!(answered.status, 200, "{}", answered.text());
    }
}

pub(crate) fn event(delta: &Value, end: &Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta, "finish_reason": end}]})
}

fn answer(request: &Request) -> Reply {
    let usage = json!({"prompt_tokens": 9, "completion_tokens": 1});
    if request.body["stream"] == true {
        return Reply::events(&[
            event(
                &json!({"role": "assistant", "content": "Ida"}),
                &Value::Null,
            ),
            event(&json!({}), &json!("stop")),
            json!({"choices": [], "usage": usage}),
        ]);
    }
    let message = json!({"role": "assistant", "content": "Ida"});
    Reply::json(&json!({
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": usage,
    }))
}

const LONG: Duration = Duration::from_secs(300);

fn silence(_: &Request) -> Reply {
    Reply::Silence(LONG)
}

fn a_head_alone(_: &Request) -> Reply {
    Reply::Repeated {
        head: "Content-Type: text/event-stream\r\n".to_owned(),
        bytes: Vec::new(),
        times: 1,
        pause: LONG,
    }
}

fn bytes_without_words(_: &Request) -> Reply {
    Reply::Repeated {
        head: "Content-Type: text/event-stream\r\n".to_owned(),
        bytes: b": still there\n\n".to_vec(),
        times: 100_000,
        pause: Duration::from_millis(3),
    }
}

/// Only the beginning of a body, whatever was requested.
fn half_of_json(_: &Request) -> Reply {
    Reply::Repeated {
        head: "Content-Type: application/json\r\nContent-Length: 1000\r\n".to_owned(),
        bytes: b"{\"choices\":".to_vec(),
        times: 80,
        pause: Duration::from_secs(1),
    }
}

fn come_back(_: &Request) -> Reply {
    Reply::refusal(503, "Loading model").with_header("Retry-After: 7")
}

const WAITS: [Script; 5] = [
    silence,
    a_head_alone,
    bytes_without_words,
    half_of_json,
    come_back,
];

fn post(path: &str, body: &Value) -> Vec<u8> {
    request("POST", path, &[], &body.to_string())
}

/// Requests that make a model server wait, by whatever way a question takes to it.
fn questions() -> Vec<Vec<u8>> {
    let ask = |arguments: Value| {
        let params = json!({"name": "ask", "arguments": arguments});
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    };
    let mut followed = chat("never", FOLLOW_UP, &json!({}));
    let said = |role: &str, text: &str| json!({"role": role, "content": text});
    followed["messages"] = json!([
        said("user", OIL),
        said("assistant", "Ida"),
        said("user", FOLLOW_UP)
    ]);
    let path = "/v1/chat/completions";
    vec![
        post(path, &chat("always", OIL, &json!({}))),
        post(path, &chat("always", OIL, &json!({"stream": true}))),
        post(path, &chat("certainty@0.4", OIL, &json!({"stream": true}))),
        post(path, &followed),
        post(
            "/v1/responses",
            &json!({"model": "ken/always", "input": OIL, "stream": true}),
        ),
        post(
            "/v1/ken/ask",
            &json!({"question": OIL, "ken": {"policy": "always"}}),
        ),
        post(
            "/v1/ken/knows",
            &json!({"question": OIL, "policy": "certainty@0.4"}),
        ),
        post("/mcp", &ask(json!({"question": OIL, "policy": "always"}))),
    ]
}

#[test]
fn whoever_leaves_gives_the_place_back_and_closes_the_request_behind_it() {
    let front = Front::start(Limits {
        parallel: 2,
        ..LIMITS
    });
    for (script, wait) in WAITS.into_iter().enumerate() {
        front.says(wait);
        for (number, question) in questions().iter().enumerate() {
            let (asked, closed) = (front.asked(), front.upstream.disconnected());
            let mut client = connect(front.server.address);
            client.write_all(question).unwrap();
            wait_for("the model server is asked", || front.asked() > asked);
            let left = Instant::now();
            drop(client);
            wait_for("the place is free", || front.is_idle());
            assert!(left.elapsed() < Duration::from_secs(3), "{script} {number}");
            if script + 1 < WAITS.len() {
                wait_for("the request is closed", || {
                    front.upstream.disconnected() > closed
                });
            }
            assert!(left.elapsed() < Duration::from_secs(5), "{script} {number}");
            // The model server gets no request that no client waits for.
            let asked = front.asked();
            std::thread::sleep(Duration::from_millis(20));
            assert_eq!(front.asked(), asked, "{script} {number}");
        }
    }
    front.answers();
}

#[test]
fn the_deadline_gives_the_place_back_whatever_is_waited_for() {
    let front = Front::start(Limits {
        parallel: 1,
        deadline: Duration::from_millis(200),
        ..LIMITS
    });
    for (script, wait) in WAITS.into_iter().take(4).enumerate() {
        for (number, question) in questions().iter().enumerate() {
            front.says(wait);
            let began = Instant::now();
            let late = front.ask(question);
            match late.status {
                // A tool's failure is a result.
                200 => assert!(late.text().contains("deadline_exceeded"), "{}", late.text()),
                504 => assert_eq!(late.code(), "deadline_exceeded"),
                status => panic!("{script} {number}: {status} {}", late.text()),
            }
            assert!(
                began.elapsed() < Duration::from_secs(3),
                "{:?}",
                began.elapsed()
            );
            front.answers();
        }
    }
    // A refusal that could only be retried after the deadline is passed on at once.
    front.says(come_back);
    let busy = front.server.chat("always", OIL, &json!({}));
    assert_eq!((busy.status, busy.header("retry-after")), (503, Some("7")));
    // The response is sent before its place is free.
    wait_for("the place is free", || front.is_idle());
}

#[test]
fn many_that_leave_in_a_row_leave_nothing_behind() {
    let front = Front::start(Limits {
        parallel: 2,
        queue: 100,
        ..LIMITS
    });
    front.says(silence);
    let questions = questions();
    for question in questions.iter().cycle().take(60) {
        connect(front.server.address).write_all(question).unwrap();
    }
    wait_for("nothing is left", || front.is_idle());
    front.answers();
}

/// A failure of the model server as a client sees it.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    status: u16,
    code: String,
    is_repeated: bool,
    retry_after: Option<String>,
}

fn seen(response: &Response) -> Seen {
    Seen {
        status: response.status,
        code: response.code(),
        is_repeated: response.header("x-should-retry") == Some("true"),
        retry_after: response.header("retry-after").map(str::to_owned),
    }
}

/// What the model server does, and what a client sees of it: status, code, and when to come back.
const FAILURES: [(Script, u16, &str, Option<&str>); 19] = cases![
    |_| Reply::refusal(429, "slow down").with_header("Retry-After: 3600") =>
        429, "rate_limit_exceeded", Some("3600");
    |_| Reply::refusal(429, "slow down").with_header("retry-after-ms: 90500") =>
        429, "rate_limit_exceeded", Some("91");
    |_| Reply::refusal(429, "slow down") => 429, "rate_limit_exceeded", Some("1");
    |_| Reply::refusal(503, "Loading model") => 503, "endpoint_status", Some("1");
    |_| Reply::text(502, "text/html", "<html>502 Bad Gateway</html>") =>
        502, "endpoint_status", Some("1");
    |_| Reply::refusal(500, "CUDA error") => 502, "endpoint_status", Some("1");
    |_| Reply::refusal(504, "upstream timed out") => 504, "endpoint_status", Some("1");
    |_| Reply::refusal(408, "too slow") => 504, "endpoint_status", Some("1");
    |_| Reply::HangUp => 502, "endpoint_connection_lost", Some("1");
    |_| Reply::text(200, "application/json", "{\"choices\": [Hi") =>
        502, "endpoint_bad_json", Some("1");
    |_| { Reply::events(&[json!({"error": {"message": "overloaded", "type": "overloaded_error"}})]) } =>
        503, "endpoint_status", Some("1");
    |_| Reply::text(200, "text/event-stream", "event: error\ndata: {\"message\": \"CUDA error\"}\n\n") =>
        502, "endpoint_status", Some("1");
    |_| Reply::refusal(401, "bad key") => 502, "endpoint_status", None;
    |_| Reply::refusal(403, "not yours") => 502, "endpoint_status", None;
    |_| Reply::refusal(404, "no such model") => 502, "endpoint_status", None;
    |_| Reply::refusal(402, "no credit") => 502, "endpoint_quota_exceeded", None;
    |_| Reply::refusal(400, "9000 tokens are more than the context size") =>
        400, "context_length_exceeded", None;
    |_| Reply::refusal(400, "temperature must be 1") => 400, "unsupported_parameter", None;
    |_| Reply::refusal(413, "Payload Too Large") => 400, "context_length_exceeded", None;
];

#[test]
fn failures_of_the_model_server_keep_their_names_and_hide_its_address() {
    let front = Front::start(LIMITS);
    let address = front.upstream.url.trim_end_matches("/v1");
    let host = address.trim_start_matches("http://").to_owned();
    let chat = |stream: bool| {
        post(
            "/v1/chat/completions",
            &chat("always", OIL, &json!({"stream": stream})),
        )
    };
    let respond = json!({"model": "ken/always", "input": OIL, "stream": true});
    let questions = [
        chat(false),
        chat(true),
        post("/v1/responses", &respond),
        post(
            "/v1/ken/ask",
            &json!({"question": OIL, "ken": {"policy": "always"}}),
        ),
    ];
    for (script, status, code, retry_after) in FAILURES {
        front.says(script);
        for question in &questions {
            let response = front.ask(question);
            let expected = Seen {
                status,
                code: code.to_owned(),
                is_repeated: retry_after.is_some(),
                retry_after: retry_after.map(str::to_owned),
            };
            assert_eq!(seen(&response), expected, "{}", response.text());
            assert!(!response.text().contains(&host), "{}", response.text());
        }
    }
    front.says(|_| Reply::refusal(422, "temperature must be 1"));
    let refused = front.ask(&questions[0]).json();
    assert_eq!(refused["error"]["param"], "temperature");
    // The owner can read all of it.
    let log = front.server.log.lock().unwrap();
    let told = |words: &str| {
        log.iter().any(|entry| {
            let detail = entry["detail"].as_str().unwrap_or_default();
            detail.contains(&host) && detail.contains(words)
        })
    };
    for words in [
        "bad key",
        "no such model",
        "CUDA error",
        "more than the context size",
    ] {
        assert!(told(words), "{words}: {log:?}");
    }
}

#[test]
fn a_stream_that_breaks_off_behind_its_first_word_says_so() {
    let front = Front::start(LIMITS);
    front.says(|_| Reply::Events {
        events: vec![event(&json!({"content": "Ida "}), &Value::Null).to_string()],
        pause: Duration::ZERO,
        whole: false,
    });
    let host = front.upstream.url.trim_start_matches("http://");
    let host = host.trim_end_matches("/v1");
    let full = json!({"style": "full"});
    let chat = json!({"stream": true, "ken": full});
    let chat = front.server.chat("always", OIL, &chat);
    let respond = json!({"model": "ken/always", "input": OIL, "stream": true, "ken": full});
    let responded = front.ask(&post("/v1/responses", &respond));
    for broken in [chat, responded] {
        assert_eq!(broken.status, 200);
        let text = broken.text();
        says!(text => "Ida", "\"code\":\"endpoint_stream_cut\"");
        assert!(!text.contains(host), "{text}");
    }
}

#[test]
fn a_model_server_that_is_gone_is_told_as_unavailable() {
    let Front {
        server, upstream, ..
    } = Front::start(LIMITS);
    upstream.close();
    for stream in [false, true] {
        let gone = server.chat("always", OIL, &json!({"stream": stream}));
        let expected = Seen {
            status: 503,
            code: "endpoint_unreachable".to_owned(),
            is_repeated: true,
            retry_after: Some("1".to_owned()),
        };
        assert_eq!(seen(&gone), expected);
    }
}

#[test]
fn an_endless_answer_is_cut_at_what_was_asked_for() {
    let front = Front::start(LIMITS);
    front.says(|request| {
        if request.body["stream"] == true {
            let word = event(&json!({"content": "word "}), &Value::Null);
            Reply::Events {
                events: vec![word.to_string(); 20_000],
                pause: Duration::ZERO,
                whole: true,
            }
        } else {
            let message = json!({"content": "word ".repeat(20_000)});
            Reply::json(&json!({"choices": [{"message": message, "finish_reason": "stop"}]}))
        }
    });
    let more = |stream: bool| json!({"stream": stream, "max_tokens": 8, "ken": {"style": "full"}});
    let whole = front.server.chat("never", OIL, &more(false)).json();
    let choice = &whole["choices"][0];
    assert_eq!(choice["finish_reason"], "length");
    let words = choice["message"]["content"].as_str().unwrap();
    assert!(words.split_whitespace().count() <= 16, "{words}");
    let closed = front.upstream.disconnected();
    let events = front.server.chat("never", OIL, &more(true)).events();
    let chunks: Vec<Value> = events
        .iter()
        .filter_map(|event| serde_json::from_str(event).ok())
        .collect();
    let said: String = chunks
        .iter()
        .filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str())
        .collect();
    assert_eq!(said.trim(), words.trim());
    let ended = chunks
        .iter()
        .map(|chunk| &chunk["choices"][0]["finish_reason"]);
    assert!(ended.into_iter().any(|reason| reason == "length"));
    wait_for("the request is closed", || {
        front.upstream.disconnected() > closed
    });
}
