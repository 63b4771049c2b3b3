//! Tests of the settings' precedence and messages.

use super::*;

fn file(text: &str) -> Result<Layer, Refusal> {
    Layer::of_file(Path::new("shelf/ken.toml"), text)
}

fn message(text: &str) -> String {
    let refusal = file(text).unwrap_err();
    format!("{refusal} | {}", refusal.hint().unwrap_or("no hint"))
}

#[test]
fn flags_win_over_variables_and_those_over_the_file() {
    let from_file = file("k = 1\nseed = 1\nmax_tokens = 1").unwrap();
    let variables = |name: &str| match name {
        "KEN_K" | "KEN_SEED" => Some("2".to_owned()),
        "KEN_MODE" => Some(String::new()),
        _ => None,
    };
    let from_environment = Layer::of_environment(variables).unwrap();
    let flags = Layer {
        k: NonZeroUsize::new(3),
        ..Layer::default()
    };
    let settings = settings(flags.over(from_environment).over(from_file)).unwrap();
    assert_eq!(
        (settings.k, settings.seed, settings.max_tokens),
        (Some(3), 2, 1)
    );
    assert_eq!(settings.mode, Mode::Hybrid);
}

#[test]
fn every_key_is_read_and_stands_over_a_lower_layer() {
    let text = "adapter = \"a\"\nallow_plaintext_keys = true\ncorpus = \"c\"\ndatastore = \"d\"\ndevice = \"cuda\"\nembedder = \"./e\"\nevidence_tokens = 7\nk = 2\nkbm = \"kb\"\nkbm_model = \"./s.gguf\"\nmax_document_bytes = \"8M\"\nmax_tokens = 3\nmode = \"dense\"\n\
        model = \"./m.gguf\"\nmodel_name = \"m\"\npolicy = \"never\"\nprecision = \"int8\"\nrerank = \"likelihood\"\nrerank_chunk = \"sentence\"\nrerank_depth = 5\nrouter = \"r.json\"\nsamples = 9\nscale = 2\nseed = 4\nsegment = \"sentence\"\n\
        temperature = 0.5\nthreads = 6\ntrust_corpus_embedder = true\nverbalize = true\n";
    let table: toml::Table = toml::from_str(text).unwrap();
    let keys: Vec<&str> = table.keys().map(String::as_str).collect();
    assert_eq!(keys, KEYS);
    let layer = file(text).unwrap();
    assert_eq!(layer.over(Layer::default()), file(text).unwrap());
    assert_eq!(
        Layer::default().over(file(text).unwrap()),
        file(text).unwrap()
    );
    let settings = settings(file(text).unwrap()).unwrap();
    assert_eq!(settings.folder().unwrap(), Path::new("shelf/c"));
    assert_eq!(settings.adapter.as_deref(), Some(Path::new("shelf/a")));
    assert_eq!(settings.datastore.as_deref(), Some(Path::new("shelf/d")));
    assert_eq!(settings.active, Active::First(2));
    assert_eq!(settings.policy, Policy::Never);
    assert_eq!(settings.precision, Precision::Int8);
    assert_eq!(settings.device, Device::Cuda);
    assert_eq!(settings.rerank, Rerank::Likelihood);
    assert_eq!(settings.rerank_chunk, Segmentation::Sentence);
    assert_eq!(settings.rerank_depth, 5);
    assert_eq!(settings.max_document_bytes, Bytes(8 << 20));
    assert_eq!(settings.router.as_deref(), Some(Path::new("shelf/r.json")));
    assert_eq!(settings.threads, NonZeroUsize::new(6));
    assert!(settings.verbalize && settings.allow_plaintext_keys && settings.trust_corpus_embedder);
}

#[test]
fn reranking_keeps_eight_chunks_where_nobody_says() {
    let k = |text: &str| settings(file(text).unwrap()).unwrap().k(3);
    assert_eq!(k(""), 3);
    assert_eq!(k("rerank = \"none\""), 3);
    assert_eq!(k("rerank = \"embedder\""), 8);
    assert_eq!(k("rerank = \"embedder\"\nk = 2"), 2);
}

#[test]
fn an_unknown_key_is_named_with_its_file_and_its_neighbours() {
    assert_eq!(
        message("polcy = \"never\""),
        "unknown key `polcy` in shelf/ken.toml | did you mean `policy`?"
    );
    assert_eq!(
        message("[server]\nport = 1"),
        format!(
            "unknown key `server` in shelf/ken.toml | the keys are {}, and the table is [keys]",
            KEYS.join(", ")
        )
    );
}

#[test]
fn a_bad_value_is_named_with_its_key_and_file() {
    assert!(
        message("k = 0")
            .starts_with("`k = 0` in shelf/ken.toml: it must be a whole number, at least 1")
    );
    assert!(message("seed = -1").contains("a seed is a whole number from 0 up"));
    assert!(message("verbalize = 1").contains("true or false"));
    assert!(message("rerank = \"bm25\"").contains("cross-encoder:REF"));
    assert!(message("mode = \"deep\"").starts_with("`mode = deep` in shelf/ken.toml: "));
    assert!(message("k = true").starts_with("`k` in shelf/ken.toml is of type boolean"));
    assert!(message("k = ").starts_with("shelf/ken.toml is not TOML: "));
    assert!(message("verbalize = 1").starts_with("`verbalize = 1` in shelf/ken.toml: "));
    let refusal = Layer::of_environment(|name| (name == "KEN_K").then(|| "ten".to_owned()));
    assert!(
        refusal
            .unwrap_err()
            .to_string()
            .starts_with("the variable KEN_K=ten: it must be a whole number")
    );
}

#[test]
fn no_message_shows_a_key_or_a_password() {
    for text in [
        "api_key = \"sk-secret\"",
        "keys = \"sk-secret\"",
        "[keys]\n\"https://h\" = \"sk-secret\"",
        "[keys]\n\"https://h\" = \"sk-secret",
        "model = \"https://ada:sk-secret@h/v1\"",
        "corpus = \"milvus://ada:sk-secret@h/c\"",
    ] {
        let message = message(text);
        assert!(!message.contains("sk-secret"), "{message}");
    }
    let message = message("k = 1\n[keys]\n\"https://h\" = \"sk");
    assert!(message.contains("at line 3"), "{message}");
    let variable = |name: &str| {
        let given = "https://ada:sk-secret@h/v1".to_owned();
        (name == "KEN_MODEL").then_some(given)
    };
    let refusal = Layer::of_environment(variable).unwrap_err().to_string();
    assert!(
        refusal.contains("KEN_MODEL") && !refusal.contains("sk-secret"),
        "{refusal}"
    );
}

#[test]
fn keys_are_shown_by_the_names_of_their_variables() {
    let layer = file("[keys]\n\"https://h:8443\" = \"env:H_KEY\"").unwrap();
    let shown = serde_json::to_value(settings(layer).unwrap()).unwrap();
    assert_eq!(
        shown["keys"],
        serde_json::json!({"https://h:8443": "env:H_KEY"})
    );
}

#[test]
fn edits_are_counted() {
    assert_eq!(edits("", ""), 0);
    assert_eq!(edits("k", ""), 1);
    assert_eq!(edits("polcy", "policy"), 1);
    assert_eq!(edits("modle", "model"), 2);
    assert_eq!(edits("kitten", "sitting"), 3);
}

#[test]
fn a_corpus_must_be_named() {
    let refusal = settings(Layer::default())
        .unwrap()
        .corpus()
        .unwrap_err()
        .to_string();
    assert_eq!(refusal, "no corpus is named");
}
