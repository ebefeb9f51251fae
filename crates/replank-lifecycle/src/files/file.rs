//! A file that was found.

use std::path::PathBuf;
use std::sync::Arc;

use crate::scan::Hint;

/// A file to be scanned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Where it is.
    pub path: PathBuf,
    /// The same without links.
    pub real: PathBuf,
    /// What messages call it: its path from what was named.
    pub name: Arc<str>,
    /// What is known of it.
    pub hint: Hint,
}
