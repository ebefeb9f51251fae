//! Which resources are followed: those of the kinds that the engine decides on.

use replank_model::object::Kind;
use replank_protocol::record::RECORD;

use crate::resource::Resource;

/// A resource that is followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) resource: Resource,
    pub(super) kind: Kind,
    /// Only objects with this label.
    pub(super) label: Option<&'static str>,
    /// Only objects in this namespace.
    pub(super) namespace: Option<String>,
    /// Whether decisions can do without it where we may not read it.
    pub(super) is_optional: bool,
}

/// What decisions read and have no type for. ConfigMaps are those that hold the records of runs.
const UNTYPED: [(&str, &str, Option<&str>); 10] = [
    ("", "configmaps", Some(RECORD)),
    ("argoproj.io", "clusterworkflowtemplates", None),
    ("argoproj.io", "cronworkflows", None),
    ("argoproj.io", "rollouts", None),
    ("argoproj.io", "workflows", None),
    ("argoproj.io", "workflowtemplates", None),
    ("elbv2.k8s.aws", "targetgroupbindings", None),
    ("karpenter.sh", "nodepools", None),
    ("networking.k8s.io", "ingressclasses", None),
    ("networking.k8s.io", "ingresses", None),
];

impl Source {
    /// How it is called: `pods`, `workflows.argoproj.io`.
    pub(super) fn name(&self) -> String {
        match &*self.resource.group {
            "" => self.resource.plural.clone(),
            group => format!("{}.{group}", self.resource.plural),
        }
    }

    /// The path of its collection.
    pub(super) fn path(&self) -> String {
        self.resource.path(self.namespace.as_deref())
    }

    /// Whether an object is one of it.
    pub(super) fn holds(&self, api_version: &str, kind: &str) -> bool {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        self.resource.group == group && self.resource.kind == kind
    }
}

/// What is followed of all that is served, which is in each version, the preferred one first. A kind is followed in the version in which it is read, where that is served.
/// Records of runs are followed in one namespace, where it is known.
pub(super) fn followed(
    served: &[Resource],
    watches: &dyn Fn(Kind) -> bool,
    records: Option<&str>,
) -> Vec<Source> {
    let all = |group: &'static str, plural: &'static str| {
        served.iter().filter(move |one| one.group == group && one.plural == plural)
    };
    let find = |group: &'static str, plural: &'static str| all(group, plural).next().cloned();
    let typed = Kind::TYPED.iter().filter(|kind| watches(**kind)).filter_map(|kind| {
        let group = kind.api_version().split_once('/').map_or("", |(group, _)| group);
        let is_read = |one: &&Resource| one.api_version() == kind.api_version();
        let resource = all(group, kind.plural()).find(is_read).cloned();
        let resource = resource.or_else(|| find(group, kind.plural()))?;
        Some(Source { resource, kind: *kind, label: None, namespace: None, is_optional: false })
    });
    let untyped = UNTYPED.iter().filter(|_| watches(Kind::Other)).filter_map(|(group, plural, label)| {
        let resource = find(group, plural)?;
        let namespace = label.and_then(|_| records.map(str::to_owned));
        Some(Source { resource, kind: Kind::Other, label: *label, namespace, is_optional: true })
    });
    typed.chain(untyped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(group: &str, version: &str, plural: &str) -> Resource {
        let [group, version, plural] = [group, version, plural].map(str::to_owned);
        Resource { group, version, plural, kind: String::new(), is_namespaced: true }
    }

    #[test]
    fn a_kind_is_followed_in_the_version_in_which_it_is_read_where_the_engine_watches_it() {
        let served = [
            resource("", "v1", "pods"),
            resource("", "v1", "secrets"),
            resource("autoscaling", "v1", "horizontalpodautoscalers"),
            resource("autoscaling", "v2", "horizontalpodautoscalers"),
            resource("argoproj.io", "v1alpha1", "workflows"),
        ];
        let paths = |watches: &dyn Fn(Kind) -> bool| -> Vec<String> {
            followed(&served, watches, None).iter().map(Source::path).collect()
        };
        let autoscalers = "/apis/autoscaling/v2/horizontalpodautoscalers";
        let all = [autoscalers, "/api/v1/pods", "/apis/argoproj.io/v1alpha1/workflows"];
        assert_eq!(paths(&|_| true), all);
        assert_eq!(paths(&|kind| kind == Kind::Pod), ["/api/v1/pods"]);
    }
}
