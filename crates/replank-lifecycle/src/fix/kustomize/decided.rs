//! What was decided of each file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::table::Gvk;

use super::super::lay::Edit;
use super::super::scanner::Head;

/// What is known of the files that were scanned, by their real paths.
pub trait Scanned {
    /// Whether something was found in a file that is to be fixed.
    fn is_concerned(&self, path: &Path) -> bool;
    /// Whether a file may be written.
    fn is_written(&self, path: &Path) -> bool;
    /// The objects of a file, where they are known already.
    fn heads(&self, path: &Path) -> Option<&[Head]>;
    /// Whether nothing is to be changed on a line: somebody has made an exception for it.
    fn lets_be(&self, path: &Path, line: u32) -> bool;
}

/// What becomes of the files of kustomizations, by their real paths. Files that are not in it are fixed as any other.
#[derive(Default)]
pub struct Kustomized {
    pub(in crate::fix) plans: BTreeMap<PathBuf, Plan>,
}

/// What becomes of one file.
pub(in crate::fix) enum Plan {
    /// These edits are made, and no others.
    Edited(Vec<Planned>),
    /// It stays as it is.
    Left(String),
}

/// One change of version that is made in a patch or a kustomization.
#[derive(Clone)]
pub(in crate::fix) struct Planned {
    pub(in crate::fix) edits: Vec<Edit>,
    /// The byte at which the version stands.
    pub(in crate::fix) at: usize,
    pub(in crate::fix) name: String,
    pub(in crate::fix) field: Option<&'static str>,
    pub(in crate::fix) from: Gvk,
    pub(in crate::fix) to: Gvk,
}

impl Kustomized {
    /// Whether a file, by its real path, is one of those that are decided here.
    pub fn decides(&self, path: &Path) -> bool {
        self.plans.contains_key(path)
    }

    /// The files that are to be changed or left otherwise than any other file.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.plans.keys().map(PathBuf::as_path)
    }
}
