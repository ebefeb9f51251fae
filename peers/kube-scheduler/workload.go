package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The workload of crates/replank-testkit/src/sched_load.rs, by index arithmetic.

// scatter is the output of SplitMix64 for a state.
func scatter(index uint64) uint64 {
	z := index + 0x9E3779B97F4A7C15
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9
	z = (z ^ (z >> 27)) * 0x94D049BB133111EB
	return z ^ (z >> 31)
}

var (
	zones  = []string{"eu-west-1a", "eu-west-1b", "eu-west-1c"}
	shapes = [][4]string{
		{"m5.xlarge", "3920m", "14657Mi", "58"},
		{"m5.2xlarge", "7910m", "30400Mi", "58"},
		{"m5.4xlarge", "15890m", "61500Mi", "234"},
		{"r5.2xlarge", "7910m", "62000Mi", "58"},
	}
	cpus     = []string{"100m", "100m", "250m", "250m", "500m", "500m", "1000m", "200m"}
	memories = []string{"128Mi", "256Mi", "512Mi", "512Mi", "1024Mi", "2048Mi", "256Mi", "64Mi"}
)

func loadNode(i int, mixed bool) *corev1.Node {
	name := fmt.Sprintf("node-%05d", i)
	shape := shapes[i%4]
	capacity := "ON_DEMAND"
	if i%5 == 4 {
		capacity = "SPOT"
	}
	room := corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse(shape[1]),
		corev1.ResourceMemory:           resource.MustParse(shape[2]),
		corev1.ResourcePods:             resource.MustParse(shape[3]),
		corev1.ResourceEphemeralStorage: resource.MustParse("18242267924"),
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: map[string]string{
			corev1.LabelHostname:             name,
			corev1.LabelOSStable:             "linux",
			corev1.LabelArchStable:           "amd64",
			corev1.LabelTopologyRegion:       "eu-west-1",
			corev1.LabelTopologyZone:         zones[i%3],
			corev1.LabelInstanceTypeStable:   shape[0],
			"eks.amazonaws.com/nodegroup":    fmt.Sprintf("ng-%d", i%8),
			"eks.amazonaws.com/capacityType": capacity,
		}},
		Status: corev1.NodeStatus{Capacity: room, Allocatable: room},
	}
	if mixed && i%10 == 9 {
		node.Labels["dedicated"] = "batch"
		node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: "dedicated", Value: "batch", Effect: corev1.TaintEffectNoSchedule})
	}
	if mixed && i%25 == 3 {
		node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: "spot-risk", Value: "high", Effect: corev1.TaintEffectPreferNoSchedule})
	}
	return node
}

func loadPod(i int, mixed bool) *corev1.Pod {
	h := scatter(uint64(i))
	name := fmt.Sprintf("pod-%06d", i)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "default", UID: types.UID(name), Labels: map[string]string{"app": fmt.Sprintf("app-%d", i%50)},
		},
		Spec: corev1.PodSpec{
			SchedulerName: corev1.DefaultSchedulerName,
			Priority:      new(int32),
			Containers: []corev1.Container{{
				Name: "main", Image: "registry.example/app:1",
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
					corev1.ResourceCPU:    resource.MustParse(cpus[h&7]),
					corev1.ResourceMemory: resource.MustParse(memories[(h>>3)&7]),
				}},
			}},
		},
	}
	if mixed {
		constrain(pod, i%20, h>>8)
	}
	return pod
}

// constrain gives a pod of the mixed workload what its kind asks for.
func constrain(pod *corev1.Pod, kind int, r uint64) {
	own := func(app string) *metav1.LabelSelector {
		pod.Labels["app"] = app
		return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
	}
	expression := func(key string, operator corev1.NodeSelectorOperator, value string) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement{Key: key, Operator: operator, Values: []string{value}}
	}
	switch {
	case kind < 10:
	case kind < 13:
		pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{
					expression("eks.amazonaws.com/capacityType", corev1.NodeSelectorOpIn, "ON_DEMAND"),
					expression(corev1.LabelInstanceTypeStable, corev1.NodeSelectorOpNotIn, "m5.xlarge"),
				},
			}}},
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{
				Weight: 10,
				Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
					expression(corev1.LabelTopologyZone, corev1.NodeSelectorOpIn, zones[r%3]),
				}},
			}},
		}}
	case kind < 16:
		selector := own(fmt.Sprintf("spread-%d", r%10))
		honor, ignore := corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore
		spread := func(key string, action corev1.UnsatisfiableConstraintAction) corev1.TopologySpreadConstraint {
			return corev1.TopologySpreadConstraint{
				MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: action, LabelSelector: selector,
				NodeAffinityPolicy: &honor, NodeTaintsPolicy: &ignore,
			}
		}
		pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{
			spread(corev1.LabelTopologyZone, corev1.DoNotSchedule), spread(corev1.LabelHostname, corev1.ScheduleAnyway),
		}
	case kind < 18:
		selector := own(fmt.Sprintf("single-%d", r%20))
		pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{LabelSelector: selector, TopologyKey: corev1.LabelHostname}},
		}}
	case kind == 18:
		pod.Spec.NodeSelector = map[string]string{"dedicated": "batch"}
		pod.Spec.Tolerations = []corev1.Toleration{{
			Key: "dedicated", Operator: corev1.TolerationOpEqual, Value: "batch", Effect: corev1.TaintEffectNoSchedule,
		}}
	default:
		term := corev1.PodAffinityTerm{TopologyKey: corev1.LabelTopologyZone, LabelSelector: &metav1.LabelSelector{
			MatchLabels: map[string]string{"app": fmt.Sprintf("app-%d", r%50)},
		}}
		pod.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 50, PodAffinityTerm: term}},
		}}
	}
}
