//! What an older release of Kubernetes serves, by the table of API versions: `--kubernetes-version`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use replank_api::{Deprecation, OlderVersion, Release, Versions};
use replank_lifecycle::convert::{convert, leads};
use replank_lifecycle::release::Release as Step;
use replank_lifecycle::table::{Gvk, Product, Row, Stage, Table};
use replank_lifecycle::tree::Tree;
use serde_json::Value;

/// The first release that warns of what is to go (KEP-1693).
const WARNS_SINCE: u32 = 19;
/// From here on, kinds that come as a beta are not served unless somebody asks for them (KEP-3136).
const NO_NEW_BETAS: Step = Step::minor(1, 24);

/// Reads a version: `1.27`, `v1.27.3`.
///
/// # Errors
/// Where it is none, or none that can be served.
pub(super) fn read(text: &str) -> Result<Release, String> {
    let step: Step = text.trim_start_matches('v').parse().map_err(|error| format!("{error}"))?;
    let number = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    let mut release = Release { minor: number(step.minor), patch: number(step.patch) };
    let (oldest, latest) = (Release::OLDEST, Release::LATEST);
    // Who names no patch means the one that is imitated.
    if release == (Release { minor: latest.minor, patch: 0 }) {
        release = latest;
    }
    if step.major != 1 || release < oldest || release.minor > latest.minor {
        return Err(format!("it can be served as 1.{} to 1.{}", oldest.minor, latest.minor));
    }
    Ok(release)
}

/// What a release serves, by the table.
#[derive(Debug)]
pub(super) struct Lifecycle {
    table: Table,
    release: Release,
    step: Step,
    older: Vec<OlderVersion>,
    /// The minor version that EKS has brought the cluster to; none for 0.
    upgraded: Arc<AtomicU32>,
}

impl Lifecycle {
    /// Of a release, of a cluster that EKS may bring to another one.
    pub(super) fn of(release: Release, upgraded: Arc<AtomicU32>) -> Self {
        let table = Table::embedded();
        let step = Step::minor(1, u64::from(release.minor));
        let latest = Step::minor(1, u64::from(Release::LATEST.minor));
        let mut older: Vec<OlderVersion> =
            table.rows().iter().filter_map(|row| older(&table, row, step, latest)).collect();
        // The one kind that the latest serves in two versions; the newer one is kept.
        older.push(OlderVersion {
            group: "autoscaling".to_owned(),
            version: "v1".to_owned(),
            kind: "HorizontalPodAutoscaler".to_owned(),
            newer_group: "autoscaling".to_owned(),
            newer_version: "v2".to_owned(),
        });
        Self { table, release, step, older, upgraded }
    }

    fn row(&self, group: &str, version: &str, kind: &str) -> Option<&Row> {
        let gvk = Gvk { group: group.to_owned(), version: version.to_owned(), kind: kind.to_owned() };
        self.table.lookup_gvk(&gvk).filter(|row| row.product == Product::Kubernetes)
    }
}

/// A version that is served at a step and not any more at the latest, if something there has taken its place.
fn older(table: &Table, row: &Row, step: Step, latest: Step) -> Option<OlderVersion> {
    let is_there = matches!(row.stage(step), Stage::Served | Stage::Deprecated);
    if row.product != Product::Kubernetes || !is_there || !is_on(table, row) {
        return None;
    }
    let newer = table.replacement(row, latest)?;
    if newer.kind != row.gvk.kind
        || newer.version.contains("alpha")
        || newer.version.contains("beta")
        || !leads(&row.gvk, newer)
    {
        return None;
    }
    Some(OlderVersion {
        group: row.gvk.group.clone(),
        version: row.gvk.version.clone(),
        kind: row.gvk.kind.clone(),
        newer_group: newer.group.clone(),
        newer_version: newer.version.clone(),
    })
}

/// Whether it is served where nobody asks for it: no alpha is, and no beta of a kind that came as one after 1.23.
fn is_on(table: &Table, row: &Row) -> bool {
    let is_beta = |row: &Row| row.gvk.version.contains("beta");
    let is_early = |row: &Row| row.introduced.is_none_or(|introduced| introduced < NO_NEW_BETAS);
    let of_kind = |one: &&Row| one.gvk.group == row.gvk.group && one.gvk.kind == row.gvk.kind;
    !row.gvk.version.contains("alpha")
        && (!is_beta(row) || table.rows().iter().filter(of_kind).any(|one| is_beta(one) && is_early(one)))
}

impl Versions for Lifecycle {
    fn release(&self) -> Release {
        self.release
    }

    fn told(&self) -> Release {
        match self.upgraded.load(Ordering::Relaxed) {
            0 => self.release,
            minor if minor == self.release.minor => self.release,
            minor if minor == Release::LATEST.minor => Release::LATEST,
            minor => Release { minor, patch: 0 },
        }
    }

    fn serves(&self, group: &str, version: &str, kind: &str) -> bool {
        self.row(group, version, kind).is_none_or(|row| row.stage(self.step) != Stage::ToCome)
    }

    fn deprecation(&self, group: &str, version: &str, kind: &str) -> Option<Deprecation> {
        let row = self.row(group, version, kind)?;
        let deprecated = row.deprecated.filter(|deprecated| *deprecated <= self.step)?;
        if self.release.minor < WARNS_SINCE {
            return None;
        }
        let mut text = format!("{} is deprecated in v{deprecated}+", row.gvk);
        if let Some(removed) = row.removed {
            text.push_str(&format!(", unavailable in v{removed}+"));
        }
        if let Some(newer) = &row.replacement {
            text.push_str(&format!("; use {newer}"));
        }
        let removed = row.removed.map(|removed| removed.to_string()).unwrap_or_default();
        Some(Deprecation { words: text, removed })
    }

    fn older(&self) -> &[OlderVersion] {
        &self.older
    }

    fn convert(&self, object: &Value, api_version: &str) -> Result<Value, String> {
        let kind = object["kind"].as_str().unwrap_or_default();
        let mut tree = Tree::from_value(object);
        let latest = Step::minor(1, u64::from(Release::LATEST.minor));
        convert(&self.table, &mut tree, &Gvk::of(api_version, kind), latest)
            .map_err(|hold| hold.to_string())?;
        Ok(tree.value())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(minor: u32) -> Lifecycle {
        Lifecycle::of(Release { minor, patch: 0 }, Arc::default())
    }

    fn words(minor: u32, [group, version, kind]: [&str; 3]) -> Option<String> {
        of(minor).deprecation(group, version, kind).map(|deprecation| deprecation.words)
    }

    fn older(minor: u32) -> Vec<String> {
        of(minor).older().iter().map(|one| format!("{} {}", one.api_version(), one.kind)).collect()
    }

    #[test]
    fn versions_are_read_with_and_without_a_patch() {
        assert_eq!(read("1.36"), Ok(Release::LATEST));
        assert_eq!(read("v1.27.3"), Ok(Release { minor: 27, patch: 3 }));
        for wrong in ["1.14", "1.37", "2.20", "x"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn each_release_serves_what_it_served() {
        let at_15 = older(15);
        for one in ["extensions/v1beta1 Deployment", "extensions/v1beta1 Ingress", "apps/v1beta2 StatefulSet"]
        {
            assert!(at_15.iter().any(|known| known == one), "{one} in {at_15:?}");
        }
        let at_24 = older(24);
        assert!(at_24.iter().any(|one| one == "policy/v1beta1 PodDisruptionBudget"), "{at_24:?}");
        assert!(!at_24.iter().any(|one| one.starts_with("extensions")), "{at_24:?}");
        assert_eq!(older(36), ["autoscaling/v1 HorizontalPodAutoscaler"]);
        assert!(!of(20).serves("policy", "v1", "PodDisruptionBudget"));
        assert!(of(21).serves("policy", "v1", "PodDisruptionBudget"));
    }

    #[test]
    fn who_uses_what_is_to_go_is_told_in_upstreams_words() {
        let expected = "policy/v1beta1 PodDisruptionBudget is deprecated in v1.21+, unavailable in v1.25+; use policy/v1 PodDisruptionBudget";
        assert_eq!(words(22, ["policy", "v1beta1", "PodDisruptionBudget"]).as_deref(), Some(expected));
        assert_eq!(words(18, ["extensions", "v1beta1", "Ingress"]), None);
        let expected = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice";
        assert_eq!(words(36, ["", "v1", "Endpoints"]).as_deref(), Some(expected));
        assert_eq!(
            words(36, ["", "v1", "ComponentStatus"]).as_deref(),
            Some("v1 ComponentStatus is deprecated in v1.19+")
        );
        assert_eq!(words(36, ["", "v1", "Pod"]), None);
    }

    #[test]
    fn an_object_goes_there_and_back() {
        let versions = of(18);
        let ingress = json!({"apiVersion": "extensions/v1beta1", "kind": "Ingress", "metadata": {"name": "i"},
            "spec": {"backend": {"serviceName": "s", "servicePort": 80}}});
        let newer = versions.convert(&ingress, "networking.k8s.io/v1").expect("there is a way");
        assert_eq!(newer["spec"]["defaultBackend"]["service"], json!({"name": "s", "port": {"number": 80}}));
        let back = versions.convert(&newer, "extensions/v1beta1").expect("there is a way");
        assert_eq!(back["spec"]["backend"], ingress["spec"]["backend"]);
    }
}
