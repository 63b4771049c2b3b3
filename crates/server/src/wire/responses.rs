//! `/v1/responses`: the request, the answer as items, and the events of a stream.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::chat::{Content, Role};
use super::filter::GivenFilter;
use super::ken::{Options, Trace};
use super::query::Parameter;
use super::refusal::ErrorObject;

/// A request for a response.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ResponsesRequest {
    /// `ken/POLICY`, or `ken` for the policy of the server's settings.
    pub(crate) model: String,
    /// The question, or a conversation whose last message is the question.
    pub(crate) input: ResponsesInput,
    /// The application's instruction; it comes before system messages of the input.
    pub(crate) instructions: Option<String>,
    /// Whether to stream the answer.
    pub(crate) stream: Option<bool>,
    /// The longest answer, in tokens.
    pub(crate) max_output_tokens: Option<usize>,
    /// The temperature of sampling; 0 is greedy.
    pub(crate) temperature: Option<f64>,
    /// Only the most likely tokens whose probabilities together reach this.
    pub(crate) top_p: Option<f64>,
    /// The seed of sampling.
    #[serde(default, deserialize_with = "super::field::seed")]
    #[schemars(with = "Option<i64>")]
    pub(crate) seed: Option<u64>,
    /// Only `file_search`; without it the first corpus can be searched, too.
    pub(crate) tools: Option<Vec<Tool>>,
    /// `auto` leaves the choice to the policy; `required` and `file_search` always retrieve, `none` never.
    pub(crate) tool_choice: Option<ToolChoice>,
    /// The response to continue: its conversation comes before the input.
    pub(crate) previous_response_id: Option<String>,
    /// Whether to store it, so that it can be read again and continued; true by default.
    pub(crate) store: Option<bool>,
    /// `file_search_call.results` for the passages that were found.
    pub(crate) include: Option<Vec<String>>,
    /// Returned as it is.
    pub(crate) metadata: Option<Map<String, Value>>,
    /// ken's own parameters.
    pub(crate) ken: Option<Options>,
    /// Other parameters.
    #[serde(flatten)]
    pub(crate) others: Map<String, Value>,
}

/// The input.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a text or a list of items")]
pub(crate) enum ResponsesInput {
    /// A question.
    Text(String),
    /// A conversation.
    Items(Vec<Item>),
}

/// A message of a conversation, or an item of an earlier response that is sent along with it.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Item {
    /// `message` by default.
    #[serde(rename = "type")]
    pub(crate) kind: Option<String>,
    /// Who sends it, if it is a message.
    pub(crate) role: Option<Role>,
    /// Its content.
    pub(crate) content: Option<Content>,
}

/// The parameters of a page of these items.
pub(crate) const INPUT: &[Parameter] = &[
    Parameter("limit", "integer", "Items of a page"),
    Parameter("after", "string", "The id of the last item before the page"),
    Parameter("order", "string", "`desc`, the last first, or `asc`"),
];

/// The items of an input as they are stored: messages in parts, each item with an id, which is made from the
/// response's if the client gave none.
pub(crate) fn input_items(input: Option<&Value>, response: &str) -> Vec<Value> {
    let items = match input {
        Some(Value::String(question)) => vec![json!({ "role": "user", "content": question })],
        Some(Value::Array(items)) => items.clone(),
        _ => Vec::new(),
    };
    let items = items.into_iter().enumerate();
    let items = items.filter_map(|(number, mut item)| {
        let fields = item.as_object_mut()?;
        let kind = fields.entry("type").or_insert_with(|| json!("message"));
        let is_message = kind == "message";
        if !fields.get("id").is_some_and(Value::is_string) {
            let start = if is_message { "msg" } else { "item" };
            fields.insert(
                "id".to_owned(),
                json!(format!("{start}_{response}_{number}")),
            );
        }
        if is_message {
            in_parts(fields);
        }
        Some(item)
    });
    items.collect()
}

/// Splits a message's content into parts.
fn in_parts(message: &mut Map<String, Value>) {
    message.insert("status".to_owned(), json!("completed"));
    let is_answer = message.get("role").is_some_and(|role| role == "assistant");
    let kind = if is_answer {
        "output_text"
    } else {
        "input_text"
    };
    if let Some(content) = message.get_mut("content")
        && let Some(text) = content.as_str()
    {
        *content = json!([{ "type": kind, "text": text }]);
    }
}

/// A tool that may be used.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Tool {
    /// Only `file_search` is understood.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// The corpora to search, by their names; of several, for the most relevant passages of all.
    #[serde(default, deserialize_with = "super::field::or_default")]
    pub(crate) vector_store_ids: Vec<String>,
    /// Passages to retrieve.
    pub(crate) max_num_results: Option<usize>,
    /// Conditions on documents.
    pub(crate) filters: Option<GivenFilter>,
    /// Only `score_threshold` is obeyed: the least relevance of results, from 0 to 1.
    pub(crate) ranking_options: Option<Value>,
}

/// The tool to use.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a text, or an object with a type")]
pub(crate) enum ToolChoice {
    /// `auto`, `required` or `none`.
    Mode(String),
    /// A specific tool.
    Tool {
        /// Only `file_search` is understood.
        #[serde(rename = "type")]
        kind: String,
    },
}

/// A response.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct ResponseObject {
    pub(crate) id: String,
    pub(crate) object: &'static str,
    /// In seconds since 1970 (UTC).
    pub(crate) created_at: u64,
    pub(crate) status: &'static str,
    pub(crate) error: Option<ErrorObject>,
    pub(crate) incomplete_details: Option<IncompleteDetails>,
    pub(crate) instructions: Option<String>,
    pub(crate) max_output_tokens: Option<usize>,
    pub(crate) metadata: Map<String, Value>,
    pub(crate) model: String,
    /// The search, if there was one, and the answer.
    pub(crate) output: Vec<OutputItem>,
    pub(crate) parallel_tool_calls: bool,
    pub(crate) previous_response_id: Option<String>,
    /// Whether it is stored.
    pub(crate) store: bool,
    pub(crate) temperature: Option<f64>,
    pub(crate) tool_choice: &'static str,
    pub(crate) tools: [Offered; 1],
    pub(crate) top_p: Option<f64>,
    pub(crate) truncation: &'static str,
    pub(crate) usage: Option<ResponseUsage>,
    /// How the answer came about, once it is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ken: Option<Trace>,
}

/// Why a response is not complete.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct IncompleteDetails {
    pub(crate) reason: &'static str,
}

/// The search of a corpus, which is the only tool.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Offered {
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    /// The corpora that are searched.
    pub(crate) vector_store_ids: Vec<String>,
}

/// A part of a response.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum OutputItem {
    /// The corpus was searched. Without it the model answered from memory.
    FileSearchCall {
        id: String,
        status: &'static str,
        /// The question as it was searched.
        queries: Vec<String>,
        /// Best first, if requested.
        results: Option<Vec<FileSearchResult>>,
    },
    /// The answer.
    Message {
        id: String,
        status: &'static str,
        role: &'static str,
        content: Vec<OutputPart>,
    },
}

/// A passage that was found.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct FileSearchResult {
    /// The document.
    pub(crate) file_id: String,
    /// Its title, or else its id.
    pub(crate) filename: String,
    /// Comparable within one search only. A neighbor of a passage that was found has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) score: Option<f32>,
    pub(crate) text: String,
    pub(crate) attributes: Map<String, Value>,
}

/// A part of a message.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub(crate) enum OutputPart {
    /// The text of the answer.
    Text(OutputText),
    /// The message if the model wrote no answer.
    Refusal(OutputRefusal),
}

/// The message if the model wrote no answer.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct OutputRefusal {
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    pub(crate) refusal: String,
}

impl OutputPart {
    pub(crate) fn refusal(refusal: String) -> Self {
        let kind = "refusal";
        Self::Refusal(OutputRefusal { kind, refusal })
    }
}

/// The text of an answer.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct OutputText {
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    pub(crate) text: String,
    pub(crate) annotations: Vec<FileCitation>,
    pub(crate) logprobs: [(); 0],
}

impl OutputText {
    pub(crate) fn new(text: String, annotations: Vec<FileCitation>) -> Self {
        Self {
            kind: "output_text",
            text,
            annotations,
            logprobs: [],
        }
    }
}

/// A passage that the answer rests on. Besides OpenAI's fields it has those of a `url_citation`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct FileCitation {
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    /// The document.
    pub(crate) file_id: String,
    /// Its title, or else its id.
    pub(crate) filename: String,
    /// After the last code point of the place where it is named.
    pub(crate) index: usize,
    /// The first code point of that place.
    pub(crate) start_index: usize,
    /// The same as `index`.
    pub(crate) end_index: usize,
    /// The passage, at this server.
    pub(crate) url: String,
}

/// Tokens.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub(crate) struct ResponseUsage {
    /// Read, by all calls of the model.
    pub(crate) input_tokens: usize,
    pub(crate) input_tokens_details: InputDetails,
    /// Written, by all calls of the model.
    pub(crate) output_tokens: usize,
    pub(crate) output_tokens_details: OutputDetails,
    pub(crate) total_tokens: usize,
}

/// Details of the tokens read.
#[derive(Debug, Default, Clone, Copy, Serialize, JsonSchema)]
pub(crate) struct InputDetails {
    /// Not told apart here.
    pub(crate) cached_tokens: usize,
    /// The same.
    pub(crate) cache_write_tokens: usize,
}

/// Details of the tokens written.
#[derive(Debug, Default, Clone, Copy, Serialize, JsonSchema)]
pub(crate) struct OutputDetails {
    /// Not counted separately here.
    pub(crate) reasoning_tokens: usize,
}

/// An event of a stream, named by its `type`, and numbered.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Happening<'a> {
    /// Of the response as a whole.
    Response { response: &'a ResponseObject },
    /// Of one of its items.
    Item {
        output_index: usize,
        item: &'a OutputItem,
    },
    /// Of the search.
    Search {
        output_index: usize,
        item_id: &'a str,
    },
    /// Of the answer's text.
    Text {
        output_index: usize,
        item_id: &'a str,
        content_index: usize,
        #[serde(flatten)]
        what: TextHappening<'a>,
    },
    /// The end of a stream that failed before it was a response.
    Error {
        code: &'a str,
        message: &'a str,
        param: Option<&'a str>,
    },
}

/// What happens to the text, or to the refusal behind it.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum TextHappening<'a> {
    Part {
        part: &'a OutputPart,
    },
    Delta {
        delta: &'a str,
        logprobs: [(); 0],
    },
    Annotation {
        annotation_index: usize,
        annotation: &'a FileCitation,
    },
    Done {
        text: &'a str,
        logprobs: [(); 0],
    },
    RefusalDelta {
        delta: &'a str,
    },
    RefusalDone {
        refusal: &'a str,
    },
}
