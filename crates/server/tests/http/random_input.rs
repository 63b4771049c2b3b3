//! Random input, from a seed: bodies of JSON with changes, broken texts of these, paths and queries, and bytes that
//! are hardly HTTP. Whatever it is, the response has the form that clients expect, nothing fails in the server, and
//! the next good request is served.

#![allow(clippy::print_stderr)]

use std::io::Write;
use std::net::Shutdown;
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::{Map, Value, json};

use crate::client::{Response, UPLOAD, connect, exchange, parsed, request, upload_body};
use crate::fixture::{OIL, Running, chat};
use crate::route_table::{Route, Takes, routes};

/// A random element.
fn one<'a, T>(random: &mut StdRng, all: &'a [T]) -> &'a T {
    &all[random.random_range(0..all.len())]
}

/// An unexpected value.
fn strange(random: &mut StdRng) -> Value {
    let texts = [
        "",
        " ",
        "\u{0}",
        "\u{feff}",
        "\u{202e}abc",
        "../../etc/passwd",
        "file:///etc/passwd",
        "http://127.0.0.1:9/x",
        "ken/always",
        "certainty@0.5",
        "certainty@NaN",
        "random:2",
        "always",
        "none",
        "cross-encoder:/etc/passwd",
        "year>=2020",
        "a=b=c",
        "{}",
        "[",
        "\u{1f469}\u{200d}\u{1f680}",
        "%00",
        "'; DROP TABLE",
        "<script>",
        "null",
        "-1",
        OIL,
        "Hi!",
    ];
    match random.random_range(0..16) {
        0 => Value::Null,
        1 => json!(random.random::<bool>()),
        2 => json!(random.random_range(-3..120)),
        3 => json!(u64::MAX),
        4 => json!(i64::MIN),
        5 => json!(1e308),
        6 => json!(5e-324),
        7 => json!(random.random::<f64>()),
        8 => json!("x".repeat(random.random_range(0..3000))),
        9 => {
            let mut deep = json!(1);
            for _ in 0..random.random_range(1..100) {
                deep = json!([deep]);
            }
            deep
        }
        10 => json!([]),
        11 => json!({}),
        12 => json!(vec![one(random, &texts); random.random_range(0..40)]),
        13 => json!({"type": one(random, &texts), "role": "user", "content": one(random, &texts)}),
        _ => json!(one(random, &texts)),
    }
}

/// Parameters of routes, so that they appear more often than by chance.
fn parameters(random: &mut StdRng) -> Map<String, Value> {
    let names = [
        "policy",
        "abstain",
        "corpus",
        "generation",
        "k",
        "mode",
        "filter",
        "rerank",
        "style",
        "trace",
    ];
    let values = [
        json!("certainty@0.5"),
        json!("never"),
        json!("prompt"),
        json!("notes"),
        json!("boats"),
        json!(1),
        json!(100),
        json!("dense"),
        json!("lexical"),
        json!(["year>=2020"]),
        json!("embedder"),
        json!("likelihood"),
        json!("full"),
        json!("short"),
        json!(true),
        json!("uncertainty:margin@0.2"),
        json!("evidence:confidence@-0.4"),
        json!("certainty@0.5+double"),
    ];
    let mut all = Map::new();
    for _ in 0..random.random_range(0..5) {
        let value = match random.random_range(0..3) {
            0 => strange(random),
            _ => one(random, &values).clone(),
        };
        all.insert((*one(random, &names)).to_owned(), value);
    }
    all
}

/// Changes a value somewhere.
fn change(random: &mut StdRng, value: &mut Value) {
    let goes_down = random.random_range(0..3) > 0;
    match value {
        Value::Object(fields) if goes_down && !fields.is_empty() => {
            let names: Vec<String> = fields.keys().cloned().collect();
            let name = one(random, &names).clone();
            match random.random_range(0..8) {
                0 => {
                    fields.remove(&name);
                }
                1 => {
                    let value = strange(random);
                    fields.insert(format!("{name}\u{e9}"), value);
                }
                2 => {
                    fields.insert("ken".to_owned(), Value::Object(parameters(random)));
                }
                3 => {
                    let others = [
                        "stream",
                        "n",
                        "tools",
                        "max_tokens",
                        "temperature",
                        "top_p",
                        "before",
                        "include",
                        "filters",
                        "stream_options",
                        "metadata",
                        "seed",
                        "tool_choice",
                    ];
                    let value = strange(random);
                    fields.insert((*one(random, &others)).to_owned(), value);
                }
                _ => {
                    if let Some(value) = fields.get_mut(&name) {
                        change(random, value);
                    }
                }
            }
        }
        Value::Array(items) if goes_down && !items.is_empty() => {
            let place = random.random_range(0..items.len());
            match random.random_range(0..4) {
                0 => {
                    items.remove(place);
                }
                1 => {
                    let item = items[place].clone();
                    items.resize(items.len() + random.random_range(1..200), item);
                }
                _ => change(random, &mut items[place]),
            }
        }
        value => *value = strange(random),
    }
}

/// Breaks a text here and there.
fn damage(random: &mut StdRng, bytes: &mut Vec<u8>) {
    for _ in 0..random.random_range(1..6) {
        if bytes.is_empty() {
            return;
        }
        let place = random.random_range(0..bytes.len());
        match random.random_range(0..6) {
            0 => bytes.truncate(place),
            1 => bytes[place] = random.random(),
            2 => bytes.insert(place, random.random()),
            3 => {
                bytes.remove(place);
            }
            4 => {
                let end = (place + random.random_range(0..40)).min(bytes.len());
                let piece = bytes[place..end].to_vec();
                bytes.splice(place..place, piece);
            }
            _ => {
                let pieces: [&[u8]; 6] =
                    [b"\\ud800", b"1e999", b"-", b"\"", b"\xf0\x9f", b"\r\n\r\n"];
                bytes.splice(place..place, one(random, &pieces).iter().copied());
            }
        }
    }
}

/// Parts of paths and queries.
fn part(random: &mut StdRng) -> String {
    let parts = [
        "notes",
        "boats",
        "none",
        "..",
        "..%2f..%2fetc",
        "%00",
        "%ff",
        "%",
        "%zz",
        "a%2fb",
        "file-0",
        "req_0",
        "job_0",
        "house.md%230",
        "ken/always",
        "~",
        "*",
        "{id}",
        "\u{e9}",
        "%F0%9F%9A%80",
    ];
    match random.random_range(0..12) {
        0 => "x".repeat(random.random_range(1..5000)),
        _ => (*one(random, &parts)).to_owned(),
    }
}

/// The path of a route with other parts and a query.
fn path(random: &mut StdRng, route: &Route) -> String {
    let mut path = route.example.clone();
    if random.random_range(0..3) == 0 {
        path.clone_from(&route.path);
        while let (Some(start), Some(end)) = (path.find('{'), path.find('}')) {
            path.replace_range(start..=end, &part(random).replace(['{', '}'], "-"));
        }
    }
    if random.random_range(0..3) == 0 {
        let names = [
            "limit",
            "after",
            "order",
            "policy",
            "route",
            "rating",
            "slower_than_ms",
            "filter",
            "x",
        ];
        path.push('?');
        for _ in 0..random.random_range(0..4) {
            let value = match random.random_range(0..3) {
                0 => random.random_range(-2..30).to_string(),
                _ => part(random),
            };
            path += &format!("{}={value}&", one(random, &names));
        }
    }
    // Clients have to escape what is not ASCII; some do not.
    path.replace(' ', "+")
}

/// Checks the form of a response.
pub(crate) fn check(route: &Route, sent: &[u8], response: &Response) {
    let shown = || {
        let sent: String = String::from_utf8_lossy(sent).chars().take(3000).collect();
        format!(
            "{}\n{sent}\n{}",
            route.name(),
            String::from_utf8_lossy(&response.body)
        )
    };
    assert!(response.status < 500, "{} {}", response.status, shown());
    let kind = response.header("content-type").unwrap_or_default();
    match response.status {
        // A head that is not HTTP, or too long, is refused before ken sees it.
        400 | 414 | 431 if response.header("x-request-id").is_none() => {}
        200..=299 => match kind {
            "application/json" => {
                response.json();
            }
            "application/jsonl" => {
                for line in response.text().lines() {
                    serde_json::from_str::<Value>(line).unwrap();
                }
            }
            "text/event-stream" => {
                let text = response.text();
                let ends = [
                    "data: [DONE]\n\n",
                    "event: response.completed",
                    "event: error",
                    "event: response.incomplete",
                ];
                assert!(ends.iter().any(|end| text.contains(end)), "{}", shown());
            }
            _ => assert!(
                response.status == 202 || kind.starts_with("application/openmetrics-text"),
                "{kind} {}",
                shown()
            ),
        },
        _ if route.is_mcp() && response.json()["error"]["code"].is_number() => {}
        400..=499 => {
            assert!(!response.code().is_empty(), "{}", shown());
        }
        status => panic!("{status} {}", shown()),
    }
}

/// A request with something wrong.
fn any(random: &mut StdRng, route: &Route) -> Vec<u8> {
    let path = path(random, route);
    let body = match (route.takes, route.body()) {
        (Takes::File, _) => {
            let mut body = upload_body(&[("a.md", b"A text.")], &[]);
            damage(random, &mut body);
            body
        }
        (_, Some(mut body)) => {
            for _ in 0..random.random_range(0..4) {
                change(random, &mut body);
            }
            let mut text = body.to_string().into_bytes();
            if random.random_range(0..4) == 0 {
                damage(random, &mut text);
            }
            text
        }
        _ => Vec::new(),
    };
    let kinds = [
        "application/json",
        "text/plain",
        UPLOAD,
        "application/json; charset=utf-16",
        "\u{e9}",
    ];
    let kind = match route.takes {
        Takes::File => UPLOAD,
        _ => *one(random, &kinds),
    };
    request(&route.method, &path, &[("content-type", kind)], &body)
}

/// Sends that many bad requests, and as many bytes that are hardly requests.
fn harass(seed: u64, count: usize) {
    let server = Running::keeping(&Default::default());
    let mut random = StdRng::seed_from_u64(seed);
    let routes = routes();
    let started = Instant::now();
    let mut statuses = std::collections::BTreeMap::new();
    for round in 0..count {
        // Routes with a body offer more to break.
        let route = match random.random_range(0..3) {
            0 => one(&mut random, &routes),
            _ => {
                let with_body: Vec<&Route> = routes
                    .iter()
                    .filter(|route| route.body().is_some())
                    .collect();
                *one(&mut random, &with_body)
            }
        };
        let sent = any(&mut random, route);
        let response = exchange(server.address, &sent);
        check(route, &sent, &response);
        *statuses.entry(response.status).or_insert(0_usize) += 1;

        let mut bytes = sent;
        damage(&mut random, &mut bytes);
        let mut stream = connect(server.address);
        let _ = stream.write_all(&bytes);
        let _ = stream.shutdown(Shutdown::Write);
        if round % 8 == 0 {
            let mut said = Vec::new();
            let _ = std::io::Read::read_to_end(&mut stream, &mut said);
            if !said.is_empty() {
                let response = parsed(said);
                assert!(response.status < 500, "{}", String::from_utf8_lossy(&bytes));
            }
        }
        if round % 500 == 499 {
            let answer = server.chat("always", OIL, &json!({}));
            assert_eq!(answer.json()["choices"][0]["message"]["content"], "Ida");
        }
    }
    // Bad input is tried, and not only that.
    for status in [200, 400, 404] {
        assert!(
            statuses.get(&status).is_some_and(|many| *many > count / 50),
            "{statuses:?}"
        );
    }
    let good = request(
        "POST",
        "/v1/chat/completions",
        &[],
        &chat("never", OIL, &json!({})).to_string(),
    );
    assert_eq!(exchange(server.address, &good).status, 200);
    let log = server.log.lock().unwrap();
    // Bad uploads, a server without settings to read again, and work whose client left.
    let own = ["job", "reload"];
    let failed = log.iter().filter(|entry| {
        let is_own = own.contains(&entry["event"].as_str().unwrap());
        !is_own && entry["code"] != "client_gone" && !entry["detail"].is_null()
    });
    let failed: Vec<&Value> = failed.collect();
    assert!(failed.is_empty(), "{failed:?}");
    eprintln!(
        "{count} requests in {:.1?}: {statuses:?}",
        started.elapsed()
    );
}

#[test]
fn what_is_sent_at_random_is_told_what_is_wrong_with_it() {
    harass(11, 2000);
}

/// For as many minutes as `KEN_TEST_MINUTES` says, 5 by default.
#[test]
#[ignore = "takes minutes"]
fn what_is_sent_at_random_is_told_what_is_wrong_with_it_at_length() {
    let minutes = std::env::var("KEN_TEST_MINUTES").map_or(5, |text| text.parse().unwrap());
    let end = Instant::now() + Duration::from_secs(60 * minutes);
    let mut seed = 1000;
    while Instant::now() < end {
        harass(seed, 5000);
        seed += 1;
    }
}
