//! A managed node group that is made: asked for once, and looked at until it is there.
//!
//! Sources: the API reference of EKS, `CreateNodegroup` (its members, its errors) and `Nodegroup` (its states).

use http::Method;
use serde_json::Value;

use super::account::Aws;
use super::answer::{list, managed as owned_by, structure, text};
use super::eks::Write;
use super::error::AwsError;
use super::sign::escaped;

/// What EKS has said to a request for a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// It makes it; or it has made it by the same request before.
    Begun,
    /// A group of that name is there, whoever has asked for it.
    IsThere,
}

/// How far a managed node group is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stage {
    /// EKS does not know it.
    Absent,
    /// EKS makes it; or has made it, and its Auto Scaling group is not shown with its tags yet.
    Creating,
    /// It can be used. It is in one of EKS's states for that, not always ACTIVE: DEGRADED and UPDATING, too.
    There,
    /// It could not be made: as DescribeNodegroup has it.
    Failed(Value),
    /// It is being deleted.
    Deleting,
}

impl Aws {
    /// CreateNodegroup, by its input as the CLI takes it. The token in it makes it one group, however often it is sent.
    ///
    /// # Errors
    /// Where EKS refuses it, or no answer comes.
    pub async fn create_nodegroup(
        &self,
        input: &Value,
        is_in_time: &(dyn Fn() -> bool + Sync),
    ) -> Result<Asked, AwsError> {
        let mut body = input.clone();
        let token = text(input, "clientRequestToken").unwrap_or_default();
        // The cluster stands in the path.
        if let Some(members) = body.as_object_mut() {
            members.remove("clusterName");
        }
        let cluster = text(input, "clusterName").unwrap_or_default();
        let path = format!("/clusters/{}/node-groups", escaped(cluster));
        match self.write_once("CreateNodegroup", &path, body, Write { token, is_in_time }).await {
            Ok(_) => Ok(Asked::Begun),
            Err(AwsError::Refused { code, .. }) if code == "ResourceInUseException" => Ok(Asked::IsThere),
            Err(error) => Err(error),
        }
    }

    /// How far a managed node group is.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub async fn nodegroup_stage(&self, cluster: &str, name: &str) -> Result<Stage, AwsError> {
        let path = format!("/clusters/{}/node-groups/{}", escaped(cluster), escaped(name));
        let call = (Method::GET, &*path, "");
        let group = match self.caller.eks("DescribeNodegroup", call, None, super::client::Manner::Read).await
        {
            Ok(answer) => structure(answer, "DescribeNodegroup", "nodegroup")?,
            Err(AwsError::Refused { code, .. }) if code == "ResourceNotFoundException" => {
                return Ok(Stage::Absent);
            }
            Err(error) => return Err(error),
        };
        match text(&group, "status").unwrap_or_default() {
            "CREATING" => return Ok(Stage::Creating),
            "CREATE_FAILED" => return Ok(Stage::Failed(group)),
            "DELETING" => return Ok(Stage::Deleting),
            // A word that is newer than this is one of a group that is there.
            _ => {}
        }
        let behind = list(&group["resources"]["autoScalingGroups"]);
        let names: Vec<&str> = behind.iter().filter_map(|one| text(one, "name")).collect();
        // By its tags it is found by whoever looks for the group.
        let is_shown = self.groups(&names).await?.iter().any(|one| owned_by(one) == Some((cluster, name)));
        Ok(if is_shown && !names.is_empty() { Stage::There } else { Stage::Creating })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::stand_in::StandIn;
    use super::*;

    const PATH: &str = "/clusters/shop/node-groups";

    fn input() -> Value {
        json!({"clusterName": "shop", "nodegroupName": "green", "nodeRole": "arn:aws:iam::1:role/node", "clientRequestToken": "replank-1"})
    }

    async fn asked(answer: &'static str) -> (Result<Asked, AwsError>, Vec<String>) {
        let eks = StandIn::new(|line, body| {
            let body: Value = serde_json::from_str(body).expect("it is JSON");
            assert_eq!(line, format!("POST {PATH}"));
            assert_eq!(body["clusterName"], Value::Null, "it stands in the path");
            assert_eq!(
                (&body["nodegroupName"], &body["clientRequestToken"]),
                (&json!("green"), &json!("replank-1"))
            );
            answer.to_owned()
        });
        let answer = eks.account().create_nodegroup(&input(), &|| true).await;
        (answer, eks.asked())
    }

    #[tokio::test]
    async fn a_group_is_asked_for_by_its_input_and_one_that_is_there_is_no_error() {
        let (begun, sent) = asked(r#"{"nodegroup": {"status": "CREATING"}}"#).await;
        assert_eq!((begun.ok(), sent.len()), (Some(Asked::Begun), 1));
        let there = r#"409 ResourceInUseException {"message": "NodeGroup already exists with name green and cluster name shop"}"#;
        let (there, sent) = asked(there).await;
        assert_eq!((there.ok(), sent.len()), (Some(Asked::IsThere), 1));
    }

    #[tokio::test]
    async fn what_passes_is_sent_again_and_a_refusal_is_not() {
        let (failed, sent) = asked(r#"503 ServiceUnavailableException {"message": "later"}"#).await;
        assert!(failed.is_err_and(|error| error.is_passing()), "it was sent three times");
        assert_eq!(sent.len(), 3);
        for (code, words) in
            [("InvalidParameterException", "subnet"), ("ResourceLimitExceededException", "maximum number")]
        {
            let answer: &'static str = format!("400 {code} {{\"message\": \"{words}\"}}").leak();
            let (refused, sent) = asked(answer).await;
            let error = refused.expect_err("it is refused");
            assert_eq!(error.to_string(), format!("eks:CreateNodegroup: {code}: {words}"));
            assert_eq!(sent.len(), 1, "{code}");
        }
    }

    #[tokio::test]
    async fn whoever_may_not_is_told_the_action_that_is_lacking_and_on_what() {
        let of = |action: &str| {
            let message = format!(
                "User: arn:aws:sts::1:assumed-role/ci/x is not authorized to perform: {action} because no identity-based policy allows it"
            );
            &*format!("403 AccessDeniedException {{\"message\": \"{message}\"}}").leak()
        };
        let next =
            async |answer| asked(answer).await.0.expect_err("it is refused").next().expect("it says how");
        let own = next(of("eks:CreateNodegroup on resource: arn:aws:eks:eu-west-1:1:cluster/shop")).await;
        assert!(
            own.contains(
                r#""Action": ["eks:CreateNodegroup"], "Resource": "arn:aws:eks:eu-west-1:1:cluster/shop""#
            ),
            "{own}"
        );
        let role = next(of("iam:PassRole on resource: arn:aws:iam::1:role/node")).await;
        let expected = r#"{"Effect": "Allow", "Action": ["iam:PassRole"], "Resource": "arn:aws:iam::1:role/node", "Condition": {"StringEquals": {"iam:PassedToService": "eks.amazonaws.com"}}}"#;
        assert!(role.contains(expected), "{role}");
        let other = next(of("iam:ListAttachedRolePolicies on resource: role node")).await;
        assert!(other.contains(r#""Action": ["iam:ListAttachedRolePolicies"], "Resource": "*""#), "{other}");
    }

    #[tokio::test]
    async fn a_group_is_there_once_its_auto_scaling_group_is_shown_with_its_tags() {
        let stage = async |status: &'static str, tags: &'static str| {
            let aws = StandIn::new(move |line, _| {
                match line {
                "GET /clusters/shop/node-groups/green" => match status {
                    "" => r#"404 ResourceNotFoundException {"message": "No node group found for name: green."}"#.to_owned(),
                    status => json!({"nodegroup": {"status": status, "resources": {"autoScalingGroups": [{"name": "eks-green"}]}}}).to_string(),
                },
                _ => format!("<DescribeAutoScalingGroupsResponse><DescribeAutoScalingGroupsResult><AutoScalingGroups><member><AutoScalingGroupName>eks-green</AutoScalingGroupName><Tags>{tags}</Tags></member></AutoScalingGroups></DescribeAutoScalingGroupsResult></DescribeAutoScalingGroupsResponse>"),
            }
            });
            aws.account().nodegroup_stage("shop", "green").await.expect("it answers")
        };
        let tags = "<member><Key>eks:cluster-name</Key><Value>shop</Value></member><member><Key>eks:nodegroup-name</Key><Value>green</Value></member>";
        assert_eq!(stage("", tags).await, Stage::Absent);
        assert_eq!(stage("CREATING", tags).await, Stage::Creating);
        assert_eq!(stage("ACTIVE", "").await, Stage::Creating);
        assert_eq!(stage("ACTIVE", tags).await, Stage::There);
        assert_eq!(stage("DEGRADED", tags).await, Stage::There);
        assert_eq!(stage("DELETING", tags).await, Stage::Deleting);
        assert!(
            matches!(stage("CREATE_FAILED", tags).await, Stage::Failed(group) if group["status"] == "CREATE_FAILED")
        );
    }
}
