package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/capabilities"
)

// What the server draws at random stands for something fixed here, so that answers can be compared.
const (
	fixedUID    = "00000000-0000-0000-0000-000000000000"
	fixedSuffix = "xxxxx"
)

type testCase struct {
	ID     string          `json:"id"`
	Object json.RawMessage `json:"object"`
	Expect *answer         `json:"expect,omitempty"`
	// Unknown are the server's words on fields that it does not know, as kubectl's default (strict) shows them.
	Unknown string `json:"unknown,omitempty"`
	// Unstable is set where the server's own answer differs from call to call (the order of a Go map).
	Unstable bool `json:"unstable,omitempty"`
	// Unjudged is set where this program has no strategy for the kind.
	Unjudged bool `json:"unjudged,omitempty"`
}

type answer struct {
	OK      bool    `json:"ok,omitempty"`
	Code    int32   `json:"code,omitempty"`
	Message string  `json:"message,omitempty"`
	Causes  []cause `json:"causes,omitempty"`
}

type cause struct {
	Reason  string `json:"reason,omitempty"`
	Field   string `json:"field"`
	Message string `json:"message,omitempty"`
}

func check(args []string, in io.Reader, out io.Writer) error {
	flags := flag.NewFlagSet("check", flag.ContinueOnError)
	times := flags.Int("times", 8, "ask so often, to find answers that depend on the order of a Go map")
	skipUnknown := flags.Bool("skip-unknown", false, "mark objects of kinds that have no strategy here, instead of failing")
	brief := flags.Bool("brief", false, "leave out messages: of what is refused, code and fields")
	if err := flags.Parse(args); err != nil {
		return err
	}
	// As kube-apiserver is started almost everywhere.
	capabilities.Initialize(capabilities.Capabilities{AllowPrivileged: true})
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 64<<20)
	writer := bufio.NewWriter(out)
	defer writer.Flush()
	encoder := json.NewEncoder(writer)
	encoder.SetEscapeHTML(false)
	for lines.Scan() {
		var one testCase
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			return fmt.Errorf("reading a case: %w", err)
		}
		first, err := ask(one.Object)
		if errors.Is(err, errUnknownKind) && *skipUnknown {
			one.Unjudged = true
			if err := encoder.Encode(one); err != nil {
				return err
			}
			continue
		}
		if errors.Is(err, errPanic) {
			fmt.Fprintf(os.Stderr, "%s left out: the server's code panics\n", one.ID)
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", one.ID, err)
		}
		for again := 1; again < *times && !one.Unstable; again++ {
			other, err := ask(one.Object)
			if err != nil {
				return fmt.Errorf("%s: %w", one.ID, err)
			}
			one.Unstable = other.Message != first.Message
		}
		one.Expect = first
		if *brief {
			first.Message = ""
			for at := range first.Causes {
				first.Causes[at].Reason, first.Causes[at].Message = "", ""
			}
		}
		one.Unknown = unknownFields(one.Object)
		if err := encoder.Encode(one); err != nil {
			return err
		}
	}
	return lines.Err()
}

func decoder(strict bool, gv schema.GroupVersion) runtime.Decoder {
	options := []serializer.CodecFactoryOptionsMutator{}
	if strict {
		options = append(options, serializer.EnableStrict)
	}
	codecs := serializer.NewCodecFactory(legacyscheme.Scheme, options...)
	info, _ := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), "application/json")
	from := info.Serializer
	if strict {
		from = info.StrictSerializer
	}
	return codecs.DecoderToVersion(from, schema.GroupVersion{Group: gv.Group, Version: runtime.APIVersionInternal})
}

// decode is the create handler's way from bytes to an internal object with defaults.
func decode(raw []byte, strict bool) (runtime.Object, *schema.GroupVersionKind, error) {
	var header struct{ APIVersion, Kind string }
	if err := json.Unmarshal(raw, &header); err != nil {
		return nil, nil, err
	}
	want := schema.FromAPIVersionAndKind(header.APIVersion, header.Kind)
	if _, known := strategies[want]; !known {
		return nil, nil, fmt.Errorf("%w %v", errUnknownKind, want)
	}
	into, err := legacyscheme.Scheme.New(schema.GroupVersionKind{Group: want.Group, Version: runtime.APIVersionInternal, Kind: want.Kind})
	if err != nil {
		return nil, nil, err
	}
	object, gvk, err := decoder(strict, want.GroupVersion()).Decode(raw, &want, into)
	if gvk == nil {
		gvk = &want
	}
	return object, gvk, err
}

var errUnknownKind = errors.New("no strategy for")

// errPanic is what becomes of an object that makes the server's code fail (a 500 there).
var errPanic = errors.New("panic")

func ask(raw []byte) (result *answer, err error) {
	defer func() {
		if recover() != nil {
			result, err = nil, errPanic
		}
	}()
	object, gvk, err := decode(raw, false)
	if errors.Is(err, errUnknownKind) {
		return nil, err
	}
	if err != nil {
		if object == nil && gvk == nil {
			return nil, err
		}
		// endpoints/handlers/rest.go, transformDecodeError.
		bad := apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", gvk.Kind, gvk.Version, gvk.Kind, err))
		return status(bad)
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		return nil, err
	}
	namespace := accessor.GetNamespace()
	if namespace == "" {
		namespace = "default"
	}
	ctx := genericapirequest.WithNamespace(genericapirequest.NewContext(), namespace)
	resource, _ := meta.UnsafeGuessKindToResource(*gvk)
	ctx = genericapirequest.WithRequestInfo(ctx, &genericapirequest.RequestInfo{
		IsResourceRequest: true, Verb: "create", Namespace: namespace,
		APIGroup: resource.Group, APIVersion: resource.Version, Resource: resource.Resource,
	})
	rest.FillObjectMetaSystemFields(accessor)
	accessor.SetUID(fixedUID)
	if accessor.GetName() == "" && accessor.GetGenerateName() != "" {
		accessor.SetName(accessor.GetGenerateName() + fixedSuffix)
	}
	if err := rest.BeforeCreate(strategies[*gvk], ctx, object); err != nil {
		return status(err)
	}
	return &answer{OK: true}, nil
}

func status(err error) (*answer, error) {
	var known apierrors.APIStatus
	if !errors.As(err, &known) {
		return nil, err
	}
	from := known.Status()
	to := answer{Code: from.Code, Message: from.Message}
	if from.Details != nil {
		for _, one := range from.Details.Causes {
			to.Causes = append(to.Causes, cause{Reason: string(one.Type), Field: one.Field, Message: one.Message})
		}
	}
	return &to, nil
}

// unknownFields is what a strict decoding says where a lenient one says nothing.
func unknownFields(raw []byte) string {
	if _, _, err := decode(raw, false); err != nil {
		return ""
	}
	_, _, err := decode(raw, true)
	if err == nil {
		return ""
	}
	return err.Error()
}
