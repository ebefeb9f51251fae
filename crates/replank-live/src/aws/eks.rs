//! The cluster in EKS: what it says of the control plane and the add-ons, and their updates.
//!
//! Answers are as the CLI prints them: whoever plans an upgrade from files reads the same.

use http::Method;
use replank_model::time::Time;
use serde_json::{Value, json};

use super::account::Aws;
use super::answer::{list, structure, taken, text};
use super::client::Manner;
use super::error::AwsError;
use super::service::Service;
use super::sign::escaped;

/// Pages at the most.
const PAGES_MAX: usize = 200;
/// How often a request with a token is sent where no answer comes: the token makes it one.
const SENT_MAX: usize = 3;

/// What an update is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateOf<'n> {
    /// The control plane.
    Cluster,
    /// An add-on.
    Addon(&'n str),
    /// A managed node group.
    Nodegroup(&'n str),
}

impl UpdateOf<'_> {
    fn query(self) -> String {
        match self {
            Self::Cluster => String::new(),
            Self::Addon(name) => format!("addonName={}", escaped(name)),
            Self::Nodegroup(name) => format!("nodegroupName={}", escaped(name)),
        }
    }
}

/// How far an update is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It goes on. A word that is newer than this counts as that: nothing is begun beside it.
    InProgress,
    /// It has come to its end.
    Successful,
    /// It has failed.
    Failed,
    /// It was cancelled.
    Cancelled,
}

/// What EKS says of why an update failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EksError {
    /// Its code, such as `ConfigurationConflict`.
    pub code: String,
    /// Its words.
    pub message: String,
    /// What it is about.
    pub resources: Vec<String>,
}

/// An update of EKS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EksUpdate {
    /// Its id.
    pub id: String,
    /// `VersionUpdate`, `AddonUpdate` and so on.
    pub kind: String,
    /// How far it is.
    pub progress: Progress,
    /// When it was asked for.
    pub created: Option<Time>,
    /// What it changes, by type.
    pub params: Vec<(String, String)>,
    /// Why it failed.
    pub errors: Vec<EksError>,
}

impl EksUpdate {
    pub(super) fn read(value: &Value) -> Self {
        let own = |member: &str| text(value, member).unwrap_or_default().to_owned();
        let params = list(&value["params"]).iter().map(|one| {
            let of = |member: &str| text(one, member).unwrap_or_default().to_owned();
            (of("type"), of("value"))
        });
        let errors = list(&value["errors"]).iter().map(|one| EksError {
            code: text(one, "errorCode").unwrap_or("Unknown").to_owned(),
            message: text(one, "errorMessage").unwrap_or_default().to_owned(),
            resources: list(&one["resourceIds"])
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
        });
        Self {
            id: own("id"),
            kind: own("type"),
            progress: match text(value, "status").unwrap_or_default() {
                "Successful" => Progress::Successful,
                "Failed" => Progress::Failed,
                "Cancelled" => Progress::Cancelled,
                _ => Progress::InProgress,
            },
            created: moment(&value["createdAt"]),
            params: params.collect(),
            errors: errors.collect(),
        }
    }

    /// What it changes of a type.
    #[must_use]
    pub fn param(&self, kind: &str) -> Option<&str> {
        self.params.iter().find(|(own, _)| own == kind).map(|(_, value)| &**value)
    }
}

/// Seconds since 1970 in the API's answers, RFC 3339 in the CLI's.
pub(super) fn moment(at: &Value) -> Option<Time> {
    let seconds = at.as_f64().map(|seconds| Time::from_millis((seconds * 1_000.0) as i64));
    seconds.or_else(|| at.as_str().and_then(|text| text.parse().ok()))
}

/// A write of EKS that may be sent again: whether it may still be is asked before each attempt.
#[derive(Clone, Copy)]
pub struct Write<'w> {
    /// The client request token: the same request, however often it is sent.
    pub token: &'w str,
    /// Whether it may still be sent.
    pub is_in_time: &'w (dyn Fn() -> bool + Sync),
}

impl std::fmt::Debug for Write<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Write").field("token", &self.token).finish_non_exhaustive()
    }
}

fn of(cluster: &str) -> String {
    format!("/clusters/{}", escaped(cluster))
}

impl Aws {
    async fn read_eks(&self, action: &str, path: &str, query: &str) -> Result<Value, AwsError> {
        self.caller.eks(action, (Method::GET, path, query), None, Manner::Read).await
    }

    /// All pages of a list of EKS.
    pub(super) async fn pages_of(
        &self,
        action: &str,
        (path, query): (&str, &str),
        items: &str,
    ) -> Result<Vec<Value>, AwsError> {
        let (mut all, mut token) = (Vec::new(), String::new());
        for _ in 0..PAGES_MAX {
            let own = if token.is_empty() { String::new() } else { format!("nextToken={}", escaped(&token)) };
            // Sorted, as a signature has them.
            let mut parts: Vec<&str> =
                own.split('&').chain(query.split('&')).filter(|one| !one.is_empty()).collect();
            parts.sort_unstable();
            let mut answer = self.read_eks(action, path, &parts.join("&")).await?;
            all.extend(taken(&mut answer, (Service::Eks, action), items)?);
            let Some(next) = text(&answer, "nextToken") else { return Ok(all) };
            next.clone_into(&mut token);
        }
        Err(endless(action))
    }

    /// All pages of a list of names of EKS.
    pub(super) async fn names_of(
        &self,
        action: &str,
        call: (&str, &str),
        items: &str,
    ) -> Result<Vec<String>, AwsError> {
        let all = self.pages_of(action, call, items).await?;
        let names = all.iter().map(|one| one.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>();
        names.ok_or_else(|| unreadable(action, format!("{items} is no list of names")))
    }

    /// The names of the clusters of the account and region.
    ///
    /// # Errors
    /// Where they cannot be listed.
    pub async fn clusters(&self) -> Result<Vec<String>, AwsError> {
        self.names_of("ListClusters", ("/clusters", ""), "clusters").await
    }

    /// DescribeCluster.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub async fn cluster(&self, cluster: &str) -> Result<Value, AwsError> {
        let answer = self.read_eks("DescribeCluster", &of(cluster), "").await?;
        Ok(json!({"cluster": structure(answer, "DescribeCluster", "cluster")?}))
    }

    /// DescribeClusterVersions: every version that EKS offers.
    ///
    /// # Errors
    /// Where they cannot be listed.
    pub async fn cluster_versions(&self) -> Result<Value, AwsError> {
        let call = ("/cluster-versions", "includeAll=true");
        let all = self.pages_of("DescribeClusterVersions", call, "clusterVersions").await?;
        Ok(json!({ "clusterVersions": all }))
    }

    /// ListInsights of a cluster, in one list.
    ///
    /// # Errors
    /// Where they cannot be listed.
    pub async fn insights(&self, cluster: &str) -> Result<Value, AwsError> {
        let path = format!("{}/insights", of(cluster));
        let (mut all, mut body) = (Vec::new(), json!({}));
        for _ in 0..PAGES_MAX {
            let call = (Method::POST, &*path, "");
            let mut answer = self.caller.eks("ListInsights", call, Some(&body), Manner::Read).await?;
            all.extend(taken(&mut answer, (Service::Eks, "ListInsights"), "insights")?);
            let Some(next) = text(&answer, "nextToken") else { return Ok(json!({ "insights": all })) };
            body = json!({ "nextToken": next });
        }
        Err(endless("ListInsights"))
    }

    /// DescribeInsight.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub async fn insight(&self, cluster: &str, id: &str) -> Result<Value, AwsError> {
        let path = format!("{}/insights/{}", of(cluster), escaped(id));
        structure(self.read_eks("DescribeInsight", &path, "").await?, "DescribeInsight", "insight")
    }

    /// The names of the add-ons that a cluster has from EKS.
    ///
    /// # Errors
    /// Where they cannot be listed.
    pub async fn addons(&self, cluster: &str) -> Result<Vec<String>, AwsError> {
        let path = format!("{}/addons", of(cluster));
        self.names_of("ListAddons", (&path, ""), "addons").await
    }

    /// DescribeAddon; `None` where the cluster does not have it.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub async fn addon(&self, cluster: &str, name: &str) -> Result<Option<Value>, AwsError> {
        let path = format!("{}/addons/{}", of(cluster), escaped(name));
        match self.read_eks("DescribeAddon", &path, "").await {
            Ok(answer) => Ok(Some(json!({"addon": structure(answer, "DescribeAddon", "addon")?}))),
            Err(AwsError::Refused { code, .. }) if code == "ResourceNotFoundException" => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// DescribeAddonVersions of one add-on, for every version of Kubernetes.
    ///
    /// # Errors
    /// Where they cannot be listed.
    pub async fn addon_versions(&self, name: &str) -> Result<Value, AwsError> {
        let query = format!("addonName={}", escaped(name));
        let call = ("/addons/supported-versions", &*query);
        Ok(json!({"addons": self.pages_of("DescribeAddonVersions", call, "addons").await?}))
    }

    /// The names of a cluster's managed node groups.
    ///
    /// # Errors
    /// Where they cannot be listed.
    pub async fn nodegroups(&self, cluster: &str) -> Result<Vec<String>, AwsError> {
        let path = format!("{}/node-groups", of(cluster));
        self.names_of("ListNodegroups", (&path, ""), "nodegroups").await
    }

    /// DescribeNodegroup.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub async fn described_nodegroup(&self, cluster: &str, name: &str) -> Result<Value, AwsError> {
        Ok(json!({"nodegroup": self.nodegroup(cluster, name).await?}))
    }

    /// Every update of something that EKS still knows, the newest first.
    ///
    /// # Errors
    /// Where they cannot be read.
    pub async fn updates(&self, cluster: &str, about: UpdateOf<'_>) -> Result<Vec<EksUpdate>, AwsError> {
        let (path, query) = (format!("{}/updates", of(cluster)), about.query());
        let ids = self.names_of("ListUpdates", (&path, &query), "updateIds").await?;
        let mut all = Vec::new();
        for id in ids {
            all.push(self.update(cluster, &id, about).await?);
        }
        all.sort_by_key(|update| std::cmp::Reverse(update.created));
        Ok(all)
    }

    /// DescribeUpdate.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub async fn update(&self, cluster: &str, id: &str, about: UpdateOf<'_>) -> Result<EksUpdate, AwsError> {
        let path = format!("{}/updates/{}", of(cluster), escaped(id));
        let answer = self.read_eks("DescribeUpdate", &path, &about.query()).await?;
        Ok(EksUpdate::read(&structure(answer, "DescribeUpdate", "update")?))
    }

    /// UpdateClusterVersion: to the next minor version, or back to the one before. With `force` although insights report errors.
    ///
    /// # Errors
    /// Where EKS refuses it, or no answer comes.
    pub async fn update_cluster_version(
        &self,
        cluster: &str,
        (version, force): (&str, bool),
        write: Write<'_>,
    ) -> Result<EksUpdate, AwsError> {
        let path = format!("{}/updates", of(cluster));
        let mut body = json!({ "version": version });
        if force {
            body["force"] = true.into();
        }
        self.write_update("UpdateClusterVersion", &path, body, write).await
    }

    /// UpdateAddon: to a version, with what is done about fields that somebody has changed (`NONE`, `OVERWRITE`, `PRESERVE`).
    ///
    /// # Errors
    /// Where EKS refuses it, or no answer comes.
    pub async fn update_addon(
        &self,
        cluster: &str,
        (name, version): (&str, &str),
        conflicts: &str,
        write: Write<'_>,
    ) -> Result<EksUpdate, AwsError> {
        let path = format!("{}/addons/{}/update", of(cluster), escaped(name));
        let body = json!({"addonVersion": version, "resolveConflicts": conflicts});
        self.write_update("UpdateAddon", &path, body, write).await
    }

    async fn write_update(
        &self,
        action: &str,
        path: &str,
        body: Value,
        write: Write<'_>,
    ) -> Result<EksUpdate, AwsError> {
        Ok(EksUpdate::read(&self.write_once(action, path, body, write).await?["update"]))
    }

    /// Sent again where no answer comes: the token makes it one request.
    pub(super) async fn write_once(
        &self,
        action: &str,
        path: &str,
        mut body: Value,
        write: Write<'_>,
    ) -> Result<Value, AwsError> {
        body["clientRequestToken"] = write.token.into();
        let mut sent = 0;
        loop {
            sent += 1;
            let call = (Method::POST, path, "");
            match self.caller.eks(action, call, Some(&body), Manner::Write(write.is_in_time)).await {
                Ok(answer) => return Ok(answer),
                Err(error) if error.is_passing() && sent < SENT_MAX => {
                    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// DescribeSubnets, as the CLI prints it.
    ///
    /// # Errors
    /// Where they cannot be read.
    pub async fn subnets(&self, ids: &[String]) -> Result<Value, AwsError> {
        if ids.is_empty() {
            return Ok(json!({"Subnets": []}));
        }
        let call = (Service::Ec2, "DescribeSubnets");
        let all = self.pages(call, &json!({ "SubnetId": ids }), ("subnetSet", "nextToken")).await?;
        let shown = all.iter().filter_map(|one| {
            let free = &one["availableIpAddressCount"];
            let free = free.as_u64().or_else(|| free.as_str().and_then(|text| text.parse().ok()))?;
            Some(json!({"SubnetId": one["subnetId"], "AvailableIpAddressCount": free}))
        });
        Ok(json!({"Subnets": shown.collect::<Vec<_>>()}))
    }
}

fn endless(action: &str) -> AwsError {
    unreadable(action, format!("it does not end after {PAGES_MAX} pages"))
}

fn unreadable(action: &str, why: String) -> AwsError {
    AwsError::Unreadable { action: format!("eks:{action}"), why }
}

/// A client request token that follows from a text: the same text is the same request.
#[must_use]
pub fn request_token(text: &str) -> String {
    let half = |salt: u64| xxhash_rust::xxh3::xxh3_64_with_seed(text.as_bytes(), salt);
    format!("replank-{:016x}{:016x}", half(0), half(1))
}

#[cfg(test)]
mod tests {
    use super::super::stand_in::StandIn;
    use super::*;

    #[tokio::test]
    async fn a_list_that_eks_does_not_send_is_no_empty_one() {
        let empty =
            StandIn::new(|_, _| json!({"nodegroups": [], "insights": [], "nextToken": null}).to_string());
        let aws = empty.account();
        assert!(aws.nodegroups("shop").await.expect("it is an answer").is_empty());
        assert_eq!(aws.insights("shop").await.expect("it is an answer"), json!({"insights": []}));
        for text in ["{}", "", "[]", "{\"nodegroups\": null, \"insights\": {}}", "<html/>"] {
            let other = StandIn::new(move |_, _| text.to_owned());
            let aws = other.account();
            for (action, error) in [
                ("ListNodegroups", aws.nodegroups("shop").await.expect_err("it is no answer")),
                ("ListInsights", aws.insights("shop").await.expect_err("it is no answer")),
                ("DescribeNodegroup", aws.nodegroup("shop", "web").await.expect_err("it is no answer")),
            ] {
                let expected = format!("eks:{action}: the answer cannot be read: ");
                assert!(error.to_string().starts_with(&expected), "{text}: {error}");
            }
        }
        let other = StandIn::new(|_, _| json!({"nodegroups": [{"name": "web"}]}).to_string());
        let error = other.account().nodegroups("shop").await.expect_err("it has no names").to_string();
        assert_eq!(error, "eks:ListNodegroups: the answer cannot be read: nodegroups is no list of names");
    }

    #[tokio::test]
    async fn pages_that_do_not_end_are_an_error() {
        let endless =
            StandIn::new(|_, _| json!({"nodegroups": [], "insights": [], "nextToken": "more"}).to_string());
        let aws = endless.account();
        for (action, error) in [
            ("ListNodegroups", aws.nodegroups("shop").await.expect_err("it does not end")),
            ("ListInsights", aws.insights("shop").await.expect_err("it does not end")),
        ] {
            let expected =
                format!("eks:{action}: the answer cannot be read: it does not end after {PAGES_MAX} pages");
            assert_eq!(error.to_string(), expected);
        }
        assert_eq!(endless.asked().len(), 2 * PAGES_MAX);
    }
}
