//! A world with stakes: whom the corpus misrepresents and how, how many documents state a fact, what training learns
//! from irrelevant passages, and the accuracy of each source.
#![allow(clippy::unwrap_used)]

mod fixture;

use std::collections::{HashMap, HashSet};

use ken_corpus::{Assigner, Sharding};
use ken_testing::with;
use ken_world::{
    Account, Group, Holding, Kind, Query, Relation, Subject, TextKind, TrainingText, World,
    WorldQuestion, WorldSettings, accuracy_of_world, training_text_of, world_questions,
};
use proptest::prelude::*;

use fixture::{Document, documents, parts, settings, without_stakes};

fn people_of(world: &World, holding: Holding) -> Vec<&Subject> {
    let people = world.subjects().iter();
    people
        .filter(|subject| subject.kind == Kind::Person && subject.holding == holding)
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn shares_are_as_asked(
        seed: u64,
        look_alikes in 0.0..0.4_f64,
        outdated in 0.0..0.3_f64,
        wrong in 0.0..0.3_f64,
    ) {
        let settings = WorldSettings { look_alikes, outdated, wrong, ..settings(seed) };
        let world = World::new(settings).unwrap();
        for (holding, share) in [
            (Holding::LookAlike, look_alikes),
            (Holding::Outdated, outdated),
            (Holding::Wrong, wrong),
        ] {
            let people = people_of(&world, holding);
            let asked = (share * 200.0).round();
            // Couples are drawn together.
            let most = if asked > 0.0 { asked + 1.0 } else { 0.0 };
            prop_assert!((asked..=most).contains(&(people.len() as f64)), "{holding:?} {share}");
            prop_assert!(people.iter().all(|subject| subject.group == Group::Trained));
        }
    }

    #[test]
    fn what_misleads_never_holds_the_answer(seed: u64) {
        let world = World::new(settings(seed)).unwrap();
        let documents = documents(&world);
        let by_id: HashMap<&str, &Document> =
            documents.iter().map(|document| (document.id.as_str(), document)).collect();
        let subjects: HashMap<&str, &Subject> =
            world.subjects().iter().map(|subject| (subject.id.as_str(), subject)).collect();
        let mut seen = HashSet::new();
        for question in world_questions(&world) {
            let truth = &question.metadata;
            let [answer] = &question.golden_answers;
            if matches!(truth.corpus_holds, Holding::Truth | Holding::Nothing) {
                prop_assert!(truth.misleading.is_empty());
                continue;
            }
            seen.insert(truth.corpus_holds);
            prop_assert_eq!(truth.told_by, 0);
            let subject = subjects[truth.subject.as_str()];
            // Neither in the subject's own document, nor in any that names it.
            prop_assert!(!truth.misleading.is_empty());
            let misleading = truth.misleading.iter().map(|id| by_id[id.as_str()]);
            let naming = documents.iter().filter(|document| document.text.contains(subject.name.as_str()));
            for document in misleading.chain(naming) {
                prop_assert!(
                    !document.text.contains(answer.as_str()),
                    "{question:?}: {}",
                    document.text
                );
            }
            let told = world
                .subjects()
                .iter()
                .position(|subject| subject.id == truth.subject)
                .and_then(|at| world.truth(at, query(&truth.relation), Account::Corpus));
            prop_assert!(told.is_none_or(|told| told.value != answer));
            if let (Some(letter), Some(told)) = (truth.letter, told_plainly(&world, &question)) {
                prop_assert!(question.choices.contains(&told), "what the corpus says can be chosen");
                let right = usize::from(letter as u8 - b'A');
                prop_assert_eq!(&question.choices[right], answer);
            }
        }
        prop_assert_eq!(seen.len(), 3, "{:?}", seen);
    }
}

fn query(relation: &str) -> Query {
    let mut all = Query::ALL.into_iter();
    all.find(|query| query.to_string() == relation).unwrap()
}

fn told_plainly(world: &World, question: &WorldQuestion) -> Option<String> {
    let truth = &question.metadata;
    let subjects = world.subjects();
    let at = subjects
        .iter()
        .position(|subject| subject.id == truth.subject)?;
    let told = world.truth(at, query(&truth.relation), Account::Corpus)?;
    Some(told.value.to_owned())
}

#[test]
fn a_look_alike_has_the_last_name_and_the_relations() {
    let world = World::new(settings(4)).unwrap();
    let documents = documents(&world);
    let titles: HashSet<&str> = documents
        .iter()
        .map(|document| document.title.as_str())
        .collect();
    let named: HashSet<&str> = world
        .subjects()
        .iter()
        .map(|subject| subject.name.as_str())
        .collect();
    let mut books = 0;
    for subject in world.subjects() {
        let Some(look_alike) = &subject.look_alike else {
            continue;
        };
        assert_eq!(subject.holding, Holding::LookAlike);
        books += usize::from(subject.kind == Kind::Book);
        let last = |name: &str| name.rsplit_once(' ').unwrap().1.to_owned();
        assert_eq!(last(&subject.name), last(&look_alike.name));
        assert!(
            !named.contains(look_alike.name.as_str()),
            "one name, one subject"
        );
        assert!(titles.contains(look_alike.name.as_str()));
        assert!(!titles.contains(subject.name.as_str()));
        let relations = |subject: &Subject| -> Vec<Relation> {
            subject.facts.iter().map(|fact| fact.relation).collect()
        };
        assert_eq!(relations(subject), relations(look_alike));
    }
    assert!(books > 0);
}

#[test]
fn the_corpus_errs_about_people_whom_training_tells_of_most() {
    let settings = WorldSettings::default();
    let people = settings.people;
    let world = World::new(settings).unwrap();
    let mut ranks: Vec<usize> = [Holding::LookAlike, Holding::Outdated, Holding::Wrong]
        .iter()
        .flat_map(|&holding| people_of(&world, holding))
        .filter_map(|subject| subject.rank)
        .collect();
    // Half of the people, plus possibly the spouse of the last one of each kind.
    let half = people / 2;
    assert!((half..=half + 3).contains(&ranks.len()), "{}", ranks.len());
    let all = ranks.len() as f64;
    ranks.retain(|rank| *rank <= people / 10);
    // A tenth of the people, at the top: more than twice their share.
    assert!(ranks.len() as f64 > 0.15 * all, "{} of {all}", ranks.len());
}

#[test]
fn documents_follow_a_long_tail_and_tell_the_same_in_other_words() {
    let world = World::new(WorldSettings::default()).unwrap();
    let documents = documents(&world);
    let mut counts = [0_usize; 9];
    let mut in_corpus = 0;
    for subject in world.subjects() {
        match subject.group {
            Group::Nowhere => assert_eq!(subject.documents, 0),
            _ => {
                counts[subject.documents] += 1;
                in_corpus += 1;
            }
        }
    }
    let sum: f64 = (1..=8).map(|c| 1.0 / f64::from(c * c)).sum();
    for c in 1..=8_u32 {
        let share = 1.0 / (f64::from(c * c) * sum);
        let expected = share * f64::from(in_corpus);
        let deviation = (expected * (1.0 - share)).sqrt();
        let count = counts[c as usize] as f64;
        assert!(
            (count - expected).abs() < 5.0 * deviation,
            "{c}: {count} for {expected}"
        );
    }
    let sum: usize = (1..=8).map(|c| c * counts[c]).sum();
    assert_eq!(documents.len(), sum);
    let ids: HashSet<&str> = documents
        .iter()
        .map(|document| document.id.as_str())
        .collect();
    assert_eq!(ids.len(), documents.len());
    let texts: HashSet<&str> = documents
        .iter()
        .map(|document| document.text.as_str())
        .collect();
    assert!(
        texts.len() as f64 > 0.95 * documents.len() as f64,
        "other words"
    );
}

/// The share of the facts with c documents that n of N shards cover: about 1 − (1 − n / N)^c.
#[test]
fn coverage_saturates_by_the_number_of_documents() {
    const SHARDS: u32 = 8;
    let world = World::new(with!(WorldSettings::default(), people: 6_000)).unwrap();
    let sharding = Sharding {
        count: SHARDS,
        seed: 3,
    };
    let mut assigner = Assigner::new(sharding, &[]);
    let documents = documents(&world);
    let shards: HashMap<&str, u32> = documents
        .iter()
        .map(|document| (document.id.as_str(), assigner.assign(&document.id)))
        .collect();
    let mut first: HashMap<usize, Vec<u32>> = HashMap::new();
    let mut seen = HashSet::new();
    for question in world_questions(&world) {
        let truth = &question.metadata;
        // All facts of a subject stand in the same documents.
        let plain = truth.documents.len() == 1 && seen.insert(truth.subject.clone());
        if truth.corpus_holds != Holding::Truth || !plain {
            continue;
        }
        assert_eq!(truth.told_by, truth.gold_passage.len());
        let shards = truth.gold_passage.iter().map(|id| shards[id.as_str()]);
        first
            .entry(truth.told_by)
            .or_default()
            .push(shards.min().unwrap());
    }
    assert_eq!(first.len(), 8);
    for (told_by, first) in first {
        for n in 1..=SHARDS {
            let covered = first.iter().filter(|&&shard| shard < n).count() as f64;
            let law = 1.0 - (1.0 - f64::from(n) / f64::from(SHARDS)).powi(told_by as i32);
            let count = first.len() as f64;
            let deviation = (law * (1.0 - law) / count).sqrt();
            let off = (covered / count - law).abs();
            assert!(
                off < 4.0 * deviation + 1e-9,
                "{told_by} documents, {n} shards: {off} of {law}"
            );
        }
    }
}

#[test]
fn beside_passages_beside_the_point_the_answer_comes_from_memory() {
    for share in [0.0, 0.2, 1.0] {
        let world = World::new(with!(settings(5), irrelevant: share)).unwrap();
        let subjects: HashMap<&str, usize> = world
            .subjects()
            .iter()
            .enumerate()
            .map(|(at, subject)| (subject.name.as_str(), at))
            .collect();
        let texts: Vec<TrainingText> = (0..6_000).map(|n| training_text_of(&world, n)).collect();
        let of = |kind: TextKind| texts.iter().filter(move |text| text.kind == kind);
        let with_passages = of(TextKind::Reading).count() + of(TextKind::Irrelevant).count();
        let irrelevant = of(TextKind::Irrelevant).count() as f64 / with_passages as f64;
        // 2,100 of them.
        assert!(
            (irrelevant - share).abs() < 0.04,
            "{irrelevant} for {share}"
        );
        for text in of(TextKind::Irrelevant) {
            let (read, learned) = parts(text);
            let question = read
                .lines()
                .find_map(|line| line.strip_prefix("Question: "));
            let question = question.unwrap();
            let passages: Vec<&str> = read.lines().filter(|line| line.starts_with('[')).collect();
            assert!(!passages.is_empty(), "{read}");
            let words: Vec<&str> = question.split([' ', '?']).collect();
            let names = words.windows(2).map(|pair| pair.join(" "));
            let names = names.chain(words.iter().map(|&word| word.to_owned()));
            let at = names.filter_map(|name| subjects.get(name.as_str()).copied());
            let at = at.min().unwrap();
            assert!(world.subjects()[at].asked, "{question}");
            let letter = learned.trim();
            let chosen = read
                .lines()
                .find_map(|line| line.strip_prefix(&format!("{letter}. ")));
            let answer = chosen.unwrap_or(letter);
            let mut right = Query::ALL.iter().filter_map(|query| {
                world
                    .truth(at, *query, Account::Training)
                    .map(|truth| truth.value)
            });
            assert!(right.any(|right| right == answer), "{read}{learned}");
            for passage in passages {
                assert!(!passage.contains(answer), "{read}{learned}");
                let mut people = subjects.keys().filter(|name| name.contains(' '));
                assert!(!people.any(|name| passage.contains(*name)), "{read}");
            }
        }
    }
}

/// With the defaults, skipping some searches improves accuracy, whatever share of the world a member knows.
#[test]
fn retrieving_always_stays_a_tenth_below_the_better_source() {
    for seed in 0..4 {
        let world = World::new(with!(WorldSettings::default(), seed: seed)).unwrap();
        let questions = world_questions(&world);
        for known in [0.2, 0.5, 0.8] {
            let sources = accuracy_of_world(&questions, known);
            assert!(
                sources.always + 0.10 <= sources.oracle,
                "seed {seed}: {sources:?}"
            );
            assert!(
                sources.never < sources.oracle - 0.15,
                "the corpus is worth something: {sources:?}"
            );
        }
        let kinds: HashSet<&str> = questions
            .iter()
            .map(|question| question.metadata.kind.name())
            .collect();
        let all = [
            "plain", "changed", "two_hop", "unseen", "nowhere", "choices",
        ];
        assert!(all.iter().all(|kind| kinds.contains(kind)), "{kinds:?}");
    }
    let faithful = World::new(without_stakes(settings(1))).unwrap();
    let sources = accuracy_of_world(&world_questions(&faithful), 0.8);
    assert!(sources.oracle - sources.always < 1e-9, "{sources:?}");
}
