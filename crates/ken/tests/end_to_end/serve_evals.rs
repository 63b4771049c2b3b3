//! Questions that people ask a server, as questions to evaluate and to probe on: from its traces to `ken eval` and
//! `ken probe`, across the end of a server that was killed.

use serde_json::json;

use crate::documents::with_notes;
use crate::harness::{refuses, texts, words};
use crate::records::probe;
use crate::serve::Serving;

#[test]
#[ignore = "needs the models of KEN_TEST_MODELS"]
fn bad_answers_become_an_eval_set_that_ken_eval_runs() {
    let ken = with_notes();
    ken.write("ken.toml", "server_data = \"uploads\"\n");
    let serve = words("--corpus notes=island --keep-questions --max-tokens 8");
    let serving = Serving::start(&ken, &serve);
    let question = "Who is the keeper of the Orrin lighthouse?";
    let other = "Where is \"Orrin\", in \u{e9}toile\u{2028}or\u{0}not?";
    let mut ids = Vec::new();
    for (question, policy) in [(question, "never"), (other, "always")] {
        let body = json!({"question": question, "ken": {"policy": policy, "style": "short"}});
        let answer = serving.post("/v1/ken/ask", &body);
        ids.push(answer["request_id"].as_str().unwrap().to_owned());
    }
    let feedback = json!({"request_id": ids[0], "rating": "bad", "answers": ["Zebulon"]});
    let said = serving.post("/v1/ken/feedback", &feedback);
    assert_eq!(said["eval_question"], true);

    // The folder belongs to this server, but an agent can still be served.
    let again = ["serve", "--corpus", "island", "--listen", "127.0.0.1:0"];
    refuses!(ken, &again => "server_data_in_use", "uploads", "--server-data DIR");
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    let tools = ken.text_of_input(&["serve", "mcp", "--corpus", "island"], &(list + "\n"));
    assert!(tools.contains("knows"), "{tools}");

    // Killed, and resumed.
    drop(serving);
    let serving = Serving::start(&ken, &serve);
    let traces = serving.get("/v1/ken/traces?rating=bad");
    assert_eq!(texts(&traces["data"], "id"), ids[..1]);
    let made = json!({"trace": ids[1], "golden_answers": ["the sea", "at sea"]});
    let (status, made) = serving.exchange("POST", "/v1/ken/evals/questions", &made.to_string());
    assert_eq!(status, 201, "{made}");
    for (path, file) in [
        ("/v1/ken/evals/questions", "judged.jsonl"),
        ("/v1/ken/traces/questions", "asked.jsonl"),
    ] {
        let (status, lines) = serving.exchange("GET", path, "");
        assert_eq!((status, lines.lines().count()), (200, 2), "{lines}");
        ken.write(file, lines);
    }
    drop(serving);

    let evaluated = ken.json(&words(
        "eval judged.jsonl --corpus island --policy never,always --max-tokens 8 --by \
         policy --out compared",
    ));
    assert_eq!(evaluated["n"], 2, "{evaluated}");
    probe(&ken, "asked.jsonl", "known.jsonl");
    let probed = ken.read("known.jsonl");
    let probed = probed
        .lines()
        .filter(|line| line.contains(&ids[0]) || line.contains(&ids[1]));
    assert_eq!(probed.count(), 2);
}
