//! What applications want from chat completions beyond an answer, from a model inside ken: several answers, log
//! probabilities, tools.

use std::path::PathBuf;

use ken_testing::{cases, extended, has};
use serde_json::{Value, json};

use crate::completions::chunks;
use crate::documents::with_notes;
use crate::harness::{Ken, argument, generator};
use crate::serve::Serving;

const PATH: &str = "/v1/chat/completions";

fn ask(serving: &Serving, more: &Value) -> Value {
    serving.post(PATH, &body(more))
}

fn streamed(serving: &Serving, more: &Value) -> Vec<Value> {
    let mut body = body(more);
    body["stream"] = json!(true);
    body["stream_options"] = json!({"include_usage": true});
    let (status, streamed) = serving.exchange("POST", PATH, &body.to_string());
    assert_eq!(status, 200, "{streamed}");
    chunks(&streamed)
}

fn body(more: &Value) -> Value {
    let messages =
        json!([{"role": "user", "content": "Who is the keeper of the Orrin lighthouse?"}]);
    let body = json!({"model": "ken", "messages": messages, "max_tokens": 12});
    extended(body, more)
}

#[test]
#[ignore = "needs the models of KEN_TEST_MODELS"]
fn several_answers_come_with_their_log_probabilities() {
    let ken = with_notes();
    let serving = Serving::start(&ken, &["--corpus", "notes=island"]);
    let more =
        json!({"model": "ken/always", "n": 3, "seed": 4, "logprobs": true, "top_logprobs": 2});
    let answer = ask(&serving, &more);
    assert_eq!(answer["ken"]["searches"], 1, "{answer}");
    let choices = answer["choices"].as_array().unwrap();
    assert_eq!(choices.len(), 3);
    assert_ne!(
        choices[0]["message"]["content"],
        choices[1]["message"]["content"]
    );
    let chunks = streamed(&serving, &more);
    let [.., last] = chunks.as_slice() else {
        panic!("{chunks:?}");
    };
    assert_eq!(last["usage"], answer["usage"]);
    for (index, choice) in choices.iter().enumerate() {
        assert_eq!(choice["index"], index);
        let content = choice["message"]["content"].as_str().unwrap();
        let scored = choice["logprobs"]["content"].as_array().unwrap();
        let tokens = scored.iter().map(|token| token["token"].as_str().unwrap());
        assert_eq!(tokens.collect::<String>(), content);
        for token in scored {
            assert_eq!(token["top_logprobs"].as_array().unwrap().len(), 2);
            assert!(token["logprob"].as_f64().unwrap() <= 0.0);
        }
        let own = chunks.iter().map(|chunk| &chunk["choices"][0]);
        let own: Vec<&Value> = own.filter(|choice| choice["index"] == index).collect();
        let pieces = own
            .iter()
            .filter_map(|choice| choice["delta"]["content"].as_str());
        assert_eq!(pieces.collect::<String>(), content);
        let told = own
            .iter()
            .filter_map(|choice| choice["logprobs"]["content"].as_array());
        assert_eq!(&told.flatten().cloned().collect::<Vec<_>>(), scored);
        has!(own.last().unwrap(), ["finish_reason"]: choice["finish_reason"]);
    }
}

/// The model with a chat template that offers tools.
fn with_tools(ken: &Ken) -> PathBuf {
    const TEMPLATE: &str = "{% for t in tools or [] %}<tool_call>: {{ t | tojson }}\n{% endfor %}{% for m in messages %}\
<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}\
{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";
    let mut model = std::fs::read(generator()).unwrap();
    let find = |model: &[u8], text: &str| {
        let mut windows = model.windows(text.len());
        windows
            .position(|window| window == text.as_bytes())
            .unwrap()
    };
    let key = "tokenizer.chat_template";
    // The key is followed by a type and the length of the text.
    let start = find(&model, key) + key.len() + 4;
    let length = u64::from_le_bytes(model[start..start + 8].try_into().unwrap());
    let length = usize::try_from(length).unwrap();
    let comment = format!("{{#{}#}}", " ".repeat(length - TEMPLATE.len() - 4));
    model[start + 8..start + 8 + length].copy_from_slice(format!("{TEMPLATE}{comment}").as_bytes());
    let path = ken.path("tools.gguf");
    std::fs::write(&path, model).unwrap();
    path
}

fn tools() -> Value {
    let function = |name: &str, parameters: Value| json!({"type": "function", "function": {"name": name, "parameters": parameters}});
    let city = json!({"$ref": "#/$defs/City"});
    json!([
        function(
            "weather",
            json!({
                "type": "object",
                "$defs": {"City": {"type": "string", "enum": ["Oslo", "Bergen"]}},
                "properties": {"city": city, "days": {"type": "integer", "minimum": 1, "maximum": 9}},
                "required": ["city", "days"],
                "additionalProperties": false,
            })
        ),
        function(
            "stop",
            json!({"type": "object", "properties": {}, "additionalProperties": false})
        ),
    ])
}

/// Checks that a call is one of the weather.
fn check_call(call: &Value) {
    assert_eq!(call["type"], "function", "{call}");
    assert!(call["id"].as_str().unwrap().starts_with("call_"));
    assert_eq!(call["function"]["name"], "weather");
    let arguments = call["function"]["arguments"].as_str().unwrap();
    let arguments: Value = serde_json::from_str(arguments).unwrap();
    assert!(
        ["Oslo", "Bergen"]
            .map(Value::from)
            .contains(&arguments["city"])
    );
    assert!((1..=9).contains(&arguments["days"].as_i64().unwrap()));
}

#[test]
#[ignore = "needs the models of KEN_TEST_MODELS"]
fn a_model_that_has_to_calls_a_tool_as_it_is_described() {
    let ken = Ken::new();
    let model = with_tools(&ken);
    let serving = Serving::start(&ken, &["--policy", "never", "--model", argument(&model)]);
    let named = json!({"type": "function", "function": {"name": "weather"}});
    let more = json!({"tools": tools(), "tool_choice": named, "max_tokens": 60});
    let answer = ask(&serving, &more);
    let choice = &answer["choices"][0];
    assert_eq!(choice["finish_reason"], "tool_calls", "{answer}");
    assert_eq!(choice["message"]["content"], Value::Null);
    check_call(&choice["message"]["tool_calls"][0]);
    let chunks = streamed(&serving, &more);
    let deltas = chunks.iter().map(|chunk| &chunk["choices"][0]["delta"]);
    let calls: Vec<&Value> = deltas.filter_map(|delta| delta.get("tool_calls")).collect();
    assert_eq!((calls.len(), &calls[0][0]["index"]), (1, &json!(0)));
    check_call(&calls[0][0]);
    let mut reasons = chunks
        .iter()
        .map(|chunk| &chunk["choices"][0]["finish_reason"]);
    assert!(reasons.any(|reason| reason == "tool_calls"), "{chunks:?}");

    let any = json!({"tools": tools(), "tool_choice": "required", "max_tokens": 60});
    has!(ask(&serving, &any), ["choices"][0]["finish_reason"]: "tool_calls");
    let mut none = any.clone();
    none["tool_choice"] = json!("none");
    let answer = ask(&serving, &none);
    assert_eq!(answer["choices"][0]["message"].get("tool_calls"), None);

    // The model reads what a tool returned.
    let returned = |text: &str| {
        let call = json!({"id": "1", "type": "function", "function": {"name": "weather", "arguments": "{}"}});
        let messages = json!([
            {"role": "user", "content": "How cold is it in Oslo?"},
            {"role": "assistant", "content": null, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "1", "content": text},
        ]);
        let more = json!({"messages": messages, "tools": tools(), "logprobs": true});
        let answer = ask(&serving, &more);
        answer["usage"]["prompt_tokens"].as_u64().unwrap()
    };
    assert!(returned("cold, and then again a little warmer") > returned("cold"));
}

#[test]
#[ignore = "needs the models of KEN_TEST_MODELS"]
fn a_model_without_tools_is_offered_none() {
    let ken = Ken::new();
    let serving = Serving::start(&ken, &["--policy", "never"]);
    let offered = ask(&serving, &json!({"tools": tools()}));
    assert_eq!(offered["ken"]["not_used"], json!(["tools"]));
    for (more, param) in cases![
        json!({"tools": tools(), "tool_choice": "required"}) => "tool_choice";
        json!({"n": 2, "presence_penalty": 1}) => "presence_penalty";
        json!({"n": 0}) => "n";
        json!({"logprobs": true, "top_logprobs": 21}) => "top_logprobs";
        json!({"n": 2, "tools": tools(), "tool_choice": "required"}) => "tool_choice";
    ] {
        serving.refuses(PATH, &body(&more), 400, ["param", param]);
    }
}

#[test]
#[ignore = "needs the models of KEN_TEST_MODELS"]
fn an_instruction_is_read_by_the_chat_template_whatever_the_size_of_the_model() {
    let ken = Ken::new();
    let serving = Serving::start(&ken, &["--policy", "never"]);
    let messages = json!([
        {"role": "system", "content": "You answer for the harbor office, in a few words."},
        {"role": "user", "content": "At which berth is the Marigold?"},
    ]);
    let read = |more: Value| {
        let mut asked = more;
        asked["messages"] = messages.clone();
        let answer = ask(&serving, &asked);
        let message = &answer["choices"][0]["message"];
        assert_ne!(message["content"].as_str().unwrap(), "", "{answer}");
        answer["usage"]["prompt_tokens"].clone()
    };
    // The second one is rendered by the template in any case.
    assert_eq!(read(json!({})), read(json!({"logprobs": true})));
}
