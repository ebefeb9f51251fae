package main

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const image = "registry.k8s.io/pause:3.10"

func configMap(name string, labels map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Data: map[string]string{}}
}

func template(app string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": app}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: image}}},
	}
}

func deployment(name string, replicas int32) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
			Template: template(name),
		},
	}
}

// available waits until a Deployment has so many available pods, and no others.
func (c cluster) available(name string, wanted int32) error {
	return c.eventually(name+" available", func() (bool, error) {
		found, err := c.client.AppsV1().Deployments(namespace).Get(c.context, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		seen := found.Status
		return seen.ObservedGeneration == found.Generation && seen.AvailableReplicas == wanted && seen.Replicas == wanted, nil
	})
}

func (c cluster) run(name string, replicas int32) error {
	_, err := c.client.AppsV1().Deployments(namespace).Create(c.context, deployment(name, replicas), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	return c.available(name, replicas)
}

func (c cluster) stop(name string) error {
	return c.client.AppsV1().Deployments(namespace).Delete(c.context, name, metav1.DeleteOptions{})
}
