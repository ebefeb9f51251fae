//! Answers for a program; docs/place-json.md describes the form.

use replank_advice::place::{
    Answer, Change, Copies, DaemonRow, Fate, Outcome, PlacementQuery, Queued, Remedy, Row, UnschedulablePod,
    Wanted,
};
use replank_facts::coverage::Coverage;
use replank_model::object::pod::PodSpec;
use replank_schedule::{Failure as Objection, Nomination, Verdict};
use serde_json::{Map, Value, json};

use super::pending::Stuck;
use super::{Found, Question, Why};
use crate::cli::PlaceArgs;
use crate::failure::Failure;

/// The version of the form.
const VERSION: &str = "replank.dev/placement/v1alpha1";

/// All answers.
pub(super) fn questions(
    args: &PlaceArgs,
    query: &PlacementQuery,
    questions: &[Question],
    coverage: &Coverage,
) -> Result<String, Failure> {
    let questions: Vec<Value> = questions.iter().map(question).collect();
    text(args, query, ("questions", Value::Array(questions)), coverage)
}

/// All pods that wait.
pub(super) fn pending(
    args: &PlaceArgs,
    query: &PlacementQuery,
    queued: &[Queued],
    stuck: &[Stuck<'_>],
    coverage: &Coverage,
) -> Result<String, Failure> {
    let remedy_of = |one: &Queued| {
        let found = stuck.iter().find(|stuck| std::ptr::eq(stuck.first, one));
        found.and_then(|stuck| stuck.remedy.as_ref())
    };
    let pods = queued.iter().map(|one| pending_pod(one, remedy_of(one)));
    text(args, query, ("pending", pods.collect()), coverage)
}

fn text(
    args: &PlaceArgs,
    query: &PlacementQuery,
    (key, answers): (&str, Value),
    coverage: &Coverage,
) -> Result<String, Failure> {
    let picks =
        |picks: &[replank_advice::place::Pick]| picks.iter().map(ToString::to_string).collect::<Vec<_>>();
    let mut all = Map::new();
    all.insert("version".to_owned(), Value::from(VERSION));
    all.insert("nodes".to_owned(), Value::from(query.view().nodes.len()));
    all.insert(
        "whatIf".to_owned(),
        json!({
            "without": picks(&args.without),
            "cordon": picks(&args.cordon),
            "onlyGroup": args.only_group,
        }),
    );
    all.insert("coverage".to_owned(), json!(coverage));
    all.insert(key.to_owned(), answers);
    let text = serde_json::to_string_pretty(&Value::Object(all)).map_err(Failure::internal)?;
    Ok(text + "\n")
}

fn question(question: &Question) -> Value {
    let mut value = match &question.result {
        Found::Pod { answer, why, copies, remedies } => pod(answer, why, copies.as_ref(), remedies),
        Found::PerNode { rows, why } => per_node(rows, why),
    };
    value["object"] = Value::from(&*question.object);
    value["notes"] = json!(question.notes);
    value["fits"] = Value::from(question.result.fits());
    value
}

fn pod(answer: &Answer, why: &Why, copies: Option<&Copies>, remedies: &[Remedy]) -> Value {
    let stuck = copies.and_then(|copies| copies.stopped.as_ref());
    let spec = stuck.map_or(&answer.pod.spec, |(pod, _)| &pod.spec);
    let (outcome, feasible) = match &answer.outcome {
        Outcome::Fits(feasible) => ("fits", *feasible),
        Outcome::Gated { feasible, .. } => ("gated", *feasible),
        Outcome::DoesNotFit(_) => ("doesNotFit", 0),
        Outcome::Error(_) => ("error", 0),
    };
    let mut value = json!({
        "pod": {"namespace": answer.pod.meta.namespace, "name": answer.pod.meta.name},
        "outcome": outcome,
        "feasible": feasible,
        "best": answer.best,
        "nodes": answer.rows.iter().map(|one| row(one, why)).collect::<Vec<_>>(),
        "remedies": remedies.iter().map(|one| remedy(one, spec)).collect::<Vec<_>>(),
    });
    match &answer.outcome {
        Outcome::Fits(_) => {}
        Outcome::Gated { gates, .. } => value["gates"] = json!(gates),
        Outcome::DoesNotFit(found) => unschedulable(&mut value, found),
        Outcome::Error(error) => value["message"] = Value::from(error.to_string()),
    }
    if let Some(copies) = copies {
        value["copies"] = self::copies(copies);
    }
    value
}

fn unschedulable(value: &mut Value, unschedulable: &UnschedulablePod) {
    value["message"] = Value::from(&*unschedulable.message);
    if let Some(nomination) = &unschedulable.preemption {
        value["preemption"] = preemption(nomination);
    }
}

fn preemption(nomination: &Nomination) -> Value {
    let victims: Vec<String> = nomination.victims.iter().map(ToString::to_string).collect();
    json!({"node": nomination.node, "victims": victims, "violations": nomination.violations})
}

fn copies(copies: &Copies) -> Value {
    let by_node = copies.by_node();
    let nodes: Vec<Value> = by_node.iter().map(|(node, pods)| json!({"node": node, "pods": pods})).collect();
    let mut value = json!({"asked": copies.asked, "placed": copies.placed.len(), "byNode": nodes});
    if let Some((_, stopped)) = &copies.stopped {
        unschedulable(&mut value, stopped);
    }
    value
}

fn row(row: &Row, why: &Why) -> Value {
    let mut value = json!({"name": row.node, "group": row.group, "zone": row.zone});
    match &row.verdict {
        Verdict::Fits(scores) => {
            value["fits"] = Value::from(true);
            if let Some(scores) = scores {
                value["score"] = Value::from(scores.total);
                let each =
                    scores.by_plugin.iter().map(|(plugin, score)| (plugin.name().to_owned(), json!(score)));
                value["scores"] = Value::Object(each.collect());
            }
        }
        Verdict::Fails { first, all } => {
            value["fits"] = Value::from(false);
            value["plugin"] = Value::from(first.plugin.name());
            let words = why.get(&row.node);
            let word = |at: usize| words.and_then(|words| words.get(at));
            value["objections"] = match all.is_empty() {
                true => json!([objection(first, None)]),
                false => all.iter().enumerate().map(|(at, one)| objection(one, word(at))).collect(),
            };
        }
    }
    value
}

fn objection(failure: &Objection, why: Option<&String>) -> Value {
    let reasons: Vec<String> = failure.reasons.iter().map(ToString::to_string).collect();
    let plain = replank_facts::why::plain(failure);
    json!({
        "plugin": failure.plugin.name(),
        "code": failure.code.name(),
        "reasons": reasons,
        "why": why.unwrap_or(&plain),
    })
}

fn remedy(remedy: &Remedy, spec: &PodSpec) -> Value {
    json!({
        "text": remedy.to_string(),
        "changes": remedy.changes.iter().map(change).collect::<Vec<_>>(),
        "node": remedy.node,
        "feasible": remedy.feasible,
        "paste": remedy.paste(spec),
    })
}

pub(super) fn change(change: &Change) -> Value {
    let mut value = serde_json::to_value(change).unwrap_or_default();
    value["text"] = Value::from(change.to_string());
    value
}

fn per_node(rows: &[DaemonRow], why: &Why) -> Value {
    let fitting = rows.iter().filter(|row| row.wanted == Wanted::Yes);
    let feasible = fitting.filter(|row| matches!(row.row.verdict, Verdict::Fits(_))).count();
    let nodes = rows.iter().map(|daemon| {
        let mut value = row(&daemon.row, why);
        value["wanted"] = Value::from(daemon.wanted == Wanted::Yes);
        value
    });
    json!({"outcome": "perNode", "feasible": feasible, "nodes": nodes.collect::<Vec<_>>()})
}

fn pending_pod(queued: &Queued, found: Option<&Remedy>) -> Value {
    let workload = queued.workload.as_ref().map(ToString::to_string);
    let mut value = json!({
        "pod": {"namespace": queued.pod.meta.namespace, "name": queued.pod.meta.name},
        "workload": workload,
        "priority": queued.pod.spec.priority.unwrap_or(0),
        "from": queued.from,
    });
    match &queued.fate {
        Fate::Placed(node) => {
            value["outcome"] = Value::from("placed");
            value["node"] = json!(node);
        }
        Fate::Gated(gates) => {
            value["outcome"] = Value::from("gated");
            value["gates"] = json!(gates);
        }
        Fate::DoesNotFit(known) => {
            value["outcome"] = Value::from("doesNotFit");
            unschedulable(&mut value, known);
        }
        Fate::Lost => value["outcome"] = Value::from("lost"),
    }
    if let Some(found) = found {
        value["remedy"] = remedy(found, &queued.pod.spec);
    }
    value
}
