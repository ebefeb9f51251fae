//! A check as a gate: which findings are shown, which are let be, and which end with exit code 3.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use replank_advice::check::Rule;
use replank_facts::plan::nearest;
use replank_intake::document::Found;
use replank_intake::limits::Limits;
use replank_intake::source::Source;
use replank_lifecycle::files::glob;
use replank_lifecycle::waiver::is_day;
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
            Self::Blocking => finding.severity == "blocking",
            Self::Warning => matches!(finding.severity, "blocking" | "warning"),
            Self::Info => true,
            Self::Never => false,
        }
    }
}

fn rule(text: &str) -> Result<Rule, String> {
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
struct Exception {
    reason: String,
    expires: String,
    rule: Option<String>,
    kind: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Exceptions {
    ignore: Vec<Exception>,
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
    exceptions: Vec<Exception>,
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
        let mut gated = Gated::default();
        let mut used = vec![false; self.exceptions.len()];
        for finding in findings {
            if !self.is_asked_for(&finding) {
                gated.not_asked_for += 1;
                continue;
            }
            let mut ignored = None;
            for (exception, used) in self.exceptions.iter().zip(&mut used) {
                if exception.is_about(&finding) {
                    *used = true;
                    if *today <= *exception.expires && ignored.is_none() {
                        ignored = Some(exception);
                    }
                }
            }
            if let Some(Exception { reason, expires, .. }) = ignored {
                gated.ignored.push(Ignored {
                    id: finding.id,
                    object: finding.object,
                    because: reason.clone(),
                    expires: expires.clone(),
                });
            } else if self.known.contains(&(finding.id.to_owned(), finding.object.clone())) {
                gated.in_baseline += 1;
            } else {
                gated.fails |= self.args.fail_on.fails(&finding);
                gated.findings.push(finding);
            }
        }
        for (exception, used) in self.exceptions.iter().zip(used) {
            let Exception { reason, expires, .. } = exception;
            match (used, *today <= **expires) {
                (false, _) => gated.warnings.push(format!("an exception matches no finding: {reason}")),
                (true, false) => gated.warnings.push(format!("an exception expired on {expires}: {reason}")),
                (true, true) => {}
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

impl Exception {
    fn is_about(&self, finding: &FindingEntry) -> bool {
        let [kind, namespace, name] = parts(&finding.object);
        let is =
            |wanted: &Option<String>, text: &str| wanted.as_ref().is_none_or(|wanted| glob(wanted, text));
        is(&self.rule, finding.id)
            && is(&self.kind, kind)
            && is(&self.namespace, namespace)
            && is(&self.name, name)
    }

    /// What is wrong with it, if anything.
    fn flaw(&self) -> Option<String> {
        let fields = [&self.rule, &self.kind, &self.namespace, &self.name];
        if self.reason.trim().is_empty() {
            return Some("has an empty reason".to_owned());
        }
        if fields.iter().all(|field| field.is_none()) {
            return Some("names no rule, kind, namespace or name: it would ignore everything".to_owned());
        }
        let Self { expires, rule, .. } = self;
        if !is_day(expires) {
            return Some(format!("expires on \"{expires}\": expected a day such as 2026-12-31"));
        }
        let unknown = rule.as_ref().filter(|rule| {
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

fn exceptions(path: &Path) -> Result<Vec<Exception>, Failure> {
    const FORM: &str = "write `ignore:` with a list; each has reason, expires and at least one of rule, kind, namespace, name";
    let wrong = |error: anyhow::Error| {
        Failure::usage(error.context(format!("{} cannot be loaded", path.display()))).next(FORM)
    };
    let (mut values, mut problem) = (Vec::new(), None);
    let source = Source::bytes(path.display().to_string(), text(path)?.into_bytes());
    replank_intake::read::read(vec![source], &Limits::default(), &mut |found| match found {
        Found::Document(document) => values.push(document.value),
        Found::List { .. } => {}
        Found::Problem(found) => problem = problem.take().or(Some(found)),
    })
    .map_err(|error| wrong(anyhow::Error::new(error)))?;
    if let Some(problem) = problem {
        return Err(wrong(anyhow::Error::new(problem)));
    }
    let mut all = Vec::new();
    for value in values {
        let read: Exceptions =
            serde_json::from_value(value).map_err(|error| wrong(anyhow::Error::new(error)))?;
        all.extend(read.ignore);
    }
    for (exception, number) in all.iter().zip(1..) {
        if let Some(flaw) = exception.flaw() {
            return Err(wrong(anyhow::anyhow!("the exception {number} {flaw}")));
        }
    }
    Ok(all)
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
