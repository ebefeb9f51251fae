//! Feature gates that kubelets no longer know.

use super::super::minor::Minor;

/// A feature gate that is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gate {
    /// Its name.
    pub name: &'static str,
    /// First version that exits because of it.
    pub since: Minor,
}

/// Gates that are gone and were about kubelets, or set for all components alike. Source: kubernetes.io, "Feature Gates (removed)"
/// up to 1.29, and the changelogs of 1.27 to 1.36; where these two differ, the changelog.
pub const GATES: &[Gate] = &[
    Gate { name: "HugePages", since: Minor(17) },
    Gate { name: "KubeletPluginsWatcher", since: Minor(17) },
    Gate { name: "ExperimentalCriticalPodAnnotation", since: Minor(17) },
    Gate { name: "PodPriority", since: Minor(19) },
    Gate { name: "PodShareProcessNamespace", since: Minor(20) },
    Gate { name: "CSIMigrationAWSComplete", since: Minor(22) },
    Gate { name: "RotateKubeletClientCertificate", since: Minor(22) },
    Gate { name: "TokenRequest", since: Minor(22) },
    Gate { name: "TokenRequestProjection", since: Minor(22) },
    Gate { name: "CSINodeInfo", since: Minor(23) },
    Gate { name: "CRIContainerLogRotation", since: Minor(23) },
    Gate { name: "RunAsGroup", since: Minor(23) },
    Gate { name: "Sysctls", since: Minor(23) },
    Gate { name: "BoundServiceAccountTokenVolume", since: Minor(24) },
    Gate { name: "NodeLease", since: Minor(24) },
    Gate { name: "StartupProbe", since: Minor(24) },
    Gate { name: "SupportNodePidsLimit", since: Minor(24) },
    Gate { name: "SupportPodPidsLimit", since: Minor(24) },
    Gate { name: "CSIServiceAccountToken", since: Minor(25) },
    Gate { name: "EndpointSlice", since: Minor(25) },
    Gate { name: "EndpointSliceProxying", since: Minor(25) },
    Gate { name: "GenericEphemeralVolume", since: Minor(25) },
    Gate { name: "HugePageStorageMediumSize", since: Minor(25) },
    Gate { name: "ImmutableEphemeralVolumes", since: Minor(25) },
    Gate { name: "IPv6DualStack", since: Minor(25) },
    Gate { name: "RuntimeClass", since: Minor(25) },
    Gate { name: "SetHostnameAsFQDN", since: Minor(25) },
    Gate { name: "TTLAfterFinished", since: Minor(25) },
    Gate { name: "VolumeSubpath", since: Minor(25) },
    Gate { name: "DynamicKubeletConfig", since: Minor(26) },
    Gate { name: "PodOverhead", since: Minor(26) },
    Gate { name: "CSIInlineVolume", since: Minor(27) },
    Gate { name: "CSIMigration", since: Minor(27) },
    Gate { name: "CSIMigrationAWS", since: Minor(27) },
    Gate { name: "EphemeralContainers", since: Minor(27) },
    Gate { name: "ExpandCSIVolumes", since: Minor(27) },
    Gate { name: "ExpandInUsePersistentVolumes", since: Minor(27) },
    Gate { name: "ExpandPersistentVolumes", since: Minor(27) },
    Gate { name: "IdentifyPodOS", since: Minor(27) },
    Gate { name: "LocalStorageCapacityIsolation", since: Minor(27) },
    Gate { name: "DelegateFSGroupToCSIDriver", since: Minor(28) },
    Gate { name: "DevicePlugins", since: Minor(28) },
    Gate { name: "DisableAcceleratorUsageMetrics", since: Minor(28) },
    Gate { name: "KubeletCredentialProviders", since: Minor(28) },
    Gate { name: "WindowsHostProcessContainers", since: Minor(28) },
    Gate { name: "DownwardAPIHugePages", since: Minor(29) },
    Gate { name: "GRPCContainerProbe", since: Minor(29) },
    Gate { name: "ProbeTerminationGracePeriod", since: Minor(29) },
    Gate { name: "SeccompDefault", since: Minor(29) },
    Gate { name: "TopologyManager", since: Minor(29) },
    Gate { name: "ExpandedDNSConfig", since: Minor(30) },
    Gate { name: "ExperimentalHostUserNamespaceDefaultingGate", since: Minor(30) },
    Gate { name: "IPTablesOwnershipCleanup", since: Minor(30) },
    Gate { name: "KubeletPodResources", since: Minor(30) },
    Gate { name: "KubeletPodResourcesGetAllocatable", since: Minor(30) },
    Gate { name: "ConsistentHTTPGetHandlers", since: Minor(31) },
    Gate { name: "CSINodeExpandSecret", since: Minor(31) },
    Gate { name: "CloudDualStackNodeIPs", since: Minor(32) },
    Gate { name: "NewVolumeManagerReconstruction", since: Minor(32) },
    Gate { name: "AppArmor", since: Minor(33) },
    Gate { name: "AppArmorFields", since: Minor(33) },
    Gate { name: "CPUManager", since: Minor(33) },
    Gate { name: "DisableCloudProviders", since: Minor(33) },
    Gate { name: "DisableKubeletCloudCredentialProviders", since: Minor(33) },
    Gate { name: "DevicePluginCDIDevices", since: Minor(34) },
    Gate { name: "LegacySidecarContainers", since: Minor(34) },
    Gate { name: "PodDisruptionConditions", since: Minor(34) },
    Gate { name: "SizeMemoryBackedVolumes", since: Minor(35) },
    Gate { name: "CSIMigrationPortworx", since: Minor(36) },
    Gate { name: "InTreePluginPortworxUnregister", since: Minor(36) },
];

/// Gates of a text, with their lines: `Name=true` behind `--feature-gates`, `Name: true` below `featureGates`, in whatever notation.
pub(super) fn given(text: &str) -> Vec<(usize, Gate)> {
    // So many names stand for other things elsewhere.
    if !["feature-gates", "featureGates", "feature_gates"].iter().any(|word| text.contains(word)) {
        return Vec::new();
    }
    let mut given = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        for gate in GATES {
            if line.match_indices(gate.name).any(|(at, name)| is_set(&line[..at], &line[at + name.len()..])) {
                given.push((number, *gate));
            }
        }
    }
    given
}

/// Whether what stands around a name makes it a gate that is set.
fn is_set(before: &str, behind: &str) -> bool {
    let is_whole = !before.ends_with(|letter: char| letter.is_ascii_alphanumeric());
    let behind = behind.trim_start_matches(['"', '\'', '\\']).trim_start();
    let value = behind.strip_prefix(['=', ':']).map(|value| value.trim_start_matches([' ', '"', '\'', '\\']));
    is_whole && value.is_some_and(|value| value.starts_with("true") || value.starts_with("false"))
}
