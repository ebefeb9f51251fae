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
)

// types writes down what a JSON decoder has to know of the nine kinds: for each Go struct its JSON members in the
// struct's order and their Go types. A type's own reader (a quantity, a time) is a name without members.
func types(out io.Writer) error {
	roots := []any{
		corev1.Pod{}, corev1.PodTemplate{}, corev1.ReplicationController{},
		appsv1.Deployment{}, appsv1.ReplicaSet{}, appsv1.StatefulSet{}, appsv1.DaemonSet{},
		batchv1.Job{}, batchv1.CronJob{},
	}
	known := map[string]reflect.Type{}
	for _, root := range roots {
		if err := visit(reflect.TypeOf(root), known); err != nil {
			return err
		}
	}
	names := make([]string, 0, len(known))
	for name := range known {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		of := known[name]
		switch {
		case of.Kind() == reflect.Map:
			fmt.Fprintf(out, "%s = map[%s]%s\n", name, of.Key().Kind(), of.Elem())
		case of.Kind() != reflect.Struct:
			fmt.Fprintf(out, "%s = %s\n", name, of.Kind())
		case readsItself(of):
			fmt.Fprintf(out, "%s = own\n", name)
		default:
			fmt.Fprintf(out, "%s\n", name)
			for _, member := range members(of) {
				fmt.Fprintln(out, strings.TrimRight(fmt.Sprintf(" %s %s %s", member.name, member.of, member.embedded), " "))
			}
		}
	}
	return nil
}

type member struct {
	name string
	of   reflect.Type
	// embedded names the Go structs between, whose members are the outer one's in JSON.
	embedded string
}

func members(of reflect.Type) []member {
	var all []member
	for i := 0; i < of.NumField(); i++ {
		field := of.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "-" || (!field.IsExported() && !field.Anonymous) {
			continue
		}
		if field.Anonymous && (name == "" || strings.Contains(options, "inline")) {
			for _, inner := range members(field.Type) {
				inner.embedded = strings.TrimSuffix(field.Name+"."+inner.embedded, ".")
				all = append(all, inner)
			}
			continue
		}
		if name == "" {
			name = field.Name
		}
		all = append(all, member{name, field.Type, ""})
	}
	return all
}

var unmarshaler = reflect.TypeOf((*interface{ UnmarshalJSON([]byte) error })(nil)).Elem()

func readsItself(of reflect.Type) bool {
	return reflect.PointerTo(of).Implements(unmarshaler)
}

func visit(of reflect.Type, known map[string]reflect.Type) error {
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		if of.Kind() == reflect.Map && of.Name() != "" {
			known[of.String()] = of
		}
		return visit(of.Elem(), known)
	}
	if of.PkgPath() == "" {
		return nil
	}
	if before, seen := known[of.String()]; seen {
		if before != of {
			return fmt.Errorf("two types are called %s: %s and %s", of, before.PkgPath(), of.PkgPath())
		}
		return nil
	}
	known[of.String()] = of
	if of.Kind() != reflect.Struct || readsItself(of) {
		return nil
	}
	for _, member := range members(of) {
		if err := visit(member.of, known); err != nil {
			return err
		}
	}
	return nil
}
