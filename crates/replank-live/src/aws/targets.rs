//! Target groups of load balancers: their deregistration delays, and the health of the instances in them (Elastic Load Balancing, API version 2015-12-01).
//!
//! Asked where a group that is decided on has target groups, and nowhere else: who has none needs no permission. Classic Load Balancers have another API, which is not
//! asked. What a target group is changes seldom, and is asked once a minute; health at most every few seconds, since looks follow each other closely after changes. A
//! target group that is not there any more, or whose targets are no instances, is none of the group's.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use replank_model::object::cloud::{Instance, NodeGroup, Registrar, Target, TargetGroup, TargetHealth};
use replank_model::text::{InstanceId, Text};
use replank_model::time::Span;
use serde_json::{Value, json};

use super::account::Aws;
use super::answer::{list, taken, text};
use super::balanced::{Kept, Known, Settings};
use super::client::Manner;
use super::error::AwsError;
use super::service::Service;
use crate::cloud::{Observed, Pending};

/// Names in a call: as many as Elastic Load Balancing takes of load balancers.
const NAMES_MAX: usize = 20;
/// Pages at the most.
const PAGES_MAX: usize = 1_000;
/// For how long a target group is taken to be what it was.
const SETTINGS_LAST: Duration = Duration::from_secs(60);
/// The same for the health of its targets: less than from one look to the next where nothing happens.
const HEALTH_LASTS: Duration = Duration::from_secs(4);
/// How long a target drains.
const DELAY: &str = "deregistration_delay.timeout_seconds";

/// Who answers for Elastic Load Balancing.
pub(super) trait Balancing: Sync {
    /// A call that only reads.
    fn elb(&self, action: &'static str, params: Value) -> Pending<'_, Result<Value, AwsError>>;
}

impl Balancing for Aws {
    fn elb(&self, action: &'static str, params: Value) -> Pending<'_, Result<Value, AwsError>> {
        Box::pin(async move { self.caller.query((Service::Elb, action), &params, Manner::Read).await })
    }
}

impl Aws {
    /// Gives groups and instances what Elastic Load Balancing says of them now, or an error.
    ///
    /// # Errors
    /// Where not everything can be read.
    pub async fn learn_targets(&self, observed: &mut Observed) -> Result<(), AwsError> {
        let (own, region) = (self.account.as_str(), self.region());
        let is_own = |named: &Text| is_within(named, own, region);
        let is_discovered = |group: &NodeGroup| self.is_discovered(&group.auto_scaling_group);
        let wanted: BTreeSet<Text> = observed
            .groups
            .iter()
            .filter(|group| !is_discovered(group))
            .flat_map(|group| group.target_groups.iter().map(|one| one.arn.clone()))
            .filter(is_own)
            .collect();
        let known = self.state().target_groups.clone();
        let known = looked(self, &wanted, known, Instant::now()).await?;
        self.state().target_groups.clone_from(&known);
        for group in observed.groups.iter_mut().filter(|group| !is_discovered(group)) {
            settle(group, &known);
        }
        for instance in observed.instances.values_mut() {
            instance.targets = of_instance(instance, &known);
        }
        Ok(())
    }
}

/// Whether a target group can be asked for here: it is named, or its ARN is of this account and region. Controllers can keep others' target groups.
fn is_within(named: &str, account: &str, region: &str) -> bool {
    let mut parts = named.split(':');
    let (Some("arn"), of_region, of_account) = (parts.next(), parts.nth(2), parts.next()) else {
        return true;
    };
    (of_region, of_account) == (Some(region), Some(account))
}

/// Target groups as they are now; those that are not wanted are forgotten.
async fn looked(
    balancing: &impl Balancing,
    wanted: &BTreeSet<Text>,
    mut known: Known,
    now: Instant,
) -> Result<Known, AwsError> {
    known.retain(|named, _| wanted.contains(named));
    let is_old = |at: Instant, lasts: Duration| now.saturating_duration_since(at) >= lasts;
    let is_asked = |named: &&Text| known.get(*named).is_none_or(|kept| is_old(kept.asked, SETTINGS_LAST));
    let asked: Vec<Text> = wanted.iter().filter(is_asked).cloned().collect();
    let mut settings = described(balancing, &asked).await?;
    for named in asked {
        let settings = settings.remove(&named);
        let kept = known.entry(named).or_insert_with(|| Kept {
            asked: now,
            settings: None,
            checked: None,
            targets: BTreeMap::new(),
        });
        (kept.asked, kept.settings) = (now, settings);
    }
    for kept in known.values_mut() {
        let Some(settings) = &kept.settings else {
            kept.targets.clear();
            continue;
        };
        if kept.checked.is_some_and(|at| !is_old(at, HEALTH_LASTS)) {
            continue;
        }
        match checked(balancing, &settings.arn).await? {
            Some(targets) => (kept.checked, kept.targets) = (Some(now), targets),
            None => (kept.settings, kept.targets) = (None, BTreeMap::new()),
        }
    }
    Ok(known)
}

/// Target groups of instances, by what they were asked for as; those that are not there are absent.
async fn described(balancing: &impl Balancing, asked: &[Text]) -> Result<BTreeMap<Text, Settings>, AwsError> {
    let (arns, names): (Vec<&Text>, Vec<&Text>) = asked.iter().partition(|named| named.starts_with("arn:"));
    let mut all = BTreeMap::new();
    for (member, of) in [(("TargetGroupArns", "TargetGroupArn"), arns), (("Names", "TargetGroupName"), names)]
    {
        for some in of.chunks(NAMES_MAX) {
            for one in found(balancing, member.0, some).await? {
                let (named, arn) = (text(&one, member.1), text(&one, "TargetGroupArn"));
                let (Some(named), Some(arn)) = (named, arn) else { continue };
                if text(&one, "TargetType") != Some("instance") {
                    continue;
                }
                if let Some(delay) = delay(balancing, arn).await? {
                    all.insert(Text::from(named), Settings { arn: arn.to_owned(), delay });
                }
            }
        }
    }
    Ok(all)
}

/// All pages of some target groups. Where one of them is not there, nothing is said of the others: then each is asked for by itself.
async fn found(balancing: &impl Balancing, member: &str, some: &[&Text]) -> Result<Vec<Value>, AwsError> {
    let together = pages(balancing, member, some).await;
    match there(together)? {
        Some(found) => Ok(found),
        None if some.len() < 2 => Ok(Vec::new()),
        None => {
            let mut all = Vec::new();
            for one in some {
                all.extend(there(pages(balancing, member, &[one]).await)?.unwrap_or_default());
            }
            Ok(all)
        }
    }
}

async fn pages(balancing: &impl Balancing, member: &str, some: &[&Text]) -> Result<Vec<Value>, AwsError> {
    let named: Vec<&str> = some.iter().map(|named| &***named).collect();
    let (mut all, mut params) = (Vec::new(), json!({ member: named }));
    for _ in 0..PAGES_MAX {
        let mut answer = balancing.elb("DescribeTargetGroups", params.clone()).await?;
        all.extend(taken(&mut answer, (Service::Elb, "DescribeTargetGroups"), "TargetGroups")?);
        let Some(next) = text(&answer, "NextMarker") else { return Ok(all) };
        params["Marker"] = next.into();
    }
    Err(AwsError::Unreadable {
        action: "elasticloadbalancing:DescribeTargetGroups".to_owned(),
        why: format!("it does not end after {PAGES_MAX} pages"),
    })
}

/// The deregistration delay of a target group that is there.
async fn delay(balancing: &impl Balancing, arn: &str) -> Result<Option<Span>, AwsError> {
    let asked = balancing.elb("DescribeTargetGroupAttributes", json!({"TargetGroupArn": arn})).await;
    let Some(mut answer) = there(asked)? else { return Ok(None) };
    let attributes = taken(&mut answer, (Service::Elb, "DescribeTargetGroupAttributes"), "Attributes")?;
    let own = attributes.iter().find(|one| text(one, "Key") == Some(DELAY));
    let seconds = own.and_then(|one| text(one, "Value")).and_then(|seconds| seconds.parse().ok());
    Ok(Some(seconds.map_or(TargetGroup::DELAY, Span::from_secs)))
}

/// The instances in a target group that is there.
async fn checked(
    balancing: &impl Balancing,
    arn: &str,
) -> Result<Option<BTreeMap<InstanceId, TargetHealth>>, AwsError> {
    let asked = balancing.elb("DescribeTargetHealth", json!({"TargetGroupArn": arn})).await;
    let Some(mut answer) = there(asked)? else { return Ok(None) };
    let shown = taken(&mut answer, (Service::Elb, "DescribeTargetHealth"), "TargetHealthDescriptions")?;
    Ok(Some(targets(&shown)))
}

/// `None` where an answer is that there is no such target group.
fn there<T>(answer: Result<T, AwsError>) -> Result<Option<T>, AwsError> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(AwsError::Refused { code, .. }) if code == "TargetGroupNotFound" => Ok(None),
        Err(error) => Err(error),
    }
}

/// Instances that are listed. One that is registered on several ports is what its worst one is.
fn targets(shown: &[Value]) -> BTreeMap<InstanceId, TargetHealth> {
    let mut all = BTreeMap::new();
    for one in shown {
        let Some(id) = text(&one["Target"], "Id") else { continue };
        // Only who asks for a target by name is told of one that is not registered.
        let health = &one["TargetHealth"];
        if text(health, "Reason") == Some("Target.NotRegistered") {
            continue;
        }
        let health = health_of(text(health, "State").unwrap_or_default());
        let own = all.entry(InstanceId::from(id)).or_insert(health);
        if rank(health) > rank(*own) {
            *own = health;
        }
    }
    all
}

/// A state, as Elastic Load Balancing writes it (`TargetHealthStateEnum`).
fn health_of(word: &str) -> TargetHealth {
    match word {
        "initial" => TargetHealth::Initial,
        "healthy" => TargetHealth::Healthy,
        // It fails its health checks, and its connections are being ended for that; it is registered.
        "unhealthy" | "unhealthy.draining" => TargetHealth::Unhealthy,
        "unused" => TargetHealth::Unused,
        "draining" => TargetHealth::Draining,
        // A state that is newer than this is one of which nothing is concluded but that it is registered.
        _ => TargetHealth::Unavailable,
    }
}

fn rank(health: TargetHealth) -> u8 {
    match health {
        TargetHealth::Healthy => 0,
        TargetHealth::Unavailable => 1,
        TargetHealth::Unused => 2,
        TargetHealth::Draining => 3,
        TargetHealth::Initial => 4,
        TargetHealth::Unhealthy => 5,
    }
}

/// Gives a group's target groups their delays; those of which nothing can be known are none of its.
fn settle(group: &mut NodeGroup, known: &Known) {
    group.target_groups.retain_mut(|one| {
        let settings = known.get(&one.arn).and_then(|kept| kept.settings.as_ref());
        if let Some(settings) = settings {
            one.deregistration_delay = settings.delay;
        }
        settings.is_some()
    });
}

/// The target groups in which an instance is, under the names that its group has for them.
fn of_instance(instance: &Instance, known: &Known) -> Vec<Target> {
    let all = known.iter().filter_map(|(named, kept)| {
        let health = *kept.targets.get(&instance.id)?;
        Some(Target { group: named.clone(), health })
    });
    all.collect()
}

/// Target groups of a group: those that are attached to its Auto Scaling group now, and those in which a controller of the cluster registers its nodes.
pub(super) fn target_groups(base: &NodeGroup, group: &Value) -> Vec<TargetGroup> {
    let of_controllers = base.target_groups.iter().filter(|known| known.registrar == Registrar::Controller);
    let mut all: Vec<TargetGroup> = of_controllers.cloned().collect();
    let sources = list(&group["TrafficSources"]).iter();
    let sources = sources.filter(|one| text(one, "Type").is_none_or(|kind| kind == "elbv2"));
    let sources =
        sources.filter_map(|one| text(one, "Identifier")).filter(|arn| arn.contains(":targetgroup/"));
    for arn in list(&group["TargetGroupARNs"]).iter().filter_map(Value::as_str).chain(sources) {
        if !all.iter().any(|known| *known.arn == *arn) {
            all.push(TargetGroup::attached(arn));
        }
    }
    all.sort_by(|a, b| a.arn.cmp(&b.arn));
    all
}

#[cfg(test)]
#[path = "targets_tests.rs"]
mod tests;
