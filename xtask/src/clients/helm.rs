//! Helm, built from its Go module. `peers/helm` has a chart and a session.

use anyhow::{Context, Result};

use super::build::{go, sessions};
use super::task::Task;
use crate::judged::assets;

pub(super) fn tasks() -> Result<Vec<Task>> {
    let helm = go("peers/clients-go", "helm", "helm.sh/helm/v4/cmd/helm")?;
    let own = helm.parent().context("a program is in a folder")?.to_owned();
    sessions("helm", &[own, assets()?.folder().to_owned()])
}
