//! API versions that are used and go: what a scan of manifests, and of the snapshot's own files, finds.

use std::collections::BTreeMap;
use std::path::PathBuf;

use replank_advice::upgrade::minor::Minor;
use replank_advice::upgrade::plan::{Scanned, UpgradePlan};
use replank_advice::upgrade::usage::{ApiUse, Certainty, User};
use replank_lifecycle::Measure;
use replank_lifecycle::files::{self, Ignore};
use replank_lifecycle::finding::{Confidence, Evidence, Finding, Range};
use replank_lifecycle::release::Release;
use replank_lifecycle::table::{Product, Table};

use crate::failure::Failure;
use crate::printer::Printer;
use crate::report::words::count;
use crate::scan::of_live;
use crate::snapshot::Origin;

/// Files that could not be read and are named.
const TOLD_MAX: usize = 5;

/// Looks for them, in manifests and in the cluster's own objects.
pub(crate) fn find(
    manifests: &[PathBuf],
    objects: Option<Origin<'_>>,
    draft: &UpgradePlan,
    printer: &mut Printer,
) -> Result<(Vec<ApiUse>, Scanned), Failure> {
    let is_file = |path: &&PathBuf| path.as_os_str() != "-";
    let (snapshots, live): (Vec<PathBuf>, _) = match objects {
        None => (Vec::new(), None),
        Some(Origin::Files(files)) => (files.iter().map(PathBuf::from).collect(), None),
        Some(Origin::Live(live)) => (Vec::new(), Some(live)),
    };
    let paths: Vec<PathBuf> = manifests.iter().chain(snapshots.iter().filter(is_file)).cloned().collect();
    let scanned = match (manifests.is_empty(), paths.is_empty() && live.is_none()) {
        (false, _) => Scanned::Manifests,
        (true, false) => Scanned::ClusterAlone,
        (true, true) => Scanned::No,
    };
    let minor = |minor: Minor| Release::minor(1, minor.0);
    let measure = Measure {
        table: Table::embedded(),
        range: Range { current: Some(minor(draft.survey.control_plane.version)), target: minor(draft.to) },
        products: BTreeMap::new(),
    };
    let walk = files::walk(&paths, Ignore::Git).map_err(Failure::usage)?;
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut report = files::scan_files(&measure, &walk.files, threads, &|| ());
    if let Some(live) = live {
        report.append(of_live((live, false), &measure, printer)?);
    }
    let report = report.finish(&measure);
    let unread = report.unread.iter().chain(&walk.unread);
    for one in unread.clone().take(TOLD_MAX) {
        printer.warning(&format!("{}:{}: {}", one.place.source, one.place.line, one.why));
    }
    let unread = unread.count();
    if unread > TOLD_MAX {
        printer.warning(&format!(
            "and {} more unreadable: replank scan names them",
            count(unread - TOLD_MAX, "document")
        ));
    }
    let unrendered = report.unrendered.len();
    if unrendered > 0 {
        printer.warning(&format!(
            "{} not scanned: replank scan names them",
            count(unrendered, "chart or kustomization")
        ));
    }
    let mut uses: Vec<ApiUse> = report.findings.iter().filter_map(|finding| of(finding, draft.to)).collect();
    uses.sort();
    uses.dedup();
    Ok((uses, scanned))
}

/// What Kubernetes itself does not serve by then; products have versions of their own.
fn of(finding: &Finding, to: Minor) -> Option<ApiUse> {
    // The version in which a dump shows an object is what kubectl asked for: stored once, the object is served at every other one as well.
    if matches!((&finding.evidence, finding.confidence), (Evidence::Live, Confidence::Low)) {
        return None;
    }
    match &finding.product {
        Product::Kubernetes => {}
        Product::Named(_) => return None,
    }
    let removed = finding.removed.filter(|removed| removed.major == 1).map(|removed| Minor(removed.minor))?;
    if removed > to {
        return None;
    }
    Some(ApiUse {
        api: finding.used.to_string(),
        removed,
        replacement: finding.replacement.as_ref().map(ToString::to_string),
        replacement_from: finding.replacement_from.map(|from| Minor(from.minor)),
        user: user(&finding.evidence),
        certainty: match finding.confidence {
            Confidence::Low => Certainty::WorthALook,
            Confidence::Medium => Certainty::Likely,
            Confidence::High => Certainty::Sure,
        },
        place: place(finding),
    })
}

fn user(evidence: &Evidence) -> User {
    match evidence {
        Evidence::Manifest
        | Evidence::Rendered { .. }
        | Evidence::Template { .. }
        | Evidence::HelmRelease { .. }
        | Evidence::Terraform { .. }
        | Evidence::Live => User::Source,
        Evidence::Reference { .. } => User::Reference,
        Evidence::LastApplied { .. }
        | Evidence::Manager { .. }
        | Evidence::Requested
        | Evidence::Called { .. } => User::Writer,
        Evidence::Rule { .. } | Evidence::Webhook { .. } => User::Rule,
    }
}

/// `deploy/web.yaml:12 shop/web`, and how it was seen, where that is not the text itself.
fn place(finding: &Finding) -> String {
    let name = finding.full_name();
    let seen = if matches!(finding.evidence, Evidence::Manifest) {
        String::new()
    } else {
        format!(" ({})", finding.evidence)
    };
    let name = if name.is_empty() { name } else { format!(" {name}") };
    format!("{}:{}{name}{seen}", finding.place.source, finding.place.line)
}
