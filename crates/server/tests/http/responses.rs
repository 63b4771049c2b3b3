//! `/v1/responses` as clients of OpenAI's API read it, whole and streamed.

use std::sync::atomic::Ordering;

use ken_server::{Keys, Limits, Scope};
use ken_testing::{TableModel, cases, extended, has};
use serde_json::{Value, json};

use crate::client::{Response, exchange, request};
use crate::fixture::{FOLLOW_UP, LIMITS, OIL, REWRITTEN, Running, facts, grant};

const RESPONSES: &str = "/v1/responses";

fn respond(server: &Running, model: &str, more: &Value) -> Response {
    let body = json!({"model": model, "input": OIL});
    server.post(RESPONSES, &extended(body, more))
}

/// The names of the events of a stream, and their data.
fn named(response: &Response) -> Vec<(String, Value)> {
    assert_eq!(response.header("content-type"), Some("text/event-stream"));
    let text = response.text();
    let events = text.split("\n\n").filter(|event| !event.is_empty());
    let events = events.filter(|event| *event != ": ping").map(|event| {
        let (name, data) = event.split_once('\n').unwrap();
        let name = name.strip_prefix("event: ").unwrap().to_owned();
        let data: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
        assert_eq!(data["type"], name);
        (name, data)
    });
    let events: Vec<_> = events.collect();
    for (place, (_, data)) in events.iter().enumerate() {
        assert_eq!(data["sequence_number"], place);
    }
    events
}

#[test]
fn a_search_is_an_item_of_its_own_and_memory_is_none() {
    let server = Running::start();
    let include = json!({"include": ["file_search_call.results"]});
    let value = respond(&server, "ken/always", &include).json();
    has!(value, ["object"]: "response", ["status"]: "completed");
    let [search, message] = value["output"].as_array().unwrap().as_slice() else {
        panic!("{value}")
    };
    has!(search, ["type"]: "file_search_call", ["queries"]: json!([OIL]));
    has!(search, ["results"][0]["file_id"]: "cars/oil.md");
    assert_eq!(search["results"].as_array().unwrap().len(), 2);
    has!(message, ["type"]: "message", ["role"]: "assistant", ["status"]: "completed");
    let url = "http://localhost/v1/ken/corpora/notes/passages/cars/oil.md%230";
    assert_eq!(
        message["content"],
        json!([{"type": "output_text", "text": "Ida", "logprobs": [], "annotations": [{
            "type": "file_citation", "file_id": "cars/oil.md", "filename": "Notes",
            "index": 3, "start_index": 0, "end_index": 3, "url": url,
        }]}])
    );
    let usage = &value["usage"];
    let tokens = |name: &str| usage[name].as_u64().unwrap();
    assert_eq!(
        tokens("total_tokens"),
        tokens("input_tokens") + tokens("output_tokens")
    );
    has!(value, ["ken"]["route"]: "corpus", ["tools"][0]["vector_store_ids"]: json!(["notes"]));

    let offered = json!({"tools": [{"type": "file_search", "vector_store_ids": []}]});
    let untold = respond(&server, "ken/always", &offered).json();
    has!(untold["output"][0], ["type"]: "file_search_call", ["results"]: Value::Null);
    // Clients that offered no tool get no call of one.
    let plain = respond(&server, "ken/always", &json!({})).json();
    assert_eq!(plain["output"].as_array().unwrap().len(), 1);
    has!(plain, ["output"][0]["type"]: "message", ["ken"]["route"]: "corpus");
    assert!(untold["ken"].get("retrieved").is_none());

    let memory = respond(&server, "ken/never", &json!({"metadata": {"a": "b"}})).json();
    assert_eq!(memory["output"].as_array().unwrap().len(), 1);
    has!(memory, ["output"][0]["content"][0]["text"]: "Bob", ["ken"]["route"]: "self");
    has!(memory, ["metadata"]: json!({"a": "b"}));
}

#[test]
fn a_stream_tells_of_each_item_and_ends_with_the_whole() {
    let server = Running::start();
    let options = json!({"stream": true, "include": ["file_search_call.results"]});
    let response = respond(&server, "ken/always", &options);
    let events = named(&response);
    let names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names.join(" "),
        "response.created response.in_progress response.output_item.added \
         response.file_search_call.in_progress response.file_search_call.searching \
         response.file_search_call.completed response.output_item.done \
         response.output_item.added response.content_part.added response.output_text.delta \
         response.output_text.annotation.added response.output_text.done \
         response.content_part.done response.output_item.done response.completed"
    );
    let last = &events.last().unwrap().1["response"];
    let whole = respond(
        &server,
        "ken/always",
        &json!({"include": options["include"]}),
    )
    .json();
    for (place, item) in last["output"].as_array().unwrap().iter().enumerate() {
        let done = events.iter().filter(|(name, data)| {
            name == "response.output_item.done" && data["output_index"] == place
        });
        let done: Vec<&Value> = done.map(|(_, data)| &data["item"]).collect();
        assert_eq!(done, [item]);
    }
    // Everything but the ids is the same as without a stream.
    has!(last, ["output"][1]["content"]: whole["output"][1]["content"], ["usage"]: whole["usage"]);
    has!(last, ["output"][0]["results"]: whole["output"][0]["results"]);
    assert_eq!(events[0].1["response"]["status"], "in_progress");
    assert_eq!(events[0].1["response"]["output"], json!([]));

    let memory = named(&respond(&server, "ken/never", &json!({"stream": true})));
    assert!(memory.iter().all(|(name, _)| !name.contains("file_search")));
    let texts = memory.iter().filter_map(|(_, data)| data["delta"].as_str());
    assert_eq!(texts.collect::<String>(), "Bob");
}

#[test]
fn tools_and_their_choice_are_obeyed() {
    let server = Running::start();
    let route = |more: Value| {
        let value = respond(&server, "ken/certainty@0.5", &more).json();
        value["ken"]["route"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    assert_eq!(route(json!({})), "self");
    assert_eq!(route(json!({"tool_choice": "required"})), "corpus");
    assert_eq!(
        route(json!({"tool_choice": {"type": "file_search"}})),
        "corpus"
    );
    assert_eq!(
        route(json!({"tool_choice": "required", "ken": {"policy": "never"}})),
        "self"
    );
    let with = |tool: Value| {
        let more = json!({"tools": [tool], "include": ["file_search_call.results"]});
        respond(&server, "ken/always", &more).json()
    };
    let boats = with(json!({"type": "file_search", "vector_store_ids": ["boats"]}));
    assert_eq!(boats["output"][0]["results"][0]["file_id"], "z");
    let old = with(json!({
        "type": "file_search", "vector_store_ids": ["notes"], "max_num_results": 3,
        "filters": {"type": "lt", "key": "year", "value": 2021},
    }));
    assert_eq!(old["output"][0]["results"].as_array().unwrap().len(), 2);
    for (tool, status, code) in cases![
        json!({"type": "web_search"}) => 400, "unsupported_parameter";
        json!({"type": "file_search", "vector_store_ids": ["notes", "nowhere"]}) =>
            404, "unknown_corpus";
        json!({"type": "file_search", "max_num_results": 0}) => 400, "invalid_value";
    ] {
        let refused = respond(&server, "ken", &json!({ "tools": [tool] }));
        refused.refuses(status, code);
    }
}

#[test]
fn parameters_of_chat_completions_are_obeyed_or_refused_by_name() {
    let server = Running::start();
    for (param, value) in cases![
        "max_tokens" => json!(5);
        "max_completion_tokens" => json!(5);
        "response_format" => json!({"type": "json_object"});
        "functions" => json!([]);
        "n" => json!(2);
        "logprobs" => json!(true);
        "frequency_penalty" => json!(0.5);
        "presence_penalty" => json!(-1);
        "logit_bias" => json!({"7": 3});
        "include" => json!(["message.output_text.logprobs"]);
    ] {
        let refused = respond(&server, "ken/never", &json!({param: value}));
        refused.refuses_param(400, "unsupported_parameter", param);
    }
    let wrong = respond(&server, "ken/never", &json!({"stop": 7}));
    wrong.refuses_param(400, "invalid_value", "stop");
    let wrong = respond(&server, "ken/never", &json!({"seed": "x"}));
    wrong.refuses_param(400, "invalid_value", "seed");
    let harmless = json!({
        "n": 1, "logprobs": false, "frequency_penalty": 0, "logit_bias": {}, "max_tokens": null,
        "response_format": {"type": "text"}, "seed": -7, "stop": ["x", "da"],
    });
    let value = respond(&server, "ken/always", &harmless).json();
    let message = value["output"].as_array().unwrap().last().unwrap();
    assert_eq!(message["content"][0]["text"], "I", "{value}");
}

#[test]
fn a_conversation_is_answered_by_its_last_message() {
    let server = Running::start();
    let offered = json!([{"type": "file_search", "vector_store_ids": []}]);
    let first = respond(&server, "ken/always", &json!({ "tools": offered })).json();
    let mut input = vec![json!({"role": "user", "content": OIL})];
    // As clients do: all items of the response go back.
    input.extend(first["output"].as_array().unwrap().iter().cloned());
    input.push(json!({"role": "user", "content": FOLLOW_UP}));
    let value = respond(&server, "ken/always", &json!({ "input": input })).json();
    assert_eq!(value["output"][0]["content"][0]["text"], "May");
}

#[test]
fn a_response_is_kept_and_gone_on_from_also_by_the_next_server() {
    let server = Running::start();
    let first = respond(&server, "ken/always", &json!({"metadata": {"a": "b"}})).json();
    assert_eq!(first["store"], true);
    let path = format!("{RESPONSES}/{}", first["id"].as_str().unwrap());
    assert_eq!(server.get(&path).json(), first);
    let server = server.again();
    assert_eq!(server.get(&path).json(), first);
    let streamed = server.get(&format!("{path}?stream=true"));
    assert_eq!(streamed.code(), "unsupported_parameter");
    let goes_on = |from: &Value, input: &str| {
        let more = json!({"previous_response_id": from["id"], "input": input});
        respond(&server, "ken/always", &more).json()
    };
    let second = goes_on(&first, FOLLOW_UP);
    has!(second, ["output"][0]["content"][0]["text"]: "May", ["ken"]["question"]: REWRITTEN);
    has!(second, ["previous_response_id"]: first["id"]);
    // The conversation is there when the first response is gone.
    let gone = server.delete(&path).json();
    let expected = json!({"id": first["id"], "object": "response", "deleted": true});
    assert_eq!(gone, expected);
    let unknown = server.get(&path);
    unknown.refuses(404, "response_not_found");
    assert_eq!(server.delete(&path).status, 404);
    let third = goes_on(&second, FOLLOW_UP);
    assert_eq!(third["status"], "completed", "{third}");
    let before = json!({"previous_response_id": first["id"]});
    let none = respond(&server, "ken", &before);
    none.refuses_param(400, "previous_response_not_found", "previous_response_id");
    let unkept = respond(&server, "ken/always", &json!({"store": false})).json();
    assert_eq!(unkept["store"], false);
    let unkept = format!("{RESPONSES}/{}", unkept["id"].as_str().unwrap());
    assert_eq!(server.get(&unkept).code(), "response_not_found");
}

#[test]
fn a_streamed_response_is_kept_when_its_last_event_is_there() {
    let server = Running::start();
    let events = named(&respond(&server, "ken/always", &json!({"stream": true})));
    let last = &events.last().unwrap().1["response"];
    let path = format!("{RESPONSES}/{}", last["id"].as_str().unwrap());
    assert_eq!(&server.get(&path).json(), last);
    let more = json!({"previous_response_id": last["id"], "input": FOLLOW_UP, "stream": true});
    let events = named(&respond(&server, "ken/always", &more));
    let last = &events.last().unwrap().1["response"];
    assert_eq!(last["output"][0]["content"][0]["text"], "May");
}

#[test]
fn the_items_of_an_input_are_listed_last_first() {
    let server = Running::start();
    let input = json!([
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": OIL},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Ida"}]},
        {"role": "user", "content": FOLLOW_UP},
    ]);
    let response = respond(&server, "ken/always", &json!({ "input": input })).json();
    let id = response["id"].as_str().unwrap();
    let path = format!("{RESPONSES}/{id}/input_items");
    let listed = server.get(&path).json();
    let items = listed["data"].as_array().unwrap();
    assert_eq!(items.len(), 5, "{listed}");
    has!(items, [2]["id"]: "rs_1");
    has!(items, [0]["content"]: json!([{"type": "input_text", "text": FOLLOW_UP}]));
    let page = server.get(&format!("{path}?limit=2&order=asc")).json();
    assert_eq!(page["data"][0]["role"], "system");
    let after = page["last_id"].as_str().unwrap();
    let rest = server
        .get(&format!("{path}?order=asc&after={after}"))
        .json();
    assert_eq!(rest["data"].as_array().unwrap().len(), 3);
    let whole = respond(&server, "ken/never", &json!({})).json();
    let path = format!("{RESPONSES}/{}/input_items", whole["id"].as_str().unwrap());
    let only = server.get(&path).json()["data"][0].clone();
    has!(only, ["role"]: "user", ["content"][0]["text"]: OIL);
}

#[test]
fn a_key_sees_the_responses_that_came_by_itself() {
    let mut keys = Keys::default();
    let [one, other] = [0, 1].map(|_| keys.make(grant(&[Scope::Ask], None), 0));
    let server = Running::over(TableModel::new(facts()).unwrap(), LIMITS, &keys);
    let by = |key: &str, method: &str, path: &str, body: &Value| {
        let key = format!("Bearer {key}");
        let headers = [("authorization", key.as_str())];
        let request = request(method, path, &headers, &body.to_string());
        exchange(server.address, &request)
    };
    let asked = json!({"model": "ken/always", "input": OIL});
    let response = by(&one, "POST", RESPONSES, &asked).json();
    let path = format!("{RESPONSES}/{}", response["id"].as_str().unwrap());
    let nothing = Value::Null;
    let items = format!("{path}/input_items");
    for (method, path) in [("GET", &path), ("GET", &items), ("DELETE", &path)] {
        assert_eq!(
            by(&other, method, path, &nothing).code(),
            "response_not_found"
        );
    }
    let goes_on =
        json!({"model": "ken", "input": FOLLOW_UP, "previous_response_id": response["id"]});
    let refused = by(&other, "POST", RESPONSES, &goes_on);
    assert_eq!(refused.code(), "previous_response_not_found");
    assert_eq!(by(&one, "POST", RESPONSES, &goes_on).status, 200);
    assert_eq!(by(&one, "DELETE", &path, &nothing).status, 200);
}

#[test]
fn a_server_without_a_folder_keeps_no_responses() {
    let server = Running::read_only();
    let response = respond(&server, "ken/never", &json!({"store": true})).json();
    assert_eq!(response["store"], false);
    let path = format!("{RESPONSES}/{}", response["id"].as_str().unwrap());
    assert_eq!(server.get(&path).code(), "response_not_found");
    let goes_on = json!({"previous_response_id": response["id"]});
    let refused = respond(&server, "ken", &goes_on);
    assert_eq!(refused.code(), "unsupported_parameter");
}

#[test]
fn a_stream_that_fails_before_its_first_word_has_a_status_and_one_that_fails_later_says_so() {
    let model = TableModel::new(facts()).unwrap().context(300);
    let server = Running::over(model, LIMITS, &Keys::default());
    let long = json!({"input": "oil ".repeat(301), "stream": true});
    let refused = respond(&server, "ken/always", &long);
    refused.refuses(400, "context_length_exceeded");
    drop(server);
    let limits = Limits {
        deadline: std::time::Duration::from_millis(200),
        ..LIMITS
    };
    // The passages are found, and then the model never begins.
    let (server, reading) = Running::slow(limits);
    let late = respond(&server, "ken/always", &json!({"stream": true}));
    late.refuses(504, "deadline_exceeded");
    // It begins, and then never ends.
    reading.begins.store(true, Ordering::SeqCst);
    let events = named(&respond(&server, "ken/always", &json!({"stream": true})));
    let [.., (failed, response), (error, last)] = events.as_slice() else {
        panic!("{events:?}")
    };
    assert_eq!(
        (failed.as_str(), error.as_str()),
        ("response.failed", "error")
    );
    assert_eq!(response["response"]["error"]["code"], "deadline_exceeded");
    assert_eq!(last["code"], "deadline_exceeded");
}
