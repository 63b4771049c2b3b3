//! What people do in the console, in a real browser.

use std::sync::atomic::Ordering;

use ken_server::{Keys, Scope};
use ken_testing::{TableModel, has};
use serde_json::json;

use super::chromium::Chromium;
use crate::fixture::{FRANCE, LIMITS, OIL, Running, facts, grant, wait_for};
use crate::watch::watched;

pub(super) const DESKTOP: (u32, u32) = (1280, 900);
pub(super) const PHONE: (u32, u32) = (390, 844);

/// A browser of a size at a page of a server.
pub(super) fn at(server: &Running, (width, height): (u32, u32), page: &str) -> Chromium {
    let mut browser = Chromium::start(width, height);
    browser.visit(&format!("http://{}/{page}", server.address));
    browser
}

/// Checks that nothing went wrong, and that everything that can be operated has a name.
pub(super) fn is_sound(browser: &mut Chromium) {
    assert_eq!(browser.wrong(&[]), [""; 0]);
    assert_eq!(browser.nameless(), [""; 0]);
}

#[test]
fn documents_come_and_go() {
    let server = Running::start();
    let mut browser = at(&server, DESKTOP, "#documents");
    browser.sees("boats");
    browser.write("textbox", "New corpus", "garden");
    browser.click("button", "Create");
    browser.sees("Documents of garden");
    let file = server.folder.path().join("tulips.md");
    std::fs::write(&file, "# Tulips\n\nThe tulips are planted in November.\n").unwrap();
    browser.choose_files("Add files", &[&file]);
    browser.sees("searched as of generation 1: 1 added, 0 replaced, 0 unchanged");
    browser.write("searchbox", "Query", "tulips in November");
    browser.click("button", "Search");
    browser.sees("1 passage of generation 1");
    browser.click("button", "Tulips");
    browser.sees("tulips.md#0 in garden, generation 1");
    browser.picture("found");
    browser.click("button", "Close");
    browser.click("button", "Read tulips.md");
    browser.sees("The tulips are planted in November.");
    browser.click("button", "Close");
    browser.click("button", "Delete tulips.md");
    browser.click("button", "Delete it");
    browser.sees("tulips.md is deleted as of generation 2.");
    browser.click("button", "Bring back generation 1");
    browser.sees("Generation 1 is back, as generation 3.");
    browser.picture("corpora");
    browser.click("button", "Remove this corpus …");
    browser.click("button", "Cancel");
    browser.sees("Documents of garden");
    browser.click("button", "Remove this corpus …");
    browser.click("button", "Remove");
    browser.sees("garden is removed.");
    browser.sees("Documents of notes");
    is_sound(&mut browser);
    // The server agrees with what a person sees.
    let corpora = server.get("/v1/ken/corpora").json();
    assert_eq!(corpora["corpora"].as_array().unwrap().len(), 2);
}

#[test]
fn documents_are_pruned_and_restored() {
    let server = Running::start();
    let mut browser = at(&server, DESKTOP, "#documents");
    browser.sees("Nothing is pruned.");
    browser.write("textbox", "Prune a document", "house.md");
    browser.write("textbox", "Reason", "out of date");
    browser.click("button", "Prune");
    browser.sees("house.md is pruned as of generation 2.");
    browser.sees("1 of 3 passages (33.3%) is pruned: left out of every result");
    // As `ken prune apply --dry-run --out` writes it.
    let plan = server.folder.path().join("plan.jsonl");
    let line =
        |id: &str, score| json!({"passage_id": id, "score": score, "reason": "ken prune: pruner"});
    let lines = format!(
        "{}\n{}\n",
        line("cars/oil.md#0", 0.9),
        line("cars/tires.md#0", 0.7)
    );
    std::fs::write(&plan, &lines).unwrap();
    browser.choose_files("Plan of ken prune", &[&plan]);
    browser.click("button", "Apply");
    browser.sees("2 passages are pruned as of generation 3.");
    browser.sees("0.7 – 0.9");
    browser.picture("pruned");
    browser.click("button", "Undo ken prune: pruner");
    browser.sees("2 passages of “ken prune: pruner” are back as of generation 4.");
    browser.click("button", "Restore house.md");
    browser.sees("house.md is back as of generation 5.");
    browser.sees("Nothing is pruned.");
    is_sound(&mut browser);
    // A refusal says why.
    std::fs::write(&plan, format!("{lines}nonsense")).unwrap();
    browser.choose_files("Plan of ken prune", &[&plan]);
    browser.click("button", "Apply");
    browser.sees("Line 3 names no passage.");
    browser.write("textbox", "Prune a document", "none.md");
    browser.click("button", "Prune");
    browser.sees("the corpus holds no document \"none.md\"");
    assert_eq!(browser.wrong(&[404]), [""; 0]);
    let corpus = server.get("/v1/ken/corpora/notes").json();
    has!(corpus, ["generation"]: 5, ["passages"]: 3);
}

#[test]
fn an_upload_is_cancelled_and_one_that_goes_on_is_found_again() {
    let server = Running::start();
    let mut browser = at(&server, DESKTOP, "#documents/boats");
    let file = server.folder.path().join("sails.txt");
    std::fs::write(&file, "The sails of the boat are red.").unwrap();
    server.holding.held.store(true, Ordering::SeqCst);
    browser.choose_files("Add files", &[&file]);
    browser.sees("running");
    // Another visit finds it.
    browser.visit(&format!("http://{}/?again#documents/boats", server.address));
    browser.sees("ingest");
    browser.sees("running");
    browser.picture("running");
    browser.click("button", "Cancel");
    browser.sees("cancelled");
    server.holding.held.store(false, Ordering::SeqCst);
    let corpus = server.get("/v1/ken/corpora/boats").json();
    assert_eq!(corpus["generation"], 1);
    let broken = server.folder.path().join("broken.pdf");
    std::fs::write(&broken, "%PDF-1.7\nnothing").unwrap();
    browser.choose_files("Add files", &[&broken]);
    browser.sees("failed: nothing was taken in");
    browser.sees("What failed");
    browser.sees("broken.pdf: ");
    is_sound(&mut browser);
}

#[test]
fn a_key_is_asked_for_and_stays_in_its_tab() {
    let mut keys = Keys::default();
    let asks = keys.make(grant(&[Scope::Ask], Some(&["notes"])), 0);
    let model = TableModel::new(facts()).unwrap();
    let server = Running::over(model, LIMITS, &keys);
    let mut browser = at(&server, DESKTOP, "");
    browser.sees("This server asks for a key.");
    browser.picture("key");
    browser.write("textbox", "Key", "ken-wrong");
    browser.click("button", "Use it");
    browser.sees("the key is not known");
    browser.write("textbox", "Key", &asks);
    browser.press("Enter");
    browser.write("textbox", "Question", OIL);
    browser.click("button", "Ask");
    browser.sees("Ida");
    // Callers that may not read passages still see what the model read.
    browser.click("button", "Passage 1: Notes");
    browser.sees("The oil of the car is changed every May; Ida changes it.");
    browser.click("button", "Close");
    browser.click("link", "Documents");
    browser.sees("This key cannot search: it has not the scope “search”.");
    browser.sees("This key cannot change corpora: it has not the scope “write”.");
    assert!(!browser.text().contains("boats"));
    browser.click("link", "Traffic");
    browser.sees("This key cannot read metrics: it has not the scope “admin”.");
    assert_eq!(browser.wrong(&[401]), [""; 0]);
    // The key is in this tab, and nowhere else.
    let kept = "[sessionStorage.length, document.cookie, location.href]";
    let address = format!("http://{}/#traffic", server.address);
    assert_eq!(browser.js(kept), json!([1, "", address]));
    // Conversations are kept for each key by its id.
    let places = browser.js("Object.keys(localStorage)");
    assert_eq!(places, json!([format!("ken-chats:{}", keys.keys[0].id)]));
    let conversations = browser.js("Object.values(localStorage).join()");
    assert!(!conversations.as_str().unwrap().contains(&asks));
    assert!(!browser.text().contains(&asks));
}

#[test]
fn traffic_is_seen_as_it_comes() {
    let server = Running::start();
    let mut browser = at(&server, DESKTOP, "#traffic");
    browser.sees("Nothing was asked yet.");
    browser.sees("None is watched");
    server.chat("always", OIL, &json!({}));
    server.chat("never", FRANCE, &json!({}));
    server.chat("never", "", &json!({}));
    browser.sees("50.0%");
    browser.until(
        "both are drawn",
        "document.querySelectorAll('.chart .corpus, .chart .self').length === 2",
    );
    browser.sees("empty_question");
    browser.sees("/v1/chat/completions");
    browser.picture("traffic");
    is_sound(&mut browser);
}

#[test]
fn a_guarantee_is_seen_to_hold_and_to_lapse() {
    let server = watched(&Keys::default());
    let mut browser = at(&server, DESKTOP, "#traffic");
    browser.sees("holds");
    browser.sees("at most 0.05 less accurate than always retrieving, at confidence 0.95");
    browser.click("link", "Chat");
    browser.write("textbox", "Question", OIL);
    browser.click("button", "Ask");
    browser.sees("Bob");
    browser.click("button", "Bad");
    browser.write("textbox", "What would be right", "Ida");
    browser.click("button", "Send");
    browser.sees("It counts for the guarantee.");
    let lapsed = || server.get("/v1/ken/guarantee").json()["standing"] == "lapsed";
    for _ in 0..50 {
        if lapsed() {
            break;
        }
        server.post("/v1/ken/ask", &json!({"question": OIL}));
    }
    wait_for("it lapses", lapsed);
    browser.click("link", "Traffic");
    browser.sees("does not hold any more: everything retrieves");
    browser.picture("guarantee");
    is_sound(&mut browser);
}

#[test]
fn metrics_are_read_as_prometheus_reads_them() {
    let server = Running::start();
    let mut browser = at(&server, DESKTOP, "");
    // Five observations, of which two are at most 1, and four at most 2.
    let text = concat!(
        "# HELP ken_t Times\n",
        "ken_t_bucket{le=\"1.0\"} 2\n",
        "ken_t_bucket{le=\"2.0\"} 4\n",
        "ken_t_bucket{le=\"+Inf\"} 5\n",
        "ken_n_total{a=\"x\\\"y,z\",b=\"1\"} 3\n",
        "ken_n_total{a=\"w\",b=\"1\"} 4.5\n",
        "ken_g 1e3\n",
        "# EOF\n",
    );
    let read = browser.js(&format!(
        "import(document.scripts[0].src.replace('main.js', 'metrics.js')).then((metrics) => {{
           const all = metrics.samples({});
           const quantiles = [0, 0.5, 0.95].map((q) => metrics.quantile(all, 'ken_t', q));
           return [metrics.sum(all, 'ken_n_total', {{b: '1'}}), metrics.sum(all, 'ken_g'), metrics.sum(all, 'ken_none'),
                   metrics.by(all, 'ken_n_total', ['a']), quantiles, metrics.quantile(all, 'ken_none', 0.5)];
         }})",
        json!(text)
    ));
    // Within a bucket they count as evenly distributed; beyond the last bound nothing is known.
    assert_eq!(
        read,
        json!([
            7.5,
            1000,
            0,
            [[["w"], 4.5], [["x\"y,z"], 3]],
            [0, 1.25, 2],
            null
        ])
    );
}

#[test]
fn policies_are_compared_at_every_threshold() {
    let server = Running::start();
    let mut browser = at(&server, DESKTOP, "#policies");
    // As `ken eval` prints a comparison, without what the page does not read.
    let policy = |name: &str, em: f64, ratio: f64, curve: serde_json::Value| {
        json!({
            "policy": name, "em": em, "em_interval": [em - 0.05, em + 0.05], "retrieval_ratio": ratio,
            "tokens": {"prompt": {"mean": 500.0 * ratio}, "completion": {"mean": 7.0}},
            "vs_better": {"em_difference": em - 0.3, "interval": [-0.2, 0.1]}, "curve": curve,
        })
    };
    let curve = json!([
        {"retrieval_ratio": 0.0, "em": 0.1, "threshold": 0.9},
        {"retrieval_ratio": 0.4, "em": 0.35, "threshold": 0.25},
        {"retrieval_ratio": 1.0, "em": 0.3, "threshold": null},
    ]);
    let policies = [
        policy("never", 0.1, 0.0, json!([])),
        policy("always", 0.3, 1.0, json!([])),
        policy("certainty", 0.34, 0.4, curve),
    ];
    let compared = json!({"n": 200, "never_em": 0.1, "always_em": 0.3, "policies": policies});
    let [file, other] = ["compared.json", "other.json"].map(|name| server.folder.path().join(name));
    std::fs::write(&file, compared.to_string()).unwrap();
    std::fs::write(&other, r#"{"policies": [{"policy": "never"}]}"#).unwrap();
    browser.choose_files("Comparison", &[&other]);
    browser.sees("This is no comparison of policies");
    browser.choose_files("Comparison", &[&file]);
    // It begins at the threshold with the most right answers.
    browser.sees("certainty@0.25: 40.0% of the questions retrieve, exact match 0.350; always 0.300 (+0.050), never 0.100 (+0.250)");
    assert!(!browser.text().contains("This is no comparison"));
    browser.picture("policies");
    browser.focus("slider", "Threshold");
    browser.press("ArrowLeft");
    browser.sees("certainty@0.9: 0.0% of the questions retrieve, exact match 0.100");
    browser.click("link", "Ask with certainty@0.9");
    browser.write("textbox", "Question", FRANCE);
    browser.press("Enter");
    browser.hears("article", "Answer of certainty@0.9");
    browser.sees("Paris");
    is_sound(&mut browser);
}

#[test]
fn what_the_model_knows_is_measured_and_read() {
    let server = Running::start();
    let mut browser = at(&server, DESKTOP, "#knowledge");
    browser.write("textbox", "Question", FRANCE);
    browser.write("combobox", "By the policy", "certainty@0.5");
    browser.press("Enter");
    browser.sees("answers from memory");
    browser.sees("0; above 0.5 it retrieves");
    // As `ken probe` writes records, without what the page does not read.
    let record = |id: usize, own: f64, effect: &str| {
        json!({
            "id": id.to_string(), "question": format!("Question {id}?"), "golden_answers": ["yes"],
            "confidence": {"self": own, "corpus": 0.8, "masked": null}, "effect": {"confidence": effect},
            "greedy": {"self": {"text": "no"}}, "evidence": [format!("{}.md#3", id % 2)],
        })
        .to_string()
    };
    let lines = [
        r#"{"settings": {}}"#.to_owned(),
        record(1, 0.0, "beneficial"),
        record(2, 1.0, "harmful"),
        record(3, 0.5, "beneficial"),
        json!({"id": "4", "question": "Failed?", "confidence": null}).to_string(),
    ];
    let file = server.folder.path().join("known.jsonl");
    std::fs::write(&file, lines.join("\n")).unwrap();
    browser.choose_files("Probe records", &[&file]);
    browser.sees("3 questions");
    browser.sees("66.7%");
    let text = browser.text();
    // The least known document comes first.
    let rows = ["1.md\t2\t0.250", "0.md\t1\t1.000"];
    let places = rows.map(|row| text.find(row).unwrap_or_else(|| panic!("{row} in\n{text}")));
    assert!(places[0] < places[1]);
    browser.picture("knowledge");
    browser.choose("Evidence that is", "harmful");
    browser.until(
        "one is left",
        "!document.body.innerText.includes('Question 1?')",
    );
    browser.sees("Question 2?");
    is_sound(&mut browser);
    let other = server.folder.path().join("other.jsonl");
    std::fs::write(&other, "nothing").unwrap();
    browser.choose_files("Probe records", &[&other]);
    browser.sees("This file has no records of probed questions");
    browser.write("combobox", "By the policy", "router@0.5");
    browser.click("button", "Measure");
    browser.sees("the policy `router` needs a router");
    assert!(!browser.wrong(&[]).is_empty());
}

#[test]
fn the_keyboard_is_enough() {
    let server = Running::start();
    let mut browser = at(&server, DESKTOP, "");
    browser.until(
        "the question is where one types",
        "document.activeElement?.tagName === 'TEXTAREA'",
    );
    browser.write("textbox", "Question", OIL);
    browser.press("Enter");
    browser.sees("Ida");
    let focused = "document.activeElement?.getAttribute('aria-label')";
    let mut steps = 0;
    while browser.js(focused) != "Passage 1: Notes" {
        browser.press("Tab");
        steps += 1;
        assert!(steps < 30, "the passage is not reached");
    }
    browser.press("Enter");
    browser.sees("The oil of the car is changed every May; Ida changes it.");
    browser.press("Escape");
    browser.until(
        "the passage is closed",
        "!document.querySelector('dialog[open]')",
    );
    assert_eq!(browser.js(focused), "Passage 1: Notes");
    is_sound(&mut browser);
}

/// The texts whose contrast with their background is lower than WCAG 2 requires for normal text, 4.5.
pub(super) const PALE: &str = r"
(() => {
  const numbers = (color) => (color.match(/[\d.]+/g) ?? []).map(Number);
  const luminance = (color) => {
    const [r, g, b] = numbers(color).map((value) => {
      const share = value / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let one = element; one; one = one.parentElement) {
      const color = getComputedStyle(one).backgroundColor;
      if (numbers(color)[3] !== 0) return color;
    }
    return 'rgb(255, 255, 255)';
  };
  const hasText = (element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  const pale = [...document.body.querySelectorAll('*')].filter((element) => {
    if (!hasText(element) || !element.checkVisibility() || element.closest(':disabled, .waits')) return false;
    const [one, other] = [luminance(getComputedStyle(element).color), luminance(behind(element))];
    return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05) < 4.5;
  });
  return pale.map((element) => `${element.tagName}.${element.className}: ${element.textContent}`);
})()";

#[test]
fn it_fits_a_phone_and_is_readable_light_and_dark() {
    let server = Running::start();
    server.chat("always", OIL, &json!({}));
    server.chat("never", FRANCE, &json!({}));
    let mut browser = at(&server, DESKTOP, "");
    browser.write("textbox", "Question", OIL);
    browser.click("DisclosureTriangle", "Options");
    browser.click("checkbox", "never");
    browser.click("button", "Ask");
    browser.sees("Bob");
    browser.sees("Ida");
    browser.js("document.querySelectorAll('details').forEach((one) => { one.open = true; })");
    for (page, shown) in [
        ("Chat", "[aria-label='Answer of never']"),
        ("Documents", "#generations-title"),
        ("Traffic", "[aria-label='Live']"),
        ("Policies", "#policies-title"),
        ("Knowledge", "#probed-title"),
        ("Studies", "#studies-title"),
    ] {
        browser.click("link", page);
        browser.until(shown, &format!("document.querySelector({})", json!(shown)));
        for (size, (width, height)) in [("desktop", DESKTOP), ("phone", PHONE)] {
            browser.resize(width, height);
            for is_dark in [false, true] {
                browser.dark(is_dark);
                let name = format!("{page}-{size}-{}", if is_dark { "dark" } else { "light" });
                browser.picture(&name.to_lowercase());
                assert_eq!(browser.js(PALE), json!([]), "{name}");
                let wide = browser.js("document.documentElement.scrollWidth");
                assert!(wide.as_u64().unwrap() <= u64::from(width), "{name}: {wide}");
            }
        }
        browser.resize(DESKTOP.0, DESKTOP.1);
        is_sound(&mut browser);
    }
}
