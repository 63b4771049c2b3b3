//! The documents of a corpus, and the passages of one.

use ken_testing::has;
use serde_json::{Value, json};

use crate::fixture::Running;
use crate::library::{ingested, send};

const PATH: &str = "/v1/ken/corpora/notes";

fn ids(listed: &Value) -> Vec<&str> {
    let data = listed["data"].as_array().unwrap().iter();
    data.map(|one| one["doc_id"].as_str().unwrap()).collect()
}

#[test]
fn documents_are_listed_in_pages_and_by_how_their_ids_begin() {
    let server = Running::start();
    let all = server.get(&format!("{PATH}/documents?limit=100")).json();
    let all = ids(&all);
    assert!(
        all.contains(&"cars/oil.md") && all.contains(&"house.md"),
        "{all:?}"
    );
    let oldest_first = server
        .get(&format!("{PATH}/documents?limit=100&order=asc"))
        .json();
    assert!(ids(&oldest_first).iter().rev().eq(&all));
    let first = server.get(&format!("{PATH}/documents?limit=1")).json();
    assert_eq!(
        (ids(&first), &first["has_more"]),
        (vec![all[0]], &json!(true))
    );
    let rest = server
        .get(&format!("{PATH}/documents?limit=100&after={}", all[0]))
        .json();
    assert_eq!(ids(&rest), all[1..]);
    let cars = server.get(&format!("{PATH}/documents?prefix=cars/")).json();
    let expected: Vec<&str> = all
        .iter()
        .copied()
        .filter(|id| id.starts_with("cars/"))
        .collect();
    assert_eq!(ids(&cars), expected);
    let oil = cars["data"].as_array().unwrap().iter();
    let oil = oil
        .clone()
        .find(|one| one["doc_id"] == "cars/oil.md")
        .unwrap();
    assert_eq!((&oil["passages"], &oil["pruned"]), (&json!(1), &json!(0)));
    assert!(oil.get("origin").is_none(), "{oil}");
    let none = server.get(&format!("{PATH}/documents?prefix=boats")).json();
    assert_eq!(none["data"], json!([]));
    let unknown = server.get(&format!("{PATH}/documents?name=x"));
    unknown.refuses(400, "unknown_parameter");
    let nowhere = server.get("/v1/ken/corpora/nowhere/documents");
    assert_eq!(nowhere.status, 404);
}

#[test]
fn the_passages_of_a_document_are_read_in_order_and_say_where_they_stand() {
    let server = Running::start();
    let text: String = (0..40)
        .map(|n| {
            format!(
                "## Part {n}\n\nThe tulip number {n} {}\n\n",
                "is planted in November and watered. ".repeat(30)
            )
        })
        .collect();
    let text = format!("---\nurl: https://garden.example/tulips\n---\n# Tulips\n\n{text}");
    ingested(&server, "notes", "tulips.md", &text);
    let path = format!("{PATH}/passages?document=tulips.md");
    let all = server.get(&format!("{path}&limit=100")).json();
    let all = all["data"].as_array().unwrap();
    assert!(all.len() > 20, "{}", all.len());
    for (number, one) in all.iter().enumerate() {
        assert_eq!(one["passage_id"], format!("tulips.md#{number}"));
        has!(one, ["url"]: "https://garden.example/tulips", ["pruned"]: false);
    }
    let inside = all
        .iter()
        .find(|one| !one["text"].as_str().unwrap().starts_with("Part"));
    let inside = inside.unwrap();
    assert!(
        inside["heading"].as_str().unwrap().starts_with("Part"),
        "{inside}"
    );
    let after = server
        .get(&format!("{path}&limit=2&after=tulips.md%230"))
        .json();
    has!(after, ["data"][0]["passage_id"]: "tulips.md#1", ["has_more"]: true);
    has!(after, ["last_id"]: "tulips.md#2");

    let left_out = json!({"passages": [{"passage_id": "tulips.md#1"}]});
    server.post(&format!("{PATH}/prune"), &left_out);
    let pruned = server.get(&format!("{path}&limit=2")).json();
    has!(pruned["data"], [0]["pruned"]: false, [1]["pruned"]: true);
    let listed = server
        .get(&format!("{PATH}/documents?prefix=tulips"))
        .json();
    assert_eq!(listed["data"][0]["pruned"], 1);

    // A page goes on behind a passage that is gone, and not behind that of another document.
    let end = server.get(&format!("{path}&after=tulips.md%23999")).json();
    assert_eq!(end["data"], json!([]));
    for gone in ["none.md%230", "tulips.md", "tulips.md%23x"] {
        let refused = server.get(&format!("{path}&after={gone}"));
        refused.refuses_param(400, "unknown_cursor", "after");
    }

    for (query, status, code) in [
        ("", 400, "missing_parameter"),
        ("?document=none.md", 404, "unknown_document"),
        ("?document=tulips.md&limit=0", 400, "invalid_value"),
    ] {
        let refused = server.get(&format!("{PATH}/passages{query}"));
        refused.refuses_for(&query, status, code);
    }
    // Search results say so, too.
    let found = server
        .post(
            "/v1/ken/search",
            &json!({"query": "tulip number 7", "corpus": "notes"}),
        )
        .json();
    has!(found, ["hits"][0]["url"]: "https://garden.example/tulips");
}

#[test]
fn folders_in_the_names_of_uploads_stay() {
    let server = Running::start();
    let job = ingested(
        &server,
        "notes",
        "garden/beds/tulips.md",
        "The tulips are red.",
    );
    assert_eq!(job["progress"]["added"], 1, "{job}");
    ingested(&server, "notes", "../../outside.md", "The gate is green.");
    ingested(&server, "notes", "/etc/notes.md", "The fence is white.");
    let listed = server.get(&format!("{PATH}/documents?limit=3")).json();
    let mut listed = ids(&listed);
    listed.sort_unstable();
    assert_eq!(listed, ["garden/beds/tulips.md", "notes.md", "outside.md"]);
    for name in ["garden/.git/config.md", "a/..", &"x/".repeat(600)] {
        let refused = send(&server, &format!("{PATH}/documents"), name, "Nothing.");
        refused.refuses_for(&name, 400, "invalid_filename");
    }
}
