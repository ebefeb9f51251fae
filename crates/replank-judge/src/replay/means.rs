//! What is needed to try something on clusters.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::assets::Assets;

/// What a replay needs.
#[derive(Clone, Debug)]
pub struct Means {
    /// The control plane's programs.
    pub assets: Assets,
    /// The program that rehearses.
    pub replank: PathBuf,
    /// Where clusters live, and what was dumped and rehearsed is kept.
    pub folder: PathBuf,
}

/// Empties the folder of what an earlier replay has left.
///
/// # Errors
/// It cannot be removed.
pub fn clean(folder: &Path) -> Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    Ok(())
}
