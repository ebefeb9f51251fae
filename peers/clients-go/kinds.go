package main

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	authv1 "k8s.io/api/authentication/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcore "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/openapi3"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/scale"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/retry"
	metrics "k8s.io/metrics/pkg/client/clientset/versioned"
)

func discovered(c cluster) error {
	_, lists, err := c.client.Discovery().ServerGroupsAndResources()
	if err != nil {
		return err
	}
	resources := 0
	for _, list := range lists {
		resources += len(list.APIResources)
	}
	preferred, err := c.client.Discovery().ServerPreferredResources()
	if err != nil {
		return err
	}
	listable := discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "watch", "delete"}}, preferred)
	root := openapi3.NewRoot(c.client.Discovery().OpenAPIV3())
	documents, err := root.GroupVersions()
	if err != nil {
		return err
	}
	if resources < 110 || len(listable) < 15 || !slices.Contains(documents, appsv1.SchemeGroupVersion) {
		return fmt.Errorf("%d resources, %d groups that can be listed, %d documents", resources, len(listable), len(documents))
	}
	spec, err := root.GVSpec(appsv1.SchemeGroupVersion)
	if err != nil {
		return err
	}
	if _, there := spec.Components.Schemas["io.k8s.api.apps.v1.Deployment"]; !there {
		return fmt.Errorf("apps/v1 has no schema of Deployments")
	}
	return nil
}

// The definition of a kind with a scale subresource.
func definition() *unstructured.Unstructured {
	integer := map[string]any{"type": "integer"}
	object := func(properties map[string]any) map[string]any {
		return map[string]any{"type": "object", "properties": properties}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "squads.client-go.example.com"},
		"spec": map[string]any{
			"group": "client-go.example.com", "scope": "Namespaced",
			"names": map[string]any{"plural": "squads", "singular": "squad", "kind": "Squad"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": object(map[string]any{
					"spec": object(map[string]any{"size": integer}), "status": object(map[string]any{"size": integer}),
				})},
				"subresources": map[string]any{"status": map[string]any{}, "scale": map[string]any{"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}},
			}},
		},
	}}
}

func mapped(c cluster) error {
	client, err := dynamic.NewForConfig(c.config)
	if err != nil {
		return err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(c.client.Discovery()))
	short := restmapper.NewShortcutExpander(mapper, c.client.Discovery(), nil)
	if resource, err := short.ResourceFor(schema.GroupVersionResource{Resource: "deploy"}); err != nil || resource.Resource != "deployments" {
		return fmt.Errorf("deploy is %v: %v", resource, err)
	}
	squad := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "client-go.example.com/v1", "kind": "Squad", "metadata": map[string]any{"name": "red"}, "spec": map[string]any{"size": int64(2)},
	}}
	for _, object := range []*unstructured.Unstructured{definition(), squad} {
		kind := object.GroupVersionKind()
		err := c.eventually(kind.Kind+" known", func() (bool, error) {
			mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
			if err != nil {
				mapper.Reset()
				return false, nil
			}
			var resource dynamic.ResourceInterface = client.Resource(mapping.Resource)
			if mapping.Scope.Name() == "namespace" {
				resource = client.Resource(mapping.Resource).Namespace(namespace)
			}
			made, err := resource.Apply(c.context, object.GetName(), object, metav1.ApplyOptions{FieldManager: "dynamic"})
			if apierrors.IsNotFound(err) {
				return false, nil
			}
			return err == nil && made.GetUID() != "", err
		})
		if err != nil {
			return err
		}
	}
	squads := client.Resource(schema.GroupVersionResource{Group: "client-go.example.com", Version: "v1", Resource: "squads"}).Namespace(namespace)
	list, err := squads.List(c.context, metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 || list.GetKind() != "SquadList" {
		return fmt.Errorf("listed %v: %v", list, err)
	}
	red := list.Items[0].DeepCopy()
	if err := unstructured.SetNestedField(red.Object, int64(7), "status", "size"); err != nil {
		return err
	}
	red, err = squads.UpdateStatus(c.context, red, metav1.UpdateOptions{})
	if err != nil || red.GetGeneration() != 1 {
		return fmt.Errorf("its status is written: generation %d: %v", red.GetGeneration(), err)
	}
	return nil
}

// After mapped: of its definition as well.
func scaled(c cluster) error {
	if err := c.run("scaled", 1); err != nil {
		return err
	}
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "scaled"}}
	one := int32(1)
	set.Spec = appsv1.StatefulSetSpec{Replicas: &one, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "set"}}, Template: template("set")}
	if _, err := c.client.AppsV1().StatefulSets(namespace).Create(c.context, set, metav1.CreateOptions{}); err != nil {
		return err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(c.client.Discovery()))
	scales, err := scale.NewForConfig(c.config, mapper, dynamic.LegacyAPIPathResolverFunc, scale.NewDiscoveryScaleKindResolver(c.client.Discovery()))
	if err != nil {
		return err
	}
	for _, target := range []struct{ group, resource, name string }{
		{"apps", "deployments", "scaled"}, {"apps", "statefulsets", "scaled"}, {"client-go.example.com", "squads", "red"},
	} {
		resource := schema.GroupResource{Group: target.group, Resource: target.resource}
		var found *autoscalingv1.Scale
		// Its controller writes the status meanwhile.
		err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			was, err := scales.Scales(namespace).Get(c.context, resource, target.name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			was.Spec.Replicas = 3
			found, err = scales.Scales(namespace).Update(c.context, resource, was, metav1.UpdateOptions{})
			return err
		})
		if err != nil || found.Spec.Replicas != 3 {
			return fmt.Errorf("%s: %v: %v", resource, found, err)
		}
		found.ResourceVersion = "1"
		_, err = scales.Scales(namespace).Update(c.context, resource, found, metav1.UpdateOptions{})
		if err := is(err, metav1.StatusReasonConflict); err != nil {
			return fmt.Errorf("%s: %w", resource, err)
		}
	}
	if err := c.available("scaled", 3); err != nil {
		return err
	}
	err = c.eventually("three pods of the StatefulSet", func() (bool, error) {
		found, err := c.client.AppsV1().StatefulSets(namespace).Get(c.context, "scaled", metav1.GetOptions{})
		return err == nil && found.Status.ReadyReplicas == 3, err
	})
	if err != nil {
		return err
	}
	if err := c.client.AppsV1().StatefulSets(namespace).Delete(c.context, "scaled", metav1.DeleteOptions{}); err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(c.config)
	if err != nil {
		return err
	}
	definitions := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	if err := client.Resource(definitions).Delete(c.context, definition().GetName(), metav1.DeleteOptions{}); err != nil {
		return err
	}
	return c.stop("scaled")
}

func measured(c cluster) error {
	client, err := metrics.NewForConfig(c.config)
	if err != nil {
		return err
	}
	nodes, err := client.MetricsV1beta1().NodeMetricses().List(c.context, metav1.ListOptions{})
	if real {
		return is(err, metav1.StatusReasonNotFound)
	}
	if err != nil || len(nodes.Items) != 3 {
		return fmt.Errorf("%d nodes: %v", len(nodes.Items), err)
	}
	if err := c.run("measured", 2); err != nil {
		return err
	}
	pods, err := client.MetricsV1beta1().PodMetricses(namespace).List(c.context, metav1.ListOptions{LabelSelector: "app=measured"})
	if err != nil || len(pods.Items) != 2 {
		return fmt.Errorf("%d pods: %v", len(pods.Items), err)
	}
	for _, pod := range pods.Items {
		if len(pod.Containers) != 1 || pod.Containers[0].Usage.Memory().IsZero() {
			return fmt.Errorf("%s uses %v", pod.Name, pod.Containers)
		}
	}
	return c.stop("measured")
}

func recorded(c cluster) error {
	if err := c.make([]string{"subject"}, nil); err != nil {
		return err
	}
	subject, err := c.client.CoreV1().ConfigMaps(namespace).Get(c.context, "subject", metav1.GetOptions{})
	if err != nil {
		return err
	}
	broadcaster := record.NewBroadcaster(record.WithContext(c.context))
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typedcore.EventSinkImpl{Interface: c.client.CoreV1().Events(namespace)})
	recorder := broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "clients-go"})
	for range 3 {
		recorder.Event(subject, corev1.EventTypeWarning, "Seen", "it was seen")
	}
	return c.eventually("one event, three times", func() (bool, error) {
		selector := "involvedObject.name=subject,reason=Seen"
		found, err := c.client.CoreV1().Events(namespace).List(c.context, metav1.ListOptions{FieldSelector: selector})
		if err != nil || len(found.Items) > 1 {
			return false, fmt.Errorf("%d events: %w", len(found.Items), err)
		}
		return len(found.Items) == 1 && found.Items[0].Count == 3, nil
	})
}

func authorized(c cluster) error {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "reader"}}
	accounts := c.client.CoreV1().ServiceAccounts(namespace)
	if _, err := accounts.Create(c.context, account, metav1.CreateOptions{}); err != nil {
		return err
	}
	token, err := accounts.CreateToken(c.context, "reader", &authv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	config := rest.AnonymousClientConfig(c.config)
	config.BearerToken = token.Status.Token
	reader, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	who, err := reader.AuthenticationV1().SelfSubjectReviews().Create(c.context, &authv1.SelfSubjectReview{}, metav1.CreateOptions{})
	name := "system:serviceaccount:" + namespace + ":reader"
	if err != nil || who.Status.UserInfo.Username != name {
		return fmt.Errorf("it is %v: %v", who, err)
	}
	_, err = reader.CoreV1().Pods(namespace).List(c.context, metav1.ListOptions{})
	if err := is(err, metav1.StatusReasonForbidden); err != nil {
		return err
	}
	wanted := fmt.Sprintf(`pods is forbidden: User %q cannot list resource "pods" in API group "" in the namespace %q`, name, namespace)
	if !strings.Contains(err.Error(), wanted) {
		return err
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "reader"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: "reader", Namespace: namespace}},
	}
	if _, err := c.client.RbacV1().RoleBindings(namespace).Create(c.context, binding, metav1.CreateOptions{}); err != nil {
		return err
	}
	err = c.eventually("allowed", func() (bool, error) {
		_, err := reader.CoreV1().Pods(namespace).List(c.context, metav1.ListOptions{})
		return err == nil, nil
	})
	if err != nil {
		return err
	}
	_, err = reader.CoreV1().Secrets(namespace).List(c.context, metav1.ListOptions{})
	return is(err, metav1.StatusReasonForbidden)
}
