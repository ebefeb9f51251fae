//! Which parts of a document are kept. All of it is parsed; what nobody asks for is not built.

/// What is kept of a node.
#[derive(Debug)]
pub(crate) enum Want {
    /// Nothing.
    Nothing,
    /// Everything.
    All,
    /// Of a mapping these keys.
    Keys(&'static [(&'static str, Want)]),
    /// Of a list this of each item.
    Each(&'static Want),
    /// Of a list what is kept of an object, of each item.
    Objects,
}

impl Want {
    /// What is kept of the value of a key.
    pub(crate) fn key(&'static self, key: &str) -> &'static Want {
        match self {
            Want::All => self,
            Want::Keys(keys) => {
                keys.iter().find(|(name, _)| *name == key).map_or(&Want::Nothing, |(_, want)| want)
            }
            Want::Nothing | Want::Each(_) | Want::Objects => &Want::Nothing,
        }
    }

    /// What is kept of an item of a list.
    pub(crate) fn item(&'static self) -> &'static Want {
        match self {
            Want::All => self,
            Want::Each(want) => want,
            Want::Objects => &OBJECT,
            Want::Nothing | Want::Keys(_) => &Want::Nothing,
        }
    }
}

/// Of managedFields: who, when, at which version, and whether the annotation above is theirs.
const MANAGED: Want = Want::Keys(&[
    ("manager", Want::All),
    ("operation", Want::All),
    ("apiVersion", Want::All),
    ("time", Want::All),
    ("subresource", Want::All),
    (
        "fieldsV1",
        Want::Keys(&[("f:metadata", Want::Keys(&[("f:annotations", Want::All)])), ("f:status", Want::All)]),
    ),
]);

const METADATA: Want = Want::Keys(&[
    ("name", Want::All),
    ("generateName", Want::All),
    ("namespace", Want::All),
    ("uid", Want::All),
    ("resourceVersion", Want::All),
    ("labels", Want::All),
    ("annotations", Want::All),
    ("managedFields", Want::Each(&MANAGED)),
]);

/// References to other objects that name their version, and what policies match.
const SPEC: Want = Want::Keys(&[
    ("scaleTargetRef", Want::All),
    ("targetRef", Want::All),
    ("workloadRef", Want::All),
    ("matchConstraints", Want::All),
    ("matchResources", Want::All),
    // What an operator's ClusterServiceVersion grants.
    (
        "install",
        Want::Keys(&[("spec", Want::Keys(&[("clusterPermissions", Want::All), ("permissions", Want::All)]))]),
    ),
]);

/// Of any object, whatever its kind: the kind may come last.
pub(crate) static OBJECT: Want = Want::Keys(&[
    ("apiVersion", Want::All),
    ("kind", Want::All),
    ("metadata", METADATA),
    ("items", Want::Objects),
    ("spec", SPEC),
    // Roles and ClusterRoles; webhook configurations; storage of Helm releases.
    ("rules", Want::All),
    ("webhooks", Want::All),
    ("type", Want::All),
    ("data", Want::Keys(&[("release", Want::All)])),
    // A Kustomization.
    ("resources", Want::All),
    ("bases", Want::All),
    ("components", Want::All),
    ("helmCharts", Want::All),
    ("patches", Want::All),
    ("patchesJson6902", Want::All),
    ("patchesStrategicMerge", Want::All),
    ("vars", Want::All),
    ("replacements", Want::All),
    // An entry of an audit log.
    ("auditID", Want::All),
    ("stage", Want::All),
    ("verb", Want::All),
    ("user", Want::Keys(&[("username", Want::All)])),
    ("userAgent", Want::All),
    ("objectRef", Want::All),
    ("annotations", Want::All),
    ("requestReceivedTimestamp", Want::All),
    // What `terraform show -json` prints.
    ("format_version", Want::All),
    ("terraform_version", Want::All),
    ("values", Want::Keys(&[("root_module", Want::All)])),
    ("planned_values", Want::Keys(&[("root_module", Want::All)])),
]);

/// A document at its root: an object, or a bare list of them (`jq .items`).
pub(crate) fn root_item() -> &'static Want {
    &Want::Objects
}
