//! What Helm and EKS have installed, as far as that takes more than an object to tell: releases of Helm, each unpacked once, and add-ons of the account.

use std::collections::BTreeMap;

use replank_model::object::meta::Key;
use replank_model::view::View;
use serde_json::Value;

use super::addon::Addons;
use super::target::Target;
use crate::cluster_name::ClusterName;
use crate::helm::{self, Release, Unpack};

/// Releases of Helm and add-ons of EKS, asked for each change.
pub struct Installed<'m> {
    pub(super) view: &'m View,
    pub(super) addons: &'m Addons,
    /// The cluster's name, where its nodes tell one.
    pub(super) cluster: Option<ClusterName>,
    unpack: Unpack<'m>,
    /// Releases that were asked for; `None` where there is none, or it cannot be read.
    releases: BTreeMap<Key, Option<Release>>,
}

/// Releases that are kept. Findings are sorted by object, so that those of a release stand near each other; a release may have some MB of templates.
const KEPT_MAX: usize = 64;

impl<'m> Installed<'m> {
    /// Of a cluster and its account.
    #[must_use]
    pub fn new(view: &'m View, addons: &'m Addons, unpack: Unpack<'m>) -> Self {
        Self { view, addons, cluster: ClusterName::of(view), unpack, releases: BTreeMap::new() }
    }

    /// The values of a release that make a change, where its chart proves them.
    pub(super) fn values(&mut self, release: &Key, object: &Target, body: &Value) -> Option<Value> {
        if !self.releases.contains_key(release) {
            if self.releases.len() >= KEPT_MAX {
                self.releases.clear();
            }
            let read = helm::deployed(self.view, release, self.unpack);
            self.releases.insert(release.clone(), read);
        }
        let release = self.releases.get(release)?.as_ref()?;
        helm::setting(release, (object.kind.as_str(), object.key.name.as_str()), body)
    }
}
