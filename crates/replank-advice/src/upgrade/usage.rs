//! API versions that are used and go on the way: what a scan has found, as far as the plan needs it.

use super::minor::Minor;

/// How sure it is that a use has to be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// It is worth a look: it may be left over.
    WorthALook,
    /// It is so, unless something that was not looked at says otherwise.
    Likely,
    /// It is written so.
    Sure,
}

/// What uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum User {
    /// A manifest, a chart or a release, which can no longer be applied.
    Source,
    /// An object that refers to another one by it, and finds nothing any more: what an autoscaler scales.
    Reference,
    /// Somebody who writes or reads objects at this version, and fails from then on.
    Writer,
    /// A role or a webhook that names it, and does not meet its successor.
    Rule,
}

/// One place at which an API version is used.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ApiUse {
    /// `policy/v1beta1 PodDisruptionBudget`.
    pub api: String,
    /// First version that does not serve it.
    pub removed: Minor,
    /// What to use instead, if there is such a thing.
    pub replacement: Option<String>,
    /// First version that serves that, where it is known.
    pub replacement_from: Option<Minor>,
    /// What uses it.
    pub user: User,
    /// How sure it is.
    pub certainty: Certainty,
    /// Where, in a few words: `deploy/web.yaml:12 shop/web`.
    pub place: String,
}
