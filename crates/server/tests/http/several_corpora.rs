//! One search over several corpora: the most relevant passages of all, each with its corpus.

use ken_testing::{cases, extended, has};
use serde_json::{Value, json};

use crate::fixture::{OIL, Running};

const QUESTION: &str = "Who changes the oil of the boat?";

/// The ids of the hits, and their corpora if they name one.
fn found(hits: &Value) -> Vec<(String, Value)> {
    let hits = hits.as_array().unwrap().iter();
    hits.map(|hit| {
        let id = hit["passage_id"].as_str().unwrap().to_owned();
        (id, hit["corpus"].clone())
    })
    .collect()
}

#[test]
fn a_search_finds_the_most_relevant_passages_of_all() {
    let server = Running::start();
    let search = |corpus: Value, k: usize| {
        let body = json!({"query": QUESTION, "corpus": corpus, "k": k});
        server.post("/v1/ken/search", &body).json()
    };
    // The plain way: each corpus searched alone, and all texts ranked.
    let mut alone = Vec::new();
    for name in ["notes", "boats"] {
        alone.extend(search(json!(name), 3)["hits"].as_array().unwrap().clone());
    }
    let texts: Vec<&Value> = alone.iter().map(|hit| &hit["text"]).collect();
    let body = json!({"model": "ken/reranker", "query": QUESTION, "documents": texts});
    let ranked = server.post("/v1/rerank", &body).json();
    let places = ranked["results"].as_array().unwrap().iter();
    let expected: Vec<(Value, Value)> = places
        .map(|one| {
            let at = one["index"].as_u64().unwrap() as usize;
            (
                alone[at]["passage_id"].clone(),
                one["relevance_score"].clone(),
            )
        })
        .collect();
    for k in [1, 3] {
        let both = search(json!(["notes", "boats", "notes"]), k);
        let hits = both["hits"].as_array().unwrap().iter();
        let hits: Vec<(Value, Value)> = hits
            .map(|hit| (hit["passage_id"].clone(), hit["score"].clone()))
            .collect();
        assert_eq!(hits, expected[..k]);
        assert_eq!(found(&both["hits"])[0], ("z#0".to_owned(), json!("boats")));
        has!(both, ["corpus"]["name"]: "notes");
        has!(both, ["other_corpora"]: json!([{"name": "boats", "generation": 1}]));
    }
    // The first is the one named first; a single corpus is searched as usual.
    let both = search(json!(["boats", "notes"]), 1);
    assert_eq!(found(&both["hits"]), [("z#0".to_owned(), Value::Null)]);
    has!(search(json!(["boats"]), 1), ["hits"]: search(json!("boats"), 1)["hits"]);
}

#[test]
fn an_answer_cites_passages_where_they_are() {
    let server = Running::start();
    let ken = json!({"corpus": ["boats", "notes"], "trace": true});
    let chat = server.chat("always", OIL, &json!({ "ken": ken })).json();
    let trace = &chat["ken"];
    has!(trace, ["corpus"]["name"]: "boats", ["other_corpora"][0]["name"]: "notes");
    let oil = ("cars/oil.md#0".to_owned(), json!("notes"));
    assert!(found(&trace["retrieved"]).contains(&oil), "{trace}");
    assert_eq!(trace["citations"][0]["corpus"], "notes");
    let body = json!({
        "model": "ken/always", "input": OIL, "include": ["file_search_call.results"],
        "tools": [{"type": "file_search", "vector_store_ids": ["boats", "notes"]}],
    });
    let response = server.post("/v1/responses", &body).json();
    has!(response, ["tools"][0]["vector_store_ids"]: json!(["boats", "notes"]));
    let results = response["output"][0]["results"].as_array().unwrap();
    assert!(
        results
            .iter()
            .any(|result| result["file_id"] == "cars/oil.md")
    );
    // Both ways to answer name the same place.
    let place = |annotation: &Value| annotation["url"].as_str().map(str::to_owned);
    let cited = chat["choices"][0]["message"]["annotations"]
        .as_array()
        .unwrap();
    let cited: Vec<_> = cited
        .iter()
        .map(|annotation| place(&annotation["url_citation"]))
        .collect();
    let content = &response["output"][1]["content"][0]["annotations"];
    let content: Vec<_> = content.as_array().unwrap().iter().map(place).collect();
    assert_eq!(cited, content);
    let url = "http://localhost/v1/ken/corpora/notes/passages/cars/oil.md%230";
    assert!(cited.contains(&Some(url.to_owned())), "{cited:?}");
    assert_eq!(
        server
            .get(url.trim_start_matches("http://localhost"))
            .status,
        200
    );
}

#[test]
fn what_cannot_be_searched_together_is_refused() {
    let server = Running::start();
    for (more, status, code) in cases![
        json!({"corpus": ["notes", "none"]}) => 404, "unknown_corpus";
        json!({"corpus": ["notes", "boats"], "generation": 1}) => 400, "invalid_value";
        json!({"corpus": [3]}) => 400, "invalid_value";
    ] {
        let body = extended(json!({ "query": QUESTION }), &more);
        let refused = server.post("/v1/ken/search", &body);
        refused.refuses_for(&more, status, code);
    }
    // Without a name, the first corpus is searched.
    let body = json!({"query": QUESTION, "corpus": []});
    has!(server.post("/v1/ken/search", &body).json(), ["corpus"]["name"]: "notes");
}
