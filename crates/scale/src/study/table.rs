//! Scores of a study that was run elsewhere: a CSV table with a row per data set, model and corpus scale.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use csv_core::{ReadRecordResult, Reader};
use ken_diagnostic::Remedy;
use ken_storage::StorageError;

use super::curve::{Curve, Scores, curve_of};

/// The required columns, in the order of [`Row`].
const COLUMNS: [&str; 6] = ["dataset", "model", "parameters", "n", "em", "f1"];

const FORM: &str = "the first line names the columns dataset, model, parameters, n, em and f1; scores are shares from 0 to 1, \
                    parameters whole numbers, as 600000000 or 6e8";

/// Why a table cannot be used.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
#[diagnostic(remedy = Remedy::from(FORM))]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum TableError {
    #[error(transparent)]
    #[diagnostic(forward)]
    Storage(#[from] StorageError),
    #[error("{path} has no column {column}")]
    #[diagnostic(kind = "table_column_missing")]
    NoColumn { path: PathBuf, column: &'static str },
    #[error("{path} has two columns {column}")]
    #[diagnostic(kind = "table_column_twice")]
    ColumnTwice { path: PathBuf, column: &'static str },
    #[error("{path} has no rows under its first line")]
    #[diagnostic(kind = "table_empty")]
    Empty { path: PathBuf },
    #[error("{path}, line {line}, column {column}: {value:?} is not {expected}")]
    #[diagnostic(kind = "table_value")]
    Value {
        path: PathBuf,
        line: u64,
        column: &'static str,
        value: String,
        expected: &'static str,
    },
    #[error("{path}, line {line}: n = {n} of {model} on {dataset} is there already")]
    #[diagnostic(
        kind = "table_cell_twice",
        remedy = "keep one row for each data set, model and n"
    )]
    Twice {
        path: PathBuf,
        line: u64,
        dataset: String,
        model: String,
        n: u32,
    },
    #[error("{path}, line {line}: {model} has {now} parameters here and {before} above")]
    #[diagnostic(
        remedy = "give each model a name of its own, and one model one number of parameters"
    )]
    TwoModelsOfOneName {
        path: PathBuf,
        line: u64,
        model: String,
        before: u64,
        now: u64,
    },
}

/// Reads the curves of a table. Other columns are ignored.
///
/// # Errors
/// A file that cannot be read, a missing column, the first invalid value.
pub fn read_table(path: &Path) -> Result<Vec<Curve>, TableError> {
    let bytes = std::fs::read(path).map_err(StorageError::new("read", path))?;
    let bytes = bytes.strip_prefix(&[0xef, 0xbb, 0xbf]).unwrap_or(&bytes);
    let mut rows = rows(bytes).into_iter();
    let (_, header) = rows.next().unwrap_or_default();
    let places = places(path, &header)?;
    let mut curves: Vec<Curve> = Vec::new();
    let mut sizes: BTreeMap<String, u64> = BTreeMap::new();
    for (line, fields) in rows {
        let row = Row {
            path,
            line,
            fields: &fields,
            places,
        };
        let (dataset, model) = (row.name(0)?, row.name(1)?);
        let (parameters, n) = (row.parameters()?, row.scale()?);
        let scores = Scores {
            em: row.share(4)?,
            f1: row.share(5)?,
        };
        let before = *sizes.entry(model.clone()).or_insert(parameters);
        if before != parameters {
            let (path, now) = (path.to_owned(), parameters);
            return Err(TableError::TwoModelsOfOneName {
                path,
                line,
                model,
                before,
                now,
            });
        }
        let curve = curve_of(&mut curves, &dataset, &model, parameters);
        if curve.scores.insert(n, scores).is_some() {
            let path = path.to_owned();
            return Err(TableError::Twice {
                path,
                line,
                dataset,
                model,
                n,
            });
        }
    }
    match curves.is_empty() {
        true => Err(TableError::Empty {
            path: path.to_owned(),
        }),
        false => Ok(curves),
    }
}

/// The index of each column.
fn places(path: &Path, header: &[String]) -> Result<[usize; COLUMNS.len()], TableError> {
    let mut places = [0; COLUMNS.len()];
    for (place, column) in places.iter_mut().zip(COLUMNS) {
        let is_it = |(_, name): &(usize, &String)| name.trim().eq_ignore_ascii_case(column);
        let mut named = header.iter().enumerate().filter(is_it);
        let path = || path.to_owned();
        *place = match (named.next(), named.next()) {
            (Some((index, _)), None) => index,
            (None, _) => {
                return Err(TableError::NoColumn {
                    path: path(),
                    column,
                });
            }
            (Some(_), Some(_)) => {
                return Err(TableError::ColumnTwice {
                    path: path(),
                    column,
                });
            }
        };
    }
    Ok(places)
}

/// A row below the header.
struct Row<'a> {
    path: &'a Path,
    line: u64,
    fields: &'a [String],
    places: [usize; COLUMNS.len()],
}

impl Row<'_> {
    fn text(&self, column: usize) -> &str {
        let field = self.fields.get(self.places[column]);
        field.map_or("", |field| field.trim())
    }

    fn refused(&self, column: usize, expected: &'static str) -> TableError {
        TableError::Value {
            path: self.path.to_owned(),
            line: self.line,
            column: COLUMNS[column],
            value: self.text(column).to_owned(),
            expected,
        }
    }

    fn name(&self, column: usize) -> Result<String, TableError> {
        match self.text(column) {
            "" => Err(self.refused(column, "a name")),
            name => Ok(name.to_owned()),
        }
    }

    fn parameters(&self) -> Result<u64, TableError> {
        let text = self.text(2);
        let exact = text.parse::<u64>().ok();
        let rounded = text
            .parse::<f64>()
            .ok()
            .filter(|number| number.fract() == 0.0 && *number < 1e18);
        let number = exact
            .or(rounded.map(|number| number as u64))
            .filter(|number| *number > 0);
        number.ok_or_else(|| self.refused(2, "a number of parameters"))
    }

    fn scale(&self) -> Result<u32, TableError> {
        let number = self.text(3).parse();
        number.map_err(|_| self.refused(3, "a number of shards"))
    }

    fn share(&self, column: usize) -> Result<f64, TableError> {
        let number = self.text(column).parse::<f64>().ok();
        let share = number.filter(|share| (0.0..=1.0).contains(share));
        share.ok_or_else(|| self.refused(column, "a share from 0 to 1"))
    }
}

/// The fields of each row that is not blank, with its line number. Invalid UTF-8 becomes replacement characters.
fn rows(bytes: &[u8]) -> Vec<(u64, Vec<String>)> {
    let mut reader = Reader::new();
    // No field is longer than the file, and no row has more fields than the file has bytes, plus one.
    let (mut texts, mut ends) = (vec![0; bytes.len()], vec![0; bytes.len() + 1]);
    let (mut rest, mut rows) = (bytes, Vec::new());
    loop {
        let line = reader.line();
        let (mut written, mut fields) = (0, 0);
        let outcome = loop {
            let (outcome, read, more, ended) =
                reader.read_record(rest, &mut texts[written..], &mut ends[fields..]);
            rest = &rest[read..];
            written += more;
            fields += ended;
            if !matches!(outcome, ReadRecordResult::InputEmpty) {
                break outcome;
            }
        };
        if !matches!(outcome, ReadRecordResult::Record) {
            return rows;
        }
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let cells = starts.zip(&ends[..fields]);
        let cells =
            cells.map(|(start, &end)| String::from_utf8_lossy(&texts[start..end]).into_owned());
        let cells: Vec<String> = cells.collect();
        if cells.iter().any(|cell| !cell.trim().is_empty()) {
            rows.push((line, cells));
        }
    }
}

#[cfg(test)]
mod tests {
    use ken_testing::{cases, has};

    use super::*;

    fn read(text: &str) -> Result<Vec<Curve>, TableError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        std::fs::write(&path, text).unwrap();
        read_table(&path)
    }

    #[test]
    fn columns_are_found_by_name_and_others_are_ignored() {
        let text = "\u{feff}F1,note,em,N,parameters,model,dataset\r\n\
                    0.5,\"a, \"\"b\"\"\",0.25,1,6e8,\"m, small\",nq\r\n\r\n0.75,,0.5,2,600000000,\"m, small\",nq";
        let curves = read(text).unwrap();
        assert_eq!(curves.len(), 1);
        let curve = &curves[0];
        has!(curve, model.as_str(): "m, small", parameters: 600_000_000);
        let scores: Vec<(u32, f64, f64)> =
            curve.scores.iter().map(|(n, s)| (*n, s.em, s.f1)).collect();
        assert_eq!(scores, [(1, 0.25, 0.5), (2, 0.5, 0.75)]);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line_and_column() {
        let head = "dataset,model,parameters,n,em,f1\n";
        for (rows, expected) in cases![
            "nq,s,1e9,1,0.2,O.3\n" => "line 2, column f1: \"O.3\" is not a share from 0 to 1";
            "nq,s,1e9,1,0.2,0.3\nnq,s,1e9,2,20.1,0.3\n" => "line 3, column em: \"20.1\"";
            "nq,s,0.6,1,0.2,0.3\n" => "column parameters: \"0.6\"";
            "nq,s,1e9,one,0.2,0.3\n" => "column n: \"one\"";
            "nq,,1e9,1,0.2,0.3\n" => "column model: \"\" is not a name";
            "nq,s,1e9,1,0.2\n" => "column f1: \"\"";
            "nq,s,1e9,1,0.2,NaN\n" => "column f1: \"NaN\"";
            "nq,s,1e9,1,0.2,0.3\nnq,s,1e9,1,0.2,0.3\n" => "line 3: n = 1 of s on nq is there already";
            "nq,s,1e9,1,0.2,0.3\nnq,s,2e9,2,0.2,0.3\n" =>
                "s has 2000000000 parameters here and 1000000000 above";
            "" => "has no rows";
        ] {
            let error = read(&format!("{head}{rows}")).unwrap_err().to_string();
            assert!(error.contains(expected), "{rows}: {error}");
        }
        let error = read("dataset,model,parameters,n,em\n")
            .unwrap_err()
            .to_string();
        assert!(error.ends_with("has no column f1"), "{error}");
        assert!(
            read("")
                .unwrap_err()
                .to_string()
                .ends_with("has no column dataset")
        );
    }
}
