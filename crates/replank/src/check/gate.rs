//! A check as a gate: which findings are shown, which are let be, and which end with exit code 3.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use replank_advice::check::Rule;
use replank_facts::finding::Severity;
use replank_facts::plan::nearest;
use replank_lifecycle::exception::{Exception, Exceptions};
use replank_lifecycle::files::glob;
use replank_model::view::View;
use replank_rehearse::FindingEntry;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// The version of the JSON form, which a baseline has too.
pub(super) const VERSION: &str = "replank.dev/check/v1alpha1";

/// What counts.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "What counts")]
pub(crate) struct GateArgs {
    /// The least severe findings that cause exit code 3.
    #[arg(long, value_enum, value_name = "SEVERITY", default_value_t = FailOn::Info)]
    pub(crate) fail_on: FailOn,

    /// Only findings of these rules, such as pdb-never-allows,no-room.
    #[arg(long, value_name = "RULE", value_delimiter = ',', value_parser = rule)]
    pub(crate) only: Vec<Rule>,

    /// Only findings about objects in these namespaces.
    #[arg(short = 'n', long, value_name = "NAMESPACE", value_delimiter = ',')]
    pub(crate) namespace: Vec<String>,

    /// Findings to ignore: a file with reasons and expiry dates; docs/check.md describes it.
    #[arg(long, value_name = "FILE")]
    pub(crate) ignore_file: Option<PathBuf>,

    /// Only what is new: findings that are not in FILE, an earlier output of `replank check -o json`.
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,

    /// Shows all findings, where the text has only the worst of many.
    #[arg(long)]
    pub(crate) all: bool,
}

/// The least severe findings that fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// Only what stops the roll.
    Blocking,
    /// Also what users notice, or what loses work.
    Warning,
    /// Any finding.
    Info,
    /// None.
    Never,
}

impl FailOn {
    fn fails(self, finding: &FindingEntry) -> bool {
        match self {
            Self::Blocking => finding.severity == Severity::Blocking,
            Self::Warning => finding.severity.is_serious(),
            Self::Info => true,
            Self::Never => false,
        }
    }
}

/// The rule of an id.
///
/// # Errors
/// Where there is none.
pub(super) fn rule(text: &str) -> Result<Rule, String> {
    let known = || Rule::ALL.iter().copied().find(|rule| rule.id() == text);
    known().ok_or_else(|| "expected the id of a rule; `replank explain` lists them".to_owned())
}

/// What a gate makes of findings.
#[derive(Debug, Default)]
pub(super) struct Gated {
    /// Findings that count.
    pub(super) findings: Vec<FindingEntry>,
    /// Findings that an exception lets be, and why.
    pub(super) ignored: Vec<Ignored>,
    /// Findings that the baseline has.
    pub(super) in_baseline: usize,
    /// Findings that were not asked for.
    pub(super) not_asked_for: usize,
    /// What is to be said of the exceptions.
    pub(super) warnings: Vec<String>,
    /// Whether a finding ends with exit code 3.
    pub(super) fails: bool,
}

/// A finding that an exception lets be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Ignored {
    /// The rule.
    id: &'static str,
    /// The object.
    object: String,
    /// Why it is let be.
    because: String,
    /// Until when.
    expires: String,
}

/// One exception.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ignore {
    reason: String,
    expires: String,
    rule: Option<String>,
    kind: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
}

/// The members of an earlier result that matter.
#[derive(Deserialize)]
struct Earlier {
    version: String,
    findings: Vec<EarlierFinding>,
}

#[derive(Deserialize)]
struct EarlierFinding {
    id: String,
    object: String,
}

/// What was read for a gate: its mistakes are found before a snapshot is.
pub(super) struct Gate<'a> {
    args: &'a GateArgs,
    exceptions: Exceptions<Ignore>,
    known: BTreeSet<(String, String)>,
}

impl<'a> Gate<'a> {
    /// Reads the files that are named.
    ///
    /// # Errors
    /// Where one is not there, or has another form.
    pub(super) fn read(args: &'a GateArgs) -> Result<Self, Failure> {
        let exceptions = args.ignore_file.as_deref().map(exceptions).transpose()?.unwrap_or_default();
        let known = args.baseline.as_deref().map(baseline).transpose()?.unwrap_or_default();
        Ok(Self { args, exceptions, known })
    }

    /// Refuses a namespace that nothing is in: it would pass the gate for a typing error.
    ///
    /// # Errors
    /// Which one.
    pub(super) fn check_namespaces(&self, view: &View) -> Result<(), Failure> {
        let pods = view.pods.unordered().map(|(_, pod)| &pod.meta.namespace);
        let mut known: BTreeSet<String> = pods.map(ToString::to_string).collect();
        known.extend(view.namespaces.unordered().map(|(_, one)| one.meta.name.to_string()));
        let mut unknown = self.args.namespace.iter().filter(|name| !known.contains(*name));
        match unknown.next() {
            None => Ok(()),
            Some(name) => Err(Failure::usage_message(format!("namespace {name} is not in the snapshot"))
                .next(match nearest(name, known.iter().map(String::as_str)) {
                    Some(near) => format!("did you mean {near}?"),
                    None => "kubectl get namespaces lists them".to_owned(),
                })),
        }
    }

    /// Sorts findings on a day, such as 2026-11-22.
    pub(super) fn apply(&self, findings: Vec<FindingEntry>, today: &str) -> Gated {
        let (asked_for, others): (Vec<_>, Vec<_>) =
            findings.into_iter().partition(|finding| self.is_asked_for(finding));
        let sorted = self.exceptions.apply(asked_for, today);
        let mut gated =
            Gated { not_asked_for: others.len(), warnings: sorted.warnings(), ..Gated::default() };
        gated.ignored.extend(sorted.waived.into_iter().map(|(finding, exception)| Ignored {
            id: finding.id,
            object: finding.object,
            because: exception.reason,
            expires: exception.expires,
        }));
        for finding in sorted.left {
            if self.known.contains(&(finding.id.to_owned(), finding.object.clone())) {
                gated.in_baseline += 1;
            } else {
                gated.fails |= self.args.fail_on.fails(&finding);
                gated.findings.push(finding);
            }
        }
        gated
    }

    fn is_asked_for(&self, finding: &FindingEntry) -> bool {
        let GateArgs { only, namespace, .. } = self.args;
        let of_rule = only.is_empty() || only.iter().any(|rule| rule.id() == finding.id);
        let [_, of, _] = parts(&finding.object);
        of_rule && (namespace.is_empty() || namespace.iter().any(|one| one == of))
    }
}

/// Kind, namespace and name of an object as it is written: `Deployment shop/web`.
fn parts(object: &str) -> [&str; 3] {
    let (kind, key) = object.split_once(' ').unwrap_or((object, ""));
    match key.split_once('/') {
        Some((namespace, name)) => [kind, namespace, name],
        None => [kind, "", key],
    }
}

impl Exception for Ignore {
    type Finding = FindingEntry;
    const FIELDS: &'static str = "rule, kind, namespace, name";

    fn reason(&self) -> &str {
        &self.reason
    }

    fn expires(&self) -> &str {
        &self.expires
    }

    fn names_nothing(&self) -> bool {
        [&self.rule, &self.kind, &self.namespace, &self.name].iter().all(|field| field.is_none())
    }

    fn is_about(&self, finding: &FindingEntry) -> bool {
        let [kind, namespace, name] = parts(&finding.object);
        let is =
            |wanted: &Option<String>, text: &str| wanted.as_ref().is_none_or(|wanted| glob(wanted, text));
        is(&self.rule, finding.id)
            && is(&self.kind, kind)
            && is(&self.namespace, namespace)
            && is(&self.name, name)
    }

    fn flaw(&self) -> Option<String> {
        let unknown = self.rule.as_ref().filter(|rule| {
            let is_pattern = rule.contains(['*', '?', '[']);
            !is_pattern && Rule::ALL.iter().all(|known| known.id() != **rule)
        });
        unknown
            .map(|rule| format!("names the rule {rule}, which does not exist: `replank explain` lists them"))
    }
}

fn text(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| {
        Failure::usage(anyhow::Error::new(error).context(format!("{} cannot be read", path.display())))
    })
}

fn exceptions(path: &Path) -> Result<Exceptions<Ignore>, Failure> {
    const FORM: &str = "write `ignore:` with a list; each has reason, expires and at least one of rule, kind, namespace, name";
    Exceptions::read(&text(path)?).map_err(|error| {
        let error = anyhow::Error::new(error).context(format!("{} cannot be loaded", path.display()));
        Failure::usage(error).next(FORM)
    })
}

fn baseline(path: &Path) -> Result<BTreeSet<(String, String)>, Failure> {
    let wrong = |error: anyhow::Error| {
        Failure::usage(
            error.context(format!("{} is not the output of replank check -o json", path.display())),
        )
        .next("save one: replank check SNAPSHOT -o json > baseline.json")
    };
    let earlier: Earlier =
        serde_json::from_str(&text(path)?).map_err(|error| wrong(anyhow::Error::new(error)))?;
    if earlier.version != VERSION {
        return Err(wrong(anyhow::anyhow!("its version is {}, expected {VERSION}", earlier.version)));
    }
    Ok(earlier.findings.into_iter().map(|finding| (finding.id, finding.object)).collect())
}
