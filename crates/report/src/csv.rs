//! Tables as CSV: a row of keys, and numbers with all their digits.

use crate::{Cell, Table};

impl Table {
    /// The table as CSV. Columns `KEY_low` and `KEY_high` follow a column whose numbers may have intervals; missing
    /// values are empty.
    pub fn csv(&self) -> String {
        let heads = self.columns.iter().flat_map(|column| {
            let bounds = if column.has_interval {
                ["_low", "_high"].as_slice()
            } else {
                &[]
            };
            std::iter::once(&"")
                .chain(bounds)
                .map(|bound| format!("{}{bound}", column.key))
        });
        let rows = self.rows.iter().map(|row| {
            let cells = row.iter().zip(&self.columns).flat_map(|(cell, column)| {
                let [value, low, high] = fields(cell);
                let bounds = column.has_interval.then_some([low, high]);
                std::iter::once(value).chain(bounds.into_iter().flatten())
            });
            line(cells)
        });
        std::iter::once(line(heads)).chain(rows).collect()
    }
}

/// The value of a cell, and the ends of its interval.
fn fields(cell: &Cell) -> [String; 3] {
    match cell {
        Cell::Missing => [String::new(), String::new(), String::new()],
        Cell::Number(value) => [value.to_string(), String::new(), String::new()],
        Cell::Interval {
            value,
            interval: [low, high],
        } => [value, low, high].map(f64::to_string),
        Cell::Text(text) => [text.clone(), String::new(), String::new()],
    }
}

fn line(fields: impl Iterator<Item = String>) -> String {
    let quoted = fields.map(|field| {
        if field.contains([',', '"', '\n', '\r']) {
            format!("\"{}\"", field.replace('"', "\"\""))
        } else {
            field
        }
    });
    quoted.collect::<Vec<_>>().join(",") + "\n"
}

#[cfg(test)]
mod tests {
    use crate::{Column, Table};

    #[test]
    fn intervals_have_columns_and_texts_are_quoted() {
        let em = Column {
            has_interval: true,
            ..Column::plain("em", "EM")
        };
        let table = Table {
            name: String::new(),
            columns: vec![Column::plain("policy", "policy"), em],
            rows: vec![
                vec!["a, \"b\"".into(), (Some(0.5), Some([0.25, 0.75])).into()],
                vec!["c".into(), None::<f64>.into()],
            ],
        };
        let expected = "policy,em,em_low,em_high\n\"a, \"\"b\"\"\",0.5,0.25,0.75\nc,,,\n";
        assert_eq!(table.csv(), expected);
    }
}
