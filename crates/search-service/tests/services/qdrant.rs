//! Qdrant, by its client library behind its HTTP API: see `qdrant.py`.

use std::process::{Command, Stdio};

use ken_index::Mode;
use ken_search_service::ServiceError;
use ken_testing::{has, says};
use serde_json::{Value, json};

use crate::started::{Started, free_port, python};
use crate::{DIMENSIONS, Row, check_dense, filters, open, open_with, rows, search};

fn start() -> Started {
    let port = free_port();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/services/qdrant.py");
    let mut command = Command::new(python());
    command
        .arg(script)
        .arg(port.to_string())
        .stderr(Stdio::null());
    Started::new(port, &mut command)
}

fn put(server: &Started, path: &str, body: &Value) {
    let url = format!("http://127.0.0.1:{}/collections/{path}", server.port);
    ureq::put(&url).send(body.to_string()).unwrap();
}

/// As LangChain keeps them: the text beside the metadata.
fn fill(server: &Started, collection: &str, name: Option<&str>, rows: &[Row]) {
    let params = json!({ "size": DIMENSIONS, "distance": "Cosine" });
    let vectors = match name {
        Some(name) => json!({ name: params }),
        None => params,
    };
    put(server, collection, &json!({ "vectors": vectors }));
    let points = rows.iter().map(|row| {
        let vector = match name {
            Some(name) => json!({ name: row.vector }),
            None => json!(row.vector),
        };
        json!({ "id": row.id, "vector": vector, "payload": {
            "page_content": row.text, "title": row.title, "metadata": row.metadata } })
    });
    let points: Vec<Value> = points.collect();
    put(
        server,
        &format!("{collection}/points"),
        &json!({ "points": points }),
    );
}

#[test]
#[ignore = "needs Qdrant's client library: run `cargo xtask test`"]
fn a_collection_is_searched_by_vectors() {
    let server = start();
    let rows = rows();
    fill(&server, "notes", None, &rows);
    fill(&server, "named", Some("small"), &rows);
    let address = |rest: &str| format!("qdrant+http://127.0.0.1:{}/{rest}", server.port);
    for rest in [
        "notes?metadata=metadata",
        "named?vector=small&metadata=metadata",
    ] {
        let service = open(&address(rest)).unwrap();
        assert_eq!(service.passage_count(), Some(rows.len()));
        for texts in [
            &[][..],
            &["lang=en"],
            &["lang!=en"],
            &["tags=Red"],
            &["tags!=Red"],
            &["ok=true"],
            &["lang=x\" or true or \""],
            &["lang=de OR lang=zh"],
            &["NOT lang=de AND EXISTS lang"],
            &["nothing=here"],
        ] {
            check_dense(&service, &rows, &filters(texts), 10);
        }
        // The default mode does everything that the service can.
        let dense = search(&service, "moon", Mode::Dense, 5);
        assert_eq!(search(&service, "moon", Mode::Hybrid, 5), dense);
        let lexical = service.search(&ken_index::Query::new("moon", None), Mode::Lexical, 5);
        assert_eq!(lexical.unwrap_err().kind(), "mode_not_offered");
        let refused = service
            .within(&filters(&["lang^=d"]))
            .map(|_| ())
            .unwrap_err();
        has!(refused, to_string(): format!("{} cannot filter by lang^=d", address(rest)));
    }
    let missing = open(&address("nowhere"))
        .map(|_| ())
        .unwrap_err()
        .to_string();
    says!(missing => "404", "doesn't exist");
    let unnamed = open(&address("named")).map(|_| ()).unwrap_err().to_string();
    assert!(unnamed.ends_with("there are: small"), "{unnamed}");
    let other = open_with(&address("notes"), 4).map(|_| ()).unwrap_err();
    assert!(matches!(
        other,
        ServiceError::OtherDimensions {
            found: DIMENSIONS,
            expected: 4,
            ..
        }
    ));
}
