//! The plan: from a file, or from flags.

use std::ffi::OsStr;
use std::path::Path;

use anyhow::anyhow;
use replank_facts::groups::LearntGroup;
use replank_facts::plan::{KIND, Plan, Target};
use replank_intake::document::{Document, Found};
use replank_intake::limits::Limits;
use replank_intake::problem::Problem;
use replank_intake::read::read;
use replank_intake::source::Source;
use replank_model::text::{GroupName, Text};
use replank_model::view::View;
use serde_json::Value;

use super::groups;
use crate::args::PlanArgs;
use crate::failure::Failure;

/// What to do about a plan that is wrong.
const CORRECT: &str = "correct the plan and run again; docs/plan.md lists every field";

/// The plan that arguments give, if any.
///
/// # Errors
/// Where the file cannot be read, or is not right.
pub(crate) fn of(args: &PlanArgs) -> Result<Option<Plan>, Failure> {
    match &args.plan {
        Some(path) => from_file(path).map(Some),
        None => Ok((!args.roll.is_empty()).then(|| from_flags(args))),
    }
}

/// Reads a plan from a file, or from standard input (`-`).
fn from_file(path: &Path) -> Result<Plan, Failure> {
    let source = Source::from_argument(path.as_os_str());
    let name = if path.as_os_str() == OsStr::new("-") {
        "standard input".to_owned()
    } else {
        path.display().to_string()
    };
    from_source(source, &name)
}

/// Reads a plan from a file, with `provider: external` in it where that is asked for on the command line.
///
/// # Errors
/// Where the file cannot be read, or is not right.
pub(crate) fn from_file_provided(path: &Path, is_external: bool) -> Result<Plan, Failure> {
    let source = Source::from_argument(path.as_os_str());
    let provide = |value: &mut Value| {
        if let Some(spec) = value.get_mut("spec").filter(|spec| is_external && spec.is_object()) {
            spec["provider"] = "external".into();
        }
    };
    from_source_changed(source, &path.display().to_string(), &provide)
}

/// Reads a plan from anything that holds exactly one.
pub(super) fn from_source(source: Source, name: &str) -> Result<Plan, Failure> {
    from_source_changed(source, name, &|_| {})
}

fn from_source_changed(source: Source, name: &str, change: &dyn Fn(&mut Value)) -> Result<Plan, Failure> {
    let mut documents: Vec<Document> = Vec::new();
    let mut problems: Vec<Problem> = Vec::new();
    read(vec![source], &Limits::default(), &mut |found| match found {
        Found::Document(document) => documents.push(document),
        Found::List { .. } => {}
        Found::Problem(problem) => problems.push(problem),
    })
    .map_err(|error| Failure::usage(anyhow::Error::new(error).context("the plan cannot be read")))?;
    if let Some(problem) = problems.into_iter().next() {
        return Err(
            Failure::usage(anyhow::Error::new(problem).context("the plan cannot be read")).next(CORRECT)
        );
    }
    let document = match documents.as_slice() {
        [only] => only,
        [] => {
            return Err(Failure::usage(anyhow!("the plan {name} is empty"))
                .next(format!("write one (kind: {KIND}; docs/plan.md has examples), or use --roll GROUP")));
        }
        [_, _, ..] => {
            let error = anyhow!("the plan {name} holds {} documents, expected one", documents.len());
            return Err(Failure::usage(error).next("keep one plan per file; pass snapshots without -f"));
        }
    };
    let mut value = document.value.clone();
    change(&mut value);
    Plan::read(&value).map_err(|errors| {
        Failure::usage(anyhow::Error::new(errors).context(format!("the plan {name} is invalid")))
            .next(CORRECT)
    })
}

/// The plan that `--roll` stands for.
fn from_flags(args: &PlanArgs) -> Plan {
    let names: Vec<&str> = args.roll.iter().map(|name| name.trim()).collect();
    let groups: Vec<GroupName> = names.iter().map(|name| GroupName::from(*name)).collect();
    let target = Target {
        kubernetes_version: args.to_version.clone(),
        image: args.image.clone(),
        ..Target::default()
    };
    let mut plan = Plan::of_groups(format!("roll of {}", names.join(",")), groups, target);
    if let Some(surge) = &args.surge {
        plan.budget.surge = surge.clone();
    }
    plan.pace.parallel = args.parallel.unwrap_or(plan.pace.parallel);
    if plan.budget.surge.is_zero() {
        // As in a plan: with both 0 no node could be replaced.
        plan.budget.max_unavailable = 1.into();
    }
    plan
}

/// That nothing says what to do, and what could be done.
pub(super) fn missing(view: &View, known: &[LearntGroup], label: &Text) -> Failure {
    let given = view.others().find(|other| &*other.kind == KIND);
    let next = match given {
        Some(plan) => format!("the snapshot holds the {KIND} {}: pass its file with -f", plan.meta.name),
        None => format!("pass -f PLAN or --roll GROUP; {}", groups::there_are(known, label)),
    };
    Failure::usage_message("no nodes to roll given").next(next)
}
