//! What has been counted, in Prometheus' text format.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use replank_apiserver::ResourceType;
use replank_schema::discovery;

use super::count::{Counted, Histogram, Requested};
use super::labels::Labels;
use crate::meta::health::Health;
use crate::mirror::{Snapshot, StorageId};
use crate::release::Release;

/// Text that grows by families of metrics.
#[derive(Default)]
struct Text(String);

impl Text {
    fn family(&mut self, name: &str, basic: &str, help: &str) {
        self.0.push_str(&format!("# HELP {name} {help}\n# TYPE {name} {basic}\n"));
    }

    fn line(&mut self, name: &str, labels: &str, value: impl std::fmt::Display) {
        let braces = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
        if writeln!(self.0, "{name}{braces} {value}").is_err() {
            unreachable!("text takes whatever is written");
        }
    }

    fn histogram(&mut self, name: &str, labels: &str, seen: &Histogram) {
        let mut sum = 0;
        for (bound, count) in seen.bounds.iter().zip(&seen.counts) {
            sum += count;
            let bound = if bound.is_infinite() { "+Inf".to_owned() } else { number(*bound) };
            self.line(&format!("{name}_bucket"), &format!("{labels},le=\"{bound}\""), sum);
        }
        self.line(&format!("{name}_sum"), labels, seen.sum);
        self.line(&format!("{name}_count"), labels, sum);
    }
}

/// A number as Go writes it.
fn number(value: f64) -> String {
    if value >= 1e6 { format!("1e+{:02.0}", value.log10()) } else { value.to_string() }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// In the order of the alphabet, as client_golang writes them.
fn labels(of: &Labels, more: &[(&'static str, String)], without: &[&str]) -> String {
    let mut all: Vec<(&'static str, String)> = vec![
        ("component", of.component.to_owned()),
        ("dry_run", of.dry_run.clone()),
        ("group", of.group.clone()),
        ("resource", of.resource.clone()),
        ("scope", of.scope.to_owned()),
        ("subresource", of.subresource.clone()),
        ("verb", of.verb.to_owned()),
        ("version", of.version.clone()),
    ];
    all.retain(|(name, _)| !without.contains(name));
    all.extend_from_slice(more);
    all.sort();
    let texts: Vec<String> =
        all.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
    texts.join(",")
}

/// `/metrics`.
pub(super) fn metrics(counted: &Counted, snapshot: &Snapshot, release: Release, since: SystemTime) -> String {
    let mut text = Text::default();
    text.family(
        "apiserver_current_inflight_requests",
        "gauge",
        "[STABLE] Requests under way, the most within the last second.",
    );
    text.line("apiserver_current_inflight_requests", "request_kind=\"mutating\"", counted.writing);
    text.line("apiserver_current_inflight_requests", "request_kind=\"readOnly\"", counted.reading);
    text.family(
        "apiserver_longrunning_requests",
        "gauge",
        "[STABLE] Watches and other lasting requests that are under way.",
    );
    for (of, count) in &counted.long {
        text.line("apiserver_longrunning_requests", &labels(of, &[], &["dry_run"]), count);
    }
    let name = "apiserver_request_duration_seconds";
    text.family(name, "histogram", "[STABLE] Time from a request to its answer.");
    for (of, seen) in &counted.durations {
        text.histogram(name, &labels(of, &[], &[]), seen);
    }
    let name = "apiserver_request_sli_duration_seconds";
    text.family(
        name,
        "histogram",
        "[STABLE] The same without the time that webhooks take; none are waited for.",
    );
    for (of, seen) in &counted.durations {
        text.histogram(name, &labels(of, &[], &["dry_run"]), seen);
    }
    text.family(
        "apiserver_request_total",
        "counter",
        "[STABLE] Requests by what they asked for and how they were answered.",
    );
    for ((of, code), count) in &counted.requests {
        text.line("apiserver_request_total", &labels(of, &[("code", code.to_string())], &[]), count);
    }
    if !counted.deprecated.is_empty() {
        let name = "apiserver_requested_deprecated_apis";
        text.family(
            name,
            "gauge",
            "[STABLE] Deprecated versions that have been asked for, and the release that goes without them.",
        );
        for of in &counted.deprecated {
            let Requested { group, version, resource, subresource, removed } = of;
            let labels = format!(
                "group=\"{group}\",removed_release=\"{removed}\",resource=\"{resource}\",subresource=\"{subresource}\",version=\"{version}\""
            );
            text.line(name, &labels, 1);
        }
    }
    let name = "apiserver_response_sizes";
    text.family(name, "histogram", "[STABLE] Sizes of answers, in bytes.");
    for (of, seen) in &counted.sizes {
        text.histogram(name, &labels(of, &[], &["dry_run"]), seen);
    }
    text.family("apiserver_storage_objects", "gauge", "[STABLE] Objects that are kept, by resource.");
    for (resource, count) in counts(snapshot) {
        text.line("apiserver_storage_objects", &format!("resource=\"{resource}\""), count);
    }
    let name = "apiserver_resource_objects";
    text.family(name, "gauge", "[ALPHA] Objects that are kept, by group and resource.");
    for (resource, count) in counts(snapshot) {
        let (plural, group) = resource.split_once('.').unwrap_or((&resource, ""));
        text.line(name, &format!("group=\"{group}\",resource=\"{plural}\""), count);
    }
    build(&mut text, release);
    process(&mut text, since);
    text.0
}

/// How many objects of each resource are kept, by `plural.group`.
fn counts(snapshot: &Snapshot) -> BTreeMap<String, usize> {
    let mut made = BTreeMap::new();
    let mut count = |resource: &ResourceType| {
        let name = match &*resource.name.group {
            "" => resource.name.plural.to_string(),
            group => format!("{}.{group}", resource.name.plural),
        };
        made.insert(name, snapshot.collection(&StorageId::of_resource(resource)).size());
    };
    for group in discovery().all() {
        for version in &group.versions {
            let kept = version.resources.iter().filter(|one| one.verbs.iter().any(|verb| verb == "watch"));
            let types =
                kept.filter_map(|one| ResourceType::built_in(group.name(), &version.version, &one.resource));
            types.for_each(&mut count);
        }
    }
    snapshot.custom.iter().for_each(count);
    made
}

fn build(text: &mut Text, release: Release) {
    text.family("kubernetes_build_info", "gauge", "[ALPHA] What is served; the value is always 1.");
    let labels = format!(
        "build_date=\"2026-06-01T00:00:00Z\",compiler=\"rustc\",git_commit=\"replank\",git_tree_state=\"clean\",git_version=\"{release}\",\
         go_version=\"none\",major=\"1\",minor=\"{}\",platform=\"{}/{}\"",
        release.minor,
        std::env::consts::OS,
        std::env::consts::ARCH
    );
    text.line("kubernetes_build_info", &labels, 1);
}

/// What Linux tells of this process; elsewhere only since when it runs.
fn process(text: &mut Text, since: SystemTime) {
    let read = |file: &str| std::fs::read_to_string(file).unwrap_or_default();
    let stat = read("/proc/self/stat");
    // What follows the name, which may have blanks and ends with the last parenthesis; proc(5).
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3).and_then(|field| field.parse::<u64>().ok());
    if let (Some(user), Some(system)) = (field(14), field(15)) {
        // Clock ticks; Linux tells user space of 100 a second on all machines.
        let hundredths = user + system;
        text.family("process_cpu_seconds_total", "counter", "Processor time that was used, in seconds.");
        text.line("process_cpu_seconds_total", "", format!("{}.{:02}", hundredths / 100, hundredths % 100));
    }
    if let Ok(open) = std::fs::read_dir("/proc/self/fd") {
        text.family("process_open_fds", "gauge", "Open file descriptors.");
        text.line("process_open_fds", "", open.count());
    }
    let limits = read("/proc/self/limits");
    let files = limits.lines().find(|line| line.starts_with("Max open files"));
    if let Some(most) = files.and_then(|line| line.split_whitespace().nth(3)) {
        text.family("process_max_fds", "gauge", "The most file descriptors that may be open.");
        text.line("process_max_fds", "", most);
    }
    let status = read("/proc/self/status");
    let kilobytes = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok()
    };
    if let Some(resident) = kilobytes("VmRSS:") {
        text.family("process_resident_memory_bytes", "gauge", "Memory in use, in bytes.");
        text.line("process_resident_memory_bytes", "", resident * 1024);
    }
    if let Some(size) = kilobytes("VmSize:") {
        text.family("process_virtual_memory_bytes", "gauge", "Address space in use, in bytes.");
        text.line("process_virtual_memory_bytes", "", size * 1024);
    }
    text.family("process_start_time_seconds", "gauge", "When the process began, in seconds since 1970.");
    text.line("process_start_time_seconds", "", seconds(since));
}

/// Whole seconds since 1970.
pub(super) fn seconds(moment: SystemTime) -> u64 {
    moment.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs()
}

/// `/metrics/slis`: the checks of the server's health. All of them hold as long as anybody answers.
pub(super) fn slis() -> String {
    let mut text = Text::default();
    text.family("kubernetes_healthcheck", "gauge", "[STABLE] The result of a single check; 1 if it holds.");
    let mut all: Vec<(&str, &str)> = Vec::new();
    for health in Health::ALL {
        all.extend(health.checks().into_iter().map(|check| (check, health.word())));
    }
    all.sort_unstable();
    for (check, word) in all {
        text.line("kubernetes_healthcheck", &format!("name=\"{check}\",type=\"{word}\""), 1);
    }
    text.0
}

#[cfg(test)]
mod tests {
    use hyper::Method;

    use super::*;
    use crate::meta::metrics::count::Counter;
    use crate::mirror::Publisher;
    use crate::query::Query;

    #[test]
    fn a_request_is_counted_with_its_code_and_its_time() {
        let counter = Counter::default();
        let labels = Labels::of(&Method::POST, "/api/v1/namespaces/a/pods", &Query::read("dryRun=All"), "");
        counter.begin(labels).answered(201, Some(1_500));
        let snapshot = Publisher::new([], Vec::new(), 1).mirror().snapshot();
        let text = metrics(&counter.counted(), &snapshot, Release::LATEST, UNIX_EPOCH);
        let labels = "component=\"apiserver\",dry_run=\"All\",group=\"\",resource=\"pods\",scope=\"namespace\",subresource=\"\",verb=\"POST\",version=\"v1\"";
        let coded = "code=\"201\",component=\"apiserver\",dry_run=\"All\",group=\"\",resource=\"pods\",scope=\"namespace\",subresource=\"\",verb=\"POST\",version=\"v1\"";
        for line in [
            format!("apiserver_request_total{{{coded}}} 1\n"),
            format!("apiserver_request_duration_seconds_count{{{labels}}} 1\n"),
            format!("apiserver_request_duration_seconds_bucket{{{labels},le=\"60\"}} 1\n"),
            "subresource=\"\",verb=\"POST\",version=\"v1\",le=\"1e+06\"} 1\n".to_owned(),
            "apiserver_current_inflight_requests{request_kind=\"mutating\"} 0\n".to_owned(),
            "process_start_time_seconds 0\n".to_owned(),
        ] {
            assert!(text.contains(&line), "{line}\n{text}");
        }
    }
}
