//! Parses requests for chat completions.

use ken_language::{GenerateOptions, LogprobOptions, OutputSchema, Sampling};
use serde_json::{Map, Value, json};

use crate::decoder::error::DecoderError;

/// The default limit of an answer, in tokens.
const MOST_TOKENS: usize = 1024;

/// The most answers to one request.
const MOST_ANSWERS: u64 = 128;

/// The most tokens that are listed at each position.
const MOST_TOP: u64 = 20;

/// Whether and which tool the model must call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Choice {
    /// It may call one, or answer.
    Free,
    /// It must call one of them.
    Any,
    /// It must call the one of this name.
    Named(String),
}

/// A parsed request.
#[derive(Debug)]
pub(super) struct ChatRequest {
    pub(super) model: String,
    /// The conversation as a chat template takes it: each text as one string, arguments of calls as objects.
    pub(super) messages: Vec<Value>,
    /// The tools that the model may call; empty if it must not call any.
    pub(super) tools: Vec<Value>,
    pub(super) choice: Choice,
    /// The most calls of one answer.
    pub(super) most_calls: usize,
    pub(super) samples: usize,
    pub(super) logprobs: Option<LogprobOptions>,
    pub(super) options: GenerateOptions,
    pub(super) is_stream: bool,
}

impl ChatRequest {
    /// # Errors
    /// A parameter that is missing, of another type or out of range.
    pub(super) fn read(request: &Map<String, Value>) -> Result<Self, DecoderError> {
        let given = |name: &str| request.get(name).filter(|value| !value.is_null());
        let listed = |name: &str| given(name).and_then(Value::as_array).cloned();
        let choice = choice(given("tool_choice"))?;
        let mut tools = listed("tools").unwrap_or_default();
        if choice.is_none() {
            tools.clear();
        }
        let choice = choice.unwrap_or(Choice::Free);
        if let Choice::Named(name) = &choice {
            tools.retain(|tool| name_of(tool) == Some(name));
        }
        if tools.is_empty() && choice != Choice::Free {
            return Err(wrong("tool_choice", "there is no such tool"));
        }
        if tools.iter().any(|tool| name_of(tool).is_none()) {
            return Err(wrong("tools", "a tool is a function with a name"));
        }
        let schema = given("response_format").map(OutputSchema::of_format);
        let schema = schema.transpose().map(Option::flatten);
        let schema = schema.map_err(|error| wrong("response_format", &error.to_string()))?;
        if schema.is_some() && !tools.is_empty() {
            let message = "the model either calls tools or keeps to a format";
            return Err(wrong("response_format", message));
        }
        let samples = whole(given("n"), "n", 1, MOST_ANSWERS)?.unwrap_or(1);
        let most = given("max_completion_tokens").or(given("max_tokens"));
        let most = whole(most, "max_completion_tokens", 1, u64::MAX)?;
        let messages = listed("messages").unwrap_or_default();
        let messages = messages
            .into_iter()
            .map(message)
            .collect::<Result<_, _>>()?;
        Ok(Self {
            model: given("model")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
            messages,
            tools,
            choice,
            most_calls: match given("parallel_tool_calls") {
                Some(Value::Bool(false)) => 1,
                _ => usize::MAX,
            },
            samples,
            logprobs: logprobs(given("logprobs"), given("top_logprobs"))?,
            options: GenerateOptions {
                sampling: sampling(&given, samples)?,
                max_tokens: most.unwrap_or(MOST_TOKENS),
                stop: stop(given("stop")),
                schema,
            },
            is_stream: given("stream") == Some(&Value::Bool(true)),
        })
    }
}

/// Which tool the model must call; `None` if it may call none.
fn choice(mode: Option<&Value>) -> Result<Option<Choice>, DecoderError> {
    match mode {
        None => Ok(Some(Choice::Free)),
        Some(Value::String(mode)) => match mode.as_str() {
            "auto" => Ok(Some(Choice::Free)),
            "required" => Ok(Some(Choice::Any)),
            "none" => Ok(None),
            _ => {
                let message = "it must be `auto`, `required` or `none`, or name a function";
                Err(wrong("tool_choice", message))
            }
        },
        Some(named) => {
            let name = named.pointer("/function/name").and_then(Value::as_str);
            let name = name.ok_or_else(|| wrong("tool_choice", "it names no function"))?;
            Ok(Some(Choice::Named(name.to_owned())))
        }
    }
}

/// The name of a tool.
pub(super) fn name_of(tool: &Value) -> Option<&str> {
    tool.pointer("/function/name").and_then(Value::as_str)
}

fn wrong(param: &'static str, reason: &str) -> DecoderError {
    DecoderError::InvalidValue {
        param,
        reason: reason.to_owned(),
    }
}

fn whole(
    value: Option<&Value>,
    param: &'static str,
    least: u64,
    most: u64,
) -> Result<Option<usize>, DecoderError> {
    let Some(value) = value else {
        return Ok(None);
    };
    match value
        .as_u64()
        .filter(|number| (least..=most).contains(number))
    {
        Some(number) => Ok(Some(usize::try_from(number).unwrap_or(usize::MAX))),
        None => Err(wrong(
            param,
            &format!("it must be a whole number from {least} to {most}"),
        )),
    }
}

fn logprobs(
    wanted: Option<&Value>,
    top: Option<&Value>,
) -> Result<Option<LogprobOptions>, DecoderError> {
    let top = whole(top, "top_logprobs", 0, MOST_TOP)?.unwrap_or(0);
    match (wanted, top) {
        (Some(Value::Bool(true)), top) => Ok(Some(LogprobOptions { top, prompt: false })),
        (None | Some(Value::Bool(false)), 0) => Ok(None),
        (None | Some(Value::Bool(false)), _) => Err(wrong("top_logprobs", "it needs `logprobs`")),
        _ => Err(wrong("logprobs", "it must be true or false")),
    }
}

/// Greedy, as ken's own answers are, unless a temperature is given. Several equal answers are useless, so these are
/// sampled.
fn sampling<'v>(
    given: &impl Fn(&str) -> Option<&'v Value>,
    samples: usize,
) -> Result<Sampling, DecoderError> {
    let number = |param: &'static str, most: f64| match given(param) {
        None => Ok(None),
        Some(value) => {
            let number = value
                .as_f64()
                .filter(|number| (0.0..=most).contains(number));
            let message = format!("it must be a number from 0 to {most}");
            number.map(Some).ok_or_else(|| wrong(param, &message))
        }
    };
    let usual = if samples > 1 { 1.0 } else { 0.0 };
    let temperature = number("temperature", 2.0)?.unwrap_or(usual);
    let top_p = number("top_p", 1.0)?.map(|share| share as f32);
    let signed = |seed: &Value| seed.as_i64().map(|seed| seed as u64);
    let seed = given("seed").and_then(|seed| seed.as_u64().or_else(|| signed(seed)));
    let seed = seed.unwrap_or_default();
    let mut sampling = Sampling::at(temperature as f32, seed);
    if let Sampling::Random { top_p: own, .. } = &mut sampling {
        *own = top_p;
    }
    Ok(match top_p {
        Some(0.0) => Sampling::Greedy,
        _ => sampling,
    })
}

fn stop(stop: Option<&Value>) -> Vec<String> {
    let texts = match stop {
        Some(Value::Array(texts)) => texts.as_slice(),
        Some(text) => std::slice::from_ref(text),
        None => &[],
    };
    texts
        .iter()
        .filter_map(|text| text.as_str().map(str::to_owned))
        .collect()
}

/// A message as a chat template takes it.
///
/// # Errors
/// Parts that are not text.
fn message(message: Value) -> Result<Value, DecoderError> {
    let Value::Object(mut message) = message else {
        return Err(wrong("messages", "a message is an object"));
    };
    let role = match message.get("role").and_then(Value::as_str) {
        Some("developer") => "system",
        Some("function") => "tool",
        Some(role) => role,
        None => return Err(wrong("messages", "a message has no role")),
    };
    let role = json!(role);
    message.insert("role".to_owned(), role);
    let content = match message.remove("content") {
        Some(Value::String(text)) => text,
        Some(Value::Array(parts)) => {
            let texts = parts
                .iter()
                .map(|part| part["text"].as_str().or(part["refusal"].as_str()));
            let texts: Option<Vec<&str>> = texts.collect();
            let texts = texts.ok_or_else(|| wrong("messages", "the model reads text only"))?;
            texts.join("\n")
        }
        _ => String::new(),
    };
    message.insert("content".to_owned(), json!(content));
    let calls = message.get_mut("tool_calls").and_then(Value::as_array_mut);
    for call in calls.into_iter().flatten() {
        if let Some(arguments) = call.pointer_mut("/function/arguments")
            && let Some(read) = arguments
                .as_str()
                .and_then(|text| serde_json::from_str(text).ok())
        {
            *arguments = read;
        }
    }
    Ok(Value::Object(message))
}

#[cfg(test)]
mod tests {
    use ken_testing::{cases, has};

    use super::*;

    fn read(request: Value) -> Result<ChatRequest, DecoderError> {
        let mut request = request;
        if request.get("messages").is_none() {
            request["messages"] = json!([{"role": "user", "content": "hi"}]);
        }
        ChatRequest::read(request.as_object().unwrap())
    }

    fn refused(request: Value) -> &'static str {
        match read(request) {
            Err(DecoderError::InvalidValue { param, .. }) => param,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn messages_are_made_plain() {
        let call = json!({"id": "1", "type": "function", "function": {"name": "f", "arguments": "{\"x\": 1}"}});
        let request = read(json!({"messages": [
            {"role": "developer", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
            {"role": "assistant", "content": null, "tool_calls": [call]},
            {"role": "tool", "content": "4", "tool_call_id": "1"},
            {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]},
        ]}))
        .unwrap();
        let messages = request.messages;
        assert_eq!(messages[3]["content"], "no");
        assert_eq!(messages[0], json!({"role": "system", "content": "a\nb"}));
        assert_eq!(messages[1]["content"], "");
        assert_eq!(
            messages[1]["tool_calls"][0]["function"]["arguments"],
            json!({"x": 1})
        );
        assert_eq!(messages[2]["role"], "tool");
    }

    #[test]
    fn tools_are_those_that_may_be_called() {
        let tool = |name: &str| json!({"type": "function", "function": {"name": name}});
        let of =
            |choice: Value| read(json!({"tools": [tool("f"), tool("g")], "tool_choice": choice}));
        assert_eq!(of(Value::Null).unwrap().tools.len(), 2);
        assert_eq!(of(json!("none")).unwrap().tools.len(), 0);
        assert_eq!(of(json!("required")).unwrap().choice, Choice::Any);
        let named = of(json!({"type": "function", "function": {"name": "g"}})).unwrap();
        has!(named, tools: vec![tool("g")], choice: Choice::Named("g".to_owned()));
        assert_eq!(refused(json!({"tool_choice": "required"})), "tool_choice");
        let unknown = json!({"tools": [tool("f")], "tool_choice": "any"});
        assert_eq!(refused(unknown), "tool_choice");
        assert_eq!(refused(json!({"tools": [{}]})), "tools");
        let format = json!({"type": "json_object"});
        assert_eq!(
            refused(json!({"tools": [tool("f")], "response_format": format})),
            "response_format"
        );
    }

    #[test]
    fn numbers_are_in_range_or_refused_by_name() {
        let request = read(json!({"n": 3, "logprobs": true, "top_logprobs": 2, "stop": "x", "max_tokens": 7, "seed": 5})).unwrap();
        has!(request, logprobs: Some(LogprobOptions { top: 2, prompt: false }), samples: 3,
            options.max_tokens: 7, options.sampling: Sampling::at(1.0, 5), options.stop: ["x"]);
        assert_eq!(read(json!({})).unwrap().options.sampling, Sampling::Greedy);
        let below = read(json!({"temperature": 1, "seed": -5})).unwrap();
        assert_eq!(below.options.sampling, Sampling::at(1.0, u64::MAX - 4));
        for (param, value) in cases![
            "n" => json!(0);
            "top_logprobs" => json!(1);
            "logprobs" => json!(3);
            "temperature" => json!(3);
            "max_completion_tokens" => json!(-1);
            "messages" => json!([{"role": "user", "content": [{"type": "image_url"}]}]);
        ] {
            assert_eq!(refused(json!({param: value})), param);
        }
    }
}
