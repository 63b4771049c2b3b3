//! Answers by the model's own server, which gets a request as its application sent it, with the evidence in it.

use std::ops::ControlFlow;
use std::time::Instant;

use ken_answer::{
    Answer, AnswerError, Event, EvidenceForm, EvidencePlace, Pipeline, Tokens, Written,
};
use ken_language::{Api, LanguageModel};
use ken_probe::Lack;
use serde_json::{Map, Value, json};

/// Decides what the question needs, has the server answer the request, and passes its replies to `on_reply`.
///
/// # Errors
/// As [`Pipeline::decide`], and those of the server.
pub(crate) fn answer(
    pipeline: &Pipeline,
    question: &str,
    sent: &Map<String, Value>,
    watch: &mut dyn FnMut(Event<'_>) -> ControlFlow<()>,
    on_reply: &mut dyn FnMut(Value) -> ControlFlow<()>,
) -> Result<Answer, AnswerError> {
    let decision = pipeline.decide(question, watch)?;
    let form = &pipeline.brought.evidence;
    let request = with_evidence(sent.clone(), &decision.message(form), form);
    let size: usize = request.get("messages").map_or(0, length);
    let started = Instant::now();
    let mut said = Said::default();
    if let Some(server) = pipeline.model.chat_server() {
        server.forward(Api::Chat, request, &mut |reply| {
            said.take(&reply);
            on_reply(reply)
        })?;
    }
    let written = said.written(pipeline.model.as_ref(), size)?;
    Ok(decision.finish(Written {
        time: started.elapsed(),
        ..written
    }))
}

/// The first choice of a server's replies.
#[derive(Default)]
struct Said {
    text: String,
    finish_reason: String,
    calls_tool: bool,
    usage: Option<[usize; 2]>,
}

impl Said {
    /// Takes a completion, or a chunk of one.
    fn take(&mut self, reply: &Value) {
        let choices = reply["choices"].as_array();
        let is_first = |choice: &&Value| choice["index"].as_u64().unwrap_or_default() == 0;
        let choice = choices.and_then(|all| all.iter().find(is_first));
        let choice = choice.unwrap_or(&Value::Null);
        let message = ["message", "delta"]
            .into_iter()
            .find_map(|name| choice.get(name));
        let message = message.unwrap_or(&Value::Null);
        match &message["content"] {
            Value::String(text) => self.text.push_str(text),
            Value::Array(parts) => {
                let texts = parts.iter().filter_map(|part| part["text"].as_str());
                self.text.extend(texts);
            }
            _ => {}
        }
        self.calls_tool |= message
            .get("tool_calls")
            .and_then(Value::as_array)
            .is_some_and(|calls| !calls.is_empty())
            || message.get("function_call").is_some_and(Value::is_object);
        if let Some(reason) = choice["finish_reason"].as_str() {
            reason.clone_into(&mut self.finish_reason);
        }
        let count = |name: &str| reply["usage"][name].as_u64();
        if let (Some(read), Some(wrote)) = (count("prompt_tokens"), count("completion_tokens")) {
            let count = |tokens| usize::try_from(tokens).unwrap_or(usize::MAX);
            self.usage = Some([count(read), count(wrote)]);
        }
    }

    /// The answer. If the server did not report its tokens, they are estimated from the bytes of the messages and of
    /// the answer.
    fn written(self, model: &dyn LanguageModel, size: usize) -> Result<Written, AnswerError> {
        let [prompt, completion] = match self.usage {
            Some(usage) => usage,
            None => [estimated_tokens(size), model.count_tokens(&self.text)?],
        };
        let lack = match self.finish_reason.as_str() {
            "length" => Some(Lack::CutOff),
            "content_filter" => Some(Lack::Filtered),
            _ if self.text.trim().is_empty() && !self.calls_tool => Some(Lack::Empty),
            _ => None,
        };
        Ok(Written {
            text: self.text,
            tokens: Tokens { prompt, completion },
            lack,
            ..Written::default()
        })
    }
}

/// The bytes of the answers in a reply, or in a chunk of one.
pub(crate) fn told(reply: &Value) -> usize {
    let choices = reply["choices"].as_array().into_iter().flatten();
    let parts = choices.flat_map(|choice| ["delta", "message", "text"].map(|part| &choice[part]));
    parts.map(length).sum()
}

/// About how many tokens a text of so many bytes has.
pub(crate) fn estimated_tokens(bytes: usize) -> usize {
    bytes / 4
}

/// The bytes of all texts in a value.
fn length(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(values) => values.iter().map(length).sum(),
        Value::Object(values) => values.values().map(length).sum(),
        _ => 0,
    }
}

/// A request with the evidence in its messages, if there is any, and without ken's own parameters.
fn with_evidence(
    mut request: Map<String, Value>,
    evidence: &str,
    form: &EvidenceForm,
) -> Map<String, Value> {
    request.shift_remove("ken");
    let Some(Value::Array(messages)) = request.get_mut("messages") else {
        return request;
    };
    if evidence.is_empty() {
        return request;
    }
    let is = |message: &Value, roles: &[&str]| {
        message["role"]
            .as_str()
            .is_some_and(|role| roles.contains(&role))
    };
    let place = match form.place {
        EvidencePlace::Question => messages.iter().rposition(|message| is(message, &["user"])),
        EvidencePlace::System => {
            let is_system = |message: &Value| is(message, &["system", "developer"]);
            if !messages.iter().any(is_system) {
                messages.insert(0, json!({"role": "system", "content": ""}));
            }
            messages.iter().position(is_system)
        }
    };
    let content = place.and_then(|place| messages[place].get_mut("content"));
    match (content, form.place) {
        (Some(Value::String(text)), place) => place.insert(evidence, text),
        (Some(Value::Array(parts)), place) => {
            let part = json!({"type": "text", "text": evidence});
            match place {
                EvidencePlace::Question => parts.insert(0, part),
                EvidencePlace::System => parts.push(part),
            }
        }
        (Some(other), _) => *other = json!(evidence),
        (None, _) => {}
    }
    request
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(value: &Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    fn messages(messages: &Value, place: EvidencePlace) -> Value {
        let form = EvidenceForm { place, words: None };
        let request =
            object(&json!({"model": "x", "ken": {"k": 1}, "messages": messages, "tools": [1]}));
        let mut request = with_evidence(request, "[1] x", &form);
        assert_eq!(
            request.keys().collect::<Vec<_>>(),
            ["model", "messages", "tools"]
        );
        request.remove("messages").unwrap()
    }

    #[test]
    fn evidence_is_put_where_it_belongs_and_nothing_else_changes() {
        let system = json!({"role": "system", "content": "be nice", "name": "s"});
        let asked = json!({"role": "user", "content": "who?"});
        let called = json!({"role": "assistant", "content": null, "tool_calls": [{"id": "1"}]});
        let result = json!({"role": "tool", "content": "4", "tool_call_id": "1"});
        let all = json!([system, asked, called, result]);
        let with = json!({"role": "user", "content": "[1] x\n\nwho?"});
        assert_eq!(
            messages(&all, EvidencePlace::Question),
            json!([system, with, called, result])
        );
        let with = json!({"role": "system", "content": "be nice\n\n[1] x", "name": "s"});
        assert_eq!(
            messages(&all, EvidencePlace::System),
            json!([with, asked, called, result])
        );

        let parts = json!([{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]);
        let placed = messages(&parts, EvidencePlace::Question);
        assert_eq!(
            placed[0]["content"][0],
            json!({"type": "text", "text": "[1] x"})
        );
        assert_eq!(placed[0]["content"][1]["type"], "image_url");
        let alone = messages(&json!([asked]), EvidencePlace::System);
        assert_eq!(
            alone,
            json!([{"role": "system", "content": "[1] x"}, asked])
        );
    }

    #[test]
    fn what_a_server_says_is_read_whole_and_in_chunks() {
        let mut whole = Said::default();
        whole.take(&json!({
            "choices": [{"message": {"content": "Ida rows."}, "finish_reason": "length"}],
            "usage": {"prompt_tokens": 7, "completion_tokens": 3},
        }));
        let mut chunks = Said::default();
        for chunk in [
            json!({"choices": [{"delta": {"role": "assistant", "content": "Ida"}}]}),
            json!({"choices": [{"delta": {"content": [{"type": "text", "text": " rows."}]}}]}),
            json!({"choices": [{"index": 1, "delta": {"content": "Bo"}, "finish_reason": "stop"}]}),
            json!({"choices": [{"delta": {}, "finish_reason": "length"}]}),
            json!({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}),
        ] {
            chunks.take(&chunk);
        }
        for said in [whole, chunks] {
            assert_eq!(
                (said.text.as_str(), said.usage),
                ("Ida rows.", Some([7, 3]))
            );
            assert_eq!(said.finish_reason, "length");
        }
        let mut called = Said::default();
        called.take(&json!({"choices": [{"message": {"content": null, "tool_calls": [{}]}}]}));
        assert!(called.calls_tool);
        let mut silent = Said::default();
        silent.take(&json!({"choices": [{"message": {"content": "", "tool_calls": []}}]}));
        assert!(!silent.calls_tool);
    }
}
