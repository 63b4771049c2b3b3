//! The Python package.

use anyhow::Result;

use super::tools::Tools;
use super::{FEATURES, GLIBC, Release, run};

/// Builds the wheel, which also contains the program.
pub(crate) fn build(release: &Release, tools: &Tools) -> Result<()> {
    let mut command = tools.program("maturin", &release.root);
    command.args(["build", "--release", "--locked", "--features", FEATURES]);
    command.args(["--manifest-path", "crates/python/Cargo.toml"]);
    command.args(["--target", &release.target]);
    if release.is_for_linux() {
        let tag = format!("manylinux_{}", GLIBC.replace('.', "_"));
        command.args(["--zig", "--compatibility", &tag]);
    }
    command.arg("--out").arg(&release.out);
    run(&mut command)
}
