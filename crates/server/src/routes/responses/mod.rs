//! `/v1/responses`: a question or a conversation in, and items out: the search, if there was one, and the answer.

pub(super) mod kept;
mod reply;

use std::sync::Arc;

use ken_answer::Policy;
use ken_policy::Rule;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use self::reply::Reply;
use super::address::Addresses;
use super::call::{Call, JsonBody};
use super::conversation::{self, Heard};
use super::reply::Reply as Response;
use super::stream::{streamed, whole};
use crate::service::answers::start;
use crate::service::clock::unix_seconds;
use crate::service::options::{RequestOptions, SamplingOptions};
use crate::service::policies;
use crate::service::responses::KeptResponse;
use crate::service::work::blocking;
use crate::wire::chat::{Content, Role};
use crate::wire::refusal::Refusal;
use crate::wire::responses::{
    Item, Offered, ResponseObject, ResponsesInput, ResponsesRequest, Tool, ToolChoice, input_items,
};
use crate::wire::{others, response_format};

/// What `include` may name besides what is there anyway.
const RESULTS: &str = "file_search_call.results";

/// What `include` may not name: there are none.
const LOGPROBS: &str = "message.output_text.logprobs";

/// Answers the input.
pub(crate) async fn respond(
    call: Call,
    body: JsonBody<ResponsesRequest>,
) -> Result<Response<ResponseObject>, Refusal> {
    let (given, source) = body.read_with_source().await?;
    let before = before(&call, given.previous_response_id.as_deref()).await?;
    let includes = given.include.iter().flatten();
    let results = includes.into_iter().any(|name| name == RESULTS);
    let asked = asked(&given, &before, results)?;
    let policy = asked.policy(&call.served);
    let corpora = asked.corpora(&call.served, call.caller())?;
    let id = call.request.id.trim_start_matches("req_").to_owned();
    let is_kept = call.served.responses.is_some() && given.store.unwrap_or(true);
    let keeping = is_kept.then(|| KeptResponse {
        id: format!("resp_{id}"),
        key: call.caller().key().map(str::to_owned),
        created: unix_seconds(),
        response: Value::Null,
        input: input_items(source.get("input"), &id),
        before,
    });
    let corpora = corpora.iter().map(|corpus| corpus.name.clone()).collect();
    let response = begun(&given, &id, policy, corpora, is_kept);
    let mut tools = given.tools.iter().flatten();
    let offered = results || tools.any(|tool| tool.kind == "file_search");
    let reply = Reply {
        served: Arc::clone(&call.served),
        response,
        search: format!("fs_{id}"),
        message: format!("msg_{id}"),
        addresses: Addresses::of(&call.headers),
        offered,
        results,
        count: 0,
        created: false,
        begun: false,
        keeping,
    };
    let news = start(&call.served, asked, call.request)?;
    match given.stream.unwrap_or(false) {
        true => Ok(streamed(reply, news).await?.into()),
        false => Ok(Response::json(&reply.completed(whole(news).await?).await)),
    }
}

/// The response to a request before any work is done for it.
fn begun(
    given: &ResponsesRequest,
    id: &str,
    policy: Policy,
    corpora: Vec<String>,
    store: bool,
) -> ResponseObject {
    ResponseObject {
        id: format!("resp_{id}"),
        object: "response",
        created_at: unix_seconds(),
        status: "in_progress",
        error: None,
        incomplete_details: None,
        instructions: given.instructions.clone(),
        max_output_tokens: given.max_output_tokens,
        metadata: given.metadata.clone().unwrap_or_default(),
        model: policies::name_of(policy),
        output: Vec::new(),
        parallel_tool_calls: true,
        previous_response_id: given.previous_response_id.clone(),
        store,
        temperature: given.temperature,
        tool_choice: match (policy.retrieve, policy.keep) {
            (Rule::Always, Rule::Always) => "required",
            (Rule::Never, _) => "none",
            _ => "auto",
        },
        tools: [Offered {
            kind: "file_search",
            vector_store_ids: corpora,
        }],
        top_p: given.top_p,
        truncation: "disabled",
        usage: None,
        ken: None,
    }
}

/// The conversation up to the response that the request continues, as items.
async fn before(call: &Call, previous: Option<&str>) -> Result<Vec<Value>, Refusal> {
    let Some(id) = previous else {
        return Ok(Vec::new());
    };
    let Some(responses) = call.served.responses.clone() else {
        let message = "`previous_response_id` is not supported: this server keeps no responses, so send what was \
                       said as input";
        return Err(Refusal::bad("unsupported_parameter", message).of("previous_response_id"));
    };
    let (id, key) = (id.to_owned(), call.caller().key().map(str::to_owned));
    blocking(move || {
        let response = responses.find(&id, key.as_deref(), unix_seconds())?;
        let response = response.ok_or_else(|| {
            let message = format!("Previous response with id {id:?} not found.");
            Refusal::bad("previous_response_not_found", message).of("previous_response_id")
        })?;
        Ok(response.said())
    })
    .await
}

/// The question with everything that the client says of it.
fn asked(
    given: &ResponsesRequest,
    before: &[Value],
    results: bool,
) -> Result<RequestOptions, Refusal> {
    refuse_unsupported(&given.others)?;
    if given.max_output_tokens == Some(0) {
        let message = "it must be at least 1";
        return Err(Refusal::invalid("max_output_tokens", message));
    }
    if given.include.iter().flatten().any(|name| name == LOGPROBS) {
        let message = format!("`{LOGPROBS}` is not supported here: ask chat completions for them");
        return Err(Refusal::bad("unsupported_parameter", message).of("include"));
    }
    let named = policies::named(&given.model)?;
    let model = chosen(given.tool_choice.as_ref())?.or(named);
    let options = given.ken.clone().unwrap_or_default();
    let before = before.iter().map(Item::deserialize);
    let before: Vec<Item> = before
        .collect::<Result<_, _>>()
        .map_err(|error| Refusal::failed(&std::io::Error::other(error)))?;
    let heard = conversation(&before, &given.input)?;
    let mut conversation = heard.whole("input")?;
    if let Some(instructions) = given.instructions.as_deref().filter(|own| !own.is_empty()) {
        let inner = std::mem::replace(&mut conversation.instruction, instructions.to_owned());
        if !inner.is_empty() {
            conversation.instruct(&inner);
        }
    }
    let text = given.others.get("text");
    let schema = response_format::read(text.and_then(|text| text.get("format")), "text.format")?;
    let mut asked = RequestOptions::by(model, &options)?.over(conversation, heard.unread, schema);
    asked.brought.stop = others::stop(given.others.get("stop"))?;
    let search = match tool(given.tools.as_deref().unwrap_or_default())? {
        None => asked.search,
        Some(tool) => {
            let least = others::threshold(tool.ranking_options.as_ref())?;
            let filters = tool.filters.as_ref().map(|filter| filter.read());
            let filters = filters.transpose()?.into_iter().collect();
            let corpora = &tool.vector_store_ids;
            let search = asked.search.or(corpora, tool.max_num_results, filters)?;
            search.at_least(least)
        }
    };
    Ok(RequestOptions {
        search,
        sampling: SamplingOptions {
            max_tokens: given.max_output_tokens,
            temperature: given.temperature,
            top_p: given.top_p,
            seed: given.seed,
        },
        traced: asked.traced || results,
        ..asked
    })
}

/// The policy that a choice of tools means; `None` if it leaves that open.
fn chosen(choice: Option<&ToolChoice>) -> Result<Option<Policy>, Refusal> {
    let name = match choice {
        None => return Ok(None),
        Some(ToolChoice::Mode(name)) | Some(ToolChoice::Tool { kind: name }) => name.as_str(),
    };
    match name {
        "auto" => Ok(None),
        "none" => Ok(Some(Policy::NEVER)),
        "required" | "file_search" => Ok(Some(Policy::ALWAYS)),
        other => {
            let message = format!("`{other}` is no choice here; there is only file_search");
            Err(Refusal::bad("unsupported_parameter", message).of("tool_choice"))
        }
    }
}

/// The search, if it is among the tools; no other tool is supported.
fn tool(tools: &[Tool]) -> Result<Option<&Tool>, Refusal> {
    match tools {
        [] => Ok(None),
        [tool] if tool.kind == "file_search" => Ok(Some(tool)),
        _ => {
            let message = "the only tool here is one `file_search`";
            Err(Refusal::bad("unsupported_parameter", message).of("tools"))
        }
    }
}

/// Refuses unsupported parameters that would change the answer, rather than ignoring them.
fn refuse_unsupported(given: &Map<String, Value>) -> Result<(), Refusal> {
    others::refuse(given, |name, value| match name {
        "conversation" | "prompt" => false,
        "background" | "logprobs" => *value == false,
        // As chat completions call them.
        "max_tokens" | "max_completion_tokens" | "functions" | "function_call" => false,
        "response_format" => value["type"] == "text",
        "stop" => true,
        "n" => *value == json!(1),
        "frequency_penalty" | "presence_penalty" => value.as_f64() == Some(0.0),
        "logit_bias" => *value == json!({}),
        // Its format is read elsewhere.
        "text" => value.is_object(),
        "top_logprobs" => *value == json!(0),
        "truncation" => *value == "disabled" || *value == "auto",
        _ => others::changes_nothing(name, value),
    })
}

/// The earlier conversation, and the question. Items of earlier responses that are not messages say nothing.
fn conversation(before: &[Item], input: &ResponsesInput) -> Result<Heard, Refusal> {
    let parts = ["input_text", "output_text", "text"];
    let (question, items) = match input {
        ResponsesInput::Text(question) => (Some(Content::Text(question.clone())), &[][..]),
        ResponsesInput::Items(items) => (None, items.as_slice()),
    };
    let mut messages = Vec::new();
    for item in before.iter().chain(items) {
        match (item.kind.as_deref().unwrap_or("message"), item.role) {
            ("message", Some(role)) => messages.push((role, item.content.as_ref())),
            ("file_search_call" | "reasoning", _) => {}
            (kind, _) => {
                let message = format!("an item of type {kind:?} is not understood here");
                return Err(Refusal::bad("unsupported_content", message).of("input"));
            }
        }
    }
    messages.extend(question.iter().map(|question| (Role::User, Some(question))));
    conversation::read(&messages, "input", &parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_of_tools_is_one_of_policies() {
        let read = |choice: Value| -> Result<Option<Policy>, &'static str> {
            let choice: ToolChoice = serde_json::from_value(choice).unwrap();
            chosen(Some(&choice)).map_err(|refusal| refusal.code())
        };
        assert_eq!(read(json!("auto")), Ok(None));
        assert_eq!(read(json!("none")), Ok(Some(Policy::NEVER)));
        for always in [json!("required"), json!({"type": "file_search"})] {
            assert_eq!(read(always), Ok(Some(Policy::ALWAYS)));
        }
        for other in [json!("x"), json!({"type": "web_search"})] {
            assert_eq!(read(other), Err("unsupported_parameter"));
        }
    }

    #[test]
    fn items_of_earlier_responses_may_come_along() {
        let read = |items: Value| {
            let input: ResponsesInput = serde_json::from_value(items).unwrap();
            conversation(&[], &input).map_err(|refusal| refusal.code())
        };
        let heard = read(json!([
            {"role": "user", "content": "who?"},
            {"type": "file_search_call", "id": "fs_1", "queries": ["who?"], "status": "completed"},
            {"type": "message", "role": "assistant", "id": "msg_1", "status": "completed",
             "content": [{"type": "output_text", "text": "Ida", "annotations": []}]},
            {"role": "user", "content": [{"type": "input_text", "text": "when?"}]},
        ]))
        .unwrap();
        let before = &heard.conversation.before;
        assert_eq!((before.len(), before[0].answer.as_str()), (1, "Ida"));
        assert_eq!(heard.conversation.question, "when?");
        let call = json!([{"type": "function_call_output", "output": "x"}]);
        assert_eq!(read(call).err(), Some("unsupported_content"));
    }

    #[test]
    fn what_would_change_the_answer_is_not_ignored() {
        let check = |text: &str| {
            let others: Map<String, Value> = serde_json::from_str(text).unwrap();
            refuse_unsupported(&others).map_err(|refusal| refusal.code())
        };
        for harmless in [
            r#"{"user": "ada", "instructions": "be nice", "background": false}"#,
            r#"{"text": {"format": {"type": "text"}, "verbosity": "low"}, "conversation": null}"#,
        ] {
            assert_eq!(check(harmless), Ok(()), "{harmless}");
        }
        for refused in [
            r#"{"conversation": "conv_1"}"#,
            r#"{"text": 3}"#,
            r#"{"background": true}"#,
            r#"{"top_logprobs": 3}"#,
        ] {
            assert_eq!(check(refused), Err("unsupported_parameter"), "{refused}");
        }
    }
}
