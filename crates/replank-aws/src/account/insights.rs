//! Insights of EKS: what it finds before an upgrade. Of its checks those are here that follow from versions of nodes and add-ons.

use replank_model::time::Time;
use serde_json::{Value, json};

use super::eks::invalid;
use super::own::Account;
use crate::call::Reply;
use crate::fault::Fault;
use crate::image::{VERSIONS, minor_of};
use crate::input::Input;
use crate::page::page;
use crate::region::Region;
use crate::text::{epoch, uuid};

/// A tag of the cluster with which an insight of some status is played: `ERROR`, `WARNING`, `UNKNOWN`.
const INSIGHT: &str = "replank.dev/insight";

impl Account {
    fn insights(&self, region: &dyn Region) -> Vec<Value> {
        let now = region.now();
        let at = VERSIONS.iter().position(|(known, _)| *known == self.eks.version);
        let next = at
            .and_then(|at| VERSIONS.get(at + 1))
            .map_or_else(|| self.eks.version.clone(), |(version, _)| (*version).to_owned());
        let minor = |version: &str| {
            minor_of(version).split('.').nth(1).and_then(|minor| minor.parse::<u32>().ok()).unwrap_or(0)
        };
        let groups = region.groups();
        let of = |behind: u32| -> Vec<String> {
            let far = groups
                .iter()
                .filter(|group| minor(&next) >= minor(&group.profile().kubelet_version) + behind);
            far.map(|group| group.name.to_string()).collect()
        };
        let (failing, close) = (of(4), of(3));
        let status = if !failing.is_empty() {
            "ERROR"
        } else if !close.is_empty() {
            "WARNING"
        } else {
            "PASSING"
        };
        let kubelets = insight(
            "Kubelet version skew",
            &next,
            now,
            status,
            &format!("Checks that nodes are at most three minor versions behind {next}."),
            &close,
        );
        let (newest, unfit) = (next == self.eks.version, self.unfit_addons(&next));
        let unfit: Vec<String> = match newest {
            true => Vec::new(),
            false => unfit.iter().map(|(name, version)| format!("{name} {version}")).collect(),
        };
        let addons = insight(
            "EKS add-on version compatibility",
            &next,
            now,
            if unfit.is_empty() { "PASSING" } else { "WARNING" },
            "Checks that installed add-ons have a version for the next Kubernetes version.",
            &unfit,
        );
        let newer: Vec<String> = groups
            .iter()
            .filter(|group| minor(&group.profile().kubelet_version) >= minor(&self.eks.version))
            .map(|group| group.name.to_string())
            .collect();
        let mut all = vec![kubelets, addons];
        let tags = self.eks.tags.get(&self.names.cluster_arn());
        if let Some(status) =
            tags.and_then(|tags| tags.get(INSIGHT)).filter(|status| !newest && *status != "PASSING")
        {
            let name = format!("Deprecated APIs removed in Kubernetes v{next}");
            all.push(insight(
                &name,
                &next,
                now,
                status,
                "Checks for API usage that stops with the next version.",
                &["/apis/example.com/v1beta1/widgets".to_owned()],
            ));
        }
        if self.upgraded_from(now).is_some() {
            let before = format!("1.{}", minor(&self.eks.version).saturating_sub(1));
            let status = if newer.is_empty() { "PASSING" } else { "ERROR" };
            let mut back = insight(
                "Kubelet version skew",
                &before,
                now,
                status,
                "Checks that no node is newer than the version to go back to.",
                &newer,
            );
            back["category"] = json!("ROLLBACK_READINESS");
            back["id"] = json!(uuid(&format!("rollback {before}")));
            back["recommendation"] = json!("Roll the node groups back before the control plane.");
            all.push(back);
        }
        all
    }

    pub(crate) fn list_insights(&mut self, region: &dyn Region, input: Input<'_>) -> Reply {
        let filter = input.inner("filter");
        let (statuses, versions, categories) =
            (filter.texts("statuses"), filter.texts("kubernetesVersions"), filter.texts("categories"));
        let any = |asked: &[String], value: &Value| {
            asked.is_empty() || asked.iter().any(|one| value == one.as_str())
        };
        let found = self.insights(region).into_iter().filter(|one| {
            any(&statuses, &one["insightStatus"]["status"])
                && any(&versions, &one["kubernetesVersion"])
                && any(&categories, &one["category"])
        });
        let short: Vec<Value> = found
            .map(|mut one| {
                for member in ["recommendation", "resources", "additionalInfo"] {
                    one.as_object_mut().and_then(|members| members.remove(member));
                }
                one
            })
            .collect();
        let size = usize::try_from(input.number("maxResults")?.unwrap_or(100).clamp(1, 100)).unwrap_or(100);
        let short = short.into_iter().map(|one| (one["id"].to_string(), one)).collect();
        let (insights, next) = page(short, size, input.text("nextToken"), &invalid("Invalid nextToken"))?;
        Ok(json!({"insights": insights, "nextToken": next}))
    }

    pub(crate) fn describe_insight(&mut self, region: &dyn Region, input: Input<'_>) -> Reply {
        let id = input.text("id").unwrap_or_default();
        let found = self.insights(region).into_iter().find(|one| one["id"] == *id);
        found.map(|insight| json!({"insight": insight})).ok_or_else(|| {
            Fault::new(404, "ResourceNotFoundException", format!("No insight found with id: {id}"))
        })
    }
}

fn insight(
    name: &str,
    version: &str,
    now: Time,
    status: &str,
    description: &str,
    groups: &[String],
) -> Value {
    let reason = match status {
        "PASSING" => "Nothing was found.".to_owned(),
        _ => format!("It is about {}.", groups.join(", ")),
    };
    let resources: Vec<Value> = groups
        .iter()
        .map(|group| json!({"insightStatus": {"status": status, "reason": description}, "arn": group}))
        .collect();
    json!({"id": uuid(&format!("{name} {version}")), "name": name, "category": "UPGRADE_READINESS", "kubernetesVersion": version,
        "lastRefreshTime": epoch(now), "lastTransitionTime": epoch(now), "description": description,
        "insightStatus": {"status": status, "reason": reason}, "recommendation": "Update what it names before the control plane.", "additionalInfo": {}, "resources": resources})
}
