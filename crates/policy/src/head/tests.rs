//! Inference of heads, and their files.

use std::fs;

use ken_testing::{cases, has, with};
use proptest::prelude::*;

use super::*;

fn network(center: &[f32], scale: &[f32], layers: &[(&[f32], &[f32])]) -> Network {
    let layers = layers.iter().map(|(weights, bias)| Layer {
        weights: weights.to_vec(),
        bias: bias.to_vec(),
    });
    Network::new(center.to_vec(), scale.to_vec(), layers.collect()).unwrap()
}

fn router() -> Head {
    let network = network(&[0.5, 0.0], &[2.0, 1.0], &[(&[1.0, -1.0], &[0.25])]);
    let measured_on =
        with!(MeasuredOn::default(), model: "m".to_owned(), embedder: Some("e".to_owned()));
    let learned_from = vec![digest_of("Who?"), digest_of("Why? ")];
    Head::new(
        Purpose::Router,
        Input::QuestionEmbedding,
        measured_on,
        learned_from,
        network,
    )
}

#[test]
fn a_logistic_head_is_the_logistic_of_a_weighted_sum() {
    let head = router();
    // (1.5 - 0.5) * 2 - 0.5 + 0.25
    let expected = 1.0 / (1.0 + (-1.75_f64).exp());
    assert!((head.apply(&[1.5, 0.5]).unwrap() - expected).abs() < 1e-7);
    assert_eq!(head.apply(&[1.5]), None);
    assert!(head.apply(&[f32::NAN, 0.0]).unwrap().is_nan());
    assert_eq!(head.dimensions(), 2);
}

#[test]
fn a_hidden_layer_applies_tanh() {
    let network = network(
        &[0.0; 2],
        &[1.0; 2],
        &[(&[1.0, 0.0, 0.0, 2.0], &[0.0, 1.0]), (&[3.0, -1.0], &[0.5])],
    );
    let inner = 3.0 * 0.3_f64.tanh() - (2.0 * -0.4 + 1.0_f64).tanh() + 0.5;
    let expected = 1.0 / (1.0 + (-inner).exp());
    assert!((network.apply(&[0.3, -0.4]) - expected).abs() < 1e-6);
}

#[test]
fn a_head_round_trips_through_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("router.json");
    let head = router();
    head.write(&path).unwrap();
    let read = Head::read(&path, Purpose::Router).unwrap();
    assert_eq!(read, head);
    has!(read, fingerprint(): head.fingerprint(), fingerprint().len(): 32);
    assert!(read.knows("Why?") && read.knows(" Who?") && !read.knows("How?"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn other_files_are_refused_with_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("head.json");
    let refused = |purpose, part: &str| {
        let error = Head::read(&path, purpose).unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
        (error.kind(), error.remedy().unwrap().to_string())
    };
    let (kind, hint) = refused(Purpose::Router, "cannot read");
    assert_eq!(kind, "head_file");
    assert!(hint.contains("TrainRouter"), "{hint}");
    router().write(&path).unwrap();
    let (kind, hint) = refused(Purpose::Pruner, "it is a router");
    assert_eq!(kind, "not_a_head");
    assert!(hint.contains("TrainPruner"), "{hint}");

    let text = fs::read_to_string(&path).unwrap();
    for (from, to, kind, part) in cases![
        "\"version\":1" => "\"version\":2", "other_head_version", "version 2";
        "ken-head" => "a-head", "not_a_head", "a-head";
        "\"scale\":[2.0," => "\"scale\":[", "not_a_head", "sizes";
        "\"bias\":[0.25]" => "\"bias\":[]", "not_a_head", "sizes";
        "\"network\"" => "\"net\"", "not_a_head", "network";
    ] {
        let changed = text.replace(from, to);
        assert_ne!(changed, text, "{from}");
        fs::write(&path, changed).unwrap();
        assert_eq!(refused(Purpose::Router, part).0, kind, "{from}");
    }
    fs::write(&path, &text[..text.len() / 2]).unwrap();
    assert_eq!(
        refused(Purpose::Router, "not a router file").0,
        "not_a_head"
    );
    let nowhere = folder.path().join("missing").join("head.json");
    assert_eq!(router().write(&nowhere).unwrap_err().kind(), "head_file");
}

#[test]
fn parts_that_do_not_fit_are_refused() {
    let layer = |weights: usize, bias: usize| Layer {
        weights: vec![1.0; weights],
        bias: vec![1.0; bias],
    };
    let of = |inputs: usize, layers: Vec<Layer>| {
        Network::new(vec![0.0; inputs], vec![1.0; inputs], layers).unwrap_err()
    };
    assert_eq!(of(2, vec![]), BadNetwork::Layers { received: 0 });
    assert_eq!(of(2, vec![layer(3, 1)]), BadNetwork::Sizes);
    assert_eq!(of(2, vec![layer(4, 2)]), BadNetwork::Sizes);
    assert_eq!(of(0, vec![layer(0, 1)]), BadNetwork::Sizes);
    let infinite = Layer {
        weights: vec![f32::INFINITY],
        bias: vec![0.0],
    };
    assert_eq!(of(1, vec![infinite]), BadNetwork::NotFinite);
}

proptest! {
    #[test]
    fn any_finite_vector_gives_a_share(
        vector in prop::collection::vec(-1e6f32..1e6, 11),
        weights in prop::collection::vec(-10f32..10.0, 11),
    ) {
        let network = network(&[0.0; 11], &[1.0; 11], &[(&weights, &[0.5])]);
        let number = network.apply(&vector);
        prop_assert!((0.0..=1.0).contains(&number), "{number}");
        let exact: f64 = vector.iter().zip(&weights).map(|(x, w)| f64::from(*x) * f64::from(*w)).sum();
        if exact.abs() < 1.0 {
            prop_assert!((number - 1.0 / (1.0 + (-exact - 0.5).exp())).abs() < 0.2);
        }
    }
}

#[test]
fn a_damaged_file_is_a_head_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("head.json");
    router().write(&path).unwrap();
    let valid = fs::read(&path).unwrap();
    let mut read = 0;
    let mut check = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        match Head::read(&path, Purpose::Router) {
            Ok(head) => {
                read += 1;
                let number = head.apply(&vec![0.25; head.dimensions()]).unwrap();
                // Overflow gives NaN, which retrieves.
                assert!((0.0..=1.0).contains(&number) || number.is_nan());
            }
            Err(error) => assert!(!error.to_string().is_empty() && error.remedy().is_some()),
        }
    };
    for at in 0..valid.len() {
        check(&valid[..at]);
        check(&[&valid[..at], &valid[at + 1..]].concat());
        let others = b"9-.e,[]\"\0\xff".chunks(1);
        for other in others.chain([&b"null"[..]]) {
            check(&[&valid[..at], other, &valid[at + 1..]].concat());
            check(&[&valid[..at], other, &valid[at..]].concat());
        }
    }
    assert!(read > 100, "{read}");

    let text = String::from_utf8(valid).unwrap();
    for (from, to) in [
        ("\"weights\":[1.0,", "\"weights\":[NaN,"),
        ("\"weights\":[1.0,", "\"weights\":[null,"),
        ("\"weights\":[1.0,", "\"weights\":[1e39,"),
        ("\"weights\":[1.0,", "\"weights\":[1e999,"),
        ("\"center\":[0.5,", "\"center\":[-1e39,"),
        ("\"scale\":[2.0,", "\"scale\":[Infinity,"),
        ("\"bias\":[0.25]", "\"bias\":[0.25,0.25]"),
    ] {
        let changed = text.replace(from, to);
        assert_ne!(changed, text, "{from}");
        fs::write(&path, changed).unwrap();
        let error = Head::read(&path, Purpose::Router).unwrap_err();
        assert_eq!(error.kind(), "not_a_head", "{to}");
    }
}
