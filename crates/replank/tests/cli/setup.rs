//! `replank setup aws`: what is printed is whole, sends the right events, and permits no more than is called.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};

use super::common::{replank, root};

const MODES: [&str; 6] = ["handle", "roll", "autoscale", "handle-autoscale", "upgrade", "all"];
/// Modes in which messages are received.
const QUEUED: [&str; 3] = ["handle", "handle-autoscale", "all"];

fn printed(mode: &str, form: &str, more: &[&str]) -> String {
    let ran =
        replank(&[&["setup", "aws", "--cluster", "prod", "--mode", mode, "-o", form][..], more].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.stdout
}

fn template(mode: &str, more: &[&str]) -> Value {
    serde_json::from_str(&printed(mode, "cloudformation", more)).expect("it is JSON")
}

/// Whether an event matches a pattern of EventBridge whose values are listed.
fn matches(pattern: &Value, event: &Value) -> bool {
    match pattern {
        Value::Object(all) => {
            all.iter().all(|(key, one)| event.get(key).is_some_and(|value| matches(one, value)))
        }
        Value::Array(all) => all.contains(event),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            panic!("not in a pattern: {pattern}")
        }
    }
}

fn patterns(template: &Value) -> Vec<(String, Value)> {
    let resources = template["Resources"].as_object().expect("resources").values();
    let rules = resources.filter(|one| one["Type"] == "AWS::Events::Rule").map(|one| &one["Properties"]);
    rules.map(|rule| (rule["Name"].to_string().replace('"', ""), rule["EventPattern"].clone())).collect()
}

fn rules_of(template: &Value, event: &Value) -> Vec<String> {
    let all = patterns(template).into_iter().filter(|(_, pattern)| matches(pattern, event));
    all.map(|(name, _)| name).collect()
}

#[test]
fn each_event_reaches_the_queue_by_one_rule_and_no_other_does() {
    let template = template("handle", &[]);
    assert_eq!(patterns(&template).len(), 5);
    let folder = root().join("testdata/aws-events");
    let (mut enveloped, mut used) = (0, BTreeSet::new());
    for entry in std::fs::read_dir(folder).expect("it is there") {
        let file = entry.expect("it can be read").path();
        if file.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let text = std::fs::read_to_string(&file).expect("it can be read");
        let event: Value = serde_json::from_str(&text).expect("it is JSON");
        let rules = rules_of(&template, &event);
        if event["detail-type"].is_string() {
            enveloped += 1;
            assert_eq!(rules.len(), 1, "{}: {rules:?}", file.display());
            used.extend(rules);
        } else {
            assert!(rules.is_empty(), "{}: it comes without EventBridge", file.display());
        }
    }
    assert!(enveloped >= 9 && used.len() == 5, "{enveloped} {used:?}");
    let state = |state: &str| json!({"source": "aws.ec2", "detail-type": "EC2 Instance State-change Notification", "detail": {"state": state}});
    for other in [
        state("pending"),
        state("running"),
        json!({"source": "aws.autoscaling", "detail-type": "EC2 Instance Launch Successful", "detail": {}}),
        json!({"source": "somebody", "detail-type": "EC2 Spot Instance Interruption Warning", "detail": {}}),
        json!({"source": "aws.health", "detail-type": "AWS Health Event", "detail": {"service": "RDS", "eventTypeCategory": "scheduledChange"}}),
        json!({"source": "aws.health", "detail-type": "AWS Health Event", "detail": {"service": "EC2", "eventTypeCategory": "issue"}}),
    ] {
        assert!(rules_of(&template, &other).is_empty(), "{other}");
    }
}

/// Names that a template refers to.
fn referred(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(all) => {
            found.extend(all.get("Ref").and_then(Value::as_str).map(str::to_owned));
            found.extend(all.get("Fn::GetAtt").and_then(|of| of[0].as_str()).map(str::to_owned));
            all.values().for_each(|one| referred(one, found));
        }
        Value::Array(all) => all.iter().for_each(|one| referred(one, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn statements(template: &Value) -> Vec<Value> {
    let role = &template["Resources"]["Role"]["Properties"];
    role["Policies"][0]["PolicyDocument"]["Statement"].as_array().expect("statements").clone()
}

fn actions(statements: &[Value]) -> BTreeSet<String> {
    let all = statements.iter().flat_map(|one| one["Action"].as_array().expect("actions"));
    all.map(|action| action.as_str().expect("text").to_owned()).collect()
}

#[test]
fn templates_are_whole_and_permit_no_more_than_their_mode_needs() {
    for mode in MODES {
        let template = template(mode, &["--group", "web", "--group", "batch"]);
        let resources = template["Resources"].as_object().expect("resources");
        let mut names = BTreeSet::new();
        referred(&template, &mut names);
        let missing: Vec<&String> = names.iter().filter(|name| !resources.contains_key(*name)).collect();
        assert!(missing.is_empty(), "{mode}: {missing:?}");
        for (id, resource) in resources {
            assert!(id.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{id}");
            assert!(resource["Type"].as_str().is_some_and(|kind| kind.starts_with("AWS::")), "{id}");
        }
        let hooks: Vec<&Value> =
            resources.values().filter(|one| one["Type"] == "AWS::AutoScaling::LifecycleHook").collect();
        assert_eq!(hooks.len(), if QUEUED.contains(&mode) { 2 } else { 0 }, "{mode}");
        for one in statements(&template) {
            let all: Vec<&str> =
                one["Action"].as_array().expect("actions").iter().filter_map(Value::as_str).collect();
            assert!(all.iter().all(|action| !action.contains('*')), "{all:?}");
            let is_read = |action: &&str| {
                let (_, name) = action.split_once(':').expect("a service");
                ["Describe", "List", "Get"].iter().any(|verb| name.starts_with(verb))
            };
            let on_all = one["Resource"] == "*" && one["Condition"].is_null();
            assert!(!on_all || all.iter().all(is_read), "{mode}: writes on everything: {all:?}");
        }
    }
    let of = |mode: &str| actions(&statements(&template(mode, &[])));
    let (handle, roll, scale, all) = (of("handle"), of("roll"), of("autoscale"), of("all"));
    let union: BTreeSet<String> = [&handle, &roll, &scale].into_iter().flatten().cloned().collect();
    assert_eq!(all, union);
    let both: BTreeSet<String> = [&handle, &scale].into_iter().flatten().cloned().collect();
    assert_eq!(of("handle-autoscale"), both);
    let upgrade = of("upgrade");
    assert!(roll.is_subset(&upgrade) && upgrade.contains("eks:UpdateClusterVersion"));
    assert!(!all.contains("eks:UpdateClusterVersion") && !all.contains("eks:UpdateAddon"));
    // Whoever names a launch template must be allowed to launch with it; whoever changes sizes need not.
    for action in ["ec2:RunInstances", "ec2:CreateTags", "iam:PassRole"] {
        assert!(roll.contains(action) && !both.contains(action), "{action}");
        let template = statements(&template("roll", &[]));
        let own: Vec<&Value> = template.iter().filter(|one| one["Action"] == json!([action])).collect();
        assert!(own.len() == 1 && own[0]["Condition"].is_object(), "{action}: {own:?}");
    }
    assert!(
        roll.contains("autoscaling:SetInstanceProtection")
            && !both.contains("autoscaling:SetInstanceProtection")
    );
    let writes: Vec<&String> =
        scale.iter().filter(|action| !action.contains(":Describe") && !action.contains(":Get")).collect();
    assert_eq!(
        writes,
        [
            "autoscaling:TerminateInstanceInAutoScalingGroup",
            "autoscaling:UpdateAutoScalingGroup",
            "eks:UpdateNodegroupConfig"
        ]
    );
    assert!(handle.contains("sqs:ReceiveMessage") && handle.contains("autoscaling:CompleteLifecycleAction"));
    assert!(
        !handle.iter().any(|action| action.starts_with("eks:") || action.contains("UpdateAutoScalingGroup"))
    );
    assert!(
        !roll.iter().any(|action| action.starts_with("sqs:")
            || action.contains("Lifecycle") && !action.contains("Describe"))
    );
    let of_upgrade = statements(&template("upgrade", &[]));
    let on = |action: &str| {
        let found = of_upgrade.iter().find(|one| one["Action"] == json!([action])).expect("it is there");
        found["Resource"]["Fn::Sub"].as_str().expect("an ARN").to_owned()
    };
    assert!(on("eks:UpdateClusterVersion").ends_with(":cluster/prod"));
    assert!(on("eks:UpdateAddon").ends_with(":addon/prod/*"));
    assert!(
        on("iam:PassRole").starts_with("arn:${AWS::Partition}:iam::${AWS::AccountId}:role/"),
        "IAM has no regions"
    );
    // Without names, writes are limited by the tag of the cluster's groups.
    let tagged = statements(&template("handle", &[]));
    let condition = json!({"StringEquals": {"aws:ResourceTag/kubernetes.io/cluster/prod": "owned"}});
    assert!(tagged.iter().any(|one| one["Condition"] == condition), "{tagged:?}");
}

#[test]
fn groups_may_be_made_only_where_a_role_of_nodes_is_named_and_only_with_that() {
    let plain = actions(&statements(&template("roll", &[])));
    let arn = "arn:aws:iam::111122223333:role/team/node";
    for mode in ["roll", "upgrade", "all"] {
        assert!(!actions(&statements(&template(mode, &[]))).contains("eks:CreateNodegroup"), "{mode}");
        let all = statements(&template(mode, &["--node-role", arn]));
        let of = |action: &str| -> Vec<&Value> {
            all.iter().filter(|one| one["Action"] == json!([action])).collect()
        };
        let on = |statement: &Value| statement["Resource"].to_string();
        let make = of("eks:CreateNodegroup");
        assert_eq!(make.len(), 1, "{mode}");
        assert!(on(make[0]).contains(":cluster/prod\""), "{}", make[0]);
        let condition = json!({"StringEquals": {"iam:PassedToService": "eks.amazonaws.com"}});
        let handed: Vec<&Value> =
            of("iam:PassRole").into_iter().filter(|one| one["Condition"] == condition).collect();
        assert_eq!(handed.len(), 1, "{mode}: beside the one for launches");
        assert!(
            on(handed[0]).contains("arn:${AWS::Partition}:iam::${AWS::AccountId}:role/team/node\""),
            "{}",
            handed[0]
        );
        assert!(!on(handed[0]).contains('*'), "{}", handed[0]);
        assert!(on(of("iam:GetRole")[0]).contains("role/aws-service-role/eks-nodegroup.amazonaws.com/"));
        assert!(of("iam:ListAttachedRolePolicies").len() == 1 && of("ec2:DescribeSubnets").len() <= 1);
    }
    let more = actions(&statements(&template("roll", &["--node-role", "node"])));
    let more: Vec<&String> = more.difference(&plain).collect();
    assert_eq!(
        more,
        ["ec2:DescribeSubnets", "eks:CreateNodegroup", "iam:GetRole", "iam:ListAttachedRolePolicies"]
    );
    let text = printed("roll", "terraform", &["--node-role", "node"]);
    assert!(blocks(&text).is_ok() && text.contains(":role/node\""), "{text}");
    let aws = ["setup", "aws", "--cluster", "prod", "--node-role"];
    let wrong = replank(&[&aws[..], &["a b"]].concat()).usage_error();
    assert!(wrong.contains("expected the name of an IAM role"), "{wrong}");
    let wrong = replank(&[&aws[..], &["node", "--mode", "handle"]].concat()).usage_error();
    assert!(wrong.contains("only `replank roll` makes node groups"), "{wrong}");
}

#[test]
fn roles_are_handed_to_ec2_as_widely_as_nobody_has_named_them_and_that_is_told() {
    let to_ec2 = json!({"StringLike": {"iam:PassedToService": "ec2.amazonaws.com*"}});
    let role = |name: &str| format!("arn:${{AWS::Partition}}:iam::${{AWS::AccountId}}:role/{name}");
    let note = "pass --node-role ROLE to narrow it";
    for mode in ["roll", "upgrade", "all"] {
        let handed = |more: &[&str]| -> Value {
            let all = statements(&template(mode, more));
            let found = all.iter().find(|one| one["Condition"] == to_ec2).expect("it is there");
            assert_eq!(found["Action"], json!(["iam:PassRole"]), "{mode}");
            found["Resource"].clone()
        };
        assert_eq!(handed(&[]), json!({"Fn::Sub": role("*")}), "{mode}");
        let narrow = ["--node-role", "node", "--node-role", "team/other"];
        let named = json!([{"Fn::Sub": role("node")}, {"Fn::Sub": role("team/other")}]);
        assert_eq!(handed(&narrow), named, "{mode}");
        for form in ["cloudformation", "terraform"] {
            let (wide, narrow) = (printed(mode, form, &[]), printed(mode, form, &narrow));
            assert!(wide.contains(note) && wide.contains(":role/*"), "{mode} {form}: {wide}");
            assert!(!narrow.contains(note) && !narrow.contains(":role/*"), "{mode} {form}: {narrow}");
        }
    }
    // Nothing is handed over where nothing is rolled.
    for form in ["cloudformation", "terraform"] {
        assert!(!printed("handle", form, &[]).contains("PassRole"), "{form}");
    }
    let text = printed("roll", "terraform", &[]);
    let (before, after) = text.split_once(note).expect("it is told");
    assert!(before.lines().next_back().is_some_and(|line| line.starts_with("# ")), "{before}");
    assert!(after.lines().nth(1).is_some_and(|line| line.contains("aws_iam_role_policy")), "{after}");
}

/// The blocks of a text in HCL, by their heads: a reader of what is written here, with quotes, nesting and comments.
fn blocks(text: &str) -> Result<Vec<(String, String)>, String> {
    let (mut all, mut head, mut body) = (Vec::new(), String::new(), String::new());
    let mut open: Vec<char> = Vec::new();
    for line in text.lines().filter(|line| !line.trim_start().starts_with('#')) {
        let (mut is_quoted, mut is_escaped) = (false, false);
        for letter in line.chars() {
            let target = if open.is_empty() { &mut head } else { &mut body };
            target.push(letter);
            match letter {
                _ if is_escaped => is_escaped = false,
                '\\' if is_quoted => is_escaped = true,
                '"' => is_quoted = !is_quoted,
                _ if is_quoted => {}
                '{' | '[' | '(' => open.push(letter),
                '}' | ']' | ')' => {
                    let expected = match letter {
                        '}' => '{',
                        ']' => '[',
                        _ => '(',
                    };
                    if open.pop() != Some(expected) {
                        return Err(format!("{letter} closes nothing: {line}"));
                    }
                    if open.is_empty() {
                        all.push((head.trim_end_matches('{').trim().to_owned(), std::mem::take(&mut body)));
                        head.clear();
                    }
                }
                _ => {}
            }
        }
        if is_quoted {
            return Err(format!("a quote is open: {line}"));
        }
        body.push('\n');
    }
    if open.is_empty() && head.trim().is_empty() {
        Ok(all)
    } else {
        Err(format!("open at the end: {open:?} {head}"))
    }
}

#[test]
fn terraform_s_resources_are_whole_and_the_same_as_cloudformation_s() {
    for mode in MODES {
        let more = ["--group", "web\"${x}"];
        let text = printed(mode, "terraform", &more);
        let all = blocks(&text).unwrap_or_else(|why| panic!("{why}\n{text}"));
        let heads: Vec<&str> = all.iter().map(|(head, _)| &**head).collect();
        let of = |kind: &str| {
            heads.iter().filter(|head| head.starts_with(&format!("resource \"{kind}\""))).count()
        };
        let template = template(mode, &more);
        let resources = template["Resources"].as_object().expect("resources");
        let in_template = |kind: &str| resources.values().filter(|one| one["Type"] == kind).count();
        for (here, there) in [
            ("aws_sqs_queue", "AWS::SQS::Queue"),
            ("aws_sqs_queue_policy", "AWS::SQS::QueuePolicy"),
            ("aws_cloudwatch_event_rule", "AWS::Events::Rule"),
            ("aws_cloudwatch_event_target", "AWS::Events::Rule"),
            ("aws_autoscaling_lifecycle_hook", "AWS::AutoScaling::LifecycleHook"),
            ("aws_iam_role", "AWS::IAM::Role"),
            ("aws_eks_pod_identity_association", "AWS::EKS::PodIdentityAssociation"),
        ] {
            assert_eq!(of(here), in_template(there), "{mode}: {here}");
        }
        // What is referred to is there.
        for (_, body) in &all {
            for reference in
                body.split(|letter: char| !letter.is_ascii_alphanumeric() && !"._".contains(letter))
            {
                let parts: Vec<&str> = reference.split('.').collect();
                if let ["aws_sqs_queue" | "aws_cloudwatch_event_rule" | "aws_iam_role", name, _] = parts[..] {
                    let head = format!("resource {:?} {name:?}", parts[0]);
                    assert!(heads.contains(&&*head), "{mode}: {reference}");
                }
            }
        }
        for action in actions(&statements(&template)) {
            assert!(text.contains(&format!("\"{action}\"")), "{mode}: {action}");
        }
        if QUEUED.contains(&mode) {
            assert!(text.contains(r#""web\"$${x}""#), "what begins an expression is escaped");
        }
    }
}

#[test]
fn a_file_is_written_once_and_wrong_names_are_told() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("setup-aws");
    drop(std::fs::remove_dir_all(&folder));
    let folder = folder.to_str().expect("text");
    let write = ["setup", "aws", "--cluster", "prod", "--write", folder];
    assert_eq!(replank(&write).code, Some(0));
    let text =
        std::fs::read_to_string(format!("{folder}/replank-prod.cloudformation.json")).expect("it is there");
    assert!(text.contains("AWSTemplateFormatVersion"));
    assert!(replank(&write).usage_error().contains("move the file that is there away"));
    let wrong = replank(&["setup", "aws", "--cluster", "a/b"]).usage_error();
    assert!(wrong.contains("expected the name of an EKS cluster"), "{wrong}");
    let wrong = replank(&["setup", "aws", "--cluster", "prod", "--heartbeat", "3h"]).usage_error();
    assert!(wrong.contains("expected 30s to 2h"), "{wrong}");
}
