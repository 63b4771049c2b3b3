//! n\* from a table alone, compared with all that "Less LLM, More Documents" reports about its own tables.

use std::path::Path;

use ken_scale::study::{Compensation, Curve, Scores, compensations, read_table};
use proptest::prelude::*;

const MODELS: [&str; 5] = ["0.6B", "1.7B", "4B", "8B", "14B"];

fn curves() -> Vec<Curve> {
    read_table(Path::new("tests/fixtures/less-llm-tables.csv")).unwrap()
}

fn of<'c>(all: &'c [Compensation], dataset: &str, pair: [&str; 2]) -> &'c Compensation {
    let mut all = all.iter();
    let is_it = |known: &&Compensation| {
        known.dataset == dataset && [known.smaller.as_str(), known.larger.as_str()] == pair
    };
    all.find(is_it).unwrap()
}

/// n\* by the caller's comparison, and the minimum or maximum over the metrics.
fn by_hand(
    curves: &[Curve],
    dataset: &str,
    pair: [&str; 2],
    reaches: fn(f64, f64) -> bool,
    over: fn(Vec<Option<u32>>) -> Option<u32>,
) -> Option<u32> {
    let [smaller, larger] = pair.map(|name| {
        let mut all = curves.iter();
        all.find(|curve| curve.dataset == dataset && curve.model == name)
            .unwrap()
    });
    let first = |metric: fn(&Scores) -> f64| {
        let goal = metric(&larger.scores[&1]);
        (1..=12).find(|n| reaches(metric(&smaller.scores[n]), goal))
    };
    over(vec![first(|scores| scores.em), first(|scores| scores.f1)])
}

fn least(all: Vec<Option<u32>>) -> Option<u32> {
    all.into_iter().flatten().min()
}

fn most(all: Vec<Option<u32>>) -> Option<u32> {
    all.into_iter()
        .collect::<Option<Vec<u32>>>()?
        .into_iter()
        .max()
}

#[test]
fn the_papers_second_table_follows_from_its_others() {
    let all = compensations(&curves());
    assert_eq!(
        all.len(),
        3 * 10,
        "all pairs of five models on three data sets"
    );
    assert!(all.iter().all(|pair| pair.missing.is_empty()));
    for (dataset, expected) in [
        ("NQ", [5, 2, 2, 2]),
        ("TriviaQA", [10, 7, 2, 2]),
        ("WebQ", [9, 4, 3, 1]),
    ] {
        let n_stars: Vec<Option<u32>> = MODELS
            .windows(2)
            .map(|pair| of(&all, dataset, [pair[0], pair[1]]).n_star)
            .collect();
        assert_eq!(n_stars, expected.map(Some), "{dataset}");
    }
}

#[test]
fn models_that_skip_a_size_are_compared_too() {
    let all = compensations(&curves());
    for (dataset, pair, expected) in [
        ("NQ", ["1.7B", "8B"], Some(6)),
        ("NQ", ["4B", "14B"], Some(2)),
        ("NQ", ["0.6B", "4B"], None),
        ("TriviaQA", ["4B", "14B"], Some(2)),
        ("WebQ", ["4B", "14B"], Some(3)),
    ] {
        let found = of(&all, dataset, pair);
        assert_eq!(found.n_star, expected, "{dataset} {pair:?}");
    }
    assert_eq!(of(&all, "NQ", ["0.6B", "4B"]).told(), "never");
}

#[test]
fn another_comparison_or_another_choice_of_metric_gives_other_numbers() {
    let (curves, pairs) = (curves(), MODELS.windows(2));
    let pairs: Vec<[&str; 2]> = pairs.map(|pair| [pair[0], pair[1]]).collect();
    let by = |dataset, reaches, over| -> Vec<Option<u32>> {
        let each = pairs.iter();
        each.map(|pair| by_hand(&curves, dataset, *pair, reaches, over))
            .collect()
    };
    let reaches: fn(f64, f64) -> bool = |one, goal| one >= goal;
    let exceeds: fn(f64, f64) -> bool = |one, goal| one > goal;
    assert_eq!(by("WebQ", reaches, least)[1], Some(4));
    assert_eq!(
        by("WebQ", exceeds, least)[1],
        Some(9),
        "it is reached at 4, and exceeded at 9 only"
    );
    assert_eq!(by("NQ", reaches, most), [6, 3, 2, 2].map(Some));
    assert_eq!(by("NQ", reaches, least), [5, 2, 2, 2].map(Some));
}

#[test]
fn missing_cells_make_it_a_bound_and_are_named() {
    let mut curves = curves();
    let of_nq = |curves: &mut Vec<Curve>, model: &str, n: u32| {
        let mut all = curves.iter_mut();
        let curve = all.find(|curve| curve.dataset == "NQ" && curve.model == model);
        curve.unwrap().scores.remove(&n).unwrap();
    };
    of_nq(&mut curves, "0.6B", 3);
    of_nq(&mut curves, "0.6B", 5);
    of_nq(&mut curves, "4B", 1);
    let all = compensations(&curves);
    let first = of(&all, "NQ", ["0.6B", "1.7B"]);
    assert_eq!(
        (first.n_star, first.told().as_str()),
        (Some(6), "at most 6")
    );
    let missing: Vec<u32> = first.missing.iter().map(|scale| scale.n).collect();
    assert_eq!(missing, [3, 5]);
    let second = of(&all, "NQ", ["1.7B", "4B"]);
    assert_eq!((second.n_star, second.told().as_str()), (None, "unknown"));
    assert_eq!(second.missing[0].model, "4B");
}

proptest! {
    /// The definition, written out.
    #[test]
    fn n_star_is_the_least_scale_that_reaches_the_goal(
        scores in proptest::collection::vec((0_u8..=20, 0_u8..=20), 2..13),
        goal in (0_u8..=20, 0_u8..=20),
    ) {
        let mut table = "dataset,model,parameters,n,em,f1\n".to_owned();
        let share = |number: u8| f64::from(number) / 20.0;
        table += &format!("d,large,2,1,{},{}\n", share(goal.0), share(goal.1));
        for (n, (em, f1)) in (1..).zip(&scores) {
            table += &format!("d,small,1,{n},{},{}\n", share(*em), share(*f1));
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        std::fs::write(&path, table).unwrap();
        let pairs = compensations(&read_table(&path).unwrap());
        let expected = (1..).zip(&scores).find(|(_, (em, f1))| *em >= goal.0 || *f1 >= goal.1);
        prop_assert_eq!(pairs.len(), 1);
        prop_assert_eq!(pairs[0].n_star, expected.map(|(n, _)| n));
    }
}
