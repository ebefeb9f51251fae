//! The group that nodes move into, where it is not there yet: made like the one that they leave, before the run begins.
//!
//! It is no effect of core. Core decides on groups that are there, by what is seen of them: a rehearsal, the preflight and the comparison with it need the group first. The request has a token that follows from what is
//! asked for, so it makes one group, whoever is killed on the way or asks beside another process; and a group without nodes keeps nothing from being begun, ended or taken back.

use std::time::{Duration, Instant};

use replank_facts::group_facts;
use replank_facts::plan::Plan;
use replank_live::aws::{Aws, AwsError, NodegroupAsked, NodegroupStage};
use replank_model::time::Span;
use serde_json::{Value, json};

use super::fits::unhealthy;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::live::pressed;
use crate::made_like::{self, Made, deletion};
use crate::patience::patiently;
use crate::printer::Printer;
use crate::report::words::span;

/// How often it is looked how far it is: soon in the beginning, then more and more rarely.
const LOOK_FIRST: Duration = Duration::from_secs(1);
const LOOK_LAST: Duration = Duration::from_secs(10);
/// How often it is said that it is still waited for.
const TELL_EVERY: Duration = Duration::from_mins(1);
/// For how long it is waited for. EKS gives up on a group before that; this one has no nodes to wait for.
const LASTS: Duration = Duration::from_mins(40);
/// Looks in a row at which EKS may not know a group that it was asked for: about a minute.
const ABSENT_MAX: u32 = 10;

/// What is done where the group is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IfMissing {
    /// The command ends, and says how it is made.
    Ends,
    /// It is assumed, to be made once that is confirmed.
    Assumes,
}

/// A group that is not there, or not yet.
pub(super) struct Missing {
    pub(super) made: Made,
    stage: NodegroupStage,
}

/// How the wait for it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Came {
    /// It is there.
    There,
    /// Somebody pressed Ctrl-C.
    Interrupted,
}

/// Looks whether the group that nodes of a managed group are to move into is there; `None` where it is, or where no group can be made.
pub(super) async fn missing(aws: &Aws, answers: &[Value], plan: &Plan) -> Result<Option<Missing>, AwsError> {
    let Some(made) = made_like::to_be_made(answers, plan) else { return Ok(None) };
    let is_usable = |group: &Value| {
        !matches!(group["status"].as_str().unwrap_or_default(), "CREATING" | "CREATE_FAILED" | "DELETING")
    };
    if made_like::is_self_managed(answers, plan) || made_like::landing(answers, plan).is_some_and(is_usable) {
        return Ok(None);
    }
    // An Auto Scaling group is found by its tags, and a group that is being made has none yet.
    let stage = aws.nodegroup_stage(made.cluster(), made.name()).await?;
    Ok((stage != NodegroupStage::There).then_some(Missing { made, stage }))
}

impl Missing {
    /// Whether a run may wait for it, and what it does about it.
    ///
    /// # Errors
    /// Where it was not made when it was asked for before, or is being deleted.
    pub(super) fn told(&self) -> Result<String, Failure> {
        match &self.stage {
            NodegroupStage::Absent => Ok(self.made.told()),
            NodegroupStage::Creating | NodegroupStage::There => Ok(format!(
                "EKS is making node group {}: the run begins once it can be used",
                self.made.name()
            )),
            NodegroupStage::Failed(group) => Err(failed(&self.made, group)),
            NodegroupStage::Deleting => Err(deleting(&self.made)),
        }
    }

    /// Why nothing can be begun without it.
    pub(super) fn ends(&self, aws: &Aws) -> Failure {
        let name = self.made.name();
        match &self.stage {
            NodegroupStage::Absent => Failure::usage_message(format!(
                "node group {name}, which nodes are to move into, does not exist in account {} in {}",
                aws.account(),
                aws.region()
            ))
            .next(self.made.words()),
            NodegroupStage::Creating | NodegroupStage::There => Failure::usage_message(format!(
                "node group {name}, which nodes are to move into, is still being made"
            ))
            .next(format!(
                "pass --make-group: the run then waits for it; or wait: aws eks wait nodegroup-active --cluster-name {} --nodegroup-name {name}",
                self.made.cluster()
            )),
            NodegroupStage::Failed(group) => failed(&self.made, group),
            NodegroupStage::Deleting => deleting(&self.made),
        }
    }

    /// Has EKS make it, and waits until it can be used. Whoever calls has asked whether that is wanted.
    ///
    /// # Errors
    /// Where EKS refuses it, it cannot be made, or it takes too long.
    pub(super) async fn make(
        &self,
        aws: &Aws,
        printer: &mut Printer,
        interrupt: &Interrupt,
    ) -> Result<Came, Failure> {
        interrupt.hold();
        let came = tokio::select! {
            biased;
            () = pressed(interrupt) => Came::Interrupted,
            came = self.made(aws, printer) => came.map(|()| Came::There)?,
        };
        let (name, cluster) = (self.made.name(), self.made.cluster());
        match came {
            Came::There => printer.story(&format!("node group {name} is there")),
            Came::Interrupted => printer.warning(&format!(
                "interrupted: the run was not begun; if EKS was asked for node group {name}, it goes on making it: the same command goes on waiting; to have it deleted: {}",
                deletion(cluster, name)
            )),
        }
        Ok(came)
    }

    async fn made(&self, aws: &Aws, printer: &mut Printer) -> Result<(), Failure> {
        let made = &self.made;
        if self.stage == NodegroupStage::Absent {
            // Nothing else is written meanwhile, and whoever asks beside this process asks for the same: it may be sent at any time.
            let asked = aws.create_nodegroup(made.input(), &|| true).await;
            let said = match asked.map_err(|error| refused(made, error))? {
                NodegroupAsked::Begun => {
                    format!("EKS makes node group {} like {}", made.name(), made.first())
                }
                NodegroupAsked::IsThere => {
                    format!("node group {} is there: somebody else has asked for it meanwhile", made.name())
                }
            };
            printer.story(&said);
        }
        wait(aws, made, printer).await
    }
}

/// Waits until it can be used.
async fn wait(aws: &Aws, made: &Made, printer: &mut Printer) -> Result<(), Failure> {
    let begun = Instant::now();
    let (mut pause, mut told, mut absent) = (LOOK_FIRST, begun, 0);
    loop {
        let stage = patiently(async || Ok(aws.nodegroup_stage(made.cluster(), made.name()).await?)).await?;
        absent = match stage {
            NodegroupStage::There => return Ok(()),
            NodegroupStage::Failed(group) => return Err(failed(made, &group)),
            NodegroupStage::Deleting => return Err(deleting(made)),
            NodegroupStage::Creating => 0,
            NodegroupStage::Absent if absent < ABSENT_MAX => absent + 1,
            NodegroupStage::Absent => return Err(forgotten(made)),
        };
        if begun.elapsed() > LASTS {
            return Err(late(made, begun.elapsed()));
        }
        if told.elapsed() >= TELL_EVERY {
            told = Instant::now();
            printer.story(&format!(
                "waiting for node group {} to be ACTIVE: {} so far",
                made.name(),
                shown(begun.elapsed())
            ));
        }
        tokio::time::sleep(pause).await;
        pause = (pause + pause / 2).min(LOOK_LAST);
    }
}

fn shown(time: Duration) -> String {
    span(Span::from_secs(i64::try_from(time.as_secs()).unwrap_or(i64::MAX)))
}

fn blocked(why: String) -> Failure {
    Failure { exit: Exit::Blocked, ..Failure::usage_message(why) }
}

/// How it is begun anew.
fn anew(made: &Made) -> String {
    let (cluster, name) = (made.cluster(), made.name());
    format!(
        "delete it: {}; aws eks wait nodegroup-deleted --cluster-name {cluster} --nodegroup-name {name}; then the same command again",
        deletion(cluster, name)
    )
}

/// EKS says that it could not make it.
fn failed(made: &Made, group: &Value) -> Failure {
    let facts = group_facts::read(&json!({ "nodegroup": group })).unwrap_or_default();
    let told: Vec<String> = facts.iter().flat_map(unhealthy).collect();
    let told = match told.is_empty() {
        true => format!("node group {} is CREATE_FAILED", made.name()),
        false => told.join("\n"),
    };
    blocked(told).next(format!("once that is cleared, {}", anew(made)))
}

fn deleting(made: &Made) -> Failure {
    blocked(format!("node group {} is being deleted", made.name())).next(format!(
        "wait until it is gone, then the same command again: aws eks wait nodegroup-deleted --cluster-name {} --nodegroup-name {}",
        made.cluster(),
        made.name()
    ))
}

/// EKS has answered the request, and knows no such group: it takes it for one that it has carried out before.
fn forgotten(made: &Made) -> Failure {
    let name = made.name();
    blocked(format!(
        "EKS has taken the request for node group {name}, and does not know the group: it may take it for an earlier request, whose group was deleted since"
    ))
    .next("try again later; or give target.group another name, which is another request")
}

fn late(made: &Made, waited: Duration) -> Failure {
    let (cluster, name) = (made.cluster(), made.name());
    blocked(format!("node group {name} is still not ACTIVE after {}", shown(waited))).next(format!(
        "see what EKS says of it: aws eks describe-nodegroup --cluster-name {cluster} --nodegroup-name {name}; the same command goes on waiting"
    ))
}

/// Why EKS does not make it.
fn refused(made: &Made, error: AwsError) -> Failure {
    let rights = format!(
        "everything that it needs: replank setup aws --cluster {} --mode roll --node-role {}",
        made.cluster(),
        made.input()["nodeRole"].as_str().unwrap_or("ROLE")
    );
    match error {
        AwsError::Refused { ref code, status, .. } if (400..500).contains(&status) && !error.is_passing() => {
            let next = match &**code {
                "ResourceLimitExceededException" => {
                    "delete a node group that nothing needs, or have the quota raised: aws service-quotas list-service-quotas --service-code eks".to_owned()
                }
                // EKS looks at roles and subnets in the name of whoever asks, and says so in this way.
                "InvalidRequestException" => format!("clear what EKS names; if it is a permission, {rights}"),
                _ => format!(
                    "EKS names what it does not take: make the group with other values yourself, then the same command again:\n  {}",
                    made.command().replace('\n', "\n  ")
                ),
            };
            let said = format!("EKS does not make node group {}: {error}", made.name());
            blocked(said).next(next)
        }
        AwsError::Denied { .. } => {
            let failure = Failure::from(error);
            let next = failure.next.clone().unwrap_or_default();
            failure.next(format!("{next}\n{rights}"))
        }
        error @ (AwsError::Refused { .. }
        | AwsError::Unreachable { .. }
        | AwsError::Unreadable { .. }
        | AwsError::NoRegion
        | AwsError::NoProfile { .. }
        | AwsError::NoCredentials { .. }
        | AwsError::Credentials { .. }
        | AwsError::NotAccepted { .. }
        | AwsError::Queue { .. }
        | AwsError::WrongAccount { .. }) => {
            let is_open = error.is_passing();
            let failure = Failure::from(error);
            match is_open {
                true => failure.next("whether EKS makes the group is not known: start again, it is the same request and makes one group"),
                false => failure,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made() -> Made {
        let spec = json!({"groups": ["web"], "target": {"group": "green"}});
        let plan = Plan::read(
            &json!({"apiVersion": "replank.dev/v1alpha1", "kind": "NodeRoll", "metadata": {"name": "p"}, "spec": spec}),
        );
        let first = json!({"nodegroup": {"nodegroupName": "web", "clusterName": "shop", "nodeRole": "arn:aws:iam::1:role/node", "scalingConfig": {"maxSize": 3}}});
        made_like::to_be_made(&[first], &plan.expect("it is right")).expect("the first one is described")
    }

    fn of(code: &str, status: u16) -> (Exit, String, String) {
        let (action, message) = ("eks:CreateNodegroup".to_owned(), "m".to_owned());
        let failure = refused(&made(), AwsError::Refused { action, status, code: code.to_owned(), message });
        (failure.exit, failure.error.to_string(), failure.next.unwrap_or_default())
    }

    #[test]
    fn each_refusal_says_what_to_do() {
        let (exit, why, next) = of("ResourceLimitExceededException", 400);
        assert_eq!(exit, Exit::Blocked);
        assert_eq!(
            why,
            "EKS does not make node group green: eks:CreateNodegroup: ResourceLimitExceededException: m"
        );
        assert!(next.contains("have the quota raised"), "{next}");
        let (exit, _, next) = of("InvalidParameterException", 400);
        assert!(
            exit == Exit::Blocked && next.contains("aws eks create-nodegroup --cli-input-json"),
            "{next}"
        );
        let (exit, _, next) = of("InvalidRequestException", 400);
        assert!(exit == Exit::Blocked && next.ends_with("--node-role arn:aws:iam::1:role/node"), "{next}");
        for (code, status) in [("ServerException", 500), ("ThrottlingException", 429)] {
            let (exit, _, next) = of(code, status);
            assert!(exit == Exit::Internal && next.contains("it is the same request"), "{code}: {next}");
        }
    }

    #[test]
    fn a_group_that_could_not_be_made_is_told_with_its_issues() {
        let issue = json!({"code": "Ec2SubnetNotFound", "message": "m", "resourceIds": ["subnet-a"]});
        let group = json!({"nodegroupName": "green", "status": "CREATE_FAILED", "health": {"issues": [issue]},
            "scalingConfig": {"minSize": 0, "maxSize": 3, "desiredSize": 0}});
        let failure = failed(&made(), &group);
        assert_eq!(failure.exit, Exit::Blocked);
        let why = failure.error.to_string();
        assert!(
            why.starts_with(
                "node group green is CREATE_FAILED: Ec2SubnetNotFound: m (subnet-a); a subnet of"
            ),
            "{why}"
        );
        let next = failure.next.unwrap_or_default();
        assert!(
            next.contains("aws eks delete-nodegroup --cluster-name shop --nodegroup-name green"),
            "{next}"
        );
    }
}
