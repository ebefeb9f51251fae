package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	applycore "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/util/retry"
)

func elected(c cluster) error {
	leads := make(chan string, 2)
	stand := func(name string) (context.CancelFunc, error) {
		lock, err := resourcelock.New(resourcelock.LeasesResourceLock, namespace, "leader", c.client.CoreV1(), c.client.CoordinationV1(),
			resourcelock.ResourceLockConfig{Identity: name})
		if err != nil {
			return nil, err
		}
		until, cancel := context.WithCancel(c.context)
		go leaderelection.RunOrDie(until, leaderelection.LeaderElectionConfig{
			Lock: lock, LeaseDuration: 6 * time.Second, RenewDeadline: 4 * time.Second, RetryPeriod: 200 * time.Millisecond, ReleaseOnCancel: true,
			Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) { leads <- name }, OnStoppedLeading: func() {}},
		})
		return cancel, nil
	}
	one, err := stand("one")
	if err != nil {
		return err
	}
	defer one()
	if leader := <-leads; leader != "one" {
		return fmt.Errorf("%s leads", leader)
	}
	two, err := stand("two")
	if err != nil {
		return err
	}
	defer two()
	select {
	case leader := <-leads:
		return fmt.Errorf("%s leads beside the first", leader)
	case <-time.After(time.Second):
	}
	one()
	select {
	case <-leads:
	case <-time.After(patience):
		return fmt.Errorf("nobody takes over")
	}
	lease, err := c.client.CoordinationV1().Leases(namespace).Get(c.context, "leader", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if *lease.Spec.HolderIdentity != "two" || *lease.Spec.LeaseTransitions == 0 {
		return fmt.Errorf("the lease says %v", lease.Spec)
	}
	return nil
}

func applied(c cluster) error {
	maps := c.client.CoreV1().ConfigMaps(namespace)
	first := metav1.ApplyOptions{FieldManager: "first"}
	wanted := applycore.ConfigMap("applied", namespace).WithData(map[string]string{"a": "1", "b": "1"}).WithLabels(map[string]string{"by": "first"})
	made, err := maps.Apply(c.context, wanted, first)
	if err != nil {
		return err
	}
	own, err := applycore.ExtractConfigMap(made, "first")
	if err != nil || len(own.Data) != 2 || own.Labels["by"] != "first" {
		return fmt.Errorf("extracted %v: %v", own, err)
	}
	other := applycore.ConfigMap("applied", namespace).WithData(map[string]string{"a": "2"})
	_, err = maps.Apply(c.context, other, metav1.ApplyOptions{FieldManager: "second"})
	if err := is(err, metav1.StatusReasonConflict); err != nil {
		return err
	}
	causes := err.(apierrors.APIStatus).Status().Details.Causes
	if len(causes) != 1 || causes[0].Type != metav1.CauseTypeFieldManagerConflict || causes[0].Field != ".data.a" {
		return fmt.Errorf("causes: %v", causes)
	}
	if _, err := maps.Apply(c.context, other, metav1.ApplyOptions{FieldManager: "second", Force: true}); err != nil {
		return err
	}
	// The first one has lost a, and gives up b and its label.
	made, err = maps.Apply(c.context, applycore.ConfigMap("applied", namespace), first)
	if err != nil {
		return err
	}
	if len(made.Data) != 1 || made.Data["a"] != "2" || len(made.Labels) != 0 || len(made.ManagedFields) != 1 {
		return fmt.Errorf("left: %v %v by %d", made.Data, made.Labels, len(made.ManagedFields))
	}
	unknown := metav1.ApplyOptions{FieldManager: ""}
	if _, err := maps.Apply(c.context, other, unknown); err == nil || !strings.Contains(err.Error(), "fieldManager") {
		return fmt.Errorf("without a manager: %v", err)
	}
	return maps.Delete(c.context, "applied", metav1.DeleteOptions{})
}

func retried(c cluster) error {
	if err := c.make([]string{"counter"}, nil); err != nil {
		return err
	}
	maps := c.client.CoreV1().ConfigMaps(namespace)
	patient := retry.DefaultBackoff
	patient.Steps, patient.Factor = 40, 1.2
	var group sync.WaitGroup
	failures := make(chan error, 8)
	for range 8 {
		group.Go(func() {
			for range 5 {
				err := retry.RetryOnConflict(patient, func() error {
					counter, err := maps.Get(c.context, "counter", metav1.GetOptions{})
					if err != nil {
						return err
					}
					value, _ := strconv.Atoi(counter.Data["n"])
					counter.Data = map[string]string{"n": strconv.Itoa(value + 1)}
					_, err = maps.Update(c.context, counter, metav1.UpdateOptions{})
					return err
				})
				if err != nil {
					failures <- err
					return
				}
			}
		})
	}
	group.Wait()
	close(failures)
	if err := <-failures; err != nil {
		return err
	}
	counter, err := maps.Get(c.context, "counter", metav1.GetOptions{})
	if err != nil || counter.Data["n"] != "40" {
		return fmt.Errorf("counted %v: %v", counter.Data, err)
	}
	return maps.Delete(c.context, "counter", metav1.DeleteOptions{})
}

func evicted(c cluster) error {
	if err := c.run("evicted", 2); err != nil {
		return err
	}
	budgets := c.client.PolicyV1().PodDisruptionBudgets(namespace)
	one := intstr.FromInt32(1)
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "evicted"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &one, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "evicted"}}},
	}
	if _, err := budgets.Create(c.context, budget, metav1.CreateOptions{}); err != nil {
		return err
	}
	allows := func(wanted int32) func() (bool, error) {
		return func() (bool, error) {
			found, err := budgets.Get(c.context, "evicted", metav1.GetOptions{})
			return err == nil && found.Status.ObservedGeneration == found.Generation && found.Status.DisruptionsAllowed == wanted, err
		}
	}
	if err := c.eventually("one disruption allowed", allows(1)); err != nil {
		return err
	}
	pods, err := c.client.CoreV1().Pods(namespace).List(c.context, metav1.ListOptions{LabelSelector: "app=evicted"})
	if err != nil {
		return err
	}
	evict := func(pod corev1.Pod) error {
		eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: namespace}}
		return c.client.CoreV1().Pods(namespace).EvictV1(c.context, eviction)
	}
	if err := evict(pods.Items[0]); err != nil {
		return err
	}
	err = evict(pods.Items[1])
	if err := is(err, metav1.StatusReasonTooManyRequests); err != nil {
		return err
	}
	if !apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause) {
		return fmt.Errorf("no cause: %v", err.(apierrors.APIStatus).Status())
	}
	if err := c.eventually("one disruption allowed again", allows(1)); err != nil {
		return err
	}
	if err := budgets.Delete(c.context, "evicted", metav1.DeleteOptions{}); err != nil {
		return err
	}
	return c.stop("evicted")
}

func deleted(c cluster) error {
	sets := c.client.AppsV1().ReplicaSets(namespace)
	owned := func() (int, error) {
		list, err := sets.List(c.context, metav1.ListOptions{LabelSelector: "app=owner"})
		return len(list.Items), err
	}
	for _, way := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan} {
		if err := c.run("owner", 1); err != nil {
			return err
		}
		if err := c.client.AppsV1().Deployments(namespace).Delete(c.context, "owner", metav1.DeleteOptions{PropagationPolicy: &way}); err != nil {
			return err
		}
		err := c.eventually(string(way)+": the owner gone", func() (bool, error) {
			_, err := c.client.AppsV1().Deployments(namespace).Get(c.context, "owner", metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return true, nil
			}
			return false, err
		})
		if err != nil {
			return err
		}
		left, err := owned()
		switch {
		case err != nil:
			return err
		case way == metav1.DeletePropagationForeground && left != 0:
			return fmt.Errorf("the owner went before what it owns")
		case way == metav1.DeletePropagationOrphan && left != 1:
			return fmt.Errorf("%d orphans are left", left)
		case way == metav1.DeletePropagationBackground:
			if err := c.eventually("what was owned gone", func() (bool, error) { left, err := owned(); return left == 0, err }); err != nil {
				return err
			}
		}
	}
	return sets.DeleteCollection(c.context, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "app=owner"})
}
