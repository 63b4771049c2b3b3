//! Servers that are not there or go away, and collections that are not what they should be.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use ken_corpus::{Corpus, Document};
use ken_index::{DenseLayout, Mode, Query};
use ken_milvus::{Progress, PushJob, VectorIndex, push};
use milvus::v2::prelude::{
    ClientV2, CollectionSchema, ConnectConfig, CreateCollectionRequest, DataType, FieldSchema,
};

use crate::invented::{self, no_metadata, numbered, publish, publish_with};
use crate::milvus_lite::MilvusLite;
use crate::proxy::{Proxy, Way};
use crate::{assert_same, job, opened, pushed, started};

#[test]
#[ignore = "needs milvus-lite: run `cargo xtask test`"]
fn a_push_survives_the_death_of_its_server() {
    let (mut server, address, dir) = started("dies", 1000);
    let corpus = Corpus::open(dir.path()).unwrap();
    let total = corpus.passage_count() as u64;
    let stop = AtomicBool::new(false);
    // Once while the first passages are sent, once while the rest is compared and sent.
    for share in [3, 2] {
        let mut killed = false;
        let mut kill = |step: Progress| {
            if !killed && step.passages > total / share {
                server.kill();
                killed = true;
            }
        };
        let address = address.parse().unwrap();
        let error = push(job(&corpus, &address), &mut kill, &stop).unwrap_err();
        assert_eq!(error.kind(), "milvus_lost", "{error}");
        assert!(error.to_string().contains("127.0.0.1"), "{error}");
        assert!(error.remedy().unwrap().mentions("resumes"), "{error}");
        server.restart();
        assert_eq!(
            opened(&address.to_string()).err().unwrap().kind(),
            "push_unfinished"
        );
    }
    let rest = pushed(dir.path(), &address).unwrap();
    assert!(rest.kept > 0, "{rest:?}");
    assert_same(dir.path(), &address);
}

#[test]
#[ignore = "needs milvus-lite: run `cargo xtask test`"]
fn a_push_whose_connection_broke_is_completed_without_doubles() {
    let server = MilvusLite::start();
    let proxy = Proxy::before(server.port());
    let dir = tempfile::tempdir().unwrap();
    publish(dir.path(), &(0..1000).map(numbered).collect::<Vec<_>>());
    let corpus = Corpus::open(dir.path()).unwrap();
    let total = corpus.passage_count() as u64;
    let stop = AtomicBool::new(false);
    // In the middle of a batch, and in that of the answer to one: passages take more than 40 bytes, their ids more than 10.
    for (name, bytes, way) in [
        ("request", 10_000, Way::Requests),
        ("answer", 1_000, Way::Answers),
    ] {
        let address = proxy.address(name);
        let to = address.parse().unwrap();
        let mut acknowledged = 0;
        let mut cut = |step: Progress| {
            acknowledged = step.passages;
            if acknowledged > total / 3 {
                proxy.break_after(bytes, way);
            }
        };
        let error = push(job(&corpus, &to), &mut cut, &stop).unwrap_err();
        assert_eq!(error.kind(), "milvus_lost", "{error}");
        assert!(error.to_string().contains("take passages"), "{error}");
        assert!(error.remedy().unwrap().mentions("resumes"), "{error}");
        assert_eq!(opened(&address).err().unwrap().kind(), "push_unfinished");

        let rest = pushed(dir.path(), &address).unwrap();
        assert_eq!((rest.sent + rest.kept, rest.deleted), (total, 0));
        // What the server took is not sent again, whether it could say so or not.
        let was_taken = rest.kept > acknowledged;
        assert_eq!(was_taken, way == Way::Answers, "{rest:?}, {acknowledged}");
        assert!(rest.kept >= acknowledged, "{rest:?}, {acknowledged}");
        assert_same(dir.path(), &address);
        assert_eq!(pushed(dir.path(), &address).unwrap().kept, total);
    }
}

#[test]
#[ignore = "needs milvus-lite: run `cargo xtask test`"]
fn a_search_tells_that_its_server_is_gone() {
    let (mut server, address, dir) = started("gone", 20);
    pushed(dir.path(), &address).unwrap();
    let collection = opened(&address).unwrap();
    let vector = invented::Dice::new(1).vector();
    let query = Query {
        text: "moon",
        vector: Some(&vector),
    };
    assert!(
        !collection
            .search(&query, Mode::Hybrid, 5)
            .unwrap()
            .is_empty()
    );
    server.kill();
    for mode in [Mode::Dense, Mode::Lexical, Mode::Hybrid] {
        let error = collection.search(&query, mode, 5).unwrap_err();
        assert_eq!(error.kind(), "milvus_lost", "{error}");
    }
    // It is found again when it is back.
    server.restart();
    let collection = opened(&address).unwrap();
    assert!(
        !collection
            .search(&query, Mode::Dense, 5)
            .unwrap()
            .is_empty()
    );
}

#[test]
#[ignore = "needs milvus-lite: run `cargo xtask test`"]
fn a_server_that_hangs_is_not_waited_for_without_end() {
    let (server, address, dir) = started("hangs", 20);
    pushed(dir.path(), &address).unwrap();
    let proxy = Proxy::before(server.port());
    let collection = opened(&proxy.address("hangs")).unwrap();
    proxy.stall(true);
    let asked = Instant::now();
    let error = collection.renewed().err().unwrap();
    assert_eq!(error.kind(), "milvus_timeout", "{error}");
    assert!(
        error.remedy().unwrap().mentions("server is back"),
        "{error}"
    );
    assert!(asked.elapsed() < Duration::from_secs(10), "{error}");
    // It is used again when it goes on.
    proxy.stall(false);
    assert!(collection.renewed().unwrap().is_none());
}

#[test]
fn a_server_that_is_not_there_is_told_soon() {
    let started = Instant::now();
    let error = opened("milvus://127.0.0.1:9/notes").err().unwrap();
    assert_eq!(error.kind(), "milvus_unreachable");
    assert!(error.to_string().contains("127.0.0.1:9"), "{error}");
    assert!(error.remedy().is_some());
    assert!(started.elapsed() < Duration::from_secs(30));
}

#[test]
#[ignore = "needs milvus-lite: run `cargo xtask test`"]
fn only_kens_own_collections_are_touched() {
    let server = MilvusLite::start();
    let address = server.address("foreign");
    let missing = opened(&address).err().unwrap();
    assert_eq!(missing.kind(), "collection_missing");
    assert!(missing.remedy().unwrap().mentions(&address));

    let uri = address
        .replace("milvus://", "http://")
        .replace("/foreign", "");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let client = ClientV2::new(&ConnectConfig::new().uri(uri)).await.unwrap();
        let field = |name: &str, kind| FieldSchema::new().name(name).data_type(kind);
        let schema = CollectionSchema::new()
            .add_field(field("id", DataType::Int64).primary_key(true))
            .add_field(field("vector", DataType::FloatVector).dimension(4));
        let request = CreateCollectionRequest::builder()
            .collection_name("foreign")
            .schema(schema);
        client
            .create_collection(request.build().unwrap())
            .await
            .unwrap();
    });
    let dir = tempfile::tempdir().unwrap();
    publish(dir.path(), &[numbered(1)]);
    assert_eq!(
        opened(&address).err().unwrap().kind(),
        "collection_not_kens"
    );
    assert_eq!(
        pushed(dir.path(), &address).unwrap_err().kind(),
        "collection_not_kens"
    );
}

#[test]
#[ignore = "needs milvus-lite: run `cargo xtask test`"]
fn another_corpus_or_index_is_refused() {
    let (_server, address, dir) = started("other", 10);
    pushed(dir.path(), &address).unwrap();

    let stop = AtomicBool::new(false);
    let corpus = Corpus::open(dir.path()).unwrap();
    let to = address.parse().unwrap();
    let indexed = PushJob {
        index: Some(VectorIndex::default()),
        ..job(&corpus, &to)
    };
    let error = push(indexed, &mut |_| (), &stop);
    assert_eq!(error.unwrap_err().kind(), "other_collection_index");

    let other = tempfile::tempdir().unwrap();
    publish_with(other.path(), "f2", DenseLayout::default(), &[numbered(1)]);
    let error = pushed(other.path(), &address).unwrap_err();
    assert_eq!(error.kind(), "collection_of_another_corpus");
    assert!(error.to_string().contains("f2"), "{error}");
    assert_same(dir.path(), &address);
}

#[test]
#[ignore = "needs milvus-lite: run `cargo xtask test`"]
fn an_index_that_the_server_lacks_is_refused() {
    let server = MilvusLite::start();
    let address = server.address("lacks");
    let dir = tempfile::tempdir().unwrap();
    publish(dir.path(), &[numbered(1)]);
    let corpus = Corpus::open(dir.path()).unwrap();
    let stop = AtomicBool::new(false);
    let to = address.parse().unwrap();
    for name in ["diskann", "ivf_rabitq", "hnsw:f16", "autoindex:int8"] {
        let index: VectorIndex = name.parse().unwrap();
        let indexed = PushJob {
            index: Some(index),
            ..job(&corpus, &to)
        };
        let error = push(indexed, &mut |_| (), &stop).unwrap_err();
        assert_eq!(error.kind(), "milvus_index_unsupported");
        assert!(error.to_string().contains(name), "{error}");
        assert!(error.remedy().unwrap().mentions("autoindex"));
        assert_eq!(opened(&address).err().unwrap().kind(), "collection_missing");
    }
}

#[test]
#[ignore = "needs milvus-lite: run `cargo xtask test`"]
fn a_passage_that_milvus_cannot_take_is_named() {
    let server = MilvusLite::start();
    let dir = tempfile::tempdir().unwrap();
    let document: Document = invented::document("long.md", "", &no_metadata());
    publish(dir.path(), &[(document, vec!["word ".repeat(20_000)])]);
    let error = pushed(dir.path(), &server.address("long")).unwrap_err();
    assert_eq!(error.kind(), "too_large_for_milvus");
    assert!(error.to_string().contains("long.md#0"), "{error}");
    assert!(error.remedy().unwrap().mentions("segment words"));
}
