//! Facts about clusters, from a file.

use std::path::{Path, PathBuf};

use replank_advice::upgrade::facts::Facts;
use serde_json::Value;

use crate::failure::Failure;

/// What EKS says.
pub(crate) fn facts(files: &[PathBuf]) -> Result<Facts, Failure> {
    let mut facts = Facts::default();
    for path in files {
        let value: Value = serde_json::from_str(&text(path)?).map_err(|error| {
            Failure::usage(anyhow::Error::new(error).context(format!("{} is not JSON", path.display())))
                .next("save it with --output json")
        })?;
        facts.read(&value).map_err(|error| {
            Failure::usage(anyhow::Error::new(error).context(format!("{} cannot be loaded", path.display())))
        })?;
    }
    Ok(facts)
}

pub(super) fn text(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| {
        Failure::usage(anyhow::Error::new(error).context(format!("{} cannot be read", path.display())))
    })
}
