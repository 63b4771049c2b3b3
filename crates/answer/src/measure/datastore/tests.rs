//! A datastore in a folder: near entries vote, people's changes count, and refused changes leave it as it was.

use ken_testing::with;

use super::*;

const CORPORA: [&str; 2] = ["notes", "wiki"];

fn entry(id: &str, source: &str) -> Entry {
    Entry::new(id, &format!("who is {id}?"), source, By::Measured)
}

fn keyed_by() -> KeyedBy {
    KeyedBy {
        model: "m".to_owned(),
        prompt: prompt::fingerprint(),
        layer: 2,
        center: vec![1.0, 0.0, 0.0],
    }
}

/// Three groups of questions, each around an axis of its own.
fn states(count: usize) -> (Vec<Entry>, Vec<Vec<f32>>) {
    let sources = ["self", "notes", "wiki"];
    let each = (0..count).map(|number| {
        let axis = number % 3;
        let mut state = vec![1.0, 0.0, 0.0];
        state[axis] += 5.0 + (number / 3) as f32;
        state[(axis + 1) % 3] += (number % 7) as f32 / 70.0;
        (entry(&format!("q{number}"), sources[axis]), state)
    });
    each.unzip()
}

fn made(folder: &Path, count: usize) -> Datastore {
    let (entries, states) = states(count);
    Datastore::create(folder, keyed_by(), NEIGHBORS, &CORPORA, entries, &states).unwrap()
}

#[test]
fn the_nearest_entries_vote() {
    let folder = tempfile::tempdir().unwrap();
    let store = made(&folder.path().join("d"), 300);
    assert_eq!(store.entries().len(), 300);
    for (axis, expected) in [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
        .iter()
        .enumerate()
    {
        let mut state = vec![1.0, 0.0, 0.0];
        state[axis] += 3.0;
        let shares = store.shares(&state).unwrap();
        // All thirty vote for one source, and each source has a vote from the start.
        let mut pairs = shares.iter().zip(expected);
        assert!(
            pairs.all(|(x, y)| (x - (30.0 * y + 1.0) / 33.0).abs() < 1e-9),
            "{shares:?}"
        );
    }
    store.check("m").unwrap();
    assert_eq!(store.check("n").unwrap_err().kind(), "other_datastore");
}

#[test]
fn shares_are_those_of_a_plain_search() {
    let folder = tempfile::tempdir().unwrap();
    let (mut entries, states) = states(90);
    for (number, entry) in entries.iter_mut().enumerate() {
        entry.source = if number % 5 == 0 { "self" } else { "wiki" }.to_owned();
    }
    let path = folder.path().join("d");
    let store =
        Datastore::create(&path, keyed_by(), NEIGHBORS, &CORPORA, entries, &states).unwrap();
    let query = vec![1.3, 0.8, 0.4];
    let key = keyed_by().key(&query);
    let mut near: Vec<(f32, usize)> = states
        .iter()
        .enumerate()
        .map(|(number, state)| {
            let other = keyed_by().key(state);
            (key.iter().zip(&other).map(|(x, y)| x * y).sum(), number)
        })
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    let nearest = store.nearest(&query).unwrap();
    assert_eq!(nearest.len(), NEIGHBORS);
    for ((entry, cosine), (expected, number)) in nearest.iter().zip(&near) {
        assert!((cosine - expected).abs() < 1e-6, "{cosine} {expected}");
        assert_eq!(entry.id, format!("q{number}"));
    }
    let weight = |cosine: f32| (f64::from(cosine) * 10.0).exp();
    let (mut own, mut all) = (0.0, 0.0);
    for (cosine, number) in near.iter().take(NEIGHBORS) {
        all += weight(*cosine);
        own += if number % 5 == 0 {
            weight(*cosine)
        } else {
            0.0
        };
    }
    let expected = (NEIGHBORS as f64 * own / all + 1.0) / (NEIGHBORS as f64 + 3.0);
    let shares = store.shares(&query).unwrap();
    assert!((shares[0] - expected).abs() < 1e-6, "{shares:?} {expected}");
    assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
}

#[test]
fn votes_may_be_divided_until_a_person_decides() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d");
    let divided = |wiki: f64| {
        with!(entry("a", "wiki"),
            shares: Some([("self".to_owned(), 1.0 - wiki), ("wiki".to_owned(), wiki)].into()))
    };
    let (state, many) = (vec![0.0, 0.0, 4.0], keyed_by());
    let states = std::slice::from_ref(&state);
    let entries = vec![divided(0.75)];
    let mut store = Datastore::create(&path, many, 1, &CORPORA, entries, states).unwrap();
    assert_eq!(store.neighbors(), 1);
    assert_eq!(
        store.shares(&state).unwrap(),
        [1.25 / 4.0, 1.0 / 4.0, 1.75 / 4.0]
    );
    store
        .change(&BTreeMap::from([("a", "self")]), Vec::new(), &[])
        .unwrap();
    assert_eq!(
        store.shares(&state).unwrap(),
        [2.0 / 4.0, 1.0 / 4.0, 1.0 / 4.0]
    );

    let bad = folder.path().join("bad");
    let entries = vec![divided(1.5)];
    let error = Datastore::create(&bad, keyed_by(), 1, &CORPORA, entries, states).unwrap_err();
    assert_eq!(error.kind(), "bad_shares");
}

#[test]
fn a_corrected_question_is_its_own_nearest_neighbor() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = made(&folder.path().join("d"), 60);
    // The keys of removed entries stay.
    store.remove(&["q0", "q7"]).unwrap();
    let state = vec![1.5, 0.9, 4.2];
    let id = store.correct("where is it?", "notes", &state).unwrap();
    assert_eq!(id, id_of("where is it?"));
    let own = |store: &Datastore| {
        let (entry, cosine) = store.nearest(&state).unwrap()[0];
        assert!(cosine > 0.999_999, "{cosine}");
        (entry.id.clone(), entry.source.clone(), entry.by)
    };
    assert_eq!(own(&store), (id.clone(), "notes".to_owned(), By::Person));
    assert_eq!(own(&Datastore::open(store.folder()).unwrap()), own(&store));
    // A repeated question changes its entry, and a measured entry is not duplicated.
    assert_eq!(store.correct("where is it?", "wiki", &state).unwrap(), id);
    assert_eq!(own(&store).1, "wiki");
    assert_eq!(store.correct("who is q5?", "self", &state).unwrap(), "q5");
    assert_eq!(store.entries().len(), 59);
    let error = store.correct("who is q5?", "none", &state).unwrap_err();
    assert_eq!(error.kind(), "no_such_source");
}

#[test]
fn what_people_change_counts_from_then_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d");
    let mut store = made(&path, 60);
    let before = store.fingerprint().to_owned();
    let own: Vec<String> = (0..20).map(|number| format!("q{}", 3 * number)).collect();
    let sources: BTreeMap<&str, &str> = own.iter().map(|id| (id.as_str(), "wiki")).collect();
    store.change(&sources, Vec::new(), &[]).unwrap();
    assert_ne!(store.fingerprint(), before);
    let state = vec![9.0, 0.0, 0.0];
    // No entry votes for the model any more, and it keeps the share that it has from the start.
    assert!((store.shares(&state).unwrap()[0] - 1.0 / 33.0).abs() < 1e-9);
    let by_people = store.entries().iter().filter(|e| e.by == By::Person);
    assert_eq!(by_people.count(), 20);

    // Many small additions, some of which replace entries: the keys are merged in time.
    for round in 0..12 {
        let new = vec![entry("q1", "self"), entry(&format!("new{round}"), "self")];
        let states = [vec![0.0, 0.0, 3.0 + round as f32], vec![9.0, 0.0, 0.0]];
        store.change(&BTreeMap::new(), new, &states).unwrap();
    }
    assert_eq!(store.entries().len(), 72);
    // The twelve new ones are as near as can be.
    assert!(store.shares(&state).unwrap()[0] > 13.0 / 33.0);

    let gone: Vec<String> = (0..12).map(|round| format!("new{round}")).collect();
    let gone: Vec<&str> = gone.iter().map(String::as_str).collect();
    store.remove(&gone).unwrap();
    let again = Datastore::open(&path).unwrap();
    assert_eq!(
        (again.entries().len(), again.fingerprint()),
        (60, store.fingerprint())
    );
    assert!(again.shares(&state).unwrap()[0] < 0.1);
    // No replaced file stays behind.
    let entries = std::fs::read_dir(&path).unwrap().flatten();
    let lists = entries.filter(|one| one.file_name().to_string_lossy().starts_with("entries-"));
    assert_eq!(lists.count(), 1);
}

#[test]
fn what_cannot_be_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d");
    let mut store = made(&path, 6);
    let before = store.entries().to_vec();
    let kind = |result: Result<(), DatastoreError>| result.unwrap_err().kind();
    let change = |id: &'static str, source: &'static str| BTreeMap::from([(id, source)]);
    assert_eq!(
        kind(store.change(&change("q9", "self"), Vec::new(), &[])),
        "no_such_entry"
    );
    assert_eq!(
        kind(store.change(&change("q1", "web"), Vec::new(), &[])),
        "no_such_source"
    );
    let twice = vec![entry("a", "self"), entry("a", "wiki")];
    let states = vec![vec![0.0; 3]; 2];
    assert_eq!(
        kind(store.change(&BTreeMap::new(), twice, &states)),
        "same_id"
    );
    assert_eq!(kind(store.remove(&["q1", "q9"])), "no_such_entry");
    assert_eq!(store.entries(), before);
    assert_eq!(Datastore::open(&path).unwrap().entries(), before);

    let (entries, states) = super::tests::states(3);
    let again = Datastore::create(&path, keyed_by(), NEIGHBORS, &CORPORA, entries, &states);
    assert_eq!(again.unwrap_err().kind(), "out_not_empty");
    std::fs::write(path.join("datastore.json"), "{").unwrap();
    assert_eq!(
        Datastore::open(&path).unwrap_err().kind(),
        "not_a_datastore"
    );
    let nothing = Datastore::open(folder.path());
    assert_eq!(nothing.unwrap_err().kind(), "not_a_datastore");
}

#[test]
fn one_changes_it_at_a_time_and_only_what_was_seen() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d");
    let mut store = made(&path, 6);
    let mut late = Datastore::open(&path).unwrap();
    let to_wiki = BTreeMap::from([("q0", "wiki")]);

    let lock = store.header.lock(&path).unwrap();
    let error = late.remove(&["q1"]).unwrap_err();
    assert_eq!(error.kind(), "datastore_locked");
    drop(lock);

    store.change(&to_wiki, Vec::new(), &[]).unwrap();
    for result in [late.remove(&["q1"]), late.change(&to_wiki, Vec::new(), &[])] {
        let error = result.unwrap_err();
        assert_eq!(error.kind(), "datastore_changed");
        assert_eq!(error.remedy(), Some("run it again".into()));
    }
    let mut again = Datastore::open(&path).unwrap();
    assert_eq!(again.entries(), store.entries());
    again.remove(&["q1"]).unwrap();
    assert_eq!(again.entries().len(), 5);
}

#[test]
fn a_fingerprint_tells_all_apart_that_votes_may_depend_on() {
    let folder = tempfile::tempdir().unwrap();
    let (entries, states) = states(3);
    let mut asked = entries.clone();
    asked[1].question.push('?');
    let other = |change: fn(&mut KeyedBy)| {
        let mut keyed_by = keyed_by();
        change(&mut keyed_by);
        keyed_by
    };
    let mut divided = entries.clone();
    divided[1].shares = Some([("self".to_owned(), 0.25)].into());
    let stores = [
        (keyed_by(), &CORPORA[..], &divided),
        (keyed_by(), &CORPORA[..], &entries),
        (keyed_by(), &CORPORA[..], &asked),
        (keyed_by(), &["notes", "wiki", "web"], &entries),
        (other(|by| by.layer = 3), &CORPORA[..], &entries),
        (other(|by| by.center[2] = -0.0), &CORPORA[..], &entries),
        (other(|by| by.prompt.push('x')), &CORPORA[..], &entries),
    ];
    let mut fingerprints = HashSet::new();
    for (number, (keyed_by, corpora, entries)) in stores.into_iter().enumerate() {
        let path = folder.path().join(number.to_string());
        let store = Datastore::create(
            &path,
            keyed_by,
            NEIGHBORS,
            corpora,
            entries.clone(),
            &states,
        )
        .unwrap();
        assert!(
            fingerprints.insert(store.fingerprint().to_owned()),
            "{number}"
        );
    }
}

#[test]
fn without_entries_no_source_is_ahead() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d");
    let mut store = made(&path, 3);
    store.remove(&["q0", "q1", "q2"]).unwrap();
    assert_eq!(store.shares(&[1.0, 2.0, 3.0]).unwrap(), vec![1.0 / 3.0; 3]);
}

#[test]
fn one_that_was_never_made_whole_is_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d");
    drop(made(&path, 6));
    std::fs::rename(path.join("datastore.json"), path.join("datastore.json.tmp")).unwrap();
    std::fs::write(path.join("keys-1/more"), "x").unwrap();
    std::fs::write(path.join("entries-1.jsonl.tmp"), "x").unwrap();
    let error = Datastore::open(&path).unwrap_err();
    assert_eq!(error.kind(), "not_a_datastore");
    assert_eq!(made(&path, 9).entries().len(), 9);
    assert_eq!(
        ken_storage::names(&path).unwrap(),
        ["datastore.json", "entries-1.jsonl", "keys-1"]
    );
    assert!(!path.join("keys-1/more").exists());
}

#[test]
fn readers_find_a_state_before_or_after_each_change() {
    const READERS: usize = 4;
    const OPENS: usize = 600;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d");
    let mut store = made(&path, 30);
    let done = std::sync::atomic::AtomicUsize::new(0);
    let is_done = || done.load(std::sync::atomic::Ordering::Relaxed) == READERS;
    std::thread::scope(|scope| {
        for _ in 0..READERS {
            scope.spawn(|| {
                for _ in 0..OPENS {
                    let read = Datastore::open(&path).unwrap();
                    // A reader sees all of a change or nothing of it.
                    let is_wiki = |entry: &&Entry| entry.by == By::Person && entry.source == "wiki";
                    let moved = read.entries().iter().filter(is_wiki).count();
                    assert!(moved == 0 || moved == 2, "{moved}");
                    assert_eq!(read.shares(&[9.0, 0.0, 0.0]).unwrap().len(), 3);
                }
                done.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            });
        }
        for round in 0.. {
            if is_done() {
                break;
            }
            let source = ["wiki", "notes"][round % 2];
            let sources = BTreeMap::from([("q0", source), ("q3", source)]);
            let new = vec![entry("new", "self")];
            let states = [vec![0.0, 0.0, 3.0 + round as f32]];
            store.change(&sources, new, &states).unwrap();
        }
    });
    assert_eq!(Datastore::open(&path).unwrap().entries(), store.entries());
}
