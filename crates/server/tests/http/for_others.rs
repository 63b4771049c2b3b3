//! Ranking and retrieving for clients that bring texts or queries of their own.

use ken_testing::{cases, extended};
use serde_json::{Value, json};

use crate::fixture::Running;

#[test]
fn texts_are_ranked_by_how_well_they_fit() {
    let server = Running::start();
    let texts = [
        "the boat lies in the harbour",
        "the oil is changed",
        "the oil",
    ];
    let ranked = |more: Value| {
        let body = json!({"model": "ken/reranker", "query": "oil", "documents": texts});
        server.post("/v1/rerank", &extended(body, &more))
    };
    let all = ranked(json!({})).json();
    let places = |answer: &Value| -> Vec<u64> {
        let results = answer["results"].as_array().unwrap().iter();
        results
            .map(|result| result["index"].as_u64().unwrap())
            .collect()
    };
    assert_eq!(places(&all), [2, 1, 0]);
    let scores = all["results"].as_array().unwrap().iter();
    let scores: Vec<f64> = scores
        .map(|result| result["relevance_score"].as_f64().unwrap())
        .collect();
    assert!(scores.is_sorted_by(|a, b| a >= b) && scores[0] <= 1.0 && scores[2] >= 0.0);
    assert_eq!(all["results"][0].get("document"), None);
    // Three texts, each with the query; this embedder counts each as a token.
    assert_eq!(all["usage"]["total_tokens"], 6);
    let best = ranked(json!({"top_n": 1, "return_documents": true})).json();
    assert_eq!(places(&best), [2]);
    assert_eq!(best["results"][0]["document"]["text"], "the oil");
    let plain = json!({"query": "oil", "documents": texts});
    let second = server.post("/v2/rerank", &plain).json();
    assert_eq!(second["results"], all["results"]);
    let objects = ranked(json!({"documents": [{"text": "the oil"}, "a lamp"]}));
    assert_eq!(places(&objects.json()), [0, 1]);
    assert_eq!(
        ranked(json!({"model": "rerank-english"})).code(),
        "model_not_found"
    );
    for wrong in [
        json!({"documents": []}),
        json!({"documents": [""]}),
        json!({"documents": vec!["x"; 1001]}),
        json!({"query": " "}),
    ] {
        assert_eq!(ranked(wrong).code(), "invalid_value");
    }
    // More than are scored at once.
    let many: Vec<String> = (0..40)
        .map(|place| format!("text {place} about oil"))
        .collect();
    let ranked = ranked(json!({"documents": many})).json();
    let mut order = places(&ranked);
    order.sort_unstable();
    assert_eq!(order, (0..40).collect::<Vec<_>>());
}

#[test]
fn search_agents_retrieve_for_many_queries() {
    let server = Running::start();
    let found = |body: Value| server.post("/retrieve", &body);
    let scored = found(json!({"queries": ["chimney", "oil"], "topk": 2, "return_scores": true}));
    let scored = scored.json();
    let lists = scored["result"].as_array().unwrap();
    assert_eq!(lists.len(), 2);
    assert_eq!(lists[0].as_array().unwrap().len(), 2);
    let first = &lists[0][0];
    assert!(first["score"].is_number());
    assert!(
        first["document"]["id"]
            .as_str()
            .unwrap()
            .starts_with("house.md#")
    );
    let contents = first["document"]["contents"].as_str().unwrap();
    let (title, text) = contents.split_once('\n').unwrap();
    assert!(!title.is_empty() && text.to_lowercase().contains("chimney"));
    let plain = found(json!({"queries": ["chimney"], "topk": 1})).json();
    assert_eq!(plain, json!({"result": [[first["document"]]]}));
    let boats = found(json!({"queries": ["boat"], "corpus": "boats"}));
    assert_eq!(boats.status, 200);
    for (wrong, code) in cases![
        json!({"queries": []}) => "invalid_value";
        json!({"queries": [" "]}) => "empty_question";
        json!({"queries": ["x"], "topk": 0}) => "invalid_value";
        json!({"queries": ["x"], "corpus": "none"}) => "unknown_corpus";
    ] {
        assert_eq!(found(wrong).code(), code);
    }
}
