//! `/v1/responses`: a question or a conversation in, and out what was done for it as items: the search,
//! where there was one, and the answer.

use std::sync::Arc;

use axum::body::Bytes;
use ken_answer::Policy;
use ken_policy::Rule;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::address::Addresses;
use super::call::{Call, JsonBody};
use super::citations::cited;
use super::conversation::Heard;
use super::reply::Reply as Response;
use super::stream::{Wording, streamed, whole};
use super::{conversation, events};
use crate::service::answers::{AnswerEvent, Completion, start};
use crate::service::clock::unix_seconds;
use crate::service::options::{RequestOptions, SamplingOptions};
use crate::service::policies;
use crate::service::resources::Served;
use crate::wire::chat::{Content, Role};
use crate::wire::ken::{Citation, Trace};
use crate::wire::refusal::Refusal;
use crate::wire::responses::{
    FileCitation, FileSearchResult, Happening, IncompleteDetails, Offered, OutputItem, OutputPart,
    OutputRefusal, OutputText, ResponseObject, ResponseUsage, ResponsesInput, ResponsesRequest,
    TextHappening, Tool, ToolChoice,
};
use crate::wire::{others, response_format};

/// What `include` may name beside what is not there anyway.
const RESULTS: &str = "file_search_call.results";

/// Answers the input.
pub(crate) async fn respond(
    call: Call,
    body: JsonBody<ResponsesRequest>,
) -> Result<Response<ResponseObject>, Refusal> {
    let given = body.read().await?;
    let includes = given.include.iter().flatten();
    let results = includes.into_iter().any(|name| name == RESULTS);
    let asked = asked(&given, results)?;
    let policy = asked.policy(&call.served);
    let corpus = asked.corpus(&call.served, call.caller())?;
    let id = call.request.id.trim_start_matches("req_");
    let reply = Reply {
        served: Arc::clone(&call.served),
        response: ResponseObject {
            id: format!("resp_{id}"),
            object: "response",
            created_at: unix_seconds(),
            status: "in_progress",
            error: None,
            incomplete_details: None,
            instructions: given.instructions.clone(),
            max_output_tokens: given.max_output_tokens,
            metadata: given.metadata.unwrap_or_default(),
            model: policies::name_of(policy),
            output: Vec::new(),
            parallel_tool_calls: true,
            previous_response_id: None,
            store: false,
            temperature: given.temperature,
            tool_choice: match (policy.retrieve, policy.keep) {
                (Rule::Always, Rule::Always) => "required",
                (Rule::Never, _) => "none",
                _ => "auto",
            },
            tools: [Offered {
                kind: "file_search",
                vector_store_ids: corpus.iter().map(|corpus| corpus.name.clone()).collect(),
            }],
            top_p: given.top_p,
            truncation: "disabled",
            usage: None,
            ken: None,
        },
        search: format!("fs_{id}"),
        message: format!("msg_{id}"),
        addresses: Addresses::of(&call.headers),
        offered: results
            || given
                .tools
                .iter()
                .flatten()
                .any(|tool| tool.kind == "file_search"),
        results,
        count: 0,
        created: false,
        begun: false,
    };
    let news = start(&call.served, asked, call.request)?;
    match given.stream.unwrap_or(false) {
        true => Ok(streamed(reply, news).await?.into()),
        false => Ok(Response::json(&reply.completed(whole(news).await?))),
    }
}

/// The question with all that the client says of it.
fn asked(given: &ResponsesRequest, results: bool) -> Result<RequestOptions, Refusal> {
    refuse_unsupported(&given.others)?;
    let named = policies::named(&given.model)?;
    let model = chosen(given.tool_choice.as_ref())?.or(named);
    let options = given.ken.clone().unwrap_or_default();
    let heard = conversation(&given.input)?;
    let mut conversation = heard.whole("input")?;
    if let Some(instructions) = given.instructions.as_deref().filter(|own| !own.is_empty()) {
        let inner = std::mem::replace(&mut conversation.instruction, instructions.to_owned());
        if !inner.is_empty() {
            conversation.instruct(&inner);
        }
    }
    let text = given.others.get("text");
    let schema = response_format::read(text.and_then(|text| text.get("format")), "text.format")?;
    let asked = RequestOptions::by(model, &options)?.over(conversation, heard.unread, schema);
    let search = match tool(given.tools.as_deref().unwrap_or_default())? {
        None => asked.search,
        Some(tool) => {
            others::refuse_threshold(tool.ranking_options.as_ref())?;
            let filters = tool.filters.as_ref().map(|filter| filter.read());
            let filters = filters.transpose()?.into_iter().collect();
            let corpus = tool.vector_store_ids.first();
            let corpus = corpus.map(String::as_str);
            asked.search.or(corpus, tool.max_num_results, filters)?
        }
    };
    Ok(RequestOptions {
        search,
        sampling: SamplingOptions {
            max_tokens: given.max_output_tokens,
            temperature: given.temperature,
            top_p: given.top_p,
            seed: None,
        },
        traced: asked.traced || results,
        ..asked
    })
}

/// The policy that a choice of tools means; `None` where it is left open.
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

/// The search, where it is among the tools; nothing else can be.
fn tool(tools: &[Tool]) -> Result<Option<&Tool>, Refusal> {
    let refused = |message: String| {
        let refusal = Refusal::bad("unsupported_parameter", message);
        Err(refusal.of("tools"))
    };
    match tools {
        [] => Ok(None),
        [tool] if tool.kind == "file_search" && tool.vector_store_ids.len() <= 1 => Ok(Some(tool)),
        [tool] if tool.kind == "file_search" => {
            refused("one corpus can be searched, so there is room for one id".to_owned())
        }
        _ => refused("the only tool here is one `file_search`".to_owned()),
    }
}

/// Refuses what would change the answer and is not done here, rather than to ignore it.
fn refuse_unsupported(given: &Map<String, Value>) -> Result<(), Refusal> {
    others::refuse(given, |name, value| match name {
        "previous_response_id" | "conversation" | "prompt" => false,
        "background" => *value == false,
        // Its format is read elsewhere.
        "text" => value.is_object(),
        "top_logprobs" => *value == json!(0),
        "truncation" => *value == "disabled" || *value == "auto",
        _ => others::changes_nothing(name, value),
    })
}

/// What was said before, and the question. Items of earlier responses that are no messages say nothing.
fn conversation(input: &ResponsesInput) -> Result<Heard, Refusal> {
    let parts = ["input_text", "output_text", "text"];
    let items = match input {
        ResponsesInput::Text(question) => {
            let question = Content::Text(question.clone());
            return conversation::read(&[(Role::User, Some(&question))], "input", &parts);
        }
        ResponsesInput::Items(items) => items,
    };
    let mut messages = Vec::new();
    for item in items {
        match (item.kind.as_deref().unwrap_or("message"), item.role) {
            ("message", Some(role)) => messages.push((role, item.content.as_ref())),
            ("file_search_call" | "reasoning", _) => {}
            (kind, _) => {
                let message = format!("an item of type {kind:?} is not understood here");
                return Err(Refusal::bad("unsupported_content", message).of("input"));
            }
        }
    }
    conversation::read(&messages, "input", &parts)
}

/// A response, and how far its stream is.
struct Reply {
    served: Arc<Served>,
    response: ResponseObject,
    /// The id of the search.
    search: String,
    /// The id of the answer.
    message: String,
    addresses: Addresses,
    /// Whether the client offered the search as a tool, or asked for what it finds, and so is told of it.
    offered: bool,
    /// Whether what was found is told.
    results: bool,
    /// Events so far.
    count: usize,
    created: bool,
    /// Whether the answer has begun.
    begun: bool,
}

/// An event as it is sent: named, numbered.
#[derive(Serialize)]
struct Numbered<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    sequence_number: usize,
    #[serde(flatten)]
    happening: Happening<'a>,
}

impl Reply {
    /// The response with its answer.
    fn completed(mut self, answered: Completion) -> ResponseObject {
        if self.offered && answered.trace.searches > 0 && self.response.output.is_empty() {
            let search = self.searched(&answered.trace);
            self.response.output.push(search);
        }
        let text = self.text(&answered);
        self.complete(text, answered);
        self.response
    }

    fn complete(&mut self, text: OutputText, answered: Completion) {
        let [input_tokens, output_tokens] = answered.tokens;
        let reason = match answered.trace.lack.as_deref() {
            _ if answered.truncated => Some("max_output_tokens"),
            Some("filtered") => Some("content_filter"),
            _ => None,
        };
        let status = match reason {
            Some(_) => "incomplete",
            None => "completed",
        };
        let refusal = answered.refusal.map(|refusal| {
            OutputPart::Refusal(OutputRefusal {
                kind: "refusal",
                refusal,
            })
        });
        self.response.output.push(OutputItem::Message {
            id: self.message.clone(),
            status,
            role: "assistant",
            content: std::iter::once(OutputPart::Text(text))
                .chain(refusal)
                .collect(),
        });
        self.response.status = status;
        self.response.incomplete_details = reason.map(|reason| IncompleteDetails { reason });
        self.response.usage = Some(ResponseUsage {
            input_tokens,
            input_tokens_details: Default::default(),
            output_tokens,
            output_tokens_details: Default::default(),
            total_tokens: input_tokens + output_tokens,
        });
        self.response.ken = Some(answered.trace);
    }

    fn searched(&self, trace: &Trace) -> OutputItem {
        let found = trace.retrieved.as_ref().filter(|_| self.results);
        OutputItem::FileSearchCall {
            id: self.search.clone(),
            status: "completed",
            queries: vec![trace.question.clone()],
            results: found.map(|found| {
                let corpus = trace.corpus.as_ref().map_or("", |corpus| &corpus.name);
                let each = found.iter().map(|one| {
                    let (file_id, filename) = self.served.file_of(corpus, &one.doc_id, &one.title);
                    FileSearchResult {
                        file_id,
                        filename,
                        score: one.score,
                        text: one.text.clone(),
                        attributes: one.metadata.clone(),
                    }
                });
                each.collect()
            }),
        }
    }

    fn text(&self, answered: &Completion) -> OutputText {
        let each = cited(answered).into_iter().map(|cited| {
            let Citation {
                doc_id,
                title,
                passage_id,
                location,
                ..
            } = cited.citation;
            let (file_id, filename) = self.served.file_of(cited.corpus, doc_id, title);
            FileCitation {
                kind: "file_citation",
                file_id,
                filename,
                index: cited.place.end,
                start_index: cited.place.start,
                end_index: cited.place.end,
                url: self.addresses.passage(cited.corpus, passage_id, location),
            }
        });
        OutputText::new(answered.text.clone(), each.collect())
    }

    /// Where the answer stands among the items.
    fn place(&self) -> usize {
        self.response.output.len()
    }

    fn event(&mut self, kind: &str, happening: Happening<'_>) -> Bytes {
        let numbered = Numbered {
            kind,
            sequence_number: self.count,
            happening,
        };
        self.count += 1;
        events::named(kind, &numbered)
    }

    fn of_response(&mut self, kind: &str) -> Bytes {
        let response = self.response.clone();
        let happening = Happening::Response {
            response: &response,
        };
        self.event(kind, happening)
    }

    fn of_text(&mut self, kind: &str, what: TextHappening<'_>) -> Bytes {
        let (message, output_index) = (self.message.clone(), self.place());
        let happening = Happening::Text {
            output_index,
            item_id: &message,
            content_index: 0,
            what,
        };
        self.event(kind, happening)
    }

    fn of_item(&mut self, kind: &str, item: &OutputItem) -> Bytes {
        let output_index = self.place();
        self.event(kind, Happening::Item { output_index, item })
    }

    fn create(&mut self) -> Vec<Bytes> {
        if std::mem::replace(&mut self.created, true) {
            return Vec::new();
        }
        let kinds = ["response.created", "response.in_progress"];
        kinds.map(|kind| self.of_response(kind)).into()
    }

    /// The search, which is over by the time that it is told of.
    fn search(&mut self, trace: &Trace) -> Vec<Bytes> {
        if !self.offered || !self.response.output.is_empty() {
            return Vec::new();
        }
        let begun = OutputItem::FileSearchCall {
            id: self.search.clone(),
            status: "in_progress",
            queries: Vec::new(),
            results: None,
        };
        let mut told = vec![self.of_item("response.output_item.added", &begun)];
        let id = self.search.clone();
        for state in ["in_progress", "searching", "completed"] {
            let happening = Happening::Search {
                output_index: 0,
                item_id: &id,
            };
            told.push(self.event(&format!("response.file_search_call.{state}"), happening));
        }
        let item = self.searched(trace);
        told.push(self.of_item("response.output_item.done", &item));
        self.response.output.push(item);
        told
    }

    fn begin(&mut self) -> Vec<Bytes> {
        if std::mem::replace(&mut self.begun, true) {
            return Vec::new();
        }
        let item = OutputItem::Message {
            id: self.message.clone(),
            status: "in_progress",
            role: "assistant",
            content: Vec::new(),
        };
        let part = OutputText::new(String::new(), Vec::new());
        let part = TextHappening::Part { part: &part };
        vec![
            self.of_item("response.output_item.added", &item),
            self.of_text("response.content_part.added", part),
        ]
    }

    fn end(&mut self, answered: Completion) -> Vec<Bytes> {
        let part = self.text(&answered);
        let mut told = Vec::new();
        for (annotation_index, annotation) in part.annotations.iter().enumerate() {
            let what = TextHappening::Annotation {
                annotation_index,
                annotation,
            };
            told.push(self.of_text("response.output_text.annotation.added", what));
        }
        let done = TextHappening::Done {
            text: &part.text,
            logprobs: [],
        };
        told.push(self.of_text("response.output_text.done", done));
        let whole = TextHappening::Part { part: &part };
        told.push(self.of_text("response.content_part.done", whole));
        let output_index = self.place();
        self.complete(part, answered);
        if let Some(item) = self.response.output.last().cloned() {
            let happening = Happening::Item {
                output_index,
                item: &item,
            };
            told.push(self.event("response.output_item.done", happening));
        }
        let kind = format!("response.{}", self.response.status);
        told.push(self.of_response(&kind));
        told
    }

    /// Clients that only read the response, and those that only look for errors, both learn of it.
    fn fail(&mut self, refusal: &Refusal) -> Vec<Bytes> {
        let error = refusal.object();
        self.response.status = "failed";
        self.response.error = Some(error.clone());
        let failed = self.of_response("response.failed");
        let happening = Happening::Error {
            code: error.code,
            message: &error.message,
            param: error.param.as_deref(),
        };
        vec![failed, self.event("error", happening)]
    }
}

impl Wording for Reply {
    type News = AnswerEvent;

    fn word(&mut self, news: AnswerEvent) -> Vec<Bytes> {
        let mut told = self.create();
        match news {
            AnswerEvent::Retrieved(trace) => told.extend(self.search(&trace)),
            AnswerEvent::Begun(_) => told.extend(self.begin()),
            AnswerEvent::Text(text) => {
                told.extend(self.begin());
                let what = TextHappening::Delta {
                    delta: &text,
                    logprobs: [],
                };
                told.push(self.of_text("response.output_text.delta", what));
            }
            AnswerEvent::Done(answered) => {
                told.extend(self.begin());
                told.extend(self.end(*answered));
            }
            AnswerEvent::Failed(refusal) => told.extend(self.fail(&refusal)),
            // Only chat completions are passed on.
            AnswerEvent::Reply(_) => {}
        }
        told
    }
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
            conversation(&input).map_err(|refusal| refusal.code())
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
            r#"{"store": true, "user": "ada", "instructions": "be nice", "background": false}"#,
            r#"{"text": {"format": {"type": "text"}, "verbosity": "low"}, "previous_response_id": null}"#,
        ] {
            assert_eq!(check(harmless), Ok(()), "{harmless}");
        }
        for refused in [
            r#"{"previous_response_id": "resp_1"}"#,
            r#"{"text": 3}"#,
            r#"{"background": true}"#,
            r#"{"top_logprobs": 3}"#,
        ] {
            assert_eq!(check(refused), Err("unsupported_parameter"), "{refused}");
        }
    }
}
