//! What clients ask of workloads while the roll goes on.

use std::path::Path;

use anyhow::Context;
use replank_rehearse::Demand;

use super::Scene;
use crate::failure::Failure;

const FORM: &str = "write NAMESPACE/NAME=RATE,LENGTH, or pass a file with one on each line; docs/connections.md has examples";

/// Reads what was given: each a demand, or a file of them.
pub(super) fn read(given: &[String]) -> Result<Vec<Demand>, Failure> {
    let mut demands = Vec::new();
    for text in given {
        if text.contains('=') && !Path::new(text).exists() {
            demands.push(Demand::read(text).map_err(|error| Failure::usage(error).next(FORM))?);
            continue;
        }
        let lines = std::fs::read_to_string(text)
            .with_context(|| {
                format!("the load {text} is neither NAMESPACE/NAME=RATE,LENGTH nor a readable file")
            })
            .map_err(|error| Failure::usage(error).next(FORM))?;
        let found = Demand::read_all(&lines).map_err(|error| {
            Failure::usage(anyhow::Error::new(error).context(format!("the load in {text} is invalid")))
                .next(FORM)
        })?;
        demands.extend(found);
    }
    Ok(demands)
}

/// A load on what is not there would be counted as nothing.
pub(super) fn check(scene: &Scene) -> Result<(), Failure> {
    let missing = scene.demands.iter().find(|demand| !demand.has_pods(&scene.view));
    missing.map_or(Ok(()), |demand| {
        let workload = &demand.workload;
        let next =
            format!("kubectl -n {} get deployments,statefulsets   # what there is", workload.namespace);
        Err(Failure::usage_message(format!("no workload {workload} has a pod in the snapshot")).next(next))
    })
}
