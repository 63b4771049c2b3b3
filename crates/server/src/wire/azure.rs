//! Requests as clients of Azure OpenAI address them: they stand for requests to `/v1`.

use axum::http::uri::PathAndQuery;
use axum::http::{Request, Uri};
use percent_encoding::percent_decode_str;

/// Where Azure has OpenAI's API.
const START: &str = "/openai/";

/// The routes that Azure has below the name of a deployment.
const OF_DEPLOYMENT: [&str; 3] = ["chat/completions", "completions", "embeddings"];

/// The model that a request names in its address.
#[derive(Debug, Clone)]
pub(crate) struct Deployment(pub(crate) String);

/// Gives a request that is addressed as on Azure the address of the route that it means, and its deployment as an
/// extension. ken's own routes are not among them.
pub(crate) fn readdress<B>(request: &mut Request<B>) {
    let uri = request.uri().clone();
    let Some((deployment, path)) = uri.path().strip_prefix(START).and_then(meant) else {
        return;
    };
    let query = uri.query().map(|query| format!("?{query}"));
    let address = format!("/v1/{path}{}", query.unwrap_or_default());
    let address = PathAndQuery::try_from(address).ok().and_then(|address| {
        let mut parts = uri.clone().into_parts();
        parts.path_and_query = Some(address);
        Uri::from_parts(parts).ok()
    });
    let Some(address) = address else {
        return;
    };
    *request.uri_mut() = address;
    if let Some(name) = deployment {
        let name = percent_decode_str(name).decode_utf8_lossy().into_owned();
        request.extensions_mut().insert(Deployment(name));
    }
}

/// The deployment, if one is named, and the path below `/v1`.
fn meant(rest: &str) -> Option<(Option<&str>, &str)> {
    let Some(named) = rest.strip_prefix("deployments/") else {
        let path = rest.strip_prefix("v1/").unwrap_or(rest);
        return (!path.starts_with("ken/")).then_some((None, path));
    };
    // The name of a policy holds a slash, so the route is told by the end.
    OF_DEPLOYMENT.into_iter().find_map(|route| {
        let deployment = named.strip_suffix(route)?.strip_suffix('/')?;
        Some((Some(deployment), route))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The address that a request gets, and its deployment.
    fn readdressed(address: &str) -> (String, Option<String>) {
        let mut request = Request::builder().uri(address).body(()).unwrap();
        readdress(&mut request);
        let deployment = request.extensions().get::<Deployment>();
        let name = deployment.map(|deployment| deployment.0.clone());
        (request.uri().to_string(), name)
    }

    #[test]
    fn addresses_of_azure_are_those_of_the_routes_that_they_mean() {
        for (address, meant, deployment) in [
            (
                "/openai/deployments/ken/chat/completions?api-version=2024-10-21",
                "/v1/chat/completions?api-version=2024-10-21",
                Some("ken"),
            ),
            (
                "/openai/deployments/ken/always/chat/completions",
                "/v1/chat/completions",
                Some("ken/always"),
            ),
            (
                "/openai/deployments/ken%2Frouter%400.4/completions",
                "/v1/completions",
                Some("ken/router@0.4"),
            ),
            (
                "/openai/deployments/ken/embedder/embeddings",
                "/v1/embeddings",
                Some("ken/embedder"),
            ),
            ("/openai/v1/responses", "/v1/responses", None),
            (
                "/openai/models?api-version=2024-10-21",
                "/v1/models?api-version=2024-10-21",
                None,
            ),
            (
                "http://localhost:8484/openai/v1/models",
                "http://localhost:8484/v1/models",
                None,
            ),
        ] {
            let expected = (meant.to_owned(), deployment.map(str::to_owned));
            assert_eq!(readdressed(address), expected, "{address}");
        }
    }

    #[test]
    fn other_addresses_stay() {
        for address in [
            "/v1/chat/completions",
            "/openai",
            "/openai/v1/ken/ask",
            "/openai/ken/ask",
            "/openai/deployments/ken/images/generations",
            "/openai/deployments/chat/completions/",
            "/v1/openai/v1/models",
        ] {
            assert_eq!(
                readdressed(address),
                (address.to_owned(), None),
                "{address}"
            );
        }
    }
}
