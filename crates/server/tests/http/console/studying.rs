//! How people see studies in the console.

use ken_server::{Keys, Scope};
use serde_json::json;

use super::chromium::Chromium;
use crate::fixture::{Running, grant, wait_for};
use crate::studies::fill;

#[test]
fn a_study_is_seen_with_its_curves_and_its_page_stands_alone() {
    let server = Running::showing_studies(&Keys::default());
    fill(&server);
    let mut browser = Chromium::start(1280, 900);
    browser.visit(&format!("http://{}/#studies/sizes", server.address));
    browser.sees("small, large; scales 0, 1, 2; questions of nq (300); 1 cell missing");
    browser.sees("small: 135 million, large: 1.50 billion");
    // Two lines, and a ring where the small model is as good as the large one.
    browser.until(
        "it is drawn",
        "document.querySelectorAll('[aria-label^=exact] polyline').length === 2 && document.querySelectorAll('.curves .ring').length === 1",
    );
    let pairs = browser.js("document.querySelector('[aria-label=\"n*\"] tbody').innerText");
    assert_eq!(pairs, "nq\tsmall\tlarge\tforward\t3\t2\t2\t2");
    browser.picture("study");
    browser.until(
        "no ring",
        "document.querySelectorAll('[aria-label^=coverage] polyline').length === 2 && !document.querySelector('[aria-label^=coverage] .ring')",
    );
    browser.sees("0.500 [0.400, 0.600]");
    browser.click("DisclosureTriangle", "Measured with");
    browser.sees("seed");
    browser.save_to(server.folder.path());
    browser.click("DisclosureTriangle", "Data");
    browser.click("button", "page.json");
    let saved = server.folder.path().join("page.json");
    wait_for("it is saved", || saved.exists());
    assert_eq!(browser.wrong(&[]), [""; 0]);
    assert_eq!(browser.nameless(), [""; 0]);

    // The page has its own style and script, and access to neither the console's storage nor its server.
    let link = browser.js(
        "[...document.querySelectorAll('a')].find((one) => one.innerText === 'Open the page').href",
    );
    browser.visit(link.as_str().unwrap());
    browser.sees("storage: none, origin: null, refused");
    let color = browser.js("getComputedStyle(document.querySelector('h1')).color");
    assert_eq!(color, "rgb(1, 2, 3)");
    assert!(!browser.wrong(&[]).is_empty());
}

#[test]
fn comparisons_and_probes_are_seen_as_in_their_own_pages() {
    let server = Running::showing_studies(&Keys::default());
    fill(&server);
    let mut browser = Chromium::start(1280, 900);
    browser.visit(&format!("http://{}/#studies", server.address));
    browser.sees("No report yet: ken study report begun writes it.");
    browser.click("link", "compared");
    browser.sees("prompt@0.5");
    let rows = browser.js("document.querySelector('[aria-label=Policies] tbody').innerText");
    assert_eq!(
        rows,
        "always\t0.500\t0.625\t1.000\nprompt@0.5\t0.750\t–\t0.250"
    );
    browser.click("link", "known.jsonl");
    browser.sees("Question 1?");
    browser.sees("confidence from memory");
    browser.picture("probe");
    assert_eq!(browser.wrong(&[]), [""; 0]);
    assert_eq!(browser.nameless(), [""; 0]);
}

#[test]
fn studies_need_the_scope_and_a_page_is_saved_where_links_carry_no_key() {
    let mut keys = Keys::default();
    let admin = keys.make(grant(&[Scope::Admin], None), 0);
    let asks = keys.make(grant(&[Scope::Ask], None), 0);
    let server = Running::showing_studies(&keys);
    fill(&server);
    let mut browser = Chromium::start(1280, 900);
    browser.visit(&format!("http://{}/#studies/sizes", server.address));
    browser.write("textbox", "Key", &asks);
    browser.press("Enter");
    browser.sees("This key cannot see studies: it has not the scope “admin”.");
    browser.click("button", "Key");
    browser.write("textbox", "Key", &admin);
    browser.press("Enter");
    browser.save_to(server.folder.path());
    browser.click("button", "Save the page");
    let saved = server.folder.path().join("report.html");
    wait_for("it is saved", || saved.exists());
    assert_eq!(browser.wrong(&[401]), [""; 0]);
    let without = server.get("/v1/ken/studies/sizes/report.html");
    without.refuses(401, "missing_api_key");
    assert_eq!(browser.js("localStorage.length"), json!(0));
}
