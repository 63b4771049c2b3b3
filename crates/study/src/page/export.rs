//! The data of a diagram: as CSV, and as a Vega-Lite specification that draws it elsewhere.

use serde_json::{Value, json};

use super::diagram::{Datum, Diagram};

const SCHEMA: &str = "https://vega.github.io/schema/vega-lite/v5.json";

impl Diagram<'_> {
    /// A row a point: its series and its place.
    pub(crate) fn csv(&self) -> String {
        let rows = self
            .data
            .iter()
            .map(|Datum { series, x, y }| format!("{},{x},{y}\n", quoted(series)));
        let names = [self.across.name, self.up.name].map(quoted).join(",");
        format!("series,{names}\n{}", rows.collect::<String>())
    }

    /// The specification.
    pub(crate) fn vega_lite(&self, title: &str) -> Value {
        let values = self.data.iter();
        let values = values.map(|one| json!({ "series": one.series, "x": one.x, "y": one.y }));
        let mark = match self.has_lines {
            true => json!({ "type": "line", "point": true }),
            false => json!({ "type": "point", "filled": true }),
        };
        let axis = |field: &str, name: &str| {
            let scale = json!({ "zero": false });
            json!({ "field": field, "type": "quantitative", "title": name, "scale": scale })
        };
        json!({
            "$schema": SCHEMA,
            "title": title,
            "data": { "values": values.collect::<Vec<_>>() },
            "mark": mark,
            "encoding": {
                "x": axis("x", self.across.name),
                "y": axis("y", self.up.name),
                "color": { "field": "series", "type": "nominal", "title": null },
            },
        })
    }
}

/// A field of CSV.
fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Axis, figure};
    use super::*;

    #[test]
    fn what_is_drawn_is_what_is_saved() {
        let mut diagram = Diagram::new(200.0, 100.0, Axis::share("n, shards"), Axis::share("em"));
        diagram.line("s, \"small\"", &[(0.0, 0.25), (1.0, 0.5)], "#000", false);
        let csv =
            "series,\"n, shards\",em\n\"s, \"\"small\"\"\",0,0.25\n\"s, \"\"small\"\"\",1,0.5\n";
        assert_eq!(diagram.csv(), csv);
        let page = figure("em of <nq>", &diagram, "Exact match");
        assert!(page.starts_with("<figure id=\"em-of--nq-\">"), "{page}");
        assert!(page.contains("&quot;small&quot;"), "{page}");
        let vega = diagram.vega_lite("t");
        assert_eq!(
            vega["data"]["values"][1],
            json!({ "series": "s, \"small\"", "x": 1.0, "y": 0.5 })
        );
        assert_eq!(vega["mark"]["type"], "line");
    }
}
