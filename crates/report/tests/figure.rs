//! Figures as `figure.js` draws them, by Node: numbers on axes, places of points, CSV.

#![allow(clippy::unwrap_used)]

use std::process::Command;

use ken_report::{Axis, FIGURE_SCRIPT, Figure, Mark, Point, Series};

/// The part of a DOM that drawing needs: an element is its name, its attributes and its children.
const DOCUMENT: &str =
    "globalThis.document = { createElementNS: (_, name) => ({ name, attributes: {}, children: [],
    setAttribute(key, value) { this.attributes[key] = String(value); },
    append(...children) { this.children.push(...children); } }) };
const all = (element, name) => [...(element.name === name ? [element] : []),
    ...(element.children ?? []).flatMap((child) => all(child, name))];
const numbers = (axis, values) => scale(axis, values).numbers.map(([, shown]) => shown).join(' ');";

/// The output of a program that uses the script and a figure.
fn run(program: &str, figure: &Figure) -> String {
    let node = std::env::var_os("KEN_TEST_NODE").unwrap_or_else(|| "node".into());
    let figure = serde_json::to_string(figure).unwrap();
    let script = format!("{FIGURE_SCRIPT}\n{DOCUMENT}\nconst figure = {figure};\n{program}");
    let ran = Command::new(node)
        .args(["--input-type=module", "--eval", &script])
        .output()
        .unwrap();
    let failed = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{failed}");
    String::from_utf8(ran.stdout).unwrap()
}

fn figure() -> Figure {
    let axes = [Axis::share("n, shards"), Axis::share("em")];
    let line = Series::line("s, \"small\"", 0, [(0.0, 0.25), (1.0, 0.5), (2.0, -1.0)]);
    let ring = Series {
        mark: Mark::Rings,
        ..Series::dots("n*", [Point::named(1.0, 0.5, "as good")])
    };
    Figure::new("em", "Exact match", axes, [line, ring])
}

#[test]
#[ignore = "needs Node: run `cargo xtask test`"]
fn numbers_are_round_and_none_is_below_what_can_be() {
    for (values, expected) in [
        ("[600, 14000]", "0 5000 10000 15000"),
        ("[0.15, 0.37]", "0.15 0.20 0.25 0.30 0.35"),
        ("[-0.01, 0.02]", "-0.01 0.00 0.01 0.02"),
        ("[0, 0]", "0.000 0.001 0.002 0.003 0.004 0.005"),
    ] {
        let shown = run(&format!("console.log(numbers({{}}, {values}))"), &figure());
        assert_eq!(shown.trim_end(), expected, "{values}");
    }
    let equal =
        "const { low, high } = scale({}, [0.2, 0.2]); console.log(((low + high) / 2).toFixed(9))";
    assert_eq!(run(equal, &figure()), "0.200000000\n");
}

#[test]
#[ignore = "needs Node: run `cargo xtask test`"]
fn whole_numbers_are_those_that_occur_and_not_too_many() {
    let program = "console.log(numbers({ is_whole: true }, [0, 1, 12, 1]));
        console.log(scale({ is_whole: true }, Array.from({ length: 100 }, (_, n) => n)).numbers.length)";
    let printed = run(program, &figure());
    let (shown, count) = printed.trim_end().split_once('\n').unwrap();
    assert_eq!(shown, "0 1 12");
    assert!(count.parse::<usize>().unwrap() <= 14, "{count}");
}

#[test]
#[ignore = "needs Node: run `cargo xtask test`"]
fn points_lie_between_the_axes_and_what_is_drawn_is_what_is_saved() {
    let program = "const drawing = drawn(figure);
        console.log(all(drawing, 'polyline')[0].attributes.points);
        console.log(all(drawing, 'circle').map((one) => one.attributes.class).join());
        console.log(all(drawing, 'text').at(-1).children[0]);
        console.log(csv(figure))";
    let expected = "64.0,242.0 540.0,168.0 540.0,316.0\nring\ns, \"small\"\nseries,\"n, shards\",em\n\
                    \"s, \"\"small\"\"\",0,0.25\n\"s, \"\"small\"\"\",1,0.5\n\"s, \"\"small\"\"\",2,-1\nas good,1,0.5\n\n";
    assert_eq!(run(program, &figure()), expected);
}
