//! What people do in the console with earlier questions.

use ken_server::Keys;
use ken_testing::has;
use serde_json::{Value, json};

use super::chromium::Chromium;
use crate::fixture::{FRANCE, OIL, Running, wait_for};
use crate::watch::scored;

#[test]
fn a_wrong_answer_becomes_a_question_to_evaluate_on() {
    let server = Running::keeping(&Keys::default());
    let mut browser = Chromium::start(1280, 900);
    server.chat("never", FRANCE, &json!({}));
    browser.visit(&format!("http://{}/", server.address));
    browser.write("textbox", "Question", OIL);
    browser.click("DisclosureTriangle", "Options");
    browser.click("checkbox", "never");
    browser.click("button", "Ask");
    browser.sees("Bob");
    browser.sees("Ida");
    let of_never = "document.querySelector('[aria-label=\"Answer of never\"]')";
    browser.js(&format!(
        "[...{of_never}.querySelectorAll('button')].find((one) => one.innerText === 'Bad').click()"
    ));
    browser.write("textbox", "What would be right", "Ida");
    browser.click("button", "Send");
    browser.sees("Thank you. The question is now one to evaluate on.");
    browser.click("link", "Traffic");
    browser.sees("Of these, one that retrieved took");
    browser.sees(FRANCE);
    browser.picture("traces");
    browser.choose("Show", "rating=bad");
    browser.until(
        "one is left",
        "document.querySelectorAll('[aria-label=\"Last questions\"] tbody tr').length === 1",
    );
    browser.click("button", OIL);
    browser.sees("the policy never retrieves");
    browser.picture("trace-dialog");
    browser.write("textbox", "Right answer", "Ida Miller");
    browser.click("button", "Evaluate on it");
    browser.sees("The question is now one to evaluate on.");
    browser.save_to(server.folder.path());
    browser.click("button", "Save the evaluation set");
    let saved = server.folder.path().join("questions.jsonl");
    // A browser makes the file before it writes it.
    let is_written = || std::fs::metadata(&saved).is_ok_and(|file| file.len() > 0);
    wait_for("it is saved", is_written);
    let questions = std::fs::read_to_string(&saved).unwrap();
    assert_eq!(questions.lines().count(), 1);
    let question: Value = serde_json::from_str(&questions).unwrap();
    has!(question, ["question"]: OIL, ["golden_answers"]: json!(["Ida Miller"]));
    assert_eq!(browser.wrong(&[]), [""; 0]);
    assert_eq!(browser.nameless(), [""; 0]);
}

#[test]
fn questions_unlike_those_of_calibration_are_shown_beside_the_policy() {
    let server = scored(&Keys::default());
    let mut browser = Chromium::start(1280, 900);
    let address = format!("http://{}/#policies", server.address);
    browser.visit(&address);
    browser.sees("Guarantee in force");
    browser.sees("no difference found in 0 questions");
    for _ in 0..60 {
        server.post("/v1/ken/ask", &json!({"question": FRANCE}));
    }
    browser.click("link", "Traffic");
    browser.sees("nothing is lost by that alone");
    browser.click("link", "Policies");
    browser.sees("different, as showed after");
    browser.picture("drift");
    assert_eq!(browser.wrong(&[]), [""; 0]);
    assert_eq!(browser.nameless(), [""; 0]);
}

#[test]
fn what_is_not_kept_is_not_shown() {
    let server = Running::start();
    let mut browser = Chromium::start(1280, 900);
    let answer = server.chat("always", OIL, &json!({})).json();
    let id = answer["ken"]["request_id"].as_str().unwrap();
    browser.visit(&format!("http://{}/#traffic", server.address));
    browser.click("button", id);
    browser.sees("This server does not keep what was asked");
    assert!(!browser.text().contains("Ida"));
    browser.press("Escape");
    assert_eq!(browser.wrong(&[]), [""; 0]);
}

#[test]
fn a_question_that_was_answered_from_the_wrong_source_is_corrected() {
    let server = Running::voting(&Keys::default());
    let mut browser = Chromium::start(1280, 900);
    let asked = json!({"question": OIL, "ken": {"policy": "self-route@0.5"}});
    assert_eq!(server.post("/v1/ken/ask", &asked).json()["route"], "self");
    browser.visit(&format!("http://{}/#traffic", server.address));
    browser.click("button", OIL);
    browser.click("button", "Right source: notes");
    browser.sees("The datastore votes so from the next question on.");
    browser.sees("notes 0.667");
    browser.picture("corrected");
    browser.press("Escape");
    browser.sees("corrected");
    assert_eq!(server.post("/v1/ken/ask", &asked).json()["route"], "corpus");
    browser.save_to(server.folder.path());
    browser.click("button", "Save the corrections");
    let saved = server.folder.path().join("questions.jsonl");
    // A browser makes the file before it writes it.
    let is_written = || std::fs::metadata(&saved).is_ok_and(|file| file.len() > 0);
    wait_for("it is saved", is_written);
    let line: Value = serde_json::from_str(&std::fs::read_to_string(&saved).unwrap()).unwrap();
    has!(line, ["question"]: OIL, ["source"]: "notes");
    assert_eq!(browser.wrong(&[]), [""; 0]);
    assert_eq!(browser.nameless(), [""; 0]);
}
