//! `ken study report`: a study, or a table of scores, as text, JSON and a page.

use std::path::{Path, PathBuf};

use ken_eval::RunSettings;
use ken_report::Provenance;
use ken_scale::report::{StudyBreakdown, StudyReport};
use ken_scale::study::{Measured, read_table};

use crate::commands::{provenance, records};
use crate::failure::{Failure, Result};
use crate::output;
use crate::session::Session;

/// Whether this is a table rather than the folder of a study.
pub(crate) fn is_table(study: &Path) -> bool {
    study.is_file()
}

/// Writes the report of a study or table, and shows it.
pub(super) fn told(
    study: &Path,
    out: Option<&PathBuf>,
    by: Option<&str>,
    session: &Session<'_>,
) -> Result<()> {
    let (measured, settings, by_default) = match (is_table(study), by) {
        (true, Some(_)) => {
            return Err(Failure::refused(
                "table_without_questions",
                "a table of scores has no questions to break the report down by",
                "name the folder of a study, or leave --by out",
            ));
        }
        (true, None) => {
            let curves = read_table(study)?;
            let name = study.file_stem().unwrap_or_default().to_string_lossy();
            let folder = PathBuf::from(format!("{name}.report"));
            (StudyReport::of_table(&curves), RunSettings::new(), folder)
        }
        (false, by) => {
            let measured = Measured::read(study)?;
            let by = by.map(|field| StudyBreakdown::of(&measured, field));
            let report = StudyReport {
                by: by.transpose()?,
                ..StudyReport::of_study(&measured)
            };
            (report, measured.manifest.settings, study.to_owned())
        }
    };
    let out = out.unwrap_or(&by_default);
    let provenance = provenance::of(settings, session.given);
    show(&measured, provenance, study, out, session)
}

/// As [`told`], of a study that was joined from its parts.
pub(super) fn joined(study: &Path, provenance: Provenance, session: &Session<'_>) -> Result<()> {
    let measured = StudyReport::of_study(&Measured::read(study)?);
    show(&measured, provenance, study, study, session)
}

fn show(
    measured: &StudyReport,
    provenance: Provenance,
    study: &Path,
    out: &Path,
    session: &Session<'_>,
) -> Result<()> {
    let name = study.file_name().unwrap_or_default().to_string_lossy();
    let report = measured
        .report(&format!("Models and corpus scales: {name}"))
        .measured_with(provenance);
    measured.write(&report, out)?;
    if session.json {
        return output::json(measured);
    }
    output::report(&report)?;
    records::tell_page("report", out)
}
