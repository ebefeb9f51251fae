//! What keeps a run from beginning: what no run can do, and where its plan refuses to begin with blocking findings all of them (promise S9).

use replank_facts::finding::Severity;
use replank_facts::plan::{BlockingFindings, Plan, RunOptions};
use replank_model::text::Text;
use replank_model::view::View;
use replank_protocol::waiting::{RunEnd, Subject, Waiting, WaitingOn};

use crate::check::{self, Finding, Rule};

/// The blocking findings that keep the run from beginning, one for each object, in order.
#[must_use]
pub fn blocking(view: &View, plan: &Plan, options: &RunOptions) -> Vec<Waiting> {
    let findings = match plan.care.blocking_findings {
        BlockingFindings::Refuse => check::run(view, Some(plan), options),
        BlockingFindings::Proceed => check::impossible(view, plan, options),
    };
    waits(&findings)
}

/// The same for a roll that is one step of an upgrade: its order keeps the versions together, and the control plane has come further by then than the snapshot shows.
#[must_use]
pub fn blocking_step(view: &View, plan: &Plan, options: &RunOptions) -> Vec<Waiting> {
    let mut findings = check::impossible(view, plan, options);
    findings.retain(|finding| finding.rule != Rule::VersionSkew);
    waits(&findings)
}

fn waits(findings: &[Finding]) -> Vec<Waiting> {
    let blocking = findings.iter().filter(|finding| finding.severity == Severity::Blocking);
    let mut waiting: Vec<Waiting> = blocking
        .map(|finding| {
            let what = Subject::Object(Text::from(finding.object.to_string()));
            let rule = Text::from(finding.rule.id());
            Waiting {
                what,
                on: WaitingOn::RunEnd(RunEnd::Finding { rule, reason: Text::from(&*finding.reason) }),
            }
        })
        .collect();
    waiting.sort_by(|a, b| a.what.cmp(&b.what));
    waiting.dedup_by(|later, first| later.what == first.what);
    waiting
}
