//! Tests that the conditions hold for exactly what the filters match, and cannot be broken out of.

use super::*;
use proptest::prelude::*;

/// Evaluates a condition as Milvus does.
fn holds(condition: &Condition, facets: &Facets) -> bool {
    match condition {
        Condition::Has(facet) => facets.facets.contains(facet),
        Condition::HasNot(facet) => !facets.facets.contains(facet),
        Condition::Bound { name, sign, value } => {
            facets.bounds.get(name).is_some_and(|bound| match *sign {
                "<" => bound < value,
                "<=" => bound <= value,
                ">" => bound > value,
                ">=" => bound >= value,
                _ => unreachable!("{sign}"),
            })
        }
        Condition::All(all) => all.iter().all(|part| holds(part, facets)),
        Condition::Any(any) => any.iter().any(|part| holds(part, facets)),
    }
}

fn agrees(metadata: &Map<String, Value>, key: &str, comparison: Comparison, value: &str) {
    let filter = Filter::Compare {
        key: key.to_owned(),
        comparison,
        value: value.to_owned(),
    };
    agrees_on(metadata, &filter);
    agrees_on(metadata, &Filter::Not(Box::new(filter)));
}

fn agrees_on(metadata: &Map<String, Value>, filter: &Filter) {
    let condition = Condition::of(filter).unwrap();
    assert_eq!(
        holds(&condition, &Facets::of(metadata)),
        filter.matches(metadata),
        "{filter} on {}",
        Value::Object(metadata.clone())
    );
}

const COMPARISONS: [Comparison; 6] = [
    Comparison::Equal,
    Comparison::NotEqual,
    Comparison::Less,
    Comparison::LessOrEqual,
    Comparison::Greater,
    Comparison::GreaterOrEqual,
];

/// Texts that are numbers, nearly numbers, or words.
fn text() -> impl Strategy<Value = String> {
    let texts = "nan NaN inf -inf -0 0 1e3 1000 +5 .5 5. true false null 2020 2020.0 10 9 a aa b";
    let texts = texts.split(' ').chain(["", "\" or true or \""]);
    let texts = proptest::sample::select(texts.collect::<Vec<_>>());
    prop_oneof![
        "[ -~]{0,4}",
        "\\PC{0,3}",
        "-?[0-9]{1,3}(\\.[0-9]{1,2})?",
        " ?[0-9]{1,2} ?",
        texts.prop_map(str::to_owned),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let single = prop_oneof![
        text().prop_map(Value::String),
        any::<i64>().prop_map(Value::from),
        (-20i64..20).prop_map(Value::from),
        any::<f64>().prop_map(|n| serde_json::json!(n)),
        any::<bool>().prop_map(Value::Bool),
        Just(Value::Null),
        Just(serde_json::json!({"a": 1})),
    ];
    prop_oneof![
        single.clone(),
        proptest::collection::vec(single, 0..4).prop_map(Value::Array),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn a_condition_holds_where_the_filter_fits(
        values in proptest::collection::vec(value(), 0..3),
        sign in 0..6usize,
        asked in text(),
        key in 0..3usize,
    ) {
        let keys = ["year", "a b", "\"] == 1 or bounds[\""];
        let metadata = keys.iter().map(|key| (*key).to_owned()).zip(values).collect();
        agrees(&metadata, keys[key], COMPARISONS[sign], &asked);
    }

    #[test]
    fn long_texts_are_compared_in_full(tail in "[ab]{0,3}", asked in "[ab]{0,3}", sign in 0..6usize) {
        let long = "x".repeat(KEPT - 3);
        let metadata = Map::from_iter([("k".to_owned(), Value::from(format!("{long}{tail}yz")))]);
        let asked = format!("{long}{asked}");
        if asked.len() < KEPT {
            agrees(&metadata, "k", COMPARISONS[sign], &asked);
        }
    }

    #[test]
    fn whatever_a_filter_says_stays_in_its_literal(key in "\\PC{1,8}", asked in "\\PC{0,8}", sign in 0..6usize) {
        let filter = Filter::Compare { key, comparison: COMPARISONS[sign], value: asked };
        let denied = Filter::Not(Box::new(filter.clone()));
        let written = Condition::of(&Filter::Any(vec![filter, denied])).unwrap().to_string();
        // Between the quotes of every literal there is nothing but digits and small letters.
        for literal in written.split('"').skip(1).step_by(2) {
            prop_assert!(literal.chars().all(|c| c.is_ascii_digit() || c.is_ascii_lowercase()));
        }
        let outside: String = written.split('"').step_by(2).collect();
        prop_assert!(outside.chars().all(|c| c.is_ascii_lowercase() || "_(),[]<>= ".contains(c)));
    }
}

#[test]
fn numbers_are_ordered_as_texts() {
    let numbers = [
        f64::NEG_INFINITY,
        -1e300,
        -2.0,
        -1.0,
        -1e-300,
        0.0,
        1e-300,
        1.0,
        2.0,
        1e300,
        f64::INFINITY,
    ];
    let texts = numbers.map(ordered);
    assert!(texts.windows(2).all(|pair| pair[0] < pair[1]), "{texts:?}");
    assert_eq!(ordered(-0.0), ordered(0.0));
}

#[test]
fn the_name_nan_is_a_text() {
    let metadata = Map::from_iter([
        ("author".to_owned(), Value::from("Nan")),
        ("year".to_owned(), Value::from(2020)),
    ]);
    for key in ["author", "year"] {
        for asked in ["Nan", "nan", "Nap", "3"] {
            for comparison in COMPARISONS {
                agrees(&metadata, key, comparison, asked);
            }
        }
    }
}

#[test]
fn a_value_that_is_too_long_to_compare_is_refused() {
    let filter: Filter = format!("k<{}", "x".repeat(KEPT)).parse().unwrap();
    assert_eq!(
        Condition::of(&filter).unwrap_err().kind(),
        "filter_too_long"
    );
    let filter: Filter = format!("k={}", "x".repeat(KEPT)).parse().unwrap();
    assert!(Condition::of(&filter).is_ok());
}

#[test]
fn joined_conditions_hold_where_the_filter_fits() {
    let metadata = |text: &str| text.parse::<Value>().unwrap().as_object().unwrap().clone();
    let documents = [
        r#"{"year": 2020, "lang": "de", "tags": ["a", 9]}"#,
        r#"{"year": "unknown", "lang": "fr"}"#,
        r#"{"tags": [], "lang": null}"#,
        "{}",
    ];
    for filter in [
        "year>=2020 AND (lang=de OR lang=fr)",
        "lang IN (fr, it) OR tags=9",
        "NOT (year>2000 AND lang=de)",
        "NOT (lang=de OR EXISTS tags)",
        "EXISTS lang AND NOT EXISTS year",
        "NOT NOT year<=x",
        "()",
        "NOT ()",
        "lang!=de AND NOT year!=unknown",
    ] {
        let filter: Filter = filter.parse().unwrap();
        for document in documents {
            agrees_on(&metadata(document), &filter);
            agrees_on(&metadata(document), &Filter::Not(Box::new(filter.clone())));
        }
    }
    let prefix: Filter = "lang^=d".parse().unwrap();
    assert_eq!(
        Condition::of(&prefix).unwrap_err().kind(),
        "filter_not_possible"
    );
}
