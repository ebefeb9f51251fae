//! `/healthz`, `/livez`, `/readyz` and their checks.

use super::ask::Ask;
use super::written;
use crate::answer::{self, Answer, TEXT};
use crate::query::Query;

/// What is checked first by all three.
const FIRST: [&str; 2] = ["ping", "log"];
/// What follows where it is asked whether the server lives.
const ALIVE: [&str; 2] = ["loopback-serving-certificate", "etcd"];
/// What follows where it is asked whether the server is ready.
const READY: [&str; 3] = ["etcd", "etcd-readiness", "informer-sync"];
/// Hooks that a server runs after its start, in the order of 1.36.2.
const HOOKS: [&str; 30] = [
    "poststarthook/start-apiserver-admission-initializer",
    "poststarthook/generic-apiserver-start-informers",
    "poststarthook/priority-and-fairness-config-consumer",
    "poststarthook/priority-and-fairness-filter",
    "poststarthook/storage-object-count-tracker-hook",
    "poststarthook/start-apiextensions-informers",
    "poststarthook/start-apiextensions-controllers",
    "poststarthook/crd-informer-synced",
    "poststarthook/start-system-namespaces-controller",
    "poststarthook/peer-endpoint-reconciler-controller",
    "poststarthook/start-cluster-authentication-info-controller",
    "poststarthook/start-kube-apiserver-identity-lease-controller",
    "poststarthook/start-kube-apiserver-identity-lease-garbage-collector",
    "poststarthook/storage-readiness",
    "poststarthook/start-legacy-token-tracking-controller",
    "poststarthook/start-service-ip-repair-controllers",
    "poststarthook/rbac/bootstrap-roles",
    "poststarthook/scheduling/bootstrap-system-priority-classes",
    "poststarthook/priority-and-fairness-config-producer",
    "poststarthook/bootstrap-controller",
    "poststarthook/start-kubernetes-service-cidr-controller",
    "poststarthook/start-kube-aggregator-informers",
    "poststarthook/apiservice-status-local-available-controller",
    "poststarthook/apiservice-status-remote-available-controller",
    "poststarthook/apiservice-registration-controller",
    "poststarthook/apiservice-discovery-controller",
    "poststarthook/kube-apiserver-autoregistration",
    "autoregister-completion",
    "poststarthook/apiservice-openapi-controller",
    "poststarthook/apiservice-openapiv3-controller",
];

/// What is asked about the server's health.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Health {
    /// `/healthz`.
    Healthy,
    /// `/livez`.
    Live,
    /// `/readyz`.
    Ready,
}

impl Health {
    /// All three.
    pub(crate) const ALL: [Self; 3] = [Self::Healthy, Self::Live, Self::Ready];

    /// The word of the path.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Healthy => "healthz",
            Self::Live => "livez",
            Self::Ready => "readyz",
        }
    }

    /// What is checked, in order. All of it holds as long as anybody answers: a cluster is served when all of it is there.
    pub(crate) fn checks(self) -> Vec<&'static str> {
        let (middle, last): (&[&str], &[&str]) = match self {
            Self::Healthy | Self::Live => (&ALIVE, &[]),
            Self::Ready => (&READY, &["shutdown"]),
        };
        [&FIRST, middle, &HOOKS, last].concat()
    }
}

/// Answers a path below one of the three; `None` for another path.
pub(crate) fn health(ask: &Ask<'_>) -> Option<Answer> {
    let path = ask.path.strip_prefix('/')?;
    let (word, check) = path.split_once('/').map_or((path, None), |(word, check)| (word, Some(check)));
    let health = Health::ALL.into_iter().find(|one| one.word() == word)?;
    match check {
        None => Some(written::text(200, all(health, ask.query))),
        Some(check) if health.checks().contains(&check) => Some(answer::whole(200, TEXT, "ok")),
        Some(_) => None,
    }
}

fn all(health: Health, query: &Query) -> String {
    if query.get("verbose").is_none() {
        return "ok".to_owned();
    }
    let excluded: Vec<&str> = query.all("exclude").collect();
    let checks = health.checks();
    let line = |check: &&str| match excluded.contains(check) {
        true => format!("[+]{check} excluded: ok\n"),
        false => format!("[+]{check} ok\n"),
    };
    let mut text: String = checks.iter().map(line).collect();
    let mut strangers: Vec<String> =
        excluded.iter().filter(|name| !checks.contains(name)).map(|name| format!("\"{name}\"")).collect();
    strangers.sort();
    strangers.dedup();
    if !strangers.is_empty() {
        text.push_str(&format!(
            "warn: some health checks cannot be excluded: no matches for {}\n",
            strangers.join(",")
        ));
    }
    text.push_str(&format!("{} check passed\n", health.word()));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_left_out_and_strangers_are_named() {
        let text = all(Health::Ready, &Query::read("verbose&exclude=etcd&exclude=foo"));
        assert!(
            text.starts_with("[+]ping ok\n[+]log ok\n[+]etcd excluded: ok\n[+]etcd-readiness ok\n"),
            "{text}"
        );
        let end = "[+]shutdown ok\nwarn: some health checks cannot be excluded: no matches for \"foo\"\nreadyz check passed\n";
        assert!(text.ends_with(end), "{text}");
        assert_eq!(all(Health::Live, &Query::default()), "ok");
    }

    #[test]
    fn each_has_its_own_checks() {
        assert!(Health::Live.checks().contains(&"loopback-serving-certificate"));
        assert!(!Health::Ready.checks().contains(&"loopback-serving-certificate"));
        assert!(!Health::Healthy.checks().contains(&"shutdown"));
    }
}
