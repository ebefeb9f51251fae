package main

import (
	"context"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/apps"
	appsvalidation "k8s.io/kubernetes/pkg/apis/apps/validation"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/core/helper/qos"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/apis/policy"
	policyvalidation "k8s.io/kubernetes/pkg/apis/policy/validation"
	"k8s.io/kubernetes/pkg/apis/storage"
	storagevalidation "k8s.io/kubernetes/pkg/apis/storage/validation"
	"k8s.io/kubernetes/pkg/capabilities"
	podregistry "k8s.io/kubernetes/pkg/registry/core/pod"

	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
)

func init() {
	// As clusters usually are set up.
	capabilities.Initialize(capabilities.Capabilities{AllowPrivileged: true})
}

// An Object of a cluster, in the API's external form.
type Object interface {
	runtime.Object
	metav1.Object
}

// A kind is one of the lists of a cluster.
type kind struct {
	list     string
	external func() Object
	internal func() runtime.Object
	validate func(runtime.Object) field.ErrorList
}

var kinds = []kind{
	{"namespaces", func() Object { return &corev1.Namespace{} }, func() runtime.Object { return &core.Namespace{} },
		func(o runtime.Object) field.ErrorList { return corevalidation.ValidateNamespace(o.(*core.Namespace)) }},
	{"nodes", func() Object { return &corev1.Node{} }, func() runtime.Object { return &core.Node{} },
		func(o runtime.Object) field.ErrorList { return corevalidation.ValidateNode(o.(*core.Node)) }},
	{"pods", func() Object { return &corev1.Pod{} }, func() runtime.Object { return &core.Pod{} }, validatePod},
	{"services", func() Object { return &corev1.Service{} }, func() runtime.Object { return &core.Service{} },
		func(o runtime.Object) field.ErrorList { return corevalidation.ValidateServiceCreate(o.(*core.Service)) }},
	{"replicationControllers", func() Object { return &corev1.ReplicationController{} },
		func() runtime.Object { return &core.ReplicationController{} },
		func(o runtime.Object) field.ErrorList {
			return corevalidation.ValidateReplicationController(o.(*core.ReplicationController), corevalidation.PodValidationOptions{})
		}},
	{"replicaSets", func() Object { return &appsv1.ReplicaSet{} }, func() runtime.Object { return &apps.ReplicaSet{} },
		func(o runtime.Object) field.ErrorList {
			return appsvalidation.ValidateReplicaSet(o.(*apps.ReplicaSet), corevalidation.PodValidationOptions{})
		}},
	{"statefulSets", func() Object { return &appsv1.StatefulSet{} }, func() runtime.Object { return &apps.StatefulSet{} },
		func(o runtime.Object) field.ErrorList {
			return appsvalidation.ValidateStatefulSet(o.(*apps.StatefulSet), corevalidation.PodValidationOptions{})
		}},
	{"persistentVolumes", func() Object { return &corev1.PersistentVolume{} },
		func() runtime.Object { return &core.PersistentVolume{} },
		func(o runtime.Object) field.ErrorList {
			pv := o.(*core.PersistentVolume)
			return corevalidation.ValidatePersistentVolume(pv, corevalidation.ValidationOptionsForPersistentVolume(pv, nil))
		}},
	{"persistentVolumeClaims", func() Object { return &corev1.PersistentVolumeClaim{} },
		func() runtime.Object { return &core.PersistentVolumeClaim{} },
		func(o runtime.Object) field.ErrorList {
			pvc := o.(*core.PersistentVolumeClaim)
			return corevalidation.ValidatePersistentVolumeClaim(pvc, corevalidation.ValidationOptionsForPersistentVolumeClaimCreate())
		}},
	{"storageClasses", func() Object { return &storagev1.StorageClass{} }, func() runtime.Object { return &storage.StorageClass{} },
		func(o runtime.Object) field.ErrorList {
			return storagevalidation.ValidateStorageClass(o.(*storage.StorageClass))
		}},
	{"csiNodes", func() Object { return &storagev1.CSINode{} }, func() runtime.Object { return &storage.CSINode{} },
		func(o runtime.Object) field.ErrorList { return storagevalidation.ValidateCSINode(o.(*storage.CSINode)) }},
	{"csiDrivers", func() Object { return &storagev1.CSIDriver{} }, func() runtime.Object { return &storage.CSIDriver{} },
		func(o runtime.Object) field.ErrorList {
			return storagevalidation.ValidateCSIDriver(o.(*storage.CSIDriver))
		}},
	{"csiStorageCapacities", func() Object { return &storagev1.CSIStorageCapacity{} },
		func() runtime.Object { return &storage.CSIStorageCapacity{} },
		func(o runtime.Object) field.ErrorList {
			return storagevalidation.ValidateCSIStorageCapacity(o.(*storage.CSIStorageCapacity), storagevalidation.CSIStorageCapacityValidateOptions{})
		}},
	{"volumeAttachments", func() Object { return &storagev1.VolumeAttachment{} },
		func() runtime.Object { return &storage.VolumeAttachment{} },
		func(o runtime.Object) field.ErrorList {
			return storagevalidation.ValidateVolumeAttachment(o.(*storage.VolumeAttachment))
		}},
	{"podDisruptionBudgets", func() Object { return &policyv1.PodDisruptionBudget{} },
		func() runtime.Object { return &policy.PodDisruptionBudget{} },
		func(o runtime.Object) field.ErrorList {
			return policyvalidation.ValidatePodDisruptionBudget(o.(*policy.PodDisruptionBudget), policyvalidation.PodDisruptionBudgetValidationOptions{})
		}},
}

func validatePod(o runtime.Object) field.ErrorList {
	return podregistry.Strategy.Validate(context.Background(), o)
}

// A Cluster is the objects of a case, and the lists to write back.
type Cluster struct {
	Objects []Object
	Lists   map[string][]json.RawMessage
	// Refused counts the objects that are not valid, by kind and by what is wrong first.
	Refused map[string]int
}

// decodeCluster reads the lists of a cluster. With normalise they are made what the API server would store.
func decodeCluster(text json.RawMessage, normalise bool) (*Cluster, error) {
	var lists map[string][]json.RawMessage
	if err := json.Unmarshal(text, &lists); err != nil {
		return nil, err
	}
	cluster := &Cluster{Lists: map[string][]json.RawMessage{}, Refused: map[string]int{}}
	for _, kind := range kinds {
		objects, there := lists[kind.list]
		delete(lists, kind.list)
		if !there {
			continue
		}
		cluster.Lists[kind.list] = []json.RawMessage{}
		seen := map[string]bool{}
		for _, text := range objects {
			object, err := kind.read(text)
			if err != nil {
				if normalise {
					cluster.Refused[kind.list+": "+err.Error()]++
					continue
				}
				return nil, fmt.Errorf("%s: %w", kind.list, err)
			}
			key := object.GetNamespace() + "/" + object.GetName()
			if normalise {
				stored, err := kind.store(object)
				if err != nil || seen[key] {
					cluster.Refused[fmt.Sprintf("%s: %v", kind.list, err)]++
					continue
				}
				object = stored
				if text, err = bare(object); err != nil {
					return nil, err
				}
				if object, err = kind.read(text); err != nil {
					return nil, err
				}
			}
			seen[key] = true
			cluster.Objects = append(cluster.Objects, object)
			cluster.Lists[kind.list] = append(cluster.Lists[kind.list], text)
		}
	}
	for list := range lists {
		return nil, fmt.Errorf("what are %s?", list)
	}
	return cluster, nil
}

func (k *kind) read(text json.RawMessage) (Object, error) {
	object := k.external()
	return object, json.Unmarshal(text, object)
}

// store makes an object what the API server would hold, status and all.
func (k *kind) store(object Object) (Object, error) {
	legacyscheme.Scheme.Default(object)
	internal := k.internal()
	if err := legacyscheme.Scheme.Convert(object, internal, nil); err != nil {
		return nil, err
	}
	if pod, ok := internal.(*core.Pod); ok {
		status := pod.Status
		podregistry.Strategy.PrepareForCreate(context.Background(), pod)
		if status.Phase == "" {
			status.Phase = core.PodPending
		}
		status.QOSClass = qos.GetPodQOS(pod)
		pod.Status = status
	}
	if errors := k.validate(internal); len(errors) > 0 {
		return nil, errors[0]
	}
	stored := k.external()
	if err := legacyscheme.Scheme.Convert(internal, stored, nil); err != nil {
		return nil, err
	}
	return stored, nil
}

// admit makes a submitted pod what the API server would store. It comes back as the text that is stored and as what is
// read from there: what a user writes as an empty list is no list then.
func admit(pod *corev1.Pod) (*corev1.Pod, json.RawMessage, error) {
	legacyscheme.Scheme.Default(pod)
	internal := &core.Pod{}
	if err := legacyscheme.Scheme.Convert(pod, internal, nil); err != nil {
		return nil, nil, err
	}
	podregistry.Strategy.PrepareForCreate(context.Background(), internal)
	if errors := validatePod(internal); len(errors) > 0 {
		return nil, nil, errors[0]
	}
	stored := &corev1.Pod{}
	if err := legacyscheme.Scheme.Convert(internal, stored, nil); err != nil {
		return nil, nil, err
	}
	text, err := bare(stored)
	if err != nil {
		return nil, nil, err
	}
	read := &corev1.Pod{}
	return read, text, json.Unmarshal(text, read)
}
