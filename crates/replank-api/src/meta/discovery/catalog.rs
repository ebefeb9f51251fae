//! All that is served: groups in the order of discovery, their versions, their resources.

use replank_model::version::compare_api_versions;
use replank_schema::{Group, GroupName, Version, discovery};
use rustc_hash::FxHashMap;

use super::custom::{Definition, definitions, state};
use crate::meta::usage;
use crate::mirror::Snapshot;
use crate::served::Versions;

/// All that is served.
#[derive(Debug)]
pub(crate) struct Catalog {
    /// What it was made from.
    pub(crate) state: Vec<u64>,
    /// The group without a name.
    pub(crate) core: Group,
    /// The others, in the order of discovery.
    pub(crate) groups: Vec<Group>,
    /// Group and plural of a custom resource, and the version in which it is stored.
    stored: FxHashMap<(String, String), String>,
}

impl Catalog {
    /// What is served while the definitions are as they are in a picture.
    pub(crate) fn of(snapshot: &Snapshot, served: &dyn Versions) -> Self {
        let definitions = definitions(snapshot);
        let stored = definitions
            .iter()
            .map(|one| ((one.group().to_owned(), one.plural().to_owned()), one.storage_version().to_owned()));
        Self {
            state: state(snapshot),
            core: present(discovery().core[0].clone(), served),
            groups: groups(&definitions, served),
            stored: stored.collect(),
        }
    }

    /// A group.
    pub(crate) fn group(&self, name: &str) -> Option<&Group> {
        self.groups.iter().find(|group| group.name() == name)
    }

    /// Whether a group is there only because definitions declare resources of it.
    pub(crate) fn stored_group(&self, name: &str) -> bool {
        self.stored.keys().any(|(group, _)| group == name)
    }

    /// The version in which a resource is stored, where it is a custom one.
    pub(crate) fn stored_version(&self, group: &str, plural: &str) -> Option<&str> {
        self.stored.get(&(group.to_owned(), plural.to_owned())).map(String::as_str)
    }
}

/// A group without what a release does not serve yet.
fn present(mut group: Group, served: &dyn Versions) -> Group {
    let name = group.name().to_owned();
    for version in &mut group.versions {
        let own = version.version.clone();
        version.resources.retain(|one| served.serves(&name, &own, &one.response_kind.kind));
    }
    group.versions.retain(|version| !version.resources.is_empty());
    group
}

/// What is built in, in a release: without what came later, with what it served and later ones do not.
fn built_in_groups(served: &dyn Versions) -> Vec<Group> {
    let mut groups: Vec<Group> =
        discovery().groups.iter().map(|group| present(group.clone(), served)).collect();
    for older in served.older() {
        let newer = discovery().all().find(|one| one.name() == older.newer_group);
        let newer =
            newer.and_then(|group| group.versions.iter().find(|one| one.version == older.newer_version));
        let mut known = newer.into_iter().flat_map(|version| &version.resources);
        let Some(resource) = known.find(|one| one.response_kind.kind == older.kind).cloned() else {
            continue;
        };
        let at = groups.iter().position(|group| group.name() == older.group).unwrap_or_else(|| {
            // The one group that is gone altogether, `extensions`, came first.
            groups
                .insert(0, Group { metadata: GroupName { name: older.group.clone() }, versions: Vec::new() });
            0
        });
        let versions = &mut groups[at].versions;
        match versions.iter_mut().find(|one| one.version == older.version) {
            Some(known) if known.resources.iter().any(|one| one.resource == resource.resource) => {}
            Some(known) => known.resources.push(resource),
            None => versions.push(Version {
                version: older.version.clone(),
                resources: vec![resource],
                freshness: "Current".to_owned(),
            }),
        }
    }
    for group in &mut groups {
        group.versions.sort_by(|one, other| compare_api_versions(&other.version, &one.version));
        for version in &mut group.versions {
            version.resources.sort_by(|one, other| one.resource.cmp(&other.resource));
        }
    }
    groups.retain(|group| !group.versions.is_empty());
    groups
}

/// Built-in groups by the priority of their APIServices; those of definitions, which all have the same, after them by name.
fn groups(definitions: &[Definition], served: &dyn Versions) -> Vec<Group> {
    let mut groups = built_in_groups(served);
    let built_in = groups.len();
    for definition in definitions {
        for version in definition.versions() {
            let resource = definition.resource(version);
            let name = definition.group();
            let at = groups.iter().position(|group| group.name() == name).unwrap_or_else(|| {
                let metadata = GroupName { name: name.to_owned() };
                groups.push(Group { metadata, versions: Vec::new() });
                groups.len() - 1
            });
            let versions = &mut groups[at].versions;
            match versions.iter_mut().find(|one| one.version == resource.response_kind.version) {
                Some(known) => known.resources.push(resource),
                None => versions.push(Version {
                    version: resource.response_kind.version.clone(),
                    resources: vec![resource],
                    freshness: "Current".to_owned(),
                }),
            }
        }
    }
    groups[built_in..].sort_by(|one, other| one.name().cmp(other.name()));
    // What an API server behind this one would serve comes last, by the priority that metrics-server registers with.
    groups.push(usage::group());
    for group in &mut groups[built_in..] {
        group.versions.sort_by(|one, other| compare_api_versions(&other.version, &one.version));
    }
    groups
}
