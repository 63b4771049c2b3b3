//! How people chat in the console: asking, following up, asking again, and the passages behind an answer.

use std::sync::atomic::Ordering;

use serde_json::json;

use super::person::{DESKTOP, at, is_sound};
use crate::fixture::{FOLLOW_UP, FRANCE, LIMITS, OIL, Running, wait_for};
use crate::library::ingested;

#[test]
fn people_ask_and_see_what_an_answer_rests_on() {
    let server = Running::start();
    let mut browser = at(&server, DESKTOP, "");
    browser.sees("Ask about notes or boats.");
    browser.write("textbox", "Question", OIL);
    browser.click("DisclosureTriangle", "Options");
    browser.click("checkbox", "never");
    browser.click("button", "Ask");
    // The settings' policy, always, besides never.
    browser.sees("Ida");
    browser.sees("Bob");
    browser.hears("article", "Answer of always");
    browser.hears("article", "Answer of never");
    browser.sees("retrieved");
    browser.sees("from memory");
    browser.picture("chat");
    browser.click("button", "Passage 1: Notes");
    browser.sees("The oil of the car is changed every May; Ida changes it.");
    browser.sees("cars/oil.md#0 in notes, generation 1");
    browser.click("DisclosureTriangle", "Metadata");
    browser.sees("2021");
    browser.picture("passage");
    browser.press("Escape");
    browser.until(
        "the passage is closed",
        "!document.querySelector('dialog[open]')",
    );
    browser
        .js("document.querySelectorAll('article details').forEach((one) => { one.open = true; })");
    browser.sees("the policy always retrieves");
    browser.sees("Nothing was retrieved.");
    browser.sees("search");
    browser.picture("trace");
    is_sound(&mut browser);
}

#[test]
fn model_corpus_and_version_are_in_sight() {
    let server = Running::start();
    let model = server.get("/v1/ken/access").json()["model"].clone();
    let mut browser = at(&server, DESKTOP, "#policies");
    let version = env!("CARGO_PKG_VERSION");
    let served = format!(
        "model {} corpus notes, boats ken {version}",
        model.as_str().unwrap()
    );
    browser.until(
        "it says what is served",
        &format!(
            "document.getElementById('about').innerText.trim().split(/\\s+/).join(' ') === {}",
            json!(served)
        ),
    );
}

#[test]
fn a_conversation_is_kept_and_goes_on() {
    let server = Running::start();
    let mut browser = at(&server, DESKTOP, "");
    browser.write("textbox", "Question", OIL);
    browser.press("Enter");
    browser.sees("Ida");
    // Another visit begins a new conversation; the earlier one is listed.
    browser.visit(&format!("http://{}/?again", server.address));
    browser.sees("Ask about notes or boats.");
    assert!(!browser.text().contains("Ida"));
    browser.click("link", OIL);
    browser.sees("Ida");
    browser.write("textbox", "Follow-up", FOLLOW_UP);
    browser.press("Enter");
    // Only a reader of the earlier messages can tell.
    browser.until(
        "it is answered",
        "document.querySelectorAll('.answer')[1]?.innerText.startsWith('May') && document.querySelector('.composer [type=button]').disabled",
    );
    browser.click("button", "Rename");
    browser.write("textbox", "Name of the conversation", "The oil");
    browser.press("Enter");
    browser.click("link", "New chat");
    browser.hears("textbox", "Question");
    browser.click("link", "The oil");
    browser.sees(FOLLOW_UP);
    browser.picture("conversation");
    browser.click("button", "Delete");
    browser.click("button", "Delete it");
    browser.sees("Ask about notes or boats.");
    browser.until(
        "it is gone",
        "!document.body.innerText.includes('The oil') && !Object.values(localStorage).join().includes('Ida')",
    );
    is_sound(&mut browser);
}

#[test]
fn an_answer_is_asked_for_again_without_retrieval_and_with_it() {
    let server = Running::start();
    let mut browser = at(&server, DESKTOP, "");
    browser.write("textbox", "Question", OIL);
    browser.press("Enter");
    browser.sees("Ida");
    browser.click("button", "Ask again without retrieval");
    browser.sees("Bob");
    browser.hears("article", "Answer of never");
    browser.until(
        "both were had",
        "!document.body.innerText.includes('Ask again')",
    );
    // The conversation goes on from the newest answer.
    let lead = browser.js("JSON.parse(Object.values(localStorage)[0]).chats[0].exchanges[0].lead");
    assert_eq!(lead, 1);
    browser.click("link", "New chat");
    browser.click("DisclosureTriangle", "Options");
    browser.choose("Policy", "ken/never");
    browser.write("textbox", "Question", FRANCE);
    browser.press("Enter");
    browser.sees("Paris");
    browser.click("button", "Ask again with retrieval");
    browser.hears("article", "Answer of always");
    is_sound(&mut browser);
}

#[test]
fn an_answer_that_cannot_be_had_says_why() {
    let server = Running::start();
    let mut browser = at(&server, DESKTOP, "");
    browser.write("textbox", "Question", FRANCE);
    browser.click("DisclosureTriangle", "Options");
    browser.write("textbox", "Another policy to compare with", "guess");
    browser.click("button", "Ask");
    browser.sees("there is no model \"ken/guess\"");
    browser.sees("Paris");
    assert!(!browser.wrong(&[]).is_empty());
    assert_eq!(browser.wrong(&[404]), [""; 0]);
}

#[test]
fn an_answer_is_stopped_and_another_asked_for() {
    let (server, reading) = Running::slow(LIMITS);
    let mut browser = at(&server, DESKTOP, "");
    browser.write("textbox", "Question", OIL);
    browser.click("button", "Ask");
    browser.sees("waiting");
    wait_for("the prompt is read", || {
        reading.now.load(Ordering::SeqCst) == 1
    });
    browser.click("button", "Stop");
    browser.sees("stopped");
    // The model does no work for a page that no longer waits.
    wait_for("the work ended", || {
        reading.cancelled.load(Ordering::SeqCst) == 1
    });
    reading.released.store(true, Ordering::SeqCst);
    browser.write("textbox", "Follow-up", OIL);
    browser.click("button", "Ask");
    browser.sees("Ida");
    is_sound(&mut browser);
}

#[test]
fn a_passage_is_shown_in_its_place_with_the_sentence_marked() {
    let server = Running::start();
    let filler = "It is watered in the morning. ".repeat(20);
    let text: String = (0..30)
        .map(|n| {
            format!(
                "## Part {n}\n\n{filler}The tulip number {n} is planted near the gate. {filler}\n\n"
            )
        })
        .collect();
    let text = format!("---\nurl: https://garden.example/tulips\n---\n# Tulips\n\n{text}");
    ingested(&server, "notes", "tulips.md", &text);
    let prune = json!({"passages": [{"passage_id": "tulips.md#1"}]});
    server.post("/v1/ken/corpora/notes/prune", &prune);
    let mut browser = at(&server, DESKTOP, "#documents");
    browser.write(
        "searchbox",
        "Query",
        "tulip number 17 is planted near the gate",
    );
    browser.click("button", "Search");
    browser.sees("passages of generation 3");
    // The list of hits shows the part that fits, not the passage's beginning.
    browser.until(
        "it is marked in the list",
        "document.querySelector('td mark')?.innerText.startsWith('The tulip number 17')",
    );
    browser.js("document.querySelector('[aria-label=\"Passages found\"] .link').click()");
    let marked = "document.querySelector('dialog mark')?.innerText";
    browser.until(
        "it is marked",
        &format!("{marked} === 'The tulip number 17 is planted near the gate.'"),
    );
    browser.until(
        "its neighbours are shown",
        "document.querySelectorAll('#passage-text section').length === 5",
    );
    browser.sees("Part 17");
    let link = browser.js("document.getElementById('passage-url').href");
    assert_eq!(link, "https://garden.example/tulips");
    browser.picture("place");
    browser.click("button", "Earlier passages");
    browser.click("button", "Later passages");
    browser.until(
        "more of them are shown, in order",
        "document.querySelectorAll('#passage-text section').length === 15 && \
         [...document.querySelectorAll('#passage-text section')].every((one, at, all) => \
           !at || Number(one.id.slice(8)) === Number(all[at - 1].id.slice(8)) + 1)",
    );
    browser.click("button", "Close");
    // A document is read from its beginning, with its pruned passages.
    browser.click("button", "Read tulips.md");
    browser.until(
        "the second passage is pruned",
        "document.querySelector('#passage-1 .badge')?.innerText === 'pruned' && !document.querySelector('#passage-0 .badge')",
    );
    is_sound(&mut browser);
}
