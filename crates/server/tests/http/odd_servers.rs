//! Model servers that keep to OpenAI's API in most things: what they do otherwise reaches no application, and is not
//! taken for the end of an answer or of a server.

use ken_model::remote::{Endpoint, RemoteModel};
use ken_server::Keys;
use ken_testing::{extended, has, says};
use serde_json::{Value, json};

use crate::client::Response;
use crate::endpoints::{Front, PASSED, Script, event};
use crate::fixture::{FRANCE, LIMITS, OIL, Running};
use crate::loopback::{Reply, Request, Server};

const CHAT: &str = "/v1/chat/completions";

/// A stream that is passed on.
fn passed(more: &Value) -> Value {
    let messages = json!([
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": OIL},
    ]);
    let body = json!({"model": "ken/never", "messages": messages, "stream": true});
    extended(body, more)
}

/// The chunks of a stream, without its end.
fn chunks(streamed: &Response) -> Vec<Value> {
    let events = streamed.events();
    let (done, chunks) = events.split_last().unwrap();
    assert_eq!(done, "[DONE]");
    let chunks = chunks.iter();
    chunks
        .map(|chunk| serde_json::from_str(chunk).unwrap())
        .collect()
}

/// What two applications get: one that is answered in ken's words, and one whose request is passed on.
fn both(front: &Front) -> [Response; 2] {
    let own = front.server.chat("never", OIL, &json!({"stream": true}));
    [own, front.server.post(CHAT, &passed(&json!({})))]
}

#[test]
fn an_empty_reason_is_no_end_of_an_answer() {
    let front = Front::start(LIMITS);
    front.says(|_| {
        Reply::events(&[
            event(&json!({"content": "Ida"}), &json!("")),
            event(&json!({"content": " rows."}), &json!("null")),
            event(&json!({}), &json!("stop")),
        ])
    });
    let streamed = chunks(&front.server.post(CHAT, &passed(&json!({}))));
    let reasons = streamed.iter().map(|chunk| &chunk["choices"][0]);
    let reasons: Vec<&Value> = reasons.map(|choice| &choice["finish_reason"]).collect();
    assert_eq!(reasons, [&Value::Null, &Value::Null, &json!("stop")]);
    front.says(|_| Reply::Events {
        events: vec![event(&json!({"content": "Ida"}), &json!("")).to_string()],
        pause: std::time::Duration::ZERO,
        whole: true,
    });
    let cut = front.server.post(CHAT, &passed(&json!({})));
    says!(cut.text() => "\"code\":\"endpoint_stream_cut\"");
}

#[test]
fn a_sign_of_life_is_no_chunk() {
    let front = Front::start(LIMITS);
    front.says(|_| {
        let word = event(&json!({"content": "Ida"}), &Value::Null);
        let end = event(&json!({}), &json!("stop"));
        let alive = "event: ping\ndata: {\"type\": \"ping\"}\n\n";
        let stream = format!("{alive}data: {word}\n\n{alive}data: {end}\n\ndata: [DONE]\n\n");
        Reply::text(200, "text/event-stream", &stream)
    });
    let streamed = chunks(&front.server.post(CHAT, &passed(&json!({}))));
    assert_eq!(streamed.len(), 2, "{streamed:?}");
    assert!(streamed.iter().all(|chunk| chunk["choices"].is_array()));
}

#[test]
fn json_without_its_label_is_an_answer() {
    let front = Front::start(LIMITS);
    front.says(|_| {
        let message = json!({"role": "assistant", "content": "Ida"});
        let choice = json!({"index": 0, "message": message, "finish_reason": "stop"});
        Reply::text(200, "text/plain", &json!({"choices": [choice]}).to_string())
    });
    for streamed in both(&front) {
        let text = chunks(&streamed)
            .iter()
            .filter_map(|chunk| Some(chunk["choices"][0]["delta"]["content"].as_str()?.to_owned()))
            .collect::<String>();
        assert_eq!(text, "Ida");
    }
}

#[test]
fn what_breaks_behind_the_end_of_an_answer_is_no_failure() {
    let front = Front::start(LIMITS);
    let scripts: [Script; 2] = [
        |_| broken_behind_the_end("data: {\"choices\": [], \"usa"),
        |_| {
            broken_behind_the_end(
                "data: {\"error\": {\"message\": \"no usage\", \"code\": 500}}\n\n",
            )
        },
    ];
    for script in scripts {
        front.says(script);
        for streamed in both(&front) {
            let text = streamed.text();
            says!(text => "Ida", "\"finish_reason\":\"stop\"", "[DONE]");
            assert!(!text.contains("\"error\""), "{text}");
        }
    }
}

fn broken_behind_the_end(rest: &str) -> Reply {
    let word = event(&json!({"content": "Ida"}), &Value::Null);
    let end = event(&json!({}), &json!("stop"));
    let stream = format!("data: {word}\n\ndata: {end}\n\n{rest}");
    Reply::text(200, "text/event-stream", &stream)
}

/// The last request for an answer.
fn last(front: &Front) -> Value {
    let requests = front.upstream.requests("completions");
    requests.last().unwrap().body.clone()
}

#[test]
fn a_stream_is_counted_whatever_its_client_says() {
    fn counts(request: &Request) -> Reply {
        if request.body["prompt"] == PASSED {
            let choice = json!({"index": 0, "text": " a time", "finish_reason": "stop"});
            let usage = json!({"prompt_tokens": 2, "completion_tokens": 3, "total_tokens": 5});
            return Reply::events(&[
                json!({"choices": [choice]}),
                json!({"choices": [], "usage": usage}),
            ]);
        }
        Reply::events(&[
            event(&json!({"content": "Ida"}), &Value::Null),
            event(&json!({}), &json!("stop")),
            json!({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 1}}),
        ])
    }
    fn refuses(request: &Request) -> Reply {
        match request.body["stream_options"]["include_usage"] == true {
            true => Reply::refusal(400, "`stream_options` is not supported"),
            false => counts(request),
        }
    }
    for options in [json!(null), json!({}), json!({"include_usage": false})] {
        let front = Front::start(LIMITS);
        front.says(counts);
        let options = json!({"stream_options": options});
        let streamed = chunks(&front.server.post(CHAT, &passed(&options)));
        assert_eq!(
            last(&front)["stream_options"],
            json!({"include_usage": true})
        );
        assert!(streamed.iter().all(|chunk| chunk.get("usage").is_none()));
        let text = json!({"model": "ken", "prompt": PASSED, "stream": true});
        let texts = chunks(
            &front
                .server
                .post("/v1/completions", &extended(text, &options)),
        );
        assert_eq!(
            last(&front)["stream_options"],
            json!({"include_usage": true})
        );
        assert_eq!(texts.len(), 1, "{texts:?}");
        // A server that cannot count gets what the client said.
        front.says(refuses);
        for _ in 0..2 {
            assert_eq!(front.server.post(CHAT, &passed(&options)).status, 200);
            assert_eq!(last(&front)["stream_options"], options["stream_options"]);
        }
    }
}

#[test]
fn a_text_that_is_not_streamed_keeps_its_form() {
    let front = Front::start(LIMITS);
    front.says(|_| {
        let choice = json!({"index": 0, "text": " a time", "finish_reason": "stop"});
        Reply::json(&json!({"object": "text_completion", "choices": [choice]}))
    });
    let body = json!({"model": "ken", "prompt": PASSED, "stream": true});
    let texts = chunks(&front.server.post("/v1/completions", &body));
    has!(texts[0], ["object"]: "text_completion", ["choices"][0]["text"]: " a time");
}

/// A server that continues texts, and converses by a script.
fn continuing(converse: Script) -> (Running, Server) {
    let upstream = Server::start(move |request| match request.path.as_str() {
        "/v1/models" => Reply::json(&json!({"object": "list", "data": [{"id": "tiny"}]})),
        "/v1/completions" => {
            let choice = json!({"index": 0, "text": " Paris", "finish_reason": "stop"});
            Reply::json(&json!({"object": "text_completion", "choices": [choice]}))
        }
        CHAT => converse(request),
        _ => Reply::refusal(404, "Not Found"),
    });
    let model = RemoteModel::connect(Endpoint::new(&upstream.url)).unwrap();
    (Running::over(model, LIMITS, &Keys::default()), upstream)
}

#[test]
fn texts_are_passed_on_where_conversations_are_refused() {
    let scripts: [Script; 2] = [
        |_| Reply::refusal(404, "Not Found"),
        |_| {
            Reply::refusal(
                400,
                "a chat template is needed, since the tokenizer does not define one",
            )
        },
    ];
    for script in scripts {
        let (server, upstream) = continuing(script);
        let full = json!({"ken": {"style": "full"}});
        for _ in 0..2 {
            let answered = server.chat("never", FRANCE, &full);
            assert_eq!(answered.status, 200, "{}", answered.text());
        }
        assert_eq!(upstream.requests("chat/completions").len(), 1);
        let body = json!({"model": "ken", "prompt": PASSED});
        let continued = server.post("/v1/completions", &body);
        assert_eq!(continued.status, 200, "{}", continued.text());
        has!(continued.json(), ["choices"][0]["text"]: " Paris");
    }
}

#[test]
fn a_conversation_that_is_refused_is_not_the_end_of_all() {
    fn filters(request: &Request) -> Reply {
        let messages = request.body["messages"].to_string();
        if messages.contains("forbidden") {
            return Reply::refusal(400, "The prompt was filtered");
        }
        let message = json!({"role": "assistant", "content": "Paris"});
        let choice = json!({"index": 0, "message": message, "finish_reason": "stop"});
        Reply::json(&json!({"choices": [choice]}))
    }
    let (server, upstream) = continuing(filters);
    let full = json!({"ken": {"style": "full"}});
    let refused = server.chat("never", "What is forbidden?", &full);
    refused.refuses(502, "endpoint_status");
    let tools = json!([{"type": "function", "function": {"name": "tide", "parameters": {}}}]);
    let answered = server.chat("never", FRANCE, &json!({"tools": tools}));
    assert_eq!(answered.status, 200, "{}", answered.text());
    let requests = upstream.requests("chat/completions");
    assert_eq!(requests.last().unwrap().body["tools"], tools);
}
