//! `/openapi.json` is equal to the file `openapi.json` beside this one. If the variable `KEN_UPDATE` is set, the test
//! writes the file instead.

use std::path::Path;

use serde_json::Value;

use crate::fixture::Running;

#[test]
fn the_description_of_the_routes_stays_as_it_is() {
    let response = Running::start().get("/openapi.json");
    let version = format!("\"version\": \"{}\"", env!("CARGO_PKG_VERSION"));
    let described = serde_json::to_string_pretty::<Value>(&response.json()).unwrap() + "\n";
    let described = described.replacen(&version, "\"version\": \"VERSION\"", 1);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/http/openapi.json");
    if std::env::var_os("KEN_UPDATE").is_some() {
        std::fs::write(&path, &described).unwrap();
    }
    let held = std::fs::read_to_string(path).unwrap();
    for (line, (described, held)) in described.lines().zip(held.lines()).enumerate() {
        assert_eq!(described, held, "line {}", line + 1);
    }
    assert_eq!(described.len(), held.len());
}
