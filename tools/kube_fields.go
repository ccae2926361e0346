// Writes the table of src/sim/kube/builtin_fields.cpp: the fields of built-in kinds as the Go types
// of Kubernetes declare them. tools/kube-fields runs it.
//
//	kube_fields <folder of k8s.io/api> <folder of k8s.io/apimachinery>
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
)

// What the embedded server reads, by package. Fields of the types behind a dash stay opaque: volumes
// of old clouds, and what only answers hold.
const wanted = `
meta: ObjectMeta LabelSelector DeleteOptions
core: Namespace Pod Node Service Endpoints ConfigMap Secret ServiceAccount Event Binding
  -GCEPersistentDiskVolumeSource -AWSElasticBlockStoreVolumeSource -GitRepoVolumeSource
  -ISCSIVolumeSource -GlusterfsVolumeSource -RBDVolumeSource -FlexVolumeSource -CinderVolumeSource
  -CephFSVolumeSource -FlockerVolumeSource -FCVolumeSource -AzureFileVolumeSource
  -VsphereVirtualDiskVolumeSource -QuobyteVolumeSource -AzureDiskVolumeSource
  -PhotonPersistentDiskVolumeSource -PortworxVolumeSource -ScaleIOVolumeSource
  -StorageOSVolumeSource -NodeConfigStatus
apps: Deployment ReplicaSet StatefulSet ControllerRevision
networking: Ingress IngressClass
discovery: EndpointSlice
coordination: Lease
events: Event
admissionregistration: MutatingWebhookConfiguration ValidatingWebhookConfiguration
rbac: Role RoleBinding ClusterRole ClusterRoleBinding
flowcontrol: FlowSchema PriorityLevelConfiguration
autoscaling: Scale
authorization: SelfSubjectAccessReview SelfSubjectRulesReview -SubjectAccessReviewStatus
  -SubjectRulesReviewStatus
authentication: SelfSubjectReview TokenRequest -SelfSubjectReviewStatus
`

const width = 100

var letters = map[string]string{
	"string": "s", "bool": "b", "int32": "i", "int64": "i", "uint32": "i", "uint8": "i",
	"meta.Time": "t", "meta.MicroTime": "u", "resource.Quantity": "q", "intstr.IntOrString": "x",
	"meta.FieldsV1": "r", "runtime.RawExtension": "r", "types.UID": "s", "types.NodeName": "s",
}

// How Go files call the packages that they import.
var imported = map[string]string{"metav1": "meta", "v1": "core", "corev1": "core"}

type table struct {
	types  map[string]ast.Expr // "core.Pod"
	opaque map[string]bool
	seen   map[string]bool
	queue  []string
}

func (t *table) load(pkg, dir string) {
	files, _ := filepath.Glob(filepath.Join(dir, "*.go"))
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			panic(err)
		}
		for _, decl := range file.Decls {
			if gen, ok := decl.(*ast.GenDecl); ok && gen.Tok == token.TYPE {
				for _, spec := range gen.Specs {
					spec := spec.(*ast.TypeSpec)
					t.types[pkg+"."+spec.Name.Name] = spec.Type
				}
			}
		}
	}
}

// The type as the table writes it: "s", "[]Container", "{}q". Messages on the way are queued.
func (t *table) spell(pkg string, of ast.Expr) string {
	switch of := of.(type) {
	case *ast.StarExpr:
		return t.spell(pkg, of.X)
	case *ast.ArrayType:
		if element, ok := of.Elt.(*ast.Ident); ok && element.Name == "byte" {
			return "y"
		}
		return "[]" + t.spell(pkg, of.Elt)
	case *ast.MapType:
		return "{}" + t.spell(pkg, of.Value)
	case *ast.SelectorExpr:
		from := of.X.(*ast.Ident).Name
		if known, ok := imported[from]; ok {
			from = known
		}
		return t.named(pkg, from, of.Sel.Name)
	case *ast.Ident:
		if letter, ok := letters[of.Name]; ok {
			return letter
		}
		return t.named(pkg, pkg, of.Name)
	}
	panic(fmt.Sprintf("%s: %T", pkg, of))
}

func (t *table) named(pkg, from, name string) string {
	full := from + "." + name
	if letter, ok := letters[full]; ok {
		return letter
	}
	if t.opaque[full] {
		return "o"
	}
	of, ok := t.types[full]
	if !ok {
		panic("no type " + full)
	}
	if _, isMessage := of.(*ast.StructType); !isMessage {
		return t.spell(from, of)
	}
	if !t.seen[full] {
		t.seen[full] = true
		t.queue = append(t.queue, full)
	}
	if from == pkg {
		return name
	}
	return full
}

func optional(field *ast.Field) bool {
	if field.Doc != nil {
		for _, line := range field.Doc.List {
			if strings.HasPrefix(strings.TrimSpace(strings.TrimPrefix(line.Text, "//")), "+optional") {
				return true
			}
		}
	}
	return false
}

func (t *table) field(pkg string, field *ast.Field) string {
	if field.Tag == nil {
		return ""
	}
	tag := reflect.StructTag(strings.Trim(field.Tag.Value, "`"))
	proto := strings.Split(tag.Get("protobuf"), ",")
	if len(proto) < 2 {
		return ""
	}
	name, options, _ := strings.Cut(tag.Get("json"), ",")
	marks := ""
	_, pointer := field.Type.(*ast.StarExpr)
	writesZero := !strings.Contains(options, "omitempty")
	if name == "" {
		name = "*"
	} else if writesZero && !optional(field) {
		marks = "!"
	}
	spelled := t.spell(pkg, field.Type)
	collection := strings.ContainsAny(spelled[:1], "[{")
	if (pointer || (writesZero && marks == "" && name != "*")) && !collection {
		marks += "?"
	}
	if spelled == "s" {
		return fmt.Sprintf("%s%s=%s", name, marks, proto[1])
	}
	return fmt.Sprintf("%s%s:%s=%s", name, marks, spelled, proto[1])
}

func (t *table) message(full string) string {
	pkg, name, _ := strings.Cut(full, ".")
	text, line := "", name
	for _, field := range t.types[full].(*ast.StructType).Fields.List {
		word := t.field(pkg, field)
		if word == "" {
			continue
		}
		if len(line)+1+len(word) > width {
			text += line + "\n"
			line = " "
		}
		line += " " + word
	}
	return text + line + "\n"
}

func main() {
	api, machinery := os.Args[1], os.Args[2]
	t := &table{map[string]ast.Expr{}, map[string]bool{}, map[string]bool{}, nil}
	order, pkg := []string{}, ""
	for _, word := range strings.Fields(wanted) {
		if strings.HasSuffix(word, ":") {
			pkg = strings.TrimSuffix(word, ":")
			order = append(order, pkg)
			dir := filepath.Join(api, pkg, "v1")
			if pkg == "meta" {
				dir = filepath.Join(machinery, "pkg/apis/meta/v1")
			}
			t.load(pkg, dir)
		} else if strings.HasPrefix(word, "-") {
			t.opaque[pkg+"."+word[1:]] = true
		} else {
			t.named(pkg, pkg, word)
		}
	}
	texts := map[string]string{}
	for i := 0; i < len(t.queue); i++ {
		pkg, _, _ := strings.Cut(t.queue[i], ".")
		texts[pkg] += t.message(t.queue[i])
	}
	for _, pkg := range order {
		fmt.Printf("@%s\n%s", pkg, texts[pkg])
	}
}
