//! The roles and bindings of a cluster, as authorization asks for them.

use std::collections::BTreeMap;

use replank_model::object::render;
use serde::Deserialize;

use super::rule::Rule;
use super::user::{User, account_of};
use crate::mirror::{Snapshot, StorageId};

/// The API group.
const GROUP: &str = "rbac.authorization.k8s.io";
/// The kinds that it is made of.
const KINDS: [&str; 4] = ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"];

/// The roles and bindings of a cluster.
#[derive(Debug, Default)]
pub(super) struct Policy {
    /// Rules by namespace (empty for cluster roles) and name.
    roles: BTreeMap<(String, String), Vec<Rule>>,
    /// Bindings by namespace; those of the empty one hold everywhere.
    bindings: BTreeMap<String, Vec<Binding>>,
}

/// A binding.
#[derive(Clone, Debug)]
pub(super) struct Binding {
    /// Its namespace; empty for a ClusterRoleBinding.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The role.
    pub role: RoleRef,
    subjects: Vec<Subject>,
}

/// The role that a binding names.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct RoleRef {
    /// `Role` or `ClusterRole`.
    pub kind: String,
    /// Its name.
    pub name: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Subject {
    kind: String,
    name: String,
    namespace: String,
}

/// Where the objects are held.
#[must_use]
pub(super) fn storages() -> [StorageId; 4] {
    KINDS.map(|kind| StorageId::Untyped { group: GROUP.into(), kind: kind.into() })
}

impl Policy {
    /// Reads the objects of a snapshot.
    #[must_use]
    pub(super) fn read(snapshot: &Snapshot) -> Self {
        let mut policy = Self::default();
        let [cluster_roles, cluster_bindings, roles, bindings] = storages();
        for id in [cluster_roles, roles] {
            for (key, stored) in &snapshot.collection(&id) {
                let rules = render(&stored.object).get_mut("rules").map(serde_json::Value::take);
                let rules = rules.and_then(|rules| serde_json::from_value(rules).ok()).unwrap_or_default();
                let key = (key.0.namespace.as_str().to_owned(), key.0.name.as_str().to_owned());
                policy.roles.insert(key, rules);
            }
        }
        for id in [cluster_bindings, bindings] {
            for (key, stored) in &snapshot.collection(&id) {
                let mut value = render(&stored.object);
                let mut member =
                    |name: &str| value.get_mut(name).map(serde_json::Value::take).unwrap_or_default();
                let binding = Binding {
                    namespace: key.0.namespace.as_str().to_owned(),
                    name: key.0.name.as_str().to_owned(),
                    role: serde_json::from_value(member("roleRef")).unwrap_or_default(),
                    subjects: serde_json::from_value(member("subjects")).unwrap_or_default(),
                };
                policy.bindings.entry(binding.namespace.clone()).or_default().push(binding);
            }
        }
        policy
    }

    /// The bindings that hold for a user in a namespace (empty: at the cluster scope), cluster-wide ones first, each with how it names the user.
    pub(super) fn bindings<'a>(
        &'a self,
        user: &'a User,
        namespace: &str,
    ) -> impl Iterator<Item = (&'a Binding, String)> + 'a {
        let of = |namespace: &str| self.bindings.get(namespace).into_iter().flatten();
        let local = if namespace.is_empty() { None } else { Some(of(namespace)) };
        of("").chain(local.into_iter().flatten()).filter_map(|binding| {
            let named =
                binding.subjects.iter().find_map(|subject| subject.names(user, &binding.namespace))?;
            Some((binding, named))
        })
    }

    /// The rules of a role.
    ///
    /// # Errors
    /// There is no such role.
    pub(super) fn rules(&self, role: &RoleRef, namespace: &str) -> Result<&[Rule], String> {
        let (namespace, resource) = match role.kind.as_str() {
            "Role" => (namespace, "role"),
            _ => ("", "clusterrole"),
        };
        let known = self.roles.get(&(namespace.to_owned(), role.name.clone()));
        known.map(Vec::as_slice).ok_or_else(|| format!("{resource}.{GROUP} \"{}\" not found", role.name))
    }
}

impl Subject {
    /// How the subject names a user, if it does.
    fn names(&self, user: &User, namespace: &str) -> Option<String> {
        match self.kind.as_str() {
            "User" if self.name == user.name => Some(format!("User \"{}\"", self.name)),
            "Group" if user.groups.contains(&self.name) => Some(format!("Group \"{}\"", self.name)),
            "ServiceAccount" => {
                let of = if self.namespace.is_empty() { namespace } else { &self.namespace };
                let is_it = account_of(&user.name) == Some((of, &self.name));
                is_it.then(|| format!("ServiceAccount \"{}/{of}\"", self.name))
            }
            _ => None,
        }
    }
}
