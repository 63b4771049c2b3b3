//! A corpus behind a search service: ken's own server in two of its forms, and a stand-in for Elasticsearch, which no
//! package contains. Services in packages are searched in `crates/search-service/tests`.

use ken_testing::cases;
use serde_json::{Value, json};

use crate::documents::with_notes;
use crate::harness::{Ken, refused, refuses};
use crate::loopback::{Reply, Server};
use crate::serve::Serving;

const QUERY: &str = "Who is the keeper of the Orrin lighthouse?";

fn texts(ken: &Ken, corpus: &str) -> Vec<Value> {
    let results = ken.json(&["search", "--corpus", corpus, "--k", "3", QUERY]);
    let hits = results["hits"].as_array().unwrap().iter();
    hits.map(|hit| hit["text"].clone()).collect()
}

#[test]
#[ignore = "needs the models of KEN_TEST_MODELS"]
fn a_server_of_ken_is_searched_as_the_corpus_behind_it() {
    let ken = with_notes();
    ken.write("ken.toml", "server_data = \"data\"\ncorpus = \"island\"\n");
    let serving = Serving::start(&ken, &[]);
    let expected = texts(&ken, "island");
    let retrieve = format!("retrieve+http://{}/retrieve", serving.address());
    assert_eq!(texts(&ken, &retrieve), expected);
    let made = json!({"name": "made"}).to_string();
    assert_eq!(serving.exchange("POST", "/v1/ken/corpora", &made).0, 201);
    let job = crate::traffic::upload(
        serving.address(),
        "made",
        ("keeper.md", "Ilse Marrow keeps it."),
    );
    crate::traffic::finish(serving.address(), &job.unwrap());
    let store = format!(
        "vector-store+http://{}/v1/vector_stores/made",
        serving.address()
    );
    assert_eq!(texts(&ken, &store), ["Ilse Marrow keeps it."]);

    // Another server in front of it answers, and its citations can be opened.
    let front = Ken::new();
    let settings = format!("corpus = \"{retrieve}\"\npolicy = \"always\"\nk = 2\n");
    front.write("ken.toml", settings);
    let front = Serving::start(&front, &[]);
    let asked = json!({"question": QUERY, "max_tokens": 8, "ken": {"style": "short"}});
    let answer = front.post("/v1/ken/ask", &asked);
    assert_eq!(answer["retrieved"][0]["text"], expected[0]);
    let id = answer["retrieved"][0]["passage_id"]
        .as_str()
        .unwrap()
        .replace('#', "%23");
    let corpus = answer["corpus"]["name"].as_str().unwrap();
    let passage = format!("/v1/ken/corpora/{corpus}/passages/{id}");
    let opened = front.exchange("GET", &passage, "");
    assert_eq!(opened.0, 200, "{}", opened.1);
    assert_eq!(
        front.get("/v1/ken/corpora")["corpora"][0].get("passages"),
        None
    );
    let documents = format!("/v1/ken/corpora/{corpus}/documents");
    assert_eq!(front.exchange("GET", &documents, "").0, 400);
}

/// An index of two documents, in the form of Elasticsearch.
fn elasticsearch() -> Server {
    let hit = |id: &str, text: &str, score: f64| json!({"_id": id, "_score": score, "_source": {"body": text, "year": 1871}});
    Server::start(move |request| {
        if request.authorization.as_deref() != Some("ApiKey key-of-the-index-00") {
            let reason = json!({"type": "security_exception", "reason": "missing authentication"});
            return Reply::status(
                401,
                &json!({"error": {"root_cause": [reason]}, "status": 401}),
            );
        }
        let mapping = json!({"v": {"type": "dense_vector", "dims": 384}});
        match request.path.as_str() {
            "/notes/_count" => Reply::json(&json!({"count": 2})),
            "/notes/_mapping" => {
                Reply::json(&json!({"notes": {"mappings": {"properties": mapping}}}))
            }
            "/notes/_search" => {
                let mut hits = vec![
                    hit("a", "Ilse Marrow keeps it.", 2.0),
                    hit("b", "Seals.", 1.0),
                ];
                if request.body.get("knn").is_some() {
                    hits.reverse();
                }
                Reply::json(&json!({"hits": {"hits": hits}}))
            }
            _ => Reply::text(200, "text/html", "<html>"),
        }
    })
}

#[test]
#[ignore = "needs the models of KEN_TEST_MODELS"]
fn an_index_is_searched_by_words_and_vectors_with_its_own_key() {
    let ken = Ken::new();
    let server = elasticsearch();
    let url = server.url.trim_end_matches("/v1").to_owned();
    let address = |rest: &str| format!("elasticsearch+{url}/{rest}");
    let search = |corpus: &str, more: &[&str]| {
        let mut command =
            ken.command(&[&["search", "--corpus", corpus, "--json", QUERY], more].concat());
        command
            .env("KEN_SEARCH_KEY", "key-of-the-index-00")
            .output()
            .unwrap()
    };
    let corpus = address("notes?text=body&vector=v");
    let found = search(&corpus, &["--filter", "year>=1800"]);
    let found: Value = serde_json::from_slice(&found.stdout).unwrap();
    assert_eq!(found["hits"].as_array().unwrap().len(), 2, "{found}");
    assert_eq!(found["hits"][0]["metadata"], json!({"year": 1871}));
    let requests = server.requests("").into_iter();
    let sent: Vec<Value> = requests.map(|request| request.body).collect();
    let mut queries = sent.iter().filter_map(|body| body.pointer("/query/bool"));
    let words = queries.next().unwrap();
    assert_eq!(words["must"][0]["multi_match"]["query"], QUERY);
    let near = sent.iter().find_map(|body| body.get("knn")).unwrap();
    assert_eq!(near["query_vector"].as_array().unwrap().len(), 384);
    assert_eq!(near["filter"], words["filter"]);

    let cases: [(&str, &[&str], _, _, _); 3] = cases![
        "other" => &[], "not_this_search_service", "Elasticsearch", "beginning";
        "notes?vector=w" => &[], "vector_field_missing", "there are: v", "?vector=NAME";
        "notes" => &["--mode", "dense"], "mode_not_offered", "dense", "?vector=NAME";
    ];
    for (index, flags, kind, message, hint) in cases {
        refused(search(&address(index), flags)).is(kind, message, hint);
    }
    refuses!(ken, &["search", "--corpus", &corpus, QUERY] =>
        "search_service_status", "missing authentication", "KEN_SEARCH_KEY");
}

#[test]
#[ignore = "needs the models of KEN_TEST_MODELS"]
fn what_cannot_be_done_behind_a_service_is_refused() {
    let ken = Ken::new();
    let address = "qdrant+http://127.0.0.1:9/notes";
    for verb in [
        &["corpus", "info"][..],
        &["corpus", "compact"],
        &["ingest", "notes"],
    ] {
        let refused = ken.refusal(&[verb, &["--corpus", address]].concat());
        refused.is("corpus_behind_service", address, "folder");
    }
    let search = ["search", "--corpus", address, "lighthouse"];
    refuses!(ken, &search => "search_service_unreachable", "127.0.0.1:9", "its port");
}
