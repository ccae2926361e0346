//go:build programs

// Package kubernetes is never compiled. Its imports keep the programs that ../build makes in
// go.mod and go.sum when somebody runs `../build --tidy`.
package kubernetes

import (
	_ "k8s.io/kubernetes/cmd/kube-proxy"
	_ "k8s.io/kubernetes/cmd/kubelet"
)
