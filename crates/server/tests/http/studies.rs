//! Studies as the server shows them: which there are, their files as they are, and nothing else of the disk.

use ken_report::{Axis, Cell, Column, Figure, Mark, Point, Report, Section, Series, Table};
use ken_server::Keys;
use ken_testing::{cases, has};
use serde_json::{Value, json};

use crate::fixture::Running;

/// A measure in the form of a report.
fn measure(value: f64) -> Value {
    json!({"value": value, "interval": [value - 0.1, value + 0.1]})
}

/// The report of a study of two models at two scales: the small one is as good as the large one from two
/// shards on.
fn report() -> Value {
    let retrieval = json!({"order": "forward", "pruned": 0.0, "k": 3});
    let series = |model: &str, parameters: u64, em: [f64; 2]| {
        let scales = [1, 2].iter().zip(em);
        let scales: Vec<Value> = scales
            .map(|(n, em)| json!({"n": n, "em": measure(em), "f1": measure(em), "coverage": measure(0.5)}))
            .collect();
        json!({"dataset": "nq", "model": model, "parameters": parameters, "retrieval": retrieval,
            "known": measure(0.125), "scales": scales})
    };
    let by_metric = json!({"em": 2, "f1": 2});
    json!({
        "compensation": [{"dataset": "nq", "smaller": "small", "larger": "large", "n_star": 2,
            "by_metric": by_metric, "missing": [], "retrieval": retrieval}],
        "series": [series("small", 135_000_000, [0.25, 0.5]), series("large", 1_500_000_000, [0.4, 0.6])],
        "missing": [{"dataset": "nq", "model": "large", "condition": {}}],
        "fronts": [], "time": null, "seed": 0,
    })
}

/// A table in the form of a report.
fn table(name: &str, columns: &[&str], rows: Vec<Vec<Cell>>) -> Section {
    let columns = columns.iter().map(|name| Column {
        digits: Some(3),
        has_interval: true,
        ..Column::plain(*name, *name)
    });
    let columns = columns.collect();
    Table {
        name: name.to_owned(),
        columns,
        rows,
    }
    .into()
}

/// The same study as the console draws it: a ring where the small model is as good as the large one.
fn drawn() -> String {
    let axes = || {
        [
            Axis::whole("corpus scale n, shards"),
            Axis::around("exact match"),
        ]
    };
    let lines = || {
        [
            Series::line("small", 0, [(1.0, 0.25), (2.0, 0.5)]),
            Series::line("large", 1, [(1.0, 0.4), (2.0, 0.6)]),
        ]
    };
    let ring = Series {
        mark: Mark::Rings,
        ..Series::dots("n*", [Point::named(2.0, 0.5, "as good")])
    };
    let pairs = ["nq", "small", "large", "forward", "3", "2", "2", "2"]
        .map(Cell::from)
        .to_vec();
    let names = [
        "data set", "smaller", "larger", "shards", "k", "n*", "by EM", "by F1",
    ];
    let em = (Some(0.5), Some([0.4, 0.6])).into();
    let sections = [
        table("n*", &names, vec![pairs]),
        Section::Heading("nq".to_owned()),
        Figure::new(
            "nq-em",
            "exact match by corpus scale",
            axes(),
            lines().into_iter().chain([ring]),
        )
        .into(),
        Figure::new("nq-coverage", "coverage by corpus scale", axes(), lines()).into(),
        table(
            "Measures by scale",
            &["model", "EM"],
            vec![vec!["small".into(), em]],
        ),
    ];
    let mut report = Report::new("Models and corpus scales: sizes", sections);
    report.provenance.insert("seed".to_owned(), "0".to_owned());
    serde_json::to_string(&report).unwrap()
}

/// A comparison of two policies in that form.
fn compared() -> String {
    let rows = vec![
        vec!["always".into(), 0.5.into(), 0.625.into(), 1.0.into()],
        vec!["prompt@0.5".into(), 0.75.into(), Cell::Missing, 0.25.into()],
    ];
    let names = ["policy", "EM", "F1", "retrieves"];
    serde_json::to_string(&Report::new("Compared", [table("Policies", &names, rows)])).unwrap()
}

/// The page of a report, which tries what is forbidden.
pub(crate) const PAGE: &str = "<!doctype html><title>Models and corpus scales: sizes</title>\
    <style>h1{color:rgb(1,2,3)}</style><h1>Sizes</h1><p id=\"told\"></p><script>\
    const told = document.getElementById('told');\
    let kept; try { kept = sessionStorage.length; } catch { kept = 'none'; }\
    told.textContent = `storage: ${kept}, origin: ${origin}`;\
    fetch('/v1/ken/access').then(() => { told.textContent += ', fetched'; }, () => { told.textContent += ', refused'; });\
    </script>";

/// Fills the folder of studies as ken's commands do.
pub(crate) fn fill(server: &Running) {
    let folder = server.folder.path().join("studies");
    let write = |name: &str, text: &str| {
        let file = folder.join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    };
    let manifest = json!({
        "corpus": "/secret/place/notes.ken", "datasets": {"nq": {"file": "/secret/place/nq.jsonl", "questions": 300}},
        "models": {"small": {"reference": "/secret/place/small.gguf", "parameters": 135_000_000},
            "large": {"reference": "/secret/place/large.gguf", "parameters": 1_500_000_000}},
        "conditions": [{"n": 0}, {"n": 1}, {"n": 2}], "policies": [],
    });
    write("sizes/study.json", &manifest.to_string());
    write("sizes/report.json", &report().to_string());
    write("sizes/report.html", PAGE);
    write("sizes/page.json", &drawn());
    write("sizes/cells/secret.jsonl", "{}");
    write("begun/study.json", &manifest.to_string());
    write(
        "compared/policies.csv",
        "policy,n,em,f1,retrieval_ratio\nalways,4,0.5,0.625,1\nprompt@0.5,4,0.75,,0.25\n",
    );
    write("compared/page.json", &compared());
    write("compared/report.html", "<!doctype html><h1>Compared</h1>");
    write("compared/never.jsonl", "{}");
    let records = [
        json!({"settings": {"model": "x"}}),
        json!({"id": "a", "question": "Question 1?", "golden_answers": ["x"],
            "confidence": {"self": 0.25, "corpus": 0.75, "masked": null}, "effect": {"confidence": "beneficial"},
            "greedy": {"self": {"text": "y"}}, "evidence": ["0.md#1"]}),
    ];
    write(
        "known.jsonl",
        &records.map(|record| format!("{record}\n")).concat(),
    );
    write("known.jsonl.html", "<!doctype html><h1>Known</h1>");
    write("keys.json", "{\"keys\": []}");
}

#[test]
fn studies_are_told_with_what_they_measured() {
    let server = Running::showing_studies(&Keys::default());
    assert_eq!(server.get("/v1/ken/studies").json(), json!({"studies": []}));
    fill(&server);
    let listed = server.get("/v1/ken/studies");
    assert!(!listed.text().contains("secret"), "{}", listed.text());
    let listed = listed.json();
    let all = listed["studies"].as_array().unwrap();
    let told: Vec<(&str, &str)> = all
        .iter()
        .map(|file| {
            (
                file["name"].as_str().unwrap(),
                file["kind"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("begun", "study"),
            ("compared", "comparison"),
            ("known.jsonl", "probe"),
            ("sizes", "study")
        ]
    );
    let sizes = &all[3];
    assert_eq!(sizes["datasets"], json!([{"name": "nq", "questions": 300}]));
    assert_eq!(
        sizes["models"],
        json!([{"name": "small", "parameters": 135_000_000}, {"name": "large", "parameters": 1_500_000_000}])
    );
    assert_eq!(
        (&sizes["scales"], &sizes["missing"]),
        (&json!([0, 1, 2]), &json!(1))
    );
    let files = sizes["files"].as_array().unwrap().iter();
    let files: Vec<&str> = files.map(|file| file["name"].as_str().unwrap()).collect();
    assert_eq!(files, ["report.html", "page.json", "report.json"]);
    for file in all {
        assert!(
            file["changed_at"].as_u64().unwrap() > 1_600_000_000,
            "{file}"
        );
    }
    has!(all, [0]["page"]: Value::Null, [0]["files"]: json!([]), [2]["questions"]: 1);
    has!(all, [2]["page"]: "known.jsonl.html");
}

#[test]
fn their_files_are_given_as_they_are_and_pages_stand_alone() {
    let server = Running::showing_studies(&Keys::default());
    fill(&server);
    for (path, kind, starts) in cases![
        "sizes/report.html" => "text/html; charset=utf-8", "<!doctype html>";
        "sizes/report.json" => "application/json", "{\"compensation\"";
        "sizes/page.json" => "application/json", "{\"title\"";
        "compared/policies.csv" => "text/csv; charset=utf-8", "policy,n";
        "known.jsonl/known.jsonl" => "application/jsonl", "{\"settings\"";
        "known.jsonl/known.jsonl.html" => "text/html; charset=utf-8", "<!doctype html><h1>Known";
    ] {
        let file = server.get(&format!("/v1/ken/studies/{path}"));
        assert_eq!(
            (file.status, file.header("content-type")),
            (200, Some(kind)),
            "{path}"
        );
        assert!(file.text().starts_with(starts), "{path}");
        let policy = file.header("content-security-policy").unwrap();
        let parts: Vec<&str> = policy.split("; ").collect();
        for part in [
            "sandbox allow-scripts allow-downloads",
            "default-src 'none'",
            "frame-ancestors 'none'",
            "form-action 'none'",
        ] {
            assert!(parts.contains(&part), "{path}: {part}");
        }
        assert!(!policy.contains("allow-same-origin") && !policy.contains("connect-src"));
        assert_eq!(file.header("x-content-type-options"), Some("nosniff"));
        let shown = if path.ends_with(".html") {
            "inline"
        } else {
            "attachment"
        };
        assert_eq!(file.header("content-disposition"), Some(shown), "{path}");
    }
}

#[test]
fn no_path_leads_out_of_the_folder() {
    let server = Running::showing_studies(&Keys::default());
    fill(&server);
    std::fs::write(
        server.folder.path().join("outside.json"),
        "{\"policies\": [1]}",
    )
    .unwrap();
    for (name, file) in [
        ("sizes", "study.json"),
        ("sizes", "cells/secret.jsonl"),
        ("sizes", "cells"),
        ("sizes", "cells"),
        ("sizes", "cells/"),
        ("sizes", "cells/../study.json"),
        ("sizes", "cells%2f..%2fstudy.json"),
        ("sizes", "..%2fcompared%2freport.html"),
        ("sizes", "%2e%2e%2f%2e%2e%2fkeys.json"),
        ("sizes", "..%5c..%5ckeys.json"),
        ("sizes", "%2fetc%2fpasswd"),
        ("sizes", "report.html%00"),
        ("sizes", "report.html/"),
        ("sizes", "REPORT.HTML"),
        ("compared", "never.jsonl"),
        ("known.jsonl", "..%2fkeys.json"),
        ("known.jsonl", "report.html"),
    ] {
        let refused = server.get(&format!("/v1/ken/studies/{name}/{file}"));
        refused.refuses_for(&format_args!("{name} {file}"), 404, "unknown_file");
    }
    let names = ".. %2e%2e . %2e ..%2f..%2fetc %2fetc sizes%2f sizes%00 sizes%2fcells keys.json \
        ..%2foutside.json none %252e%252e";
    for name in names.split(' ') {
        for file in ["report.html", "passwd", "keys.json"] {
            let refused = server.get(&format!("/v1/ken/studies/{name}/{file}"));
            let code = refused.code();
            assert_eq!(refused.status, 404, "{name} {file}");
            assert!(
                ["unknown_study", "unknown_route"].contains(&code.as_str()),
                "{name} {file}: {code}"
            );
        }
    }
    let none = Running::start().get("/v1/ken/studies");
    none.refuses(404, "no_studies");
    assert!(none.text().contains("the setting studies"));
}
