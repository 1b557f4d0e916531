// The two rules of ../policies.yaml as a controller-runtime webhook, written the way its documentation has them written:
// typed objects, a Validator and a Defaulter. It is what bench/endpoint.ts and bench/api-server.ts compare with.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

const (
	poolLabel = "example.com/pool"
	pool      = "workers"
	namespace = "kube-system"
)

var protected = corev1.Taint{Key: "example.com/dedicated", Value: "batch", Effect: corev1.TaintEffectNoSchedule}

var wanted = []corev1.Toleration{
	{Key: "node-role.kubernetes.io/master", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
	{Key: "node-role.kubernetes.io/control-plane", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
}

// keepTaint refuses an update that drops the protected taint from a node of the pool.
type keepTaint struct{}

func (keepTaint) ValidateCreate(context.Context, *corev1.Node) (admission.Warnings, error) {
	return nil, nil
}

func (keepTaint) ValidateUpdate(_ context.Context, before, after *corev1.Node) (admission.Warnings, error) {
	selected := before.Labels[poolLabel] == pool || after.Labels[poolLabel] == pool
	if selected && carries(before) && !carries(after) {
		return nil, fmt.Errorf("taint %s is protected", protected.ToString())
	}
	return nil, nil
}

func (keepTaint) ValidateDelete(context.Context, *corev1.Node) (admission.Warnings, error) {
	return nil, nil
}

func carries(node *corev1.Node) bool {
	for _, taint := range node.Spec.Taints {
		if taint.MatchTaint(&protected) && taint.Value == protected.Value {
			return true
		}
	}
	return false
}

// addTolerations makes a DaemonSet of the namespace tolerate the taints of control planes.
type addTolerations struct{}

func (addTolerations) Default(_ context.Context, set *appsv1.DaemonSet) error {
	if set.Namespace != namespace {
		return nil
	}
	spec := &set.Spec.Template.Spec
	for _, toleration := range wanted {
		if !tolerates(spec.Tolerations, toleration) {
			spec.Tolerations = append(spec.Tolerations, toleration)
		}
	}
	return nil
}

func tolerates(tolerations []corev1.Toleration, wanted corev1.Toleration) bool {
	taint := corev1.Taint{Key: wanted.Key, Effect: wanted.Effect}
	for _, toleration := range tolerations {
		if toleration.ToleratesTaint(ctrl.Log, &taint, false) {
			return true
		}
	}
	return false
}

func main() {
	port := flag.Int("port", 0, "where to listen")
	certDir := flag.String("cert-dir", "", "where tls.crt and tls.key are")
	flag.Parse()
	ctrl.SetLogger(zap.New())

	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		fail(err)
	}
	server := webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: *port, CertDir: *certDir})
	server.Register("/validate", admission.WithValidator(scheme, keepTaint{}))
	server.Register("/mutate", admission.WithDefaulter(scheme, addTolerations{}))
	if err := server.Start(ctrl.SetupSignalHandler()); err != nil {
		fail(err)
	}
}

func fail(err error) {
	ctrl.Log.Error(err, "cannot serve")
	os.Exit(1)
}
