//! Files of `scenarios/`, one story each: what Replank does, compared with what it is expected to do.
//!
//! `REPLANK_SCENARIO="pdb canary"` plays those alone that have one of the words in their names.

/// Small clusters, plans, and what happens meanwhile.
#[test]
fn scenarios() {
    replank_testkit::scenario::check();
}

/// What the autoscaler decides.
#[test]
fn autoscaler() {
    replank_testkit::scale::check();
}
