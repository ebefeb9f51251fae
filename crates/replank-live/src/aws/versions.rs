//! Versions of launch templates, as they were read.

use std::collections::BTreeMap;

use replank_model::object::cloud::LaunchTemplateRef;

/// Versions that were read: a version never changes. And the Kubernetes versions of images.
#[derive(Debug, Default)]
pub(super) struct Cache {
    pub(super) versions: BTreeMap<LaunchTemplateRef, Version>,
    pub(super) images: BTreeMap<String, Option<String>>,
}

/// What a version says of its nodes.
#[derive(Clone, Debug)]
pub(super) struct Version {
    pub(super) image: String,
    pub(super) kubelet: Option<String>,
}
