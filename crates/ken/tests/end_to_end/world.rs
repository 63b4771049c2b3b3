//! `ken world`: a world is made, ingested and asked about by the usual verbs, learned, and measured.

use ken_testing::{cases, holds, says};
use serde_json::Value;

use crate::harness::{Ken, keys, number, objects, refuses, words};

/// A small world in the folder `island`.
fn make(ken: &Ken, sequences: &str) -> Value {
    let base = words("world make island --seed 2 --people 24 --unseen 4 --strangers 4 --sequences");
    ken.json(&[&base[..], &[sequences]].concat())
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_world_is_ingested_and_asked_about_as_any_other_documents() {
    let ken = Ken::new();
    let summary = make(&ken, "96");
    assert_eq!(
        keys(&summary),
        words("settings documents questions by_kind sources fingerprint")
    );
    let ingested = ken.json(&["ingest", "island/corpus.jsonl", "--corpus", "island.ken"]);
    assert_eq!(ingested["documents"]["added"], summary["documents"]);
    assert_eq!(
        ingested["passages"], summary["documents"],
        "a passage a document"
    );

    let questions = objects(&ken.read("island/questions.jsonl"));
    assert_eq!(
        questions.len() as u64,
        summary["questions"].as_u64().unwrap()
    );
    let one = questions
        .iter()
        .find(|one| {
            let truth = &one["metadata"];
            truth["kind"] == "plain" && truth["corpus_holds"] == "truth"
        })
        .unwrap();
    assert_eq!(keys(one), ["id", "question", "golden_answers", "metadata"]);
    for name in words("gold_passage relation rank exposure asked one_wording corpus_holds told_by")
    {
        assert!(keys(&one["metadata"]).contains(&name), "{one}");
    }

    // A model of the world takes the place of any other, though it knows nothing yet.
    let model = words("world model island --size small --out blank");
    let written = ken.json(&model);
    holds!("{written}" => (4.5e5..5.5e5).contains(&number(&written["parameters"])));
    let eval = words("eval island/questions.jsonl --limit 12 --model ./blank");
    let corpus = words("--corpus island.ken --k 1 --policy always --max-tokens 4");
    let evaluated = ken.json(&[&eval[..], &corpus, &["--mode", "lexical"]].concat());
    assert_eq!(evaluated["failed"], 0, "{evaluated}");
    assert!(number(&evaluated["gold_recall"]) > 0.3, "{evaluated}");
    let probed = words("probe island/questions.jsonl --limit 3 --model ./blank");
    let few = ["--samples", "2", "--max-tokens", "4", "--json"];
    assert_eq!(objects(&ken.text(&[&probed[..], &few].concat())).len(), 3);

    let truth = words("world truth ./blank island --limit 40 --out truth.jsonl");
    let table = ken.text(&truth);
    says!(table => "not asked", "two hops");
    let records = ken.text(&[&truth[..], &["--json"]].concat());
    assert_eq!(records, ken.read("truth.jsonl"));
    for record in objects(&records) {
        assert_eq!(
            keys(&record),
            ["id", "question", "answer", "probability", "metadata"]
        );
        holds!("{record}" => (0.0..0.01).contains(&number(&record["probability"]["self"])));
    }
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_model_learns_its_world() {
    let ken = Ken::new();
    make(&ken, "960");
    let mix = ken.text(&["world", "mix", "island", "--limit", "30", "--json"]);
    let texts = objects(&mix);
    assert_eq!(texts.len(), 30);
    assert!(texts.iter().all(|text| keys(text) == ["kind", "pieces"]));
    let later = ken.text(&words("world mix island --from 20 --limit 10 --json"));
    assert!(mix.ends_with(&later), "a text depends on its number alone");

    let train = words("world train island --size small --out small");
    let trained = ken.json(&train);
    assert_eq!(trained["steps"], 20);
    assert!(number(&trained["loss"]) < 6.5, "of 7.5 before: {trained}");
    let scored = words("model score ./small --prompt Question: --continuation ' Who'");
    let scored = ken.json(&scored);
    let blank = words("world model island --size small --out blank");
    ken.json(&blank);
    let before = words("model score ./blank --prompt Question: --continuation ' Who'");
    let before = ken.json(&before);
    assert_ne!(scored["logprobs"], before["logprobs"]);
    assert_eq!(scored["continuation_tokens"], before["continuation_tokens"]);
    for gone in ["small/untrained", "small/training.safetensors"] {
        assert!(!ken.path(gone).exists(), "{gone}");
    }
    refuses!(ken, &train => "folder_not_empty", "small", "--out");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn what_is_no_world_is_told() {
    let ken = Ken::new();
    let refusal = ken.refusal(&["world", "truth", "./blank", "nowhere"]);
    refusal.is("world_file", "nowhere", "check the path");
    make(&ken, "96");
    refuses!(ken, &["world", "make", "island"] => "folder_not_empty", "island", "new folder");
    refuses!(ken, &["world", "make", "other", "--people", "3"] => "world_people", "16", "--people");
    assert!(!ken.path("other").exists());
    let refusal = ken.refusal(&["world", "make", "other", "--exponent", "9"]);
    refusal.is("world_exponent", "9", "--exponent");
    for (flags, kind, said, hint) in cases![
        ["--wrong", "0.9"] => "world_misrepresented", "1.2", "--look-alikes";
        ["--irrelevant", "1.5"] => "world_share", "1.5", "--irrelevant";
        ["--documents", "0"] => "world_documents", "64", "--documents";
    ] {
        refuses!(ken, &[&["world", "make", "other"][..], &flags].concat() => kind, said, hint);
    }
    assert!(!ken.path("other").exists());
    ken.write("island/world.json", "{}");
    refuses!(ken, &["world", "mix", "island"] => "not_a_world", "world.json", "ken world make");
}
