//! The routes as OpenAPI describes them.

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::reply::Content;
use super::route::Route;
use crate::wire::query::Parameter;
use crate::wire::refusal::ErrorBody;

/// Collects the schemas of requests and responses.
struct Schemas {
    read: SchemaGenerator,
    written: SchemaGenerator,
}

impl Schemas {
    fn new() -> Self {
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.definitions_path = "/components/schemas".into();
            settings.meta_schema = None;
        });
        Self {
            read: settings.clone().into_generator(),
            written: settings.for_serialize().into_generator(),
        }
    }

    fn operation(&mut self, route: &Route) -> Value {
        let content = (route.replies)(&mut self.written);
        let done = json!({ "200": { "description": "done", "content": content } });
        let mut operation = json!({ "summary": route.summary });
        // The few routes that reply with text say only that.
        if content.get("text/plain").is_some() {
            operation["responses"] = done;
            return operation;
        }
        let names = route.path.split('{').skip(1);
        let names = names.filter_map(|rest| rest.trim_start_matches('*').split('}').next());
        let names = names.map(|name| {
            json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } })
        });
        let query = route
            .query
            .iter()
            .map(|Parameter(name, kind, description)| {
                json!({
                    "name": name, "in": "query", "required": false,
                    "description": description, "schema": { "type": kind },
                })
            });
        operation["parameters"] = names.chain(query).collect();
        operation["responses"] = done;
        let refused = ErrorBody::described(&mut self.written);
        operation["responses"]["default"] = json!({ "description": "refused", "content": refused });
        if let Some(content) = (route.takes)(&mut self.read) {
            operation["requestBody"] = json!({ "required": true, "content": content });
        }
        operation
    }
}

/// The description of those routes that have a summary.
pub(super) fn described(routes: &[Route]) -> Value {
    let mut schemas = Schemas::new();
    let mut paths = Map::new();
    for route in routes.iter().filter(|route| !route.summary.is_empty()) {
        let path = paths.entry(route.path.replace("{*", "{"));
        let operations = path.or_insert_with(|| json!({}));
        operations[route.method.as_str().to_lowercase()] = schemas.operation(route);
    }
    let mut definitions = schemas.read.take_definitions(true);
    definitions.extend(schemas.written.take_definitions(true));
    json!({
        "openapi": "3.1.0",
        "info": { "title": "ken", "version": env!("CARGO_PKG_VERSION") },
        "paths": paths,
        "components": {
            "schemas": definitions,
            "securitySchemes": {
                "key": { "type": "http", "scheme": "bearer" },
                "azure": { "type": "apiKey", "in": "header", "name": "api-key" },
            },
        },
        "security": [{ "key": [] }, { "azure": [] }],
    })
}

#[cfg(test)]
mod tests {
    use super::super::table::routes;
    use super::*;

    /// Every reference in a value.
    fn references(value: &Value, named: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                if let Some(reference) = fields.get("$ref").and_then(Value::as_str) {
                    named.push(reference.to_owned());
                }
                fields.values().for_each(|value| references(value, named));
            }
            Value::Array(values) => values.iter().for_each(|value| references(value, named)),
            _ => {}
        }
    }

    #[test]
    fn all_that_is_referred_to_is_there() {
        let described = described(&routes());
        let mut named = Vec::new();
        references(&described, &mut named);
        assert!(named.len() > 20, "{}", named.len());
        for reference in named {
            let path = reference.strip_prefix('#').unwrap();
            assert!(described.pointer(path).is_some(), "{reference}");
        }
        let strict = &described["components"]["schemas"]["Options"]["additionalProperties"];
        assert_eq!(*strict, false);
    }

    #[test]
    fn every_route_is_described_but_those_of_the_mcp_and_the_console() {
        let described = described(&routes());
        let mut left_out = Vec::new();
        for route in routes() {
            let operations = &described["paths"][route.path.replace("{*", "{")];
            let operation = &operations[route.method.as_str().to_lowercase()];
            if operation.is_null() {
                left_out.push(route.path);
            }
        }
        assert_eq!(left_out, ["/mcp", "/", "/console/{version}/{file}"]);
    }

    #[test]
    fn no_name_stands_for_two_schemas() {
        let mut schemas = Schemas::new();
        for route in routes() {
            schemas.operation(&route);
        }
        let read = schemas.read.take_definitions(true);
        let written = schemas.written.take_definitions(true);
        assert!(read.len() > 5 && written.len() > 15);
        let both: Vec<&String> = read
            .keys()
            .filter(|name| written.contains_key(*name))
            .collect();
        assert!(both.is_empty(), "{both:?}");
    }
}
