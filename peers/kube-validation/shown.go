package main

import (
	"fmt"
	"io"
	"reflect"
	"sort"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/apis/apps"
	"k8s.io/kubernetes/pkg/apis/batch"
	"k8s.io/kubernetes/pkg/apis/core"
)

// shown writes down how the structs that stand in messages are shown: each member's name there, its type, its name in
// the API, and `omitempty` where Go leaves an empty one out.
func shown(out io.Writer) error {
	pairs := [][2]any{
		{metav1.LabelSelector{}, metav1.LabelSelector{}},
		{metav1.OwnerReference{}, metav1.OwnerReference{}},
		{core.PodResourceClaim{}, corev1.PodResourceClaim{}},
		{core.SecurityContext{}, corev1.SecurityContext{}},
		{core.SeccompProfile{}, corev1.SeccompProfile{}},
		{apps.DeploymentStrategy{}, appsv1.DeploymentStrategy{}},
		{apps.DaemonSetUpdateStrategy{}, appsv1.DaemonSetUpdateStrategy{}},
		{apps.StatefulSetUpdateStrategy{}, appsv1.StatefulSetUpdateStrategy{}},
		{batch.SuccessPolicy{}, batchv1.SuccessPolicy{}},
	}
	texts := map[string]string{}
	for _, pair := range pairs {
		show(reflect.TypeOf(pair[0]), reflect.TypeOf(pair[1]), texts)
	}
	names := make([]string, 0, len(texts))
	for name := range texts {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		fmt.Fprint(out, texts[name])
	}
	return nil
}

func show(of, served reflect.Type, texts map[string]string) {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		of, served = of.Elem(), served.Elem()
		if served.Kind() == reflect.Pointer && of.Kind() != reflect.Pointer {
			served = served.Elem()
		}
	}
	for served.Kind() == reflect.Pointer {
		served = served.Elem()
	}
	if of.Kind() != reflect.Struct || readsItself(of) {
		return
	}
	if _, known := texts[of.String()]; known {
		return
	}
	lines := of.String() + "\n"
	texts[of.String()] = lines
	for i := 0; i < of.NumField(); i++ {
		field := of.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" {
			name = field.Name
		}
		for _, member := range members(served) {
			if !strings.EqualFold(member.name, field.Name) {
				continue
			}
			kind := field.Type.String()
			switch underlying := field.Type; underlying.Kind() {
			case reflect.String:
				kind = "string"
			case reflect.Pointer:
				if underlying.Elem().Kind() == reflect.String {
					kind = "*string"
				}
			case reflect.Slice:
				if underlying.Elem().Kind() == reflect.String {
					kind = "[]string"
				}
			}
			lines += strings.TrimRight(fmt.Sprintf(" %s %s %s %s", name, kind, member.name, options), " ") + "\n"
			show(field.Type, member.of, texts)
		}
	}
	texts[of.String()] = lines
}
