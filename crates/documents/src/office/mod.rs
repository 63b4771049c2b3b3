//! Documents of office programs, which are zip packages: Office Open XML (`docx`, `pptx`, `xlsx`)
//! and OpenDocument (`odt`, `ods`, `odp`). Macros, embedded objects and linked files are not read.

mod docx;
mod equation;
mod labels;
mod number;
mod numbering;
mod odf;
mod odf_lists;
mod odf_slides;
mod pptx;
mod properties;
mod relations;
mod shapes;
mod styles;
mod xlsx;

use crate::error::ReadError;
use crate::package::Package;
use crate::record::Contents;
use crate::watch::Watch;

/// The document of a Word file.
pub(crate) fn docx(mut package: Package, watch: &Watch) -> Result<Contents, ReadError> {
    docx::contents(&mut package, watch)
}

/// The document of a presentation.
pub(crate) fn pptx(mut package: Package, watch: &Watch) -> Result<Contents, ReadError> {
    pptx::contents(&mut package, watch)
}

/// The document of a workbook.
pub(crate) fn xlsx(mut package: Package, watch: &Watch) -> Result<Contents, ReadError> {
    xlsx::contents(&mut package, watch)
}

/// The document of a text, a workbook or a presentation in OpenDocument.
pub(crate) fn odf(mut package: Package, watch: &Watch) -> Result<Contents, ReadError> {
    odf::contents(&mut package, watch)
}
