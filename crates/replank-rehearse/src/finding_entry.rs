//! A finding as reports show it and `-o json` prints it.

use replank_facts::coverage::{Coverage, Unseen, not_seen};
use replank_facts::finding::{Finding, ObjectName, Severity};
use replank_facts::remedy::{
    Block, Change, Commit, Edit, Installed, Remedy, Target, TargetKind, Way, blocks, commits, either,
};
use replank_model::object::Kind;
use replank_model::object::meta::Key;
use serde::Serialize;
use serde_json::Value;

use crate::proof::{Proofs, Verdict};

/// One finding.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FindingEntry {
    /// Stable id of the rule.
    pub id: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// Kind, namespace and name of the object.
    pub object: String,
    /// What is wrong, with its numbers.
    pub reason: String,
    /// What of the kinds that it rests on could not be seen.
    pub unseen: Vec<Unseen>,
    /// What to do: changes only if they were proved.
    pub remedy: String,
    /// The same in blocks, each of which goes to one place: a shell, a file.
    pub remedy_blocks: Vec<Block>,
    /// How far the remedy was proved.
    pub proof: Proof,
    /// Why no change is shown, where one was tried.
    pub withheld: Option<String>,
    /// The changes that the remedy shows, for a program.
    pub changes: Vec<ChangeEntry>,
    /// The same as they are committed where people change the objects, where that is known.
    pub commits: Vec<CommitEntry>,
}

/// How far a remedy was proved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Proof {
    /// Made on a copy, nothing is found any more, and the roll does not stop at it in a rehearsal.
    Rehearsed,
    /// Made on a copy, it is no longer found, and nothing as bad has come.
    Checked,
    /// It has no changes that a program could make: a person has to look.
    Advice,
    /// It has changes, and they could not be proved: they are not shown.
    Withheld,
    /// It was not tried.
    Untried,
}

/// One change.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangeEntry {
    /// As a person pastes it.
    pub command: String,
    /// As requests to the API.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<RequestEntry>,
    /// What the plan's `spec` is merged with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<Value>,
}

/// A change as it is committed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CommitEntry {
    /// Kind, namespace and name of the object.
    pub object: String,
    /// The tool that puts it back otherwise: `argocd`, `flux`, `helm`, `terraform`, `eks` or `cloudformation`.
    pub tool: &'static str,
    /// What of the tool's keeps the object: an Application, a Kustomization, a HelmRelease, a release, an add-on, a stack.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keeper: Option<String>,
    /// `added`, `set` or `gone`: what becomes of the object there.
    pub change: &'static str,
    /// What is written there; empty where its resource is taken away.
    pub text: String,
}

/// One request.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestEntry {
    /// `POST`, `PATCH` or `DELETE`.
    pub method: &'static str,
    /// Where.
    pub path: String,
    /// Type of the body.
    pub content_type: &'static str,
    /// The body.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub body: Value,
}

impl FindingEntry {
    /// A finding whose remedy was not tried.
    pub fn untried<R>(id: &'static str, finding: &Finding<R>) -> Self {
        let remedy = &finding.remedy;
        let proof = if remedy.ways.is_empty() { Proof::Advice } else { Proof::Untried };
        Self::new(id, finding, remedy.text(), proof)
    }

    /// A finding in a cluster with what was proved of its remedy.
    pub fn proved<R>(
        id: &'static str,
        finding: &Finding<R>,
        proofs: &Proofs,
        installed: &mut Installed<'_>,
    ) -> Self {
        let remedy = &finding.remedy;
        if remedy.ways.is_empty() {
            return Self::new(id, finding, remedy.text(), Proof::Advice);
        }
        let of = |wanted: &dyn Fn(&Verdict) -> bool| -> Vec<&Way> {
            let ways = remedy.ways.iter().zip(&proofs.ways);
            ways.filter(|(_, verdict)| wanted(verdict)).map(|(way, _)| way).collect()
        };
        let proved = of(&|verdict| *verdict == Verdict::Proved);
        let shown = of(&|verdict| matches!(verdict, Verdict::Proved | Verdict::ForAPlan));
        let look = (!remedy.look.is_empty()).then(|| remedy.look.clone());
        if shown.is_empty() {
            let otherwise = (!remedy.otherwise.is_empty()).then(|| remedy.otherwise.clone());
            let lines: Vec<String> = look.into_iter().chain(otherwise).collect();
            let text = if lines.is_empty() { inspect(finding) } else { lines.join("\n") };
            let why = proofs.ways.iter().find_map(|verdict| match verdict {
                Verdict::Withheld(why) => Some(why.clone()),
                Verdict::Proved | Verdict::ForAPlan => None,
            });
            return Self { withheld: why, ..Self::new(id, finding, text, Proof::Withheld) };
        }
        let kind = TargetKind::of(&finding.object.kind);
        let at = kind.map(|kind| Target::new(kind, finding.object.key.clone()));
        let edits = proved.iter().take(1).flat_map(|way| &way.edits);
        let commits: Vec<Commit> = edits.flat_map(|edit| commits(installed, edit, at.as_ref())).collect();
        let told = commits.iter().map(ToString::to_string);
        let text: Vec<String> = look.into_iter().chain([either(&shown)]).chain(told).collect();
        let proof = match (proved.is_empty(), proofs.rehearsed) {
            (true, _) => Proof::Advice,
            (false, true) => Proof::Rehearsed,
            (false, false) => Proof::Checked,
        };
        let changes = proved.iter().take(1).flat_map(|way| &way.edits).map(ChangeEntry::of).collect();
        let commits = commits.iter().map(CommitEntry::of).collect();
        Self { changes, commits, ..Self::new(id, finding, text.join("\n"), proof) }
    }

    /// The finding of a rule that rests on some kinds, with what could not be seen of them.
    #[must_use]
    pub fn seeing(self, coverage: &Coverage, reads: &[Kind]) -> Self {
        Self { unseen: coverage.unseen(reads), ..self }
    }

    /// What of the kinds that it rests on could not be seen, in words.
    #[must_use]
    pub fn not_seen(&self) -> Option<String> {
        not_seen(&self.unseen)
    }

    /// What is wrong, and what of it could not be seen, in one sentence.
    #[must_use]
    pub fn told(&self) -> String {
        match self.not_seen() {
            Some(not_seen) => format!("{}; {not_seen}", self.reason),
            None => self.reason.clone(),
        }
    }

    /// What only a rehearsal finds: an object, by kind, namespace and name, that stopped the roll.
    pub(crate) fn of_rehearsal(id: &'static str, object: &str, reason: &str) -> Self {
        Self::rehearsed(id, Severity::Blocking, object, reason)
    }

    /// What only a rehearsal finds: what became of an object, though the roll went on.
    pub(crate) fn seen(id: &'static str, object: &str, reason: &str) -> Self {
        Self::rehearsed(id, Severity::Warning, object, reason)
    }

    /// As [`Self::seen`], with what to do about it.
    pub(crate) fn advised(id: &'static str, object: &str, reason: &str, remedy: String) -> Self {
        Self::seen(id, object, reason).with_remedy(remedy)
    }

    /// With what to do about it in place of where to look.
    pub(crate) fn with_remedy(self, remedy: String) -> Self {
        Self { remedy_blocks: blocks(&remedy), remedy, ..self }
    }

    fn rehearsed(id: &'static str, severity: Severity, object: &str, reason: &str) -> Self {
        let (kind, key) = object.split_once(' ').unwrap_or((object, ""));
        let key = key
            .split_once('/')
            .map_or_else(|| Key::cluster(key), |(namespace, name)| Key::new(namespace, name));
        let finding = Finding {
            rule: (),
            severity,
            object: ObjectName::new(kind, key),
            reason: reason.to_owned(),
            remedy: Remedy::default(),
        };
        let look = inspect(&finding);
        Self::new(id, &finding, look, Proof::Advice)
    }

    /// What to do, or to look at, with the reason why no change is shown where one was tried.
    #[must_use]
    pub fn to_do(&self) -> String {
        match &self.withheld {
            Some(why) => format!(
                "{}\n# no change is proposed: the usual one was tried on a copy, and {why}",
                self.remedy
            ),
            None => self.remedy.clone(),
        }
    }

    fn new<R>(id: &'static str, finding: &Finding<R>, remedy: String, proof: Proof) -> Self {
        Self {
            id,
            severity: finding.severity,
            object: finding.object.to_string(),
            reason: finding.reason.clone(),
            unseen: Vec::new(),
            remedy_blocks: blocks(&remedy),
            remedy,
            proof,
            withheld: None,
            changes: Vec::new(),
            commits: Vec::new(),
        }
    }
}

/// Where to look if nothing better is known; empty if there is nothing to look at.
fn inspect<R>(finding: &Finding<R>) -> String {
    let (kind, key) = (finding.object.kind.to_lowercase(), &finding.object.key);
    outside_kubernetes(&finding.object).unwrap_or_else(|| match key.namespace.as_str() {
        "" => format!("kubectl get {kind} {} -o yaml", key.name),
        namespace => format!("kubectl -n {namespace} get {kind} {} -o yaml", key.name),
    })
}

/// Where to look at what kubectl has no kind for.
fn outside_kubernetes(object: &ObjectName) -> Option<String> {
    let name = &object.key.name;
    Some(match &*object.kind {
        // The name of the cluster is not known here, so this is nothing to paste.
        "NodeGroup" => format!(
            "look at node group {name}: aws eks describe-nodegroup --cluster-name CLUSTER --nodegroup-name {name}, or if EKS does not manage it, aws autoscaling describe-auto-scaling-groups"
        ),
        "AutoScalingGroup" => {
            format!("aws autoscaling describe-auto-scaling-groups --auto-scaling-group-names {name}")
        }
        "Label" => format!("kubectl get nodes -L {name}"),
        "Taint" => "kubectl get nodes -o custom-columns=NAME:.metadata.name,TAINTS:.spec.taints".to_owned(),
        // Their findings say themselves what to do, and no command shows what they are about.
        "Queue" | "Cluster" | "Snapshot" => String::new(),
        // A subject of the run, such as the run itself: kinds of Kubernetes begin with a capital letter.
        own if own.starts_with(char::is_lowercase) => String::new(),
        _ => return None,
    })
}

impl CommitEntry {
    fn of(commit: &Commit) -> Self {
        Self {
            object: commit.object.to_string(),
            tool: commit.tool(),
            keeper: commit.keeper(),
            change: match commit.change() {
                Change::Added => "added",
                Change::Set => "set",
                Change::Gone => "gone",
            },
            text: commit.text.clone(),
        }
    }
}

impl ChangeEntry {
    fn of(edit: &Edit) -> Self {
        let requests = edit.writes().into_iter().map(|write| {
            let (method, content_type) = write.verb.method();
            RequestEntry { method, path: write.path, content_type, body: write.body }
        });
        Self { command: edit.to_string(), requests: requests.collect(), plan: edit.of_plan() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kubectl_is_asked_for_kinds_that_it_has() {
        let told = |object: &str| FindingEntry::of_rehearsal("stops-the-roll", object, "why").remedy;
        assert_eq!(told("Pod shop/cart"), "kubectl -n shop get pod cart -o yaml");
        assert_eq!(told("NodePool web"), "kubectl get nodepool web -o yaml");
        let group = told("NodeGroup web");
        assert!(
            group.contains("aws eks describe-nodegroup --cluster-name CLUSTER --nodegroup-name web"),
            "{group}"
        );
        let asg = "aws autoscaling describe-auto-scaling-groups --auto-scaling-group-names web";
        assert_eq!(told("AutoScalingGroup web"), asg);
        assert_eq!(told("Label role"), "kubectl get nodes -L role");
        for object in ["Queue q", "Cluster cluster", "Snapshot persistentvolumeclaims", "instance i-1", "run"]
        {
            assert_eq!(told(object), "", "nothing is to be looked at");
        }
        for object in ["NodeGroup web", "AutoScalingGroup web", "Taint t"] {
            let kind = object.split(' ').next().unwrap_or_default().to_lowercase();
            assert!(!told(object).contains(&format!("get {kind} ")), "{}", told(object));
        }
    }
}
