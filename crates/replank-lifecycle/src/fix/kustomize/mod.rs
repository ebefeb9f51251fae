//! Kustomizations are fixed as a whole or left as a whole.
//!
//! A patch is no object: nothing is put into it that its author left out, and it has to find its object under the new version.
//! So for every kustomization that a changed file belongs to it is asked, for each patch, variable and replacement: are all
//! objects that it means changed to one version, and does patching the changed object give what changing the patched object
//! gives? If so, patches and selectors get the new version. If not, nothing of it is touched, and the reason is told.

mod decided;
mod fixed;
mod form;
mod load;
mod merge;
mod plan;
mod spots;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use crate::judge::Measure;
use crate::schema::Schema;

pub use decided::{Kustomized, Scanned};
pub use fixed::fix_kustomized;

/// Reads the kustomizations of directories, and decides for those that something was found in.
pub fn kustomized(
    measure: &Measure,
    schema: &Schema,
    directories: &[PathBuf],
    scanned: &dyn Scanned,
) -> Kustomized {
    plan::plan(measure, schema, directories, scanned)
}

/// Whether a directory has a kustomization.
pub fn has_kustomization(directory: &Path) -> bool {
    load::file_in(directory).is_some()
}
