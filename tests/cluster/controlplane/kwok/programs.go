//go:build programs

// Package kwok is never compiled. Its import keeps the program that ../build makes in go.mod and
// go.sum when somebody runs `go mod tidy`.
package kwok

import _ "sigs.k8s.io/kwok/cmd/kwok"
