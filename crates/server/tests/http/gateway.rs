//! Applications with a prompt of their own: their requests reach the model's server as sent, with evidence if the
//! policy wants it, and its replies reach them; a model without a server is asked in their words.

use ken_testing::{has, says};
use serde_json::{Value, json};

use crate::client::Response;
use crate::endpoints::{Front, PASSED, Script, event};
use crate::fixture::{FRANCE, LIMITS, OIL, Running};
use crate::loopback::{Reply, Request};

const PASSAGE: &str = "The oil of the car is changed every May; Ida changes it.";

/// An application's request, with everything that ken does not obey itself.
fn brought(model: &str, question: &Value) -> Value {
    json!({
        "model": model,
        "messages": [
            {"role": "system", "content": "Answer like a pirate.", "name": "app"},
            {"role": "user", "content": question},
        ],
        "tools": [{"type": "function", "function": {"name": "tide", "parameters": {"type": "object"}}}],
        "tool_choice": "required",
        "response_format": {"type": "json_object"},
        "stop": ["\n\n"],
        "n": 2,
        "seed": 7,
        "logprobs": true,
        "chat_template_kwargs": {"enable_thinking": false},
    })
}

fn last(front: &Front) -> Value {
    let requests = front.upstream.requests("completions");
    requests.last().unwrap().body.clone()
}

fn calls_a_tool(request: &Request) -> Reply {
    let call = json!([{"index": 0, "id": "c1", "type": "function", "function": {"name": "tide", "arguments": "{}"}}]);
    let usage = json!({"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14});
    if request.body["stream"] == true {
        return Reply::events(&[
            event(&json!({"role": "assistant", "content": null}), &Value::Null),
            event(&json!({"tool_calls": call}), &Value::Null),
            event(&json!({}), &json!("tool_calls")),
            json!({"choices": [], "usage": usage}),
        ]);
    }
    let message = json!({"role": "assistant", "content": null, "tool_calls": call, "reasoning_content": "hm"});
    Reply::json(&json!({
        "id": "theirs", "object": "chat.completion", "model": "tiny-2", "system_fingerprint": "fp",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls", "logprobs": {"content": []}}],
        "usage": usage,
    }))
}

/// The chunks of a stream that was ended as OpenAI's are.
fn chunks_of(streamed: &Response) -> Vec<Value> {
    let events = streamed.events();
    let (done, chunks) = events.split_last().unwrap();
    assert_eq!(done, "[DONE]");
    let chunks = chunks.iter();
    chunks
        .map(|chunk| serde_json::from_str(chunk).unwrap())
        .collect()
}

#[test]
fn a_request_reaches_the_models_server_as_it_came() {
    let front = Front::start(LIMITS);
    for (model, retrieves) in [("ken/never", false), ("ken/always", true)] {
        let body = brought(model, &json!(OIL));
        let answered = front.server.post("/v1/chat/completions", &body);
        assert_eq!(answered.status, 200, "{}", answered.text());
        let mut sent = last(&front);
        let question = sent["messages"][1]["content"].take();
        let question = question.as_str().unwrap();
        assert_eq!(question.contains(PASSAGE), retrieves);
        assert!(question.ends_with(OIL));
        assert_eq!(question == OIL, !retrieves);
        let mut expected = body.clone();
        expected["model"] = json!("tiny");
        expected["messages"][1]["content"] = Value::Null;
        assert_eq!(sent, expected);
        let trace = &answered.json()["ken"];
        assert_eq!(trace["route"], if retrieves { "corpus" } else { "self" });
        assert_eq!(trace["searches"], usize::from(retrieves));
    }
    // Parts that only that server understands are passed on.
    let image = json!({"type": "image_url", "image_url": {"url": "data:,"}});
    let parts = json!([{"type": "text", "text": OIL}, image]);
    let body = brought("ken/always", &parts);
    let answered = front.server.post("/v1/chat/completions", &body);
    assert_eq!(answered.status, 200, "{}", answered.text());
    let sent = last(&front);
    let content = &sent["messages"][1]["content"];
    assert!(content[0]["text"].as_str().unwrap().contains(PASSAGE));
    assert_eq!(content[1]["text"], OIL);
    assert_eq!(content[2], image);
}

#[test]
fn what_a_server_says_reaches_the_application_with_the_trace() {
    let front = Front::start(LIMITS);
    front.says(calls_a_tool);
    let body = brought("ken/always", &json!(OIL));
    let said = front.server.post("/v1/chat/completions", &body).json();
    let choice = &said["choices"][0];
    has!(choice, ["message"]["tool_calls"][0]["id"]: "c1", ["message"]["reasoning_content"]: "hm");
    has!(choice, ["finish_reason"]: "tool_calls");
    has!(said, ["system_fingerprint"]: "fp", ["usage"]["total_tokens"]: 14);
    assert!(said["id"].as_str().unwrap().starts_with("chatcmpl-"));
    assert!(said["ken"]["lack"].is_null());

    for asks_for_usage in [false, true] {
        let mut body = body.clone();
        body["stream"] = json!(true);
        if asks_for_usage {
            body["stream_options"] = json!({"include_usage": true});
        }
        let streamed = front.server.post("/v1/chat/completions", &body);
        assert_eq!(streamed.status, 200, "{}", streamed.text());
        let chunks = chunks_of(&streamed);
        let called = chunks
            .iter()
            .find(|chunk| !chunk["choices"][0]["delta"]["tool_calls"].is_null());
        has!(called.unwrap(), ["choices"][0]["delta"]["tool_calls"][0]["id"]: "c1");
        let ended = chunks
            .iter()
            .find(|chunk| chunk["choices"][0]["finish_reason"] == "tool_calls");
        assert_eq!(ended.unwrap()["ken"]["route"], "corpus");
        let told = chunks
            .iter()
            .any(|chunk| chunk["usage"]["total_tokens"] == 14);
        assert_eq!(told, asks_for_usage);
        has!(last(&front), ["stream_options"]: json!({"include_usage": true}));
    }
}

#[test]
fn a_stream_that_breaks_off_says_so_and_is_not_asked_for_again() {
    let front = Front::start(LIMITS);
    front.says(|_| Reply::Events {
        events: vec![
            event(&json!({"role": "assistant", "content": "Id"}), &Value::Null).to_string(),
        ],
        pause: std::time::Duration::ZERO,
        whole: false,
    });
    let mut body = brought("ken/never", &json!(OIL));
    body["stream"] = json!(true);
    let before = front.upstream.requests("completions").len();
    let streamed = front.server.post("/v1/chat/completions", &body);
    let events = streamed.events();
    assert!(events[0].contains("Id"), "{events:?}");
    assert!(
        events
            .iter()
            .any(|event| event.contains("endpoint_stream_cut")),
        "{events:?}"
    );
    assert_eq!(front.upstream.requests("completions").len(), before + 1);
}

/// The request, streamed or not.
fn streamed(stream: bool) -> Value {
    let mut body = brought("ken/always", &json!(OIL));
    body["stream"] = json!(stream);
    body
}

#[test]
fn a_reply_without_an_answer_is_a_failure() {
    let front = Front::start(LIMITS);
    let scripts: [Script; 4] = [
        |_| Reply::json(&json!([])),
        |_| Reply::json(&json!("Ida")),
        |_| Reply::json(&json!({"id": "x", "choices": []})),
        |_| Reply::json(&json!({"id": "x", "choices": null})),
    ];
    for script in scripts {
        front.says(script);
        for stream in [false, true] {
            let refused = front.server.post("/v1/chat/completions", &streamed(stream));
            refused.refuses(502, "endpoint_missing_field");
        }
    }
    let streams: [Script; 2] = [|_| Reply::events(&[]), |_| Reply::events(&[json!([1])])];
    for script in streams {
        front.says(script);
        let refused = front.server.post("/v1/chat/completions", &streamed(true));
        refused.refuses(502, "endpoint_missing_field");
    }
}

#[test]
fn an_error_by_its_name_is_no_end_of_an_answer() {
    let front = Front::start(LIMITS);
    front.says(|_| {
        let word = event(&json!({"content": "Ida "}), &Value::Null);
        let failed = "event: error\ndata: {\"message\": \"CUDA error\"}";
        let events = format!("data: {word}\n\n{failed}\n\ndata: [DONE]\n\n");
        Reply::text(200, "text/event-stream", &events)
    });
    let own = json!({"stream": true, "ken": {"style": "full"}});
    let own = front.server.chat("always", OIL, &own);
    let passed = front.server.post("/v1/chat/completions", &streamed(true));
    for broken in [own, passed] {
        assert_eq!(broken.status, 200);
        let text = broken.text();
        says!(text => "Ida", "\"code\":\"endpoint_status\"");
        assert!(!text.contains("CUDA"), "{text}");
    }
}

#[test]
fn a_stream_is_cut_while_one_of_its_answers_goes_on() {
    let front = Front::start(LIMITS);
    front.says(|_| Reply::Events {
        events: vec![
            json!({"choices": [{"index": 1, "delta": {"content": "Bo"}, "finish_reason": null}]})
                .to_string(),
            event(&json!({"content": "Ida"}), &json!("stop")).to_string(),
        ],
        pause: std::time::Duration::ZERO,
        whole: true,
    });
    let cut = front.server.post("/v1/chat/completions", &streamed(true));
    says!(cut.text() => "\"code\":\"endpoint_stream_cut\"");
}

#[test]
fn an_answer_is_streamed_while_another_has_ended() {
    let front = Front::start(LIMITS);
    front.says(|_| {
        let of = |index: u64, delta: Value, end: Value| {
            json!({"choices": [{"index": index, "delta": delta, "finish_reason": end}]})
        };
        Reply::events(&[
            json!({"choices": [], "prompt_filter_results": []}),
            of(0, json!({"content": "Ida"}), Value::Null),
            of(0, json!({}), json!("stop")),
            of(1, json!({"content": "Bob"}), Value::Null),
            of(1, json!({}), json!("stop")),
            json!({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}}),
        ])
    });
    let mut body = streamed(true);
    body["stream_options"] = json!({"include_usage": true});
    let answered = front.server.post("/v1/chat/completions", &body);
    let chunks = chunks_of(&answered);
    let place = |is: &dyn Fn(&Value) -> bool| chunks.iter().position(is).unwrap();
    let told = place(&|chunk| chunk["choices"][0]["delta"]["content"] == "Bob");
    let cited = place(&|chunk| !chunk["choices"][0]["delta"]["annotations"].is_null());
    let ended = place(&|chunk| chunk["choices"][0]["finish_reason"] == "stop");
    assert!(told < cited && cited < ended, "{chunks:?}");
    has!(chunks[0], ["prompt_filter_results"]: json!([]));
    // Usage as in OpenAI's API: null in all chunks but the last.
    let (last, others) = chunks.split_last().unwrap();
    assert_eq!(last["usage"]["total_tokens"], 11);
    assert!(
        others
            .iter()
            .all(|chunk| chunk.get("usage") == Some(&Value::Null))
    );
    let traced = |chunk: &&Value| !chunk["ken"].is_null();
    assert_eq!(others.iter().filter(traced).count(), 1);
    has!(others.last().unwrap(), ["choices"][0]["index"]: 1, ["ken"]["route"]: "corpus");
}

#[test]
fn calls_of_a_server_that_does_not_stream_have_numbers() {
    let front = Front::start(LIMITS);
    front.says(|_| {
        let call = json!({"id": "c1", "type": "function", "function": {"name": "tide", "arguments": "{}"}});
        let message = json!({"role": "assistant", "content": null, "tool_calls": [call, call]});
        let choice = json!({"index": 0, "message": message, "finish_reason": "tool_calls"});
        Reply::json(&json!({"object": "chat.completion", "choices": [choice]}))
    });
    let answered = front.server.post("/v1/chat/completions", &streamed(true));
    let events = answered.events();
    let chunks = events
        .iter()
        .filter_map(|chunk| serde_json::from_str::<Value>(chunk).ok());
    let mut calls = chunks.map(|chunk| chunk["choices"][0]["delta"]["tool_calls"].clone());
    let calls = calls.find(|calls| calls.is_array()).unwrap();
    has!(calls, [0]["index"]: 0, [1]["index"]: 1);
}

#[test]
fn the_data_of_an_event_may_stand_on_several_lines() {
    let front = Front::start(LIMITS);
    front.says(|_| {
        let events = [
            event(&json!({"content": "Ida"}), &Value::Null),
            event(&json!({}), &json!("stop")),
        ];
        let lines = events.map(|event| {
            let lines = format!("{event:#}").replace('\n', "\r\ndata: ");
            format!("data: {lines}\r\n\r\n")
        });
        let stream = lines.concat() + "data: [DONE]\r\n\r\n";
        Reply::text(200, "text/event-stream", &stream)
    });
    let own = front.server.chat("always", OIL, &json!({})).json();
    has!(own, ["choices"][0]["message"]["content"]: "Ida");
    let passed = front.server.post("/v1/chat/completions", &streamed(true));
    assert_eq!(passed.status, 200, "{}", passed.text());
    says!(passed.text() => "\"content\":\"Ida\"", "[DONE]");
}

#[test]
fn citations_stand_before_the_end_of_a_stream() {
    let front = Front::start(LIMITS);
    let messages = json!([
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": OIL},
    ]);
    let body = json!({"model": "ken/always", "messages": messages, "stream": true});
    let events = front.server.post("/v1/chat/completions", &body).events();
    let chunks: Vec<Value> = events[..events.len() - 1]
        .iter()
        .map(|chunk| serde_json::from_str(chunk).unwrap())
        .collect();
    let deltas: Vec<&Value> = chunks.iter().map(|chunk| &chunk["choices"][0]).collect();
    let [.., cited, ended] = deltas.as_slice() else {
        panic!("{chunks:?}");
    };
    assert_eq!(cited["delta"]["annotations"][0]["type"], "url_citation");
    assert_eq!(ended["finish_reason"], "stop");
    let text: String = deltas
        .iter()
        .filter_map(|choice| choice["delta"]["content"].as_str())
        .collect();
    assert_eq!(text, "Ida");
}

#[test]
fn failures_of_the_server_keep_their_names() {
    let front = Front::start(LIMITS);
    let body = brought("ken/never", &json!(OIL));
    front.says(|_| Reply::refusal(400, "`response_format` is not supported"));
    let refused = front.server.post("/v1/chat/completions", &body);
    refused.refuses(400, "refused_by_model_server");
    assert!(
        refused
            .text()
            .contains("`response_format` is not supported")
    );
    front.says(|_| Reply::refusal(429, "slow down").with_header("Retry-After: 3"));
    let mut streamed = body.clone();
    streamed["stream"] = json!(true);
    for body in [&body, &streamed] {
        assert_eq!(front.server.post("/v1/chat/completions", body).status, 429);
    }
}

#[test]
fn a_conversation_need_not_end_with_a_question() {
    let front = Front::start(LIMITS);
    let call =
        json!([{"id": "c1", "type": "function", "function": {"name": "tide", "arguments": "{}"}}]);
    let messages = json!([
        {"role": "user", "content": OIL},
        {"role": "assistant", "content": null, "tool_calls": call},
        {"role": "tool", "tool_call_id": "c1", "content": "high"},
    ]);
    let body = json!({"model": "ken/always", "messages": messages});
    let answered = front.server.post("/v1/chat/completions", &body);
    assert_eq!(answered.status, 200, "{}", answered.text());
    let sent = last(&front);
    assert!(
        sent["messages"][0]["content"]
            .as_str()
            .unwrap()
            .contains(PASSAGE)
    );
    assert_eq!(sent["messages"][2], messages[2]);
    // A question without words is not searched for.
    let image =
        json!({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]});
    let body = json!({"model": "ken/always", "messages": [image]});
    let answered = front.server.post("/v1/chat/completions", &body);
    assert_eq!(answered.status, 200, "{}", answered.text());
    assert_eq!(answered.json()["ken"]["searches"], 0);
    assert_eq!(last(&front)["messages"], json!([image]));
}

#[test]
fn a_style_of_kens_own_leaves_the_rest_unused_and_says_so() {
    let front = Front::start(LIMITS);
    let messages = json!([
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": OIL},
    ]);
    let body = json!({"model": "ken/always", "messages": messages, "ken": {"style": "short"}});
    let said = front.server.post("/v1/chat/completions", &body).json();
    assert_eq!(said["ken"]["not_used"], json!(["system messages"]));
    assert!(!last(&front).to_string().contains("Be brief."));
}

#[test]
fn a_model_without_a_server_is_asked_in_the_applications_words() {
    let server = Running::start();
    let messages = json!([
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": OIL},
    ]);
    let body =
        json!({"model": "ken/always", "messages": messages, "tools": [{"type": "function"}]});
    let said = server.post("/v1/chat/completions", &body).json();
    has!(said, ["choices"][0]["message"]["content"]: " Ida", ["ken"]["not_used"]: json!(["tools"]));
    has!(said, ["ken"]["citations"][0]["doc_id"]: "cars/oil.md");
    let body = json!({"model": "ken/always", "input": OIL, "instructions": "Be brief."});
    let response = server.post("/v1/responses", &body).json();
    assert_eq!(response["instructions"], "Be brief.");
    has!(response["output"].as_array().unwrap().last().unwrap(), ["content"][0]["text"]: " Ida");
}

#[test]
fn an_answer_ends_where_the_application_wants_it_to() {
    let server = Running::start();
    for (stop, answer) in [
        (json!("d"), "I"),
        (json!(["x", "da"]), "I"),
        (json!("z"), "Ida"),
        (json!([]), "Ida"),
    ] {
        let whole = server.chat("always", OIL, &json!({"stop": stop})).json();
        assert_eq!(whole["choices"][0]["message"]["content"], answer, "{stop}");
        let events = server
            .chat("always", OIL, &json!({"stop": stop, "stream": true}))
            .events();
        let text: String = events
            .iter()
            .filter_map(|event| serde_json::from_str::<Value>(event).ok())
            .filter_map(|chunk| Some(chunk["choices"][0]["delta"]["content"].as_str()?.to_owned()))
            .collect();
        assert_eq!(text, answer, "{stop}");
    }
    for stop in [json!(7), json!(["a", "b", "c", "d", "e"]), json!([1])] {
        let refused = server.chat("always", OIL, &json!({"stop": stop}));
        refused.refuses(400, "invalid_value");
    }
}

#[test]
fn what_an_application_found_is_read_in_place_of_a_search() {
    let server = Running::start();
    let passages = json!([{"text": "The oil is changed by Bo.", "title": "Log", "id": "log-7"}]);
    let asked = json!({"question": OIL, "ken": {"policy": "always", "passages": passages}});
    let said = server.post("/v1/ken/ask", &asked).json();
    has!(said["retrieved"][0], ["passage_id"]: "log-7", ["in_prompt"]: true);
    assert!(said["corpus"].is_null());
    for wrong in [
        json!([{"text": " "}]),
        json!(vec![json!({"text": "x"}); 101]),
    ] {
        let refused = server.post(
            "/v1/ken/ask",
            &json!({"question": OIL, "ken": {"passages": wrong}}),
        );
        refused.refuses(400, "invalid_value");
    }
}

#[test]
fn a_decision_writes_nothing() {
    let server = Running::start();
    let decide = |question: &str, policy: &str| {
        let body = json!({"question": question, "ken": {"policy": policy}});
        let decided = server.post("/v1/ken/decide", &body);
        assert_eq!(decided.status, 200, "{}", decided.text());
        decided.json()
    };
    let always = decide(OIL, "always");
    assert_eq!(
        (always["retrieve"].as_bool(), always["model_calls"].as_u64()),
        (Some(true), Some(0))
    );
    assert!(always["evidence"].as_str().unwrap().contains(PASSAGE));
    let never = decide(OIL, "never");
    assert_eq!(
        (never["retrieve"].as_bool(), never["evidence"].as_str()),
        (Some(false), Some(""))
    );
    assert_eq!(never["searches"], 0);
    let known = decide(FRANCE, "uncertainty:perplexity@2");
    assert_eq!(known["retrieve"], false);
    assert!(known["score"].as_f64().unwrap() < 2.0);
    assert_eq!(decide("thanks!", "always")["retrieve"], false);
}

#[test]
fn what_nothing_is_searched_for_costs_one_request() {
    let front = Front::start(LIMITS);
    let ask = |model: &str, system: &str, question: &str| {
        let messages = json!([
            {"role": "system", "content": system},
            {"role": "user", "content": FRANCE},
            {"role": "assistant", "content": "Paris"},
            {"role": "user", "content": question},
        ]);
        let before = front.upstream.requests("completions").len();
        let body = json!({"model": model, "messages": messages});
        let answered = front.server.post("/v1/chat/completions", &body);
        assert_eq!(answered.status, 200, "{}", answered.text());
        assert_eq!(last(&front)["messages"], messages);
        assert_eq!(front.upstream.requests("completions").len() - before, 1);
        answered.json()["ken"]["searches"].clone()
    };
    assert_eq!(ask("ken/never", "Be brief.", "And when?"), 0);
    assert_eq!(ask("ken/always", "Be brief.", "thanks!"), 0);
    // Nothing is measured on texts longer than any model reads; the model's server decides what to do with them.
    assert_eq!(ask("ken/always", &"x ".repeat(100_000), "And when?"), 0);
}

fn continues(request: &Request) -> Reply {
    let choice = |text: &str, end: Value| json!({"choices": [{"index": 0, "text": text, "finish_reason": end}]});
    let usage = json!({"prompt_tokens": 2, "completion_tokens": 3, "total_tokens": 5});
    if request.body["stream"] == true {
        return Reply::events(&[
            choice(" a", Value::Null),
            choice(" time", json!("stop")),
            json!({"choices": [], "usage": usage}),
        ]);
    }
    let mut whole = choice(" a time", json!("stop"));
    whole["usage"] = usage;
    Reply::json(&whole)
}

#[test]
fn completions_reach_the_models_server_as_they_came() {
    let front = Front::start(LIMITS);
    front.says(continues);
    let body = json!({"model": "ken/never", "prompt": PASSED, "best_of": 2, "suffix": "end", "guided_regex": "a+"});
    let said = front.server.post("/v1/completions", &body);
    assert_eq!(
        said.json()["choices"][0]["text"],
        " a time",
        "{}",
        said.text()
    );
    assert_eq!(said.json()["usage"]["total_tokens"], 5);
    let mut sent = body.clone();
    sent["model"] = json!("tiny");
    assert_eq!(last(&front), sent);
    for asks_for_usage in [false, true] {
        let mut body = body.clone();
        body["stream"] = json!(true);
        if asks_for_usage {
            body["stream_options"] = json!({"include_usage": true});
        }
        let streamed = front.server.post("/v1/completions", &body).events();
        let (done, chunks) = streamed.split_last().unwrap();
        assert_eq!(done, "[DONE]");
        assert_eq!(chunks.len(), 2 + usize::from(asks_for_usage));
        let text = chunks
            .iter()
            .map(|chunk| -> Value { serde_json::from_str(chunk).unwrap() });
        let text: String = text
            .filter_map(|chunk| Some(chunk["choices"][0]["text"].as_str()?.to_owned()))
            .collect();
        assert_eq!(text, " a time");
    }
    front.says(|_| Reply::refusal(400, "no such regex"));
    let refused = front.server.post("/v1/completions", &body);
    refused.refuses(400, "refused_by_model_server");
}

#[test]
fn a_server_whose_model_server_is_gone_is_not_ready() {
    let Front {
        server, upstream, ..
    } = Front::start(LIMITS);
    upstream.close();
    let ready = server.get("/ready");
    ready.refuses(503, "model_server_unavailable");
    assert_eq!(server.get("/health").status, 200);
}
