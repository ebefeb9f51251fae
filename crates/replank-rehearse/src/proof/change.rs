//! A cluster with remedies made, for a rehearsal that shows what comes of them.

use replank_facts::remedy::{Edit, Way};

use super::copy::Copy;
use super::ground::Ground;

/// A cluster after changes.
pub struct Changed {
    /// As it is then.
    pub ground: Ground,
    /// The changes that were made.
    pub made: Vec<Edit>,
    /// Those that were refused after the ones before them, with the words.
    pub refused: Vec<(Edit, String)>,
}

/// Makes changes, one after the other, and lets the cluster follow them up.
#[must_use]
pub fn apply(ground: &Ground, ways: &[&Way]) -> Changed {
    let mut copy = Copy::of(ground);
    let (mut made, mut refused): (Vec<Edit>, Vec<(Edit, String)>) = (Vec::new(), Vec::new());
    for edit in ways.iter().flat_map(|way| &way.edits) {
        // Two findings may be mended by one change.
        if made.contains(edit) {
            continue;
        }
        match copy.make(edit) {
            Ok(()) => made.push(edit.clone()),
            Err(why) => refused.push((edit.clone(), why)),
        }
    }
    let targets = made.iter().flat_map(Edit::targets);
    // What runs away, the rehearsal tells.
    let _settled = copy.settle(&targets.map(|target| (target.kind, target.key)).collect());
    Changed { ground: copy.ground(), made, refused }
}
