//! Agents, by the Model Context Protocol: over HTTP, and line by line.

use std::sync::{Arc, Mutex};

use ken_server::{Access, Agent, Keys, Scope};
use ken_testing::{TableModel, cases, has, says};
use serde_json::{Value, json};

use crate::client::run_python;
use crate::fixture::{FRANCE, LIMITS, OIL, Running, facts, grant, served, wait_for};
use crate::library::ingested;
use crate::slow_model::{Reading, SlowModel};

fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn call(server: &Running, tool: &str, arguments: &Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    let response = server.post("/mcp", &request(1, "tools/call", &params));
    assert_eq!(response.status, 200);
    response.json()["result"].clone()
}

#[test]
fn tools_are_described_and_return_what_they_say() {
    let server = Running::start();
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let welcome = server
        .post("/mcp", &request(1, "initialize", &params))
        .json();
    assert_eq!(welcome["result"]["protocolVersion"], "2025-06-18");
    assert!(welcome["result"]["serverInfo"]["title"].is_string());
    let begun = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(server.post("/mcp", &begun).status, 202);
    let listed = server
        .post("/mcp", &request(2, "tools/list", &json!({})))
        .json();
    let tools = listed["result"]["tools"].as_array().unwrap();
    let names: Vec<&Value> = tools.iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["search", "fetch", "ask", "knows"]);
    for tool in tools {
        has!(tool, ["inputSchema"]["type"]: "object", ["outputSchema"]["type"]: "object");
        assert!(tool["title"].is_string(), "{tool}");
        for (name, schema) in tool["inputSchema"]["properties"].as_object().unwrap() {
            assert!(schema["type"].is_string(), "{name}: {schema}");
        }
        assert!(
            tool["inputSchema"]["properties"]["max_tokens"].is_object(),
            "{tool}"
        );
    }

    let results = call(
        &server,
        "search",
        &json!({"query": "who changes the oil", "k": 1}),
    );
    let structure = &results["structuredContent"];
    let text: Value =
        serde_json::from_str(results["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(&text, structure);
    let first = &structure["results"][0];
    assert_eq!(first["id"], "notes/cars/oil.md#0");
    let fetched = call(&server, "fetch", &json!({"id": first["id"]}));
    let fetched = &fetched["structuredContent"];
    has!(fetched, ["title"]: "Notes", ["url"]: first["url"], ["text"]: first["text"]);
    let short = call(
        &server,
        "fetch",
        &json!({"id": first["id"], "max_tokens": 3}),
    );
    assert_eq!(short["structuredContent"]["text"], "The oil of");
    let bare = call(&server, "search", &json!({"query": "oil", "max_tokens": 1}));
    assert!(
        bare["structuredContent"]["results"][0]
            .get("text")
            .is_none()
    );

    // Some clients send every argument as text.
    let arguments = json!({"query": "oil", "k": "1", "max_tokens": "1"});
    assert_eq!(
        call(&server, "search", &arguments)["structuredContent"]["results"],
        json!([bare["structuredContent"]["results"][0]])
    );

    let answer = call(&server, "ask", &json!({"question": OIL, "max_tokens": 9}));
    assert_eq!(answer["structuredContent"]["answer"], "Ida");
    let knows = call(
        &server,
        "knows",
        &json!({"question": FRANCE, "policy": "certainty@0.5"}),
    );
    assert_eq!(knows["structuredContent"]["retrieves"], false);
}

#[test]
fn what_goes_wrong_is_told_to_the_model_or_to_the_client() {
    let server = Running::start();
    for (tool, arguments, expected) in cases![
        "search" => json!({"query": "oil", "corpus": "none"}), "unknown_corpus";
        "search" => json!({"q": "oil"}), "invalid_value: `q`: unknown field";
        "search" => json!({"query": "oil", "k": "many"}), "invalid_value: `k`: ";
        "search" => Value::Null, "invalid_value: `query`: missing field";
        "fetch" => json!({"id": "oil"}), "invalid_value";
        "fetch" => json!({"id": "notes/none#0"}), "unknown_passage";
        "ask" => json!({"question": ""}), "empty_question";
        "knows" => json!({"question": "x", "policy": "never"}), "policy_without_signal";
    ] {
        let result = call(&server, tool, &arguments);
        assert_eq!(result["isError"], true, "{tool} {arguments}");
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.starts_with(expected), "{text}");
    }
    for (body, code) in [
        (request(1, "tools/call", &json!({"name": "rm"})), -32602),
        (request(1, "prompts/list", &json!({})), -32601),
        (json!([]), -32600),
        (json!({"id": 1}), -32600),
    ] {
        let response = server.post("/mcp", &body);
        assert_eq!(response.json()["error"]["code"], code, "{body}");
    }
    let unknown = server.post("/mcp", &request(1, "tools/call", &json!({"name": "rm"})));
    says!(unknown.text() => "unknown_tool", "tools/list");
}

/// The response to a request.
fn asked(server: &Running, method: &str, params: &Value) -> Value {
    server.post("/mcp", &request(1, method, params)).json()
}

#[test]
fn documents_are_resources() {
    let server = Running::start();
    let welcome = asked(&server, "initialize", &json!({}));
    assert!(welcome["result"]["capabilities"]["resources"].is_object());
    let templates = asked(&server, "resources/templates/list", &json!({}));
    let template = &templates["result"]["resourceTemplates"][0]["uriTemplate"];
    assert_eq!(template, "ken:{corpus}/{document}");

    // A page is of one corpus.
    let first = asked(&server, "resources/list", &json!({}))["result"].clone();
    let resources = first["resources"].as_array().unwrap();
    let mut names: Vec<&str> = resources
        .iter()
        .map(|resource| resource["name"].as_str().unwrap())
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["cars/oil.md", "cars/tires.md", "house.md"]);
    for resource in resources {
        has!(resource, ["mimeType"]: "text/plain", ["title"]: "Notes");
        let uri = format!("ken:notes/{}", resource["name"].as_str().unwrap());
        assert_eq!(resource["uri"], uri);
    }
    let next = json!({"cursor": first["nextCursor"]});
    let last = asked(&server, "resources/list", &next)["result"].clone();
    let uri = &last["resources"][0]["uri"];
    assert_eq!((uri, last.get("nextCursor")), (&json!("ken:boats/z"), None));

    let fetched = call(&server, "fetch", &json!({"id": "notes/cars/oil.md#0"}));
    let text = &fetched["structuredContent"]["text"];
    for uri in ["ken:notes/cars/oil.md", "ken:notes/cars%2Foil.md%230"] {
        let read = asked(&server, "resources/read", &json!({"uri": uri}));
        let contents = &read["result"]["contents"][0];
        has!(contents, ["uri"]: uri, ["mimeType"]: "text/plain", ["text"]: text);
    }
    for (method, params, code) in cases![
        "resources/read" => json!({"uri": "ken:notes/none.md"}), -32002;
        "resources/read" => json!({"uri": "ken:none/house.md"}), -32002;
        "resources/read" => json!({"uri": "file:///house.md"}), -32002;
        "resources/read" => json!({"uri": "ken:notes/house.md", "cursor": "z"}), -32602;
        "resources/read" => json!({}), -32602;
        "resources/list" => json!({"cursor": "ken:none/"}), -32602;
        "resources/list" => json!({"cursor": "ken:notes/none.md"}), -32602;
        "resources/list" => json!({"cursor": "house.md"}), -32602;
        "resources/list" => json!({"cursor": 7}), -32602;
    ] {
        let refused = asked(&server, method, &params);
        assert_eq!(refused["error"]["code"], code, "{method} {params}");
    }
}

#[test]
fn a_long_document_is_read_page_by_page_without_what_is_left_out() {
    let server = Running::start();
    let sentence = "is planted in November and watered. ".repeat(30);
    let parts = (0..300).map(|n| format!("## Part {n}\n\nThe tulip number {n} {sentence}\n\n"));
    let text: String = parts.collect();
    ingested(&server, "notes", "tulips.md", &text);
    let left_out = json!({"passages": [{"passage_id": "tulips.md#0"}]});
    server.post("/v1/ken/corpora/notes/prune", &left_out);
    let (mut texts, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let params = json!({"uri": "ken:notes/tulips.md", "cursor": cursor});
        let read = asked(&server, "resources/read", &params)["result"].clone();
        let text = read["contents"][0]["text"].as_str().unwrap();
        texts.push(text.to_owned());
        cursor = read["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert!(texts.len() > 1, "{}", texts.len());
    let whole = texts.concat();
    assert!(!whole.contains("tulip number 0 "));
    for n in [100, 200, 299] {
        assert!(whole.contains(&format!("tulip number {n} ")), "{n}");
    }
}

#[test]
fn resources_need_what_the_routes_of_documents_need() {
    let mut keys = Keys::default();
    let asks = keys.make(grant(&[Scope::Ask], None), 0);
    let boats = keys.make(grant(&[Scope::Search], Some(&["boats"])), 0);
    let server = Running::over(TableModel::new(facts()).unwrap(), LIMITS, &keys);
    let asked = |key: &str, method: &str, params: &Value| {
        let authorization = format!("Bearer {key}");
        let headers = [("authorization", authorization.as_str())];
        let response = server.post_as(&headers, "/mcp", &request(1, method, params));
        response.json()
    };
    let listed = asked(&boats, "resources/list", &json!({}));
    assert_eq!(listed["result"]["resources"].as_array().unwrap().len(), 1);
    for (key, method, params) in [
        (&asks, "resources/list", json!({})),
        (
            &asks,
            "resources/read",
            json!({"uri": "ken:notes/house.md"}),
        ),
        (
            &boats,
            "resources/read",
            json!({"uri": "ken:notes/house.md"}),
        ),
    ] {
        let refused = asked(key, method, &params);
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(message.starts_with("insufficient_scope: "), "{message}");
    }
    let elsewhere = asked(&boats, "resources/list", &json!({"cursor": "ken:notes/"}));
    assert_eq!(elsewhere["error"]["code"], -32602, "{elsewhere}");
}

#[test]
fn batches_versions_and_responses_are_taken_as_the_protocol_says() {
    let server = Running::start();
    let ping = |id| request(id, "ping", &json!({}));
    let begun = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let batch = server.post("/mcp", &json!([ping(1), begun, ping(2), 7]));
    let ids: Vec<Value> = batch
        .json()
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| hit["id"].clone())
        .collect();
    assert_eq!(
        (batch.status, ids),
        (200, vec![json!(1), json!(2), Value::Null])
    );
    assert_eq!(server.post("/mcp", &json!([begun])).status, 202);
    let failed = json!({"jsonrpc": "2.0", "id": 9, "error": {"code": 1, "message": "x"}});
    assert_eq!(server.post("/mcp", &failed).status, 202);
    let with = |version| server.post_as(&[("mcp-protocol-version", version)], "/mcp", &ping(1));
    assert_eq!(
        [with("2025-06-18").status, with("1900-01-01").status],
        [200, 400]
    );
    let message = with("1900-01-01").json()["error"]["message"].to_string();
    assert!(message.contains("2025-11-25"), "{message}");
}

#[test]
fn schemas_name_no_formats_and_their_integers_are_those_of_json() {
    let server = Running::start();
    let listed = server.post("/mcp", &request(1, "tools/list", &json!({})));
    assert!(!listed.text().contains("\"format\""), "{}", listed.text());
    let results = call(
        &server,
        "search",
        &json!({"query": "oil", "k": 1.0, "max_tokens": 1e3}),
    );
    assert_eq!(
        results["structuredContent"]["results"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    let refused = call(&server, "search", &json!({"query": "oil", "k": 1.5}));
    assert_eq!(refused["isError"], true);
}

/// The steps that were reported to a client under a token.
fn steps(messages: &[Value], token: &Value) -> Vec<u64> {
    let progress = messages
        .iter()
        .filter(|event| event["method"] == "notifications/progress")
        .inspect(|event| assert_eq!(&event["params"]["progressToken"], token));
    progress
        .map(|event| event["params"]["progress"].as_u64().unwrap())
        .collect()
}

#[test]
fn a_call_with_a_token_tells_of_its_progress_as_events() {
    let server = Running::start();
    let params =
        json!({"name": "ask", "arguments": {"question": OIL}, "_meta": {"progressToken": 7}});
    let message = request(1, "tools/call", &params);
    let accept = [("accept", "application/json, text/event-stream")];
    let response = server.post_as(&accept, "/mcp", &message);
    assert_eq!(response.header("content-type"), Some("text/event-stream"));
    let text = response.text();
    let events: Vec<Value> = text
        .split("\n\n")
        .filter_map(|event| event.strip_prefix("data: "))
        .map(|data| serde_json::from_str(data).unwrap())
        .collect();
    let (last, told) = events.split_last().unwrap();
    assert_eq!(last["result"]["structuredContent"]["answer"], "Ida");
    assert_eq!(steps(told, &json!(7)), [1, 2, 3]);
    // A client that reads no events, or wants no progress, gets only the response.
    let plain = server.post("/mcp", &message).json();
    assert_eq!(plain["result"]["structuredContent"]["answer"], "Ida");
    let params = json!({"name": "ask", "arguments": {"question": OIL}});
    let response = server.post_as(&accept, "/mcp", &request(1, "tools/call", &params));
    assert_eq!(response.header("content-type"), Some("application/json"));
}

#[test]
fn the_official_client_is_told_of_progress_over_http() {
    let server = Running::start();
    let url = format!("http://{}/mcp", server.address);
    run_python("mcp", "mcp_progress.py", &url);
}

#[test]
fn the_entry_of_the_registry_is_of_this_version_and_starts_the_agents_server() {
    let text = include_str!("../../../../packaging/server.json");
    let entry: Value = serde_json::from_str(text).unwrap();
    assert_eq!(entry["version"], env!("CARGO_PKG_VERSION"));
    let [package] = entry["packages"].as_array().unwrap().as_slice() else {
        panic!("{entry}")
    };
    has!(package, ["identifier"]: "ken-rag", ["version"]: entry["version"]);
    let arguments = package["packageArguments"].as_array().unwrap().iter();
    let values: Vec<&Value> = arguments.map(|argument| &argument["value"]).collect();
    assert_eq!(values, [&json!("serve"), &json!("mcp"), &Value::Null]);
    let (space, name) = entry["name"].as_str().unwrap().split_once('/').unwrap();
    assert!(space.starts_with("io.github.") && name == "ken");
    assert!(entry["description"].as_str().unwrap().len() <= 100);
}

/// What an agent hears of lines that it sends before it closes its end.
fn heard_at_the_end(lines: &[Value]) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    let table = TableModel::new(facts()).unwrap();
    let served = served(&folder, table, LIMITS, Arc::default());
    let access = Access::open(folder.path().join("none.json")).unwrap();
    let said: Arc<Mutex<Vec<Value>>> = Arc::default();
    let heard = Arc::clone(&said);
    let agent = Agent::new(served, access, move |line| {
        let message = serde_json::from_str(line).unwrap();
        heard.lock().unwrap().push(message);
    })
    .unwrap();
    for line in lines {
        agent.take(line.to_string().as_bytes());
    }
    agent.finish();
    let heard = said.lock().unwrap();
    heard.clone()
}

#[test]
fn all_that_was_sent_before_the_end_has_its_response() {
    let ask = json!({"name": "ask", "arguments": {"question": OIL}});
    let asked: Vec<Value> = (0..20).map(|id| request(id, "tools/call", &ask)).collect();
    let said = heard_at_the_end(&asked);
    for id in 0..20 {
        assert!(said.iter().any(|message| message["id"] == id), "{id}");
    }
}

#[test]
fn the_responses_to_a_batch_are_one_line() {
    let ping = |id: u64| request(id, "ping", &json!({}));
    let notice = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let said = heard_at_the_end(&[json!([ping(1), notice, ping(2), 7]), json!([notice])]);
    let [responses] = said.as_slice() else {
        panic!("{said:?}")
    };
    let responses = responses.as_array().unwrap();
    let has = |id: Value| responses.iter().any(|response| response["id"] == id);
    assert!(has(json!(1)) && has(json!(2)) && has(Value::Null));
    assert_eq!(responses.len(), 3);
}

#[test]
fn lines_are_served_at_once_and_can_be_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    let reading = Arc::new(Reading::default());
    let model = SlowModel {
        table: TableModel::new(facts()).unwrap(),
        reading: Arc::clone(&reading),
    };
    let served = served(&folder, model, LIMITS, Arc::default());
    let access = Access::open(folder.path().join("none.json")).unwrap();
    let said: Arc<Mutex<Vec<Value>>> = Arc::default();
    let heard = Arc::clone(&said);
    let agent = Agent::new(served, access, move |line| {
        heard
            .lock()
            .unwrap()
            .push(serde_json::from_str(line).unwrap());
    })
    .unwrap();
    let ask = json!({"name": "ask", "arguments": {"question": OIL}});
    agent.take(request(1, "tools/call", &ask).to_string().as_bytes());
    agent.take(request(2, "ping", &json!({})).to_string().as_bytes());
    agent.take(b"{ \xff");
    agent.take(b" ");
    let has = |id: Value| {
        said.lock()
            .unwrap()
            .iter()
            .any(|message| message["id"] == id)
    };
    wait_for("the ping is answered before the question", || {
        has(json!(2)) && has(Value::Null)
    });
    agent.refuse_long();
    let last = said.lock().unwrap().last().cloned().unwrap();
    let message = last["error"]["message"].as_str().unwrap();
    assert_eq!(message, "the message has more than 4194304 bytes");
    let now = || reading.now.load(std::sync::atomic::Ordering::SeqCst);
    wait_for("the question is read", || now() == 1);
    let cancel = json!({"method": "notifications/cancelled", "params": {"requestId": 1}});
    agent.take(cancel.to_string().as_bytes());
    wait_for("it is cancelled", || now() == 0);
    reading
        .released
        .store(true, std::sync::atomic::Ordering::SeqCst);
    let mut told = ask;
    told["_meta"] = json!({"progressToken": "third"});
    agent.take(request(3, "tools/call", &told).to_string().as_bytes());
    agent.finish();
    let all = said.lock().unwrap().clone();
    assert_eq!(steps(&all, &json!("third")), [1, 2, 3]);
    assert_eq!(all.last().unwrap()["id"], 3);
    assert!(has(json!(3)) && !has(json!(1)));
}
