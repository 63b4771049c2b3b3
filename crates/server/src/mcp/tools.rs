//! The tools: what each takes and returns, as schemas made from its types, and calling it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::progress::Progress;
use crate::access::keys::Scope;
use crate::routes::address::Addresses;
use crate::routes::{ask, corpora, knows, search};
use crate::service::answers::{AnswerEvent, Request};
use crate::service::resources::Served;
use crate::wire::body;
use crate::wire::ken::{
    AskRequest, AskResponse, KnowsRequest, KnowsResponse, Options, SearchRequest,
};
use crate::wire::refusal::Refusal;
use crate::wire::texts::Texts;

/// The default for the most tokens of texts that a tool returns.
const TOKENS: usize = 4000;

/// The shortest time between two messages that an answer goes on.
const OFTEN: Duration = Duration::from_secs(1);

/// A query.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SearchArguments {
    /// What to find.
    query: String,
    /// The corpus, by its name; by default the first.
    corpus: Option<String>,
    /// How many passages, 10 by default.
    k: Option<usize>,
    /// Conditions on the metadata of documents, such as `year>=2020 AND lang IN (de, fr)`.
    filter: Option<String>,
    /// The most tokens of all texts together, 4000 by default; further texts are left out.
    max_tokens: Option<usize>,
}

/// The search results, best first.
#[derive(Debug, Serialize, JsonSchema)]
struct SearchResults {
    results: Vec<FoundPassage>,
}

/// A passage.
#[derive(Debug, Serialize, JsonSchema)]
struct FoundPassage {
    /// The id by which to fetch it.
    id: String,
    /// The document's title, or else its id, with the page if there are pages.
    title: String,
    /// The headings over the passage, from the outermost.
    #[serde(skip_serializing_if = "String::is_empty")]
    heading: String,
    /// Where it can be read.
    url: String,
    /// The text, if it fits.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

/// A passage to read.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FetchArguments {
    /// As `search` gives it.
    id: String,
    /// The most tokens of its text, 4000 by default; the rest is cut.
    max_tokens: Option<usize>,
}

/// A passage.
#[derive(Debug, Serialize, JsonSchema)]
struct Fetched {
    id: String,
    /// The document's title, or else its id, with the page if there are pages.
    title: String,
    /// The headings over the passage, from the outermost.
    #[serde(skip_serializing_if = "String::is_empty")]
    heading: String,
    text: String,
    /// Where it can be read.
    url: String,
    /// The document's metadata.
    metadata: Map<String, Value>,
}

/// A question.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AskArguments {
    /// The question, complete in itself.
    question: String,
    /// The corpus, by its name; by default the first.
    corpus: Option<String>,
    /// When to retrieve, such as `always`; by default as the server does.
    policy: Option<String>,
    /// The longest answer, in tokens.
    max_tokens: Option<usize>,
}

/// A question.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct KnowsArguments {
    /// The question, complete in itself.
    question: String,
    /// The policy by which to judge it; by default that of the server.
    policy: Option<String>,
    /// Unused, since no result is long; accepted so that every tool takes it.
    #[serde(rename = "max_tokens")]
    _max_tokens: Option<usize>,
}

/// All tools.
pub(super) fn described() -> Value {
    json!([
        tool::<SearchArguments, SearchResults>(
            "search",
            "Search the documents",
            "Find passages in the user's documents",
        ),
        tool::<FetchArguments, Fetched>(
            "fetch",
            "Read a passage",
            "Read a passage that `search` found",
        ),
        tool::<AskArguments, AskResponse>(
            "ask",
            "Answer a question",
            "Answer a question from what the model knows or from the user's documents, whichever is \
             better, with citations and the reason",
        ),
        tool::<KnowsArguments, KnowsResponse>(
            "knows",
            "Does the model know it?",
            "How likely the model answers a question right without any search",
        ),
    ])
}

fn tool<A: JsonSchema, R: JsonSchema>(name: &str, title: &str, description: &str) -> Value {
    let arguments = settings().with_transform(RecursiveTransform(without_null));
    let arguments: Schema = arguments.into_generator().into_root_schema_for::<A>();
    let returned = settings().for_serialize().into_generator();
    json!({
        "name": name,
        "title": title,
        "description": description,
        "inputSchema": arguments,
        "outputSchema": returned.into_root_schema_for::<R>(),
        "annotations": { "readOnlyHint": true, "openWorldHint": false },
    })
}

fn settings() -> SchemaSettings {
    let settings = SchemaSettings::draft2020_12();
    settings.with_transform(RecursiveTransform(|schema: &mut Schema| {
        // Formats of Rust's numbers, which JSON Schema does not have and of which clients warn.
        schema.remove("format");
    }))
}

/// Gives optional fields a single type: some clients read no unions, and null need not be sent.
fn without_null(schema: &mut Schema) {
    let Some(Value::Array(types)) = schema.get("type") else {
        return;
    };
    let mut types: Vec<Value> = types
        .iter()
        .filter(|kind| *kind != "null")
        .cloned()
        .collect();
    if types.len() == 1 {
        schema.insert("type".to_owned(), types.remove(0));
    }
}

/// Calls a tool; `None` if there is none of this name. A failure is a result too, since the model can do something
/// about it.
pub(super) async fn call(
    served: &Arc<Served>,
    request: &Request,
    addresses: &Addresses,
    (name, arguments): (&str, Value),
    progress: &Progress,
) -> Option<Value> {
    let scope = match name {
        "search" | "fetch" => Scope::Search,
        "ask" | "knows" => Scope::Ask,
        _ => return None,
    };
    progress.step("begun");
    let called = match (request.caller.may(scope), name) {
        (Err(refusal), _) => Err(refusal),
        (_, "search") => structured(find(served, request, addresses, arguments).await),
        (_, "fetch") => structured(fetch(served, request, addresses, arguments).await),
        (_, "ask") => structured(answer(served, request, arguments, progress).await),
        _ => structured(judge(served, request, arguments).await),
    };
    Some(called.unwrap_or_else(|refusal| {
        let text = format!("{}: {}", refusal.code(), refusal.message());
        json!({ "content": [{ "type": "text", "text": text }], "isError": true })
    }))
}

/// A value as structure, and as text for clients that read only that.
fn structured<T: Serialize>(value: Result<T, Refusal>) -> Result<Value, Refusal> {
    let value = serde_json::to_value(value?);
    let value = value.map_err(|error| Refusal::failed(&std::io::Error::other(error)))?;
    let text = value.to_string();
    Ok(json!({
        "content": [{ "type": "text", "text": text }],
        "structuredContent": value,
    }))
}

/// The arguments that are numbers, which some clients send as text.
const NUMBERS: [&str; 2] = ["k", "max_tokens"];

fn taken<T: DeserializeOwned>(arguments: Value) -> Result<T, Refusal> {
    let mut arguments = whole(arguments);
    for name in NUMBERS {
        let text = arguments.get(name).and_then(Value::as_str);
        if let Some(number) = text.and_then(|text| text.trim().parse::<u64>().ok()) {
            arguments[name] = number.into();
        }
    }
    body::value(arguments.to_string().as_bytes())
}

/// A value in which numbers without a fraction are integers, as they are for JSON Schema: 10.0 is 10.
fn whole(value: Value) -> Value {
    match value {
        Value::Number(number) => match number.as_f64() {
            Some(float)
                if number.is_f64() && float.fract() == 0.0 && (0.0..9e15).contains(&float) =>
            {
                Value::from(float as u64)
            }
            _ => Value::Number(number),
        },
        Value::Array(values) => values.into_iter().map(whole).collect(),
        Value::Object(fields) => {
            let fields = fields.into_iter();
            fields.map(|(name, value)| (name, whole(value))).collect()
        }
        other => other,
    }
}

async fn find(
    served: &Arc<Served>,
    request: &Request,
    addresses: &Addresses,
    arguments: Value,
) -> Result<SearchResults, Refusal> {
    let asked: SearchArguments = taken(arguments)?;
    let searched = SearchRequest {
        query: asked.query,
        corpus: asked.corpus.map(Texts::One),
        generation: None,
        k: asked.k,
        mode: None,
        filter: asked.filter.into_iter().collect(),
        rerank: None,
    };
    let response = search::find(served, searched, request).await?;
    let corpus = &response.corpus.name;
    let mut left = asked.max_tokens.unwrap_or(TOKENS);
    let mut results = Vec::with_capacity(response.hits.len());
    for hit in response.hits {
        let tokens = count(served, &hit.text)?;
        let fits = tokens <= left;
        left = if fits { left - tokens } else { 0 };
        results.push(FoundPassage {
            id: format!("{corpus}/{}", hit.passage_id),
            url: addresses.passage(corpus, &hit.passage_id, &hit.location),
            title: hit.location.named(&hit.title, &hit.doc_id),
            heading: hit.location.heading,
            text: fits.then_some(hit.text),
        });
    }
    Ok(SearchResults { results })
}

async fn fetch(
    served: &Arc<Served>,
    request: &Request,
    addresses: &Addresses,
    arguments: Value,
) -> Result<Fetched, Refusal> {
    let asked: FetchArguments = taken(arguments)?;
    let Some((corpus, passage)) = asked.id.split_once('/') else {
        return Err(Refusal::invalid("id", "an id is CORPUS/PASSAGE"));
    };
    let (name, passage) = (corpus.to_owned(), passage.to_owned());
    let response = corpora::read(served, name, passage, request).await?;
    let most = asked.max_tokens.unwrap_or(TOKENS);
    Ok(Fetched {
        url: addresses.passage(corpus, &response.passage_id, &response.location),
        title: response.location.named(&response.title, &response.doc_id),
        heading: response.location.heading,
        text: cut(served, response.text, most)?,
        metadata: response.metadata,
        id: asked.id,
    })
}

async fn answer(
    served: &Arc<Served>,
    request: &Request,
    arguments: Value,
    progress: &Progress,
) -> Result<AskResponse, Refusal> {
    let asked: AskArguments = taken(arguments)?;
    let asked = AskRequest {
        question: asked.question,
        before: Vec::new(),
        max_tokens: asked.max_tokens,
        temperature: None,
        seed: None,
        ken: Options {
            policy: asked.policy,
            corpus: asked.corpus.map(Texts::One),
            trace: Some(false),
            ..Options::default()
        },
    };
    let mut last = Instant::now();
    let watch = |event: &AnswerEvent| match event {
        AnswerEvent::Retrieved(_) => progress.step("passages are found"),
        AnswerEvent::Begun(_) => progress.step("the answer is begun"),
        AnswerEvent::Text(_) if last.elapsed() >= OFTEN => {
            last = Instant::now();
            progress.step("the answer goes on");
        }
        _ => {}
    };
    ask::answer(served, asked, request.clone(), watch).await
}

async fn judge(
    served: &Arc<Served>,
    request: &Request,
    arguments: Value,
) -> Result<KnowsResponse, Refusal> {
    let asked: KnowsArguments = taken(arguments)?;
    let asked = KnowsRequest {
        question: asked.question,
        policy: asked.policy,
    };
    knows::judge(served, asked, request).await
}

fn count(served: &Served, text: &str) -> Result<usize, Refusal> {
    let tokens = served.pipeline.model.count_tokens(text);
    tokens.map_err(|error| Refusal::of_model(&error))
}

/// The longest start of a text with at most this many tokens, cut at the end of a word.
fn cut(served: &Served, text: String, most: usize) -> Result<String, Refusal> {
    // A token has at least one byte.
    if text.len() <= most || count(served, &text)? <= most {
        return Ok(text);
    }
    let ends: Vec<usize> = text
        .match_indices(char::is_whitespace)
        .map(|(at, _)| at)
        .collect();
    let (mut fits, mut too_long) = (0, ends.len());
    while fits < too_long {
        let middle = (fits + too_long) / 2;
        match count(served, &text[..ends[middle]])? <= most {
            true => fits = middle + 1,
            false => too_long = middle,
        }
    }
    let end = fits.checked_sub(1).map_or(0, |last| ends[last]);
    Ok(text[..end].to_owned())
}
