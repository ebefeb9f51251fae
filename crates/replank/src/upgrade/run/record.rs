//! The record of an upgrade: its steps and how far they are, in a ConfigMap.
//!
//! It is written before anything is changed, and before and after each step. What a step has done stands in EKS and on nodes; the record says which step it is.

use std::collections::BTreeMap;

use replank_advice::upgrade::plan::{Step, What};
use replank_live::aws::request_token;
use replank_live::{Answer, Connection, LiveError, Missing, create, delete, patch};
use replank_model::time::{Span, Time};
use replank_protocol::limits::{OBJECT_NAME_MAX, shortened, slug};
use replank_protocol::mark::VERSION;
use replank_protocol::record::RECORD;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::args::Conflicts;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::upgrade::plan::words;

/// The value of [`RECORD`] on it.
const UPGRADE: &str = "upgrade";
/// The version of its form.
const FORM: &str = "1";
/// How names of ConfigMap and Lease begin.
const PREFIX: &str = "replank-upgrade-";
/// How long a removed form of what is left of it is kept apart from a new one: as the records of runs.
const LEFT_AFTER: Span = Span::from_minutes(30 * 24 * 60);

/// What is done in a step, as it is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(super) enum Todo {
    /// The control plane goes to its next version.
    ControlPlane { from: String, to: String },
    /// It is left alone and watched.
    Bake { after: String, lasts_ms: i64 },
    /// The nodes of a group are replaced.
    Roll { group: String, from: String, to: String },
    /// Nodes that somebody else replaces.
    LeftToProvisioner { name: String, provisioner: String, to: String, way: String },
    /// The kube-proxy of the nodes.
    KubeProxy { from: String, to: String },
    /// An add-on, one version after the other.
    Addon { name: String, from: String, versions: Vec<String> },
}

impl Todo {
    fn of(what: &What, bake: Span) -> Self {
        match what {
            What::ControlPlane(hop) => {
                Self::ControlPlane { from: hop.from.to_string(), to: hop.to.to_string() }
            }
            What::Bake { after } => Self::Bake { after: after.to.to_string(), lasts_ms: bake.as_millis() },
            What::Roll { group, from, to, nodes: _, pods: _ } => {
                Self::Roll { group: group.to_string(), from: from.to_string(), to: to.to_string() }
            }
            What::LeftTo { name, provisioner, from: _, to, nodes: _ } => Self::LeftToProvisioner {
                name: name.to_string(),
                provisioner: provisioner.to_string(),
                to: to.to_string(),
                way: provisioner.way().to_owned(),
            },
            What::KubeProxy { from, to } => Self::KubeProxy { from: from.to_string(), to: to.to_string() },
            What::Addon { name, from, to } => Self::Addon {
                name: name.to_string(),
                from: from.to_string(),
                versions: to.iter().map(ToString::to_string).collect(),
            },
        }
    }

    /// Whether a step of a plan that was made later is this one.
    pub(super) fn is(&self, what: &What) -> bool {
        match (self, Self::of(what, Span::ZERO)) {
            (Self::Bake { after, .. }, Self::Bake { after: other, .. }) => *after == other,
            (Self::Roll { group, to, .. }, Self::Roll { group: other, to: theirs, .. }) => {
                *group == other && *to == theirs
            }
            (own, other) => *own == other,
        }
    }
}

/// How far a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum State {
    /// Nothing was done for it.
    Open,
    /// It was begun.
    Begun,
    /// It is done.
    Done,
}

/// A step, and how far it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Recorded {
    /// In words.
    pub(super) title: String,
    /// What is done.
    pub(super) what: Todo,
    /// The way back, in words; none where nothing is changed.
    pub(super) back: Option<String>,
    /// How far it is.
    pub(super) state: State,
    /// When it was begun first.
    pub(super) begun: Option<Time>,
    /// When it was done.
    pub(super) done: Option<Time>,
    /// How often EKS has said that what it was asked for has failed: the next request is another one.
    pub(super) failed: u32,
    /// How often EKS was asked for something: counted before, so that nobody asks whose record is gone.
    #[serde(default)]
    pub(super) asked: u32,
    /// Updates of EKS that it has asked for or followed.
    pub(super) updates: Vec<String>,
}

/// What is recorded of an upgrade.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Upgrade {
    /// The cluster's name in EKS.
    pub(super) cluster: String,
    /// The account's number.
    pub(super) account: String,
    /// The region.
    pub(super) region: String,
    /// What the control plane ran.
    pub(super) from: String,
    /// Where it goes.
    pub(super) to: String,
    /// When it was begun, by the API server's clock.
    pub(super) begun: Time,
    /// The label of groups.
    pub(super) group_label: String,
    /// When nodes are rolled, where that was given (`--route`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) route: Option<String>,
    /// Paths that were scanned (`--scan`): without them less is seen before a step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) scan: Vec<String>,
    /// Groups whose kubelets' arguments were given (`--kubelet`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) kubelet: Vec<String>,
    /// What is done about changed fields of add-ons, by their names; that of all others is under `*`.
    pub(super) conflicts: BTreeMap<String, String>,
    /// The steps.
    pub(super) steps: Vec<Recorded>,
}

/// Under which name the conflicts of all other add-ons stand.
const ALL: &str = "*";

impl Upgrade {
    /// The steps of a plan, none of them begun.
    pub(super) fn steps_of(steps: &[Step], bake: Span) -> Vec<Recorded> {
        let recorded = |step: &Step| Recorded {
            title: words::title_done(&step.what),
            what: Todo::of(&step.what, bake),
            back: words::back(&step.back),
            state: State::Open,
            begun: None,
            done: None,
            failed: 0,
            asked: 0,
            updates: Vec::new(),
        };
        steps.iter().map(recorded).collect()
    }

    /// The first step that is not done.
    pub(super) fn next(&self) -> Option<usize> {
        self.steps.iter().position(|step| step.state != State::Done)
    }

    /// Takes in what is asked for of conflicts.
    pub(super) fn resolve(&mut self, asked: &[(Option<String>, Conflicts)]) {
        for (addon, what) in asked {
            let name = addon.clone().unwrap_or_else(|| ALL.to_owned());
            self.conflicts.insert(name, what.as_str().to_owned());
        }
    }

    /// What is done about changed fields of an add-on.
    pub(super) fn conflicts_of(&self, addon: &str) -> &str {
        let own = self.conflicts.get(addon).or_else(|| self.conflicts.get(ALL));
        own.map_or(Conflicts::None.as_str(), String::as_str)
    }

    /// A token for a request of a step, of which `part` says what is asked for: the same request, however often it is sent, by whichever process.
    pub(super) fn token(&self, uid: &str, index: usize, part: &str) -> String {
        let failed = self.steps.get(index).map_or(0, |step| step.failed);
        request_token(&format!("{uid}/{index}/{part}/{failed}"))
    }
}

/// The name of ConfigMap and Lease.
pub(super) fn name_of(cluster: &str) -> String {
    shortened(&format!("{PREFIX}{}", slug(cluster)), OBJECT_NAME_MAX)
}

/// Where the record and the Lease of a cluster's upgrade are.
pub(super) fn place_of(namespace: &str, cluster: &str) -> (String, String) {
    (namespace.to_owned(), name_of(cluster))
}

fn collection(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/configmaps")
}

/// A record in a cluster.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) upgrade: Upgrade,
    pub(super) uid: String,
    namespace: String,
    name: String,
    version: String,
}

impl Kept {
    fn read(object: &Value) -> Result<Self, Failure> {
        let meta = |member: &str| object["metadata"][member].as_str().unwrap_or_default().to_owned();
        let unreadable = |why: String| {
            Failure::usage_message(format!(
                "the record in ConfigMap {}/{} cannot be read: {why}",
                meta("namespace"),
                meta("name")
            ))
            .next("see docs/upgrade.md")
        };
        let form = object["metadata"]["annotations"][VERSION].as_str().unwrap_or_default();
        if form != FORM {
            return Err(unreadable(format!(
                "another version of Replank wrote it (form {form:?}, this one reads {FORM})"
            )));
        }
        let text = object["data"]["upgrade"].as_str().unwrap_or_default();
        let upgrade = serde_json::from_str(text).map_err(|error| unreadable(error.to_string()))?;
        Ok(Self {
            upgrade,
            uid: meta("uid"),
            namespace: meta("namespace"),
            name: meta("name"),
            version: meta("resourceVersion"),
        })
    }

    /// Namespace and name.
    pub(super) fn place(&self) -> (&str, &str) {
        (&self.namespace, &self.name)
    }

    fn path(&self) -> String {
        format!("{}/{}", collection(&self.namespace), self.name)
    }

    /// Writes the record of an upgrade that begins; `None` where there is one already.
    pub(super) async fn begin(
        connection: &Connection,
        namespace: &str,
        upgrade: Upgrade,
    ) -> Result<Option<Self>, Failure> {
        let name = name_of(&upgrade.cluster);
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": namespace, "labels": {RECORD: UPGRADE},
                "annotations": {VERSION: FORM, "replank.dev/expires": (upgrade.begun + LEFT_AFTER).to_string()}},
            "data": data(&upgrade)?});
        let path = collection(namespace);
        let answer = create(connection, &path, &object).await?;
        match answer.code {
            409 => Ok(None),
            _ => Self::read(&accepted(&path, &answer, &["create"])?).map(Some),
        }
    }

    /// Writes down how far it is.
    pub(super) async fn write(&mut self, connection: &Connection) -> Result<(), Failure> {
        let path = self.path();
        let change = [json!({"op": "replace", "path": "/data", "value": data(&self.upgrade)?})];
        let answer = patch(connection, &path, (&self.uid, &self.version), &change).await?;
        if matches!(answer.code, 404 | 409 | 422) {
            return Err(Failure {
                exit: Exit::Internal,
                ..Failure::usage_message(format!(
                    "the record in ConfigMap {}/{} was changed by somebody else: this process leaves the upgrade",
                    self.namespace, self.name
                ))
            }
            .next("see how far it is: replank upgrade status"));
        }
        let own = accepted(&path, &answer, &["patch"])?;
        self.version = own["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned();
        Ok(())
    }

    /// Removes it: the upgrade is over.
    pub(super) async fn remove(&self, connection: &Connection) -> Result<(), Failure> {
        let path = self.path();
        let answer = delete(connection, &path, &self.uid).await?;
        match answer.code {
            404 | 409 => Ok(()),
            _ => accepted(&path, &answer, &["delete"]).map(drop),
        }
    }
}

fn data(upgrade: &Upgrade) -> Result<Value, Failure> {
    let text = serde_json::to_string_pretty(upgrade).map_err(Failure::internal)?;
    Ok(json!({ "upgrade": text }))
}

fn accepted(path: &str, answer: &Answer, verbs: &'static [&'static str]) -> Result<Value, Failure> {
    let message = answer.message();
    match answer.code {
        200..=299 => serde_json::from_slice(&answer.body).map_err(Failure::internal),
        403 => {
            let missing = Missing { group: String::new(), resource: "configmaps".to_owned(), verbs };
            Err(LiveError::Forbidden { message, missing }.into())
        }
        code => Err(LiveError::Refused { path: path.to_owned(), code, message }.into()),
    }
}

/// The records of upgrades in a namespace.
pub(super) async fn all(connection: &Connection, namespace: &str) -> Result<Vec<Kept>, Failure> {
    let path = format!("{}?labelSelector={}%3D{UPGRADE}", collection(namespace), RECORD.replace('/', "%2F"));
    let answer = connection.get(&path, "application/json").await?;
    let body = accepted(&path, &answer, &["get", "list"])?;
    body["items"].as_array().into_iter().flatten().map(Kept::read).collect()
}

/// The record of a cluster's upgrade, or the only one.
pub(super) async fn one(
    connection: &Connection,
    namespace: &str,
    cluster: Option<&str>,
) -> Result<Kept, Failure> {
    let mut found = all(connection, namespace).await?;
    let known: Vec<String> = found.iter().map(|one| one.upgrade.cluster.clone()).collect();
    found.retain(|one| cluster.is_none_or(|name| name == one.upgrade.cluster));
    match (found.pop(), found.is_empty()) {
        (Some(one), true) => Ok(one),
        (Some(_), false) => Err(Failure::usage_message("there are several upgrades")
            .next(format!("name one: --cluster {}", known.join(", ")))),
        (None, _) if known.is_empty() => Err(Failure::usage_message(format!(
            "there is no upgrade in namespace {namespace}: none was begun, or all are over"
        ))
        .next("to begin one: replank upgrade run --to VERSION --cluster NAME")),
        (None, _) => Err(Failure::usage_message(format!(
            "there is no upgrade of cluster {}",
            cluster.unwrap_or_default()
        ))
        .next(format!("there is one of {}", known.join(", ")))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_failed_is_followed_by_another_one() {
        let step = Recorded {
            title: String::new(),
            what: Todo::ControlPlane { from: "1.35".to_owned(), to: "1.36".to_owned() },
            back: None,
            state: State::Open,
            begun: None,
            done: None,
            failed: 0,
            asked: 0,
            updates: Vec::new(),
        };
        let mut upgrade = Upgrade {
            cluster: "shop".to_owned(),
            account: String::new(),
            region: String::new(),
            from: "1.35".to_owned(),
            to: "1.36".to_owned(),
            begun: Time::from_millis(0),
            group_label: String::new(),
            route: None,
            scan: Vec::new(),
            kubelet: Vec::new(),
            conflicts: BTreeMap::new(),
            steps: vec![step],
        };
        let first = upgrade.token("uid", 0, "");
        assert_eq!(upgrade.token("uid", 0, ""), first);
        upgrade.steps[0].failed = 1;
        let all =
            [first, upgrade.token("uid", 0, ""), upgrade.token("uid", 0, "1"), upgrade.token("other", 0, "")];
        assert!(
            all.iter().enumerate().all(|(at, one)| all[..at].iter().all(|before| before != one)),
            "{all:?}"
        );
    }

    #[test]
    fn conflicts_of_one_add_on_go_before_those_of_all() {
        let text = r#"{"cluster": "c", "account": "1", "region": "r", "from": "1.35", "to": "1.36", "begun": "2026-11-27T00:00:00Z",
            "groupLabel": "g", "conflicts": {}, "steps": []}"#;
        let mut upgrade: Upgrade = serde_json::from_str(text).expect("it is whole");
        assert_eq!(upgrade.conflicts_of("coredns"), "NONE");
        upgrade.resolve(&[(None, Conflicts::Preserve), (Some("coredns".to_owned()), Conflicts::Overwrite)]);
        assert_eq!(
            (upgrade.conflicts_of("coredns"), upgrade.conflicts_of("vpc-cni")),
            ("OVERWRITE", "PRESERVE")
        );
    }
}
