//! Which checks count for a level in a version (pod-security-admission `policy/registry.go`).

use serde_json::Value;

use super::level::{Level, LevelVersion, Version};
use super::words::{Pod, Violation};
use super::{baseline, restricted};

type Checker = fn(Pod<'_>) -> Option<Violation>;

/// A check: its name, and what it is from which minor version on.
struct Check {
    id: &'static str,
    versions: &'static [(u32, Checker)],
    /// The check of `baseline` that it takes the place of.
    overrides: &'static str,
}

/// Of `baseline`, by their names.
const BASELINE: [Check; 12] = [
    of("appArmorProfile", &[(0, baseline::app_armor)]),
    of("capabilities_baseline", &[(0, baseline::capabilities)]),
    of("hostNamespaces", &[(0, baseline::host_namespaces)]),
    of("hostPathVolumes", &[(0, baseline::host_paths)]),
    of("hostPorts", &[(0, baseline::host_ports)]),
    of("hostProbesAndHostLifecycle", &[(34, baseline::probe_hosts)]),
    of("privileged", &[(0, baseline::privileged)]),
    of("procMount", &[(0, baseline::proc_mount), (35, baseline::proc_mount_unless_own_users)]),
    of("seLinuxOptions", &[(0, baseline::selinux_1_0), (31, baseline::selinux_1_31)]),
    of("seccompProfile_baseline", &[(0, baseline::seccomp_1_0), (19, baseline::seccomp_1_19)]),
    of(
        "sysctls",
        &[
            (0, baseline::sysctls_1_0),
            (27, baseline::sysctls_1_27),
            (29, baseline::sysctls_1_29),
            (32, baseline::sysctls_1_32),
        ],
    ),
    of("windowsHostProcess", &[(0, baseline::host_process)]),
];

/// Of `restricted`, by their names.
const RESTRICTED: [Check; 7] = [
    of("allowPrivilegeEscalation", &[(8, restricted::escalation), (25, restricted::escalation_1_25)]),
    Check {
        overrides: "capabilities_baseline",
        ..of(
            "capabilities_restricted",
            &[(22, restricted::capabilities), (25, restricted::capabilities_1_25)],
        )
    },
    Check { overrides: "procMount", ..of("procMount_restricted", &[(35, baseline::proc_mount)]) },
    Check { overrides: "hostPathVolumes", ..of("restrictedVolumes", &[(0, restricted::volumes)]) },
    of("runAsNonRoot", &[(0, restricted::non_root), (35, restricted::non_root_1_35)]),
    of("runAsUser", &[(23, restricted::user), (35, restricted::user_1_35)]),
    Check {
        overrides: "seccompProfile_baseline",
        ..of("seccompProfile_restricted", &[(19, restricted::seccomp), (25, restricted::seccomp_1_25)])
    },
];

const fn of(id: &'static str, versions: &'static [(u32, Checker)]) -> Check {
    Check { id, versions, overrides: "" }
}

impl Check {
    fn at(&self, minor: u32) -> Option<Checker> {
        self.versions.iter().rfind(|(since, _)| *since <= minor).map(|(_, check)| *check)
    }
}

/// What a level does not allow of a pod, or of a template of pods.
pub(crate) fn violations(of: LevelVersion, meta: &Value, spec: &Value) -> Vec<Violation> {
    let pod = Pod { meta, spec };
    let minor = match of.version {
        Version::Minor(minor) => minor,
        Version::Latest => u32::MAX,
    };
    let is_restricted = match of.level {
        Level::Privileged => return Vec::new(),
        Level::Baseline => false,
        Level::Restricted => true,
    };
    let restricted = RESTRICTED.iter().filter(|check| is_restricted && check.at(minor).is_some());
    let overridden: Vec<&str> = restricted.clone().map(|check| check.overrides).collect();
    let baseline = BASELINE.iter().filter(|check| !overridden.contains(&check.id));
    baseline.chain(restricted).filter_map(|check| check.at(minor)).filter_map(|check| check(pod)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::words::{detail, reason};
    use super::*;

    fn told(level: Level, version: Version, spec: &Value) -> String {
        detail(&violations(LevelVersion { level, version }, &json!({}), spec))
    }

    #[test]
    fn a_plain_pod_is_told_everything_that_restricted_asks_for() {
        let spec = json!({"containers": [{"name": "a"}, {"name": "b", "securityContext": {"runAsUser": 0}}]});
        assert_eq!(told(Level::Baseline, Version::Latest, &spec), "");
        assert_eq!(
            told(Level::Restricted, Version::Latest, &spec),
            "allowPrivilegeEscalation != false (containers \"a\", \"b\" must set securityContext.allowPrivilegeEscalation=false), \
             unrestricted capabilities (containers \"a\", \"b\" must set securityContext.capabilities.drop=[\"ALL\"]), \
             runAsNonRoot != true (pod or containers \"a\", \"b\" must set securityContext.runAsNonRoot=true), \
             runAsUser=0 (container \"b\" must not set runAsUser=0), \
             seccompProfile (pod or containers \"a\", \"b\" must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\")"
        );
        let old = violations(
            LevelVersion { level: Level::Restricted, version: Version::Minor(7) },
            &json!({}),
            &spec,
        );
        assert_eq!(reason(&old), "runAsNonRoot != true");
    }

    #[test]
    fn a_check_of_restricted_takes_the_place_of_one_of_baseline() {
        let spec = json!({"hostPID": true, "volumes": [{"name": "v", "hostPath": {"path": "/"}}],
            "containers": [{"name": "a", "ports": [{"hostPort": 80}, {"hostPort": 8080}], "securityContext": {"privileged": true}}]});
        assert_eq!(
            told(Level::Baseline, Version::Latest, &spec),
            "host namespaces (hostPID=true), hostPath volumes (volume \"v\"), hostPort (container \"a\" uses hostPorts 80, 8080), \
             privileged (container \"a\" must not set securityContext.privileged=true)"
        );
        assert!(
            told(Level::Restricted, Version::Latest, &spec)
                .contains("restricted volume types (volume \"v\" uses restricted volume type \"hostPath\")")
        );
        assert!(!told(Level::Restricted, Version::Latest, &spec).contains("hostPath volumes"));
    }
}
