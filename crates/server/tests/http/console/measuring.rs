//! How people have policies measured in the console.

use ken_server::{Keys, Scope};
use serde_json::json;

use super::person::{DESKTOP, PALE, PHONE, at, is_sound};
use crate::fixture::{OIL, Running, grant};
use crate::measuring::questions;

#[test]
fn a_comparison_is_begun_followed_and_read() {
    let server = Running::showing_studies(&Keys::default());
    let file = server.folder.path().join("my notes.jsonl");
    std::fs::write(&file, questions(4)).unwrap();
    let mut browser = at(&server, DESKTOP, "#policies");
    browser.sees("None are collected yet");
    browser.drop_files(".drop", &[&file]);
    browser.write(
        "textbox",
        "Policies, with commas between",
        "never, always, prompt",
    );
    browser.click("button", "Start");
    browser.sees("done; its report stays on the page Studies, as my-notes.policies.");
    browser.sees("Policies on my-notes");
    let rows = "[...document.querySelectorAll('[aria-label=Policies] tbody tr')].map((row) => row.cells[0].innerText)";
    assert_eq!(browser.js(rows), json!(["never", "always", "prompt"]));
    browser.picture("measured");
    is_sound(&mut browser);
    // Another visit finds it, and so does the page Studies.
    browser.visit(&format!("http://{}/?again#policies", server.address));
    browser.sees("Policies on my-notes");
    browser.click("link", "Studies");
    browser.sees("my-notes.policies.");
    is_sound(&mut browser);
}

#[test]
fn a_policy_is_chosen_and_put_to_use_by_keyboard_on_a_phone() {
    let server = Running::showing_studies(&Keys::default());
    let file = server.folder.path().join("notes.jsonl");
    let mut browser = at(&server, PHONE, "#policies");
    browser.sees("Measure policies here");
    browser.choose("What", "tune");
    std::fs::write(&file, questions(12)).unwrap();
    browser.choose_files("File of questions", &[&file]);
    browser.focus("button", "Start");
    browser.press("Enter");
    browser.sees("a policy cannot be chosen on 12 questions; give 30 or more");
    assert_eq!(browser.wrong(&[400]), [""; 0]);
    std::fs::write(&file, questions(40)).unwrap();
    browser.choose_files("File of questions", &[&file]);
    browser.focus("button", "Start");
    browser.press("Enter");
    browser.sees("Chosen: ");
    browser.hears("button", "Use this policy");
    browser.click("DisclosureTriangle", "By hand");
    browser.sees("policy = \"");
    for is_dark in [false, true] {
        browser.dark(is_dark);
        assert_eq!(browser.js(PALE), json!([]));
        let wide = browser.js("document.documentElement.scrollWidth");
        assert!(wide.as_u64().unwrap() <= u64::from(PHONE.0), "{wide}");
        browser.picture(if is_dark { "chosen-dark" } else { "chosen" });
    }
    browser.hears("button", "Read the settings again");
    assert_eq!(browser.nameless(), [""; 0]);
}

#[test]
fn what_is_missing_says_what_to_do() {
    let mut keys = Keys::default();
    let asks = keys.make(grant(&[Scope::Ask], None), 0);
    let server = Running::showing_studies(&keys);
    let mut browser = at(&server, DESKTOP, "#policies");
    browser.write("textbox", "Key", &asks);
    browser.press("Enter");
    browser.sees("This key cannot measure policies: it has not the scope “admin”.");
    // There is one browser at a time.
    drop(browser);
    let server = Running::read_only();
    let mut browser = at(&server, DESKTOP, "#policies");
    browser.sees("This server measures nothing: it was started without a folder for that (the setting server_data).");
    is_sound(&mut browser);
    drop(browser);
    let server = Running::showing_studies(&Keys::default());
    let collected = json!({"question": OIL, "golden_answers": ["Ida"]});
    server.post("/v1/ken/evals/questions", &collected);
    let mut browser = at(&server, DESKTOP, "#policies");
    browser.choose("Questions", "collected");
    browser.click("button", "Start");
    browser.sees("Policies on collected");
    is_sound(&mut browser);
}
