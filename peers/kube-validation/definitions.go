package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand"
	"sort"
)

// definitions writes CustomResourceDefinitions: schemas drawn by chance that are mostly right, and changes to them that mostly are
// not. With -old they are of v1beta1, as they were written before schemas had to be structural.
func definitions(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("definitions", flag.ContinueOnError)
	seed := flags.Int64("seed", 1, "what to draw from")
	count := flags.Int("count", 1000, "how many cases")
	old := flags.Bool("old", false, "write v1beta1")
	if err := flags.Parse(args); err != nil {
		return err
	}
	draw := drawer{rand.New(rand.NewSource(*seed))}
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for number := 0; number < *count; number++ {
		object := draw.definition()
		for changes := draw.Intn(4); changes > 0; changes-- {
			draw.changeDefinition(object)
		}
		if *old {
			older(draw, object)
		}
		text, err := json.Marshal(object)
		if err != nil {
			return err
		}
		id := fmt.Sprintf("definition-%d-%d", *seed, number)
		if err := encoder.Encode(testCase{ID: id, Object: text}); err != nil {
			return err
		}
	}
	return nil
}

type drawer struct{ *rand.Rand }

type dict = map[string]any

func (d drawer) oneOf(all ...any) any { return all[d.Intn(len(all))] }

func (d drawer) chance(percent int) bool { return d.Intn(100) < percent }

func (d drawer) definition() dict {
	versions := []any{}
	names := []string{"v1alpha1", "v1beta1", "v1"}
	count := 1 + d.Intn(3)
	same := d.chance(50)
	var schema dict
	for at := 0; at < count; at++ {
		if schema == nil || !same {
			schema = d.rootSchema()
		}
		version := dict{"name": names[at], "served": d.chance(80), "storage": at == count-1, "schema": dict{"openAPIV3Schema": copied(schema)}}
		if d.chance(40) {
			version["subresources"] = dict{"status": dict{}}
			if d.chance(50) {
				version["subresources"].(dict)["scale"] = dict{"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
			}
		}
		if d.chance(30) {
			version["additionalPrinterColumns"] = []any{dict{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}}
		}
		versions = append(versions, version)
	}
	spec := dict{
		"group": "example.com", "scope": d.oneOf("Namespaced", "Cluster"),
		"names":    dict{"plural": "sites", "kind": "Site", "shortNames": []any{"st"}},
		"versions": versions,
	}
	if d.chance(20) {
		spec["conversion"] = dict{"strategy": "Webhook", "webhook": dict{
			"conversionReviewVersions": []any{"v1"},
			"clientConfig":             dict{"service": dict{"name": "hook", "namespace": "web", "path": "/convert"}},
		}}
	}
	return dict{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": dict{"name": "sites.example.com"}, "spec": spec,
	}
}

func (d drawer) rootSchema() dict {
	root := dict{"type": "object", "properties": dict{
		"apiVersion": dict{"type": "string"}, "kind": dict{"type": "string"}, "metadata": dict{"type": "object"},
		"spec": d.schema(3), "status": dict{"type": "object", "x-kubernetes-preserve-unknown-fields": true},
	}}
	if d.chance(30) {
		root["required"] = []any{"spec"}
	}
	return root
}

func (d drawer) schema(depth int) dict {
	kinds := []any{"string", "integer", "number", "boolean", "intOrString"}
	if depth > 0 {
		kinds = append(kinds, "object", "object", "object", "array", "array", "map", "embedded")
	}
	of := dict{}
	kind := d.oneOf(kinds...).(string)
	switch kind {
	case "intOrString":
		of["x-kubernetes-int-or-string"] = true
		if d.chance(50) {
			of["anyOf"] = []any{dict{"type": "integer"}, dict{"type": "string"}}
		}
	case "object":
		of["type"] = "object"
		properties := dict{}
		for at := d.Intn(4); at >= 0; at-- {
			properties[d.oneOf("a", "b", "c", "name", "metadata").(string)] = d.schema(depth - 1)
		}
		of["properties"] = properties
		if d.chance(20) {
			of["x-kubernetes-preserve-unknown-fields"] = true
		}
		if d.chance(20) {
			of["required"] = []any{"a"}
		}
		if d.chance(15) {
			of["anyOf"] = []any{dict{"required": []any{"a"}}, dict{"properties": dict{"b": dict{"enum": []any{"x"}}}}}
		}
		if d.chance(10) {
			of["default"] = d.oneOf(dict{}, dict{"a": "x"}, dict{"zz": 1}, []any{})
		}
		if d.chance(10) {
			of["x-kubernetes-map-type"] = d.oneOf("atomic", "granular")
		}
	case "array":
		of["type"] = "array"
		item := d.schema(depth - 1)
		of["items"] = item
		if d.chance(40) {
			of["x-kubernetes-list-type"] = d.oneOf("atomic", "set", "map")
			if of["x-kubernetes-list-type"] == "map" {
				item = dict{"type": "object", "required": []any{"name"}, "properties": dict{"name": dict{"type": "string"}, "a": d.schema(0)}}
				of["items"], of["x-kubernetes-list-map-keys"] = item, []any{"name"}
			}
		}
		if d.chance(10) {
			of["default"] = d.oneOf([]any{}, []any{"x"}, []any{1})
		}
	case "map":
		of["type"] = "object"
		of["additionalProperties"] = d.oneOf(true, d.schema(depth-1), d.schema(depth-1))
	case "embedded":
		of["type"], of["x-kubernetes-embedded-resource"] = "object", true
		of["x-kubernetes-preserve-unknown-fields"] = true
	default:
		of["type"] = kind
		if kind == "string" && d.chance(30) {
			of["pattern"] = d.oneOf(patterns...)
		}
		if d.chance(20) {
			of["default"] = d.oneOf("x", 1, 1.5, true, "", 0)
		}
		if d.chance(10) {
			of["enum"] = []any{"x", "y", 1}
		}
		if d.chance(10) {
			of["minimum"], of["maximum"] = 1, d.oneOf(5, 0.5)
		}
		if d.chance(10) {
			of["minLength"] = 1
		}
	}
	if d.chance(15) {
		of["description"] = "what it is"
	}
	if d.chance(8) {
		of["nullable"] = true
	}
	return of
}

// patterns are expressions that some engine or other takes.
var patterns = []any{
	"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "^(?=a)b$", "(?i)abc", "a{1,3}", "a{1001}", "(a)\\1", "[[:alpha:]]+", "\\d+(\\.\\d+)?", "[a", "(?<x>a)",
	"(?P<x>a)(?P<x>b)", "a**", "\\p{Greek}", "\\x41", "(a{50}){30}", "\\Z", "^\\S+$", "(?!x)", "{", "\\_", "x{,3}", "[z-a]", "(?:a|b)*?",
}

// changes are members that a schema may get, wrongly or rightly.
func (d drawer) member() (string, any) {
	pairs := []struct {
		key    string
		values []any
	}{
		{"type", []any{"string", "object", "array", "bool", "null", "", "int", "integer"}},
		{"items", []any{dict{"type": "string"}, dict{}, []any{}, []any{dict{"type": "string"}}, nil}},
		{"properties", []any{dict{"a": dict{"type": "string"}}, dict{"metadata": dict{"type": "string"}}, dict{"x": dict{}}, dict{}}},
		{"additionalProperties", []any{true, false, dict{"type": "string"}, dict{}}},
		{"x-kubernetes-preserve-unknown-fields", []any{true, false}},
		{"x-kubernetes-int-or-string", []any{true, false}},
		{"x-kubernetes-embedded-resource", []any{true}},
		{"x-kubernetes-list-type", []any{"atomic", "set", "map", "other"}},
		{"x-kubernetes-list-map-keys", []any{[]any{"a"}, []any{"name", "name"}, []any{}}},
		{"x-kubernetes-map-type", []any{"atomic", "granular", "other"}},
		{"nullable", []any{true, false}},
		{"uniqueItems", []any{true, false}},
		{"default", []any{"x", 1, dict{"a": 1}, []any{"x"}, nil, true}},
		{"$ref", []any{"#/definitions/a", ""}},
		{"definitions", []any{dict{"a": dict{"type": "string"}}, dict{}}},
		{"dependencies", []any{dict{"a": []any{"b"}}, dict{"a": dict{"type": "string"}}, dict{}}},
		{"patternProperties", []any{dict{"a": dict{"type": "string"}}, dict{}}},
		{"id", []any{"x", ""}},
		{"$schema", []any{"http://json-schema.org/draft-04/schema#"}},
		{"additionalItems", []any{true, false, dict{"type": "string"}}},
		{"title", []any{"x", ""}},
		{"description", []any{"x"}},
		{"pattern", patterns},
		{"format", []any{"int32", "date-time", "other"}},
		{"enum", []any{[]any{"x"}, []any{}, []any{1}}},
		{"required", []any{[]any{"a"}, []any{}}},
		{"maxLength", []any{3}}, {"minimum", []any{2}}, {"exclusiveMinimum", []any{true}}, {"multipleOf", []any{2}},
		{"minProperties", []any{1}}, {"maxItems", []any{1}},
		{"allOf", []any{d.nested(), []any{}}}, {"anyOf", []any{d.nested(), []any{dict{"type": "integer"}, dict{"type": "string"}}}},
		{"oneOf", []any{d.nested()}}, {"not", []any{dict{"required": []any{"a"}}, dict{"type": "string"}, dict{"properties": dict{"a": dict{}}}}},
		{"externalDocs", []any{dict{"url": "https://example.com"}}}, {"example", []any{"x"}},
	}
	pair := pairs[d.Intn(len(pairs))]
	return pair.key, copied(pair.values[d.Intn(len(pair.values))])
}

func (d drawer) nested() []any {
	within := dict{}
	switch d.Intn(6) {
	case 0:
		within["required"] = []any{"a"}
	case 1:
		within["properties"] = dict{d.oneOf("a", "b", "nowhere", "metadata").(string): dict{"enum": []any{"x"}}}
	case 2:
		within["type"] = "string"
	case 3:
		within["items"] = dict{"pattern": d.oneOf(patterns...)}
	case 4:
		within["description"] = "x"
	case 5:
		within["anyOf"] = []any{dict{"type": "integer"}, dict{"type": "string"}}
	}
	return []any{within}
}

// changeDefinition changes one thing, mostly within a schema.
func (d drawer) changeDefinition(object dict) {
	spec := object["spec"].(dict)
	versions := spec["versions"].([]any)
	version := versions[d.Intn(len(versions))].(dict)
	if d.chance(75) {
		holder, _ := version["schema"].(dict)
		root, _ := holder["openAPIV3Schema"].(dict)
		if root == nil {
			return
		}
		all := []dict{}
		schemas(root, &all)
		one := all[d.Intn(len(all))]
		if d.chance(20) && len(one) > 0 {
			keys := make([]string, 0, len(one))
			for key := range one {
				keys = append(keys, key)
			}
			sort.Strings(keys)
			delete(one, keys[d.Intn(len(keys))])
			return
		}
		key, value := d.member()
		one[key] = value
		return
	}
	names := spec["names"].(dict)
	switch d.Intn(17) {
	case 0:
		spec["scope"] = d.oneOf("", "namespaced", "Namespaced")
	case 1:
		spec["group"] = d.oneOf("example", "Example.com", "sub.k8s.io", "")
	case 2:
		object["metadata"].(dict)["name"] = d.oneOf("site.example.com", "Sites.example.com", "")
	case 3:
		names["plural"] = d.oneOf("Sites", "", "1sites", "sites")
	case 4:
		names["kind"] = d.oneOf("site_x", "", "SiteList", "X")
	case 5:
		names["listKind"] = d.oneOf("Site", "Sites_", "SiteList")
	case 6:
		names["shortNames"] = d.oneOf([]any{"S"}, []any{}, []any{"a-"})
	case 7:
		version["name"] = d.oneOf("V1", "", "v1", "v.1")
	case 8:
		version["storage"] = d.chance(50)
	case 9:
		version["schema"] = d.oneOf(dict{}, dict{"openAPIV3Schema": dict{}}, nil)
	case 10:
		version["subresources"] = d.oneOf(dict{}, dict{"status": dict{}}, dict{"scale": dict{"specReplicasPath": "spec.a", "statusReplicasPath": ".status.a"}},
			dict{"scale": dict{"specReplicasPath": ".status.a", "statusReplicasPath": ".status.a", "labelSelectorPath": ".metadata"}}, dict{"scale": dict{"specReplicasPath": "", "statusReplicasPath": ""}})
	case 11:
		version["additionalPrinterColumns"] = d.oneOf([]any{dict{"name": "a", "type": "text", "jsonPath": ".a"}}, []any{dict{"name": "", "type": "string", "jsonPath": "a"}},
			[]any{dict{"name": "a", "type": "string", "format": "bytes", "jsonPath": ""}}, []any{})
	case 12:
		spec["conversion"] = d.oneOf(dict{"strategy": "None"}, dict{"strategy": ""}, dict{"strategy": "Webhook"}, dict{"strategy": "None", "webhook": dict{"conversionReviewVersions": []any{"v1"}}},
			dict{"strategy": "Webhook", "webhook": dict{"conversionReviewVersions": []any{"v2", "v2"}, "clientConfig": dict{"url": "http://x"}}},
			dict{"strategy": "Webhook", "webhook": dict{"conversionReviewVersions": []any{"v1", "V"}, "clientConfig": dict{"url": "https://x/y"}}},
			dict{"strategy": "Webhook", "webhook": dict{"conversionReviewVersions": []any{"v1"}, "clientConfig": dict{"service": dict{"name": "a", "namespace": "b", "path": "x//y", "port": 0}}}})
	case 13:
		spec["preserveUnknownFields"] = d.chance(50)
	case 14:
		object["metadata"].(dict)["annotations"] = d.oneOf(dict{"api-approved.kubernetes.io": "unapproved, x"}, dict{"api-approved.kubernetes.io": "https://x.y/z"}, dict{"api-approved.kubernetes.io": "yes"}, dict{"a b": "c"})
	case 15:
		object["metadata"].(dict)["labels"] = d.oneOf(dict{"a": "b"}, dict{"a/b/c": "d"}, dict{"a": "b c"})
	case 16:
		version["deprecated"], version["deprecationWarning"] = d.chance(50), d.oneOf("", "gone soon", "a\nb")
	}
}

// schemas gathers all schemas within one, in a fixed order.
func schemas(of dict, all *[]dict) {
	*all = append(*all, of)
	keys := make([]string, 0, len(of))
	for key := range of {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	for _, key := range keys {
		switch value := of[key].(type) {
		case dict:
			switch key {
			case "items", "additionalProperties", "not":
				schemas(value, all)
			case "properties":
				names := make([]string, 0, len(value))
				for name := range value {
					names = append(names, name)
				}
				sort.Strings(names)
				for _, name := range names {
					if property, ok := value[name].(dict); ok {
						schemas(property, all)
					}
				}
			}
		case []any:
			if key == "allOf" || key == "anyOf" || key == "oneOf" {
				for _, item := range value {
					if within, ok := item.(dict); ok {
						schemas(within, all)
					}
				}
			}
		}
	}
}

func copied(value any) any {
	switch value := value.(type) {
	case dict:
		to := dict{}
		for key, of := range value {
			to[key] = copied(of)
		}
		return to
	case []any:
		to := make([]any, len(value))
		for at, of := range value {
			to[at] = copied(of)
		}
		return to
	}
	return value
}

// older writes a definition as v1beta1 has it.
func older(draw drawer, object dict) {
	object["apiVersion"] = "apiextensions.k8s.io/v1beta1"
	spec := object["spec"].(dict)
	versions := spec["versions"].([]any)
	if conversion, ok := spec["conversion"].(dict); ok {
		if webhook, ok := conversion["webhook"].(dict); ok {
			delete(conversion, "webhook")
			conversion["conversionReviewVersions"], conversion["webhookClientConfig"] = webhook["conversionReviewVersions"], webhook["clientConfig"]
		}
	}
	if draw.chance(60) {
		spec["preserveUnknownFields"] = draw.chance(30)
	}
	first := versions[0].(dict)
	hoist := len(versions) == 1 || draw.chance(50)
	for at, one := range versions {
		version := one.(dict)
		if columns, ok := version["additionalPrinterColumns"].([]any); ok {
			for _, column := range columns {
				column := column.(dict)
				column["JSONPath"] = column["jsonPath"]
				delete(column, "jsonPath")
			}
		}
		for key, up := range map[string]string{"schema": "validation", "subresources": "subresources", "additionalPrinterColumns": "additionalPrinterColumns"} {
			if value, ok := version[key]; ok && hoist {
				if at == 0 {
					spec[up] = value
				}
				delete(version, key)
			}
		}
	}
	if len(versions) == 1 && draw.chance(50) {
		spec["version"] = first["name"]
		delete(spec, "versions")
	}
}
