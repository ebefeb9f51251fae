//! What EKS says of a cluster: the answers of `aws eks`, as their JSON has them, in any number of files.
//!
//! Source: the API model of EKS (shapes `Cluster`, `Nodegroup`, `Addon`, `AddonInfo`, `InsightSummary`, `Update`) and of EC2 (`Subnet`).

use std::collections::BTreeMap;

use replank_model::text::Text;
use replank_model::time::Time;
use serde_json::Value;

use super::addon_version::AddonVersion;
use super::minor::Minor;

/// What is said; what is not is absent and never guessed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The cluster (`describe-cluster`).
    pub cluster: Option<ClusterFacts>,
    /// Managed node groups (`describe-nodegroup`), by name.
    pub groups: BTreeMap<Text, GroupFacts>,
    /// Add-ons that are installed (`describe-addon`, `list-addons`), by name; with their version where that was told.
    pub addons: BTreeMap<Text, Option<AddonVersion>>,
    /// Versions that EKS offers (`describe-addon-versions`), by add-on.
    pub offered: BTreeMap<Text, Vec<Offered>>,
    /// Upgrade insights (`list-insights`).
    pub insights: Vec<Insight>,
    /// Free addresses (`aws ec2 describe-subnets`), by subnet.
    pub subnets: BTreeMap<Text, u64>,
    /// When the control plane last came to its present version (`describe-update` of type VersionUpdate).
    pub upgraded: Option<Time>,
    /// What the API server itself says that it runs (`/version`), where a live cluster is read.
    pub server: Option<Minor>,
}

/// A cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterFacts {
    /// Name.
    pub name: Text,
    /// What its control plane runs.
    pub version: Minor,
    /// `ACTIVE`, `UPDATING`, …
    pub status: Option<Text>,
    /// `STANDARD` or `EXTENDED` (`upgradePolicy.supportType`).
    pub support: Option<Text>,
    /// Subnets of the control plane.
    pub subnets: Vec<Text>,
}

/// A managed node group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupFacts {
    /// Kubernetes version.
    pub version: Option<Minor>,
    /// Kind of machine image, such as `AL2023_x86_64_STANDARD`; `CUSTOM` where the launch template names one.
    pub image: Option<Text>,
    /// `ACTIVE`, `DEGRADED`, …
    pub status: Option<Text>,
    /// Labels that its nodes are given.
    pub labels: Vec<Text>,
}

/// A version of an add-on that EKS offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offered {
    /// The version.
    pub version: AddonVersion,
    /// Versions of the control plane with which it goes, and whether it is the default there; sorted.
    pub goes_with: BTreeMap<Minor, IsDefault>,
}

/// Whether a version is the one that EKS installs where nobody names one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IsDefault {
    /// It is.
    Default,
    /// It is not.
    Other,
}

/// An upgrade insight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Insight {
    /// Name.
    pub name: Text,
    /// The version that it is about.
    pub version: Minor,
    /// `PASSING`, `WARNING`, `ERROR` or `UNKNOWN`.
    pub status: Text,
    /// Why.
    pub reason: Text,
}

/// A file that cannot be taken in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FactsError {
    /// None of the answers that are known.
    #[error(
        "expected the JSON output of `aws eks describe-cluster`, describe-nodegroup, describe-addon, list-addons, describe-addon-versions, \
         list-insights, describe-update or `aws ec2 describe-subnets`, or a list of such outputs"
    )]
    Unknown,
    /// Something is missing.
    #[error("{of}: {member} is missing, or not {expected}")]
    Member {
        /// Of what.
        of: String,
        /// The member.
        member: &'static str,
        /// What it should be.
        expected: &'static str,
    },
    /// Two clusters.
    #[error("the files describe two clusters, {first} and {second}")]
    TwoClusters {
        /// The first.
        first: Text,
        /// Another one.
        second: Text,
    },
}

const A_VERSION: &str = "a version such as \"1.33\"";
const AN_ADDON_VERSION: &str = "a version such as \"v1.19.2-eksbuild.1\"";
const A_TEXT: &str = "a string";

impl Facts {
    /// Takes in an answer, or a list of answers.
    ///
    /// # Errors
    /// Names the first thing that cannot be read; what came before it is taken in.
    pub fn read(&mut self, value: &Value) -> Result<(), FactsError> {
        if let Some(all) = value.as_array() {
            return all.iter().try_for_each(|one| self.read(one));
        }
        let mut known = false;
        type Reader = fn(&mut Facts, &Value) -> Result<(), FactsError>;
        let readers: [(&str, Reader); 7] = [
            ("cluster", Self::cluster),
            ("nodegroup", Self::nodegroup),
            ("addon", Self::addon),
            ("addons", Self::addons),
            ("insights", Self::insights),
            ("update", Self::update),
            ("Subnets", Self::subnets),
        ];
        for (member, reader) in readers {
            if let Some(inside) = value.get(member) {
                known = true;
                reader(self, inside)?;
            }
        }
        if known { Ok(()) } else { Err(FactsError::Unknown) }
    }

    fn cluster(&mut self, value: &Value) -> Result<(), FactsError> {
        let name = text(value, "cluster", "name")?;
        if let Some(first) = self.cluster.as_ref().filter(|known| known.name != name) {
            return Err(FactsError::TwoClusters { first: first.name.clone(), second: name });
        }
        let of = format!("cluster {name}");
        let subnets = value["resourcesVpcConfig"]["subnetIds"].as_array();
        let subnets = subnets.into_iter().flatten().filter_map(Value::as_str).map(Text::from).collect();
        self.cluster = Some(ClusterFacts {
            version: minor(value, &of, "version")?,
            name,
            status: value["status"].as_str().map(Text::from),
            support: value["upgradePolicy"]["supportType"].as_str().map(Text::from),
            subnets,
        });
        Ok(())
    }

    fn nodegroup(&mut self, value: &Value) -> Result<(), FactsError> {
        let name = text(value, "nodegroup", "nodegroupName")?;
        let labels = value["labels"].as_object();
        let facts = GroupFacts {
            // Of a group with an image of one's own EKS tells no version.
            version: value["version"].as_str().and_then(Minor::of),
            image: value["amiType"].as_str().map(Text::from),
            status: value["status"].as_str().map(Text::from),
            labels: labels.into_iter().flatten().map(|(key, _)| Text::from(key.as_str())).collect(),
        };
        self.groups.insert(name, facts);
        Ok(())
    }

    fn addon(&mut self, value: &Value) -> Result<(), FactsError> {
        let name = text(value, "addon", "addonName")?;
        let version = addon_version(value, &format!("add-on {name}"))?;
        self.addons.insert(name, Some(version));
        Ok(())
    }

    /// Names, as `list-addons` prints them, or what `describe-addon-versions` prints.
    fn addons(&mut self, value: &Value) -> Result<(), FactsError> {
        for one in value.as_array().into_iter().flatten() {
            match one.as_str() {
                Some(name) => {
                    self.addons.entry(Text::from(name)).or_insert(None);
                }
                None => self.offer(one)?,
            }
        }
        Ok(())
    }

    fn offer(&mut self, value: &Value) -> Result<(), FactsError> {
        let name = text(value, "add-on", "addonName")?;
        for one in value["addonVersions"].as_array().into_iter().flatten() {
            let version = addon_version(one, &format!("add-on {name}"))?;
            let mut goes_with = BTreeMap::new();
            for compatible in one["compatibilities"].as_array().into_iter().flatten() {
                let with = minor(compatible, &format!("add-on {name} {version}"), "clusterVersion")?;
                let is_default =
                    if compatible["defaultVersion"] == true { IsDefault::Default } else { IsDefault::Other };
                goes_with.insert(with, is_default);
            }
            let known = self.offered.entry(name.clone()).or_default();
            // Files that were made for one version each say part of it.
            match known.iter_mut().find(|offered| offered.version == version) {
                Some(offered) => offered.goes_with.extend(goes_with),
                None => known.push(Offered { version, goes_with }),
            }
        }
        Ok(())
    }

    fn insights(&mut self, value: &Value) -> Result<(), FactsError> {
        for one in value.as_array().into_iter().flatten() {
            let name = text(one, "insight", "name")?;
            // Those about the present configuration have no version.
            let Some(version) = one["kubernetesVersion"].as_str().and_then(Minor::of) else { continue };
            let status = &one["insightStatus"];
            self.insights.push(Insight {
                status: text(status, &format!("insight {name}"), "status")?,
                reason: Text::from(status["reason"].as_str().unwrap_or_default()),
                name,
                version,
            });
        }
        Ok(())
    }

    fn update(&mut self, value: &Value) -> Result<(), FactsError> {
        if value["type"] != "VersionUpdate"
            || value["status"] != "Successful"
            || !value["nodegroupName"].is_null()
        {
            return Ok(());
        }
        let at = match &value["createdAt"] {
            Value::String(text) => text.parse().ok(),
            Value::Number(seconds) => {
                seconds.as_i64().map(|seconds| Time::from_millis(seconds.saturating_mul(1_000)))
            }
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        };
        self.upgraded = self.upgraded.max(at);
        Ok(())
    }

    fn subnets(&mut self, value: &Value) -> Result<(), FactsError> {
        for one in value.as_array().into_iter().flatten() {
            let id = text(one, "subnet", "SubnetId")?;
            let free = one["AvailableIpAddressCount"].as_u64().ok_or_else(|| FactsError::Member {
                of: format!("subnet {id}"),
                member: "AvailableIpAddressCount",
                expected: "a number",
            })?;
            self.subnets.insert(id, free);
        }
        Ok(())
    }
}

fn text(value: &Value, of: &str, member: &'static str) -> Result<Text, FactsError> {
    let found = value[member].as_str().map(Text::from);
    found.ok_or_else(|| FactsError::Member { of: of.to_owned(), member, expected: A_TEXT })
}

fn minor(value: &Value, of: &str, member: &'static str) -> Result<Minor, FactsError> {
    let found = value[member].as_str().and_then(Minor::of);
    found.ok_or_else(|| FactsError::Member { of: of.to_owned(), member, expected: A_VERSION })
}

fn addon_version(value: &Value, of: &str) -> Result<AddonVersion, FactsError> {
    let found = value["addonVersion"].as_str().and_then(AddonVersion::of);
    found.ok_or_else(|| FactsError::Member {
        of: of.to_owned(),
        member: "addonVersion",
        expected: AN_ADDON_VERSION,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn answers_are_put_together() {
        let mut facts = Facts::default();
        facts
            .read(&json!([
                {"cluster": {"name": "prod", "version": "1.33", "status": "ACTIVE", "upgradePolicy": {"supportType": "EXTENDED"},
                    "resourcesVpcConfig": {"subnetIds": ["subnet-a", "subnet-b"]}}},
                {"nodegroup": {"nodegroupName": "web", "version": "1.31", "amiType": "AL2_x86_64", "status": "ACTIVE", "labels": {"kubernetes.io/role": "web"}}},
                {"nodegroup": {"nodegroupName": "own", "amiType": "CUSTOM"}},
                {"addons": ["coredns", "vpc-cni"]},
                {"addon": {"addonName": "vpc-cni", "addonVersion": "v1.18.3-eksbuild.2"}},
                {"addons": [{"addonName": "vpc-cni", "addonVersions": [{"addonVersion": "v1.19.2-eksbuild.1",
                    "compatibilities": [{"clusterVersion": "1.34", "defaultVersion": true}, {"clusterVersion": "1.33", "defaultVersion": false}]}]}]},
                {"addons": [{"addonName": "vpc-cni", "addonVersions": [{"addonVersion": "v1.19.2-eksbuild.1",
                    "compatibilities": [{"clusterVersion": "1.35", "defaultVersion": false}]}]}]},
                {"insights": [{"name": "Deprecated APIs removed in 1.34", "kubernetesVersion": "1.34", "insightStatus": {"status": "ERROR", "reason": "in use"}},
                    {"name": "Cluster health", "insightStatus": {"status": "PASSING"}}]},
                {"update": {"type": "VersionUpdate", "status": "Successful", "createdAt": "2026-11-18T10:00:00+00:00"}},
                {"update": {"type": "VersionUpdate", "status": "Failed", "createdAt": "2026-11-19T10:00:00Z"}},
                {"Subnets": [{"SubnetId": "subnet-a", "AvailableIpAddressCount": 3}]},
            ]))
            .expect("all are answers of AWS");
        let cluster = facts.cluster.clone().unwrap();
        assert_eq!((&*cluster.name, cluster.version, cluster.subnets.len()), ("prod", Minor(33), 2));
        assert_eq!(facts.groups["web"].version, Some(Minor(31)));
        assert_eq!(facts.groups["web"].labels, [Text::from("kubernetes.io/role")]);
        assert_eq!(facts.groups["own"].version, None);
        assert_eq!(facts.addons["coredns"], None, "its version was not told");
        assert_eq!(facts.addons["vpc-cni"].as_ref().unwrap().to_string(), "v1.18.3-eksbuild.2");
        let offered = &facts.offered["vpc-cni"];
        assert_eq!(offered.len(), 1, "what several files say of one version is put together");
        assert_eq!(offered[0].goes_with.keys().copied().collect::<Vec<_>>(), [33, 34, 35].map(Minor));
        assert_eq!(offered[0].goes_with[&Minor(34)], IsDefault::Default);
        assert_eq!(facts.insights.len(), 1, "one about no version is not of the upgrade");
        assert_eq!(facts.upgraded, "2026-11-18T10:00:00Z".parse().ok());
        assert_eq!(facts.subnets["subnet-a"], 3);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let wrong = |value: Value| Facts::default().read(&value).unwrap_err().to_string();
        assert!(
            wrong(json!({"clusters": ["prod"]}))
                .starts_with("expected the JSON output of `aws eks describe-cluster`")
        );
        assert_eq!(
            wrong(json!({"cluster": {"name": "prod"}})),
            "cluster prod: version is missing, or not a version such as \"1.33\""
        );
        assert_eq!(
            wrong(json!({"addon": {"addonName": "vpc-cni", "addonVersion": "newest"}})),
            "add-on vpc-cni: addonVersion is missing, or not a version such as \"v1.19.2-eksbuild.1\""
        );
        assert_eq!(
            wrong(
                json!([{"cluster": {"name": "a", "version": "1.33"}}, {"cluster": {"name": "b", "version": "1.33"}}])
            ),
            "the files describe two clusters, a and b"
        );
    }
}
