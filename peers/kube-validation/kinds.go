package main

import (
	crdinstall "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/admissionregistration/install"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/certificates/install"
	_ "k8s.io/kubernetes/pkg/apis/coordination/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/discovery/install"
	_ "k8s.io/kubernetes/pkg/apis/flowcontrol/install"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	_ "k8s.io/kubernetes/pkg/apis/node/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingwebhookconfiguration"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/validatingwebhookconfiguration"
	"k8s.io/kubernetes/pkg/registry/apps/daemonset"
	"k8s.io/kubernetes/pkg/registry/apps/deployment"
	"k8s.io/kubernetes/pkg/registry/apps/replicaset"
	"k8s.io/kubernetes/pkg/registry/apps/statefulset"
	"k8s.io/kubernetes/pkg/registry/autoscaling/horizontalpodautoscaler"
	"k8s.io/kubernetes/pkg/registry/batch/cronjob"
	"k8s.io/kubernetes/pkg/registry/batch/job"
	"k8s.io/kubernetes/pkg/registry/certificates/certificates"
	"k8s.io/kubernetes/pkg/registry/coordination/lease"
	"k8s.io/kubernetes/pkg/registry/core/configmap"
	"k8s.io/kubernetes/pkg/registry/core/limitrange"
	"k8s.io/kubernetes/pkg/registry/core/namespace"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolume"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolumeclaim"
	"k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/pkg/registry/core/podtemplate"
	"k8s.io/kubernetes/pkg/registry/core/replicationcontroller"
	"k8s.io/kubernetes/pkg/registry/core/resourcequota"
	"k8s.io/kubernetes/pkg/registry/core/secret"
	"k8s.io/kubernetes/pkg/registry/core/service"
	"k8s.io/kubernetes/pkg/registry/core/serviceaccount"
	"k8s.io/kubernetes/pkg/registry/discovery/endpointslice"
	"k8s.io/kubernetes/pkg/registry/flowcontrol/flowschema"
	"k8s.io/kubernetes/pkg/registry/flowcontrol/prioritylevelconfiguration"
	"k8s.io/kubernetes/pkg/registry/networking/ingress"
	"k8s.io/kubernetes/pkg/registry/networking/ingressclass"
	"k8s.io/kubernetes/pkg/registry/networking/networkpolicy"
	"k8s.io/kubernetes/pkg/registry/node/runtimeclass"
	"k8s.io/kubernetes/pkg/registry/policy/poddisruptionbudget"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrole"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrolebinding"
	"k8s.io/kubernetes/pkg/registry/rbac/role"
	"k8s.io/kubernetes/pkg/registry/rbac/rolebinding"
	"k8s.io/kubernetes/pkg/registry/scheduling/priorityclass"
	"k8s.io/kubernetes/pkg/registry/storage/csidriver"
	"k8s.io/kubernetes/pkg/registry/storage/csinode"
	"k8s.io/kubernetes/pkg/registry/storage/csistoragecapacity"
	"k8s.io/kubernetes/pkg/registry/storage/storageclass"
	"k8s.io/kubernetes/pkg/registry/storage/volumeattachment"
)

// strategies says of each kind that is known here what the server does with one that is created.
var strategies = map[schema.GroupVersionKind]rest.RESTCreateStrategy{
	{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}: customresourcedefinition.NewStrategy(legacyscheme.Scheme),
	{Version: "v1", Kind: "Pod"}:                                                                   pod.Strategy,
	{Version: "v1", Kind: "PodTemplate"}:                                                           podtemplate.Strategy,
	{Version: "v1", Kind: "ReplicationController"}:                                                 replicationcontroller.Strategy,
	{Version: "v1", Kind: "ConfigMap"}:                                                             configmap.Strategy,
	{Version: "v1", Kind: "Secret"}:                                                                secret.Strategy,
	{Version: "v1", Kind: "Service"}:                                                               service.Strategy,
	{Version: "v1", Kind: "ServiceAccount"}:                                                        serviceaccount.Strategy,
	{Version: "v1", Kind: "Namespace"}:                                                             namespace.Strategy,
	{Version: "v1", Kind: "PersistentVolumeClaim"}:                                                 persistentvolumeclaim.Strategy,
	{Version: "v1", Kind: "PersistentVolume"}:                                                      persistentvolume.Strategy,
	{Version: "v1", Kind: "LimitRange"}:                                                            limitrange.Strategy,
	{Version: "v1", Kind: "ResourceQuota"}:                                                         resourcequota.Strategy,
	{Group: "apps", Version: "v1", Kind: "Deployment"}:                                             deployment.Strategy,
	{Group: "apps", Version: "v1", Kind: "ReplicaSet"}:                                             replicaset.Strategy,
	{Group: "apps", Version: "v1", Kind: "StatefulSet"}:                                            statefulset.Strategy,
	{Group: "apps", Version: "v1", Kind: "DaemonSet"}:                                              daemonset.Strategy,
	{Group: "batch", Version: "v1", Kind: "Job"}:                                                   job.Strategy,
	{Group: "batch", Version: "v1", Kind: "CronJob"}:                                               cronjob.Strategy,
	{Group: "autoscaling", Version: "v1", Kind: "HorizontalPodAutoscaler"}:                         horizontalpodautoscaler.Strategy,
	{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}:                         horizontalpodautoscaler.Strategy,
	{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"}:                                   ingress.Strategy,
	{Group: "networking.k8s.io", Version: "v1", Kind: "IngressClass"}:                              ingressclass.Strategy,
	{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"}:                             networkpolicy.Strategy,
	{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"}:                                  poddisruptionbudget.Strategy,
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"}:                              role.Strategy,
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"}:                       rolebinding.Strategy,
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"}:                       clusterrole.Strategy,
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRoleBinding"}:                clusterrolebinding.Strategy,
	{Group: "scheduling.k8s.io", Version: "v1", Kind: "PriorityClass"}:                             priorityclass.Strategy,
	{Group: "storage.k8s.io", Version: "v1", Kind: "StorageClass"}:                                 storageclass.Strategy,
	{Group: "storage.k8s.io", Version: "v1", Kind: "CSIDriver"}:                                    csidriver.Strategy,
	{Group: "storage.k8s.io", Version: "v1", Kind: "CSINode"}:                                      csinode.Strategy,
	{Group: "storage.k8s.io", Version: "v1", Kind: "VolumeAttachment"}:                             volumeattachment.Strategy,
	{Group: "storage.k8s.io", Version: "v1", Kind: "CSIStorageCapacity"}:                           csistoragecapacity.Strategy,
	{Group: "node.k8s.io", Version: "v1", Kind: "RuntimeClass"}:                                    runtimeclass.Strategy,
	{Group: "discovery.k8s.io", Version: "v1", Kind: "EndpointSlice"}:                              endpointslice.Strategy,
	{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"}:                                   lease.Strategy,
	{Group: "flowcontrol.apiserver.k8s.io", Version: "v1", Kind: "FlowSchema"}:                     flowschema.Strategy,
	{Group: "flowcontrol.apiserver.k8s.io", Version: "v1", Kind: "PriorityLevelConfiguration"}:     prioritylevelconfiguration.Strategy,
	{Group: "certificates.k8s.io", Version: "v1", Kind: "CertificateSigningRequest"}:               certificates.Strategy,
	{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingWebhookConfiguration"}: validatingwebhookconfiguration.Strategy,
	{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingWebhookConfiguration"}:   mutatingwebhookconfiguration.Strategy,
}

// Definitions have a server, and a scheme, of their own; to decode one is the same in either.
func init() {
	crdinstall.Install(legacyscheme.Scheme)
}
