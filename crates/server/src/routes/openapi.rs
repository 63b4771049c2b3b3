//! `/openapi.json`: the routes, described from the types that they read and write.

use std::sync::LazyLock;

use axum::body::Bytes;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::service::evals::EvalQuestion;
use crate::wire::access::AccessReport;
use crate::wire::chat::{ChatCompletion, ChatRequest};
use crate::wire::corrections::{Corrected, CorrectionObject, MakeCorrection};
use crate::wire::embeddings::{EmbeddingsRequest, EmbeddingsResponse};
use crate::wire::feedback::{FeedbackRequest, FeedbackResponse};
use crate::wire::files::{
    AttachFile, Deleted, FileObject, MakeVectorStore, SearchVectorStore, VectorStore,
    VectorStoreFile, VectorStoreResults,
};
use crate::wire::guarantee::GuaranteeReport;
use crate::wire::jobs::{CorpusDetails, JobObject, MakeCorpus, Rollback};
use crate::wire::ken::{
    AskRequest, AskResponse, CorpusList, CorpusSummary, KnowsRequest, KnowsResponse,
    PassageResponse, SearchRequest, SearchResponse,
};
use crate::wire::models::{Model, ModelList};
use crate::wire::page::Listed;
use crate::wire::prune::{PruneRequest, PrunedDocumentObject, RestoreRequest};
use crate::wire::refusal::ErrorBody;
use crate::wire::reload::Reloaded;
use crate::wire::responses::{ResponseObject, ResponsesRequest};
use crate::wire::studies::StudyList;
use crate::wire::traces::{MakeEvalQuestion, TraceObject};

/// The description as it is sent. It takes a while to make, and is always the same.
static DESCRIPTION: LazyLock<Bytes> = LazyLock::new(|| {
    // What is serialized here has neither maps with strange keys nor failing parts.
    serde_json::to_vec(&described()).unwrap_or_default().into()
});

/// The description.
pub(crate) async fn document() -> Response {
    let headers = [(header::CONTENT_TYPE, "application/json")];
    (headers, DESCRIPTION.clone()).into_response()
}

/// Collects routes, with the schemas of their types.
struct Routes {
    read: SchemaGenerator,
    written: SchemaGenerator,
    paths: Map<String, Value>,
}

fn content<T: JsonSchema>(schemas: &mut SchemaGenerator) -> Value {
    json!({ "application/json": { "schema": schemas.subschema_for::<T>() } })
}

impl Routes {
    /// A route that takes nothing but its path.
    fn get<R: JsonSchema>(&mut self, path: &str, summary: &str) {
        let operation = self.operation::<R>(path, summary);
        self.add(path, "get", operation);
    }

    /// A route that takes nothing but its path, and gives JSON Lines.
    fn lines<R: JsonSchema>(&mut self, path: &str, summary: &str) {
        let mut operation = self.operation::<R>(path, summary);
        let schema = self.written.subschema_for::<R>();
        let lines = json!({ "application/jsonl": { "schema": schema } });
        operation["responses"]["200"]["content"] = lines;
        self.add(path, "get", operation);
    }

    /// A route that gives a file as it is.
    fn file(&mut self, path: &str, summary: &str) {
        let mut operation = self.operation::<Value>(path, summary);
        operation["responses"]["200"]["content"] = json!({ "*/*": {} });
        self.add(path, "get", operation);
    }

    /// A parameter in the query of a route's address.
    fn parameter(&mut self, path: &str, name: &str, schema: &str, what: &str) {
        let parameter = json!({
            "name": name, "in": "query", "required": false, "description": what,
            "schema": { "type": schema },
        });
        if let Some(list) = self.paths[path]["get"]["parameters"].as_array_mut() {
            list.push(parameter);
        }
    }

    /// A route that takes something away.
    fn delete<R: JsonSchema>(&mut self, path: &str, summary: &str) {
        let operation = self.operation::<R>(path, summary);
        self.add(path, "delete", operation);
    }

    /// A route that does something, and takes nothing but its path.
    fn act<R: JsonSchema>(&mut self, path: &str, summary: &str) {
        let operation = self.operation::<R>(path, summary);
        self.add(path, "post", operation);
    }

    /// A route that takes files.
    fn upload<R: JsonSchema>(&mut self, path: &str, summary: &str) {
        let mut operation = self.operation::<R>(path, summary);
        let file = json!({ "type": "string", "format": "binary" });
        let schema = json!({
            "type": "object",
            "properties": { "file": file, "purpose": { "type": "string" } },
            "required": ["file"],
        });
        let content = json!({ "multipart/form-data": { "schema": schema } });
        operation["requestBody"] = json!({ "required": true, "content": content });
        self.add(path, "post", operation);
    }

    /// A route that takes a body.
    fn post<B: JsonSchema, R: JsonSchema>(&mut self, path: &str, summary: &str) {
        let mut operation = self.operation::<R>(path, summary);
        let content = content::<B>(&mut self.read);
        operation["requestBody"] = json!({ "required": true, "content": content });
        self.add(path, "post", operation);
    }

    fn add(&mut self, path: &str, method: &str, operation: Value) {
        let path = self.paths.entry(path).or_insert_with(|| json!({}));
        path[method] = operation;
    }

    fn operation<R: JsonSchema>(&mut self, path: &str, summary: &str) -> Value {
        let names = path
            .split('{')
            .skip(1)
            .filter_map(|rest| rest.split('}').next());
        let parameters = names.map(|name| {
            json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } })
        });
        let parameters: Vec<Value> = parameters.collect();
        let good = content::<R>(&mut self.written);
        let bad = content::<ErrorBody>(&mut self.written);
        json!({
            "summary": summary,
            "parameters": parameters,
            "responses": {
                "200": { "description": "done", "content": good },
                "default": { "description": "refused", "content": bad },
            },
        })
    }
}

/// A text that is no JSON.
const TEXT: &str = "text/plain";

/// All routes.
fn routes() -> Routes {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut routes = Routes {
        read: settings.clone().into_generator(),
        written: settings.for_serialize().into_generator(),
        paths: Map::new(),
    };
    routes.post::<ChatRequest, ChatCompletion>(
        "/v1/chat/completions",
        "Answer a conversation's last message; with `stream`, as server-sent events",
    );
    routes.post::<ResponsesRequest, ResponseObject>(
        "/v1/responses",
        "Answer a question or a conversation; with `stream`, as named events",
    );
    routes.post::<EmbeddingsRequest, EmbeddingsResponse>("/v1/embeddings", "Embed texts");
    routes.get::<ModelList>("/v1/models", "The policies as models, and the embedder");
    routes.get::<Model>("/v1/models/{id}", "One of them");
    routes.post::<AskRequest, AskResponse>("/v1/ken/ask", "Answer a question with its whole trace");
    routes.post::<SearchRequest, SearchResponse>("/v1/ken/search", "Find passages");
    routes.post::<KnowsRequest, KnowsResponse>(
        "/v1/ken/knows",
        "What the model knows of a question, without answering it",
    );
    let summary = "What the caller may do";
    routes.get::<AccessReport>("/v1/ken/access", summary);
    watching(&mut routes);
    writing(&mut routes);
    routes.get::<CorpusList>("/v1/ken/corpora", "The corpora");
    routes.get::<PassageResponse>("/v1/ken/corpora/{name}/passages/{id}", "A passage");
    for (path, summary) in [
        ("/health", "Whether the server runs; needs no key"),
        ("/ready", "Whether it takes work; needs no key"),
        ("/metrics", "Metrics for Prometheus"),
        ("/openapi.json", "This description"),
    ] {
        let good = json!({ "description": "done", "content": { TEXT: {} } });
        let operation = json!({ "summary": summary, "responses": { "200": good } });
        routes.add(path, "get", operation);
    }
    routes
}

/// Those of the guarantee.
fn watching(routes: &mut Routes) {
    let summary = "Say what is thought of an answer, and what would have been right ones";
    routes.post::<FeedbackRequest, FeedbackResponse>("/v1/ken/feedback", summary);
    let summary = "The guarantee of the policy, and what was found of it since";
    routes.get::<GuaranteeReport>("/v1/ken/guarantee", summary);
    let summary = "Read the settings again, and serve what they name";
    routes.act::<Reloaded>("/v1/ken/reload", summary);
    let traces = "/v1/ken/traces";
    routes.get::<Listed<TraceObject>>(traces, "How the last questions were answered, newest first");
    routes.get::<TraceObject>("/v1/ken/traces/{id}", "How one was");
    let summary = "The questions, as JSON Lines to probe on; where texts are kept";
    routes.lines::<EvalQuestion>("/v1/ken/traces/questions", summary);
    let summary = "What was studied, compared and probed, in the folder of the setting `studies`";
    routes.get::<StudyList>("/v1/ken/studies", summary);
    routes.file("/v1/ken/studies/{name}/{file}", "One of its files");
    let questions = "/v1/ken/evals/questions";
    let summary = "Questions with right answers, as JSON Lines to evaluate on";
    routes.lines::<EvalQuestion>(questions, summary);
    let summary = "Evaluate on the question of a trace from now on, or on another one";
    routes.post::<MakeEvalQuestion, EvalQuestion>(questions, summary);
    routes.delete::<Deleted>("/v1/ken/evals/questions/{id}", "Take it out");
    let corrections = "/v1/ken/corrections";
    let summary = "Of questions, the source that was right, as JSON Lines that a datastore imports";
    routes.lines::<CorrectionObject>(corrections, summary);
    let summary =
        "Say which source was right; a policy datastore that is served votes so from now on";
    routes.post::<MakeCorrection, Corrected>(corrections, summary);
    let summary = "Forget it; what it changed in a datastore stays";
    routes.delete::<Deleted>("/v1/ken/corrections/{id}", summary);
    for (name, schema, what) in [
        ("limit", "integer", "Traces of a page"),
        (
            "after",
            "string",
            "The id of the last trace before the page",
        ),
        ("order", "string", "`desc`, newest first, or `asc`"),
    ] {
        routes.parameter(traces, name, schema, what);
    }
    for path in [traces, "/v1/ken/traces/questions"] {
        for (name, schema, what) in [
            (
                "policy",
                "string",
                "A policy, or a kind of it, as `certainty`",
            ),
            ("route", "string", "`self` or `corpus`"),
            ("corpus", "string", "A corpus, by its name"),
            ("slower_than_ms", "number", "Milliseconds"),
            ("rating", "string", "`good` or `bad`"),
        ] {
            routes.parameter(path, name, schema, what);
        }
    }
}

/// Those of files and changes of corpora.
fn writing(routes: &mut Routes) {
    let files = "/v1/files";
    routes.get::<Listed<FileObject>>(files, "The files that were uploaded");
    routes.upload::<FileObject>(files, "Upload a file, to be put into corpora");
    routes.get::<FileObject>("/v1/files/{id}", "One of them");
    routes.delete::<Deleted>(
        "/v1/files/{id}",
        "Take it out of all corpora, and forget it",
    );
    let stores = "/v1/vector_stores";
    routes.get::<Listed<VectorStore>>(stores, "The corpora as vector stores");
    routes.post::<MakeVectorStore, VectorStore>(stores, "Make a corpus");
    let store = "/v1/vector_stores/{id}";
    routes.get::<VectorStore>(store, "One of them");
    routes.delete::<Deleted>(store, "Remove a corpus that was made here");
    let files = "/v1/vector_stores/{id}/files";
    routes.get::<Listed<VectorStoreFile>>(files, "The files that were put into it");
    routes.post::<AttachFile, VectorStoreFile>(files, "Put a file into it");
    let file = "/v1/vector_stores/{id}/files/{file}";
    routes.get::<VectorStoreFile>(file, "One of them; when it is `completed`, it is searched");
    routes.delete::<Deleted>(file, "Take a file out of it");
    routes.post::<SearchVectorStore, VectorStoreResults>(
        "/v1/vector_stores/{id}/search",
        "Find passages",
    );
    routes.get::<Listed<JobObject>>("/v1/ken/jobs", "Changes of corpora, newest first");
    routes.get::<JobObject>("/v1/ken/jobs/{id}", "One of them");
    let summary = "Cancel it; what it has published stays";
    routes.act::<JobObject>("/v1/ken/jobs/{id}/cancel", summary);
    routes.post::<MakeCorpus, CorpusSummary>("/v1/ken/corpora", "Make a corpus");
    let corpus = "/v1/ken/corpora/{name}";
    routes.get::<CorpusDetails>(corpus, "A corpus with its generations");
    routes.delete::<JobObject>(corpus, "Remove a corpus that was made here");
    let documents = "/v1/ken/corpora/{name}/documents";
    routes.upload::<JobObject>(
        documents,
        "Upload documents; those of known ids are replaced",
    );
    routes.delete::<JobObject>("/v1/ken/corpora/{name}/documents/{id}", "Delete a document");
    routes.post::<Rollback, JobObject>(
        "/v1/ken/corpora/{name}/rollback",
        "Bring an earlier generation back, as a new one",
    );
    let summary = "Leave documents or passages out of every result";
    routes.post::<PruneRequest, JobObject>("/v1/ken/corpora/{name}/prune", summary);
    let summary = "Restore what is left out, by document, passage or reason";
    routes.post::<RestoreRequest, JobObject>("/v1/ken/corpora/{name}/restore", summary);
    let summary = "The documents of which passages are left out, newest first";
    routes.get::<Listed<PrunedDocumentObject>>("/v1/ken/corpora/{name}/pruned", summary);
}

fn described() -> Value {
    let mut routes = routes();
    let mut schemas = routes.read.take_definitions(true);
    schemas.extend(routes.written.take_definitions(true));
    json!({
        "openapi": "3.1.0",
        "info": { "title": "ken", "version": env!("CARGO_PKG_VERSION") },
        "paths": routes.paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": { "key": { "type": "http", "scheme": "bearer" } },
        },
        "security": [{ "key": [] }],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every reference in a value.
    fn references(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                if let Some(reference) = fields.get("$ref").and_then(Value::as_str) {
                    found.push(reference.to_owned());
                }
                fields.values().for_each(|value| references(value, found));
            }
            Value::Array(values) => values.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }

    #[test]
    fn all_that_is_referred_to_is_there() {
        let described = described();
        let mut found = Vec::new();
        references(&described, &mut found);
        assert!(found.len() > 20, "{}", found.len());
        for reference in found {
            let path = reference.strip_prefix('#').unwrap();
            assert!(described.pointer(path).is_some(), "{reference}");
        }
        let strict = &described["components"]["schemas"]["Options"]["additionalProperties"];
        assert_eq!(*strict, false);
    }

    #[test]
    fn no_name_stands_for_two_schemas() {
        let mut routes = routes();
        let read = routes.read.take_definitions(true);
        let written = routes.written.take_definitions(true);
        assert!(read.len() > 5 && written.len() > 15);
        let both: Vec<&String> = read
            .keys()
            .filter(|name| written.contains_key(*name))
            .collect();
        assert!(both.is_empty(), "{both:?}");
    }

    #[test]
    fn every_route_is_described() {
        let routes = include_str!("mod.rs");
        let described = described();
        let paths = described["paths"].as_object().unwrap();
        let named = routes.split(".route(").skip(1);
        let named = named.filter_map(|rest| rest.split('"').nth(1));
        let mut count = 0;
        for path in named.filter(|path| *path != "/mcp") {
            assert!(paths.contains_key(&path.replace("{*", "{")), "{path}");
            count += 1;
        }
        assert_eq!(count, paths.len());
    }
}
