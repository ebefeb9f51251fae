// Writes down the Go types of the Kubernetes API as a JSON encoder and decoder see them: `go run . >types.txt`.
//
// A line per struct, under it a line per JSON member: its name (with `:` and the Go name, where that is not the same with
// a capital), its Go type, what happens to its zero (`k`: written, `o`: left out where empty, `z`: left out where zero),
// and the Go structs between if it is embedded. ` = ` stands where a type is another one by name, or reads itself. Packages are written as OpenAPI names them.
package main

import (
	"bufio"
	"fmt"
	"os"
	"reflect"
	"sort"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

func main() {
	all := scheme.Scheme
	for _, add := range []func(*runtime.Scheme) error{apiextensions.AddToScheme, apiregistration.AddToScheme} {
		if err := add(all); err != nil {
			panic(err)
		}
	}
	known := map[string]reflect.Type{}
	for gvk, of := range all.AllKnownTypes() {
		if gvk.Version != runtime.APIVersionInternal && !strings.HasSuffix(gvk.Kind, "List") {
			visit(of, known)
		}
	}
	for _, root := range []any{metav1.DeleteOptions{}, metav1.Status{}, metav1.CreateOptions{}} {
		visit(reflect.TypeOf(root), known)
	}
	names := make([]string, 0, len(known))
	for name := range known {
		names = append(names, name)
	}
	sort.Strings(names)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for _, name := range names {
		of := known[name]
		switch {
		case readsItself(of):
			fmt.Fprintf(out, "%s = own\n", name)
		case of.Kind() == reflect.Struct:
			fmt.Fprintln(out, name)
			for _, member := range members(of) {
				name := member.name
				if member.goName != strings.ToUpper(name[:1])+name[1:] {
					name += ":" + member.goName
				}
				line := fmt.Sprintf(" %s %s %s %s", name, shown(member.of), member.zero, member.embedded)
				fmt.Fprintln(out, strings.TrimRight(line, " "))
			}
		case of.Kind() == reflect.Map:
			fmt.Fprintf(out, "%s = map[%s]%s\n", name, of.Key().Kind(), shown(of.Elem()))
		case of.Kind() == reflect.Slice:
			fmt.Fprintf(out, "%s = []%s\n", name, shown(of.Elem()))
		default:
			fmt.Fprintf(out, "%s = %s\n", name, of.Kind())
		}
	}
}

type member struct {
	name     string
	goName   string
	of       reflect.Type
	zero     string
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
		zero := "k"
		if strings.Contains(options, "omitzero") {
			zero = "z"
		} else if strings.Contains(options, "omitempty") {
			zero = "o"
		}
		all = append(all, member{name, field.Name, field.Type, zero, ""})
	}
	return all
}

var unmarshaler = reflect.TypeOf((*interface{ UnmarshalJSON([]byte) error })(nil)).Elem()

func readsItself(of reflect.Type) bool {
	return reflect.PointerTo(of).Implements(unmarshaler)
}

// named is a type's name with its package as OpenAPI has it.
func named(of reflect.Type) string {
	host, rest, _ := strings.Cut(of.PkgPath(), "/")
	labels := strings.Split(host, ".")
	for i, j := 0, len(labels)-1; i < j; i, j = i+1, j-1 {
		labels[i], labels[j] = labels[j], labels[i]
	}
	return strings.Join(labels, ".") + "." + strings.ReplaceAll(rest, "/", ".") + "." + of.Name()
}

func shown(of reflect.Type) string {
	if of.PkgPath() != "" {
		return named(of)
	}
	switch of.Kind() {
	case reflect.Pointer:
		return "*" + shown(of.Elem())
	case reflect.Slice:
		return "[]" + shown(of.Elem())
	case reflect.Map:
		return "map[" + shown(of.Key()) + "]" + shown(of.Elem())
	}
	return of.String()
}

func visit(of reflect.Type, known map[string]reflect.Type) {
	if of.PkgPath() == "" {
		switch of.Kind() {
		case reflect.Map:
			visit(of.Key(), known)
			visit(of.Elem(), known)
		case reflect.Pointer, reflect.Slice:
			visit(of.Elem(), known)
		}
		return
	}
	name := named(of)
	if _, seen := known[name]; seen {
		return
	}
	known[name] = of
	if readsItself(of) {
		return
	}
	switch of.Kind() {
	case reflect.Struct:
		for _, member := range members(of) {
			visit(member.of, known)
		}
	case reflect.Map, reflect.Slice:
		visit(of.Elem(), known)
	}
}
