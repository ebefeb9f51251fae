//! What a plan is made of, read from the live cluster and from EKS: the same facts that `upgrade plan` reads from files.

use std::collections::BTreeMap;
use std::path::PathBuf;

use replank_advice::upgrade::addons::CORE;
use replank_advice::upgrade::facts::Facts;
use replank_advice::upgrade::plan::Options;
use replank_facts::coverage::Question;
use replank_facts::group_facts;
use replank_lifecycle::calendar::Calendar;
use replank_lifecycle::release::Release;
use replank_live::aws::{Aws, AwsError, EksUpdate, Progress, UpdateOf};
use replank_model::text::Text;
use replank_rehearse::count_budgets;
use serde_json::{Value, json};

use crate::coverage;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::live::LiveArgs;
use crate::printer::Printer;
use crate::roll::unhealthy;
use crate::snapshot::{self, Cluster, Origin, ReadArgs};
use crate::upgrade::plan::{Making, Planned, Taken, planned};

/// Where a plan's facts are read.
pub(super) struct Eyes<'e> {
    pub(super) runtime: &'e tokio::runtime::Runtime,
    pub(super) aws: &'e Aws,
    pub(super) cluster: &'e str,
    pub(super) live: &'e LiveArgs,
    pub(super) read: &'e ReadArgs,
    pub(super) scan: &'e [PathBuf],
    pub(super) kubelets: BTreeMap<Text, String>,
    pub(super) options: Options,
}

/// A plan, and what EKS says beside it.
pub(super) struct Seen {
    pub(super) planned: Planned,
    /// Insights of EKS about the upgrade, as DescribeInsight has them.
    pub(super) insights: Vec<Value>,
    /// Insights about the way back.
    pub(super) back: Vec<Value>,
    /// Versions that EKS offers.
    pub(super) offered: Vec<String>,
    /// As DescribeCluster has it.
    pub(super) cluster: Value,
    /// What EKS says is wrong with managed node groups.
    pub(super) unhealthy_groups: Vec<String>,
}

impl Seen {
    /// Whether an update of the control plane is in progress.
    pub(super) fn is_updating(&self) -> bool {
        self.cluster["status"] == "UPDATING"
    }
}

/// What EKS says.
struct Told {
    facts: Facts,
    calendar: Calendar,
    insights: Vec<Value>,
    back: Vec<Value>,
    offered: Vec<String>,
    cluster: Value,
    unhealthy_groups: Vec<String>,
}

impl Eyes<'_> {
    /// Looks at everything, and plans.
    pub(super) fn look(
        &self,
        seed: Option<u64>,
        printer: &mut Printer,
        interrupt: &Interrupt,
    ) -> Result<Seen, Failure> {
        let told = self.runtime.block_on(self.told())?;
        let Some(origin) = Origin::of(&[], self.live)? else {
            return Err(
                Failure::usage_message("no live cluster to upgrade").next("pass --context or --kubeconfig")
            );
        };
        let input = origin.read(printer)?;
        let Cluster { mut view, now, older, coverage: seen } =
            snapshot::read_at(input.sources, self.read, None, Question::Roll, printer)?;
        count_budgets(&mut view, now);
        let to = Release::minor(1, self.options.to.0);
        let Told { facts, calendar, insights, back, offered, cluster, unhealthy_groups } = told;
        let taken = Taken {
            name: input.name.clone(),
            view,
            now,
            older,
            coverage: seen.beyond(coverage::data_end(to), &self.read.allowed()),
            label: self.read.group_label.clone(),
            facts,
            kubelets: self.kubelets.clone(),
            calendar,
            options: self.options.clone(),
        };
        let named = input.name.strip_prefix("context ").unwrap_or(&input.name);
        let making = Making {
            manifests: self.scan,
            objects: Some(Origin::Live(self.live)),
            seed,
            snapshots: format!("--context {named}"),
        };
        let planned = planned(&taken, making, printer, interrupt)?;
        Ok(Seen { planned, insights, back, offered, cluster, unhealthy_groups })
    }

    async fn told(&self) -> Result<Told, Failure> {
        let (aws, name) = (self.aws, self.cluster);
        let mut facts = Facts::default();
        let mut take = |value: &Value| {
            facts.read(value).map_err(|error| {
                Failure::internal(anyhow::Error::new(error).context("an answer of EKS cannot be read"))
            })
        };
        let described = described(aws, name).await?;
        take(&described)?;
        let mut unhealthy_groups = Vec::new();
        for group in aws.nodegroups(name).await? {
            let answer = aws.described_nodegroup(name, &group).await?;
            take(&answer)?;
            let told = group_facts::read(&answer).map_err(Failure::internal)?;
            unhealthy_groups.extend(told.iter().flat_map(unhealthy));
        }
        let installed = aws.addons(name).await?;
        take(&json!({ "addons": installed }))?;
        for addon in &installed {
            if let Some(answer) = aws.addon(name, addon).await? {
                take(&answer)?;
            }
        }
        let core = CORE.iter().map(|(name, ..)| (*name).to_owned()).filter(|name| !installed.contains(name));
        for addon in installed.iter().cloned().chain(core) {
            take(&aws.addon_versions(&addon).await?)?;
        }
        let mut insights = aws.insights(name).await?;
        let is_of_upgrade = |one: &Value| one["category"] != "ROLLBACK_READINESS";
        let mut back = Vec::new();
        for one in insights["insights"].as_array().into_iter().flatten().filter(|one| !is_of_upgrade(one)) {
            if let Some(id) = one["id"].as_str() {
                back.push(aws.insight(name, id).await?);
            }
        }
        if let Some(all) = insights["insights"].as_array_mut() {
            all.retain(is_of_upgrade);
        }
        take(&insights)?;
        let mut detailed = Vec::new();
        for one in insights["insights"].as_array().into_iter().flatten() {
            let is_passing = one["insightStatus"]["status"] == "PASSING";
            match one["id"].as_str().filter(|_| !is_passing) {
                Some(id) => detailed.push(aws.insight(name, id).await?),
                None => detailed.push(one.clone()),
            }
        }
        let version = described["cluster"]["version"].as_str().unwrap_or_default();
        let updates = aws.updates(name, UpdateOf::Cluster).await?;
        // The last change of the version: after a rollback there is no way back.
        let is_of_version = |update: &&EksUpdate| {
            update.progress == Progress::Successful && update.kind.starts_with("Version")
        };
        let last = updates.iter().find(is_of_version);
        if let Some(update) = last.filter(|update| update.param("Version").is_none_or(|to| to == version)) {
            take(&as_described(update))?;
        }
        let subnets =
            described["cluster"]["resourcesVpcConfig"]["subnetIds"].as_array().into_iter().flatten();
        let subnets: Vec<String> = subnets.filter_map(Value::as_str).map(str::to_owned).collect();
        take(&aws.subnets(&subnets).await?)?;
        let versions = aws.cluster_versions().await?;
        let mut calendar = Calendar::embedded();
        calendar.overlay(&versions.to_string()).map_err(|error| {
            Failure::internal(anyhow::Error::new(error).context("the versions of EKS cannot be read"))
        })?;
        let offered = versions["clusterVersions"].as_array().into_iter().flatten();
        let offered = offered.filter_map(|one| one["clusterVersion"].as_str()).map(str::to_owned).collect();
        let cluster = described["cluster"].clone();
        Ok(Told { facts, calendar, insights: detailed, back, offered, cluster, unhealthy_groups })
    }
}

/// DescribeCluster; where EKS does not know it, the failure names those that it knows.
pub(super) async fn described(aws: &Aws, name: &str) -> Result<Value, Failure> {
    let error = match aws.cluster(name).await {
        Ok(answer) => return Ok(answer),
        Err(error) => error,
    };
    let is_unknown = matches!(&error, AwsError::Refused { code, .. } if code == "ResourceNotFoundException");
    if !is_unknown {
        return Err(error.into());
    }
    let next = match aws.clusters().await {
        Ok(known) if known.is_empty() => "check the account and the region: --profile, --region".to_owned(),
        Ok(known) => format!("it has: {}; pass one: --cluster NAME", known.join(", ")),
        Err(_) => "check the name: aws eks list-clusters".to_owned(),
    };
    Err(Failure {
        exit: Exit::Usage,
        ..Failure::usage_message(format!(
            "EKS knows no cluster {name} in account {} and region {}",
            aws.account(),
            aws.region()
        ))
    }
    .next(next))
}

/// As DescribeUpdate has it, as far as a plan reads it.
fn as_described(update: &EksUpdate) -> Value {
    let status = match update.progress {
        Progress::InProgress => "InProgress",
        Progress::Successful => "Successful",
        Progress::Failed => "Failed",
        Progress::Cancelled => "Cancelled",
    };
    json!({"update": {"type": update.kind, "status": status, "createdAt": update.created.map(|at| at.to_string())}})
}
