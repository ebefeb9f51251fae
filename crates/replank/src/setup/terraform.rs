//! Resources of Terraform.

use std::fmt::Write;

use serde_json::{Value, json};

use super::parts::{DEAD_KEPT_SECONDS, HIDDEN_SECONDS, HOOK, KEPT_SECONDS, OF_ALL, RECEIVED_MAX, Setup};
use super::policy::{Names, document, note, queue_policy, statements, trust};

/// How a text begins that is an expression and no text.
const EXPRESSION: &str = "\u{1}";

/// The resources, as HCL.
pub(super) fn module(setup: &Setup) -> String {
    let mut out = format!("# What Replank needs for cluster {}.\n", setup.cluster);
    for data in ["aws_caller_identity", "aws_partition", "aws_region"] {
        block(&mut out, &["data", data, "replank"], &[]);
    }
    if setup.needs_queue() {
        out += &format!("# {OF_ALL}.\n");
        queue(setup, &mut out);
    }
    role(setup, &mut out);
    out
}

/// An expression, such as a reference.
fn expression(text: impl AsRef<str>) -> Value {
    Value::from(format!("{EXPRESSION}{}", text.as_ref()))
}

fn encoded(value: &Value) -> Value {
    expression(format!("jsonencode({})", hcl(value, 1)))
}

fn queue(setup: &Setup, out: &mut String) {
    let name = &setup.name;
    block(
        out,
        &["resource", "aws_sqs_queue", "replank_dead_letters"],
        &[
            ("name", json!(format!("{name}-dead-letters"))),
            ("message_retention_seconds", json!(DEAD_KEPT_SECONDS)),
            ("sqs_managed_sse_enabled", json!(true)),
        ],
    );
    let dead = expression("aws_sqs_queue.replank_dead_letters.arn");
    let redrive = json!({"deadLetterTargetArn": dead, "maxReceiveCount": RECEIVED_MAX});
    block(
        out,
        &["resource", "aws_sqs_queue", "replank"],
        &[
            ("name", json!(name)),
            ("message_retention_seconds", json!(KEPT_SECONDS)),
            ("visibility_timeout_seconds", json!(HIDDEN_SECONDS)),
            ("receive_wait_time_seconds", json!(20)),
            ("sqs_managed_sse_enabled", json!(true)),
            ("redrive_policy", encoded(&redrive)),
        ],
    );
    let mut rules = Vec::new();
    for rule in setup.rules() {
        let id = format!("replank_{}", rule.name);
        let of = format!("aws_cloudwatch_event_rule.{id}");
        rules.push(expression(format!("{of}.arn")));
        block(
            out,
            &["resource", "aws_cloudwatch_event_rule", &id],
            &[
                ("name", json!(format!("{name}-{}", rule.name))),
                ("description", json!(rule.about)),
                ("event_pattern", encoded(&rule.pattern)),
            ],
        );
        block(
            out,
            &["resource", "aws_cloudwatch_event_target", &id],
            &[
                ("rule", expression(format!("{of}.name"))),
                ("target_id", json!("queue")),
                ("arn", expression("aws_sqs_queue.replank.arn")),
            ],
        );
    }
    block(
        out,
        &["resource", "aws_sqs_queue_policy", "replank"],
        &[
            ("queue_url", expression("aws_sqs_queue.replank.id")),
            ("policy", encoded(&queue_policy(&expression("aws_sqs_queue.replank.arn"), &rules))),
        ],
    );
    for (number, group) in setup.groups.iter().enumerate() {
        block(
            out,
            &["resource", "aws_autoscaling_lifecycle_hook", &format!("replank_{}", number + 1)],
            &[
                ("name", json!(HOOK)),
                ("autoscaling_group_name", json!(group)),
                ("default_result", json!("CONTINUE")),
                ("heartbeat_timeout", json!(setup.heartbeat_seconds())),
                ("lifecycle_transition", json!("autoscaling:EC2_INSTANCE_TERMINATING")),
            ],
        );
    }
    block(out, &["output", "replank_queue_url"], &[("value", expression("aws_sqs_queue.replank.url"))]);
}

fn role(setup: &Setup, out: &mut String) {
    let arn = |service: &str, rest: &str| {
        let partition = "data.aws_partition.replank.partition";
        let region = if service == "iam" { "" } else { "${data.aws_region.replank.id}" };
        let account = "data.aws_caller_identity.replank.account_id";
        expression(format!("\"arn:${{{partition}}}:{service}:{region}:${{{account}}}:{}\"", escaped(rest)))
    };
    let names = Names { queue: expression("aws_sqs_queue.replank.arn"), arn: &arn };
    block(
        out,
        &["resource", "aws_iam_role", "replank"],
        &[
            ("name_prefix", json!(setup.name.chars().take(37).chain(['-']).collect::<String>())),
            ("description", json!(format!("Replank on cluster {}", setup.cluster))),
            ("assume_role_policy", encoded(&trust())),
        ],
    );
    if let Some(note) = note(setup) {
        let _written = write!(out, "\n# {note}.");
    }
    block(
        out,
        &["resource", "aws_iam_role_policy", "replank"],
        &[
            ("name", json!(setup.name)),
            ("role", expression("aws_iam_role.replank.id")),
            ("policy", encoded(&document(&statements(setup, &names)))),
        ],
    );
    block(
        out,
        &["resource", "aws_eks_pod_identity_association", "replank"],
        &[
            ("cluster_name", json!(setup.cluster)),
            ("namespace", json!(setup.namespace)),
            ("service_account", json!(setup.service_account)),
            ("role_arn", expression("aws_iam_role.replank.arn")),
        ],
    );
    block(out, &["output", "replank_role_arn"], &[("value", expression("aws_iam_role.replank.arn"))]);
}

/// A block with its arguments, aligned as `terraform fmt` has them.
pub(crate) fn block(out: &mut String, head: &[&str], arguments: &[(&str, Value)]) {
    let labels: String = head[1..].iter().map(|label| format!(" {label:?}")).collect();
    if arguments.is_empty() {
        let _written = writeln!(out, "\n{}{labels} {{}}", head[0]);
        return;
    }
    let _written = writeln!(out, "\n{}{labels} {{", head[0]);
    for part in arguments.chunk_by(|(_, one), (_, next)| !is_long(one) && !is_long(next)) {
        let width = part.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
        for (name, value) in part {
            let _written = writeln!(out, "  {name:width$} = {}", hcl(value, 1));
        }
    }
    out.push_str("}\n");
}

/// Whether it takes several lines.
fn is_long(value: &Value) -> bool {
    hcl(value, 1).contains('\n')
}

/// A value as an expression.
fn hcl(value: &Value, depth: usize) -> String {
    let (inner, outer) = ("  ".repeat(depth + 1), "  ".repeat(depth));
    match value {
        Value::String(text) => match text.strip_prefix(EXPRESSION) {
            Some(expression) => expression.to_owned(),
            None => format!("\"{}\"", escaped(text)),
        },
        Value::Array(all) => {
            let all: Vec<String> = all.iter().map(|one| hcl(one, depth + 1)).collect();
            match all.iter().any(|one| one.contains('\n')) || all.len() > 1 {
                false => format!("[{}]", all.join(", ")),
                true => {
                    let lines: String = all.iter().map(|one| format!("{inner}{one},\n")).collect();
                    format!("[\n{lines}{outer}]")
                }
            }
        }
        Value::Object(all) => {
            let keys: Vec<String> = all.keys().map(|key| name(key)).collect();
            let width = keys.iter().map(String::len).max().unwrap_or_default();
            let lines: String = keys
                .iter()
                .zip(all.values())
                .map(|(key, one)| format!("{inner}{key:width$} = {}\n", hcl(one, depth + 1)))
                .collect();
            format!("{{\n{lines}{outer}}}")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// A key: a word, or a text.
fn name(key: &str) -> String {
    let is_word = key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if is_word { key.to_owned() } else { format!("\"{}\"", escaped(key)) }
}

/// Within quotes: what would begin an expression is doubled.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    text.replace("${", "$${").replace("%{", "%%{")
}
