//! The record of a run: what another process needs to go on with it, and has nowhere else to read.
//!
//! It stands in a ConfigMap of the run's own, in the namespace that the plan names. A run writes it before anything else, keeps it up to date, and deletes
//! it when it is over and nothing is left to be taken back. What the run has done stands on nodes and groups ([`crate::mark`]); what it is to do stands here:
//! the plan, since when, how groups are told, what is wanted of it. docs/record.md describes each field.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use replank_model::labels::TextMap;
use replank_model::object::cloud::{GroupSize, LaunchTemplateRef};
use replank_model::object::cluster::Other;
use replank_model::object::meta::Key;
use replank_model::object::{Object, render};
use replank_model::text::{GroupName, Name, RunId, Text};
use replank_model::time::Time;
use replank_model::view::View;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::intent::Intent;
use crate::limits::{OBJECT_NAME_MAX, shortened, slug};
use crate::mark::version::{self, Version};
use crate::mark::{EXPIRES, OWNER, RUN, VERSION};
use crate::owner::Owner;

/// Label of the ConfigMaps that hold records, by which they are listed; its value is that of [`OWNER`].
pub const RECORD: &str = "replank.dev/record";
/// The namespace of records where the plan names none.
pub const NAMESPACE: &str = "kube-system";
/// How the names of the ConfigMaps begin.
const PREFIX: &str = "replank-run-";

/// Members of the ConfigMap's data.
mod member {
    pub(super) const BEGIN: &str = "begin";
    pub(super) const INTENT: &str = "intent";
    pub(super) const GROUP_BY: &str = "groupBy";
    pub(super) const GROUPS: &str = "groups";
    pub(super) const PLAN: &str = "plan";
}

/// See the module's page.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRecord {
    /// The run.
    pub run: RunId,
    /// The plan, as a person writes it, with all defaults.
    pub plan: Value,
    /// When the run began: its deadline counts from then, and what is new is newer than that.
    pub begin: Time,
    /// Until when the record holds where nothing else of the run does.
    pub expires: Time,
    /// How the group of a node is known whose instance is not.
    pub group_by: Value,
    /// What is wanted of the run.
    pub intent: Intent,
    /// The groups of the run.
    pub groups: BTreeMap<GroupName, GroupRecord>,
}

/// A group in a record. A copy: where a tag on the group says something else, the tag counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GroupRecord {
    /// Its size before the run.
    pub original: GroupSize,
    /// The version of its launch template that was current before the run.
    pub template: LaunchTemplateRef,
    /// The most that it is to want while the run lasts.
    pub wanted: u32,
    /// What the run has written down of a group that bears no tags of its own, because somebody else keeps it: what would be its tags ([`crate::mark`]).
    #[serde(default, skip_serializing_if = "TextMap::is_empty")]
    pub notes: TextMap,
    /// What its nodes were made of before the run, where that is known: what to go back to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<MadeOf>,
}

/// What nodes are made of, as far as it is known; one of both is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MadeOf {
    /// The release of EKS's image, such as `1.36.1-20260610`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<Text>,
    /// The image's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<Text>,
}

/// `release 1.36.1-20260610 (ami-0def)`
impl fmt::Display for MadeOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.release, &self.image) {
            (Some(release), Some(image)) => write!(f, "release {release} ({image})"),
            (Some(release), None) => write!(f, "release {release}"),
            (None, Some(image)) => write!(f, "image {image}"),
            (None, None) => f.write_str("an image that is not known"),
        }
    }
}

/// Why a record cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// A newer Replank wrote it.
    #[error(
        "a newer Replank wrote it (version {version}, this one reads {}): upgrade Replank",
        version::WRITTEN
    )]
    Newer {
        /// Its version.
        version: u64,
    },
    /// It is none, or was changed by hand.
    #[error("{member} is missing or cannot be read")]
    Unreadable {
        /// What of it.
        member: &'static str,
    },
}

/// A record as it is found.
#[derive(Clone, Debug)]
pub struct FoundRecord {
    /// The ConfigMap that holds it.
    pub holder: Arc<Other>,
    /// The run, where it is named.
    pub run: Option<RunId>,
    /// What it says.
    pub record: Result<RunRecord, RecordError>,
}

/// The ConfigMap of a run's record.
#[must_use]
pub fn key(namespace: &str, run: &RunId) -> Key {
    // A name that is no DNS subdomain is made one, and told from others that become the same.
    let name = format!("{PREFIX}{}", slug(run.as_str()));
    Key::new(namespace, Name::from(shortened(&name, OBJECT_NAME_MAX)))
}

/// The record in a ConfigMap of that name, if there is one.
#[must_use]
pub fn find(view: &View, key: &Key) -> Option<FoundRecord> {
    view.other("", "ConfigMap", key).map(found)
}

/// All records of runs, in order of their names.
#[must_use]
pub fn all(view: &View) -> Vec<FoundRecord> {
    let of_run = |other: &Other| other.meta.labels.value(RECORD) == Some(Owner::Run.as_str());
    let is_record =
        |other: &&Arc<Other>| other.group().is_empty() && &*other.kind == "ConfigMap" && of_run(other);
    view.others().filter(is_record).map(found).collect()
}

fn found(holder: &Arc<Other>) -> FoundRecord {
    let run = holder.meta.annotations.get(RUN).cloned().map(RunId::new);
    FoundRecord { holder: holder.clone(), run, record: RunRecord::read(holder) }
}

impl RunRecord {
    fn data(&self) -> Map<String, Value> {
        let pretty = |value: &Value| format!("{value:#}");
        let groups = serde_json::to_value(&self.groups).unwrap_or_default();
        let members = [
            (member::BEGIN, self.begin.to_string()),
            (member::INTENT, self.intent.as_str().to_owned()),
            (member::GROUP_BY, pretty(&self.group_by)),
            (member::GROUPS, pretty(&groups)),
            (member::PLAN, pretty(&self.plan)),
        ];
        members.into_iter().map(|(name, text)| (name.to_owned(), text.into())).collect()
    }

    /// The ConfigMap with the record, to be created.
    #[must_use]
    pub fn object(&self, key: &Key) -> Object {
        let value = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": key.name.as_str(), "namespace": key.namespace.as_str(),
                "labels": {RECORD: Owner::Run.as_str()},
                "annotations": {VERSION: version::WRITTEN.to_string(), OWNER: Owner::Run.as_str(),
                    RUN: self.run.as_str(), EXPIRES: self.expires.to_string()}},
            "data": self.data()});
        read_back(value)
    }

    /// The ConfigMap with this record in the place of the one that it holds.
    #[must_use]
    pub fn rewritten(&self, holder: &Arc<Other>) -> Object {
        let mut value = render(&Object::Other(holder.clone()));
        value["data"] = self.data().into();
        read_back(value)
    }

    /// The record in a ConfigMap.
    ///
    /// # Errors
    /// Where a newer Replank wrote it, or it is none.
    pub fn read(holder: &Arc<Other>) -> Result<Self, RecordError> {
        let annotations = &holder.meta.annotations;
        match Version::of(annotations) {
            Version::Known => {}
            Version::Newer(version) => return Err(RecordError::Newer { version }),
            Version::Unreadable => return Err(RecordError::Unreadable { member: VERSION }),
        }
        let unreadable = |member| RecordError::Unreadable { member };
        let owner = annotations.value(OWNER).and_then(Owner::read);
        if owner != Some(Owner::Run) {
            return Err(unreadable(OWNER));
        }
        let value = render(&Object::Other(holder.clone()));
        let text = |name: &'static str| {
            let data = value.get("data").and_then(|data| data.get(name));
            data.and_then(Value::as_str).ok_or(unreadable(name))
        };
        let json = |name: &'static str| -> Result<Value, RecordError> {
            serde_json::from_str(text(name)?).map_err(|_| unreadable(name))
        };
        let expires = annotations.value(EXPIRES).and_then(|text| text.parse().ok());
        Ok(Self {
            run: RunId::new(annotations.get(RUN).cloned().ok_or(unreadable(RUN))?),
            plan: json(member::PLAN)?,
            begin: text(member::BEGIN)?.parse().map_err(|_| unreadable(member::BEGIN))?,
            expires: expires.ok_or(unreadable(EXPIRES))?,
            group_by: json(member::GROUP_BY)?,
            intent: Intent::read(text(member::INTENT)?).ok_or(unreadable(member::INTENT))?,
            groups: serde_json::from_value(json(member::GROUPS)?).map_err(|_| unreadable(member::GROUPS))?,
        })
    }
}

fn read_back(value: Value) -> Object {
    match Object::from_json(value) {
        Ok(object) => object,
        Err(_) => unreachable!("a ConfigMap that was written here can be read"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> RunRecord {
        let original = GroupSize { min: 0, max: 5, desired: 3 };
        let web = GroupRecord {
            original,
            template: LaunchTemplateRef { id: "lt-0123456789abcdef0".into(), version: 2 },
            wanted: 4,
            notes: TextMap::default(),
            before: Some(MadeOf { release: Some("1.35.4-20260901".into()), image: Some("ami-1".into()) }),
        };
        RunRecord {
            run: "web to 1.36".into(),
            plan: json!({"kind": "NodeRoll", "metadata": {"name": "web to 1.36"}}),
            begin: "2026-01-01T00:00:00Z".parse().expect("a time"),
            expires: "2026-01-08T00:00:00Z".parse().expect("a time"),
            group_by: json!({"label": "eks.amazonaws.com/nodegroup"}),
            intent: Intent::Paused,
            groups: BTreeMap::from([("web".into(), web)]),
        }
    }

    fn view_with(object: Object) -> View {
        [replank_model::delta::Delta::Put(object)].into_iter().collect()
    }

    fn changed(change: impl FnOnce(&mut Value)) -> FoundRecord {
        let record = record();
        let mut value = render(&record.object(&key(NAMESPACE, &record.run)));
        change(&mut value);
        let found = all(&view_with(read_back(value)));
        found.into_iter().next().expect("it is listed")
    }

    #[test]
    fn a_record_is_read_as_it_was_written_and_rewritten() {
        let record = record();
        let key = key(NAMESPACE, &record.run);
        let view = view_with(record.object(&key));
        let found = find(&view, &key).expect("it is there");
        assert_eq!(found.record, Ok(record.clone()));
        let other = RunRecord { intent: Intent::Undo, groups: BTreeMap::new(), ..record };
        let view = view_with(other.rewritten(&found.holder));
        assert_eq!(all(&view).into_iter().map(|found| found.record).collect::<Vec<_>>(), [Ok(other)]);
    }

    #[test]
    fn a_record_that_says_nothing_of_images_is_read() {
        let found = changed(|value| {
            let groups = value["data"]["groups"].as_str().expect("a text");
            let mut groups: Value = serde_json::from_str(groups).expect("JSON");
            assert_eq!(groups["web"]["before"], json!({"release": "1.35.4-20260901", "image": "ami-1"}));
            groups["web"].as_object_mut().expect("an object").remove("before");
            value["data"]["groups"] = groups.to_string().into();
        });
        let groups = found.record.expect("it can be read").groups;
        assert_eq!(groups[&GroupName::from("web")].before, None);
        let of = |release: Option<&str>, image: Option<&str>| {
            MadeOf { release: release.map(Text::from), image: image.map(Text::from) }.to_string()
        };
        assert_eq!(of(Some("1.35.4-20260901"), Some("ami-1")), "release 1.35.4-20260901 (ami-1)");
        assert_eq!(
            (of(Some("1.35.4-20260901"), None), of(None, Some("ami-1"))),
            ("release 1.35.4-20260901".to_owned(), "image ami-1".to_owned())
        );
    }

    #[test]
    fn what_a_newer_replank_wrote_or_somebody_changed_is_not_guessed_at() {
        let newer = changed(|value| value["metadata"]["annotations"][VERSION] = "2".into());
        assert_eq!(newer.record, Err(RecordError::Newer { version: 2 }));
        assert_eq!(newer.run, Some("web to 1.36".into()), "whose it is can be told");
        for (pointer, wrong, member) in [
            ("/data/intent", "dance", "intent"),
            ("/data/plan", "{", "plan"),
            ("/data/groups", "[]", "groups"),
            ("/data/begin", "noon", "begin"),
            ("/metadata/annotations/replank.dev~1owner", "autoscaler", OWNER),
            ("/metadata/annotations/replank.dev~1version", "one", VERSION),
        ] {
            let found = changed(|value| *value.pointer_mut(pointer).expect("it is there") = wrong.into());
            assert_eq!(found.record, Err(RecordError::Unreadable { member }), "{pointer}");
        }
    }

    #[test]
    fn every_run_has_a_name_of_its_own_that_kubernetes_takes() {
        let name = |run: &str| key(NAMESPACE, &run.into()).name;
        assert_eq!(name("web").as_str(), "replank-run-web");
        let alike = [name("web to"), name("web-to"), name("Web-to"), name("web_to"), name("web-to-")];
        for (at, one) in alike.iter().enumerate() {
            assert!(
                one.as_str().bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'),
                "{one}"
            );
            assert!(one.as_str().ends_with(|last: char| last.is_ascii_alphanumeric()), "{one}");
            assert!(!alike[..at].contains(one), "{one}");
        }
        let long = "n".repeat(OBJECT_NAME_MAX);
        assert_eq!(name(&long).as_str().len(), OBJECT_NAME_MAX);
        assert_ne!(name(&long), name(&format!("{long}n")));
    }

    #[test]
    fn a_text_that_is_not_ours_is_not_listed() {
        let plain = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "b"}, "data": {}});
        assert!(all(&view_with(read_back(plain))).is_empty());
    }
}
