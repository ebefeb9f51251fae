//! A rehearsal as a change request in Markdown: what an on-call engineer has to know before they say yes.
//!
//! Every sentence comes from the plan or from the rehearsal's result; what neither of them knows is not said.

mod outcome;
mod steps;
mod subject;

use replank_facts::plan::{ChosenBy, TaintChange};
use replank_rehearse::{Ending, Stop, Verdict};
pub(crate) use subject::Request;
/// `1 is`, `2 are`.
fn are(number: usize) -> String {
    format!("{number} {}", if number == 1 { "is" } else { "are" })
}

#[cfg(test)]
mod tests;

use super::markdown::escape;
use super::words::{count, span};
use replank_facts::groups::LearntGroup;

/// The page.
pub(crate) fn request(request: &Request<'_>) -> String {
    let sections = [
        head(request),
        section("What changes", &changes(request)),
        section("When, and how long", &outcome::when(request)),
        section("Impact", &outcome::noticed(request.result)),
        section("Risks", &outcome::risks(request.result)),
        section("Before the change", &outcome::before(request.result)),
        section("Steps", &steps::steps(request.plan, request.result)),
        section("How to stop", &steps::stop(request.plan)),
        section("How to roll back", &steps::back(request.plan)),
        section("Evidence", &outcome::evidence(request)),
    ];
    sections.concat() + &crate::coverage::markdown(&request.result.coverage)
}

fn section(title: &str, text: &str) -> String {
    format!("\n## {title}\n\n{}\n", text.trim_end())
}

fn head(request: &Request<'_>) -> String {
    let result = request.result;
    let nodes = count(result.nodes.total, "node");
    let verdict = match (request.about.stop, result.verdict) {
        (Stop::Interrupted, _) => {
            "**Do not approve: the rehearsal was interrupted.** The figures are partial.".to_owned()
        }
        (Stop::Ended | Stop::TimeUp | Stop::Silence, Verdict::Passes) => {
            format!(
                "**Rehearsed: passes.** All {nodes} are replaced in {}, without findings.",
                span(result.virtual_duration)
            )
        }
        (Stop::Ended | Stop::TimeUp | Stop::Silence, Verdict::Findings) => format!(
            "**Rehearsed: {}{}.** {} of {nodes} are replaced in {}. Read the risks before you approve.",
            match result.ending {
                Ending::Cancelled => "the operator cancels it",
                Ending::RolledBack => "the operator rolls it back",
                Ending::Done | Ending::Blocked | Ending::Refused | Ending::Open => "it ends",
            },
            match result.findings.len() {
                0 => String::new(),
                findings => format!(", with {}", count(findings, "finding")),
            },
            result.nodes.replaced,
            span(result.virtual_duration)
        ),
        (Stop::Ended | Stop::TimeUp | Stop::Silence, Verdict::Partial) => format!(
            "**Rehearsed: {} of {nodes} are replaced in {}; {} blocked.** Read what keeps them, and the risks, before you approve.",
            result.nodes.replaced,
            span(result.virtual_duration),
            are(result.nodes.total - result.nodes.replaced)
        ),
        (Stop::Ended | Stop::TimeUp | Stop::Silence, Verdict::Incomplete) => {
            "**Do not approve: incomplete.** Parts of the cluster were not seen (see Coverage).".to_owned()
        }
        (Stop::Ended | Stop::TimeUp | Stop::Silence, Verdict::Refused) => {
            "**Do not approve as is: refused.** The plan does not start with blocking findings.".to_owned()
        }
        (Stop::RanAway, _) => {
            "**Do not approve: the rehearsal was stopped.** Something in this cluster makes or changes more objects than a roll can need."
                .to_owned()
        }
        (Stop::Ended | Stop::TimeUp | Stop::Silence, Verdict::Blocked) => format!(
            "**Do not approve as is: blocked.** {} of {nodes} are replaced, then the run cannot continue{}; total {}.",
            result.nodes.replaced,
            match result.ending {
                Ending::RolledBack => " and rolls back",
                Ending::Done | Ending::Blocked | Ending::Cancelled | Ending::Refused | Ending::Open => "",
            },
            span(result.virtual_duration)
        ),
    };
    let mut text = format!("# Change request: {}\n\n{verdict}\n", escape(request.about.plan));
    if !result.blockers.is_empty() {
        let is_blocked = matches!(result.verdict, Verdict::Blocked | Verdict::Refused);
        text.push_str(if is_blocked { "\nWhat blocks:\n\n" } else { "\nWhat is left:\n\n" });
        for blocker in &result.blockers {
            text.push_str(&format!("- {}: {}\n", escape(&blocker.what), escape(&blocker.reason)));
        }
    }
    text
}

fn changes(request: &Request<'_>) -> String {
    let (plan, result) = (request.plan, request.result);
    let chosen = match &plan.nodes.by {
        ChosenBy::Groups(names) => {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            format!("of {} {}", if names.len() == 1 { "group" } else { "groups" }, names.join(", "))
        }
        ChosenBy::Selector(selector) => format!("that match `{selector}`"),
    };
    let narrowed = match &plan.nodes.kubelet_version {
        Some(bound) => format!(" with a kubelet {}", escape(&bound.to_string())),
        None => String::new(),
    };
    let mut text =
        format!("{} {chosen}{narrowed} are replaced by new ones.\n\n", count(result.nodes.total, "node"));
    let differences = differences(request);
    if differences.is_empty() {
        text.push_str("New nodes are identical to the old ones: only the instances change.\n");
    }
    for difference in differences {
        text.push_str(&format!("- {difference}\n"));
    }
    text
}

fn differences(request: &Request<'_>) -> Vec<String> {
    let target = &request.plan.target;
    let mut all = Vec::new();
    if let Some(group) = &target.group {
        all.push(format!("they join group `{group}`"));
    }
    let rolled = |learnt: &&LearntGroup| match &request.plan.nodes.by {
        ChosenBy::Groups(names) => names.contains(&learnt.group.name),
        ChosenBy::Selector(_) => true,
    };
    let templates = || request.groups.iter().filter(rolled).map(|learnt| learnt.group.template());
    if let Some(version) = target.version() {
        let mut old: Vec<&str> = templates().map(|template| &*template.profile.kubelet_version).collect();
        old.sort_unstable();
        old.dedup();
        all.push(format!("Kubernetes: {} → {version}", old.join(", ")));
    }
    let implied = || {
        let version = target.kubernetes_version.as_ref()?;
        let mut all: Vec<String> = templates()
            .filter(|template| !version.matches(&template.profile.kubelet_version))
            .map(|template| template.ami_type.image(&version.to_string()).to_string())
            .collect();
        all.sort_unstable();
        all.dedup();
        (!all.is_empty()).then(|| all.join(", "))
    };
    let release = || target.release_version.as_ref().map(|release| format!("release {release}"));
    let image = target.image.as_ref().map(ToString::to_string).or_else(release).or_else(implied);
    if let Some(image) = image {
        let mut old: Vec<&str> =
            templates().map(|template| &*template.image).filter(|image| !image.is_empty()).collect();
        old.sort_unstable();
        old.dedup();
        let old = if old.is_empty() { String::new() } else { format!("{} → ", old.join(", ")) };
        all.push(format!("machine image: {old}{}", escape(&image)));
    }
    for (key, value) in &target.labels {
        all.push(match value {
            Some(value) => format!("label `{key}={value}` is set"),
            None => format!("label `{key}` is removed"),
        });
    }
    for change in &target.taints {
        all.push(match change {
            TaintChange::Set(taint) => {
                format!("taint `{}={}:{}` is set", taint.key, taint.value, taint.effect.as_str())
            }
            TaintChange::Remove(taint) => {
                format!("taint `{}:{}` is removed", taint.key, taint.effect.as_str())
            }
        });
    }
    all
}
