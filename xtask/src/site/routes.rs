//! The page of the server's routes, from its OpenAPI description. The scopes, for which OpenAPI has no place, come
//! from the table in the server's reference, which the server's tests compare with its own.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Map, Value};

use super::schemas;
use crate::tidy::{SourceFile, Tree, inline_code};

const DESCRIPTION: &str = "crates/server/tests/http/openapi.json";
const REFERENCE: &str = "docs/reference/server.md";
const PAGE: &str = "docs/reference/server-routes.md";

const OPENING: &str = "# Routes of the server

Made from the server's description of itself, `GET /openapi.json`. [The server](server.md) says what a route is for and what
its answers mean. Every route that refuses a request answers with an [ErrorBody](#errorbody).
";

/// The areas and how the paths of their routes begin. A route belongs to the first that fits.
const AREAS: &[(&str, &str)] = &[
    ("ken's own", "/v1/ken/"),
    ("OpenAI's API and its relatives", "/v1/"),
    ("Others", "/"),
];

/// A route in the description.
struct Route<'a> {
    /// In capitals.
    method: String,
    path: &'a str,
    scope: &'a str,
    operation: &'a Value,
}

/// The page, from the files of the repository.
pub(super) fn page(root: &Path, tree: &Tree) -> Result<SourceFile> {
    let text = fs::read_to_string(root.join(DESCRIPTION))
        .with_context(|| format!("cannot read {DESCRIPTION}"))?;
    let description: Value = serde_json::from_str(&text).context("the description is no JSON")?;
    let reference = tree.text(REFERENCE).context("no reference of the server")?;
    Ok(SourceFile {
        path: PAGE.to_owned(),
        text: write(&description, reference)?,
    })
}

fn write(description: &Value, reference: &str) -> Result<String> {
    let routes = routes(description, &scopes(reference))?;
    let area = |route: &Route<'_>| {
        AREAS
            .iter()
            .position(|(_, start)| route.path.starts_with(start))
    };
    let mut text = String::from(OPENING);
    for (index, (name, _)) in AREAS.iter().enumerate() {
        text.push_str(&format!(
            "\n## {name}\n\n| route | what it does | scope |\n|---|---|---|\n"
        ));
        for route in routes.iter().filter(|route| area(route) == Some(index)) {
            text.push_str(&row(route));
        }
    }
    text.push_str("\n## Requests and responses\n");
    for route in &routes {
        text.push_str(&section(route));
    }
    text.push_str("\n## Objects\n");
    for (name, schema) in members(&description["components"]["schemas"]) {
        text.push_str(&format!("\n### {name} {{#{}}}\n\n", schemas::anchor(name)));
        text.push_str(&schemas::described(schema));
    }
    Ok(text)
}

fn routes<'a>(
    description: &'a Value,
    scopes: &BTreeMap<String, &'a str>,
) -> Result<Vec<Route<'a>>> {
    let mut routes = Vec::new();
    for (path, operations) in members(&description["paths"]) {
        for (method, operation) in members(operations) {
            let method = method.to_uppercase();
            let scope = scopes
                .get(&format!("{method} {path}"))
                .with_context(|| format!("{REFERENCE} has no row for {method} {path}"))?;
            routes.push(Route {
                method,
                path,
                scope,
                operation,
            });
        }
    }
    Ok(routes)
}

/// The scope of each `METHOD PATH`: the last cell of its row in the reference.
fn scopes(reference: &str) -> BTreeMap<String, &str> {
    let mut scopes = BTreeMap::new();
    let mut above = "";
    for line in reference.lines().filter(|line| line.starts_with("| `")) {
        let mut cells = line.trim_matches('|').split(" | ");
        let named = cells.next().unwrap_or_default();
        let scope = match cells.last().unwrap_or_default().trim() {
            "likewise" => above,
            scope => scope,
        };
        above = scope;
        for code in inline_code(named) {
            let (methods, path) = code.rsplit_once(' ').unwrap_or_default();
            for method in methods.split(", ") {
                scopes.insert(format!("{method} {path}"), scope);
            }
        }
    }
    scopes
}

/// A row of an area's table; a path may break at its slashes.
fn row(route: &Route<'_>) -> String {
    let Route {
        method,
        path,
        scope,
        ..
    } = route;
    let anchor = anchor(route);
    let summary = schemas::cell(&route.operation["summary"]);
    let path = path.replace('/', "<wbr>/");
    format!("| [<code>{method} {path}</code>](#{anchor}) | {summary} | {scope} |\n")
}

/// The request and the response of a route.
fn section(route: &Route<'_>) -> String {
    let Route { method, path, .. } = route;
    let anchor = anchor(route);
    let summary = schemas::cell(&route.operation["summary"]);
    let mut text = format!("\n### {method} {path} {{#{anchor}}}\n\n{summary}.\n");
    let parameters = route.operation["parameters"].as_array();
    for (index, parameter) in parameters.into_iter().flatten().enumerate() {
        if index == 0 {
            text.push('\n');
        }
        text.push_str(&item(parameter));
    }
    for (media, content) in members(&route.operation["requestBody"]["content"]) {
        let schema = &content["schema"];
        match schema["properties"].is_object() {
            true => text.push_str(&format!(
                "\nBody, `{media}`:\n\n{}",
                schemas::described(schema)
            )),
            false => text.push_str(&format!("\nBody: {}\n", schemas::kind(schema))),
        }
    }
    for (media, content) in members(&route.operation["responses"]["200"]["content"]) {
        match content["schema"]["$ref"].is_string() {
            true => text.push_str(&format!(
                "\nResponse: {}\n",
                schemas::kind(&content["schema"])
            )),
            false => text.push_str(&format!("\nResponse: `{media}`\n")),
        }
    }
    text
}

/// A parameter of the path or the query.
fn item(parameter: &Value) -> String {
    let part = |key: &str| schemas::cell(&parameter[key]);
    let kind = schemas::kind(&parameter["schema"]);
    let description = match part("description") {
        description if description.is_empty() => description,
        description => format!(": {description}"),
    };
    format!(
        "- `{}` in the {}, {kind}{description}\n",
        part("name"),
        part("in")
    )
}

/// The anchor of a route's section.
fn anchor(route: &Route<'_>) -> String {
    let words = format!("{} {}", route.method, route.path).to_lowercase();
    let parts = words.split(|sign: char| !sign.is_ascii_alphanumeric());
    let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    parts.join("-")
}

/// The members of an object, in their order; none for anything else.
fn members(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let members = value.as_object().into_iter().flat_map(Map::iter);
    members.map(|(name, member)| (name.as_str(), member))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const TABLE: &str = "| route | what it does | scope |\n|---|---|---|\n\
        | `POST /v1/ken/ask` | asks | `ask` |\n\
        | `GET, DELETE /v1/files/{id}`, `GET /health` | files, `a` | `write` for some |\n\
        | `GET /ready` | is ready | likewise |\n";

    #[test]
    fn scopes_are_the_last_cells() {
        let scopes = scopes(TABLE);
        let of = |route: &str| scopes[route];
        assert_eq!(of("POST /v1/ken/ask"), "`ask`");
        assert_eq!(of("GET /v1/files/{id}"), "`write` for some");
        assert_eq!(of("DELETE /v1/files/{id}"), "`write` for some");
        assert_eq!(of("GET /ready"), of("GET /health"));
        assert_eq!(scopes.len(), 5);
    }

    fn description(path: &str) -> Value {
        let body = json!({"application/json": {"schema": {"$ref": "#/components/schemas/Asked"}}});
        let parameter = json!({"name": "limit", "in": "query", "description": "How many", "schema": {"type": "integer"}});
        json!({
            "paths": {path: {"post": {
                "summary": "Ask",
                "parameters": [parameter],
                "requestBody": {"content": body},
                "responses": {"200": {"content": {"text/plain": {}}}},
            }}},
            "components": {"schemas": {"Asked": {"type": "object", "description": "A question."}}},
        })
    }

    #[test]
    fn a_route_has_a_row_and_a_section() {
        let page = write(&description("/v1/ken/ask"), TABLE).unwrap();
        for part in [
            "## ken's own\n\n| route | what it does | scope |\n|---|---|---|\n\
             | [<code>POST <wbr>/v1<wbr>/ken<wbr>/ask</code>](#post-v1-ken-ask) | Ask | `ask` |\n",
            "### POST /v1/ken/ask {#post-v1-ken-ask}\n\nAsk.\n\n- `limit` in the query, integer: How many\n\n\
             Body: [Asked](#asked)\n\nResponse: `text/plain`\n",
            "### Asked {#asked}\n\nA question.\n",
        ] {
            assert!(page.contains(part), "{part}\nis not in\n{page}");
        }
    }

    #[test]
    fn a_route_without_a_scope_is_an_error() {
        assert!(write(&description("/v1/new"), TABLE).is_err());
    }
}
