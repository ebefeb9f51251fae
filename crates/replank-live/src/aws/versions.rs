//! Versions of launch templates, as they were read.

use std::collections::BTreeMap;

use replank_model::object::cloud::LaunchTemplateRef;

/// Versions that were read: a version never changes. And what the names of images say.
#[derive(Debug, Default)]
pub(super) struct Cache {
    pub(super) versions: BTreeMap<LaunchTemplateRef, Version>,
    pub(super) images: BTreeMap<String, Named>,
}

/// What an image's name says of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Named {
    /// Kubelet, as far as the name has it.
    pub(super) kubelet: Option<String>,
    /// Day of its release.
    pub(super) day: Option<String>,
}

/// What a version says of its nodes.
#[derive(Clone, Debug)]
pub(super) struct Version {
    pub(super) image: String,
    pub(super) kubelet: Option<String>,
}
