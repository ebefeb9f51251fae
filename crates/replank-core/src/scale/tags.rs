//! What Cluster Autoscaler's tags on a group say of the nodes that it would add, and how the group is treated.
//!
//! Source: Cluster Autoscaler, cloudprovider/aws/README.md ("Auto-Discovery Setup", "Scaling a node group to 0", "Setting
//! NodeGroupAutoscalingOptions"). A taint's value is `<value>:<effect>`.

use std::fmt;

use replank_model::object::affinity::{Taint, TaintEffect};
use replank_model::object::resources::Resources;
use replank_model::quantity::Quantity;
use replank_model::text::{GroupName, Text};
use replank_model::time::Span;

use super::options::{share, span};

/// Where the tags begin.
const TEMPLATE: &str = "k8s.io/cluster-autoscaler/node-template/";

/// What a group's tags say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tags {
    /// Labels of its nodes.
    pub labels: Vec<(Text, Text)>,
    /// Taints of its nodes.
    pub taints: Vec<Taint>,
    /// Resources of its nodes.
    pub resources: Resources,
    /// Settings of its own.
    pub own: OwnOptions,
}

/// Settings of one group that replace those of the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnOptions {
    /// `scaledownutilizationthreshold`, in parts of a thousand.
    pub threshold_milli: Option<i64>,
    /// `scaledowngpuutilizationthreshold`, likewise.
    pub gpu_threshold_milli: Option<i64>,
    /// `scaledownunneededtime`.
    pub unneeded: Option<Span>,
    /// `scaledownunreadytime`.
    pub unready: Option<Span>,
    /// `maxnodeprovisiontime`.
    pub provision_max: Option<Span>,
    /// `ignoredaemonsetsutilization`.
    pub ignores_daemons: Option<bool>,
}

/// A tag that cannot be read. It counts as absent.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BadTag {
    /// The group.
    pub group: GroupName,
    /// The tag's key.
    pub key: Text,
    /// The tag's value.
    pub value: Text,
    /// What was expected.
    pub expected: String,
}

impl fmt::Display for BadTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "group {}: tag {}={:?} counts as absent: {}",
            self.group, self.key, &*self.value, self.expected
        )
    }
}

/// Reads the tags of a group; what is malformed is named, and the rest goes on.
#[must_use]
pub(super) fn read<'a>(
    group: &GroupName,
    tags: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> (Tags, Vec<BadTag>) {
    let mut read = Tags::default();
    let mut bad = Vec::new();
    for (key, value) in tags {
        let Some(rest) = key.strip_prefix(TEMPLATE) else { continue };
        if let Err(expected) = read.take(rest, value) {
            bad.push(BadTag { group: group.clone(), key: key.into(), value: value.into(), expected });
        }
    }
    (read, bad)
}

impl Tags {
    fn take(&mut self, rest: &str, value: &str) -> Result<(), String> {
        let (kind, name) = rest.split_once('/').unwrap_or((rest, ""));
        if name.is_empty() {
            return Err(format!("expected {TEMPLATE}{kind}/NAME"));
        }
        match kind {
            "label" => self.labels.push((name.into(), value.into())),
            "taint" => self.taints.push(taint(name, value)?),
            "resources" => {
                let quantity: Quantity =
                    value.parse().map_err(|_| "expected a quantity such as 100G".to_owned())?;
                if quantity.signum() < 0 {
                    return Err("expected a quantity of at least 0".to_owned());
                }
                self.resources.set(name, quantity);
            }
            "autoscaling-options" => self.own.take(name, value)?,
            _ => return Err("expected label, taint, resources or autoscaling-options".to_owned()),
        }
        Ok(())
    }
}

impl OwnOptions {
    fn take(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "scaledownutilizationthreshold" => self.threshold_milli = Some(share(value)?),
            "scaledowngpuutilizationthreshold" => self.gpu_threshold_milli = Some(share(value)?),
            "scaledownunneededtime" => self.unneeded = Some(span(value)?),
            "scaledownunreadytime" => self.unready = Some(span(value)?),
            "maxnodeprovisiontime" => self.provision_max = Some(span(value)?),
            "ignoredaemonsetsutilization" => {
                let read = value.parse().map_err(|_| "expected true or false".to_owned())?;
                self.ignores_daemons = Some(read);
            }
            _ => return Err("unknown option".to_owned()),
        }
        Ok(())
    }
}

fn taint(key: &str, value: &str) -> Result<Taint, String> {
    let wrong =
        || "expected VALUE:EFFECT, where EFFECT is NoSchedule, PreferNoSchedule or NoExecute".to_owned();
    let (value, effect) = value.rsplit_once(':').ok_or_else(wrong)?;
    let effect = match effect {
        "NoSchedule" => TaintEffect::NoSchedule,
        "PreferNoSchedule" => TaintEffect::PreferNoSchedule,
        "NoExecute" => TaintEffect::NoExecute,
        _ => return Err(wrong()),
    };
    Ok(Taint { key: key.into(), value: value.into(), effect, time_added: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    const P: &str = "k8s.io/cluster-autoscaler/node-template/";

    #[test]
    fn labels_taints_resources_and_options_are_read() {
        let tags = [
            (format!("{P}label/role"), "web"),
            (format!("{P}label/topology.kubernetes.io/zone"), "a"),
            (format!("{P}taint/dedicated"), "web:NoSchedule"),
            (format!("{P}resources/ephemeral-storage"), "100G"),
            (format!("{P}autoscaling-options/scaledownunneededtime"), "1m0s"),
            ("k8s.io/cluster-autoscaler/enabled".to_owned(), "true"),
            ("team".to_owned(), "a"),
        ];
        let (read, bad) = read(&"web".into(), tags.iter().map(|(key, value)| (key.as_str(), *value)));
        assert_eq!(bad, []);
        assert_eq!(
            read.labels[1],
            ("topology.kubernetes.io/zone".into(), "a".into()),
            "a label's key may have a slash"
        );
        assert_eq!((&*read.taints[0].value, read.taints[0].effect), ("web", TaintEffect::NoSchedule));
        assert!(read.resources.get("ephemeral-storage").is_some());
        assert_eq!(read.own.unneeded, Some(Span::from_minutes(1)));
    }

    #[test]
    fn a_malformed_tag_is_named_and_the_rest_goes_on() {
        let tags = [
            (format!("{P}taint/dedicated"), "NoSchedule"),
            (format!("{P}taint/other"), "x:never"),
            (format!("{P}resources/cpu"), "four"),
            (format!("{P}label"), "x"),
            (format!("{P}autoscaling-options/scaledownutilizationthreshold"), "50"),
            (format!("{P}labels/role"), "web"),
            (format!("{P}label/role"), "web"),
        ];
        let (read, bad) = read(&"web".into(), tags.iter().map(|(key, value)| (key.as_str(), *value)));
        assert_eq!(read.labels.len(), 1);
        assert_eq!(bad.len(), 6);
        assert_eq!(
            bad[0].to_string(),
            "group web: tag k8s.io/cluster-autoscaler/node-template/taint/dedicated=\"NoSchedule\" counts as absent: expected VALUE:EFFECT, where EFFECT is NoSchedule, PreferNoSchedule or NoExecute"
        );
    }
}
