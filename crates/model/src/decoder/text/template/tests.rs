//! Templates that exceed the bounds, and ordinary ones that must not be mistaken for such.

use std::time::{Duration, Instant};

use ken_testing::cases;
use minijinja::context;

use super::*;

fn rendered(source: &str) -> Result<String, String> {
    let messages: Vec<Value> = (0..200)
        .map(|i| context! { role => ["user", "assistant"][i % 2], content => "word ".repeat(200) })
        .collect();
    let given = 200 * 1000;
    render(
        source,
        context! { messages, bos_token => "<s>", add_generation_prompt => true },
        given,
    )
}

#[test]
fn what_models_write_is_rendered() {
    for (source, expected) in cases![
        "{{ bos_token }}{{ 'a' ~ (1 + 2) }}" => "<s>a3";
        "{%- set ns = namespace(text='', first=true) %}{% for m in messages[:2] %}{% if not ns.first %}{% set ns.text = ns.text + '\\n' %}{% endif %}{% set ns.text = ns.text + m['role'] %}{% set ns.first = false %}{% endfor %}{{ ns.text }}" =>
            "user\nassistant";
        "{% for m in messages %}{% if loop.index0 % 2 == 0 and loop.last %}x{% elif loop.first %}{{ m.content.strip().split(' ')[0] }}{% endif %}{% endfor %}" =>
            "word";
        "{% macro turn(m, end='|') %}[{{ m.role | upper }}]{{ end }}{% endmacro %}{{ turn(messages[0]) }}{{ turn(messages[1], end='!') }}" =>
            "[USER]|[ASSISTANT]!";
        "{{ messages | length }} {{ messages | map(attribute='role') | unique | join(', ') }}" =>
            "200 user, assistant";
        "{{ messages | selectattr('role', 'equalto', 'user') | list | length }}" => "100";
        "{% if tools is defined %}x{% else %}{{ 3 * 4 }}{{ '-' * 3 }}{{ [1, 2] + [3] }}{% endif %}" =>
            "12---[1, 2, 3]";
        "{{ messages[-1].content | trim | length }} {{ 'a' in 'cat' }} {{ 2 ** 10 // 3 }}" => "999 True 341";
        "{% set parts %}a{{ 'b' }}{% endset %}{{ parts | replace('b', 'c') }}" => "ac";
        "{% for m in messages %}{{ m.content }}{% break %}{% endfor %}{{ messages[1:3] | first == messages[1] }}" =>
            &("word ".repeat(200) + "True");
    ] {
        assert_eq!(rendered(source).as_deref(), Ok(expected), "{source}");
    }
    let all =
        rendered("{% for m in messages %}<{{ m.role }}>{{ m.content | trim }}</s>{% endfor %}");
    assert!(all.unwrap().len() > 200_000);
}

#[test]
fn templates_that_ask_for_too_much_are_refused_within_a_second() {
    let nested = |depth: usize| format!("{{{{ x{} }}}}", "|trim".repeat(depth));
    let branches = format!("{{% if a %}}{}{{% endif %}}", "{% elif a %}".repeat(9000));
    let literals = format!("{{{{ {} }}}}", vec!["'a' * 90000000"; 500].join(" ~ "));
    let loops = "{% for i in range(100000) %}".repeat(4) + &"{% endfor %}".repeat(4);
    for source in [
        loops.as_str(),
        "{% set ns = namespace(x='a') %}{% for i in range(64) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
        "{% set ns = namespace(x='a') %}{% for i in range(64) %}{% set ns.x = ns.x + ns.x %}{% endfor %}{{ ns.x }}",
        "{% set ns = namespace(x='a') %}{% for i in range(64) %}{% set ns.x = [ns.x, ns.x] | join('') %}{% endfor %}",
        "{% set ns = namespace(x='a') %}{% for i in range(64) %}{% set ns.x = '%s%s' | format(ns.x, ns.x) %}{% endfor %}",
        "{% set ns = namespace(x='aa') %}{% for i in range(64) %}{% set ns.x = ns.x | replace('a', ns.x) %}{% endfor %}",
        "{% set ns = namespace(x='aa') %}{% for i in range(64) %}{% set ns.x = ns.x.replace('a', ns.x) %}{% endfor %}",
        "{% set ns = namespace(x=[1]) %}{% for i in range(64) %}{% set ns.x = ns.x + ns.x %}{% endfor %}{{ ns.x }}",
        "{% set ns = namespace(x=[1]) %}{% for i in range(64) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x }}",
        "{% set ns = namespace(x=[1]) %}{% for i in range(99999) %}{% set ns.x = [ns.x] %}{% endfor %}",
        "{% set ns = namespace(x=[1]) %}{% for i in range(99999) %}{% set ns.x = ns.x | reverse %}{% endfor %}{{ ns.x }}",
        "{% set ns = namespace(x=[1]) %}{% for i in range(99999) %}{% set ns.x = ns.x[:] %}{% endfor %}{% for i in range(99999) %}{% endfor %}{{ ns.x }}",
        "{% set ns = namespace() %}{% set ns.x = ns %}{{ ns }}",
        "{% set ns = namespace(x='a') %}{% for i in range(64) %}{% set y %}{{ ns.x }}{{ ns.x }}{% endset %}{% set ns.x = y %}{% endfor %}",
        "{% macro f(n) %}{{ f(n) }}{{ f(n) }}{% endmacro %}{{ f(1) }}",
        "{% macro f(n) %}{% if n > 0 %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}a{% endmacro %}{{ f(30) }}",
        "{% for m in messages recursive %}{{ loop(messages) }}{% endfor %}",
        "{{ 'a' * 10000000000 }}",
        "{{ ('a' * 99000000) | replace('a', 'a' * 99000000) }}",
        "{{ [1] * 10000000000000000000 }}",
        "{{ '%999999999999d' | format(1) }}",
        "{{ '{:>999999999999}'.format('a') }}",
        "{{ 'a' | indent(99999999999999) }}",
        "{{ [1, 2] | batch(99999999999999, 0) }}",
        "{{ range(100000) | list | map('string') | sum }}",
        "{% set x = messages | map(attribute='content') | join %}{% for i in range(99999) %}{% if x == x ~ 'a' %}{% endif %}{% endfor %}",
        "{% set x = messages | map(attribute='content') | join %}{% for i in range(99999) %}{{ x is in x }}{% endfor %}",
        "{% set x = 'a' * 1000000 %}{% for i in range(99999) %}{{ x }}{% endfor %}",
        "{% for i in range(99999) %}{% for i in range(99999) %}some text that is written again and again{% endfor %}{% endfor %}",
        "{% include 'chat' %}",
        "{% extends 'chat' %}",
        "{{ debug() }}",
        &nested(60_000),
        &branches,
        &literals,
        &"(".repeat(60_000),
        &format!("{{{{ {} }}}}", "(".repeat(60_000)),
        &format!("{{{{ {}x }}}}", "not ".repeat(60_000)),
        &format!("{{{{ {}x }}}}", "-".repeat(60_000)),
        &"{% if a %}".repeat(20_000),
    ] {
        let begun = Instant::now();
        let shown: String = source.chars().take(120).collect();
        let result = rendered(source);
        let took = begun.elapsed();
        if !source.starts_with('(') && !source.contains("ns.x[:]") && !source.contains("reverse") {
            assert!(result.is_err(), "{shown}");
        }
        assert!(took < Duration::from_secs(4), "{shown}: {took:?}");
    }
}

#[test]
fn a_refusal_says_which_bound_was_exceeded() {
    let steps =
        rendered("{% for i in range(99999) %}{% for i in range(99999) %}{% endfor %}{% endfor %}");
    assert!(steps.unwrap_err().contains("more than 500000 steps"));
    let bytes = rendered("{{ 'a' * 10000000000 }}").unwrap_err();
    assert!(bytes.contains("bytes"), "{bytes}");
    let depth = rendered("{% set ns = namespace() %}{% set ns.x = ns %}{{ ns }}").unwrap_err();
    assert!(depth.contains("nested deeper"), "{depth}");
}

/// The expected texts are those of Python's `json.dumps` with `ensure_ascii=False`.
#[test]
fn values_are_written_as_python_writes_json() {
    let value = r#"{'b': [1, 2.5, 'é<"', none, true], 'a': {}, 'c': []}"#;
    for (filter, expected) in cases![
        "tojson" => r#"{"b": [1, 2.5, "é<\"", null, true], "a": {}, "c": []}"#;
        "tojson(indent=2)" =>
            "{\n  \"b\": [\n    1,\n    2.5,\n    \"é<\\\"\",\n    null,\n    true\n  ],\n  \"a\": {},\n  \"c\": []\n}";
    ] {
        let source = format!("{{{{ {value} | {filter} }}}}");
        assert_eq!(rendered(&source).as_deref(), Ok(expected), "{filter}");
    }
}
